"""Sizes and strides beyond 32 bits, which the device's library for products does not count."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch_openreg  # noqa: F401

F = torch.nn.functional
FAR = 1 << 40


def far(tensor: torch.Tensor) -> torch.Tensor:
    """The same tensor, with a stride for each dimension of size 1 that leads nowhere."""
    strides = [FAR if size == 1 else stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)]
    return tensor.as_strided(tensor.shape, strides)


def numbers(*shape: int) -> torch.Tensor:
    """Small numbers, all different."""
    return torch.arange(math.prod(shape), dtype=torch.float32).reshape(shape) / 8 - 1


CASES: dict[str, tuple[Callable[..., torch.Tensor], tuple[torch.Tensor, ...]]] = {
    "mm of a row": (torch.mm, (numbers(1, 4), numbers(4, 3))),
    "mm of a column": (torch.mm, (numbers(3, 1), numbers(1, 4))),
    "mm into a column": (torch.mm, (numbers(3, 4), numbers(4, 1))),
    "mm of integers": (torch.mm, (numbers(1, 4).long(), numbers(4, 1).long())),
    "mm of halves": (torch.mm, (numbers(1, 4).half(), numbers(4, 1).half())),
    "mm of a transposed row": (lambda a, b: a.t() @ b.t(), (numbers(1, 4), numbers(3, 1))),
    "addmm": (torch.addmm, (numbers(1, 3), numbers(1, 4), numbers(4, 3))),
    "addmm_": (lambda out, a, b: out.addmm_(a, b), (numbers(1, 3), numbers(1, 4), numbers(4, 3))),
    "bmm of one": (torch.bmm, (numbers(1, 2, 4), numbers(1, 4, 3))),
    "bmm of rows": (torch.bmm, (numbers(2, 1, 4), numbers(2, 4, 1))),
    "baddbmm": (torch.baddbmm, (numbers(1, 1, 3), numbers(2, 1, 4), numbers(2, 4, 3))),
    "mv": (torch.mv, (numbers(1, 4), numbers(4))),
    "dot": (torch.dot, (numbers(1), numbers(1))),
    "linear": (F.linear, (numbers(1, 4), numbers(3, 4), numbers(3))),
    "conv1d": (F.conv1d, (numbers(1, 1, 5), numbers(2, 1, 3))),
    "conv2d": (F.conv2d, (numbers(1, 2, 1, 4), numbers(1, 2, 1, 3))),
    "conv_transpose2d": (F.conv_transpose2d, (numbers(1, 2, 1, 4), numbers(2, 1, 1, 3))),
    "max_pool2d": (lambda x: F.max_pool2d(x, (1, 2)), (numbers(1, 1, 1, 4),)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, (1, 2)), (numbers(1, 1, 1, 4),)),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2.0), (numbers(1, 1, 1, 4),)),
    "add": (torch.add, (numbers(1, 4), numbers(3, 1))),
    "sum": (lambda x: x.sum(0), (numbers(1, 4),)),
    "cumsum": (lambda x: x.cumsum(0), (numbers(1, 4),)),
    "sort": (lambda x: x.sort(0).values, (numbers(1, 4),)),
    "softmax": (lambda x: x.softmax(1), (numbers(1, 4),)),
    "layer_norm": (lambda x: F.layer_norm(x, (4,)), (numbers(1, 4),)),
    "gather": (lambda x: x.gather(1, torch.zeros(1, 2, dtype=torch.long, device=x.device)), (numbers(1, 4),)),
    "index_select": (lambda x: x.index_select(0, torch.zeros(2, dtype=torch.long, device=x.device)), (numbers(1, 4),)),
    "cat": (lambda x, y: torch.cat([x, y]), (numbers(1, 4), numbers(1, 4))),
    "tril": (torch.tril, (numbers(1, 4),)),
    "nonzero": (torch.nonzero, (numbers(1, 4),)),
    "nll_loss": (lambda x: F.nll_loss(x, torch.tensor([2], device=x.device)), (numbers(1, 4),)),
    "cdist": (torch.cdist, (numbers(1, 4), numbers(1, 4))),
}


@pytest.mark.parametrize("case", CASES)
def test_strides_of_a_single_row_or_column_may_be_any_number(case: str, device: str) -> None:
    function, given = CASES[case]
    expected = function(*(far(tensor.clone()) for tensor in given))
    actual = function(*(far(tensor.to(device)) for tensor in given))
    torch.testing.assert_close(actual.cpu(), expected)


# Only their sizes count: the calls are refused before anything is read. Each tensor has more than 8 GiB.
TOO_LARGE = {
    "rows": "torch.mm(x.view(-1, 1), x[:1].view(1, 1), out=y.view(-1, 1))",
    "columns": "torch.mm(x[:1].view(1, 1), x.view(1, -1), out=y.view(1, -1))",
    "factors of an element": "x.view(1, -1) @ x.view(-1, 1)",
    "elements of a channel": "F.conv1d(x.view(1, 1, -1), x[:1].view(1, 1, 1), stride=1 << 30)",
    "positions of the window": "F.conv1d(x[:1].view(1, 1, 1), x[:1].view(1, 1, 1), padding=1 << 30)",
    "elements of a filter": "F.conv1d(x[:1].view(1, 1, 1), x.view(1, 1, -1), padding=(1 << 30) + 8)",
    "filters": "F.conv1d(x[:1].view(1, 1, 1), x.view(-1, 1, 1))",
    "elements of a plane": "F.max_pool1d(x.view(1, 1, -1), 1 << 20)",
}


@pytest.mark.parametrize("what", TOO_LARGE)
def test_a_size_that_the_device_does_not_count_is_refused_at_the_call(what: str, program) -> None:
    said = program(
        f"""
        F = torch.nn.functional
        x = torch.empty((1 << 31) + 8, device="openreg")
        y = torch.empty_like(x)
        try:
            {TOO_LARGE[what]}
        except RuntimeError as error:
            print(error)
        torch.openreg.synchronize()
        print((torch.ones(3, device="openreg") + 1).sum().item())
        """,
        OPENREG_SIM="memory=64GiB",
    )
    assert f"the device counts {what} up to 2147483647, but there are 21474836" in said, said
    assert said.splitlines()[-1] == "6.0"
