"""Figures of graphs: the host's time for a step of training, launched kernel by kernel and replayed."""

import time
from collections.abc import Callable
from statistics import median

import torch
from measure import DEVICE, report
from models import mlp

MOST = 0.7  # of eager's host time
STEPS = 40


def host_seconds(step: Callable[[], object]) -> float:
    """The seconds until a step is submitted; the device has nothing else to do."""
    taken = []
    for _ in range(STEPS):
        torch.accelerator.synchronize()
        start = time.perf_counter()
        step()
        taken.append(time.perf_counter() - start)
    torch.accelerator.synchronize()
    return median(taken)


def training() -> None:
    """A step of an MLP: forward, backward, optimizer."""
    step = mlp("openreg")
    stream = torch.Stream(DEVICE)
    with stream:
        for _ in range(3):
            step()
        graph = torch.accelerator.Graph()
        with graph:
            step()
        eager, replay = host_seconds(step), host_seconds(graph.replay)
    report("an MLP's step of training, host time, eager", eager * 1e6, "µs")
    report("the same, replayed", replay * 1e6, "µs")
    report("replayed, of eager's host time", replay / eager, "", most=MOST)


if __name__ == "__main__":
    training()
