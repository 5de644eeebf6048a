"""Step 05: a network trains, and the CPU has nothing to do."""

import torch
import torch_openreg  # noqa: F401


def train(device: str, steps: int = 20) -> list[float]:
    torch.manual_seed(0)
    inputs, targets = torch.randn(128, 64).to(device), torch.randint(0, 10, (128,)).to(device)
    layers = [torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(256, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


expected, losses = train("cpu"), train("openreg")
print("losses equal the CPU's:", torch.allclose(torch.tensor(losses), torch.tensor(expected), rtol=1e-4))
print("left to the CPU:", *(sorted(torch.openreg.fallbacks()) or ["nothing"]), sep="\n  ")
with torch.openreg.no_fallback():
    train("openreg")
print("trained without the CPU")
