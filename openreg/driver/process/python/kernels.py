"""Kernels: found by name in shared libraries, and run here, in this process."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import run_op
from device import Device
from errors import Error, Refused
from wire import POINTER

# LITERALINCLUDE START: PYTHON KERNEL TYPES
LIBRARY = Path(__file__).resolve().parent.parent / "libopenreg.so"  # has the kernels of the module "openreg"

# openreg_kernel.h
BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
PARALLEL_FOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, BODY, ctypes.c_void_p)
FAIL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class Context(ctypes.Structure):
    """orKernelContext: what the device does for a running kernel."""

    _fields_ = (("parallel_for", PARALLEL_FOR), ("fail", FAIL))


class Entry(ctypes.Structure):
    """orKernelEntry: a kernel in a library's table."""

    _fields_ = (("name", ctypes.c_char_p), ("function", FUNCTION), ("min_args_size", ctypes.c_size_t))


@PARALLEL_FOR
def parallel_for(_context: int, count: int, _grain: int, body: Callable[..., None], state: int) -> None:
    """A loop in one piece: this device is meant to be read, not to be fast."""
    if count > 0:
        body(state, 0, count)


# LITERALINCLUDE END: PYTHON KERNEL TYPES


# LITERALINCLUDE START: PYTHON MODULES
class Kernel(NamedTuple):
    """A kernel that can be launched. `run` gets the address of the arguments, their size, and where errors go."""

    name: str
    min_args_size: int
    run: Callable[[int, int, Callable[[int, str], None]], None]


def native(entry: Entry) -> Kernel:
    """A kernel in a library. ctypes lets other threads run meanwhile."""
    function = entry.function

    def run(args: int, _size: int, fail: Callable[[int, str], None]) -> None:
        report = FAIL(lambda _, error, text: fail(error, text.decode(errors="replace")))
        context = Context(parallel_for, report)  # a name, since an address alone would not keep it
        function(args, ctypes.addressof(context))

    return Kernel(entry.name.decode(), entry.min_args_size, run)


def opened(path: str) -> ctypes.CDLL:
    """The library at a path. Unlike CDLL, this lets other threads run while it is being loaded."""
    libc = ctypes.CDLL(None)
    libc.dlopen.restype, libc.dlopen.argtypes = ctypes.c_void_p, [ctypes.c_char_p, ctypes.c_int]
    libc.dlerror.restype = ctypes.c_char_p
    handle = libc.dlopen(path.encode(), os.RTLD_NOW | os.RTLD_LOCAL)
    if not handle:
        raise OSError(libc.dlerror().decode(errors="replace"))
    return ctypes.CDLL(path, handle=handle)


def copied(path: str, number: int) -> ctypes.CDLL:
    """The library at a path, loaded from a copy: whoever writes to the file later does not write to code that runs.

    The loader takes two libraries of one name for one, and the numbers of descriptors come again: so the name is spelt
    differently each time.
    """
    copy = os.memfd_create("openreg-module")
    try:
        with Path(path).open("rb") as file, os.fdopen(os.dup(copy), "wb") as out:
            shutil.copyfileobj(file, out)
        spelt = "".join("/." if digit == "1" else "/" for digit in f"{number:b}")
        return opened(f"/proc/self/fd{spelt}/{copy}")
    finally:
        os.close(copy)


class Modules:
    """What has been loaded. A module's and a kernel's name on the wire is its place in a list, counted from 1."""

    def __init__(self, with_kernels: bool) -> None:
        """`with_kernels`: whether the module "openreg" has any."""
        self.with_kernels = with_kernels
        self.origins: list[object] = []  # what the file was: one that is compiled anew at the same path is another
        self.modules: list[dict[str, Kernel]] = []
        self.kernels: list[Kernel] = []
        self.handles: dict[tuple[int, str], int] = {}

    def load(self, path: str, name: str) -> int:
        """A module's handle; the same for the same file. `name` is what the program has called it."""
        if "/" not in name and name != "openreg":
            expected = "'openreg' or the path (with a slash in it) of a shared library"
            raise Refused(Error.NOT_FOUND, f"argument 'name' is '{name}'; expected {expected}")
        try:
            is_ = os.stat(LIBRARY if name == "openreg" else path)
            origin = name if name == "openreg" else (is_.st_dev, is_.st_ino, is_.st_size, is_.st_mtime_ns)
            if origin not in self.origins:
                library = ctypes.CDLL(str(LIBRARY)) if name == "openreg" else copied(path, len(self.origins))
        except OSError as error:
            why = re.sub(r"^/proc/self/fd\S*: ", "", error.strerror or str(error))
            raise Refused(Error.NOT_FOUND, f"argument 'name' is '{name}', which cannot be loaded: {why}") from None
        if origin not in self.origins:
            try:
                table = library["orDriverKernels" if name == "openreg" else "orGetKernels"]
            except AttributeError:
                said = f"argument 'name' is '{name}', which does not export orGetKernels"
                raise Refused(Error.NOT_FOUND, said) from None
            table.restype = ctypes.POINTER(Entry)
            count = ctypes.c_size_t()
            entries = table(ctypes.byref(count))
            kernels = [native(entries[i]) for i in range(count.value)]
            if name == "openreg":
                own = Kernel("run_op", run_op.MIN_ARGS_SIZE, run_op.run)
                kernels = [*kernels, own] if self.with_kernels else []
            self.origins.append(origin)
            self.modules.append({kernel.name: kernel for kernel in kernels})
        return self.origins.index(origin) + 1

    def find(self, module: int, name: str) -> tuple[int, int]:
        """A kernel's handle, and how many argument bytes it needs at least."""
        if not 0 < module <= len(self.modules):
            raise Refused(
                Error.INVALID_HANDLE, f"argument 'module' is {module}; expected a module, of {len(self.modules)}"
            )
        kernels = self.modules[module - 1]
        if name not in kernels:
            expected = f"a kernel of the module, which has {len(kernels)}"
            raise Refused(Error.NOT_FOUND, f"argument 'name' is '{name}'; expected {expected}")
        if (module, name) not in self.handles:
            self.kernels.append(kernels[name])
            self.handles[module, name] = len(self.kernels)
        handle = self.handles[module, name]
        return handle, kernels[name].min_args_size


# LITERALINCLUDE END: PYTHON MODULES


# LITERALINCLUDE START: PYTHON LAUNCH
def launch(device: Device, kernel: Kernel, args: bytes, pointers: bytes) -> bool:
    """Replaces each pointer among the arguments by an address of this process, and calls the kernel.

    False if the device has failed before.
    """

    def fail(error: int, text: str) -> None:
        code = Error.LAUNCH_FAILURE if error in (0, 5) else error  # A failure is neither success nor "not ready".
        device.fail(code, f"kernel '{kernel.name}' on device {device.index}: {text}")

    device.delay(device.kernel_delay)
    if device.dropping.is_set():
        return False
    room = ctypes.create_string_buffer(len(args) + 16)
    start = -(-ctypes.addressof(room) // 16) * 16  # Kernels may rely on it.
    ctypes.memmove(start, args, len(args))
    held = []  # The memory of peers, which may be reset while the kernel runs.
    for offset, _access, lower, extent in POINTER.iter_unpack(pointers):
        if extent == 0:
            continue  # Nothing is touched, so whatever stands there may stay.
        place = ctypes.c_uint64.from_address(start + offset)
        (given,) = struct.unpack_from("<Q", args, offset)  # not what an earlier descriptor of it has put there
        whose, owner = device.owner((given + lower) % 2**64)
        allowed = whose == device.index or whose in device.accessible
        seen = owner.find(given + lower, extent) if owner and allowed else None
        if seen is None:
            where = f"one live allocation of device {device.index} or of a peer it has access to"
            hint = hint_of(whose, allowed)
            text = f"the pointer at argument byte {offset} is {given:#x} and is used from byte {lower} on for "
            fail(Error.ILLEGAL_ADDRESS, f"{text}{extent} bytes; expected these to lie in {where}{hint}")
            return True
        held.append(owner)
        place.value = seen - lower
    kernel.run(start, len(args), fail)
    return True


def hint_of(whose: int | None, allowed: bool) -> str:
    """Says whose memory it is, if that is why a kernel may not use it."""
    if whose is None:
        return " (it is host memory)"
    return "" if allowed else f" (it is memory of device {whose}, to which there is no peer access)"


# LITERALINCLUDE END: PYTHON LAUNCH
