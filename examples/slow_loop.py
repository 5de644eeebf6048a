"""Trains a small network to read digits in a loop with three faults, and in the same loop mended, and explains both.

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
from collections.abc import Callable
from pathlib import Path

import torch
import torch_openreg
from sklearn.datasets import load_digits
from torch import nn
from torch.profiler import record_function

BATCH, BATCHES, EPOCHS = 128, 14, 3
RECORDED = 2  # steps
COPY_US, KERNEL_US = 300, 100
Batch = tuple[torch.Tensor, torch.Tensor]
os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # else PyTorch logs that a recording starts and ends


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

    def steps(self, batches: list[Batch]) -> None:
        """Trains on some batches."""
        for batch in batches:
            with record_function("training step"):
                self.step(batch)

    def run(self) -> "torch.openreg.Explanation":
        """Trains, and explains the first steps of the second epoch: by then every kernel and every buffer is there."""
        explained = None
        for epoch in range(EPOCHS):
            begin = 0
            if epoch == 1:
                begin = RECORDED
                explained = torch.openreg.explain(self.steps)(self.batches[:begin])
            self.steps(self.batches[begin:])
            # Once an epoch the host may wait.
            self.history.append(float(self.loss) / BATCHES)
            self.loss = 0.0
        assert explained is not None
        return explained


def main(arguments: list[str] | None = None) -> None:
    """Trains, and prints what the recorded steps did."""
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
    explained = training.run()
    if given.trace:
        explained.profile.export_chrome_trace(str(given.trace))
    print(f"{'mended' if given.mended else 'slow'} loop, {RECORDED} steps")
    print(explained.text(times=given.times))
    print(f"loss of each epoch: {', '.join(f'{loss:.4f}' for loss in training.history)}")


if __name__ == "__main__":
    main()
