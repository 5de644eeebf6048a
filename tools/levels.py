"""The levels of a driver: which part of the guide runs on it once it has which entries of the contract."""

from typing import NamedTuple


class Level(NamedTuple):
    """What part of the guide runs on a driver once it has some entries."""

    name: str
    steps: str
    entries: str  # without "or"


# Each level needs those before it, but for the last: what has no kernel the CPU computes, on every level.
LEVELS = [
    Level("devices", "01", "GetDeviceCount GetDeviceProperties DeviceGetState DeviceSynchronize"),
    Level(
        "tensors, operators by fallback",
        "02-05",
        "Malloc Free PointerGetAttributes StreamGetDefault MemcpyWithStream MemcpyAsync",
    ),
    Level(
        "streams and events",
        "06",
        "DeviceGetStreamPriorityRange StreamCreateWithPriority StreamDestroy StreamQuery StreamSynchronize "
        "StreamWaitEvent EventCreateWithFlags EventDestroy EventRecord EventQuery EventSynchronize "
        "EventElapsedTime",
    ),
    Level("memory, pinned memory, several devices", "07-15", "MemGetInfo MallocHost FreeHost MemcpyPeerAsync"),
    Level("kernels, one by one", "05-15", "MemsetAsync ModuleLoad ModuleGetKernel LaunchKernel"),
]
