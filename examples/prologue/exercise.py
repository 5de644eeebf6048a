"""Makes ReLU differentiable on `mychip`: an autograd kernel that keeps the argument, and not the result."""

from typing import Any

import mychip  # noqa: F401 (registers the device)
import torch
from torch import nn


class Relu(torch.autograd.Function):
    """ReLU, differentiated by the sign of its argument."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        """Keeps `x`: autograd hands out an argument as the object it was given, array and all."""
        ctx.save_for_backward(x)
        with torch._C._AutoDispatchBelowAutograd():  # to the kernel below, not to this one again
            return torch.relu(x)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        """Lets the gradient through where the argument was positive."""
        (x,) = ctx.saved_tensors
        return torch.ops.aten.threshold_backward(grad, x, 0)


torch.library.impl("aten::relu", "AutogradPrivateUse1")(Relu.apply)


def gradients(device: str) -> list[torch.Tensor]:
    """Returns the gradients of a network with a ReLU."""
    torch.manual_seed(0)
    x = torch.randn(32, 4)
    model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)).to(device)
    model(x.to(device)).mean().backward()
    return [parameter.grad.cpu() for parameter in model.parameters()]


torch.testing.assert_close(gradients("mychip"), gradients("cpu"))
print("the gradients are those of the CPU")
