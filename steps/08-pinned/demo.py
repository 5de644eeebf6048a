"""Step 08: batches arrive in pinned memory, and their copies are queued like other work."""

import torch
import torch_openreg  # noqa: F401
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.arange(64.0).view(16, 4), torch.arange(16))
weight = torch.ones(4, 2).to("openreg")

total = torch.zeros(2).to("openreg")
for inputs, numbers in DataLoader(data, batch_size=4, pin_memory=True):
    print("rows", numbers[0].item(), "to", numbers[-1].item(), "pinned:", inputs.is_pinned())
    total += (inputs.to("openreg", non_blocking=True) @ weight).sum(0)

result = total.to("cpu", non_blocking=True)  # into pinned memory, and not there yet
torch.accelerator.synchronize()
print("sums:", result.tolist())
