"""Step 10: a convolutional network and a transformer train, and the CPU has nothing to do."""

from collections.abc import Callable

import torch
import torch_openreg  # noqa: F401
from torch import nn


class Transformer(nn.Module):
    """Predicts the next of 40 tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(40, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, activation="gelu", batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(32, 40)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Scores of the token behind each of the tokens."""
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
        return self.head(self.layers(self.embedding(tokens), mask, is_causal=True)).transpose(1, 2)


def cnn() -> nn.Module:
    """Sorts images of 16 x 16 pixels into 10 classes."""
    first = [nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
    second = [nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.SiLU(), nn.AdaptiveAvgPool2d(1)]
    return nn.Sequential(*first, *second, nn.Flatten(), nn.Linear(16, 10))


def train(
    kind: Callable[[], nn.Module], inputs: torch.Tensor, targets: torch.Tensor, device: str, steps: int = 10
) -> list[float]:
    """Losses of training with AdamW, clipped gradients and a schedule."""
    torch.manual_seed(0)
    model = kind().to(device)
    inputs, targets = inputs.to(device), targets.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for _ in range(steps):
        loss = nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.detach())
    return [loss.item() for loss in losses]


torch.manual_seed(1)
tokens = torch.randint(0, 40, (8, 17))
tasks = {
    "a CNN": (cnn, torch.randn(32, 1, 16, 16), torch.randint(0, 10, (32,))),
    "a transformer": (Transformer, tokens[:, :-1], tokens[:, 1:]),
}
for name, task in tasks.items():
    torch.openreg.reset_fallbacks()
    expected, losses = train(*task, "cpu"), train(*task, "openreg")
    print(f"{name}: losses equal the CPU's:", torch.allclose(torch.tensor(losses), torch.tensor(expected), rtol=1e-3))
    print("  left to the CPU:", *(sorted(torch.openreg.fallbacks()) or ["nothing"]), sep="\n    ")
with torch.openreg.no_fallback():
    for name, task in tasks.items():
        train(*task, "openreg")
        print(f"{name} trained without the CPU")
