"""An `out=` may be an input: the results are the CPU's, or both devices refuse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

from .workers import Result, Worker, run_all

HERE = Path(__file__).resolve().parent

# Operators, and why their results are others.
EXPECTED = {
    "native_batch_norm": "the saved mean over the running one: both are written, and which stays is left open",
    "_native_batch_norm_legit": "as native_batch_norm",
    "aten::native_batch_norm.out": "as native_batch_norm",
    "aten::_native_batch_norm_legit.out": "as native_batch_norm",
}

X = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0], [7.0, 6.0, 8.0]])
Y = X.t().contiguous() / 2
I = torch.empty(0, dtype=torch.long)  # noqa: E741

# What is computed, into the first or second of two matrices.
CASES: dict[str, Callable[..., object]] = {
    "sort": lambda x, y, i: torch.sort(x, out=(x, i)),
    "sort along columns": lambda x, y, i: torch.sort(x, 0, out=(x, i)),
    "topk": lambda x, y, i: torch.topk(x, 3, out=(x, i)),
    "msort": lambda x, y, i: torch.msort(x, out=x),
    "mm": lambda x, y, i: torch.mm(x, y, out=x),
    "addmm, first": lambda x, y, i: torch.addmm(torch.ones_like(x), x, y, out=x),
    "addmm, second": lambda x, y, i: torch.addmm(torch.ones_like(x), x, y, out=y),
    "addmm, transposed": lambda x, y, i: torch.addmm(torch.ones_like(x), x, y, out=x.t()),
    "addmm, a part": lambda x, y, i: torch.addmm(torch.ones(2, 3).to(x.device), x[:2], y, out=x[1:]),
    "addmm_": lambda x, y, i: x.addmm_(x, y),
    "addmv": lambda x, y, i: torch.addmv(torch.ones(3).to(x.device), y, x[0], out=x[0]),
    "avg_pool2d": lambda x, y, i: torch._C._nn.avg_pool2d(x[None], [3, 3], [1, 1], [1, 1], out=x[None]),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64], ids=str)
def test_an_input_may_be_the_output(case: str, dtype: torch.dtype, device: str) -> None:
    expected = [tensor.to(dtype, copy=True) for tensor in (X, Y)]
    actual = [tensor.to(device, dtype) for tensor in (X, Y)]
    before = [tensor.clone() for tensor in expected]
    try:
        CASES[case](*expected, I.clone())
    except RuntimeError as error:
        if "not implemented for" not in str(error):
            with pytest.raises(RuntimeError):
                CASES[case](*actual, I.to(device))
            return
        pytest.skip(str(error))
    CASES[case](*actual, I.to(device))
    assert any(not torch.equal(now, then) for now, then in zip(expected, before, strict=True))
    for want, got in zip(expected, actual, strict=True):
        torch.testing.assert_close(got.cpu(), want)


@pytest.fixture(scope="module")
def results(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """How the entries of PyTorch's operator database went."""
    folder = tmp_path_factory.mktemp("out_aliases")
    everything = ["--all"] if pytestconfig.getoption("--all-samples") else []
    command = [HERE / "out_aliases_worker.py", *everything]
    return run_all(lambda number: Worker(command, folder / f"{number}.txt", 300))


@pytest.mark.timeout(10_000)
@pytest.mark.xdist_group("out_aliases")
def test_every_operator_takes_each_input_for_its_output_as_the_cpu_does(results: dict[str, Result]) -> None:
    assert {name: result.detail for name, result in results.items() if result.outcome == "crash"} == {}
    assert sum(result.more["equal"] for result in results.values()) > 3000
    wrong = {name: text for result in results.values() for name, text in result.more["wrong"].items()}
    assert {name: text for name, text in wrong.items() if name not in EXPECTED} == {}
