"""Calls native operators with numbers that their data type can't hold, and says whether the CPU does the same.

A program, started by test_scalar_range.py, with the protocol of workers.py. An entry is one of PyTorch's operator
database in one data type: the operators with numbers among their arguments that run for its first sample.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import torch
import torch_openreg  # noqa: F401
from comparison import DEVICE, Difference, compare, tensors_of
from opinfo_worker import answers, describe, entry_name, run, samples
from siblings import Call, FirstCalls, Siblings, copy
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo
from torch.utils._pytree import tree_map

# Not halves: which numbers PyTorch takes there differs from operator to operator.
DTYPES = (torch.int8, torch.uint8, torch.int16, torch.int64, torch.bool, torch.float32)
NUMBERS = (300, -300, 70_000, 1 << 40, 1e39)

# Large factors make large errors.
LIMITS = {torch.float32: {"rtol": 1e-4, "atol": 1e-4}}


def calls(
    op: OpInfo, dtype: torch.dtype, siblings: Siblings, known: set[tuple[str, torch.dtype]]
) -> Iterator[tuple[Call, str]]:
    """One call on the CPU of each native form of the operators that run, for each argument that is a number."""
    for sample, _ in samples(op, dtype):
        with FirstCalls() as first, suppress(Exception):
            run(op, sample)
        for operator, (args, kwargs) in first.calls.items():
            for form in siblings.forms(operator):
                is_empty = any(tensor.numel() == 0 for tensor in tensors_of((args, kwargs)))
                if is_empty or (form.name(), dtype) in known:
                    continue  # what is done to no element is not computed with a number
                known.add((form.name(), dtype))
                with suppress(Exception):  # an operator without results to make some for the form of
                    call = Call(form, operator, args, kwargs)
                    for argument in form._schema.arguments:
                        given = call.arguments.get(argument.name)
                        is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
                        if "number" in str(argument.type) or ("Tensor" in str(argument.type) and is_number):
                            yield call, argument.name


def result_of(call: Call, arguments: dict[str, Any]) -> tuple[Any, str]:
    """What a call returns, or what it raises."""
    try:
        results = call.form(**arguments)
        torch.openreg.synchronize()
        return tree_map(lambda leaf: leaf.cpu() if isinstance(leaf, torch.Tensor) else leaf, results), ""
    except torch.AcceleratorError as error:  # for good: another process goes on
        sys.exit(f"{call.form.name()} of {arguments}: {describe(error)}")
    except Exception as error:
        return None, describe(error)


def difference(call: Call, name: str, number: float, dtype: torch.dtype) -> str:
    """How openreg differs from the CPU if an argument is a certain number; nothing if it doesn't."""
    arguments = copy(call.arguments) | {name: number}
    there = tree_map(lambda leaf: leaf.to(DEVICE) if isinstance(leaf, torch.Tensor) else leaf, copy(arguments))
    expected, refusal = result_of(call, arguments)
    actual, error = result_of(call, there)
    if bool(refusal) != bool(error):
        return f"{number}: {error or 'no error'}; the CPU: {refusal or 'no error'}"
    try:
        compare(f"{number}: result", expected, actual, True, LIMITS.get(dtype, {}), torch.device("cpu"))
    except Difference as difference:
        return str(difference)
    return ""


def check(
    op: OpInfo, dtype: torch.dtype, siblings: Siblings, known: set[tuple[str, torch.dtype]]
) -> tuple[dict[str, str], int]:
    """What differs, by operator and argument, and in how many calls nothing did."""
    wrong: dict[str, str] = {}
    same = 0
    for call, name in calls(op, dtype, siblings, known):
        for number in NUMBERS:
            found = difference(call, name, number, dtype)
            same += not found
            if found:
                wrong.setdefault(f"{call.form.name()} {name} {str(dtype).removeprefix('torch.')}", found)
    return wrong, same


def main() -> None:
    """Answers one entry a line of standard input."""
    pairs = ((op, dtype) for op in op_db for dtype in DTYPES if dtype in op.supported_dtypes("cpu"))
    entries = {f"{entry_name(op)} {dtype}": (op, dtype) for op, dtype in pairs}
    native = [name for name, how in torch.openreg.operator_coverage().items() if how == "native"]
    siblings = Siblings(name for name in native if name.startswith("aten::"))
    run_entry = partial(check, siblings=siblings, known=set())
    with answers() as answer:
        answer(list(entries))
        for line in sys.stdin:
            try:
                wrong, same = run_entry(*entries[line.strip()])
                outcome, detail = "different" if wrong else "same", ""
            except Exception as error:  # there is no sample, or the device has failed
                outcome, detail, wrong, same = "raises", describe(error), {}, 0
            answer({"outcome": outcome, "detail": detail, "more": {"same": same, "wrong": wrong}})


if __name__ == "__main__":
    main()
