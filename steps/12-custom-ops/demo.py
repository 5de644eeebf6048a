"""Step 12: an operator that PyTorch doesn't have, and everything that PyTorch does with operators."""

import torch

x = torch.randn(4, 3, 8, generator=torch.Generator().manual_seed(0))
weight = torch.linspace(0.5, 2, 8)


def train(place: str) -> list[torch.Tensor]:
    """The norm of some rows, and its gradients."""
    own = [x.detach().to(place).requires_grad_(), weight.detach().to(place).requires_grad_()]
    norm = torch.ops.openreg.rms_norm(*own)
    norm.square().sum().backward()
    return [tensor.detach().cpu() for tensor in (norm, *(tensor.grad for tensor in own))]


def loss(weight: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Of one sample."""
    return torch.ops.openreg.rms_norm(rows, weight).square().sum()


pairs = zip(train("openreg"), train("cpu"), strict=True)
print("forward and backward equal the CPU's:", all(torch.allclose(a, b, rtol=1e-4, atol=1e-5) for a, b in pairs))

here, there = weight.to("openreg"), x.to("openreg")
each = torch.vmap(torch.func.grad(loss), (None, 0))(here, there)
print("a gradient for each sample:", tuple(each.shape))
compiled = torch.compile(loss, fullgraph=True, backend="aot_eager")
print("in one graph:", torch.allclose(compiled(here, there), loss(here, there)))

residual = there.clone()
torch.ops.openreg.add_rms_norm_(residual, there, here)
print("in place:", torch.equal(residual, there + there))
