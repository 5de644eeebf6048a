"""Makes calls of openreg's own operators on device 1 while device 0 is current, and compares them with the CPU's.

A program, started by test_native_calls.py. Each call is made as it is (forked_calls.py), and then with one of its
tensors in another data type. Its work has to go to the current stream of device 1: the default streams of both devices
stand at a gate.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import torch
import torch_openreg  # noqa: F401
from comparison import Difference, compare, tensors_of
from contract.harness import Gate
from forked_calls import Report, serve
from native_calls import Call, Run, run
from opinfo_worker import UNINITIALIZED, describe
from siblings import REFERENCES
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


def make_calls(native: Iterator[Call], done: set[str], report: Report) -> None:
    """Makes the calls that are not done, until the device has failed."""
    calls = list(native)
    torch.openreg.synchronize(HOME)
    gate = Gate(sim, "native calls", SECONDS)
    gate.close(sim.default_stream(0), sim.default_stream(1))
    torch.openreg.set_stream(torch.openreg.Stream(HOME))  # for the copies of arguments
    side = torch.openreg.Stream(THERE)
    make_current(side)
    for call in calls:
        for what, variant, restored in itertools.chain([("", call, call)], variants(call)):
            name = f"{call.key} -> {what}" if what else call.key
            if name in done:
                continue
            done.add(name)
            report(name, "crash", "")
            outcome, detail = check(variant, restored, side)
            report(name, outcome, detail)
            if outcome == "late":
                return
            if not what and outcome in ("refused", "computes"):
                break  # the CPU does not take these arguments in any type


if __name__ == "__main__":
    serve(make_calls)
