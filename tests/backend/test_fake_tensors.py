"""Shapes, strides and types that fake tensors promise: programs are compiled by them before the device has computed.

For some operators PyTorch's meta functions promise one thing for the CPU and another for all other devices, as CUDA has
it. What is compiled compares promise and result, and more of it with each release.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - as everyone calls it
from torch._subclasses import CrossRefFakeMode
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_leaves

from .compile_checks import compiled, on
from .expected import rows_of

EXPECTED = rows_of("fake_tensors")
SAMPLES = 4  # of each entry of PyTorch's operator database
NAMED = re.compile(r"output of (\S+) on FakeTensor")


def broken_promise(call: Callable[[], Any]) -> str | None:
    """What is said of the first operator in a call whose result is not what a fake tensor promises."""
    try:
        with CrossRefFakeMode(ignore_op_fn=lambda _: False):
            call()
    except Exception as error:
        return str(error).replace("\n", " ")
    return None


@pytest.fixture(scope="module")
def broken() -> dict[str, list[str]]:
    """What is said of all samples, by the name of the operator."""
    said: dict[str, list[str]] = {}
    for entry in op_db:
        dtypes = sorted(entry.dtypes, key=lambda it: (it != torch.float32, str(it)))
        if not dtypes or "jiterator" in entry.name:  # not for the CPU at all, or compiles CUDA's text
            continue
        for sample in list(entry.sample_inputs("cpu", dtypes[0]))[:SAMPLES]:
            arguments = [on("openreg:0", it) for it in (sample.input, sample.args, sample.kwargs)]
            call = lambda: entry(arguments[0], *arguments[1], **arguments[2])  # noqa: B023, E731
            try:
                call()
            except Exception:
                continue
            if text := broken_promise(call):
                name = NAMED.search(text)
                said.setdefault(name[1] if name else entry.name, []).append(text)
    return said


@pytest.mark.kernels
@pytest.mark.timeout(600)
@pytest.mark.filterwarnings("ignore")
def test_results_are_what_fake_tensors_promise(broken: dict[str, list[str]]) -> None:
    unlisted = {name: texts for name, texts in broken.items() if name not in EXPECTED}
    assert unlisted == {}, "mend these, or list them in fake_tensors_expected.toml with a reason"
    wrong = {name: broken.get(name) for name, row in EXPECTED.items() if row["text"] not in str(broken.get(name))}
    assert wrong == {}, "fake_tensors_expected.toml says otherwise; if they are as promised now, take them out"


@pytest.mark.parametrize("last", [False, True], ids=["", "with the last offset"])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
def test_bags_are_compiled_with_what_is_kept_for_their_derivative(dtype: torch.dtype, mode: str, last: bool) -> None:
    indices = torch.tensor([0, 3, 3, 6, 1], dtype=dtype)
    offsets = torch.tensor([0, 2, 2, 5] if last else [0, 2, 2], dtype=dtype)
    weight = torch.randn(7, 5)

    def bags(weight: torch.Tensor, indices: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return F.embedding_bag(indices, weight, offsets, mode=mode, include_last_offset=last)

    def results(function: Callable[..., torch.Tensor], place: str) -> list[torch.Tensor]:
        here = on(place, weight).clone().requires_grad_()
        out = function(here, on(place, indices), on(place, offsets))
        (out * out).sum().backward()
        return [it.detach().cpu() for it in tree_leaves((out, here.grad))]

    assert broken_promise(lambda: results(bags, "openreg:0")) is None
    expected = results(bags, "cpu")
    torch.testing.assert_close(results(bags, "openreg:0"), expected)
    torch.testing.assert_close(results(compiled(bags), "openreg:0"), expected)
