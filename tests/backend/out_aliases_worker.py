"""Runs operators with an `out=` that is one of their inputs, and says whether the results are the CPU's.

A program, started by test_out_aliases.py, with the protocol of workers.py. An entry is one of PyTorch's operator
database in one data type: itself, if it takes `out=`, and the native operators with outputs that it is made of, forward
and backward. ``--all`` takes every data type.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import torch
import torch_openreg  # noqa: F401
from comparison import DEVICE, Difference, compare, copied, copy_values, tensors_of
from operator_samples_worker import GRANTED, dtypes
from opinfo_worker import answers, describe, entry_name, is_drawn, run, samples, tolerance
from siblings import FirstCalls, Siblings
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_map

SAMPLES = 6  # of an entry and data type; each as it is, and with all sizes alike
CALLS = 16  # of an entry and data type
PART_CALLS = 3  # of an output and an input of a native operator
SIDE = 3
EXACTLY = {"rtol": 0.0, "atol": 0.0}

# An output's number, and the number of the input that it is.
Alias = tuple[int, int]


class Target(NamedTuple):
    """What is called: on the CPU and on openreg, first without outputs and then with some."""

    name: str
    function: Callable[..., Any]
    into: Callable[..., Any]
    outs: Callable[[list[torch.Tensor]], dict[str, Any]]  # as keyword arguments of `into`
    cpu: SampleInput
    device: SampleInput


def leaves(sample: SampleInput) -> list[torch.Tensor]:
    """All tensors among the arguments."""
    return tensors_of((sample.input, sample.args, sample.kwargs))


def mapped(sample: SampleInput, convert: Callable[[torch.Tensor], torch.Tensor]) -> SampleInput:
    """A sample with other tensors."""
    parts = (sample.input, sample.args, sample.kwargs)
    first, args, kwargs = tree_map(lambda leaf: convert(leaf) if isinstance(leaf, torch.Tensor) else leaf, parts)
    return SampleInput(first, args=args, kwargs=kwargs, output_process_fn_grad=sample.output_process_fn_grad)


def alike(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with every size the same, so that more outputs have an input's shape."""
    if not tensor.numel() or tensor.layout is not torch.strided:
        return tensor
    count = SIDE ** tensor.dim()
    values = tensor.detach().reshape(-1).repeat(-(-count // tensor.numel()))[:count]
    if tensor.dtype in (torch.int32, torch.int64):
        values %= SIDE  # it may be an index
    return values.reshape((SIDE,) * tensor.dim()).requires_grad_(tensor.requires_grad)


def pairs(op: OpInfo, dtype: torch.dtype) -> Iterator[tuple[SampleInput, SampleInput]]:
    """Samples on the CPU and on openreg."""
    for cpu, device in samples(op, dtype, SAMPLES):
        yield cpu, device
        square = mapped(cpu, alike)
        yield square, copy_values(square, device)


def targets(op: OpInfo, cpu: SampleInput, device: SampleInput, siblings: Siblings) -> Iterator[Target]:
    """An entry, if it takes outputs, and the operators with outputs that it is made of."""

    def outs(named: list[str], given: list[torch.Tensor]) -> dict[str, Any]:
        return dict(zip(named, given, strict=True)) if len(named) > 1 or len(given) == 1 else {named[0]: given}

    if op.supports_out:
        yield Target(entry_name(op), op, op, lambda given: {"out": given[0] if len(given) == 1 else given}, cpu, device)
    with FirstCalls() as first, torch.enable_grad(), suppress(Exception):
        run(op, copied(cpu))
    for operator, (args, kwargs) in first.calls.items():
        for form in siblings.forms(operator):
            names = [argument.name for argument in form._schema.arguments if argument.is_out]
            if names and args and not operator._schema.is_mutable:
                here = SampleInput(args[0], args=args[1:], kwargs=kwargs)
                there = copy_values(here, mapped(here, lambda tensor: tensor.to(DEVICE)))
                yield Target(form.name(), operator, form, partial(outs, names), here, there)


def outcome_of(function: Callable[[], list[torch.Tensor]]) -> tuple[list[torch.Tensor], str]:
    """The results of a call, on the CPU; or what it raises."""
    try:
        return [tensor.cpu() for tensor in function()], ""
    except Exception as error:
        return [], describe(error)


class Check:
    """The calls of one target. What it raises when made means that the target can't be called.

    Args:
        target: What is called.
        limits: Tolerances for assert_close.
    """

    def __init__(self, target: Target, limits: dict[str, float]) -> None:
        self.target, self.limits = target, limits
        unused = copied(target.cpu)
        like = target.function(unused.input, *unused.args, **unused.kwargs)
        self.results = tensors_of(like)
        self.values = not is_drawn(target.function, target.cpu, like)

    def aliases(self) -> list[Alias]:
        """Which inputs each output could be."""
        return [
            (number, place)
            for number, result in enumerate(self.results)
            for place, leaf in enumerate(leaves(self.target.cpu))
            if leaf.numel() and (leaf.shape, leaf.dtype, leaf.device) == (result.shape, result.dtype, result.device)
        ]

    def own(self) -> list[torch.Tensor]:
        """What openreg has without an alias."""
        unused = copied(self.target.device)
        return tensors_of(self.target.function(unused.input, *unused.args, **unused.kwargs))

    def call(self, sample: SampleInput, alias: Alias) -> list[torch.Tensor]:
        """The outputs of a call that writes one of them over an input."""
        number, place = alias
        inputs = leaves(sample)
        outs = [torch.empty_like(result, device=inputs[place].device) for result in self.results]
        outs[number] = inputs[place]
        self.target.into(sample.input, *sample.args, **sample.kwargs, **self.target.outs(outs))
        return outs

    def check(self, alias: Alias) -> str:
        """Makes one call on both devices.

        Returns:
            ``equal``, or ``refused`` if both refuse.

        Raises:
            Difference: If only one device refuses; or if openreg's results are neither those that the CPU has without
                the alias nor what openreg itself has without it.
        """
        shape = tuple(self.results[alias[0]].shape)
        what = f"{self.target.name}: output {alias[0]} is tensor {alias[1]} of shape {shape}"
        _, refusal = outcome_of(lambda: self.call(copied(self.target.cpu), alias))
        actual, error = outcome_of(lambda: self.call(copied(self.target.device), alias))
        if bool(refusal) != bool(error):
            if error and outcome_of(self.own)[1]:
                return "refused"  # with outputs of its own, too
            raise Difference(f"{what}: {error or 'no error'}; the CPU: {refusal or 'no error'}")
        if error:
            return "refused"
        cpu = torch.device("cpu")
        results = [result.detach() for result in self.results]
        actual = [result.detach() for result in actual]
        try:
            compare(what, results, actual, self.values, self.limits, cpu)
        except Difference:
            own = [result.detach().cpu() for result in self.own()]
            compare(what, own, actual, self.values, EXACTLY, cpu)
        return "equal"


def check(op: OpInfo, dtype: torch.dtype, siblings: Siblings, seen: Counter[tuple[str, Alias]]) -> tuple[Any, int]:
    """Makes the calls of an entry.

    Returns:
        What is wrong, by the operator's name, and how many calls were equal.
    """
    limits = tolerance(op, dtype) or GRANTED.get(dtype, {})
    wrong: dict[str, str] = {}
    equal = calls = 0
    for cpu, device in pairs(op, dtype):
        for target in targets(op, cpu, device, siblings):
            try:
                made = Check(target, limits)
            except Exception:
                continue  # not of these shapes
            for alias in made.aliases():
                is_part = target.function is not op
                calls += not is_part
                seen[target.name, alias] += is_part
                if seen[target.name, alias] > PART_CALLS if is_part else calls > CALLS:
                    continue
                try:
                    equal += made.check(alias) == "equal"
                except Difference as error:
                    wrong.setdefault(target.name, str(error))
    return wrong, equal


def main() -> None:
    """Answers one entry a line of standard input."""
    everything = "--all" in sys.argv
    entries = {}
    for number, op in enumerate(op_db):
        types = dtypes(op, number, everything)
        # Of two types, one is floating if the entry has such.
        for dtype in types if everything else [*types[:1], *types[1:][number % max(len(types) - 1, 1) :][:1]]:
            entries[f"{entry_name(op)} {str(dtype).removeprefix('torch.')}"] = (op, dtype)
    native = [name for name, how in torch.openreg.operator_coverage().items() if how == "native"]
    siblings, seen = Siblings(name for name in native if name.startswith("aten::")), Counter()
    with answers() as answer, torch.no_grad():
        answer(list(entries))
        for line in sys.stdin:
            try:
                wrong, equal = check(*entries[line.strip()], siblings, seen)
                outcome, detail = "different" if wrong else "equal", ""
            except Exception as error:  # there are no samples
                outcome, detail, wrong, equal = "unusable", describe(error), {}, 0
            answer({"outcome": outcome, "detail": detail, "more": {"equal": equal, "wrong": wrong}})


if __name__ == "__main__":
    main()
