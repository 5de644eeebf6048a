"""The profiler: whether a trace has the device's work in it."""

from __future__ import annotations

import torch

from ..backend import Backend
from ..registry import Missing, Section, Silent, Wrong

section = Section("profiler", step=15, chapter="15-profiler", needs=("import", "tensors"))


@section.probe("profiler", write="REGISTER_PRIVATEUSE1_PROFILER: a libkineto::IActivityProfiler", heavy=True)
def profiler(backend: Backend) -> str:
    """Profiles work, and looks for events of the device, their durations, and its column in the table."""
    from torch.profiler import ProfilerActivity, profile

    if ProfilerActivity.PrivateUse1 not in torch.profiler.supported_activities():
        raise Missing("torch.profiler.supported_activities() lacks PrivateUse1")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as trace:
        backend.long_work(4)
        torch.accelerator.synchronize()
    events = [it for it in trace.events() if it.device_type.name != "CPU"]
    if not events:
        raise Silent("a trace has no events of the device")
    if not any(it.time_range.elapsed_us() > 0 for it in events):
        raise Wrong("all events of the device last 0 µs")
    return f"{len(events)} events of the device"
