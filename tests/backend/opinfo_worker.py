"""Runs entries of PyTorch's own operator database on openreg and on the CPU, and says whether the results are equal.

A program, started by test_opinfo.py: an operator that kills its process must not take the tests along. It writes one
line of JSON with the names of all entries, then for each name that it reads one: ``{"outcome": ..., "detail": ...}``.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch_openreg  # noqa: F401
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_flatten, tree_map

DEVICE = torch.device("openreg:0")
SEED = 20

# Their results are memory that nobody has written: all but the values is compared.
UNINITIALIZED = {
    "empty",
    "empty_like",
    "empty_permuted",
    "empty_strided",
    "new_empty",
    "new_empty_strided",
}

# The first that the CPU supports is the one that is run.
PREFERRED_DTYPES = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool)


def entry_name(op: OpInfo) -> str:
    """Name and variant, as in opinfo_expected.toml."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


class Difference(Exception):
    """The two devices disagree."""


def samples(op: OpInfo, dtype: torch.dtype) -> tuple[SampleInput, SampleInput]:
    """An entry's first sample on the CPU, and on openreg."""
    return next(all_samples(op, dtype))


def all_samples(op: OpInfo, dtype: torch.dtype) -> Iterator[tuple[SampleInput, SampleInput]]:
    """An entry's samples on the CPU, and on openreg.

    The entry itself makes both, because it knows which tensors and arguments belong on the CPU whatever the device. The
    values are those of the CPU's sample. What is one tensor there is one tensor here.
    """
    grad = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    made = []
    for device in ("cpu", str(DEVICE)):
        torch.manual_seed(SEED)
        made.append(iter(op.sample_inputs(device, dtype, requires_grad=grad)))
    for cpu, device_made in zip(*made, strict=True):
        yield cpu, like(cpu, device_made)


def like(cpu: SampleInput, device_made: SampleInput) -> SampleInput:
    """A sample with the values of the one and the devices of the other."""
    copies: dict[int, torch.Tensor] = {}

    def convert(here: Any, there: Any) -> Any:
        if isinstance(here, (int, float, complex)):
            return here  # an entry may draw numbers, too
        if not isinstance(here, torch.Tensor):
            return there
        if id(here) not in copies:
            copies[id(here)] = here.detach().to(there.device).requires_grad_(here.requires_grad)
        return copies[id(here)]

    def parts(sample: SampleInput) -> tuple[Any, ...]:
        return sample.input, sample.args, sample.kwargs

    first, args, kwargs = tree_map(convert, parts(cpu), parts(device_made))
    return SampleInput(first, args=args, kwargs=kwargs, output_process_fn_grad=cpu.output_process_fn_grad)


def tensors_of(value: Any) -> list[torch.Tensor]:
    """All tensors in a nest of containers."""
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, torch.Tensor)]


def run(op: OpInfo, sample: SampleInput) -> tuple[Any, list[torch.Tensor | None]]:
    """Forward and, where the results can be differentiated, backward.

    Returns:
        The results and the gradient of each input that asks for one.
    """
    torch.manual_seed(SEED)
    results = op(sample.input, *sample.args, **sample.kwargs)
    inputs = [t for t in tensors_of((sample.input, sample.args, sample.kwargs)) if t.requires_grad]
    processed = sample.output_process_fn_grad(results)
    outputs = [t for t in tensors_of(processed) if t.requires_grad]
    if not inputs or not outputs:
        return results, []
    torch.manual_seed(SEED)
    # The same numbers whatever the precision.
    widest = {True: torch.complex128, False: torch.float64}
    seeds = [torch.randn(t.shape, dtype=widest[t.is_complex()]).to(t.dtype).to(t.device) for t in outputs]
    return results, list(torch.autograd.grad(outputs, inputs, seeds, allow_unused=True))


def tolerance(op: OpInfo, dtype: torch.dtype) -> dict[str, float]:
    """What PyTorch grants this entry when it compares an accelerator with the CPU; empty for assert_close's own."""
    found: dict[str, float] = {}
    for decorator in op.get_decorators("TestCommon", "test_compare_cpu", "privateuse1", dtype, {}):
        if isinstance(decorator, toleranceOverride) and dtype in decorator.d:
            found = {"atol": decorator.d[dtype].atol, "rtol": decorator.d[dtype].rtol}
    return found


def compare(what: str, expected: Any, actual: Any, values: bool, limits: dict[str, float]) -> None:
    """Raises Difference unless both are of the same structure, types, devices, shapes and, if `values`, values."""
    expected_leaves, expected_spec = tree_flatten(expected)
    actual_leaves, actual_spec = tree_flatten(actual)
    if expected_spec != actual_spec:
        raise Difference(f"{what}: structure {actual_spec}, expected {expected_spec}")
    for number, (want, got) in enumerate(zip(expected_leaves, actual_leaves, strict=True)):
        where = f"{what} {number}"
        if type(want) is not type(got):
            raise Difference(f"{where}: {type(got).__name__}, expected {type(want).__name__}")
        if not isinstance(want, torch.Tensor):
            if want != got and not (want != want and got != got):
                raise Difference(f"{where}: {got!r}, expected {want!r}")
            continue
        if got.device != DEVICE:
            raise Difference(f"{where}: on {got.device}, expected {DEVICE}")
        for attribute in ("shape", "dtype", "layout", "requires_grad"):
            if getattr(want, attribute) != getattr(got, attribute):
                raise Difference(f"{where}: {attribute} {getattr(got, attribute)}, expected {getattr(want, attribute)}")
        if values:
            try:
                torch.testing.assert_close(got.detach().cpu(), want.detach(), equal_nan=True, **limits)
            except AssertionError as error:
                raise Difference(f"{where}: {' '.join(str(error).split())}") from None


@contextmanager
def other_seeds() -> Iterator[None]:
    """Context in which every seed means another one. Many entries set a seed of their own before they draw."""
    seed = torch.manual_seed
    torch.manual_seed = lambda number: seed(number + 1)
    try:
        yield
    finally:
        torch.manual_seed = seed


def repeats(first: Any, second: Any) -> bool:
    """Whether two runs gave the same values."""
    try:
        for one, other in zip(tensors_of(first), tensors_of(second), strict=True):
            torch.testing.assert_close(one.detach(), other.detach(), rtol=0, atol=0, equal_nan=True)
    except AssertionError:
        return False
    return True


def first_dtype(op: OpInfo) -> torch.dtype:
    """The data type to run an entry with. Some are listed for CUDA only, and run on the CPU all the same."""
    supported = op.supported_dtypes("cpu") or op.supported_dtypes("cuda")
    return next((dtype for dtype in PREFERRED_DTYPES if dtype in supported), None) or min(supported, key=str)


def check_entry(op: OpInfo) -> tuple[str, str]:
    """Runs the first sample of an entry.

    Returns:
        ``equal``; ``different`` or ``raises`` with the reason; ``unusable`` if the CPU itself can't run the sample.
    """
    stage = "unusable"
    try:
        dtype = first_dtype(op)
        cpu_sample, device_sample = samples(op, dtype)
        expected, expected_grads = run(op, cpu_sample)
        values = op.name not in UNINITIALIZED
        # Two kinds of device draw different numbers from one seed; but the seed decides which.
        again, device_again = samples(op, dtype)  # an entry may write to its sample
        with other_seeds():
            draws = values and not repeats(expected, run(op, again)[0])
        stage = "raises"
        actual, actual_grads = run(op, device_sample)
        if draws:
            values = False
            if not repeats((actual, actual_grads), run(op, device_again)):
                raise Difference("result: another one with the same seed")
        compare("result", expected, actual, values, tolerance(op, dtype))
        compare("gradient", expected_grads, actual_grads, values, tolerance(op, dtype))
    except Difference as error:
        return "different", str(error)
    except Exception as error:
        return stage, describe(error)
    return "equal", ""


def describe(error: Exception) -> str:
    """Type and first line of an exception."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def serve(answer: Callable[[Any], None]) -> None:
    """Answers one entry a line of standard input."""
    entries = {entry_name(op): op for op in op_db}
    assert len(entries) == len(op_db), "two entries of one name"
    answer(list(entries))
    for line in sys.stdin:
        outcome, detail = check_entry(entries[line.strip()])
        answer({"outcome": outcome, "detail": detail})


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    # Operators may print; the answers have a descriptor of their own.
    pipe = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    serve(lambda value: print(json.dumps(value), file=pipe))
