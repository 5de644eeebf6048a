"""Measures calls of operators.

Reads {"row", "device"} and answers {"seconds", "served"} or {"error"}, a line of JSON each.
A turn is many calls in a row and one wait for the device, by the host's clock: of a short operator it shows what the
host takes, of a long one what the device takes. The first line says which devices there are.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

# Answers go where standard output went; what else prints does so to standard error.
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))
import models  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

with suppress(ImportError):
    import torch_openreg  # noqa: F401

Body = Callable[[], object]
Make = Callable[[str], Body]
SHORTEST, MOST_CALLS = 5e-3, 2000  # seconds of a turn, and calls in it
N = 4096


def numbers(*shape: int, device: str, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """The same numbers on each device."""
    generator = torch.Generator().manual_seed(0)
    if len(shape) == 1 and shape[0] > N * N:  # drawn in part: the CPU would take seconds
        return torch.randn(N * N, generator=generator).to(device, dtype).repeat(shape[0] // (N * N) + 1)[: shape[0]]
    return torch.randn(shape, generator=generator).to(device, dtype)


def whole(size: int, most: int, device: str) -> torch.Tensor:
    """Row numbers in random order."""
    return torch.randint(most, (size,), generator=torch.Generator().manual_seed(0)).to(device)


def unary(call: Callable[[torch.Tensor], object], *shape: int) -> Make:
    """A call with a tensor."""

    def make(device: str) -> Body:
        x = numbers(*shape, device=device)
        return lambda: call(x)

    return make


def binary(
    call: Callable[[torch.Tensor, torch.Tensor], object], *shape: int, dtype: torch.dtype = torch.float32
) -> Make:
    """A call with two of the same shape."""

    def make(device: str) -> Body:
        x, y = (numbers(*shape, device=device, dtype=dtype) for _ in range(2))
        return lambda: call(x, y)

    return make


def convolution(device: str) -> Body:
    """A convolution as in the middle of a small network."""
    x, weight = numbers(32, 64, 56, 56, device=device), numbers(64, 64, 3, 3, device=device)
    return lambda: nn.functional.conv2d(x, weight, padding=1)


def convolution_backward(device: str) -> Body:
    """The same with gradients of both."""
    x, weight = (numbers(*it, device=device).requires_grad_() for it in ((32, 64, 56, 56), (64, 64, 3, 3)))
    grad = numbers(32, 64, 56, 56, device=device)
    return lambda: torch.autograd.grad(nn.functional.conv2d(x, weight, padding=1), (x, weight), grad)


def embedding(device: str) -> Body:
    """Rows of a table."""
    table, rows = numbers(50_000, 512, device=device), whole(16_384, 50_000, device)
    return lambda: nn.functional.embedding(rows, table)


def scatter(device: str) -> Body:
    """Adds to places that are named."""
    x, places = numbers(N, N, device=device), whole(N * N, N, device).view(N, N)
    out = torch.zeros(N, N, device=device)
    return lambda: out.scatter_add_(0, places, x)


def mlp(device: str) -> Body:
    """A step of training: batch 512, four layers of width 1024."""
    layers = [part for _ in range(3) for part in (nn.Linear(1024, 1024), nn.ReLU())]
    torch.manual_seed(0)
    labels = whole(512, 10, "cpu")
    model = nn.Sequential(*layers, nn.Linear(1024, 10))
    return models.trainer(model, numbers(512, 1024, device="cpu"), labels, device, "sgd")


def transformer(device: str) -> Body:
    """A step of training: batch 16 of 128 symbols, four layers of width 512, AdamW."""
    torch.manual_seed(0)
    symbols = whole(16 * 129, 64, "cpu").view(16, 129)
    model = models.Transformer(width=512, heads=8, layers=4, length=128)
    return models.trainer(model, symbols[:, :-1], symbols[:, 1:].contiguous(), device, "adamw")


# By name, what bounds it, and how it is made.
ROWS: dict[str, tuple[str, Make]] = {
    "empty, 1 element": ("launch", lambda device: lambda: torch.empty(1, device=device)),
    "x + y, 1 element": ("launch", binary(torch.add, 1)),
    "x * y, 1 element": ("launch", binary(torch.mul, 1)),
    "relu, 1 element": ("launch", unary(torch.relu, 1)),
    "sum, 1 element": ("launch", unary(torch.sum, 1)),
    "item": ("launch", unary(torch.Tensor.item, 1)),
    "x + y, 10⁶": ("launch", binary(torch.add, 10**6)),
    "x + y, 10⁸": ("memory", binary(torch.add, 10**8)),
    "x + y of halves, 4096²": ("memory", binary(torch.add, N, N, dtype=torch.float16)),
    "x.t() + y, 4096²": ("memory", binary(lambda x, y: x.t() + y, N, N)),
    "x * y, 4096²": ("memory", binary(torch.mul, N, N)),
    "relu, 4096²": ("memory", unary(torch.relu, N, N)),
    "exp, 4096²": ("memory", unary(torch.exp, N, N)),
    "sum, 4096²": ("memory", unary(torch.sum, N, N)),
    "sum of rows, 4096²": ("memory", unary(lambda x: x.sum(1), N, N)),
    "sum of columns, 4096²": ("memory", unary(lambda x: x.sum(0), N, N)),
    "mean, 4096²": ("memory", unary(torch.mean, N, N)),
    "softmax, 4096²": ("memory", unary(lambda x: x.softmax(1), N, N)),
    "layer_norm, 4096²": ("memory", unary(lambda x: nn.functional.layer_norm(x, (N,)), N, N)),
    "clone, 4096²": ("memory", unary(torch.clone, N, N)),
    "t().contiguous(), 4096²": ("memory", unary(lambda x: x.t().contiguous(), N, N)),
    "cat, 4096² twice": ("memory", binary(lambda x, y: torch.cat([x, y]), N, N)),
    "cumsum, 4096²": ("memory", unary(lambda x: x.cumsum(1), N, N)),
    "embedding, 16384 rows of 512": ("memory", embedding),
    "scatter_add, 4096²": ("other", scatter),
    "sort of rows, 1024 × 4096": ("other", unary(lambda x: x.sort(1), 1024, N)),
    "sort, 10⁶": ("other", unary(torch.sort, 10**6)),
    "topk of rows, 1024 × 4096": ("other", unary(lambda x: x.topk(10, 1), 1024, N)),
    "mm, 128": ("other", binary(torch.mm, 128, 128)),
    "mm, 1024": ("other", binary(torch.mm, 1024, 1024)),
    "mm, 4096": ("other", binary(torch.mm, N, N)),
    "mm of halves, 4096": ("other", binary(torch.mm, N, N, dtype=torch.float16)),
    "bmm, 64 of 256": ("other", binary(torch.bmm, 64, 256, 256)),
    "conv2d, 32 × 64 × 56²": ("other", convolution),
    "conv2d and its gradients": ("other", convolution_backward),
    "MLP step": ("step", mlp),
    "transformer step": ("step", transformer),
}


def synchronize(device: str) -> None:
    """Waits for a device."""
    if device != "cpu":
        getattr(torch, torch.device(device).type).synchronize()


def turn(body: Body, calls: int, device: str) -> float:
    """Seconds of a call, of several in a row."""
    start = time.perf_counter()
    for _ in range(calls):
        body()
    synchronize(device)
    return (time.perf_counter() - start) / calls


class Bodies:
    """What is measured at the time: one row, on all devices, so that memory holds the operands of one."""

    def __init__(self) -> None:
        self._row = ""
        self._made: dict[str, tuple[Body, int]] = {}
        self._served: dict[str, dict[str, int]] = {}

    def _make(self, row: str, device: str) -> None:
        body = ROWS[row][1](device)
        if device.startswith("openreg"):
            torch.openreg.reset_fallbacks()
        turn(body, 1, device)  # compiles
        once = min(turn(body, 1, device) for _ in range(3))
        self._made[device] = body, max(1, min(MOST_CALLS, int(SHORTEST / once)))
        self._served[device] = torch.openreg.fallbacks() if device.startswith("openreg") else {}

    def measure(self, row: str, device: str) -> dict[str, object]:
        """One turn, behind one that doesn't count."""
        if row != self._row:
            self._row, self._made = row, {}
        if device not in self._made:
            self._make(row, device)
        body, calls = self._made[device]
        turn(body, max(1, calls // 4), device)
        return {"seconds": turn(body, calls, device), "served": self._served[device]}


def devices() -> list[str]:
    """The devices that there are."""
    found = ["cpu"]
    if torch.version.cuda and torch.cuda.is_available():
        found.append("cuda")
    if hasattr(torch, "openreg") and torch.openreg.is_available():
        found.append("openreg")
    return found


def main() -> None:
    """Answers until nobody asks any more."""
    # The bars are about float32, with all its digits on either side.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
    kinds = {name: kind for name, (kind, _) in ROWS.items()}
    print(json.dumps({"torch": torch.__version__, "devices": devices(), "rows": kinds}), file=answers, flush=True)
    bodies = Bodies()
    for line in sys.stdin:
        try:
            answer = bodies.measure(**json.loads(line))
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
