"""Networks with data and an optimizer, the same on each device: what the training figures and tests are made of."""

import copy
from collections.abc import Callable

import torch
from torch import nn

Step = Callable[[], torch.Tensor]


class MLP(nn.Sequential):
    """Three linear layers."""

    def __init__(self) -> None:
        super().__init__(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))


class CNN(nn.Sequential):
    """Convolutions with batch norm and pooling, a linear layer behind them."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
            nn.Flatten(),
            nn.Linear(128, 10),
        )


class Block(nn.Module):
    """A layer of a transformer: causal attention and two linear layers, each behind a layer norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns what goes to the next layer."""
        parts = self.queries_keys_values(self.before_attention(x)).chunk(3, dim=-1)
        heads = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        attended = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.mlp(self.before_mlp(x))


class Transformer(nn.Module):
    """Predicts the next of 64 symbols from those before it."""

    def __init__(self, width: int = 64, heads: int = 4, layers: int = 2, length: int = 32, symbols: int = 64) -> None:
        super().__init__()
        self.symbols, self.places = nn.Embedding(symbols, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, symbols)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Returns a score for each symbol, place by place, the scores before the places as cross_entropy wants them."""
        places = torch.arange(x.shape[1], device=x.device)
        return self.head(self.norm(self.blocks(self.symbols(x) + self.places(places)))).transpose(1, 2)


def trainer(
    model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor, device: str, recipe: str, *, compiled: bool = False
) -> Step:
    """Returns a function that trains a copy of a model on a device for one step, and returns the loss, not waiting.

    Args:
        model: On the CPU; stays as it is.
        inputs: A batch, the same in each step.
        labels: What the model is to say.
        device: Where to train.
        recipe: ``"sgd"``, or ``"adamw"`` with clipped gradients and a learning rate on a schedule.
        compiled: Whether the forward and backward pass go through `torch.compile`.
    """
    model, inputs, labels = copy.deepcopy(model).to(device), inputs.to(device), labels.to(device)
    parameters = list(model.parameters())
    if recipe == "sgd":
        optimizer = torch.optim.SGD(parameters, lr=0.2)
        schedule = None
    else:
        optimizer = torch.optim.AdamW(parameters, lr=3e-3, weight_decay=0.01)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)

    def loss_of(inputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(model(inputs), labels)

    # Dynamo keeps shapes by code: what it has seen of one network would make those of the next one dynamic.
    forward = torch.compile(loss_of, dynamic=False) if compiled else loss_of

    def step() -> torch.Tensor:
        loss = forward(inputs, labels)
        optimizer.zero_grad()
        loss.backward()
        if schedule:
            nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        if schedule:
            schedule.step()
        return loss.detach()

    return step


def mlp(device: str, *, compiled: bool = False) -> Step:
    """A step of an MLP: batch 128, 64-256-256-10, SGD."""
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    inputs, labels = torch.randn(128, 64, generator=generator), torch.randint(10, (128,), generator=generator)
    return trainer(MLP(), inputs, labels, device, "sgd", compiled=compiled)


def cnn(device: str, *, compiled: bool = False) -> Step:
    """A step of a CNN: batch 64 of 16 × 16 pixels, SGD."""
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    inputs, labels = torch.randn(64, 1, 16, 16, generator=generator), torch.randint(10, (64,), generator=generator)
    return trainer(CNN(), inputs, labels, device, "sgd", compiled=compiled)


def transformer(device: str, *, compiled: bool = False) -> Step:
    """A step of a transformer: batch 16 of 32 symbols, two layers of width 64, AdamW, clipping, a schedule."""
    generator = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    symbols = torch.randint(64, (16, 33), generator=generator)
    inputs, labels = symbols[:, :-1], symbols[:, 1:].contiguous()
    return trainer(Transformer(), inputs, labels, device, "adamw", compiled=compiled)
