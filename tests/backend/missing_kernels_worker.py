"""Makes calls of openreg's own operators on a driver that lacks kernels, and compares them with the CPU's.

A program, started by test_missing_kernels.py. With ``each`` as its argument a call (forked_calls.py) is made once for
each kernel that it looks up, without that kernel: the device is reset, so all are looked up anew, and the driver says
of one that there is no such. With ``none`` the driver has none at all, as one has whose vendor ships memory and copies.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

NONE = sys.argv[1:] == ["none"]
if NONE:
    os.environ["OPENREG_SIM"] = "kernels=0"

import torch  # noqa: E402
import torch_openreg  # noqa: E402, F401
from comparison import WIDE, Difference, compare, tensors_of  # noqa: E402
from forked_calls import Report, serve  # noqa: E402
from native_calls import Call, run  # noqa: E402
from native_calls_worker import LIMITS, has_values, on_cpu  # noqa: E402
from opinfo_worker import describe  # noqa: E402
from torch.utils._pytree import tree_map  # noqa: E402

from backend.simulator import sim  # noqa: E402

MANY = 200  # kernels; no operator looks up as many
GET_KERNEL = b"orModuleGetKernel"


class Original:
    """A call whose arguments a reset of the device doesn't take."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self._kept = tree_map(lambda leaf: (leaf.device, leaf.cpu()) if is_tensor(leaf) else leaf, call.arguments)

    def again(self) -> Call:
        """The call with arguments made anew."""
        return Call(self.call.operator, {name: made_anew(kept) for name, kept in self._kept.items()})


def is_tensor(leaf: Any) -> bool:
    """Whether a leaf of the arguments is a tensor."""
    return isinstance(leaf, torch.Tensor)


def made_anew(kept: Any) -> Any:
    """The argument that Original has kept."""
    if isinstance(kept, tuple) and len(kept) == 2 and isinstance(kept[0], torch.device):
        return kept[1].to(kept[0], copy=True)
    return type(kept)(map(made_anew, kept)) if isinstance(kept, (list, tuple)) else kept


def plan(nth: int) -> None:
    """Says that the n-th kernel that is looked up from now on isn't there; 0: that all are."""
    sim.ok(sim.lib.orSimFailCall(GET_KERNEL, nth, sim.lib.orErrorNotFound))


def looked_up(module: Any) -> int:
    """How many kernels have been looked up since plan(MANY)."""
    kernel = sim.ffi.new("orKernel_t*")
    for left in range(MANY):
        if sim.lib.orModuleGetKernel(kernel, module, b"copy"):
            return MANY - 1 - left
    return MANY


def outcome(call: Call, expected: Any, cpu_error: Exception | None) -> tuple[str, str]:
    """How a call went: ``equal``, ``refused`` if the CPU raises, too; else ``different`` or ``raises``."""
    actual, error = run(call)
    try:
        torch.openreg.synchronize(0)
    except Exception as late:
        return "late", describe(late)
    if cpu_error is not None:
        return ("refused", "") if error is not None else ("computes", describe(cpu_error))
    if error is not None:
        return "raises", describe(error)
    wide = any(tensor.dtype in (*WIDE, *WIDE.values()) for tensor in tensors_of(expected))
    limits, values = LIMITS if wide else {}, has_values(call)
    try:
        compare("result", expected[0], actual[0], values, limits)
        for want, got in zip(tensors_of(expected[1]), tensors_of(actual[1]), strict=True):
            compare("argument", want, got, values, limits, got.device)
    except Difference as difference:
        return "different", str(difference)
    return "equal", ""


def outcomes(original: Original) -> Iterator[tuple[str, tuple[str, str]]]:
    """How a call went without one of its kernels, each in turn, or without any."""
    expected, cpu_error = run(on_cpu(original.again()))
    if isinstance(cpu_error, NotImplementedError) and "Could not run" in str(cpu_error):
        return  # of other devices, and the tests of the operator know what it is to give
    if NONE:
        yield "none", outcome(original.again(), expected, cpu_error)
        return
    count = 0
    for nth in (MANY, *range(1, MANY)):
        if nth <= count or nth == MANY:
            torch.openreg.reset_device(0)
            module = sim.get("orModuleLoad", b"openreg")
            again = original.again()
            plan(nth)
            result = outcome(again, expected, cpu_error)
            if nth == MANY:
                count = looked_up(module)
            else:
                yield f"without kernel {nth}", result
            plan(0)


def make_calls(native: Iterator[Call], done: set[str], report: Report) -> None:
    """Makes the calls that are not done."""
    for original in [Original(call) for call in native if call.key not in done]:
        call = original.call
        if call.key in done:
            continue
        done.add(call.key)
        report(call.key, "crash", "")
        results = dict(outcomes(original))
        bad = {how: result for how, result in results.items() if result[0] not in ("equal", "refused")}
        how, result = next(iter(bad.items()), ("", ("equal" if results else "untouched", "")))
        report(call.key, result[0], f"{how}: {result[1]}" if how else "")


if __name__ == "__main__":
    serve(make_calls)
