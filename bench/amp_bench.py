"""Figures of half precision beside float32: matrix products, and networks that train under autocast.

python bench/amp_bench.py            print them
python bench/amp_bench.py --record   write docs/precision.json, too, which the guide shows
"""

import copy
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measure import DEVICE, in_turns, report
from models import CNN, Transformer
from torch import nn

RECORD = Path(__file__).resolve().parents[1] / "docs" / "precision.json"
TYPES = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}
SHAPES = [(1, 1024, 1024), (64, 64, 64), (32, 1024, 1024), (2048, 256, 64), (512, 512, 512), (1024, 1024, 1024)]
STEPS = 30  # of which the losses are compared
SLOWER = 1.1  # times float32's: the products are the same ones, and halves are converted for them

Body = Callable[[], torch.Tensor]


def products() -> list[dict[str, Any]]:
    """Microseconds of a product in each type, for each shape."""
    rows = []
    for m, k, n in SHAPES:
        bodies = []
        for dtype in TYPES.values():
            a, b = (torch.randn(size).to(DEVICE, dtype or torch.float32) for size in ((m, k), (n, k)))
            bodies.append(lambda a=a, b=b: torch.mm(a, b.T))
        calls = max(2, min(50, 200_000_000 // (m * k * n)))
        taken = in_turns(bodies, calls=calls, rounds=9)
        rows.append({"shape": [m, k, n]} | {name: value * 1e6 for name, value in zip(TYPES, taken, strict=True)})
        for name, value in zip(TYPES, taken, strict=True):
            most = None if name == "float32" else SLOWER * taken[0] * 1e6
            report(f"matrix product {m} × {k} × {n}, {name}", value * 1e6, "µs", most=most)
    return rows


def trainer(model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor, dtype: torch.dtype | None) -> Body:
    """A function that trains a copy of a model for one step."""
    model, inputs, labels = copy.deepcopy(model).to(DEVICE), inputs.to(DEVICE), labels.to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("openreg", enabled=dtype == torch.float16)

    def step() -> torch.Tensor:
        with torch.amp.autocast("openreg", dtype=dtype, enabled=dtype is not None):
            loss = nn.functional.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss.detach()

    return step


def networks() -> list[dict[str, Any]]:
    """What a step takes, what it has in memory at most, and where the loss is after some steps, for each type."""
    torch.manual_seed(0)
    symbols = torch.randint(64, (32, 65))
    cases = {
        "CNN": (CNN(), torch.randn(128, 1, 32, 32), torch.randint(10, (128,))),
        "transformer": (Transformer(width=128, length=64), symbols[:, :-1], symbols[:, 1:].contiguous()),
    }
    rows = []
    for network, case in cases.items():
        found: dict[str, Any] = {"network": network}
        bodies = []
        for name, dtype in TYPES.items():
            body = trainer(*case, dtype)
            torch.openreg.reset_fallbacks()
            losses = [body() for _ in range(STEPS)]
            torch.accelerator.reset_peak_memory_stats()
            before = torch.accelerator.memory_allocated()
            body()
            peak = torch.accelerator.max_memory_allocated() - before
            assert not torch.openreg.fallbacks()
            found[name] = {"loss": losses[-1].item(), "MiB": peak / 2**20}
            bodies.append(body)
        for name, value in zip(TYPES, in_turns(bodies, calls=2, rounds=9), strict=True):
            found[name]["ms"] = value * 1e3
            report(f"step of the {network}, {name}", value * 1e3, "ms")
            report(f"step of the {network}, {name}: memory at most", found[name]["MiB"], "MiB")
        rows.append(found)
    return rows


if __name__ == "__main__":
    figures = {"steps": STEPS, "products": products(), "networks": networks()}
    if sys.argv[1:] == ["--record"]:
        RECORD.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
