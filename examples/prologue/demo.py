"""Trains a small network on `mychip`, and the same on the CPU."""

import torch
from torch import nn

device = torch.device("mychip")


def train(device):
    torch.manual_seed(0)
    x = torch.randn(256, 4)
    y = x.square().sum(dim=1, keepdim=True)
    model = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(), nn.Linear(16, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    x, y = x.to(device), y.to(device)
    for _ in range(50):
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.detach().cpu().item()


for step, (mine, cpus) in enumerate(zip(train(device), train("cpu"), strict=True)):
    if step % 10 == 9:
        print(f"step {step + 1}: loss {mine:.4f} on {device}, {cpus:.4f} on the CPU")
