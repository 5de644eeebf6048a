"""Runs many samples of the operators that openreg computes itself, and says whether they equal the CPU's results.

A program, started by test_operator_samples.py, with the protocol of workers.py. An entry is one of PyTorch's operator
database in one data type. ``--all`` takes every data type and every sample.
"""

from __future__ import annotations

import sys

import torch
import torch_openreg  # noqa: F401
from comparison import Difference, copied
from opinfo_worker import (
    answers,
    backward,
    compare_runs,
    describe,
    entry_name,
    forward,
    is_drawn,
    place_of,
    run,
    samples,
    tolerance,
)
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput

SAMPLES = 5  # of an entry and data type, unless all
# Classes of data types. An entry is run with one of each class that it supports, not always the same one.
CLASSES = (
    (torch.float32,),
    (torch.float16, torch.bfloat16),
    (torch.int64,),
    (torch.uint8, torch.int8, torch.int16, torch.int32),
    (torch.bool,),
    (torch.complex64,),
)


# Tolerances where PyTorch names none for an entry. Sums may be made in another order, and of rounded parts; PyTorch's
# own comparison of an accelerator with the CPU grants 1e-3. Of bfloat16, 4e-3 is what rounding a number near 1 loses.
GRANTED = {
    torch.float16: {"rtol": 1e-3, "atol": 1e-3},
    torch.bfloat16: {"rtol": 1.6e-2, "atol": 4e-3},
    torch.float32: {"rtol": 1e-5, "atol": 1e-5},
    torch.complex64: {"rtol": 1e-5, "atol": 1e-5},
}


def dtypes(op: OpInfo, number: int, everything: bool) -> list[torch.dtype]:
    """The data types with which an entry is run; `number` is its place in the database."""
    supported = op.supported_dtypes("cpu")
    if everything:
        return sorted(supported, key=str)
    classes = [[dtype for dtype in members if dtype in supported] for members in CLASSES]
    return [members[number % len(members)] for members in classes if members]


def check_sample(op: OpInfo, dtype: torch.dtype, cpu: SampleInput, device: SampleInput) -> str:
    """Compares one sample, forward and backward.

    Returns:
        ``equal``, ``unusable`` if the CPU can't run it, ``fallback`` if the forward pass needs the CPU's kernels.

    Raises:
        Difference: If the results differ.
        Exception: What openreg raises.
    """
    unused = copied(cpu)
    try:
        expected = run(op, cpu)
    except Exception:
        return "unusable"
    torch.openreg.reset_fallbacks()
    results = forward(op, device)
    if torch.openreg.fallbacks():
        return "fallback"
    actual = results, backward(device, results)
    limits = tolerance(op, dtype) or GRANTED.get(dtype, {})
    compare_runs(op, unused, expected, actual, place_of(device), not is_drawn(op, unused, expected[0]), limits)
    return "equal"


def check(op: OpInfo, dtype: torch.dtype, count: int | None) -> tuple[str, str, int]:
    """Compares samples until one is not equal.

    Returns:
        ``equal``; ``unusable`` if the CPU can run none of them; ``fallback`` if the CPU serves them; ``different`` or
        ``raises`` with the number of the first such sample and the reason. And how many were equal.
    """
    equal, outcome = 0, "unusable"
    for number, (cpu, device) in enumerate(samples(op, dtype, count)):
        try:
            outcome = check_sample(op, dtype, cpu, device)
        except Difference as error:
            return "different", f"sample {number}: {error}", equal
        except Exception as error:
            return "raises", f"sample {number}: {describe(error)}", equal
        if outcome == "fallback":
            return outcome, ", ".join(torch.openreg.fallbacks()), equal
        equal += outcome == "equal"
    return "equal" if equal else outcome, "", equal


def main() -> None:
    """Answers one entry a line of standard input."""
    everything = "--all" in sys.argv
    entries = {
        f"{entry_name(op)} {str(dtype).removeprefix('torch.')}": (op, dtype)
        for number, op in enumerate(op_db)
        for dtype in dtypes(op, number, everything)
    }
    with answers() as answer:
        answer(list(entries))
        for line in sys.stdin:
            op, dtype = entries[line.strip()]
            try:
                outcome, detail, equal = check(op, dtype, None if everything else SAMPLES)
            except Exception as error:  # there are no samples
                outcome, detail, equal = "unusable", describe(error), 0
            answer({"outcome": outcome, "detail": detail, "more": {"equal": equal}})


if __name__ == "__main__":
    main()
