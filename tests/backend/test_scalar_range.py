"""Numbers that an operator's data type can't hold are refused where the CPU refuses them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

from .workers import Result, RunEntriesFunction

HERE = Path(__file__).resolve().parent


POWERS = "powers of 300 overflow on the CPU, and not where the largest element is taken out first"
DOUBLE = "the CPU keeps this number in double precision"
# Operators and arguments, in all forms and types, and why they differ.
EXPECTED = {
    "norm p": POWERS,
    "linalg_vector_norm ord": POWERS,
    "renorm p": POWERS,
    "renorm maxnorm": DOUBLE,
    "pow exponent": DOUBLE,
    "std correction": DOUBLE,
    "var correction": DOUBLE,
    "std_mean correction": DOUBLE,
    "var_mean correction": DOUBLE,
    "multi_margin_loss margin": "it is kept in double precision, and the CPU's is not",
    "multi_margin_loss_backward margin": "it is kept in double precision, and the CPU's is not",
}


@pytest.fixture(scope="module")
def results(run_entries: RunEntriesFunction) -> dict[str, Result]:
    """How the operators that run for an entry of PyTorch's database went."""
    return run_entries("scalar_range_worker.py")


@pytest.mark.timeout(600)
@pytest.mark.xdist_group("scalar_range")
def test_every_operator_refuses_the_numbers_that_the_cpu_refuses(results: dict[str, Result]) -> None:
    assert {name: result.detail for name, result in results.items() if result.outcome == "crash"} == {}
    assert sum(result.more["same"] for result in results.values()) > 3000
    wrong = {call: text for result in results.values() for call, text in result.more["wrong"].items()}
    shortened = {call: re.sub(r"aten::(\w+?)_?(\.\w+)? (\w+) \w+", r"\1 \3", call) for call in wrong}
    assert {call: text for call, text in wrong.items() if shortened[call] not in EXPECTED} == {}
    assert set(EXPECTED) - set(shortened.values()) == set(), "these do as the CPU does now: take them out"


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32], ids=str)
def test_a_number_that_the_type_cannot_hold_is_refused(dtype: torch.dtype, device: str) -> None:
    x = torch.tensor([[1, 100]], device=device).to(dtype)
    beyond = torch.iinfo(dtype).max + 1
    calls = [
        lambda: x.clamp(max=beyond),
        lambda: x.clamp(min=beyond),
        lambda: torch.add(x, x, alpha=beyond),
        lambda: torch.addmm(x, x.t(), x, alpha=beyond),
        lambda: torch.addmm(x, x.t(), x, beta=beyond),
        lambda: torch.addcmul(x, x, x, value=beyond),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match=r"cannot be converted to type .* without overflow"):
            call()
    assert x.clamp(max=99).tolist() == [[1, 99]]


@pytest.mark.parametrize("bounds", [(0, 1e39), (-1e39, 0)])
def test_a_histogram_of_floats_with_bounds_that_only_a_double_holds_is_refused(
    bounds: tuple[float, float], device: str
) -> None:
    x = torch.ones(3, device=device)
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        torch.histc(x, 4, *bounds)
    assert x.sum().item() == 3, "the device has not failed"
