"""Trains a network on openreg and on the CPU, and prints a line of JSON: mlp, cnn, transformer or digits."""

from __future__ import annotations

import io
import json
import sys
import tempfile
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "examples")]
import models  # noqa: E402
import torch  # noqa: E402
import torch_openreg  # noqa: E402, F401

STEPS = 30


def losses(network: str, device: str) -> list[float]:
    """The loss of each step; all are read at the end, so that the device never waits for the host."""
    step = getattr(models, network)(device)
    return torch.stack([step() for _ in range(STEPS)]).tolist()


def train(network: str) -> dict[str, Any]:
    """Trains one of bench/models.py."""
    torch.openreg.reset_fallbacks()
    here = losses(network, "openreg")
    fallbacks = torch.openreg.fallbacks()
    return {"losses": here, "cpu": losses(network, "cpu"), "fallbacks": fallbacks}


def train_digits() -> dict[str, Any]:
    """Trains examples/digits.py, as it is. That its losses disagree is a figure here, and no end."""
    import digits

    with tempfile.TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        saved = Path(folder) / "digits.json"
        # What it compares at its end, we compare ourselves.
        torch.testing.assert_close = lambda *_, **__: None
        digits.main(["--save", str(saved)])
        found = json.loads(saved.read_text())
    here, cpu = ([loss for loss, _ in found[device]] for device in ("device", "cpu"))
    accuracy = [found[device][-1][1] for device in ("device", "cpu")]
    return {"losses": here, "cpu": cpu, "fallbacks": found["fallback"], "accuracy": accuracy}


if __name__ == "__main__":
    asked = sys.argv[1]
    print(json.dumps(train_digits() if asked == "digits" else train(asked)), flush=True)
