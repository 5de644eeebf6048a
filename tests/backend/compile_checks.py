"""What the tests of torch.compile share: functions compiled afresh, and their results beside the CPU's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile
from torch.utils import _pytree as pytree

Function = Callable[..., Any]


def on(place: torch.types.Device, tree: Any) -> Any:
    """A copy of what a structure has, its tensors on a device."""
    return pytree.tree_map_only(torch.Tensor, lambda it: it.detach().to(place), tree)


def in_double(tree: Any) -> Any:
    """The same with tensors of floating point in double precision."""
    return pytree.tree_map_only(torch.Tensor, lambda it: it.double() if it.is_floating_point() else it, tree)


def compiled(function: Function, **options: Any) -> Function:
    """Compiles a function as if it were the first one of the process."""
    torch._dynamo.reset()
    return torch.compile(function, **options)


def numbers(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """A tensor on the CPU with the same numbers each time."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)), dtype=torch.float64).to(dtype)


def close(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None) -> None:
    """Two structures hold the same, up to the rounding of their types or what is given."""
    pairs = list(zip(pytree.tree_leaves(actual), pytree.tree_leaves(expected), strict=True))
    for number, (mine, theirs) in enumerate(pairs):
        assert mine.shape == theirs.shape, f"result {number}: {mine.shape}, expected {theirs.shape}"
        mine = mine.detach().cpu()
        kept = theirs.dtype == mine.dtype
        torch.testing.assert_close(
            mine,
            theirs.detach(),
            rtol=rtol,
            atol=rtol if atol is None and rtol is not None else atol,
            equal_nan=True,
            check_dtype=kept,
            msg=lambda text, number=number: f"result {number}: {text}",
        )


def check(
    function: Function,
    *arguments: Any,
    device: str = "openreg:0",
    rtol: float | None = None,
    atol: float | None = None,
    double: bool = False,
    **options: Any,
) -> Function:
    """Compiles a function whole and compares with the CPU's eager one, which may compute in double precision.

    Nothing is left to the CPU. Returns the compiled function.
    """
    run = compiled(function, **{"fullgraph": True} | options)
    there, here = on(device, arguments), on("cpu", arguments)
    with torch.openreg.no_fallback():
        got = run(*there)
    expected = function(*(in_double(here) if double else here))
    if double:
        expected = pytree.tree_map(lambda mine, exact: exact.to(mine.dtype), got, expected)
    for mine in pytree.tree_leaves(got):
        assert str(mine.device) == device
    close(got, expected, rtol, atol)
    close(there, here, rtol, atol)  # where it writes to its arguments
    return run


def error(actual: torch.Tensor, exact: torch.Tensor) -> float:
    """The largest difference, as a part of the largest number."""
    return ((actual.cpu().double() - exact.double()).abs().max() / exact.double().abs().max()).item()


def kernels_of(body: Callable[[], Any]) -> list[str]:
    """The names of the kernels that a device has run for a function that was called before, in order."""
    torch.openreg.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as profiler:
        body()
        torch.openreg.synchronize()
    there = [it for it in profiler.events() if it.device_type != DeviceType.CPU and not it.is_user_annotation]
    return [it.name for it in there if not it.name.startswith(("Memcpy", "Memset"))]


class Source:
    """The Python that Inductor has generated, in parts; with what C++ is in it."""

    def __init__(self, function: Function, *arguments: Any) -> None:
        from torch._inductor.utils import run_and_get_code

        torch._dynamo.reset()
        self.result, parts = run_and_get_code(torch.compile(function, fullgraph=True), *arguments)
        self.text = "\n".join(parts)
