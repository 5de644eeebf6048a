"""Runs entries of PyTorch's own operator database on openreg and on the CPU, and says whether the results are equal.

A program, started by test_opinfo.py: an operator that kills its process must not take the tests along. It writes one
line of JSON with the names of all entries, then for each name that it reads one: ``{"outcome": ..., "detail": ...}``.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch_openreg  # noqa: F401
from comparison import (
    DEVICE,
    WIDE,
    Difference,
    compare,
    compare_with_exact,
    copied,
    copy_values,
    tensors_of,
)
from torch.testing._internal import common_utils
from torch.testing._internal.common_device_type import toleranceOverride
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core as opinfo_core
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

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

# Results, and the inputs' gradients.
Run = tuple[Any, list[torch.Tensor | None]]

# Their results are on the CPU unless a sample says otherwise.

# The first that the CPU supports is the one that is run.
PREFERRED_DTYPES = (torch.float32, torch.float64, torch.complex64, torch.int64, torch.bool)


def entry_name(op: OpInfo) -> str:
    """Name and variant, as in opinfo_expected.toml."""
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def samples(op: OpInfo, dtype: torch.dtype, count: int | None = 1) -> list[tuple[SampleInput, SampleInput]]:
    """Samples of an entry, each on the CPU and on openreg.

    The entry itself makes both, because it knows which tensors and arguments belong on the CPU whatever the device. The
    values are those of the CPU's sample. What is one tensor there is one tensor here.

    Args:
        op: The entry.
        dtype: Data type of the samples.
        count: How many, spread over those that there are; None for all. One is the first.
    """
    grad = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    made = []
    for device in ("cpu", str(DEVICE)):
        torch.manual_seed(SEED)
        made.append(list(itertools.islice(op.sample_inputs(device, dtype, requires_grad=grad), count and 8 * count)))
    chosen = range(0, len(made[0]), -(-len(made[0]) // count) if count and made[0] else 1)
    # Copies on the CPU, too: samples may share tensors, and operators write to them.
    return [tuple(copy_values(made[0][number], on[number]) for on in made) for number in chosen]


def forward(op: OpInfo, sample: SampleInput) -> Any:
    """The results of an entry's operator."""
    torch.manual_seed(SEED)
    return op(sample.input, *sample.args, **sample.kwargs)


def backward(
    sample: SampleInput, results: Any, seed: Callable[[torch.Tensor], torch.Tensor] | None = None
) -> list[torch.Tensor | None]:
    """The gradient of each input that asks for one; nothing where the results can't be differentiated.

    Args:
        sample: Whose inputs.
        results: Of its operator.
        seed: Makes the gradient of a result; random numbers by default.
    """
    inputs = [t for t in tensors_of((sample.input, sample.args, sample.kwargs)) if t.requires_grad]
    outputs = [t for t in tensors_of(sample.output_process_fn_grad(results)) if t.requires_grad]
    if not inputs or not outputs:
        return []
    torch.manual_seed(SEED)
    seeds = [(seed or seed_like)(output) for output in outputs]
    return list(torch.autograd.grad(outputs, inputs, seeds, allow_unused=True))


def seed_like(output: torch.Tensor) -> torch.Tensor:
    """A gradient for an output: random sixteenths, the same numbers in every data type."""
    parts = torch.randn((*output.shape, 2), dtype=torch.float64).mul(16).round().div(16)
    seed = torch.view_as_complex(parts) if output.is_complex() else parts[..., 0]
    return seed.to(output.dtype).to(output.device)


def run(op: OpInfo, sample: SampleInput) -> Run:
    """Forward and backward."""
    results = forward(op, sample)
    return results, backward(sample, results)


def tolerance(op: OpInfo, dtype: torch.dtype) -> dict[str, float]:
    """What PyTorch grants this entry when it compares an accelerator with the CPU; empty for assert_close's own."""
    found: dict[str, float] = {}
    for device_type in ("cuda", "privateuse1"):
        for decorator in op.get_decorators("TestCommon", "test_compare_cpu", device_type, dtype, {}):
            if isinstance(decorator, toleranceOverride) and dtype in decorator.d:
                found = {"atol": decorator.d[dtype].atol, "rtol": decorator.d[dtype].rtol}
    return found


def place_of(sample: SampleInput) -> torch.device:
    """Where a sample's results are to be: where it asks for, else where its tensors are."""
    if sample.kwargs.get("device"):
        return torch.device(sample.kwargs["device"])
    parts = (sample.input, sample.args, sample.kwargs)
    return DEVICE if any(tensor.device == DEVICE for tensor in tensors_of(parts)) else torch.device("cpu")


@contextmanager
def other_seeds() -> Iterator[None]:
    """Context in which every seed means another one. Many entries set a seed of their own before they draw."""
    seed = torch.manual_seed
    torch.manual_seed = lambda number: seed(number + 1)
    try:
        yield
    finally:
        torch.manual_seed = seed


def is_drawn(op: OpInfo, sample: SampleInput, results: Any) -> bool:
    """Whether the results are random numbers. `sample` is not written to."""
    with other_seeds():
        return not repeats(results, forward(op, copied(sample)))


def compare_runs(
    op: OpInfo,
    unused: SampleInput,
    expected: Run,
    actual: Run,
    place: torch.device,
    values: bool,
    limits: dict[str, float],
) -> None:
    """Raises Difference unless openreg's results and gradients equal the CPU's, or are as near to the exact ones.

    Args:
        op: The entry.
        unused: A copy of the sample on the CPU.
        expected: What the CPU computed.
        actual: What openreg computed.
        place: Where openreg's results are to be.
        values: Whether values are compared.
        limits: Tolerances for assert_close.
    """
    exact: Run | None = None
    values = values and op.name not in UNINITIALIZED
    for what, want, got, where in zip(("result", "gradient"), expected, actual, (place, DEVICE), strict=True):
        try:
            compare(what, want, got, values, limits, where)
        except Difference as error:
            if not error.values:
                raise
            exact = exact or run_exactly(op, unused)
            compare_with_exact(what, exact[what == "gradient"], want, got, limits)


def run_exactly(op: OpInfo, sample: SampleInput) -> Run:
    """Forward and backward in double precision."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # of what is made of integers
    try:
        return run(op, copied(sample, WIDE))
    finally:
        torch.set_default_dtype(usual)


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
        [(cpu, device)] = samples(op, dtype)
        unused = copied(cpu)
        expected = run(op, cpu)
        draws = is_drawn(op, unused, expected[0])
        stage = "raises"
        actual = run(op, device)
        # Two kinds of device draw different numbers from one seed; but the seed decides which.
        if draws and op.name not in UNINITIALIZED:
            [(_, again)] = samples(op, dtype)
            if not repeats(actual, run(op, again)):
                raise Difference("result: another one with the same seed")
        compare_runs(op, unused, expected, actual, place_of(device), not draws, tolerance(op, dtype))
    except Difference as error:
        return "different", str(error)
    except Exception as error:
        return stage, describe(error)
    return "equal", ""


def describe(error: Exception) -> str:
    """Type and first line of an exception."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"


def forget_stacks() -> None:
    """Keeps PyTorch from reading the stack of Python's calls, which takes most of the time of small operators.

    The operator database looks for the unittest that asks it for samples; there is none here. A seed is kept, with the
    stack, for each kind of accelerator that may yet be initialized.
    """
    common_utils.extract_test_fn = opinfo_core.extract_test_fn = lambda: None
    for kind in (torch.cuda, torch.xpu, torch.mtia):
        kind.manual_seed_all = lambda seed: None


@contextmanager
def answers() -> Iterator[Callable[[Any], None]]:
    """Sets a worker process up, and gives it the function that writes an answer."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    forget_stacks()
    gc.freeze()  # what is imported: nothing of it goes away, and each collection would go through all of it
    # Operators may print; the answers have a descriptor of their own.
    with os.fdopen(os.dup(1), "w", buffering=1) as pipe:
        os.dup2(2, 1)
        yield lambda value: print(json.dumps(value), file=pipe)


def main() -> None:
    """Answers one entry a line of standard input."""
    entries = {entry_name(op): op for op in op_db}
    assert len(entries) == len(op_db), "two entries of one name"
    with answers() as answer:
        answer(list(entries))
        for line in sys.stdin:
            outcome, detail = check_entry(entries[line.strip()])
            answer({"outcome": outcome, "detail": detail})


if __name__ == "__main__":
    main()
