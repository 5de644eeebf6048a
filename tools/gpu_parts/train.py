"""Networks of four kinds that train on the device: with the CPU's losses, and nothing left to the CPU."""

from __future__ import annotations

import math
import sys
from pathlib import Path

from gpu_figures import Reason

from .limited import run as run_program
from .result import Asked, Result

# The bars of tests/backend/test_training.py, for a step, and of examples/digits.py, for the mean of an epoch.
BARS = {"mlp": 1e-3, "cnn": 1e-3, "transformer": 1e-3, "digits": 1e-2}
FAR = 1e9  # JSON has no infinity
SMALL = 0.1  # a loss below it is compared as if it were this
PROGRAM = Path(__file__).with_name("train_program.py")


def run(env: dict[str, str], asked: Asked, explained: list[Reason]) -> Result:
    """Trains all; what one has said stays if the next one fails."""
    del explained
    result = Result()
    for network in BARS:
        ended = run_program([sys.executable, PROGRAM, network], asked.left, **env)
        found = ended.lines()
        if ended.status != 0 or not found:
            why = "its time was over" if ended.status is None else ended.last_words.rpartition("\n")[2]
            result.said.append(f"{network} did not train: {why}")
            continue
        add(result, network, found[-1])
    return result


def distance(ours: list[float], cpu: list[float]) -> float:
    """How far losses are from the CPU's, in parts of them; more than any bar where one of ours is no number."""
    apart = [abs(a - b) / max(abs(b), SMALL) for a, b in zip(ours, cpu, strict=True)]
    return max(apart) if all(map(math.isfinite, apart)) else FAR


def add(result: Result, network: str, found: dict) -> None:
    """Adds what a network has said: how far its losses are from the CPU's, how they sank, what the CPU served."""
    first, last = found["losses"][0], found["losses"][-1]
    apart = distance(found["losses"], found["cpu"])
    result.figure(f"{network}: distance of a loss from the CPU's, at most", apart, most=BARS[network])
    sunk = last / first if math.isfinite(last / first) else FAR
    result.figure(f"{network}: last loss, of the first one's", sunk, most=0.9)
    served = found["fallbacks"]
    names = ", ".join(f"{name.removeprefix('aten::')} {count}" for name, count in served.items()) or None
    result.figure(f"{network}: calls that the CPU served", sum(served.values()), most=0, note=names)
    if "accuracy" in found:
        here, cpu = found["accuracy"]
        result.figure(f"{network}: held-out pictures read correctly", 100 * here, "%", beside=100 * cpu)
