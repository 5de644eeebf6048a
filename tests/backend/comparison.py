"""Compares what openreg computes with what the CPU computes, and copies what they compute it of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.testing._comparison import get_tolerances
from torch.testing._internal.opinfo.core import SampleInput
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("openreg:0")

# In what exact results are computed.
WIDE = {
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.float32: torch.float64,
    torch.complex64: torch.complex128,
}

HALVES = (torch.float16, torch.bfloat16)

NO_TYPES: Mapping[torch.dtype, torch.dtype] = {}

# Where the CPU's results are off by more than the tolerance, ours may be: by so many times as much,
WORSE = 2
# but by so many tolerances at most.
MOST = 1000


class Difference(Exception):
    """The two devices disagree.

    Args:
        text: How.
        values: Whether in values only.
    """

    def __init__(self, text: str, values: bool = False) -> None:
        super().__init__(text)
        self.values = values


def tensors_of(value: Any) -> list[torch.Tensor]:
    """All tensors in a nest of containers."""
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def copy_values(cpu: SampleInput, like: SampleInput) -> SampleInput:
    """A sample with the first one's values on the second one's devices. What is one tensor there is one here."""
    storages: dict[int, torch.UntypedStorage] = {}
    copies: dict[int, torch.Tensor] = {}

    def convert(here: Any, there: Any) -> Any:
        if isinstance(here, (int, float, complex)):
            return here  # an entry may draw numbers, too
        if not isinstance(here, torch.Tensor):
            return there
        if id(here) not in copies:
            copies[id(here)] = _copy(here, there.device, storages).requires_grad_(here.requires_grad)
        return copies[id(here)]

    def parts(sample: SampleInput) -> tuple[Any, ...]:
        return sample.input, sample.args, sample.kwargs

    first, args, kwargs = tree_map(convert, parts(cpu), parts(like))
    return SampleInput(first, args=args, kwargs=kwargs, output_process_fn_grad=cpu.output_process_fn_grad)


def _copy(tensor: torch.Tensor, device: torch.device, storages: dict[int, torch.UntypedStorage]) -> torch.Tensor:
    """The tensor on a device: the same strides in a storage of the same bytes, which views of one storage share."""
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.device.type != "cpu":
        return tensor.detach().clone().to(device)
    storage = tensor.untyped_storage()
    if storage.data_ptr() not in storages:
        whole = torch.empty(0, dtype=torch.uint8).set_(storage).to(device, copy=True)
        storages[storage.data_ptr()] = whole.untyped_storage()
    copy = torch.empty(0, dtype=tensor.dtype, device=device)
    copy.set_(storages[storage.data_ptr()], tensor.storage_offset(), tensor.size(), tensor.stride())
    copy = copy.conj() if tensor.is_conj() else copy
    return torch._neg_view(copy) if tensor.is_neg() else copy


def copied(sample: SampleInput, types: Mapping[torch.dtype, torch.dtype] = NO_TYPES) -> SampleInput:
    """The sample with tensors of its own, since some operators write to theirs; of other data types if so mapped."""
    copy = copy_values(sample, sample)

    def convert(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dtype in types:
            return leaf.detach().to(types[leaf.dtype]).requires_grad_(leaf.requires_grad)
        return types.get(leaf, leaf) if isinstance(leaf, torch.dtype) else leaf

    if types:
        copy.input, copy.args, copy.kwargs = tree_map(convert, (copy.input, copy.args, copy.kwargs))
    return copy


def compare(
    what: str, expected: Any, actual: Any, values: bool, limits: dict[str, float], place: torch.device = DEVICE
) -> None:
    """Raises Difference unless both are of the same structure, types, shapes and, if `values`, values.

    Args:
        what: What is compared, for the text.
        expected: On the CPU.
        actual: On `place`.
        values: Whether values are compared.
        limits: Tolerances for assert_close.
        place: Device of `actual`.
    """
    expected_leaves, expected_spec = tree_flatten(expected)
    actual_leaves, actual_spec = tree_flatten(actual)
    if expected_spec != actual_spec:
        raise Difference(f"{what}: structure {actual_spec}, expected {expected_spec}")
    pairs = list(zip(expected_leaves, actual_leaves, strict=True))
    for number, (want, got) in enumerate(pairs):
        where = f"{what} {number}"
        if type(want) is not type(got):
            raise Difference(f"{where}: {type(got).__name__}, expected {type(want).__name__}")
        if not isinstance(want, torch.Tensor):
            if want != got and not (want != want and got != got):
                raise Difference(f"{where}: {got!r}, expected {want!r}")
            continue
        if got.device != place:
            raise Difference(f"{where}: on {got.device}, expected {place}")
        for attribute in ("shape", "dtype", "layout", "requires_grad"):
            if getattr(want, attribute) != getattr(got, attribute):
                raise Difference(f"{where}: {attribute} {getattr(got, attribute)}, expected {getattr(want, attribute)}")
    for number, (want, got) in enumerate(pairs):
        if values and isinstance(want, torch.Tensor):
            _compare_values(f"{what} {number}", want, got, limits)


def _compare_values(where: str, want: torch.Tensor, got: torch.Tensor, limits: dict[str, float]) -> None:
    want, got = want.detach(), got.detach().cpu()
    if want.dtype in HALVES and want.shape == got.shape and limits.get("rtol") != 0:
        want, got = _near_infinity(want, got), _near_infinity(got, want)
    try:
        torch.testing.assert_close(got, want, equal_nan=True, **limits)
    except AssertionError as error:
        raise Difference(f"{where}: {' '.join(str(error).split())}", values=True) from None


def _near_infinity(values: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """The values, with the type's largest number for an infinity where the other value is finite.

    A half's largest number and infinity are one rounding apart, as any two neighbours are.
    """
    largest = torch.finfo(values.dtype).max
    return torch.where(values.isinf() & others.isfinite(), values.clamp(-largest, largest), values)


def compare_with_exact(what: str, exact: Any, cpu: Any, actual: Any, limits: dict[str, float]) -> None:
    """Raises Difference unless values are as near to the exact ones as the tolerance says, or as the CPU's are.

    The CPU may round more often, sum in an order that loses more, or both may lose where large numbers cancel out.

    Args:
        what: What is compared, for the text.
        exact: In double precision.
        cpu: What the CPU computed, of the same structure as `actual`.
        actual: What openreg computed.
        limits: Tolerances for assert_close.
    """
    leaves = (tensors_of(exact), tensors_of(cpu), tensors_of(actual))
    for number, (true, theirs, ours) in enumerate(zip(*leaves, strict=True)):
        want = true.detach().to(theirs.dtype)
        granted = {name: limits.get(name) for name in ("rtol", "atol")}
        rtol, atol = get_tolerances(want, **granted)
        times = min(max(WORSE * _error(want, theirs.detach(), rtol, atol), 1.0), MOST)
        _compare_values(f"{what} {number}", want, ours, {"rtol": times * rtol, "atol": times * atol})


def _error(want: torch.Tensor, got: torch.Tensor, rtol: float, atol: float) -> float:
    """The largest finite error, in tolerances."""
    if not want.numel() or not rtol + atol:
        return 0.0
    errors = (got.to(WIDE.get(got.dtype, got.dtype)) - want).abs() / (atol + rtol * want.abs())
    return errors[errors.isfinite()].max().item() if errors.isfinite().any() else 0.0
