"""Runs operators on openreg and says what those without a kernel of their own are made of.

A program, started by test_composites.py, with the protocol of workers.py. An entry is one of PyTorch's operator
database, in every form it has (functional, in place, ``out=``, aliases, backward), or a program of composites.py.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
import torch_openreg  # noqa: F401
from composites import PROGRAMS
from operator_calls import Calls, record_calls
from opinfo_worker import DEVICE, SEED, answers, describe, entry_name, first_dtype, run
from siblings import Siblings
from torch.testing._internal.common_methods_invocations import (
    foreach_binary_op_db,
    foreach_other_op_db,
    foreach_pointwise_op_db,
    foreach_reduce_op_db,
    foreach_unary_op_db,
    op_db,
)
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_map

SAMPLES = 12  # of an entry: enough to meet nearly all composite operators that all samples meet
FOREACH = [
    *foreach_unary_op_db,
    *foreach_binary_op_db,
    *foreach_pointwise_op_db,
    *foreach_reduce_op_db,
    *foreach_other_op_db,
]


def forms(op: OpInfo, sample: SampleInput) -> Iterator[Callable[[], Any]]:
    """The ways to call an operator with a sample. A sample serves once, because a call in place changes it."""

    def copied() -> tuple[Any, ...]:
        parts = (sample.input, sample.args, sample.kwargs)
        return tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, parts)

    def call(function: Callable[..., Any], **more: Any) -> Any:
        first, args, kwargs = copied()
        return function(first, *args, **kwargs, **more)

    def into(shape: Callable[[torch.Tensor], tuple[int, ...]]) -> Any:
        empty = tree_map(lambda leaf: leaf.new_empty(shape(leaf)), call(op))
        return call(op, out=empty)

    yield lambda: run(op, sample)
    yield lambda: call(op)
    for function in (op.method_variant, op.inplace_variant, *(alias.op for alias in op.aliases)):
        if function is not None:
            yield lambda function=function: call(function)
    if op.supports_out:
        yield lambda: into(lambda leaf: leaf.shape)
        yield lambda: into(lambda leaf: (0,))


def record_entry(op: OpInfo, coverage: dict[str, str], siblings: Siblings) -> Calls:
    """What an entry's samples end in. A form that a sample does not fit (most have some) raises, and is left out."""
    calls: Calls = {}
    dtype = first_dtype(op)
    grad = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    torch.manual_seed(SEED)
    chosen = itertools.islice(op.sample_inputs(DEVICE, dtype, requires_grad=grad), SAMPLES)
    for number, sample in enumerate(chosen):
        others = siblings.calls(partial(run, op, sample)) if number == 0 else ()
        for form in (*forms(op, sample), *others):
            try:
                with record_calls(coverage, calls):
                    form()
            except Exception:
                continue
    return calls


def record_program(program: str, coverage: dict[str, str]) -> Calls:
    """What a program ends in."""
    calls: Calls = {}
    torch.manual_seed(SEED)
    with record_calls(coverage, calls):
        exec(program, {"torch": torch, "d": DEVICE})
    return calls


def main() -> None:
    """Answers one entry a line of standard input."""
    coverage = torch.openreg.operator_coverage()
    siblings = Siblings(name for name, how in coverage.items() if how == "composite")
    entries = {entry_name(op): op for op in (*op_db, *FOREACH)}
    with answers() as answer:
        answer([*entries, *PROGRAMS])
        for line in sys.stdin:
            name = line.strip()
            try:
                calls = (
                    record_entry(entries[name], coverage, siblings)
                    if name in entries
                    else record_program(PROGRAMS[name], coverage)
                )
            except Exception as error:
                answer({"outcome": "raises", "detail": describe(error)})
                continue
            answer({"outcome": "recorded", "detail": "", "more": {op: sorted(calls[op]) for op in sorted(calls)}})


if __name__ == "__main__":
    main()
