"""CANN's ``acl.prof`` for machines without CANN: the same names, arguments and answers.

    from opscope import acl

    stamp = acl.prof.create_stamp()
    acl.prof.set_stamp_trace_message(stamp, "infer", len("infer"))
    acl.prof.push(stamp)
    ...
    acl.prof.pop()
    acl.prof.destroy_stamp(stamp)

Everything answers 0 for success. ``opscope collect --acl-shim`` offers this module to programs that
say ``import acl``, unless there is a real one. Under a collector, init, start, stop and finalize
only answer; without one they make a profile of their own at the path given to init.
"""

import ctypes

from ._library import encode as _encode
from ._library import library as _library

__all__ = ["init", "finalize", "rt", "prof"]

_NOT_AVAILABLE = 500000
_NOT_SUPPORTED = 200001


def init(config_path=None):
    """Brackets a program of AscendCL; there is nothing to prepare here."""
    return 0


def finalize():
    """The other bracket."""
    return 0


class rt:
    """The few calls of the runtime that marked programs bracket their code with."""

    @staticmethod
    def set_device(device_id):
        return 0

    @staticmethod
    def reset_device(device_id):
        return 0


def _call(name, *arguments):
    if _library is None:
        return _NOT_AVAILABLE
    return getattr(_library, name)(*arguments)


class prof:
    """The calls of ``acl.prof``."""

    @staticmethod
    def init(path):
        path = _encode(path)
        return _call("aclprofInit", path, len(path))

    @staticmethod
    def finalize():
        return _call("aclprofFinalize")

    @staticmethod
    def create_config(device_list, metrics, events, mask):
        """Returns the configuration's address; ``events`` is always 0."""
        count = len(device_list)
        devices = (ctypes.c_uint32 * max(count, 1))(*device_list)
        return _call_address("aclprofCreateConfig", devices, count, metrics, None, mask)

    @staticmethod
    def destroy_config(config):
        return _call("aclprofDestroyConfig", config)

    @staticmethod
    def set_config(config_type, text):
        text = _encode(text)
        return _call("aclprofSetConfig", config_type, text, len(text))

    @staticmethod
    def start(config):
        return _call("aclprofStart", config)

    @staticmethod
    def stop(config):
        return _call("aclprofStop", config)

    @staticmethod
    def create_stamp():
        """Returns the stamp's address, 0 while nothing is recorded."""
        return _call_address("aclprofCreateStamp")

    @staticmethod
    def destroy_stamp(stamp):
        _call("aclprofDestroyStamp", stamp)

    @staticmethod
    def set_stamp_trace_message(stamp, message, length):
        if not 0 <= length < 2**32:
            return 100000
        if isinstance(message, str) and length < 128:
            # Programs count letters, and the call bytes: as many whole letters as fit.
            message = message[:length].encode("utf-8", "replace")[:127].decode("utf-8", "ignore")
            length = 127
        message = _encode(message)
        # A length beyond the text would read what follows it.
        length = length if length >= 128 else min(length, len(message))
        return _call("aclprofSetStampTraceMessage", stamp, message, length)

    @staticmethod
    def set_stamp_category(stamp, category):
        return _call("aclprofSetStampCategory", stamp, category)

    @staticmethod
    def set_stamp_payload(stamp, payload_type, payload):
        value = ctypes.c_uint64(payload & (2**64 - 1))
        return _call("aclprofSetStampPayload", stamp, payload_type, ctypes.byref(value))

    @staticmethod
    def set_category_name(category, name):
        return _call("aclprofSetCategoryName", category, _encode(name))

    @staticmethod
    def mark(stamp):
        return _call("aclprofMark", stamp)

    @staticmethod
    def mark_ex(message, stream):
        message = _encode(message)
        return _call("aclprofMarkEx", message, len(message), stream)

    @staticmethod
    def push(stamp):
        return _call("aclprofPush", stamp)

    @staticmethod
    def pop():
        return _call("aclprofPop")

    @staticmethod
    def range_start(stamp):
        """Returns the range's number and the answer, in this order."""
        number = ctypes.c_uint32(0)
        result = _call("aclprofRangeStart", stamp, ctypes.byref(number))
        return number.value, result

    @staticmethod
    def range_stop(range_id):
        return _call("aclprofRangeStop", range_id)

    # Subscribing to a model's operators needs a device.

    @staticmethod
    def create_subscribe_config(time_switch, metrics, fd):
        return 0

    @staticmethod
    def destroy_subscribe_config(config):
        return _NOT_SUPPORTED

    @staticmethod
    def model_subscribe(model_id, config):
        return _NOT_SUPPORTED

    @staticmethod
    def model_unsubscribe(model_id):
        return _NOT_SUPPORTED

    @staticmethod
    def get_op_desc_size():
        return 0, _NOT_SUPPORTED

    @staticmethod
    def get_op_num(data, length):
        return 0, _NOT_SUPPORTED

    @staticmethod
    def get_op_type(data, length, index, text_length=0):
        return "", _NOT_SUPPORTED

    @staticmethod
    def get_op_name(data, length, index, text_length=0):
        return "", _NOT_SUPPORTED

    @staticmethod
    def get_model_id(data, length, index):
        return 0

    @staticmethod
    def get_op_start(data, length, index):
        return 0

    @staticmethod
    def get_op_end(data, length, index):
        return 0

    @staticmethod
    def get_op_duration(data, length, index):
        return 0


def _call_address(name, *arguments):
    """An address as a plain number, as pyACL has it."""
    if _library is None:
        return 0
    return getattr(_library, name)(*arguments) or 0
