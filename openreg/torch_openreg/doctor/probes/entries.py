"""Which of the contract's functions a driver has: each is called once, so that a missing one says so."""

from __future__ import annotations

import ctypes
import re

# The functions that each part of the guide is the first to need, without "or"; those of csrc/device/level.cpp.
LEVELS = [
    ("01", "GetDeviceCount GetDeviceProperties DeviceGetState DeviceSynchronize"),
    ("02-05", "Malloc Free PointerGetAttributes StreamGetDefault MemcpyWithStream MemcpyAsync"),
    (
        "06",
        "DeviceGetStreamPriorityRange StreamCreateWithPriority StreamDestroy StreamQuery StreamSynchronize "
        "StreamWaitEvent EventCreateWithFlags EventDestroy EventRecord EventQuery EventSynchronize",
    ),
    ("07-15", "MemGetInfo MallocHost FreeHost MemcpyPeerAsync"),
    (
        "16",
        "StreamBeginCapture StreamEndCapture StreamGetCaptureInfo ThreadExchangeStreamCaptureMode GraphInstantiate "
        "GraphLaunch GraphDestroy GraphExecDestroy GraphDebugDotPrint",
    ),
    ("18", "LaunchHostFunc"),
    ("05-18", "MemsetAsync ModuleLoad ModuleGetKernel LaunchKernel"),  # without them the CPU computes
]
LEVELS = [(steps, names.split()) for steps, names in LEVELS]
FOR_TWO_DEVICES = ["MemcpyPeerAsync"]
NOT_IMPLEMENTED = 9  # orErrorNotImplemented
# What the library says of an entry that isn't there, and the beginning of a driver of one that is to be written.
LACKS = re.compile(r"\b(?:not implemented|TODO): (?:or)?(\w+)")
BYTES = 4096  # more than any struct of the contract has
DOES_NOTHING = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)  # for a driver that has no objection


def missing_entries(library: ctypes.CDLL) -> tuple[list[str], int]:
    """Calls all functions of the levels, but for those that a driver of one device has no use for.

    Returns:
        The names of those that the driver lacks, and how many were called.
    """
    out, other = ctypes.create_string_buffer(BYTES), ctypes.create_string_buffer(BYTES)
    no, zero, size = ctypes.c_void_p(), ctypes.c_int(0), ctypes.c_size_t(16)
    host = ctypes.cast(ctypes.create_string_buffer(16), ctypes.c_void_p)
    # Handles that are null, and memory of the host: a driver that has the function refuses them.
    arguments = {
        "GetDeviceCount": [out],
        "GetDeviceProperties": [out, zero],
        "DeviceGetState": [out, zero],
        "Malloc": [out, size],
        "Free": [no],
        "PointerGetAttributes": [out, host],
        "StreamGetDefault": [out, zero],
        "MemcpyWithStream": [host, host, size, ctypes.c_int(3), no],
        "MemcpyAsync": [host, host, size, ctypes.c_int(3), no],
        "MemsetAsync": [host, zero, size, no],
        "ModuleLoad": [out, ctypes.c_char_p(b"doctor")],
        "ModuleGetKernel": [out, no, ctypes.c_char_p(b"doctor")],
        "LaunchKernel": [no, host, size, no, ctypes.c_size_t(0), no],
        "DeviceGetStreamPriorityRange": [out, other, zero],
        "StreamCreateWithPriority": [out, zero, zero],
        "StreamWaitEvent": [no, no, zero],
        "LaunchHostFunc": [no, DOES_NOTHING, no],
        "EventCreateWithFlags": [out, zero],
        "EventRecord": [no, no],
        "MemGetInfo": [out, other, zero],
        "MallocHost": [out, size],
        "MemcpyPeerAsync": [host, zero, host, zero, size, no],
        "DeviceSynchronize": [zero],
        "StreamBeginCapture": [no, zero],
        "StreamEndCapture": [no, out],
        "StreamGetCaptureInfo": [no, out, no],
        "ThreadExchangeStreamCaptureMode": [out],
        "GraphInstantiate": [out, no],
        "GraphLaunch": [no, no],
        "GraphDebugDotPrint": [no, ctypes.c_char_p(b"")],
    }
    count = ctypes.c_int()
    alone = library.orGetDeviceCount(ctypes.byref(count)) == 0 and count.value == 1
    names = [name for _, names in LEVELS for name in names if not (alone and name in FOR_TWO_DEVICES)]
    lacking = []
    for name in names:
        status = getattr(library, f"or{name}")(*arguments.get(name, [no]))  # the others take a handle or a pointer
        said = LACKS.search(library.orGetLastErrorMessage().decode())
        if status == NOT_IMPLEMENTED and said and said[1] in (name, "GetDeviceCount"):
            lacking.append(name)
    return lacking, len(names)
