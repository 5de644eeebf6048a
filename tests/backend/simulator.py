"""The driver's library as the backend has loaded it, behind its header: gates, failures, what it says itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cffi
import torch
import torch_openreg
from contract import header
from contract.harness import NotOfThisDriver, OpenReg, is_complete

LIBRARY = Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"


class WithoutControls:
    """The library with a driver that is no simulator: a test that calls a control ends there, whatever it asks next."""

    def __init__(self, api: OpenReg) -> None:
        self._lib, self._missing = api.lib, api.errors["orErrorNotImplemented"]

    def __getattr__(self, name: str) -> Any:
        """A function or constant of the library."""
        found = getattr(self._lib, name)
        if not name.startswith("orSim"):
            return found

        def control(*arguments: Any) -> int:
            error = found(*arguments)
            if error == self._missing:
                raise NotOfThisDriver(f"not implemented: {name}")
            return error

        return control


def connect() -> OpenReg:
    """Opens the library; calls nothing of it."""
    ffi = cffi.FFI()
    ffi.cdef(header.declarations())
    api = OpenReg(str(LIBRARY), ffi)
    if not is_complete():
        api.lib = WithoutControls(api)
    return api


def handle(stream: torch.Stream) -> Any:
    """The driver's handle of a stream."""
    return sim.ffi.cast("orStream_t", stream.native_handle)


sim = connect()
