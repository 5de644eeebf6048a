"""``torch.openreg.explain``: what a function made the device and the host do, as text."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch._C._profiler import _RecordFunctionFast  # record_function takes 6 us
from torch.autograd.profiler_util import FunctionEvent
from torch.overrides import TorchFunctionMode
from torch.profiler import ProfilerActivity, profile, record_function

from .device import _lazy_init, synchronize

__all__ = ["Explanation", "Finding", "explain"]

WAITS = (
    "orMemcpy", "orMemcpyWithStream", "orMemcpyPeer", "orMemset",
    "orStreamSynchronize", "orEventSynchronize", "orDeviceSynchronize",
)  # fmt: skip
"""The driver's entries that return when the device is done."""

_WHOLE = "torch.openreg.explain"
_NOT_THE_PROGRAM = (f"{Path(torch.__file__).parent}/", f"{Path(__file__).parents[1]}/")


# LITERALINCLUDE START: EXPLAIN LINES
def _line() -> str:
    """Where the program is, such as ``train.py:12``: the innermost frame that is neither PyTorch's nor ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_NOT_THE_PROGRAM):
        frame = frame.f_back
    return "?" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


class _Lines(TorchFunctionMode):
    """Marks each call of PyTorch in the profile with the line that it comes from."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        line = _line()
        self.seen.add(line)
        with _RecordFunctionFast(line):
            return func(*args, **(kwargs or {}))


# LITERALINCLUDE END: EXPLAIN LINES


class Finding(NamedTuple):
    """Something that held the host up: an operator at a line of the program, and how often it did."""

    operator: str  # or the driver's entry, where no operator called it
    line: str | None  # path and number; None on a thread that isn't the function's
    count: int
    microseconds: float  # the host's, of all together

    def columns(self, times: bool) -> list[str]:
        """What a row of the text says, with the file's name only."""
        line = "" if self.line is None else Path(self.line).name
        return [f"{self.count:5}", self.operator, line] + ([f"{self.microseconds / 1e3:9.2f} ms"] if times else [])


@dataclass(frozen=True)
class Explanation:
    """What a function did. ``print`` says it as text."""

    launches: Counter[str]
    """How often each kernel ran."""
    copies: Counter[str]
    """Copies by direction and kind of the host's memory, such as ``Memcpy HtoD (Pageable -> Device)``."""
    fallbacks: list[Finding]
    """Operators that ran on the CPU."""
    waits: list[Finding]
    """Where the host stood until the device was done; in the order of the program."""
    host_us: float
    """How long the function took the host, in microseconds."""
    waiting_us: float
    """How much of that the host waited."""
    device_us: float
    """How long at least one stream worked."""
    profile: profile
    """The recording, for ``export_chrome_trace`` and more."""

    def text(self, *, times: bool = True) -> str:
        """The same as text. Without times it is the same after each run of the same program."""
        parts = {
            "launches": [[f"{self.launches.total():5}", f"of {len(self.launches)} kernels"]],
            "copies": [[f"{count:5}", name] for name, count in sorted(self.copies.items())],
            "fallbacks": [finding.columns(times) for finding in self.fallbacks],
            "waits": [finding.columns(times) for finding in self.waits],
        }
        rows = []
        for title, part in parts.items():
            for row, columns in enumerate(part or [["    0"]]):
                rows.append([title if row == 0 else "", *columns])
        widths = [max(map(len, column)) for column in itertools.zip_longest(*rows, fillvalue="")]
        text = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        if times:
            text.append(
                f"The host took {self.host_us / 1e3:.2f} ms and waited for {self.waiting_us / 1e3:.2f} ms of it. "
                f"The device worked for {self.device_us / 1e3:.2f} ms."
            )
        return "\n".join(text)

    def __str__(self) -> str:
        return self.text()


# LITERALINCLUDE START: EXPLAIN
def explain(fn: Callable[..., Any]) -> Callable[..., Explanation]:
    """Says what a function makes the device do, and where it makes the host wait, with the lines of the program.

    ``print(torch.openreg.explain(step)(batch))`` calls ``step(batch)`` once under :class:`torch.profiler.profile`. What
    happens the first time only, such as loading a kernel, is in it; call the function before if you don't want that.

    Args:
        fn: What to call. What it raises, the caller gets.

    Returns:
        A function that takes the arguments of ``fn`` and returns an :class:`Explanation`. It blocks until the device is
        done. Work of other threads that runs meanwhile is counted; it has no lines. What the current device has queued
        before is waited for first and is not counted.

    Raises:
        TypeError: If ``fn`` can't be called.
        RuntimeError: While a profile is being recorded.
    """
    if not callable(fn):
        raise TypeError(f"explain: argument 'fn' is {fn!r}; expected a function")

    def explained(*args: Any, **kwargs: Any) -> Explanation:
        if torch.autograd._profiler_enabled():
            raise RuntimeError("explain: a profile is being recorded already; expected none, as there can be one only")
        _lazy_init()
        synchronize()
        activities = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
        with profile(activities=activities) as recording, record_function(_WHOLE), _Lines() as lines:
            fn(*args, **kwargs)
        return _explanation(recording, lines.seen)

    return explained


# LITERALINCLUDE END: EXPLAIN


def _around(event: FunctionEvent) -> Iterator[FunctionEvent]:
    """The events of the host around an event, from the inside out."""
    outer = event
    while (outer := outer.cpu_parent) is not None:
        yield outer


def _findings(
    events: Iterable[tuple[FunctionEvent, str]], lines: set[str], forward: dict[tuple[int, int], str]
) -> list[Finding]:
    """Joins events of the same operator and line.

    Args:
        events: Events, and what each is called.
        lines: The marks of lines.
        forward: The lines of operators that have a gradient, by thread and the number that the gradient has, too.
    """
    counts: Counter[tuple[str, str | None]] = Counter()
    times: Counter[tuple[str, str | None]] = Counter()
    for event, name in events:
        around = list(_around(event))
        line = next((outer.name for outer in around if outer.name in lines), None)
        if line is None:  # A gradient runs on a thread of autograd, and comes from the line of its operator.
            numbers = ((outer.fwd_thread, outer.sequence_nr) for outer in around)
            line = next((forward[number] for number in numbers if number in forward), None)
        counts[name, line] += 1
        times[name, line] += event.time_range.elapsed_us()
    return [Finding(name, line, count, times[name, line]) for (name, line), count in counts.items()]


def _covered_us(events: list[FunctionEvent]) -> float:
    """How long at least one of the events ran."""
    covered, end = 0.0, float("-inf")
    for span in sorted((event.time_range for event in events), key=lambda span: span.start):
        covered += max(0.0, span.end - max(span.start, end))
        end = max(end, span.end)
    return covered


def _explanation(recording: profile, lines: set[str]) -> Explanation:
    """Sums up a recording."""
    events = list(recording.events())
    work = [event for event in events if event.device_type == torch.autograd.DeviceType.PrivateUse1]
    host = [event for event in events if event.device_type == torch.autograd.DeviceType.CPU]
    whole = next(event.time_range for event in host if event.name == _WHOLE)
    inside = [event for event in host if whole.start <= event.time_range.start < whole.end]
    inside.sort(key=lambda event: event.time_range.start)
    forward = {  # Operators without a gradient have the number of the next one that has one: the last one counts.
        (event.thread, event.sequence_nr): line.name
        for event in inside
        if event.sequence_nr >= 0 and not event.fwd_thread
        for line in _around(event)
        if line.name in lines
    }

    def operator(event: FunctionEvent) -> str:
        """The outermost one: it is what the program called, or what autograd did."""
        calls = [it.name for it in _around(event) if it.activity_type == "cpu_op" and it.name not in lines]
        return next((name for name in reversed(calls) if not name.startswith("autograd::engine::")), event.name)

    waits = [event for event in inside if event.name in WAITS]
    # The fallback takes the arguments to the CPU by this operator, once a call.
    fallbacks = [event.cpu_parent for event in inside if event.name == "aten::_to_cpu" and event.cpu_parent is not None]
    return Explanation(
        launches=Counter(event.name for event in work if event.activity_type == "kernel"),
        copies=Counter(event.name for event in work if event.activity_type == "gpu_memcpy"),
        fallbacks=_findings(((event, event.name) for event in fallbacks), lines, forward),
        waits=_findings(((event, operator(event)) for event in waits), lines, forward),
        host_us=whole.elapsed_us(),
        waiting_us=_covered_us(waits),
        device_us=_covered_us([it for it in work if it.activity_type in ("kernel", "gpu_memcpy", "gpu_memset")]),
        profile=recording,
    )
