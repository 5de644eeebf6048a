"""Numbers at the edge of a type, put into samples, and the comparison of where they come out."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch.testing._internal.opinfo.core import SampleInput
from torch.utils._pytree import tree_leaves, tree_map

SHARE = 8  # one of so many elements is replaced where numbers of one kind are put in
MOST = 0.7  # of the elements, where all kinds are
LAYOUTS = ("plain", "strided", "turned")

# How near an ordinary number must be, by itself or beside the largest one of a result. How exact those are is what
# other tests say.
RTOL, ATOL, OF_LARGEST = 1e-3, 1e-4, 1e-5


def kinds(dtype: torch.dtype) -> dict[str, list[float]]:
    """The numbers that are put in together, by their name."""
    info = torch.finfo(dtype)
    smallest = info.smallest_normal * info.eps
    return {
        "nan": [torch.nan],
        "inf": [torch.inf],
        "-inf": [-torch.inf],
        "zeros": [-0.0, 0.0],
        "denormals": [smallest, -smallest, info.smallest_normal / 2, -info.smallest_normal / 2, info.smallest_normal],
        "largest": [info.max],
        "lowest": [info.min],
    }


EXTREMES = ("largest", "lowest")


class Round(NamedTuple):
    """What is put where.

    Attributes:
        kind: One of kinds(), "all" but the extremes, in most elements, or "extremes", these.
        layout: One of LAYOUTS: elements lie as the sample has them, each second place of memory is theirs, or their
            dimensions lie in memory in the other order.
        place: "inputs", the results' "gradients", or "both".
    """

    kind: str
    layout: str
    place: str = "inputs"

    @property
    def overflows(self) -> bool:
        """Whether its numbers are such as overflow on the way to a result."""
        return self.kind in ("extremes", *EXTREMES)


def rounds(elementwise: bool) -> Iterator[Round]:
    """All of them.

    Args:
        elementwise: Whether nothing is summed up. In a sum of several extremes the order decides what comes out, so
            elsewhere there is only one.
    """
    for kind in ("all", *kinds(torch.float32), *(["extremes"] if elementwise else [])):
        for layout in LAYOUTS:
            yield Round(kind, layout)
    for layout in LAYOUTS:
        yield Round("all", layout, "gradients")
        yield Round("all", layout, "both")


def draws_for(*what: object) -> torch.Generator:
    """A generator for one use: what is drawn for another changes nothing."""
    return torch.Generator().manual_seed(zlib.crc32(repr(what).encode()))


def has_edges(tensor: torch.Tensor) -> bool:
    """Whether it has a place for such numbers."""
    return tensor.dtype.itemsize > 1 and (tensor.is_floating_point() or tensor.is_complex()) and tensor.numel() > 0


def put_in(tensor: torch.Tensor, kind: str, draws: torch.Generator) -> torch.Tensor:
    """A contiguous copy with numbers of a kind in it, in places that are drawn."""
    tensor = tensor.detach().resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
    parts = torch.view_as_real(tensor) if tensor.is_complex() else tensor
    by_kind = kinds(parts.dtype)
    several = {"all": [it for it in by_kind if it not in EXTREMES], "extremes": EXTREMES}.get(kind)
    numbers = [number for it in several or [kind] for number in by_kind[it]]
    # One after the other, so that a short tensor has all of them; two tensors do not begin with the same.
    first = int(torch.randint(len(numbers), (), generator=draws))
    values = torch.tensor(numbers, dtype=parts.dtype)[(torch.arange(parts.numel()) + first) % len(numbers)]
    share = MOST if several else 0 if kind in EXTREMES else 1 / SHARE
    places = torch.rand(parts.shape, generator=draws) < share
    places.view(-1)[int(torch.randint(parts.numel(), (), generator=draws))] = True
    parts.copy_(torch.where(places, values.view(parts.shape), parts))
    return tensor


def lay_out(tensor: torch.Tensor, layout: str) -> torch.Tensor:
    """A tensor's elements in another layout."""
    if layout == "strided":
        return torch.stack((tensor, tensor), -1)[..., 0]
    if layout == "turned":
        order = list(reversed(range(tensor.dim())))
        return tensor.permute(order).contiguous().permute(order)
    return tensor


def changed(sample: SampleInput, number: int, what: Round) -> SampleInput:
    """A copy of a sample on the CPU for a round. What is one tensor there is one here."""
    copies: dict[int, torch.Tensor] = {}
    chosen = what.place != "gradients"
    parts = (sample.input, sample.args, sample.kwargs)
    leaves = {id(it): it for it in tree_leaves(parts) if chosen and isinstance(it, torch.Tensor) and has_edges(it)}
    if what.kind in EXTREMES:  # one number in one of the tensors
        which = int(torch.randint(len(leaves), (), generator=draws_for(number, what)))
        leaves = dict([list(leaves.items())[which]])

    def convert(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.layout is not torch.strided or leaf.is_quantized:
            return leaf
        if id(leaf) not in copies:
            draws = draws_for(number, what, len(copies))
            copy = put_in(leaf, what.kind, draws) if id(leaf) in leaves else leaf.detach().clone()
            copies[id(leaf)] = lay_out(copy, what.layout).requires_grad_(leaf.requires_grad)
        return copies[id(leaf)]

    first, args, kwargs = tree_map(convert, parts)
    return SampleInput(first, args=args, kwargs=kwargs, output_process_fn_grad=sample.output_process_fn_grad)


# --------------------------------------------------------------- the comparison

NAMES = ("nan", "inf", "-inf", "0", "-0", "denormal", "number")


def classes(values: torch.Tensor) -> torch.Tensor:
    """For each number its place in NAMES."""
    tests: list[Callable[[torch.Tensor], torch.Tensor]] = [
        lambda x: x.isnan(),
        lambda x: x == torch.inf,
        lambda x: x == -torch.inf,
        lambda x: (x == 0) & ~x.signbit(),
        lambda x: (x == 0) & x.signbit(),
        lambda x: x.abs() < torch.finfo(x.dtype).smallest_normal,
    ]
    found = torch.full(values.shape, len(tests))
    for number in reversed(range(len(tests))):
        found[tests[number](values)] = number
    return found


def agree(want: torch.Tensor, got: torch.Tensor) -> torch.Tensor:
    """For each number whether it is the wanted one."""
    if not want.is_floating_point():
        return want == got
    wanted, given = classes(want), classes(got)
    finite = want.isfinite()
    largest = want[finite].abs().max().item() if finite.any() else 0.0
    ordinary = finite & got.isfinite() & ((want != 0) | (got != 0))
    return torch.where(ordinary, torch.isclose(got, want, RTOL, max(ATOL, largest * OF_LARGEST)), wanted == given)


def compare_edges(
    where: str, want: torch.Tensor, got: torch.Tensor, exact: torch.Tensor | None, overflows: bool
) -> dict[str, str]:
    """How numbers differ: a description of a difference, and the first element with it.

    Args:
        where: What is compared, for the text.
        want: What the CPU computed.
        got: What openreg computed.
        exact: What the CPU computes in double precision. That will do as well.
        overflows: Whether the numbers are such as overflow on the way to a result. Where the CPU's own two precisions
            do not agree, the order of operations decides; any result will do.
    """
    want, got = want.detach(), got.detach().cpu()
    if want.is_complex():
        want, got = torch.view_as_real(want.resolve_conj()), torch.view_as_real(got.resolve_conj())
    good = agree(want, got)
    if exact is not None and not good.all():
        exact = exact.detach()
        exact = torch.view_as_real(exact.resolve_conj()) if exact.is_complex() else exact
        exact = exact.to(want.dtype)
        good |= ~agree(want, exact) if overflows else agree(exact, got)
    found: dict[str, str] = {}
    for place in (~good).nonzero()[:1000].tolist():
        pair = [tensor[tuple(place)] for tensor in (got, want)]
        names = [NAMES[int(classes(it))] if it.is_floating_point() else "integer" for it in pair]
        text = f"{where}: {names[0]}, not {'another' if names[0] == names[1] else names[1]}"
        found.setdefault(text, f"at {place}: {pair[0].item()!r}, not {pair[1].item()!r}")
    return found
