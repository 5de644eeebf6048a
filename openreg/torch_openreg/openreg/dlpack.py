"""DLPack: memory shared with other libraries in this process, without a copy."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.overrides import has_torch_function_unary
from torch.utils.dlpack import DLDeviceType

from torch_openreg import _C

__all__ = ["from_dlpack"]

_export = torch.Tensor.__dlpack__
_device = torch.Tensor.__dlpack_device__


# LITERALINCLUDE START: DLPACK DEVICE
@functools.wraps(_device)
def __dlpack_device__(self: torch.Tensor) -> tuple[DLDeviceType, int]:  # noqa: N807
    # PyTorch compares the device's name with "privateuse1", which it isn't once a backend has a name (2.13).
    if not has_torch_function_unary(self) and self.is_openreg:
        return (DLDeviceType.kDLExtDev, self.device.index)
    return _device(self)


# LITERALINCLUDE END: DLPACK DEVICE
# LITERALINCLUDE START: DLPACK EXPORT
@functools.wraps(_export)
def __dlpack__(self: torch.Tensor, *, stream: Any = -1, **options: Any) -> Any:  # noqa: N807
    if has_torch_function_unary(self) or not self.is_openreg:
        return _export(self, stream=stream, **options)
    if stream is not None and (type(stream) is not int or stream < -1):
        raise TypeError(f"__dlpack__: argument 'stream' is {stream!r}; expected an orStream_t as a number, or None")
    capsule = _export(self, **options)  # perhaps of a copy, which is queued by now
    kind, index = options.get("dl_device") or self.__dlpack_device__()
    if stream != -1 and kind == DLDeviceType.kDLExtDev:
        _C._order_after_current(index, stream or 0)  # None is the default stream, and so is 0
    return capsule


# LITERALINCLUDE END: DLPACK EXPORT
# LITERALINCLUDE START: DLPACK IMPORT
def from_dlpack(source: Any) -> torch.Tensor:
    """A tensor in the memory of another library's array on this device.

    ``torch.from_dlpack`` does the same, but tells the other library of no stream. This one passes the current stream of
    the array's device, so that what is queued from now on finds the array finished.

    Args:
        source: Object with ``__dlpack__`` and ``__dlpack_device__``, on a device of this backend.

    Raises:
        ValueError: If it is elsewhere.
    """
    kind, index = source.__dlpack_device__()
    if kind != DLDeviceType.kDLExtDev:
        raise ValueError(
            f"from_dlpack: argument 'source' is on a DLPack device of type {int(kind)}; expected kDLExtDev"
        )
    stream = torch.accelerator.current_stream(index).native_handle
    return torch._C._from_dlpack(source.__dlpack__(stream=stream))


# LITERALINCLUDE END: DLPACK IMPORT
# LITERALINCLUDE START: DLPACK METHODS
torch.Tensor.__dlpack_device__ = __dlpack_device__  # type: ignore[method-assign]
torch.Tensor.__dlpack__ = __dlpack__  # type: ignore[method-assign]
# LITERALINCLUDE END: DLPACK METHODS
