"""An operator without a kernel, computed by the device instead of by the host's CPU."""

import torch
import torch_openreg  # noqa: F401

print("before:", torch.openreg.set_fallback("device"))
x = torch.tensor([[2.0, 1.0], [1.0, 3.0]], device="openreg")

print(torch.linalg.eigvalsh(x).cpu())
print(torch.nonzero(x > 1.5).cpu().tolist())

try:
    torch.linalg.householder_product(x, torch.ones(5, device="openreg"))
except RuntimeError as error:
    print(f"{type(error).__name__}: {error}")
