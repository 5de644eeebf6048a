"""NaN, infinities and zeros of either sign come out of operators where they come out on the CPU, forward and backward.

A few samples of each operator, with such numbers, denormals and a type's extremes put in, in several layouts of memory;
with ``--all-samples`` (make test-all) each number in each layout in several samples.
"""

from __future__ import annotations

from collections import Counter
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import pytest
import torch

from .edge_values import compare_edges
from .expected import rows_of
from .workers import Result, RunEntriesFunction

EXPECTED = rows_of("edge_values")
# Entries that test_opinfo.py expects to fail, with any numbers.
OTHERS = rows_of("opinfo")
SECONDS_PER_ENTRY = 300

# One process of pytest-xdist: the tests share one run of all entries.
pytestmark = [pytest.mark.timeout(10_000), pytest.mark.xdist_group("edge_values")]


class Difference(NamedTuple):
    """How an entry differs from the CPU."""

    entry: str
    text: str
    where: str  # it was seen first


@pytest.fixture(scope="module")
def everything(pytestconfig: pytest.Config) -> bool:
    """Whether each number is put into several samples."""
    return pytestconfig.getoption("--all-samples")


@pytest.fixture(scope="module")
def results(everything: bool, run_entries: RunEntriesFunction) -> dict[str, Result]:
    """How each entry went."""
    return run_entries(
        "edge_values_worker.py",
        *(["--all"] if everything else []),
        limit=SECONDS_PER_ENTRY,
        choose=lambda names: [name for name in names if name not in OTHERS],
    )


@pytest.fixture(scope="module")
def differences(results: dict[str, Result]) -> list[Difference]:
    """All of them."""
    found = []
    for name, result in results.items():
        found += [Difference(name, *it) for it in result.more.get("differences", {}).items()]
        found += [Difference(name, "crash", result.detail)] if result.outcome == "crash" else []
    return found


def lists(listed: dict[str, Any], found: Difference) -> bool:
    """Whether an entry of the list is about a difference."""
    return any(fnmatchcase(found.entry, it) for it in listed["entries"]) and any(
        fnmatchcase(found.text, it) for it in listed["texts"]
    )


def test_most_entries_are_run_in_many_rounds(results):
    outcomes = Counter(result.outcome for result in results.values())
    rounds = sum(result.more.get("rounds", 0) for result in results.values())
    print(f"{dict(outcomes)}, {rounds} rounds")
    assert set(outcomes) <= {"run", "unusable", "fallback", "crash"}
    assert outcomes["run"] > 500
    assert rounds > 25 * outcomes["run"]


def test_numbers_at_the_edge_come_out_as_on_the_cpu_or_the_difference_is_listed_with_a_reason(differences):
    wrong = [found for found in differences if not any(lists(listed, found) for listed in EXPECTED)]
    assert wrong == [], "mend these, or list them in edge_values_expected.toml with a reason"


def test_every_listed_difference_is_there(differences, everything):
    wrong = []
    for listed in EXPECTED:
        if listed.get("everything") and not everything:
            continue  # only the whole run comes across it
        for key in ("entries", "texts"):
            wrong += [it for it in listed[key] if not any(lists({**listed, key: [it]}, found) for found in differences)]
    assert wrong == [], "edge_values_expected.toml says otherwise; if they go as on the CPU now, take them out"


def test_every_listed_difference_has_entries_texts_and_a_reason():
    for listed in EXPECTED:
        assert set(listed) - {"everything"} == {"entries", "texts", "reason"}, listed
        assert all(listed.values()), listed


# What the comparison itself must see: a number that is there, one that is wanted, and what it says.
@pytest.mark.parametrize(
    ("got", "want", "text"),
    [
        (torch.nan, torch.nan, None),
        (torch.nan, torch.inf, "x: nan, not inf"),
        (-torch.inf, torch.inf, "x: -inf, not inf"),
        (-0.0, 0.0, "x: -0, not 0"),
        (3.4e38, torch.inf, "x: number, not inf"),
        (1.0, 1.0001, None),
        (1.0, 1.01, "x: number, not another"),
        (1e-40, 0.0, None),
    ],
)
def test_the_comparison_tells_numbers_at_the_edge_apart(got, want, text):
    found = compare_edges("x", torch.tensor([1.0, want]), torch.tensor([1.0, got]), None, False)
    assert list(found) == ([] if text is None else [text])


# ------------------------------------------------- kernels one by one, in values

INF, NAN = torch.inf, torch.nan


def assert_same(got: torch.Tensor, want: torch.Tensor) -> None:
    torch.testing.assert_close(got.cpu(), want, equal_nan=True)


def cdist(x: torch.Tensor, p: float) -> torch.Tensor:
    return torch.cdist(x, x.flip(0), p)


@pytest.mark.parametrize(
    ("distance", "p"),
    # Not cdist with an infinite p: there the CPU loses the NaN.
    [*((it, p) for it in (cdist, torch.pdist) for p in (0.0, 1.0, 2.0, 3.0)), (torch.pdist, INF)],
)
def test_a_row_with_a_nan_is_at_no_distance(distance, p):
    x = torch.arange(12.0).view(4, 3).sin()
    x[1, 2] = NAN
    runs = []
    for where in ("cpu", "openreg"):
        leaf = x.to(where).requires_grad_()
        result = distance(leaf, p)
        runs.append((result.detach(), torch.autograd.grad(result.sum(), leaf)[0]))
    assert runs[0][0].isnan().any()
    for want, got in zip(*runs, strict=True):
        assert_same(got, want)


@pytest.mark.parametrize("size", [1e20, 1e30, 1e37])
def test_numbers_too_large_to_be_squared_are_normalised(size):
    x = torch.arange(2.0 * 4 * 40).view(2, 4, 40).sin() * size
    for normalise in (
        lambda x: torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False),
        lambda x: torch.group_norm(x, 2),
        lambda x: torch.instance_norm(x, None, None, None, None, True, 0.1, 1e-5, False),
        lambda x: torch.layer_norm(x, [40]),
    ):
        want = normalise(x.double()).float()
        assert want.abs().max() > 1
        assert_same(normalise(x.to("openreg")), want)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_the_gradient_of_a_squared_margin_is_a_number_where_twice_the_margin_is_not(dtype):
    x = torch.tensor([[-1.0, 0.5, 0.25]], dtype=dtype) * (torch.finfo(dtype).max / 2)
    grads = []
    for where in ("cpu", "openreg"):
        leaf = x.to(where, copy=True).requires_grad_()
        torch.nn.functional.multi_margin_loss(leaf, torch.tensor([0], device=where), p=2).backward()
        grads.append(leaf.grad)
    assert grads[0].isfinite().all() and grads[0].max() > torch.finfo(dtype).max / 3
    assert_same(grads[1], grads[0])


def test_the_gradient_of_a_frozen_batch_norm_does_not_ask_what_the_input_is():
    x = torch.tensor([[1.0, INF, NAN, -INF]]).t().to("openreg").requires_grad_()
    mean, variance = torch.zeros(1, device="openreg"), torch.full((1,), 3.0, device="openreg")
    torch.nn.functional.batch_norm(x, mean, variance, eps=1.0).sum().backward()
    assert x.grad.cpu().tolist() == [[0.5]] * 4


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("position", [NAN, INF, -INF, 3e38])
def test_an_image_is_sampled_at_a_position_that_is_none_as_on_the_cpu(mode, padding, position):
    image = torch.arange(1.0, 17.0).view(1, 1, 4, 4)
    grid = torch.zeros(1, 1, 4, 2)
    grid[0, 0, 0, 0] = grid[0, 0, 1, 1] = position
    grid[0, 0, 2] = position
    sample = torch.nn.functional.grid_sample
    want = sample(image, grid, mode, padding, align_corners=False)
    assert_same(sample(image.to("openreg"), grid.to("openreg"), mode, padding, align_corners=False), want)


def test_the_gradient_of_such_a_position_is_finite_only_along_the_other_direction():
    # The CPU's crashes at some of them.
    grid = torch.tensor([[[[NAN, 0.0], [0.0, NAN], [0.0, 0.0]]]], device="openreg", requires_grad=True)
    image = torch.arange(1.0, 17.0, device="openreg").view(1, 1, 4, 4)
    torch.nn.functional.grid_sample(image, grid, align_corners=False).sum().backward()
    assert_same(grid.grad, torch.tensor([[[[0.0, NAN], [NAN, 0.0], [2.0, 8.0]]]]))


@pytest.mark.parametrize("beta", [-3.0, 0.0, 12.0, 80.0, 200.0, 600.0])
def test_a_window_is_the_same_for_each_beta_of_which_double_precision_knows_the_result(beta):
    want = torch.kaiser_window(9, True, beta, dtype=torch.float64)
    assert want.isfinite().all()
    assert_same(torch.kaiser_window(9, True, beta, device="openreg", dtype=torch.float64), want)
    assert_same(torch.kaiser_window(9, True, beta, device="openreg"), want.float())


@pytest.mark.parametrize("beta", [1e4, 1e30, 1e39, 1e300, -1e300])
def test_a_window_of_a_huge_beta_is_its_middle(beta):
    assert torch.kaiser_window(5, False, beta, device="openreg").tolist() == [0.0, 0.0, 1.0, 0.0, 0.0]


def test_beside_the_pole_at_0_digamma_is_infinite_with_the_sign_of_the_other_side():
    x = torch.tensor([-1e-40, 1e-40, -0.0, 0.0])
    assert torch.digamma(x.to("openreg")).tolist() == torch.digamma(x).tolist() == [INF, -INF, INF, -INF]
