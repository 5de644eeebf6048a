"""What the comparison with the CPU lets pass, and what it doesn't."""

from __future__ import annotations

import pytest
import torch

from .comparison import Difference, compare

LIMITS = {"rtol": 1e-2, "atol": 1e-2}
LARGEST = torch.finfo(torch.float16).max


def compare_halves(want: float, got: float, limits: dict[str, float]) -> None:
    compare("value", torch.tensor([1, want]).half(), torch.tensor([1, got]).half(), True, limits, torch.device("cpu"))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_infinity_is_near_the_largest_half(sign: float) -> None:
    compare_halves(sign * float("inf"), sign * LARGEST, LIMITS)
    compare_halves(sign * LARGEST, sign * float("inf"), LIMITS)


@pytest.mark.parametrize(
    ("want", "got", "limits"),
    [
        (float("inf"), LARGEST, {"rtol": 0.0, "atol": 0.0}),
        (float("inf"), LARGEST / 2, LIMITS),
        (float("inf"), -LARGEST, LIMITS),
        (float("inf"), float("-inf"), LIMITS),
        (float("inf"), float("nan"), LIMITS),
        (1.0, float("inf"), LIMITS),
    ],
)
def test_infinity_is_near_nothing_else(want: float, got: float, limits: dict[str, float]) -> None:
    with pytest.raises(Difference):
        compare_halves(want, got, limits)
    with pytest.raises(Difference):
        compare_halves(got, want, limits)
