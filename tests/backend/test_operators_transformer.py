"""What torch.nn's transformer layers call in evaluation, and masked softmax."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import nn


@pytest.fixture(autouse=True)
def on_the_device_alone() -> Iterator[None]:
    """Whatever is tested here, the CPU does none of it."""
    with torch.openreg.no_fallback():
        yield


def layer(**options: object) -> nn.TransformerEncoderLayer:
    """A layer for vectors of 8 numbers."""
    torch.manual_seed(1)
    return nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, **options).eval()


KEYS = torch.tensor([[False, False, False, True, True], [False] * 5, [False, True, True, True, True]])
CAUSAL = torch.ones(5, 5, dtype=torch.bool).triu(1)
MASKS = {
    "no mask": {},
    "keys": {"src_key_padding_mask": KEYS},
    "pairs": {"src_mask": CAUSAL},
    "both": {"src_key_padding_mask": KEYS, "src_mask": CAUSAL},
}


@pytest.mark.parametrize("masks", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("options", [{}, {"activation": "gelu"}, {"norm_first": True}], ids=["relu", "gelu", "first"])
def test_a_layer_in_evaluation_equals_the_cpus(device: str, options: dict, masks: dict) -> None:
    network = layer(**options)
    x = torch.randn(3, 5, 8)
    with torch.no_grad():
        expected = network(x, **masks)
        actual = network.to(device)(x.to(device), **{name: mask.to(device) for name, mask in masks.items()})
    torch.testing.assert_close(actual.cpu(), expected, rtol=1e-4, atol=1e-5)


def test_an_encoder_leaves_out_what_is_masked_without_nested_tensors(device: str) -> None:
    network = nn.TransformerEncoder(layer(), 2)
    x = torch.randn(3, 5, 8)
    with torch.no_grad():
        expected = network(x, src_key_padding_mask=KEYS)
        actual = network.to(device)(x.to(device), src_key_padding_mask=KEYS.to(device))
    torch.testing.assert_close(actual.cpu()[~KEYS], expected[~KEYS], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("weights", [False, True])
def test_attention_in_evaluation_equals_the_cpus(device: str, weights: bool) -> None:
    torch.manual_seed(1)
    network = nn.MultiheadAttention(8, 2, batch_first=True).eval()
    x = torch.randn(3, 5, 8)
    with torch.no_grad():
        expected = network(x, x, x, need_weights=weights)
        x = x.to(device)
        actual = network.to(device)(x, x, x, need_weights=weights)
    for ours, theirs in zip(actual, expected, strict=True):
        if theirs is None:
            assert ours is None
        else:
            torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("mask", "kind"), [(CAUSAL, 0), (KEYS, 1), (CAUSAL.expand(3, 2, 5, 5), 2)])
def test_masked_softmax_and_its_gradient_equal_the_cpus(device: str, mask: torch.Tensor, kind: int) -> None:
    x, grad = torch.randn(3, 2, 5, 5), torch.randn(3, 2, 5, 5)
    found = []
    for place in ("cpu", device):
        own = x.to(place).requires_grad_()
        y = torch._masked_softmax(own, mask.to(place), 3, kind)
        full = (mask[:, None, None] if kind == 1 else mask).expand(3, 2, 5, 5).contiguous().to(place)
        back = torch.ops.aten._masked_softmax_backward(grad.to(place), y.detach(), full, 3)
        found.append([y.detach().cpu(), back.cpu()])
    torch.testing.assert_close(found[1], found[0])


@pytest.mark.parametrize("size", [1, 15, 16, 17, 600, 1500])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_a_softmax_adds_up_to_one_and_is_zero_where_it_is_masked(device: str, dtype: torch.dtype, size: int) -> None:
    x = torch.randn(3, size, generator=torch.Generator().manual_seed(size)).to(dtype)
    mask = torch.arange(size) % 3 == 1
    for dim in (0, 1):  # one element after the other, and three apart
        rows = x if dim == 1 else x.t().contiguous()
        masked = rows.masked_fill(mask if dim == 1 else mask[:, None], float("-inf"))
        y = masked.to(device).softmax(dim).cpu()
        torch.testing.assert_close(y, masked.softmax(dim))
        assert not y[masked.isinf()].any()


@pytest.mark.parametrize(
    ("mask", "kind", "text"),
    [
        (torch.zeros(5, 5), 0, "Mask should be a boolean tensor"),
        (CAUSAL, None, "Mask Type should be defined"),
        (CAUSAL, 1, r"For mask_type == 1 mask shape should be \(B, L\)"),
        (KEYS, 0, r"For mask_type == 0 mask shape should be \(L, L\)"),
        (KEYS, 2, "For mask_type == 2 mask shape should match input shape"),
        (KEYS, 3, "Mask Type should be 0"),
    ],
)
def test_a_mask_that_does_not_fit_is_an_error(device: str, mask: torch.Tensor, kind: int | None, text: str) -> None:
    for place in ("cpu", device):
        with pytest.raises(RuntimeError, match=text):
            torch._masked_softmax(torch.randn(3, 2, 5, 5, device=place), mask.to(place), 3, kind)
