"""Figures of an operator of one's own: RMS normalisation fused, by PyTorch's operators, and the CPU."""

from collections.abc import Callable

import torch
from measure import DEVICE, in_turns, report

SHAPES = {"one token": (1, 4096), "a batch": (512, 1024)}
FASTER = 1.2  # times, at least; how much more depends on how long the launches that it saves take

Norm = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Body = Callable[[], object]


def composed(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """What a user writes down."""
    wide = x.float()
    return (wide * (wide.square().mean(-1, keepdim=True) + 1e-6).rsqrt()).to(x.dtype) * weight


def fused(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The operator."""
    return torch.ops.openreg.rms_norm(x, weight)


def forward(norm: Norm, x: torch.Tensor, weight: torch.Tensor) -> Body:
    """A function that normalises."""

    def body() -> None:
        with torch.no_grad():
            norm(x, weight)

    return body


def training(norm: Norm, x: torch.Tensor, weight: torch.Tensor) -> Body:
    """The same with both gradients."""
    own = [x.detach().requires_grad_(), weight.detach().requires_grad_()]
    return lambda: norm(*own).backward(x)


def residual(norm: Norm, x: torch.Tensor, weight: torch.Tensor) -> Body:
    """The sum that a layer of a transformer begins with, and its norm."""
    into = torch.zeros_like(x)

    def body() -> None:
        with torch.no_grad():
            if norm is fused:
                torch.ops.openreg.add_rms_norm_(into, x, weight)
            else:
                norm(into.add_(x), weight)

    return body


def custom_ops() -> None:
    """All forms, in float and in half."""
    for what, make in (("forward", forward), ("with gradients", training), ("with the residual", residual)):
        for name, shape in SHAPES.items():
            for dtype in (torch.float32, torch.bfloat16):
                x, weight = torch.randn(shape).to(DEVICE, dtype), torch.rand(shape[-1:]).to(DEVICE, dtype)
                bodies = [make(fused, x, weight), make(composed, x, weight), make(composed, x.cpu(), weight.cpu())]
                kernel, operators, cpu = in_turns(bodies, calls=20, rounds=7)
                label = f"rms_norm {what}, {name}, {str(dtype).removeprefix('torch.')}"
                report(label, kernel * 1e6, "µs", cpu=cpu * 1e6)
                report(f"{label}: as fast as the operators, times", operators / kernel, "", least=FASTER)


if __name__ == "__main__":
    custom_ops()
