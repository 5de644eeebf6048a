"""The driver's library as the backend has loaded it, behind its header: gates, failures, what it says itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cffi
import torch
import torch_openreg
from contract import header
from contract.harness import OpenReg

LIBRARY = Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"


def connect() -> OpenReg:
    """Opens the library; calls nothing of it."""
    ffi = cffi.FFI()
    ffi.cdef(header.declarations())
    return OpenReg(str(LIBRARY), ffi)


def handle(stream: torch.Stream) -> Any:
    """The driver's handle of a stream."""
    return sim.ffi.cast("orStream_t", stream.native_handle)


sim = connect()
