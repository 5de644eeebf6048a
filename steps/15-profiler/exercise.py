"""Solution: the longest time in which a device had nothing to do, and what the program did meanwhile."""

import os
import time
from collections.abc import Iterable

import torch
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import DeviceType, ProfilerActivity, profile, record_function

os.environ["KINETO_LOG_LEVEL"] = "6"


def longest_gap(events: Iterable[FunctionEvent], device: int) -> tuple[float, float]:
    """Return where the longest time begins and ends in which no stream of the device worked, in microseconds."""
    work = [it for it in events if it.device_type != DeviceType.CPU and it.device_index == device]
    done = [it.time_range for it in work if it.name != "wait" and not it.is_user_annotation]
    gap, busy_until = (0.0, 0.0), min(it.start for it in done)
    for it in sorted(done, key=lambda it: it.start):
        if it.start - busy_until > gap[1] - gap[0]:
            gap = busy_until, it.start
        busy_until = max(busy_until, it.end)  # of several streams, the one that works longest
    return gap


def innermost(events: Iterable[FunctionEvent], at: float) -> str:
    """Return the name of the shortest event of the host that surrounds a moment."""
    around = [
        it for it in events if it.device_type == DeviceType.CPU and it.time_range.start <= at <= it.time_range.end
    ]
    return min(around, key=lambda it: it.time_range.elapsed_us()).name if around else "nothing that is recorded"


x = torch.randn(256, 256, device="openreg")
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recording:
    for _ in range(3):
        with record_function("read the next batch"):
            time.sleep(0.3)  # A disk, say.
        with record_function("train"):
            (x @ x).sum().item()

start, end = longest_gap(recording.events(), x.device.index)
print("the device waited longest while the program did this:", innermost(recording.events(), (start + end) / 2))
