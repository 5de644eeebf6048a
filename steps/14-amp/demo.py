"""Step 14: a network trains in half precision, and a scale keeps its gradients in range."""

import torch
from torch import nn

rows = torch.randn(4096, 64, generator=torch.Generator().manual_seed(0)).to("openreg")
labels = (rows[:, :8].sum(1) > 0).long()
torch.manual_seed(0)
start = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2)).state_dict()


def train(dtype: torch.dtype | None) -> None:
    """Some steps, the forward pass in a region of autocast; without a type, in none."""
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
    model.load_state_dict(start)
    model.to("openreg")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("openreg", enabled=dtype == torch.float16)
    losses = []
    for _ in range(20):
        before = torch.accelerator.memory_allocated()
        with torch.amp.autocast("openreg", dtype=dtype, enabled=dtype is not None):
            scores = model(rows)
            loss = nn.functional.cross_entropy(scores, labels)
        kept = torch.accelerator.memory_allocated() - before
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    name = dtype or "no autocast"
    print(f"{name}: scores in {scores.dtype}, loss {losses[0]:.2f} to {losses[-1]:.2f}, {kept / 2**20:.1f} MiB kept")


for dtype in (None, torch.bfloat16, torch.float16):
    train(dtype)

weight = nn.Parameter(torch.ones(2, device="openreg"))
optimizer, scaler = torch.optim.SGD([weight], lr=0.5), torch.amp.GradScaler("openreg")
for factor in (1.0, float("inf")):
    optimizer.zero_grad()
    scaler.scale((factor * weight).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    print(f"gradients of {factor}: the weight is {weight.tolist()}, the scale {scaler.get_scale():.0f}")
print("computed by the CPU:", torch.openreg.fallbacks())
