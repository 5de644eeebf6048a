"""Trains a small convolutional network to read handwritten digits on `openreg`, and the same on the CPU beside it.

    python examples/digits.py [--device openreg] [--epochs 6]

The pictures are the 1797 of 8 × 8 pixels that scikit-learn ships. Both trainings start from the same weights and see
the same batches, so their losses must agree. At the end stands how long host and device were busy, and how much the
device left to the CPU, and what one step made it do.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
from sklearn.datasets import load_digits
from torch import nn
from tqdm import tqdm

BATCH = 64
os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # else PyTorch logs that a recording starts and ends
HELD_OUT = 360  # pictures that the network is tested with and never trained on


class Epoch(NamedTuple):
    """What an epoch came to: the mean loss of its batches, and the share of held-out digits read correctly after it."""

    loss: float
    accuracy: float


class Times(NamedTuple):
    """Seconds that an epoch's training steps took: the host to ask for them, the device to do them."""

    host: float
    device: float


class Training:
    """A network and the data, on one device."""

    def __init__(self, device: str) -> None:
        digits = load_digits()
        order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
        pictures = torch.tensor(digits.data, dtype=torch.float32)[order].view(-1, 1, 8, 8) / 16
        labels = torch.tensor(digits.target)[order]
        # Made on the CPU and moved, so that every device starts from the same weights.
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(128, 10),
        ).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9)
        self.pictures, self.labels = pictures.to(device), labels.to(device)
        self.generator = torch.Generator().manual_seed(1)
        self.times: list[Times] = []

    def step(self, rows: torch.Tensor) -> torch.Tensor:
        """Trains on one batch and returns its loss, which stays on the device: reading it would wait for the device."""
        loss = nn.functional.cross_entropy(self.model(self.pictures[rows]), self.labels[rows])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def batches(self) -> list[torch.Tensor]:
        """Returns the row numbers of an epoch's batches, in new order every time."""
        order = torch.randperm(len(self.labels) - HELD_OUT, generator=self.generator) + HELD_OUT
        return list(order.to(self.labels.device).split(BATCH))

    def epoch(self) -> list[torch.Tensor]:
        """Trains on every batch, notes the time that took, and returns the losses."""
        batches, device = self.batches(), self.labels.device
        if device.type == "cpu":  # its own host
            start = time.perf_counter()
            losses = [self.step(rows) for rows in batches]
            self.times.append(Times(*[time.perf_counter() - start] * 2))
            return losses
        # Events stand in the device's queue among the work, and note when it passes them.
        first, last = (torch.Event(device, enable_timing=True) for _ in range(2))
        first.record()
        start = time.perf_counter()
        losses = [self.step(rows) for rows in batches]
        host = time.perf_counter() - start
        last.record()
        last.synchronize()
        self.times.append(Times(host, first.elapsed_time(last) / 1e3))
        return losses

    def accuracy(self) -> float:
        """Returns the share of the held-out digits that the network reads correctly."""
        with torch.no_grad():
            guesses = self.model(self.pictures[:HELD_OUT]).argmax(dim=1)
        return (guesses == self.labels[:HELD_OUT]).float().mean().item()

    def run(self, epochs: int) -> list[Epoch]:
        """Trains and returns what each epoch came to."""
        history = []
        for _ in tqdm(range(epochs), desc=f"{self.pictures.device.type:8}", unit="epoch", ncols=80):
            losses = self.epoch()
            history.append(Epoch(torch.stack(losses).mean().item(), self.accuracy()))
        return history


def native_operators() -> list[str]:
    """Returns the operators that the device has kernels for; what PyTorch makes of them runs on the device, too."""
    return [name for name, how in torch.openreg.operator_coverage().items() if how == "native"]


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Trains on both, compares, and returns the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="openreg", help="device to train on (default: openreg)")
    parser.add_argument("--epochs", type=int, default=6, help="times to go through the pictures (default: 6)")
    parser.add_argument("--save", type=Path, help="write the numbers to this file, as JSON")
    given = parser.parse_args(arguments)

    torch.openreg.reset_fallbacks()
    trainings = Training(given.device), Training("cpu")
    here, cpu = (training.run(given.epochs) for training in trainings)
    native, fallback = native_operators(), torch.openreg.fallbacks()

    print(f"\nepoch   loss on {given.device:10} loss on cpu   read correctly on {given.device:10} on cpu")
    for number, (a, b) in enumerate(zip(here, cpu, strict=True), 1):
        print(f"{number:5}   {a.loss:18.4f} {b.loss:13.4f}   {a.accuracy:28.1%} {b.accuracy:6.1%}")
    torch.testing.assert_close([a.loss for a in here], [b.loss for b in cpu], rtol=1e-2, atol=1e-4)
    print("The losses agree.")

    # The first epoch starts things, on the CPU too.
    means = [Times(*(sum(part) / len(part) for part in zip(*t.times[-5:], strict=True))) for t in trainings]
    print(f"\nAn epoch's training steps keep the host busy for {means[0].host * 1e3:.0f} ms,", end=" ")
    print(f"and {given.device} is through with them after {means[0].device * 1e3:.0f} ms.")
    print(f"On the CPU they take {means[1].host * 1e3:.0f} ms.")

    print(f"\n{len(native)} operators have a kernel on the device.", end=" ")
    if fallback:
        often = ", ".join(f"{name.removeprefix('aten::')} ({count})" for name, count in list(fallback.items())[:4])
        print(f"The CPU served {len(fallback)} others, in {sum(fallback.values())} calls: {often}.")
    else:
        print("Everything ran on them: the CPU served nothing.")
    explained = torch.openreg.explain(trainings[0].step)(trainings[0].batches()[0])
    profile = {"launches": explained.launches.total(), "waits": sum(it.count for it in explained.waits)}
    print(f"A training step launches {profile['launches']} kernels, and the host waits {profile['waits']} times.")
    times = {"device": trainings[0].times, "cpu": trainings[1].times}
    numbers = {"device": here, "cpu": cpu, "seconds": times, "native": native, "fallback": fallback, "profile": profile}
    if given.save:
        given.save.write_text(json.dumps(numbers, indent=1))
    return numbers


if __name__ == "__main__":
    main()
