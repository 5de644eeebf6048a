"""Step 02: tensors live on the device, and travel."""

import torch
import torch_openreg  # noqa: F401

x = torch.empty(2, 3, device="openreg")
print(x.device, tuple(x.shape), x.dtype)

x.copy_(torch.arange(6.0).view(2, 3))
print(x.cpu())
print("a transposed row:", x.t()[1].cpu())
print("one element:", x[1, 2].item())

y = x.to("openreg:1")
print("on", y.device, "- equal:", torch.equal(y.cpu(), x.cpu()))
print("as int64:", x.to(torch.int64).cpu().tolist())

free, total = torch.openreg.mem_get_info(1)
print("in use on openreg:1:", total - free, "bytes")
