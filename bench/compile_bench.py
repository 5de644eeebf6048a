"""Figures of torch.compile: fused loops beside eager code and Inductor's own for the CPU; what compiling takes."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

import models
import torch
import torch.nn.functional as F  # noqa: N812 - as everyone calls it
from measure import DEVICE, in_turns, report
from torch import nn

SIDE = 1024
CHAIN = "ten operators in a chain"


def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Ten operators, each on the result of the one before it."""
    z = torch.relu((x + y) * 2 - x)
    return ((z * y + 1).abs().sqrt() - y).clamp(-1, 1) * x


OPERATIONS: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "relu(x * 2 + y) * x - y": lambda x, y: torch.relu(x * 2 + y) * x - y,
    "gelu(x) * tanh(y) + exp(-x * x)": lambda x, y: F.gelu(x) * torch.tanh(y) + torch.exp(-x * x),
    CHAIN: chain,
    "softmax": lambda x, y: torch.softmax(x, -1),
    "layer_norm and gelu": lambda x, y: F.gelu(F.layer_norm(x, (SIDE,))),
    "dropout": lambda x, y: F.dropout(x, 0.1),
    "sum": lambda x, y: x.sum(),
    "sum of columns": lambda x, y: x.sum(0),
    "x.t() + y": lambda x, y: x.t() + y,
}
FIRST = """
import sys, time
import torch
f = torch.compile(lambda x: torch.softmax(torch.relu(x) * 2, -1))
x = torch.ones(64, 64, device=sys.argv[1])
start = time.perf_counter()
f(x).cpu()
print(time.perf_counter() - start)
"""


def operations() -> None:
    """A million numbers; a launch's cost for few."""
    x, y = torch.randn(SIDE, SIDE), torch.randn(SIDE, SIDE)
    here, there = x.to(DEVICE), y.to(DEVICE)
    for name, function in OPERATIONS.items():
        compiled = torch.compile(function)
        ours, eager, cpu = in_turns(
            (lambda: compiled(here, there), lambda: function(here, there), lambda: compiled(x, y)),  # noqa: B023
            5,
        )
        # The host calls while the device's two threads compute; on the CPU the caller is one of the two.
        bars = ({"times": 1.0, "cores": 3.0}, {"most": 0.25}) if name == CHAIN else ({}, {})
        report(f"compiled: {name}", ours * 1e3, "ms", cpu=cpu * 1e3, **bars[0])
        report(f"the same, of eager's time: {name}", ours / eager, "", **bars[1])
    few = torch.ones(8, device=DEVICE), torch.ones(8, device=DEVICE)
    compiled = torch.compile(OPERATIONS["relu(x * 2 + y) * x - y"], dynamic=False)
    ours, eager = in_turns((lambda: compiled(*few), lambda: OPERATIONS["relu(x * 2 + y) * x - y"](*few)), 200)
    report("eight numbers, five operators: compiled", ours * 1e6, "µs")
    report("the same, eager", eager * 1e6, "µs")


def training() -> None:
    """A step of a transformer's layer with dropout, and of the networks."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(256, 4, 1024, dropout=0.1, batch_first=True).to(DEVICE)
    rows = torch.randn(8, 64, 256, device=DEVICE)
    compiled = torch.compile(layer)

    def step(model: Callable[[torch.Tensor], torch.Tensor]) -> None:
        model(rows).square().mean().backward()

    ours, eager = in_turns((lambda: step(compiled), lambda: step(layer)), 3)
    report("a transformer layer's forward and backward, compiled", ours * 1e3, "ms")
    report("the same, of eager's time", ours / eager, "", most=1.0)
    for network, calls in ((models.mlp, 50), (models.cnn, 5), (models.transformer, 5)):
        ours, eager = in_turns((network("openreg:0", compiled=True), network("openreg:0")), calls)
        report(f"a step of the {network.__name__}, compiled", ours * 1e3, "ms")
        report("the same, of eager's time", ours / eager, "", most=1.0)


def first_calls() -> None:
    """The first call of a small function: nothing cached, and again in the next process."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": folder, "TMPDIR": folder}
        for name in ("nothing cached", "from the cache"):
            taken = {}
            for device in ("openreg", "cpu"):
                command = [sys.executable, "-c", FIRST, device]
                done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
                taken[device] = float(done.stdout)
            report(f"first call of a compiled function, {name}", taken["openreg"], "s", cpu=taken["cpu"])


if __name__ == "__main__":
    operations()
    training()
    first_calls()
