"""Trains a small network to read handwritten digits on `openreg`, and the same network on the CPU beside it.

    python examples/digits.py [--device openreg] [--epochs 10]

The pictures are the 1797 of 8 × 8 pixels that scikit-learn ships. Both trainings start from the same weights and see
the same batches, so their losses must agree. At the end stands how much the device left to the CPU.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch_openreg  # noqa: F401 (registers the device)
from sklearn.datasets import load_digits
from torch import nn
from tqdm import tqdm

BATCH = 64
HELD_OUT = 360  # pictures that the network is tested with and never trained on


class Epoch(NamedTuple):
    """What an epoch came to: the mean loss of its batches, and the share of held-out digits read correctly after it."""

    loss: float
    accuracy: float


class Training:
    """A network and the data, on one device."""

    def __init__(self, device: str) -> None:
        digits = load_digits()
        order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(0))
        pictures = torch.tensor(digits.data, dtype=torch.float32)[order] / 16
        labels = torch.tensor(digits.target)[order]
        # Made on the CPU and moved, so that every device starts from the same weights.
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.pictures, self.labels = pictures.to(device), labels.to(device)
        self.generator = torch.Generator().manual_seed(1)

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

    def accuracy(self) -> float:
        """Returns the share of the held-out digits that the network reads correctly."""
        with torch.no_grad():
            guesses = self.model(self.pictures[:HELD_OUT]).argmax(dim=1)
        return (guesses == self.labels[:HELD_OUT]).float().mean().item()

    def run(self, epochs: int) -> list[Epoch]:
        """Trains and returns what each epoch came to."""
        history = []
        for _ in tqdm(range(epochs), desc=f"{self.pictures.device.type:8}", unit="epoch", ncols=80):
            losses = [self.step(rows) for rows in self.batches()]
            history.append(Epoch(torch.stack(losses).mean().item(), self.accuracy()))
        return history


def native_operators() -> list[str]:
    """Returns the operators that are registered for the device; the CPU serves what is left."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    return sorted(name for name in torch._C._dispatch_get_all_op_names() if has_kernel(name, "PrivateUse1"))


def main(arguments: list[str] | None = None) -> dict[str, Any]:
    """Trains on both, compares, and returns the numbers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="openreg", help="device to train on (default: openreg)")
    parser.add_argument("--epochs", type=int, default=10, help="times to go through the pictures (default: 10)")
    parser.add_argument("--save", type=Path, help="write the numbers to this file, as JSON")
    given = parser.parse_args(arguments)

    torch.openreg.reset_fallbacks()
    start = time.perf_counter()
    here = Training(given.device).run(given.epochs)
    between = time.perf_counter()
    cpu = Training("cpu").run(given.epochs)
    seconds = {"device": between - start, "cpu": time.perf_counter() - between}
    native, fallback = native_operators(), torch.openreg.fallbacks()

    print(f"\nepoch   loss on {given.device:10} loss on cpu   read correctly on {given.device:10} on cpu")
    for number, (a, b) in enumerate(zip(here, cpu, strict=True), 1):
        print(f"{number:5}   {a.loss:18.4f} {b.loss:13.4f}   {a.accuracy:28.1%} {b.accuracy:6.1%}")
    torch.testing.assert_close([a.loss for a in here], [b.loss for b in cpu], rtol=1e-3, atol=1e-5)
    print(f"The losses agree. {seconds['device']:.1f} s on {given.device}, {seconds['cpu']:.1f} s on the CPU.")

    calls = sum(fallback.values())
    often = ", ".join(f"{name.removeprefix('aten::')} ({count})" for name, count in list(fallback.items())[:4])
    print(f"\n{len(native)} operators are registered for the device.")
    print(f"The CPU served {len(fallback)} others by the fallback, in {calls} calls: {often or 'none'}.")
    numbers = {"device": here, "cpu": cpu, "seconds": seconds, "native": native, "fallback": fallback}
    if given.save:
        given.save.write_text(json.dumps(numbers, indent=1))
    return numbers


if __name__ == "__main__":
    main()
