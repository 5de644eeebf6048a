"""Trains a small network to read digits in a loop with three faults, and in the same loop mended, under the profiler.

    python examples/slow_loop.py                        what two steps of the slow loop did
    python examples/slow_loop.py --mended               the same, mended
    python examples/slow_loop.py --times                how long that took, too, which differs from run to run
    python examples/slow_loop.py --trace FILE.json      and the trace, for chrome://tracing and tools/trace_picture.py

On the simulator a copy and a kernel are told to take as long as those of larger batches would. So the trace shows who
waits for whom, and not how fast this machine is.
"""

import argparse
import ctypes
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch_openreg
from sklearn.datasets import load_digits
from torch import nn
from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import ProfilerActivity, profile, schedule

BATCH, BATCHES, EPOCHS = 128, 14, 3
RECORDED = 2  # steps
COPY_US, KERNEL_US = 300, 100
WAITS = ("orMemcpy", "orMemcpyWithStream", "orStreamSynchronize", "orEventSynchronize", "orDeviceSynchronize")
Batch = tuple[torch.Tensor, torch.Tensor]
os.environ["KINETO_LOG_LEVEL"] = "6"  # else PyTorch logs that a recording starts and ends


class Training:
    """A network on a device, its data on the host, and what is noted of its training."""

    def __init__(self, device: str, *, mended: bool) -> None:
        digits = load_digits()
        rows = slice(0, BATCH * BATCHES)
        pictures, labels = torch.tensor(digits.data, dtype=torch.float32)[rows] / 16, torch.tensor(digits.target)[rows]
        self.step: Callable[[Batch], None] = self.slow_step
        if mended:
            pictures, labels, self.step = pictures.pin_memory(), labels.pin_memory(), self.mended_step
        self.batches: list[Batch] = list(zip(pictures.split(BATCH), labels.split(BATCH), strict=True))
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.device = device
        self.guesses = torch.zeros(10, device=device)  # How often each digit was guessed: all the same is a bad sign.
        self.loss: float | torch.Tensor = 0.0
        self.history: list[float] = []  # the mean loss of each epoch

    # LITERALINCLUDE START: SLOW STEP
    def slow_step(self, batch: Batch) -> None:
        """Trains on one batch, and has the host wait at every turn."""
        pictures, labels = (tensor.to(self.device) for tensor in batch)
        scores = self.model(pictures)
        loss = nn.functional.cross_entropy(scores, labels)
        self.guesses += torch.histogram(scores.argmax(1).float(), bins=10, range=(0, 10)).hist
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.loss += loss.item()

    # LITERALINCLUDE END: SLOW STEP

    # LITERALINCLUDE START: MENDED STEP
    def mended_step(self, batch: Batch) -> None:
        """Trains on one batch, which lies in pinned memory, and waits for nothing."""
        pictures, labels = (tensor.to(self.device, non_blocking=True) for tensor in batch)
        scores = self.model(pictures)
        loss = nn.functional.cross_entropy(scores, labels)
        self.guesses += torch.histc(scores.argmax(1).float(), bins=10, min=0, max=10)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.loss += loss.detach()

    # LITERALINCLUDE END: MENDED STEP

    def run(self) -> profile:
        """Trains, and records the first steps of the second epoch: by then every kernel and every buffer is there."""
        activities = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
        when = schedule(wait=BATCHES, warmup=1, active=RECORDED, repeat=1)
        with profile(activities=activities, schedule=when) as profiler:
            for _ in range(EPOCHS):
                for batch in self.batches:
                    profiler.step()  # What follows is the next step.
                    self.step(batch)
                # Once an epoch the host may wait. The device is idle then, so the recording begins with nothing queued.
                self.history.append(float(self.loss) / BATCHES)
                self.loss = 0.0
        return profiler


class Report(NamedTuple):
    """What the recorded steps did, from the events of a profile."""

    kernels: int
    copies: Counter[str]
    fallbacks: Counter[str]
    waits: Counter[str]
    step_ms: float  # the host's
    waiting: float  # part of the host's time
    busy: float  # part of the device's time, from its first work to its last


def on_device(event: FunctionEvent) -> bool:
    """Whether an event is the device's."""
    return event.device_type == torch.autograd.DeviceType.PrivateUse1


def operator_of(event: FunctionEvent) -> str:
    """The operator that the program has called: the outermost one around an event of the host."""
    name = event.name
    while (event := event.cpu_parent) is not None:
        name = event.name if event.activity_type == "cpu_op" else name
    return name


def report(events: list[FunctionEvent]) -> Report:
    """Sums up; what the host does after the last step is the profiler's."""
    host = [event for event in events if not on_device(event)]
    steps = [event.time_range for event in host if event.name.startswith("ProfilerStep")]
    begin, end = min(step.start for step in steps), max(step.end for step in steps)
    waits = [event for event in host if event.name in WAITS and event.time_range.start < end]
    # The fallback takes the arguments to the CPU by this operator, once a call.
    fallbacks = [event for event in host if event.name == "aten::_to_cpu"]
    work = [event for event in events if on_device(event) and event.activity_type in ("kernel", "gpu_memcpy")]
    first, last = min(event.time_range.start for event in work), max(event.time_range.end for event in work)
    return Report(
        kernels=sum(event.activity_type == "kernel" for event in work),
        copies=Counter(event.name for event in work if event.activity_type == "gpu_memcpy"),
        fallbacks=Counter(operator_of(event) for event in fallbacks),
        waits=Counter(operator_of(event) for event in waits),
        step_ms=(end - begin) / len(steps) / 1e3,
        waiting=sum(event.time_range.elapsed_us() for event in waits) / (end - begin),
        busy=sum(event.time_range.elapsed_us() for event in work) / (last - first),
    )


def told(counts: Counter[str]) -> str:
    """Each name and how often it came."""
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Trains, prints what the recorded steps did, and returns the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="openreg", help="device to train on (default: openreg)")
    parser.add_argument("--mended", action="store_true", help="the loop without its faults")
    parser.add_argument("--times", action="store_true", help="print the times, too")
    parser.add_argument("--trace", type=Path, help="write the trace to this file, as JSON")
    given = parser.parse_args(arguments)

    torch.empty(0, device=given.device)
    driver = ctypes.CDLL(str(Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"))
    assert driver.orSimSetDelay(0, ctypes.c_int64(KERNEL_US), ctypes.c_int64(COPY_US)) == 0
    training = Training(given.device, mended=given.mended)
    profiler = training.run()
    if given.trace:
        profiler.export_chrome_trace(str(given.trace))
    found = report(profiler.events())

    print(f"{'mended' if given.mended else 'slow'} loop, {RECORDED} steps recorded")
    print(f"kernels    {found.kernels}")
    print(f"copies     {told(found.copies)}")
    print(f"fallbacks  {told(found.fallbacks)}")
    print(f"waits      {told(found.waits)}")
    if given.times:
        print(f"A step takes the host {found.step_ms:.1f} ms, of which it waits {found.waiting:.0%};", end=" ")
        print(f"the device is busy for {found.busy:.0%}.")
    print(f"loss of each epoch: {', '.join(f'{loss:.4f}' for loss in training.history)}")
    weights = [parameter.detach().cpu() for parameter in training.model.parameters()]
    return {"losses": training.history, "guesses": training.guesses.tolist(), "weights": weights} | found._asdict()


if __name__ == "__main__":
    main()
