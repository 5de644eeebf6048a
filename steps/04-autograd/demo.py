"""Step 04: backward, and a model that learns."""

import torch
import torch_openreg  # noqa: F401

torch.manual_seed(0)
inputs = torch.randn(32, 8).to("openreg")
targets = inputs.sum(1, keepdim=True)

model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1)).to("openreg")
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

first = None
for _ in range(50):
    loss = torch.nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    first = loss.item() if first is None else first

print("loss fell:", loss.item() < first / 10)
print("gradients on", model[0].weight.grad.device)
print("accelerator:", torch.accelerator.current_accelerator())
