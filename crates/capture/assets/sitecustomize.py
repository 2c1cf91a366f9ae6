"""What opscope puts first on the path of Python programs that it runs.

Every session of ONNX Runtime is created with profiling switched on; its profile lands beside the
other raw data. Programs are not changed otherwise: sessions keep their class and their arguments,
a site customisation of the program's own still runs, and whatever goes wrong here is swallowed.
"""

import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _run_own_customisation():
    """Runs the sitecustomize that this one stands before."""
    import importlib.machinery
    import importlib.util

    path = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


class _AfterImport:
    """Finds a module as usual and calls a function once it is loaded."""

    def __init__(self, name, then):
        self.name, self.then = name, then

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        import importlib.util

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return spec
        load, then = spec.loader.exec_module, self.then

        def exec_module(module):
            load(module)
            try:
                then(module)
            except Exception:
                pass

        try:
            spec.loader.exec_module = exec_module
        except AttributeError:
            pass
        return spec


def _profile_sessions(module):
    """Wraps the creation of sessions, in the module that defines them."""
    import atexit
    import functools
    import itertools
    import json
    import time
    import weakref

    directory = os.environ["OPSCOPE_ORT_DIR"]
    numbers = itertools.count()
    # Sessions and the processes that made them.
    sessions = weakref.WeakKeyDictionary()
    session_class = module.InferenceSession
    create = session_class.__init__
    raw_clock = getattr(time, "CLOCK_MONOTONIC_RAW", time.CLOCK_MONOTONIC)

    def note_clocks(session, prefix):
        started = session.get_profiling_start_time_ns()
        note = {
            "pid": os.getpid(),
            "start_ns": started,
            "realtime_ns": time.time_ns(),
            "monotonic_raw_ns": time.clock_gettime_ns(raw_clock),
        }
        with open(prefix + ".clock", "w") as file:
            json.dump(note, file)

    @functools.wraps(create)
    def __init__(self, path_or_bytes, sess_options=None, *arguments, **keywords):
        prefix = None
        try:
            if sess_options is None:
                sess_options = module.C.SessionOptions()
            if not sess_options.enable_profiling:
                prefix = os.path.join(
                    directory, "opscope.onnxruntime.%d.%d" % (os.getpid(), next(numbers))
                )
                before = sess_options.profile_file_prefix
                sess_options.profile_file_prefix = prefix
                sess_options.enable_profiling = True
        except Exception:
            prefix = None
        try:
            create(self, path_or_bytes, sess_options, *arguments, **keywords)
        finally:
            if prefix is not None:
                # The options are the program's own, and may serve further sessions.
                sess_options.enable_profiling = False
                sess_options.profile_file_prefix = before
        if prefix is not None:
            try:
                sessions[self] = os.getpid()
                note_clocks(self, prefix)
            except Exception:
                pass

    session_class.__init__ = __init__

    def end():
        process = os.getpid()
        for session, maker in list(sessions.items()):
            # Sessions that a forked child has of its parent are the parent's to end.
            if maker == process:
                try:
                    session.end_profiling()
                except Exception:
                    pass
                del sessions[session]

    def leave_files_to_parent():
        # Both would write into the same place of the same file.
        ours = os.path.join(os.path.realpath(directory), "opscope.onnxruntime.")
        nothing = os.open(os.devnull, os.O_WRONLY)
        for name in os.listdir("/proc/self/fd"):
            try:
                if os.readlink("/proc/self/fd/" + name).startswith(ours):
                    os.dup2(nothing, int(name), inheritable=False)
            except OSError:
                pass
        os.close(nothing)

    def before(function):
        @functools.wraps(function)
        def wrapped(*arguments, **keywords):
            end()
            return function(*arguments, **keywords)

        return wrapped

    atexit.register(end)
    os.register_at_fork(after_in_child=leave_files_to_parent)
    # Forked workers end by _exit, and nothing that was registered is called then.
    for name in ("_exit", "execv", "execve"):
        setattr(os, name, before(getattr(os, name)))


class _StandIn:
    """Finds opscope's stand-in for acl, after everybody else was asked: a real module of that name is
    never hidden, wherever on the path it is, and whenever it was put there."""

    NAMES = ("acl", "opscope")

    def __init__(self, folder):
        self.folder = folder

    def find_spec(self, name, path=None, target=None):
        if name not in self.NAMES:
            return None
        import importlib.machinery

        return importlib.machinery.PathFinder.find_spec(name, [self.folder])


def _start():
    if os.environ.get("OPSCOPE_ORT_DIR"):
        name = "onnxruntime.capi.onnxruntime_inference_collection"
        sys.meta_path.insert(0, _AfterImport(name, _profile_sessions))
    if os.environ.get("OPSCOPE_ACL_SHIM"):
        sys.meta_path.append(_StandIn(os.environ["OPSCOPE_ACL_SHIM"]))


try:
    _start()
except Exception:
    pass
_run_own_customisation()
