"""What the driver's library says: which kernels are compiled, for which GPUs, and where they are kept."""

from __future__ import annotations

import ctypes
from pathlib import Path

from ..openreg.device import device_count, get_device_properties


class Driver:
    """The driver that ``OPENREG_DRIVER`` chooses.

    Attributes:
        path: Its library's path, or that of the library that loads it.
        name: Its name, such as "sim".
        can_compile: Whether it compiles kernels.
        other_can: Whether the library has another driver that does.
    """

    def __init__(self) -> None:
        self.path = Path(__file__).resolve().parents[1] / "lib" / "libopenreg.so"
        self._library = ctypes.CDLL(str(self.path))
        self._library.orGetLastErrorMessage.restype = ctypes.c_char_p
        name = ctypes.c_char_p()
        self._call("orGetDriverName", ctypes.byref(name))
        self.name = (name.value or b"").decode()
        self.can_compile = self.name == "cuda"
        self.other_can = not self.can_compile and hasattr(self._library, "orCudaKernels")

    def _call(self, function: str, *args: object) -> None:
        """Calls a function of the library.

        Raises:
            RuntimeError: With the library's words, if it fails.
        """
        if getattr(self._library, function)(*args):
            raise RuntimeError(self._library.orGetLastErrorMessage().decode())

    def kernels(self) -> list[str]:
        """The kernels that are compiled."""
        names, count = ctypes.POINTER(ctypes.c_char_p)(), ctypes.c_size_t()
        self._call("orCudaKernels", ctypes.byref(names), ctypes.byref(count))
        return [names[i].decode() for i in range(count.value)]

    def cache(self) -> Path:
        """The folder in which compiled kernels are kept."""
        folder = ctypes.c_char_p()
        self._call("orCudaCache", ctypes.byref(folder))
        return Path((folder.value or b"").decode())

    def architectures(self) -> list[int]:
        """Those of this machine's GPUs: 90 for sm_90.

        Raises:
            RuntimeError: If there is no GPU; it says why.
        """
        if not device_count():
            self._call("orSetDevice", 0)  # which is refused with the reason
        properties = map(get_device_properties, range(device_count()))
        return sorted({10 * it.major + it.minor for it in properties})
