"""Marks and ranges for the timelines of opscope, and profiles as tables.

    import opscope

    opscope.mark("weights are loaded")
    with opscope.range("infer"):
        ...

    @opscope.range("postprocess")
    def postprocess(): ...

They are recorded while the program runs under ``opscope collect -- python3 program.py`` and cost
next to nothing otherwise. Texts may be long and in any script. ``domain`` separates the marks of
one library from those of others, ``category`` is a number that groups them, and ``payload`` a whole
number of your own.

:mod:`opscope.acl` has the names and arguments of CANN's ``acl.prof``.

Profiles are read by :func:`open`, where the package came as a wheel::

    p = opscope.open("PROF_000001_20261121/")
    polars.DataFrame(p.tasks)
    p.analyze(group_by="type")

That half is loaded when it is first asked for, so that programs with marks stay as light as they were.
"""

import functools

from ._library import encode as _encode
from ._library import library as _library

__all__ = ["enabled", "mark", "push", "pop", "range", "range_start", "range_end"]
_PROFILES = ("Error", "LossWarning", "Profile", "Table", "compare", "open", "program", "run", "tune")
__version__ = "0.1.0"

_domains = {}


def _domain(name):
    if name is None or _library is None:
        return 0
    number = _domains.get(name)
    if number is None:
        number = _domains[name] = _library.opscope_domain(_encode(name))
    return number


def enabled():
    """Whether marks are recorded now; worth asking before a text is put together."""
    return _library is not None and _library.opscope_mark_enabled() != 0


def mark(text, domain=None, category=0, payload=0):
    """Marks an instant."""
    if enabled():
        _library.opscope_mark_in(_domain(domain), _encode(text), category, payload)


def push(text, domain=None, category=0, payload=0):
    """Begins a range on this thread; returns its depth from 1, or 0 when nothing is recorded."""
    if not enabled():
        return 0
    return _library.opscope_push_in(_domain(domain), _encode(text), category, payload)


def pop():
    """Ends the innermost range of this thread; returns the depth it had, 0 if there was none."""
    return 0 if _library is None else _library.opscope_pop()


def range_start(text, domain=None, category=0, payload=0):
    """Begins a range that any thread may end; returns its number, 0 when nothing is recorded."""
    if not enabled():
        return 0
    return _library.opscope_range_start_in(_domain(domain), _encode(text), category, payload)


def range_end(number):
    """Ends a range; returns whether there was one of that number."""
    return _library is not None and _library.opscope_range_end(number) != 0


class range:
    """A range as a context manager, or around every call of a function as a decorator."""

    def __init__(self, text, domain=None, category=0, payload=0):
        self._arguments = (text, domain, category, payload)
        self._depths = []

    def __enter__(self):
        self._depths.append(push(*self._arguments))
        return self

    def __exit__(self, *_):
        if self._depths.pop():
            pop()
        return False

    def __call__(self, function):
        arguments = self._arguments

        @functools.wraps(function)
        def ranged(*positional, **named):
            with range(*arguments):
                return function(*positional, **named)

        return ranged


def __getattr__(name):
    if name not in _PROFILES:
        raise AttributeError(f"module 'opscope' has no attribute {name!r}")
    try:
        from . import _profile
    except ImportError as error:
        raise ImportError(f"opscope.{name} isn't in this copy of the package ({error}); its wheel has it") from error
    return getattr(_profile, name)


def __dir__():
    return sorted({*globals(), *_PROFILES})
