"""Solution: an operator gets a rule, and another loses the one that it has, from a program that uses the package."""

import warnings

import torch
from torch.amp import autocast

library = torch.library.Library("aten", "IMPL")


def lerp(start: torch.Tensor, end: torch.Tensor, weight: float) -> torch.Tensor:
    """In the widest type of the two. With autocast off inside, or the call would come back here."""
    with autocast("openreg", enabled=False):
        widest = torch.promote_types(start.dtype, end.dtype)
        return torch.lerp(start.to(widest), end.to(widest), weight)


library.impl("lerp.Scalar", lerp, "AutocastPrivateUse1")

# Our kernel sums in float whatever it is given, and takes a weight in float beside an input in half: no cast is needed.
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it says that a kernel is replaced, which is what we want
    for name in ("layer_norm", "native_layer_norm"):
        library.impl(name, torch.library.fallthrough_kernel, "AutocastPrivateUse1", allow_override=True)

x = torch.randn(4, 8, device="openreg")
norm = torch.nn.LayerNorm(8).to("openreg")
with autocast("openreg", dtype=torch.bfloat16):
    half = x @ x.T @ x
    print("lerp:", torch.lerp(half, x, 0.5).dtype)
    out = norm(half)
    print("layer_norm:", out.dtype)
torch.testing.assert_close(out.float(), norm(half.float()), rtol=0.02, atol=0.02)
