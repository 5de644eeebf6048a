"""PyTorch's own samples of its operators, through torch.compile: results and gradients of one sample of each entry.

It compiles some hundred graphs, so only ``--all-samples`` (make test-all) runs it.
"""

from __future__ import annotations

from collections import Counter

import pytest

from .workers import Result, RunEntriesFunction

# One process of pytest-xdist: the tests share one run of all entries.
pytestmark = [
    pytest.mark.kernels,
    pytest.mark.timeout(10_000),
    pytest.mark.xdist_group("compile_samples"),
]


@pytest.fixture(scope="module")
def results(pytestconfig: pytest.Config, run_entries: RunEntriesFunction) -> dict[str, Result]:
    """How each entry went, by name."""
    if not pytestconfig.getoption("--all-samples"):
        pytest.skip("only with --all-samples")
    return run_entries("compile_samples_worker.py", limit=300)


def test_of_a_hundred_operators_ninety_five_give_what_they_give_in_eager_mode(results: dict[str, Result]) -> None:
    outcomes = Counter(it.outcome for it in results.values())
    wrong = {name: it.detail for name, it in results.items() if it.outcome in ("different", "raises", "crash")}
    print(outcomes, *(f"{name}: {detail[:200]}" for name, detail in wrong.items()), sep="\n")
    assert outcomes["equal"] > 400
    assert outcomes["equal"] >= 0.95 * (outcomes["equal"] + len(wrong)), wrong
