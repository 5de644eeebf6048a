"""Runs PyTorch's own operator database through torch.compile, one sample an entry, and says whether results are equal.

A program, started by test_compile_samples.py, with the protocol of workers.py. An entry that differs from the CPU's
eager results without the compiler, too, is not the compiler's.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch_openreg  # noqa: F401
from comparison import Difference, copied
from operator_samples_worker import GRANTED
from opinfo_worker import (
    Run,
    answers,
    backward,
    compare_runs,
    describe,
    entry_name,
    first_dtype,
    forward,
    is_drawn,
    place_of,
    run,
    samples,
    tolerance,
)
from torch._dynamo.utils import counters
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput


def compiled(op: OpInfo, sample: SampleInput) -> Run:
    """Forward and backward through the compiler."""

    def call(value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return op.op(value, *args, **kwargs)

    torch._dynamo.reset()
    torch.manual_seed(20)
    results = torch.compile(call)(sample.input, tuple(sample.args), dict(sample.kwargs))
    return results, backward(sample, results)


def differs(op: OpInfo, device: SampleInput, cpu: SampleInput, expected: Run, actual: Run, drawn: bool) -> str:
    """How results differ from the CPU's; nothing if they don't."""
    dtype = first_dtype(op)
    limits = tolerance(op, dtype) or GRANTED.get(dtype, {})
    try:
        compare_runs(op, cpu, expected, actual, place_of(device), not drawn, limits)
    except Difference as error:
        return str(error)
    return ""


def check_entry(op: OpInfo) -> tuple[str, str]:
    """Runs the first sample of an entry.

    Returns:
        ``equal``; ``different`` or ``raises`` with the reason; ``eager`` if the compiler has no part in that;
        ``nothing`` if there was nothing to compile; ``unusable`` if the CPU itself can't run the sample.
    """
    try:
        [(cpu, device)] = samples(op, first_dtype(op))
        unused, again = copied(cpu), copied(device)
        expected = run(op, cpu)
        drawn = is_drawn(op, unused, expected[0])
    except Exception as error:
        return "unusable", describe(error)
    counters.clear()
    try:
        outcome, detail = "different", differs(op, device, unused, expected, compiled(op, device), drawn)
        if not detail:
            return "equal" if counters["stats"]["unique_graphs"] else "nothing", ""
    except Exception as error:
        outcome, detail = "raises", describe(error)
    try:
        results = forward(op, again)
        if differs(op, again, unused, expected, (results, backward(again, results)), drawn):
            outcome = "eager"
    except Exception:
        outcome = "eager"
    return outcome, detail


def main() -> None:
    """Answers one entry a line of standard input."""
    entries = {entry_name(op): op for op in op_db}
    with answers() as answer:
        answer(list(entries))
        for line in sys.stdin:
            outcome, detail = check_entry(entries[line.strip()])
            answer({"outcome": outcome, "detail": detail})


if __name__ == "__main__":
    main()
