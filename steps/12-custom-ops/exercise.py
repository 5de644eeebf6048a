"""Solution: an operator that is added to the namespace by somebody else, from Python, and checked before it is used."""

import torch
from torch.library import opcheck

library = torch.library.Library("openreg", "FRAGMENT")
library.define("gated_rms_norm(Tensor input, Tensor gate, Tensor weight, float eps=1e-06) -> Tensor")


def gated_rms_norm(x: torch.Tensor, gate: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    """The norm, and behind it a gate, as state space models have it."""
    return torch.ops.openreg.rms_norm(x, weight, eps) * torch.nn.functional.silu(gate)


# It calls operators only, and each of them has its derivative, its Meta and its rules. So this one key is all.
library.impl("gated_rms_norm", gated_rms_norm, "CompositeImplicitAutograd")

for place in ("cpu", "openreg"):
    x, gate = torch.randn(2, 4, 8, device=place).requires_grad_().unbind()
    weight = torch.ones(8, device=place)
    checks = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    operator = torch.ops.openreg.gated_rms_norm.default
    arguments = [tensor.detach().requires_grad_() for tensor in (x, gate, weight)]
    print(place, opcheck(operator, arguments, test_utils=checks))
    (grad,) = torch.autograd.grad(operator(*arguments).sum(), arguments[:1])
    print("gradient:", tuple(grad.shape), "on", grad.device)
