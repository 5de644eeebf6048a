"""The first PyTorch program on a driver that has memory and copies: tensors, and every operator on the CPU."""

import torch
import torch_openreg  # noqa: F401

print(torch.openreg.get_device_properties())

a = torch.arange(6.0).view(2, 3)
b = torch.linspace(0, 1, 6).view(2, 3)
x, y = a.to("openreg"), b.to("openreg")
print(x)

torch.openreg.reset_fallbacks()
print("x + y is right:", torch.equal((x + y).cpu(), a + b))
print("and so is x @ y.t():", torch.allclose((x @ y.t()).cpu(), a @ b.t()))
print("computed on the CPU:", torch.openreg.fallbacks())
