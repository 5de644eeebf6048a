"""Makes calls that PyTorch's database knows to be wrong, on the CPU and on openreg, and compares what they raise.

A program, started by test_operator_errors.py, with the protocol of workers.py. An error of the device's own stays until
the process ends, so each entry runs in a fork, and in another after such an error.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch_openreg  # noqa: F401
from opinfo_worker import DEVICE, answers, describe, entry_name
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import ErrorInput, OpInfo, SampleInput
from torch.utils._pytree import tree_map

Case = tuple[str, str]  # outcome and detail


def error_of(function: Callable[[], Any]) -> Exception | None:
    """What a call raises."""
    try:
        function()
    except Exception as error:
        return error
    return None


def calling(op: OpInfo, sample: SampleInput) -> Callable[[], Any]:
    """The call that a sample describes."""
    return lambda: op(sample.input, *sample.args, **sample.kwargs)


def metadata_shows_it(op: OpInfo, sample: SampleInput) -> bool:
    """Whether shapes, types and arguments alone tell that a call is wrong: then it fails on the meta device, too."""
    parts = (sample.input, sample.args, sample.kwargs)
    first, args, kwargs = tree_map(lambda leaf: leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf, parts)
    error = error_of(lambda: op(first, *args, **kwargs))
    return error is not None and not isinstance(error, NotImplementedError)


def check(op: OpInfo, here: ErrorInput, cpu: ErrorInput | None) -> Case:
    """Compares what openreg raises with what the CPU raises; PyTorch's own word counts where the CPU can't be asked.

    Returns:
        ``same``; ``late`` if the device noticed by itself, as it must where only the data is wrong; or ``different``.
    """
    expected = error_of(calling(op, cpu.sample_input)) if cpu else here.error_type()
    actual = error_of(calling(op, here.sample_input))
    late = error_of(torch.openreg.synchronize)
    if late is not None:
        if metadata_shows_it(op, here.sample_input):
            return "late", f"{describe(late)}, though metadata shows the problem"
        wanted = (torch.AcceleratorError, type(expected))
        return ("late", "") if isinstance(late, wanted) else ("different", f"late, {describe(late)}")
    if actual is None and expected is None:
        return "same", ""
    if isinstance(actual, here.error_type if expected is None else type(expected)):
        return "same", ""
    said = "raises nothing" if actual is None else describe(actual)
    return "different", f"{said}; the CPU: {'raises nothing' if expected is None else describe(expected)}"


def run_from(op: OpInfo, first: int, pipe: int) -> None:
    """Runs an entry's cases from the first given on, until the device has failed; writes a line of JSON for each."""
    here = list(op.error_inputs(str(DEVICE)))
    cpu = list(op.error_inputs("cpu"))
    os.write(pipe, f"{len(here)}\n".encode())
    for number in range(first, len(here)):
        outcome, detail = check(op, here[number], cpu[number] if len(cpu) == len(here) else None)
        os.write(pipe, f"{json.dumps((outcome, detail))}\n".encode())
        if error_of(torch.openreg.synchronize) is not None:
            return


def run_entry(op: OpInfo) -> dict[str, Case]:
    """What became of each case of an entry; of those that kill their process, too."""
    cases: dict[str, Case] = {}
    count = 1
    while len(cases) < count:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            error = error_of(partial(run_from, op, len(cases), writing))
            os.write(2, f"{error!r}\n".encode())
            os._exit(error is not None)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            total, *lines = pipe.readlines() or [""]
        _, status = os.waitpid(child, 0)
        count = int(total or 0)
        for line in lines:
            cases[str(len(cases))] = tuple(json.loads(line))
        if status:
            cases[str(len(cases))] = ("crash", f"status {os.waitstatus_to_exitcode(status)}")
    return cases


def main() -> None:
    """Answers one entry a line of standard input."""
    entries = {entry_name(op): op for op in op_db if op.error_inputs_func}
    with answers() as answer:
        answer(list(entries))
        for line in sys.stdin:
            answer({"outcome": "run", "detail": "", "more": run_entry(entries[line.strip()])})


if __name__ == "__main__":
    main()
