"""Calls each native operator with one tensor on another device, and says how that was refused.

A program, started by test_same_device.py, with the protocol of workers.py. An entry is one of PyTorch's operator
database: the operators that run for its first sample, forward and backward, and all their forms.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

import torch
import torch_openreg  # noqa: F401
from comparison import DEVICE
from opinfo_worker import answers, describe, entry_name, first_dtype, run, samples
from siblings import Call, FirstCalls, Siblings, copy
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo

OTHER = torch.device("openreg:1")
NAMED = re.compile(r"but got (\w+) is on \S+, different from other tensors on \S+ .*in method aten::(\w+)")

# What takes tensors of two devices.
CROSSING = {"aten::copy_", "aten::_copy_from", "aten::_to_copy", "aten::_copy_from_and_resize", "aten::copy"}


def on_device(call: Call) -> list[str]:
    """The arguments of a call that are tensors on the device."""
    named = call.arguments.items()
    return [name for name, value in named if isinstance(value, torch.Tensor) and value.device == DEVICE]


def calls(op: OpInfo, siblings: Siblings, known: set[str]) -> Iterator[Call]:
    """One call of each native form of the operators that run for an entry, but for those that are known."""
    for _, sample in samples(op, first_dtype(op)):
        with FirstCalls() as first, suppress(Exception):
            run(op, sample)
        for operator, (args, kwargs) in first.calls.items():
            for form in siblings.forms(operator):
                if form.name() not in known:
                    known.add(form.name())
                    with suppress(Exception):  # an operator without results to make some for the form of
                        yield Call(form, operator, args, kwargs)


def refusal(call: Call, name: str) -> str:
    """What is wrong about how a call refuses that one argument is on another device; nothing if it is right."""
    arguments = copy(call.arguments)
    arguments[name] = arguments[name].to(OTHER)
    tensors = on_device(call)
    # The first one says where all should be: then the second is the stranger.
    stranger = tensors[1] if name == tensors[0] else name
    try:
        call.form(**arguments)
    except Exception as error:
        text = describe(error)
    else:
        text = "nothing is raised"
    for device in (DEVICE, OTHER):
        torch.openreg.synchronize(device)
    found = NAMED.search(text)
    if found and found[2] == call.form._schema.name.removeprefix("aten::"):
        return "" if found[1] == stranger else f"blames {found[1]}, not {stranger}"
    return "" if re.search(r"same device|devices|on device|have device|tensor device|\.device\(\)", text) else text


def check(op: OpInfo, siblings: Siblings, known: set[str]) -> tuple[dict[str, str], int]:
    """How the native operators of an entry refuse each of their tensors: what is wrong, and how many were right."""
    wrong, right = {}, 0
    for call in calls(op, siblings, known):
        if len(on_device(call)) < 2 or call.form._schema.name in CROSSING:
            continue
        try:
            call.form(**copy(call.arguments))
        except Exception:
            continue  # not a call that this form takes
        for name in on_device(call):
            found = refusal(call, name)
            if found:
                wrong[f"{call.form.name()} {name}"] = found
            right += not found
    return wrong, right


def main() -> None:
    """Answers one entry a line of standard input."""
    entries = {entry_name(op): op for op in op_db}
    native = [name for name, how in torch.openreg.operator_coverage().items() if how == "native"]
    known: set[str] = set()
    run_entry = partial(check, siblings=Siblings(name for name in native if name.startswith("aten::")), known=known)
    with answers() as answer:
        answer(list(entries))
        for line in sys.stdin:
            try:
                wrong, right = run_entry(entries[line.strip()])
                outcome, detail = "wrong" if wrong else "right", ""
            except Exception as error:  # there is no sample, or a device has failed
                outcome, detail, wrong, right = "raises", describe(error), {}, 0
            answer({"outcome": outcome, "detail": detail, "more": {"right": right, "wrong": wrong}})


if __name__ == "__main__":
    main()
