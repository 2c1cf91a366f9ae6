"""Loads the library that reads profiles, and calls it: handles, texts, errors and capsules.

The library is the file that OPSCOPE_MODULE_LIBRARY names, else the one beside this file, where the wheel has it.
"""

import ctypes
import json
import os
import queue
import threading

from . import __version__

__all__ = ["Error", "Handle", "Table", "open_profile"]

_LIBRARIES = ("libopscope_python.so", "libopscope_python.dylib", "opscope_python.dll")
_LOOK = 0.05  # seconds until Ctrl-C is noticed


class Error(Exception):
    """A profile, question or model that opscope can't do anything with; the text is the program's."""

    __module__ = "opscope"


_FAILURES = {1: FileNotFoundError, 2: ValueError}


class _Outcome(ctypes.Structure):
    _fields_ = [("handle", ctypes.c_void_p), ("failure", ctypes.c_int), ("text", ctypes.c_void_p)]


_Step = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
_text, _address, _size = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t
_SIGNATURES = {
    "opscope_module_version": (_text, []),
    "opscope_text_free": (None, [_address]),
    "opscope_stop_new": (_address, []),
    "opscope_stop_wish": (None, [_address]),
    "opscope_stop_free": (None, [_address]),
    "opscope_profile_open": (_Outcome, [_text, _size, _Step, _address]),
    "opscope_profile_facts": (_address, [_address]),
    "opscope_profile_table": (_Outcome, [_address, _text]),
    "opscope_profile_analyze": (_Outcome, [_address, _text]),
    "opscope_profile_sql": (_Outcome, [_address, _text, _address]),
    "opscope_profile_free": (None, [_address]),
    "opscope_table_facts": (_address, [_address]),
    "opscope_table_text": (_address, [_address, ctypes.c_bool]),
    "opscope_table_stream": (_address, [_address]),
    "opscope_table_schema": (_address, [_address]),
    "opscope_table_free": (None, [_address]),
    "opscope_capsules": (None, [_address]),
}


def _load():
    folder = os.path.dirname(os.path.abspath(__file__))
    beside = [os.path.join(folder, name) for name in _LIBRARIES]
    path = os.environ.get("OPSCOPE_MODULE_LIBRARY") or next(filter(os.path.isfile, beside), None)
    if path is None:
        raise ImportError("this copy of the package opscope has the marks only; profiles are read by its wheel")
    try:
        library = ctypes.CDLL(path)
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise ImportError(f"{path}: not the library of opscope's module: {error}") from error
    version = library.opscope_module_version().decode()
    if version != __version__:
        raise ImportError(f"{path}: the library of opscope {version}, and not of {__version__}")
    library.opscope_capsules(ctypes.cast(ctypes.pythonapi.PyCapsule_GetPointer, _address))
    return library


_library = _load()

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [_address, _text, _address]


def _taken(address):
    """A text of the library's, which is freed."""
    try:
        return ctypes.string_at(address).decode("utf-8", "replace")
    finally:
        _library.opscope_text_free(address)


class Handle:
    """Something of the library's, which goes when nobody knows it any more."""

    def __init__(self, outcome, free):
        if outcome.failure:
            raise _FAILURES.get(outcome.failure, Error)(_taken(outcome.text))
        self.address, self._free = outcome.handle, free

    def __del__(self):
        if getattr(self, "address", None):
            self._free(self.address)


class _Stop:
    """A wish to end a call."""

    def __init__(self):
        self.address, self._free = _library.opscope_stop_new(), _library.opscope_stop_free

    def wish(self):
        _library.opscope_stop_wish(self.address)

    def __del__(self):
        self._free(self.address)


def _beside(work, progress=None, steps=None):
    """Does ``work(stop)`` on a thread of its own, without the interpreter's lock, while this one waits, calls
    ``progress`` and hears of Ctrl-C. An exception of either asks the work to end, and goes on when it has.
    """
    stop, done = _Stop(), []

    def run():
        try:
            done.append((work(stop), None))
        except BaseException as error:  # handed to the thread that waits
            done.append((None, error))

    thread = threading.Thread(target=run, name="opscope", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_LOOK)
            while progress is not None and not steps.empty():
                progress(steps.get())
    except BaseException:
        stop.wish()
        thread.join()
        raise
    result, error = done[0]
    if error is not None:
        raise error
    return result


def open_profile(path, progress):
    """A handle of the profile at a path."""
    name, steps = os.fsencode(path), queue.SimpleQueue()
    step = _Step(lambda text: steps.put(text.decode("utf-8", "replace")))

    def work(stop):
        return Handle(_library.opscope_profile_open(name, len(name), step, stop.address), _library.opscope_profile_free)

    return _beside(work, progress, steps)


def facts(profile):
    """Path, format, remarks and doubts of a profile."""
    return json.loads(_taken(_library.opscope_profile_facts(profile.address)))


def _table(outcome):
    return Table(Handle(outcome, _library.opscope_table_free))


def table(profile, name):
    """A table of a profile by its name."""
    return _beside(lambda stop: _table(_library.opscope_profile_table(profile.address, name.encode())))


def analyze(profile, question):
    """The answer to a question (``answer::Question`` in the library)."""
    words = json.dumps(question).encode()
    return _beside(lambda stop: _table(_library.opscope_profile_analyze(profile.address, words)))


def sql(profile, statement):
    """The answer of a statement in SQL."""
    words = statement.encode()
    if b"\0" in words:
        raise ValueError("the statement has a zero in it")
    return _beside(lambda stop: _table(_library.opscope_profile_sql(profile.address, words, stop.address)))


class Table:
    """A table, for any library that takes tables by the Arrow PyCapsule interface: ``polars.DataFrame(table)``,
    ``pyarrow.table(table)``, and ``pyarrow.table(table).to_pandas()``.
    """

    def __init__(self, handle):
        self._handle = handle
        self._facts = json.loads(_taken(_library.opscope_table_facts(handle.address)))

    @property
    def num_rows(self):
        """How many rows it has (``int``)."""
        return self._facts["rows"]

    @property
    def column_names(self):
        """The names of its columns (``list`` of ``str``)."""
        return list(self._facts["columns"])

    def __len__(self):
        return self._facts["rows"]

    def __arrow_c_stream__(self, requested_schema=None):
        """A capsule with the table as a stream of one batch; another schema is a wish that isn't heard."""
        stream = _library.opscope_table_stream(self._handle.address)
        return _new_capsule(stream, b"arrow_array_stream", _end_of("stream"))

    def __arrow_c_schema__(self):
        """A capsule with the types of the columns."""
        schema = _library.opscope_table_schema(self._handle.address)
        return _new_capsule(schema, b"arrow_schema", _end_of("schema"))

    def __repr__(self):
        return _taken(_library.opscope_table_text(self._handle.address, False))

    def _repr_html_(self):
        return _taken(_library.opscope_table_text(self._handle.address, True))


def _end_of(kind):
    """The address of the library's function that ends a kind of capsule."""
    return ctypes.cast(getattr(_library, f"opscope_capsule_{kind}_free"), _address)
