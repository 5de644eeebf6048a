"""The driver's library as the backend has loaded it, behind its header: gates, failures, what it says itself."""

from __future__ import annotations

from pathlib import Path

import cffi
import torch_openreg
from contract import header
from contract.harness import OpenReg

LIBRARY = Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"


def connect() -> OpenReg:
    """Opens the library; calls nothing of it."""
    ffi = cffi.FFI()
    ffi.cdef(header.declarations())
    return OpenReg(str(LIBRARY), ffi)


sim = connect()
