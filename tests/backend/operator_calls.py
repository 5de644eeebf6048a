"""Which operators an operator is made of: read from what the profiler sees while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch._C._profiler import _ExperimentalConfig, _ProfilerEvent
from torch.autograd.profiler import profile

# Composite operator -> the operators with kernels, native or fallback, that it ends in.
Calls = dict[str, set[str]]


def _name(event: _ProfilerEvent) -> str:
    return f"{event.name}.{event.overload_name}" if event.overload_name else event.name


def _kernels(event: _ProfilerEvent, coverage: dict[str, str], calls: Calls) -> set[str]:
    """The operators with kernels that an event ends in, itself included; notes those of each composite operator."""
    name = _name(event)
    how = coverage.get(name)  # nothing for events that aren't operators, such as nodes of the autograd graph
    if how in ("native", "fallback"):
        return {name}
    below = set[str]().union(*(_kernels(child, coverage, calls) for child in event.children))
    if how == "composite":
        calls.setdefault(name, set()).update(below)
    return below


@contextmanager
def record_calls(coverage: dict[str, str], calls: Calls) -> Iterator[None]:
    """Adds to `calls` what the composite operators that run inside are made of; nothing if an exception leaves.

    Only calls through the dispatcher are seen, of all threads. The profiler's tree of events is read rather than its
    list: the list drops an operator that calls another overload of itself, as ``var.dim`` does.

    Args:
        coverage: Of :func:`torch.openreg.operator_coverage`.
        calls: Receives the union of what was there and what is seen.
    """
    config = _ExperimentalConfig(capture_overload_names=True)
    with profile(experimental_config=config) as recorded:
        yield
    for event in recorded.kineto_results.experimental_event_tree():
        _kernels(event, coverage, calls)
