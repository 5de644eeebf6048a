"""Makes calls of openreg's own operators on device 1 while device 0 is current, and compares them with the CPU's.

A program, started by test_native_calls.py, with the protocol of workers.py. Each call is made as an entry of PyTorch's
operator database, or a program of composites.py, ends in it, and then with one of its tensors in another data type. Its
work has to go to the current stream of device 1: the default streams of both devices stand at a gate. A device that has
failed stays so until the process ends, so each entry runs in a fork, and in another after a failure.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import partial

import torch
import torch_openreg  # noqa: F401
from comparison import DEVICE, Difference, compare, tensors_of
from composites import PROGRAMS
from contract.harness import Gate
from native_calls import Call, Run, native_calls, run, run_samples
from opinfo_worker import UNINITIALIZED, answers, describe, entry_name, first_dtype
from siblings import REFERENCES, Siblings
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from backend.simulator import sim

HOME, THERE = 0, torch.device("openreg:1")
SECONDS = 600.0  # that the gates hold; an entry is killed long before
LIMITS = {"rtol": 1e-2, "atol": 1e-2}  # memory that is read as another type is off by far more

# What a tensor is replaced by: another type of its kind, a narrower one, and one of another kind.
OTHERS = {
    torch.float32: (torch.float64, torch.float16, torch.int64),
    torch.float64: (torch.float32, torch.int64),
    torch.int64: (torch.int32, torch.float32),
    torch.int32: (torch.int64, torch.float32),
    torch.bool: (torch.int64, torch.uint8),
    torch.uint8: (torch.int64, torch.float32),
    torch.complex64: (torch.complex128, torch.float32),
}


def make_current(side: torch.Stream) -> None:
    """Makes a stream of device 1 current there, and device 0 current on this thread."""
    torch.openreg.set_stream(side)
    torch.openreg.set_device(HOME)


def on_cpu(call: Call) -> Call:
    """The same call on the CPU."""
    name = call.operator.name()
    there = call.on(torch.device("cpu"))
    if name not in REFERENCES:
        return there
    more = {"bias_sizes": [there.arguments["grad_output"].size(1)]} if "backward" in name else {}
    return Call(REFERENCES[name], there.arguments | more)


def has_values(call: Call) -> bool:
    """Whether what it returns depends on nothing but the arguments."""
    name = call.operator.name().removeprefix("aten::").partition(".")[0]
    drawn = torch.Tag.nondeterministic_seeded in call.operator.tags
    return not (drawn or name in UNINITIALIZED or name.startswith(("resize", "empty", "new_empty")))


def check(call: Call, restored: Call, side: torch.Stream) -> tuple[str, str]:
    """Compares one call with the CPU's.

    Args:
        call: The call.
        restored: The same with the values of the other data type, in the data type that belongs there.
        side: Where its work has to go.

    Returns:
        ``equal``; ``refused`` if both raise; ``converts`` if only the CPU raises, and openreg has computed what comes
        of a conversion; ``unknown`` if the CPU has no such kernel; else ``different``, ``raises`` if only openreg does,
        ``reads`` if it took memory for what it is not, ``elsewhere`` if another device or stream is current afterwards,
        ``late`` if the device has failed.
    """
    expected, cpu_error = run(on_cpu(call))
    actual, error = run(call.on(THERE))
    current, stream = torch.openreg.current_device(), torch.openreg.current_stream(THERE)
    make_current(side)
    if current != HOME or stream != side:
        return "elsewhere", f"device {current} and {stream} are current"
    try:
        side.synchronize()
    except Exception as late:
        return "late", describe(late)
    if error is not None or cpu_error is not None:
        return check_errors(call, restored, actual, error, cpu_error)
    try:
        compare_runs(call, expected, actual)
    except Difference as difference:
        return "different", str(difference)
    except torch.AcceleratorError as late:
        return "late", describe(late)
    return "equal", ""


def check_errors(
    call: Call, restored: Call, actual: Run, error: Exception | None, cpu_error: Exception | None
) -> tuple[str, str]:
    """Compares one call that raises on one of the devices, or on both."""
    is_missing = isinstance(cpu_error, NotImplementedError) and "Could not run" in str(cpu_error)
    if error is None and call is restored:
        return ("unknown", "") if is_missing else ("computes", f"the CPU: {describe(cpu_error)}")
    if error is not None:
        return ("raises", describe(error)) if cpu_error is None else ("refused", "")
    converted, wrong = run(restored.on(THERE) if is_missing else on_cpu(restored))
    if wrong is not None:
        return "computes", f"the CPU: {describe(cpu_error)}"
    try:
        compare_runs(call, as_types_of(actual, converted), actual)
    except Difference as difference:
        return "reads", f"{difference}; the CPU: {describe(cpu_error)}"
    return "converts", f"the CPU: {describe(cpu_error)}"


def as_types_of(actual: Run, wanted: Run) -> Run:
    """What is wanted, in the types that there are."""
    leaves, spec = tree_flatten(wanted)
    others = tree_leaves(actual)
    pairs = zip(leaves, others, strict=True) if len(leaves) == len(others) else ()
    return tree_unflatten(
        [want.cpu().to(got.dtype) if isinstance(want, torch.Tensor) else want for want, got in pairs] or leaves, spec
    )


def compare_runs(call: Call, expected: Run, actual: Run) -> None:
    """Raises Difference unless the results are the same, and what has become of the arguments."""
    wide = any(tensor.is_floating_point() or tensor.is_complex() for tensor in tensors_of(expected))
    limits, values = LIMITS if wide else {}, has_values(call)
    place = call.on(THERE).arguments.get("device") or THERE
    compare("result", expected[0], actual[0], values, limits, place)
    for want, got in zip(tensors_of(expected[1]), tensors_of(actual[1]), strict=True):
        compare("argument", want, got, values, limits, got.device)


def variants(call: Call) -> Iterator[tuple[str, Call, Call]]:
    """The call with each of its tensors in other types, and with what becomes of their values then."""
    for where, tensor in call.tensors():
        for dtype in OTHERS.get(tensor.dtype, (torch.float32,)):
            other = call.with_type(where, dtype)
            yield f"{where} {str(dtype).removeprefix('torch.')}", other, other.with_type(where, tensor.dtype)


def run_entry_from(
    program: Callable[[], None], native: set[str], siblings: Siblings, done: set[str], pipe: int
) -> None:
    """Makes a program's calls that are not done, until the device has failed; writes a line of JSON for each."""
    calls = list(native_calls(program, native, siblings))
    torch.openreg.synchronize(HOME)
    gate = Gate(sim, "native calls", SECONDS)
    gate.close(sim.default_stream(0), sim.default_stream(1))
    torch.openreg.set_stream(torch.openreg.Stream(HOME))  # for the copies of arguments
    side = torch.openreg.Stream(THERE)
    make_current(side)
    for call in calls:
        outcome = ""
        for what, variant, restored in itertools.chain([("", call, call)], variants(call)):
            name = f"{call.key} -> {what}" if what else call.key
            if name in done:
                continue
            done.add(name)
            os.write(pipe, f"{json.dumps(name)}\n".encode())
            outcome, detail = check(variant, restored, side)
            os.write(pipe, f"{json.dumps((outcome, detail))}\n".encode())
            if outcome == "late":
                return
            if not what and outcome in ("refused", "computes"):
                break  # the CPU does not take these arguments in any type


def run_entry(
    program: Callable[[], None], native: set[str], siblings: Siblings, done: set[str]
) -> dict[str, tuple[str, str]]:
    """What became of each call of a program; of those that kill their process, too."""
    cases: dict[str, tuple[str, str]] = {}
    while True:
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            status = 0
            try:
                run_entry_from(program, native, siblings, done, writing)
            except Exception as error:
                os.write(2, "".join(traceback.format_exception(error)).encode())
                status = 1
            os._exit(status)
        os.close(writing)
        with os.fdopen(reading) as pipe:
            lines = [json.loads(line) for line in pipe]
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found = dict(zip(lines[::2], map(tuple, lines[1::2]), strict=False))
        if len(lines) % 2:
            found[lines[-1]] = ("crash", f"status {status}")
        done |= found.keys()
        cases |= found
        if not lines or (not status and lines[-1][0] != "late"):
            return cases


def main() -> None:
    """Answers one entry a line of standard input."""
    native = {name for name, how in torch.openreg.operator_coverage().items() if how == "native"}
    siblings = Siblings(native)
    done: set[str] = set()
    entries = {entry_name(op): partial(run_samples, op, first_dtype(op)) for op in op_db}
    entries |= {name: partial(exec, program, {"torch": torch, "d": DEVICE}) for name, program in PROGRAMS.items()}
    with answers() as answer:
        answer(list(entries))
        for line in sys.stdin:
            cases = run_entry(entries[line.strip()], native, siblings, done)
            answer({"outcome": "run", "detail": "", "more": cases})


if __name__ == "__main__":
    main()
