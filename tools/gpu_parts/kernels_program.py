"""Asks the driver for a share of its kernels, so that it compiles them, and prints how that went.

Arguments: LIBRARY SHARE SHARES. A line of JSON for each kernel.
"""

from __future__ import annotations

import ctypes
import json
import sys
import time


class Entry(ctypes.Structure):
    """An OrKernelEntry of the driver's table."""

    _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def main() -> None:
    """Asks, and prints."""
    path, share, shares = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    lib = ctypes.CDLL(path)
    lib.orDriverKernels.restype = ctypes.POINTER(Entry)
    lib.orGetLastErrorMessage.restype = ctypes.c_char_p
    count = ctypes.c_size_t()
    entries = lib.orDriverKernels(ctypes.byref(count))
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    if lib.orModuleLoad(ctypes.byref(module), b"openreg"):
        sys.exit(lib.orGetLastErrorMessage().decode())
    # Neighbours in the table are of one file and take about as long: each share has some of every file.
    for i in range(share, count.value, shares):
        start = time.monotonic()
        failed = lib.orModuleGetKernel(ctypes.byref(kernel), module, entries[i].name)
        error = lib.orGetLastErrorMessage().decode(errors="replace") if failed else ""
        seconds = round(time.monotonic() - start, 3)
        print(json.dumps({"kernel": entries[i].name.decode(), "seconds": seconds, "error": error}), flush=True)


if __name__ == "__main__":
    main()
