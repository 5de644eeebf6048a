"""An `out=` may be an input: the results are those without that, or both devices refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

from .workers import Result, RunEntriesFunction

HERE = Path(__file__).resolve().parent

# Operators, and why their results are others.
EXPECTED = {
    "baddbmm": "PyTorch's meta function writes what is added into the output, on every device",
    "aten::baddbmm.out": "as baddbmm",
    "nn.functional.linear": "PyTorch's function writes the product over the bias, on every device",
    "svd": "PyTorch's function writes the output through a transposed view, on every device",
    "aten::log_sigmoid_forward.output": "the buffer, which is not used, has another shape",
    "native_batch_norm": "the saved mean over the running one: both are written, and which stays is left open",
    "_native_batch_norm_legit": "as native_batch_norm",
    "aten::native_batch_norm.out": "as native_batch_norm",
    "aten::_native_batch_norm_legit.out": "as native_batch_norm",
}

X = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0], [7.0, 6.0, 8.0]])
Y = X.t().contiguous() / 2

# Each writes over one of its inputs, and returns it; with other outputs than `x` and `y` it doesn't.
CASES: dict[str, Callable[..., torch.Tensor]] = {
    "sort": lambda x, y, out: torch.sort(x, out=(out(x), places(x)))[0],
    "sort along columns": lambda x, y, out: torch.sort(x, 0, out=(out(x), places(x)))[0],
    "topk": lambda x, y, out: torch.topk(x, 3, out=(out(x), places(x)))[0],
    "msort": lambda x, y, out: torch.msort(x, out=out(x)),
    "mm": lambda x, y, out: torch.mm(x, y, out=out(x)),
    "addmm, first": lambda x, y, out: torch.addmm(torch.ones_like(x), x, y, out=out(x)),
    "addmm, second": lambda x, y, out: torch.addmm(torch.ones_like(x), x, y, out=out(y)),
    "addmm, a part": lambda x, y, out: torch.addmm(torch.ones_like(y[:2]), x[:2], y, out=out(x)[1:]),
    "addmv": lambda x, y, out: torch.addmv(torch.ones_like(y[0]), y, x[0], out=out(x)[0]),
    "avg_pool2d": lambda x, y, out: torch._C._nn.avg_pool2d(x[None], [3, 3], [1, 1], [1, 1], out=out(x)[None]),
}


def places(x: torch.Tensor) -> torch.Tensor:
    """For indices."""
    return torch.empty(0, dtype=torch.long, device=x.device)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64], ids=str)
def test_an_input_may_be_the_output(case: str, dtype: torch.dtype, device: str) -> None:
    x, y = X.to(dtype, copy=True), Y.to(dtype, copy=True)
    # Into other memory: where they share it, the CPU's own results may be wrong.
    expected = CASES[case](x, y, torch.empty_like)
    actual = CASES[case](x.to(device), y.to(device), lambda given: given)
    torch.testing.assert_close(actual.cpu(), expected)


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("side", [3, 5], ids=["of its size", "larger"])
@pytest.mark.parametrize("transposed", [False, True], ids=["contiguous", "transposed"])
def test_what_is_unpooled_may_be_the_output(dims: int, side: int, transposed: bool, device: str) -> None:
    """The CPU writes its zeros first, and then finds only these."""
    x, indices = (X.t() if transposed else X), torch.tensor([[2, 0, 1], [5, 3, 4], [8, 7, 6]])
    unpool, deep, steps = {
        2: (torch._C._nn.max_unpool2d, [], ()),
        3: (torch._C._nn.max_unpool3d, [1], ([1] * 3, [0] * 3)),
    }[dims]

    def image(of: torch.Tensor, where: str) -> torch.Tensor:
        return of.to(where, copy=True)[(None,) * (dims - 1)]

    expected = unpool(image(x, "cpu"), image(indices, "cpu"), [*deep, side, side], *steps)
    given = image(x, device)
    assert given.is_contiguous() == (not transposed)
    assert unpool(given, image(indices, device), [*deep, side, side], *steps, out=given) is given
    torch.testing.assert_close(given.cpu(), expected)


@pytest.fixture(scope="module")
def results(pytestconfig: pytest.Config, run_entries: RunEntriesFunction) -> dict[str, Result]:
    """How the entries of PyTorch's operator database went."""
    everything = ["--all"] if pytestconfig.getoption("--all-samples") else []
    return run_entries("out_aliases_worker.py", *everything, limit=300)


@pytest.mark.timeout(10_000)
@pytest.mark.xdist_group("out_aliases")
def test_every_operator_takes_each_input_for_its_output_as_the_cpu_does(results: dict[str, Result]) -> None:
    assert {name: result.detail for name, result in results.items() if result.outcome == "crash"} == {}
    assert sum(result.more["equal"] for result in results.values()) > 3000
    wrong = {name: text for result in results.values() for name, text in result.more["wrong"].items()}
    assert {name: text for name, text in wrong.items() if name not in EXPECTED} == {}
