"""Kernels refuse tensors of two devices before they run; a kernel that ran would fail its device for the process."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
import torch_openreg  # noqa: F401

from .conftest import TESTS
from .workers import Result, RunEntriesFunction

F = torch.nn.functional
X = torch.arange(12.0).view(3, 4)
ROW = torch.ones(4)
ROWS = torch.tensor([2, 0])

# An operator, what it works on, and the argument that will be on another device.
CASES: dict[str, tuple[Callable[[torch.Tensor, torch.Tensor], torch.Tensor], torch.Tensor, torch.Tensor]] = {
    "add": (torch.add, X, X),
    "mm": (torch.mm, X, X.t()),
    "cat": (lambda x, y: torch.cat([x, y]), X, X),
    "gather": (lambda x, y: x.gather(0, y), X, ROWS[:, None]),
    "index_select": (lambda x, y: x.index_select(0, y), X, ROWS),
    "index_add": (lambda x, y: x.index_add(0, torch.tensor([0, 1, 1], device=x.device), y), X, X),
    "sum, out=": (lambda x, y: torch.sum(x, 0, out=y), X, ROW.clone()),
    "cdist": (torch.cdist, X, X),
    "group_norm, weight": (lambda x, y: F.group_norm(x, 2, y), X, ROW),
    "group_norm, bias": (lambda x, y: F.group_norm(x, 2, None, y), X, ROW),
    "layer_norm": (lambda x, y: F.layer_norm(x, (4,), y), X, ROW),
    "batch_norm": (lambda x, y: F.batch_norm(x, None, None, y, training=True), X, ROW),
    "embedding": (lambda x, y: F.embedding(y, x), X, ROWS),
    "embedding_bag, factors": (
        lambda x, y: F.embedding_bag(torch.tensor([[2, 0]], device=x.device), x, per_sample_weights=y, mode="sum"),
        X,
        torch.ones(1, 2),
    ),
    "conv1d": (lambda x, y: F.conv1d(x[None], y[None]), X, X),
    "nll_loss": (lambda x, y: F.nll_loss(x, torch.tensor([1, 0, 3], device=x.device), y), X, ROW),
    "searchsorted": (torch.searchsorted, X[0], X[0]),
}


@pytest.mark.parametrize("case", CASES)
def test_tensors_of_two_devices_are_refused_and_the_device_stays_usable(
    case: str, device: str, other_device: str
) -> None:
    function, x, y = CASES[case]
    torch.openreg.reset_fallbacks()
    function(x.to(device), y.to(device))
    assert torch.openreg.fallbacks() == {}
    with pytest.raises(RuntimeError, match=r"same device|share the same device|should.*device") as caught:
        function(x.to(device), y.to(other_device))
    assert "orError" not in str(caught.value)
    torch.openreg.synchronize(device)
    assert (x.to(device) + 1).sum().item() == (x + 1).sum().item()


# Arguments that may be on another device, and why.
ELSEWHERE = {
    "aten::where.self condition": "PyTorch's function brings single numbers to the others' device",
    "aten::where.self self": "as the condition",
    "aten::where.self other": "as the condition",
    "aten::where.self_out self": "as the condition",
    "aten::where.self_out other": "as the condition",
}


@pytest.fixture(scope="module")
def refusals(run_entries: RunEntriesFunction) -> dict[str, Result]:
    """How native operators refuse tensors of two devices, by entry of PyTorch's operator database."""
    return run_entries("same_device_worker.py")


@pytest.mark.timeout(600)
@pytest.mark.xdist_group("same_device")
def test_every_native_operator_names_the_argument_that_is_on_another_device(refusals: dict[str, Result]) -> None:
    assert {name: result.detail for name, result in refusals.items() if result.outcome == "crash"} == {}
    assert sum(result.more["right"] for result in refusals.values() if result.more) > 1300
    wrong = {call: text for result in refusals.values() for call, text in result.more.get("wrong", {}).items()}
    assert {call: text for call, text in wrong.items() if call not in ELSEWHERE} == {}
    assert {call: wrong.get(call) for call in ELSEWHERE} == dict.fromkeys(ELSEWHERE, "nothing is raised")


def test_every_operator_that_the_sources_name_is_one_of_pytorchs() -> None:
    csrc = TESTS.parent / "openreg" / "csrc"
    names = r'(?:SameDevice\(|implPlain<|\bPlain<|Structured<[^;()*]*?,\s*)"([\w.]+)"'
    named = {f"aten::{name}" for path in csrc.rglob("*.[ch]*") for name in re.findall(names, path.read_text())}
    assert len(named) > 250
    assert named - set(torch._C._dispatch_get_all_op_names()) == set()
