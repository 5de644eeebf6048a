"""Compiled networks train as in eager mode on the device: those of step 10, and five that have been published.

The published ones are written from torch.nn, small, with random weights. They differ in what they are made of.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
import torch_openreg  # noqa: F401
from torch import nn
from torch.nn import functional as F  # noqa: N812

from .compile_checks import compiled, kernels_of, numbers

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import models

pytestmark = [pytest.mark.kernels, pytest.mark.timeout(600)]

STEPS = 3
# Both round floats, in other orders. Measured: 2e-7 and 1.5e-6.
LOSS_BOUND = 1e-6  # of a loss
GRADIENT_BOUND = 1e-5  # of a gradient's largest number, or of a tenth of the largest of all


def convolution(before: int, after: int, size: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """A convolution with batch normalisation."""
    layer = nn.Conv2d(before, after, size, stride, padding=size // 2, groups=groups, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(after))


# ---------------------------------------------------------------- ResNet: He et al., 2015


class Residual(nn.Module):
    """Two convolutions, and a way around them."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first, self.second = convolution(before, after, stride=stride), convolution(after, after)
        self.around = nn.Identity() if before == after else convolution(before, after, size=1, stride=stride)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.second(F.relu(self.first(x))) + self.around(x))


class ResNet(nn.Sequential):
    """A stem, two stages, and an average over what is left of the image."""

    def __init__(self) -> None:
        super().__init__(
            convolution(3, 16),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
            Residual(16, 16, stride=1),
            Residual(16, 32, stride=2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(32, 10),
        )


# ---------------------------------------------------------------- MobileNetV3: Howard et al., 2019


class Squeeze(nn.Module):
    """Weighs channels by what all of the image says."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down, self.up = nn.Conv2d(channels, channels // 4, 1), nn.Conv2d(channels // 4, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * F.hardsigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1)))))


class Inverted(nn.Module):
    """Many channels, each with a convolution of its own, between few."""

    def __init__(self, before: int, wide: int, after: int, stride: int) -> None:
        super().__init__()
        self.adds = before == after and stride == 1
        self.body = nn.Sequential(
            convolution(before, wide, size=1),
            nn.Hardswish(),
            convolution(wide, wide, size=5, stride=stride, groups=wide),
            nn.Hardswish(),
            Squeeze(wide),
            convolution(wide, after, size=1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.adds else self.body(x)


class MobileNet(nn.Sequential):
    """A stem, two inverted blocks, a head of two layers."""

    def __init__(self) -> None:
        super().__init__(
            convolution(3, 8, stride=2),
            nn.Hardswish(),
            Inverted(8, 24, 8, stride=1),
            Inverted(8, 32, 16, stride=2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(16, 32),
            nn.Hardswish(),
            nn.Linear(32, 10),
        )


# ---------------------------------------------------------------- U-Net: Ronneberger et al., 2015


class UNet(nn.Module):
    """Down and up again; each size hands what it has seen across. Says for each pixel what it is."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.lowest = convolution(3, 8), convolution(8, 16), convolution(16, 32)
        self.up, self.last_up = nn.ConvTranspose2d(32, 16, 2, stride=2), nn.ConvTranspose2d(16, 8, 2, stride=2)
        self.third, self.fourth = convolution(32, 16), convolution(16, 8)
        self.head = nn.Conv2d(8, 10, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first = F.relu(self.first(x))
        second = F.relu(self.second(F.max_pool2d(first, 2)))
        lowest = F.relu(self.lowest(F.max_pool2d(second, 2)))
        third = F.relu(self.third(torch.cat([second, self.up(lowest)], 1)))
        return self.head(F.relu(self.fourth(torch.cat([first, self.last_up(third)], 1))))


# ---------------------------------------------------------------- Vision Transformer: Dosovitskiy et al., 2020


class VisionTransformer(nn.Module):
    """Patches of an image as words, behind one that stands for the class."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, stride=4)
        self.kind, self.places = nn.Parameter(torch.randn(1, 1, width)), nn.Parameter(torch.randn(1, 17, width))
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        words = self.patches(x).flatten(2).transpose(1, 2)
        words = torch.cat([self.kind.expand(len(x), -1, -1), words], 1) + self.places
        return self.head(self.encoder(words)[:, 0])


# ---------------------------------------------------------------- LLaMA: Touvron et al., 2023


class Rotating(nn.Module):
    """A layer: attention whose queries and keys turn with their places, and a gated pair of linear layers."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_gate = nn.RMSNorm(width), nn.RMSNorm(width)
        self.queries_keys_values = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def turned(self, x: torch.Tensor) -> torch.Tensor:
        """Pairs of numbers, each turned by an angle that grows with the place."""
        length, size = x.shape[-2:]
        speeds = 10000.0 ** (-torch.arange(0, size, 2, device=x.device) / size)
        angles = torch.arange(length, device=x.device)[:, None] * speeds
        first, second = x.chunk(2, dim=-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.queries_keys_values(self.before_attention(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        attended = F.scaled_dot_product_attention(self.turned(q), self.turned(k), v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        y = self.before_gate(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    """Predicts the next of 40 symbols from those before it."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.symbols, self.layers = nn.Embedding(40, width), nn.Sequential(Rotating(width, 4), Rotating(width, 4))
        self.norm, self.head = nn.RMSNorm(width), nn.Linear(width, 40, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(self.layers(self.symbols(x)))).transpose(1, 2)


# ---------------------------------------------------------------- the tests


def counted(*shape: int, most: int) -> torch.Tensor:
    """Whole numbers below `most` that look mixed."""
    return torch.arange(torch.Size(shape).numel()).view(shape) * 7919 % 104729 % most


# Each with a batch, and what it is to say.
NETWORKS: dict[str, tuple[type[nn.Module], torch.Tensor, torch.Tensor]] = {
    "mlp of step 10": (models.MLP, numbers(32, 64), counted(32, most=10)),
    "cnn of step 10": (models.CNN, numbers(16, 1, 16, 16), counted(16, most=10)),
    "transformer of step 10": (models.Transformer, counted(4, 32, most=64), counted(4, 32, most=63)),
    "resnet": (ResNet, numbers(8, 3, 16, 16), counted(8, most=10)),
    "mobilenet": (MobileNet, numbers(8, 3, 16, 16), counted(8, most=10)),
    "u-net": (UNet, numbers(2, 3, 16, 16), counted(2, 16, 16, most=10)),
    "vision transformer": (VisionTransformer, numbers(8, 3, 16, 16), counted(8, most=10)),
    "llama": (Llama, counted(4, 16, most=40), counted(4, 16, most=39)),
}


class Training(NamedTuple):
    """What some steps of training have left."""

    losses: list[float]
    gradients: list[list[torch.Tensor]]  # of each step
    run: Callable[[], torch.Tensor]  # computes a loss once more


def trained(name: str, device: str, compiles: bool) -> Training:
    """Trains a network with the same weights each time for some steps. The CPU does none of it."""
    torch.manual_seed(0)
    make, x, labels = NETWORKS[name]
    network, x, labels = make().to(device), x.to(device), labels.to(device)

    def loss_of(x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return F.cross_entropy(network(x), labels)

    run = compiled(loss_of, fullgraph=True) if compiles else loss_of
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    losses, gradients = [], []
    with torch.openreg.no_fallback():
        for _ in range(STEPS):
            loss = run(x, labels)
            optimizer.zero_grad()
            loss.backward()
            gradients.append([it.grad.clone() for it in network.parameters()])
            optimizer.step()
            losses.append(loss.detach())
    return Training(torch.stack(losses).tolist(), gradients, lambda: run(x, labels))


def furthest(gradients: list[torch.Tensor], expected: list[torch.Tensor]) -> float:
    """The largest difference. A gradient that is 0 but for rounding is measured by the others."""
    sizes = torch.stack([it.abs().max() for it in expected])
    errors = torch.stack([(mine - theirs).abs().max() for mine, theirs in zip(gradients, expected, strict=True)])
    return (errors / sizes.clamp(min=0.1 * sizes.max().item())).max().item()


@pytest.mark.parametrize("name", NETWORKS)
def test_losses_and_gradients_of_compiled_training_are_those_of_eager(name: str) -> None:
    mine, eager = trained(name, "openreg:0", True), trained(name, "openreg:0", False)
    assert mine.losses == pytest.approx(eager.losses, rel=LOSS_BOUND)
    assert eager.losses[-1] < eager.losses[0]
    assert max(map(furthest, mine.gradients, eager.gradients)) < GRADIENT_BOUND
    assert any(kernel.startswith("openreg_fused_") for kernel in kernels_of(mine.run))
