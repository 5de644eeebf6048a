"""A decomposition for this device: what the CPU would compute is made of operators that the device has."""

import torch
import torch_openreg  # noqa: F401

OP = torch.ops.aten.fake_quantize_per_tensor_affine_cachemask.default


def on_device(x: torch.Tensor, scale: float, zero_point: int, low: int, high: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The nearest of the numbers that few bits can tell apart, and which of them were within their range."""
    number = torch.round(x / scale) + zero_point
    return (number.clamp(low, high) - zero_point) * scale, (number >= low) & (number <= high)


def show() -> None:
    """What the operator computes on the device and on the CPU, and what the CPU had to do for the device."""
    x = torch.tensor([-3.0, 0.26, 0.74, 9.0])
    torch.openreg.reset_fallbacks()
    values, within = OP(x.to("openreg"), 0.5, 0, -2, 3)
    same = [torch.equal(a.cpu(), b) for a, b in zip((values, within), OP(x, 0.5, 0, -2, 3), strict=True)]
    print(values.tolist(), "as on the CPU:", same, "computed there:", list(torch.openreg.fallbacks()))


show()
library = torch.library.Library("aten", "IMPL")
library.impl(OP, on_device, "PrivateUse1")
show()

x = torch.ones(2, device="openreg")
out = (torch.empty_like(x), torch.empty_like(x, dtype=torch.bool))
torch.openreg.reset_fallbacks()
torch.ops.aten.fake_quantize_per_tensor_affine_cachemask.out(x, 0.5, 0, -2, 3, out0=out[0], out1=out[1])
print("with out=, computed on the CPU:", list(torch.openreg.fallbacks()))
