"""Profiles in Python: what ``opscope analyze`` and ``opscope sql`` read, as tables for any data frame.

    import opscope, polars

    p = opscope.open("PROF_000001_20261121/")      # any file or folder that opscope analyze takes
    polars.DataFrame(p.tasks)                      # pandas: p.tasks through pyarrow.table(p.tasks).to_pandas()
    p.analyze(group_by="type")
    p.sql("SELECT op_type, sum(duration_ns) FROM operator_executions GROUP BY 1")
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import warnings

from . import _native
from ._native import Error, Table

__all__ = ["Error", "LossWarning", "Profile", "Table", "compare", "open", "program", "run", "tune"]

_TOLD = 5


class LossWarning(UserWarning):
    """Records of a profile were dropped or doubted, so that figures may lack something."""


def open(path, progress=None):
    """Reads a profile: any file or folder that ``opscope analyze`` takes.

    ``progress`` is called with the name of each step of a long reading (a ``str``). What it raises, and
    Ctrl-C, end the reading. What was lost is warned of (:class:`LossWarning`) and stands in
    :attr:`Profile.losses`.

    Raises ``FileNotFoundError`` where nothing lies at ``path``, and :class:`Error`, with the text that the
    program prints, where it can't be read as a profile.
    """
    profile = Profile(_native.open_profile(os.fspath(path), progress))
    doubts = profile._facts["doubts"]
    if doubts:
        told = "".join(f"\n  {text}" for text in doubts[:_TOLD])
        more = f"\n  and {len(doubts) - _TOLD} more" if len(doubts) > _TOLD else ""
        warnings.warn(f"{path}: figures may lack something, see losses:{told}{more}", LossWarning, stacklevel=2)
    return profile


class Profile:
    """A profile that was read. Tables follow the Arrow PyCapsule interface, so that polars, pyarrow, pandas
    and DuckDB take them as they are; times are whole nanoseconds from the profile's own zero (int64), names
    dictionaries with indices of 32 bits, and what isn't known is null.
    """

    def __init__(self, handle):
        self._handle, self._facts = handle, _native.facts(handle)

    @property
    def path(self):
        """The path that was named (``str``)."""
        return self._facts["path"]

    @property
    def format(self):
        """The format in words, such as ``a timeline in Chrome's trace format``."""
        return self._facts["format"]

    @property
    def remarks(self):
        """Oddities of the profile as a whole, in sentences (``list`` of ``str``)."""
        return list(self._facts["remarks"])

    @property
    def tasks(self):
        """Work on the streams of devices, a row for each execution: ``task`` (the engine's or device's name),
        ``number``, ``name`` and ``op_type`` of its operator, ``operator`` (its row in :attr:`operators`),
        ``unit``, ``device``, ``stream``, ``iteration``, ``launched_by`` (a row of :attr:`calls`),
        ``start_ns``, ``duration_ns``, ``wait_ns``.
        """
        return _native.table(self._handle, "tasks")

    @property
    def operators(self):
        """Operators, a row for each and each combination of shapes: ``name``, ``op_type``, ``engine_type``,
        ``model``, ``position``, ``attribution``, ``inputs`` and ``outputs`` (shapes such as ``1x3x224x224``),
        ``data_type``, ``flops``, ``bytes_read``, ``bytes_written``, ``parameters`` (elements) of one execution.
        """
        return _native.table(self._handle, "operators")

    @property
    def calls(self):
        """Calls of the host: ``name``, ``level``, ``thread``, ``iteration``, ``start_ns``, ``duration_ns``."""
        return _native.table(self._handle, "calls")

    @property
    def iterations(self):
        """Inferences or steps: ``model``, ``number``, ``warm_up``, ``start_ns``, ``duration_ns``."""
        return _native.table(self._handle, "iterations")

    @property
    def counters(self):
        """Samples over time: ``counter``, ``unit``, ``device``, ``time_ns``, ``value`` (in its unit)."""
        return _native.table(self._handle, "counters")

    @property
    def ranges(self):
        """Ranges and marks of the program: ``name``, ``domain``, ``kind``, ``thread``, ``start_ns``,
        ``duration_ns`` (0 for a mark).
        """
        return _native.table(self._handle, "ranges")

    @property
    def losses(self):
        """What was dropped or doubted while the profile was read: ``kind``, ``severity`` (``lost``,
        ``doubted``, ``remark``), ``sentence``, ``count`` (records), ``detail``.
        """
        return _native.table(self._handle, "losses")

    def analyze(self, group_by="operator", sort=None, *, ascending=False, aggregate="sum", time="total",
                host=False, name=None, type=(), unit=(), iterations=None, device=None):
        """Where the time goes: ``opscope analyze`` as a table, the greatest time first.

        ``group_by`` is ``operator``, ``type``, ``name``, ``unit``, ``stream``, ``shape`` or ``iteration``;
        ``aggregate`` ``sum``, ``typical``, ``mean``, ``min``, ``max``, ``median``, ``p90``, ``p99`` or
        ``count``; ``time`` ``total``, ``kernel`` or ``wait``; ``sort`` any column. ``host`` asks about calls
        in place of tasks. ``name`` is a regular expression, ``type`` and ``unit`` a word or several,
        ``iterations`` a number, a pair (both included) or ``"all"``, which takes warm-up ones and what lies
        outside as well. Columns that no row knows are left out; ``*_ns`` are nanoseconds of an average
        iteration, ``share`` is from 0 to 1.

        Raises ``ValueError`` for a word that isn't known, :class:`Error` for an iteration or device that the
        profile doesn't have.
        """
        everything = iterations == "all"
        if iterations is not None and not everything:
            first, last = (iterations, iterations) if isinstance(iterations, int) else iterations
            iterations = (first, last)
        words = lambda given: [given] if isinstance(given, str) else list(given)
        return _native.analyze(self._handle, {
            "group_by": group_by, "aggregate": aggregate, "time": time, "sort": sort, "ascending": ascending,
            "host": host, "name": name, "types": words(type), "units": words(unit),
            "iterations": None if everything else iterations, "all_iterations": everything, "device": device,
        })

    def sql(self, statement):
        """The answer of one statement that reads, in SQLite's SQL, to the tables and views that ``opscope sql``
        has. A column is of int64, double or text, whichever holds all its values.

        Raises :class:`Error` for anything but a statement that reads. Ctrl-C ends it.
        """
        return _native.sql(self._handle, statement)

    def advise(self, model=None):
        """What to change, by what it could save: ``opscope advise`` (a ``dict``, docs/json.md). ``model`` is
        the ONNX file that was run.
        """
        return _answer(["advise", self.path] + ([] if model is None else ["--model", os.fspath(model)]))

    def export(self, *arguments, what="all"):
        """``opscope export``: ``what`` is ``all`` or one of its other words (``summary``, ``timeline``, ``db``), with
        further arguments of the command line, such as ``"-o", "folder"``.
        """
        _call(["export", what, self.path, *map(str, arguments)])

    def __repr__(self):
        tables = ("tasks", "operators", "calls", "iterations", "counters", "ranges", "losses")
        counts = ", ".join(f"{len(getattr(self, name))} {name}" for name in tables)
        return f"<opscope.Profile of {self.path}: {self.format}; {counts}>"


def program():
    """The path of the program: ``OPSCOPE_PROGRAM``, the one of this package's wheel, else the one in ``PATH``."""
    name = "opscope.exe" if os.name == "nt" else "opscope"
    beside = (os.path.join(sysconfig.get_path("scripts"), name), os.path.join(os.path.dirname(sys.executable), name))
    found = os.environ.get("OPSCOPE_PROGRAM") or next(filter(os.path.isfile, beside), None) or shutil.which(name)
    if found is None:
        raise Error("the program opscope was not found; install this package's wheel, or name it in OPSCOPE_PROGRAM")
    return found


def _call(arguments):
    done = subprocess.run([program(), *arguments], capture_output=True)
    said = done.stderr.decode("utf-8", "replace").strip()
    if done.returncode not in (0, 3):
        raise Error(said or f"opscope ended with status {done.returncode}")
    return done.stdout


def _answer(arguments):
    return json.loads(_call([*arguments, "--json"]))


def compare(a, b):
    """What changed from ``a`` to ``b`` (paths or profiles): ``opscope compare`` (a ``dict``, docs/json.md)."""
    paths = [profile.path if isinstance(profile, Profile) else os.fspath(profile) for profile in (a, b)]
    return _answer(["compare", *paths])


def run(model, *arguments, engine="auto"):
    """Runs an ONNX model and measures its operators: ``opscope run`` (a ``dict``, docs/json.md), with further
    arguments of the command line, such as ``"--dim", "batch=1"``.
    """
    return _answer(["run", os.fspath(model), "--engine", engine, *map(str, arguments)])


def tune(model, *arguments, engine="auto"):
    """Makes an ONNX model faster: ``opscope tune`` (a ``dict``, docs/json.md), with further arguments of the
    command line, such as ``"-o", "fast.onnx"``.
    """
    return _answer(["tune", os.fspath(model), "--engine", engine, *map(str, arguments)])
