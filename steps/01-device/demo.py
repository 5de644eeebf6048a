"""Step 01: PyTorch knows the device."""

import torch
import torch_openreg

print(torch.device("openreg:1"))
print("devices:", torch.openreg.device_count())
print("current:", torch.openreg.current_device())

with torch.openreg.device("openreg:1"):
    print("inside: ", torch.openreg.current_device())
print("after:  ", torch.openreg.current_device())

torch.openreg.synchronize(1)
print(torch.openreg.get_device_properties(0).name)

try:
    torch.openreg.set_device(7)
except ValueError as error:
    print("ValueError:", error)

print("built for torch", torch_openreg._C._torch_version())
