"""Runs PyTorch's own operator database through torch.compile, one sample an entry, and compares with eager mode.

A program, started by test_compile_samples.py, with the protocol of workers.py. Both sides are the device's. Every tenth
entry by name is run; ``--all`` takes all of them.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch_openreg  # noqa: F401
from comparison import Difference, copied
from operator_samples_worker import GRANTED
from opinfo_worker import (
    SEED,
    Run,
    answers,
    backward,
    compare_runs,
    describe,
    entry_name,
    first_dtype,
    place_of,
    run,
    samples,
    tolerance,
)
from torch._dynamo.utils import counters
from torch._inductor import config
from torch.testing._internal import common_methods_invocations
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_map_only

EVERY = 10
# What makes a size of values is compiled, too, and not left to eager mode.
CAPTURES = {"capture_dynamic_output_shape_ops": True}

# Some entries set a seed of their own. Dynamo leaves that to eager mode, and the operator with it. A seed is set here.
common_methods_invocations.wrapper_set_seed = lambda op, *args, **kwargs: op(*args, **kwargs)


def run_compiled(op: OpInfo, sample: SampleInput) -> Run:
    """Forward and backward through the compiler. Random numbers are those of eager mode, to be compared."""

    def call(value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return op.op(value, *args, **kwargs)

    torch._dynamo.reset()
    counters.clear()
    with config.patch(fallback_random=True), torch._dynamo.config.patch(CAPTURES):
        torch.manual_seed(SEED)
        results = torch.compile(call)(sample.input, tuple(sample.args), dict(sample.kwargs))
        return results, backward(sample, results)


def on_cpu(results: Run) -> Run:
    """A copy of what eager mode gave, as `compare_runs` wants what it expects."""
    return tree_map_only(torch.Tensor, lambda it: it.detach().cpu().requires_grad_(it.requires_grad), results)


def left_to_cpu() -> set[str]:
    """The operators that the CPU has computed, whichever of its forms was called."""
    return {name.split(".")[0].rstrip("_") for name in torch.openreg.fallbacks()}


def check_entry(op: OpInfo, counts: dict[str, Any]) -> tuple[str, str]:
    """Runs the first sample of an entry.

    Args:
        op: The entry.
        counts: Gets ``fallbacks``: what the CPU does of the compiled graph, and not in eager mode.

    Returns:
        ``equal``; ``different`` or ``raises`` with the reason; ``nothing`` if the compiler left all to eager mode, with
        what it says; ``unusable`` if eager mode can't run the sample.
    """
    stage = "unusable"
    try:
        dtype = first_dtype(op)
        [(cpu, device)] = samples(op, dtype)
        torch.openreg.reset_fallbacks()
        expected = on_cpu(run(op, copied(device)))
        eager = left_to_cpu()
        stage = "raises"
        torch.openreg.reset_fallbacks()
        actual = run_compiled(op, device)
        counts["fallbacks"] = sorted(left_to_cpu() - eager)
        limits = tolerance(op, dtype) or GRANTED.get(dtype, {})
        compare_runs(op, cpu, expected, actual, place_of(device), True, limits)
    except Difference as error:
        return "different", str(error)
    except Exception as error:
        return stage, describe(error)
    if not counters["stats"]["unique_graphs"]:
        return "nothing", " ".join(["graph breaks:", *" ".join(counters["graph_break"]).split()])[:300]
    return "equal", ""


def main() -> None:
    """Answers one entry a line of standard input."""
    entries = {entry_name(op): op for op in sorted(op_db, key=entry_name)}
    with answers() as answer:
        answer(list(entries)[:: 1 if "--all" in sys.argv else EVERY])
        for line in sys.stdin:
            counts: dict[str, Any] = {}
            outcome, detail = check_entry(entries[line.strip()], counts)
            answer({"outcome": outcome, "detail": detail, "more": counts})


if __name__ == "__main__":
    main()
