"""Step 11: the backend is installed, and nobody has to import it."""

import sys

import torch

x = torch.arange(6.0, device="openreg").view(2, 3)
print(x @ x.t())
print("accelerator:", torch.accelerator.current_accelerator())
names = sorted(name for name in sys.modules if name.startswith("torch_openreg") and "." not in name)
print("imported by PyTorch:", names)
