"""The levels of a driver: which part of the guide runs on it once it has which entries of the contract."""

from typing import NamedTuple


class Level(NamedTuple):
    """What part of the guide runs on a driver once it has some entries."""

    name: str
    steps: str
    entries: str  # without "or"


# Each level needs those before it.
LEVELS = [
    Level("devices", "01", "GetDeviceCount GetDeviceProperties DeviceGetState DeviceSynchronize"),
    Level(
        "tensors and fallback",
        "02-04",
        "Malloc Free PointerGetAttributes StreamGetDefault MemcpyWithStream MemcpyAsync",
    ),
    Level("kernels", "05", "MemsetAsync ModuleLoad ModuleGetKernel LaunchKernel"),
    Level(
        "streams and events",
        "06",
        "DeviceGetStreamPriorityRange StreamCreateWithPriority StreamDestroy StreamQuery StreamSynchronize "
        "StreamWaitEvent EventCreateWithFlags EventDestroy EventRecord EventQuery EventSynchronize "
        "EventElapsedTime",
    ),
    Level("memory, pinned memory, several devices", "07-10", "MemGetInfo MallocHost FreeHost MemcpyPeerAsync"),
]
