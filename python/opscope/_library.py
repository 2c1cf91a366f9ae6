"""Finds and loads the instrumentation library.

In this order: the file that OPSCOPE_MARK_LIBRARY names (``opscope collect`` sets it), a file beside
this one, the system's library path. Without any, all functions of the package do nothing.
"""

import ctypes
import os

_NAME = "libopscope_mark.so"


def _candidates():
    named = os.environ.get("OPSCOPE_MARK_LIBRARY")
    if named:
        yield named
    yield os.path.join(os.path.dirname(os.path.abspath(__file__)), _NAME)
    yield _NAME


def _load():
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    return None


def _declare(library):
    text, number, wide = ctypes.c_char_p, ctypes.c_uint32, ctypes.c_uint64
    pointer, code, size = ctypes.c_void_p, ctypes.c_int32, ctypes.c_size_t
    signatures = {
        "opscope_mark_enabled": (code, []),
        "opscope_mark_in": (None, [wide, text, number, wide]),
        "opscope_push_in": (code, [wide, text, number, wide]),
        "opscope_pop": (code, []),
        "opscope_range_start_in": (wide, [wide, text, number, wide]),
        "opscope_range_end": (code, [wide]),
        "opscope_domain": (wide, [text]),
        "aclprofInit": (code, [text, size]),
        "aclprofFinalize": (code, []),
        "aclprofCreateConfig": (pointer, [pointer, number, code, pointer, wide]),
        "aclprofDestroyConfig": (code, [pointer]),
        "aclprofSetConfig": (code, [code, text, size]),
        "aclprofStart": (code, [pointer]),
        "aclprofStop": (code, [pointer]),
        "aclprofCreateStamp": (pointer, []),
        "aclprofDestroyStamp": (None, [pointer]),
        "aclprofSetStampTraceMessage": (code, [pointer, text, number]),
        "aclprofSetStampCategory": (code, [pointer, number]),
        "aclprofSetStampPayload": (code, [pointer, code, pointer]),
        "aclprofSetCategoryName": (code, [number, text]),
        "aclprofMark": (code, [pointer]),
        "aclprofMarkEx": (code, [text, size, pointer]),
        "aclprofPush": (code, [pointer]),
        "aclprofPop": (code, []),
        "aclprofRangeStart": (code, [pointer, ctypes.POINTER(number)]),
        "aclprofRangeStop": (code, [number]),
        "aclprofModelSubscribe": (code, [number, pointer]),
        "aclprofModelUnSubscribe": (code, [number]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _load_declared():
    library = _load()
    try:
        return None if library is None else _declare(library)
    except AttributeError:
        return None  # a library of another version


library = _load_declared()


def encode(text):
    """The bytes of a text, whatever it is."""
    if isinstance(text, bytes):
        return text
    return str(text).encode("utf-8", "replace")
