"""Autocast: whether a product is really computed in half precision."""

from __future__ import annotations

import torch

from ..backend import Backend
from ..registry import Section, Silent, Wrong

section = Section("mixed precision", step=14, chapter="14-amp", needs=("import", "tensors"))


@section.probe("autocast", write="TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1); get_amp_supported_dtype in the module")
def autocast(backend: Backend) -> str:
    """Multiplies in a region, in each half type, looks at the result's type, and compares with the CPU."""
    (left, there), (right, other) = backend.numbers(8, 6), backend.numbers(6, 4)
    works, sums = [], ""
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast(backend.name, dtype=dtype):
            product = there @ other
            total = product.sum()
        if product.dtype == torch.float32:
            if works:
                raise Silent(f"a region of {dtype} computes in float32; {works[0]} works")
            raise Silent(f"a region of {dtype} warns, and computes in float32")
        if product.dtype != dtype:
            raise Wrong(f"in a region of {dtype}, a product is {product.dtype}")
        if not torch.allclose(product.float().cpu(), left @ right, rtol=0.05, atol=0.1):
            raise Wrong(f"in a region of {dtype}, a product has other numbers than the CPU's")
        works.append(dtype)
        if total.dtype != torch.float32:  # not wrong: which operators stay in float32 is for the backend to say
            sums = "; sums are in half precision, too"
    return ", ".join(map(str, works)) + sums


@section.probe(
    "GradScaler",
    heavy=True,
    step=4,
    write="_amp_foreach_non_finite_check_and_unscale_",
    needs=("import", "tensors", "backward"),
)
def scaler(backend: Backend) -> None:
    """Gives a scaler a gradient that is infinite, and one that isn't."""
    weight = torch.ones(3).to(backend.device()).requires_grad_()
    optimizer, scaler = torch.optim.SGD([weight], lr=1.0), torch.amp.GradScaler(backend.name, init_scale=4.0)
    for factor, expected, scale in ((float("inf"), 1.0, 2.0), (1.0, 0.0, 2.0)):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() != scale:
            raise Silent(f"the scale is {scaler.get_scale()} after a gradient of {factor}, not {scale}")
        backend.check(weight, torch.full((3,), expected), f"a weight after a gradient of {factor}")
