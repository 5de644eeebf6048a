"""scaled_dot_product_attention as one kernel, forward and backward, and when it is the math path instead."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from .test_foreach import launches

attention = torch.nn.functional.scaled_dot_product_attention
aten = torch.ops.aten

FUSED, MATH, ERROR = SDPBackend.OVERRIDEABLE.value, SDPBackend.MATH.value, SDPBackend.ERROR.value


@pytest.fixture(autouse=True)
def on_the_device_alone() -> Iterator[None]:
    """Whatever is tested here, the CPU does none of it."""
    with torch.openreg.no_fallback():
        yield


def heads(
    batch: int = 2,
    query_heads: int = 4,
    queries: int = 5,
    keys: int = 7,
    width: int = 8,
    key_heads: int = 0,
    value_width: int = 0,
    dtype: torch.dtype = torch.float32,
) -> list[torch.Tensor]:
    """Queries, keys, values, and a gradient of what comes out."""
    generator = torch.Generator().manual_seed(0)
    shapes = [
        (batch, query_heads, queries, width),
        (batch, key_heads or query_heads, keys, width),
        (batch, key_heads or query_heads, keys, value_width or width),
        (batch, query_heads, queries, value_width or width),
    ]
    return [torch.randn(shape, generator=generator).to(dtype) for shape in shapes]


def run(place: str, tensors: list[torch.Tensor], **options: Any) -> list[torch.Tensor]:
    """What comes out, and the gradients of queries, keys and values, on the CPU."""
    *own, grad = (x.detach().to(place) for x in tensors)
    own = [x.requires_grad_() for x in own]
    moved = {name: x.to(place) if isinstance(x, torch.Tensor) else x for name, x in options.items()}
    out = attention(*own, **moved)
    out.backward(grad)
    return [x.detach().cpu() for x in (out, *(x.grad for x in own))]


def errors(actual: list[torch.Tensor], exact: list[torch.Tensor]) -> list[float]:
    """How far each is from what double precision gives, at most."""
    return [(a.double() - e).abs().max().item() for a, e in zip(actual, exact, strict=True)]


def exactly(tensors: list[torch.Tensor], **options: Any) -> list[torch.Tensor]:
    """The same in double precision, by the math path of the CPU."""
    wide = {
        name: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for name, x in options.items()
    }
    with sdpa_kernel(SDPBackend.MATH):
        return run("cpu", [x.double() for x in tensors], **wide)


GENERATOR = torch.Generator().manual_seed(1)
SOME = torch.rand(5, 7, generator=GENERATOR) > 0.4
SOME[2] = False  # a query that sees no key
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": ({}, {}),
    "one query": ({"queries": 1}, {}),
    "one key": ({"keys": 1}, {}),
    "one number": ({"width": 1}, {}),
    "wider values": ({"value_width": 12}, {}),
    "scale": ({}, {"scale": 0.3}),
    "causal": ({"queries": 7}, {"is_causal": True}),
    "causal, more queries": ({"queries": 9}, {"is_causal": True}),
    "causal, more keys": ({}, {"is_causal": True}),
    "mask of bools": ({}, {"attn_mask": SOME}),
    "mask of each head": ({}, {"attn_mask": torch.randn(2, 4, 5, 7, generator=GENERATOR)}),
    "mask of each sample's keys": ({}, {"attn_mask": torch.randn(2, 1, 1, 7, generator=GENERATOR)}),
    "mask with strides": ({}, {"attn_mask": torch.randn(7, 5, generator=GENERATOR).t()}),
    "mask of three dimensions": ({}, {"attn_mask": torch.randn(4, 5, 7, generator=GENERATOR)}),
    "mask of infinities": ({}, {"attn_mask": torch.zeros(5, 7).masked_fill(~SOME, -math.inf)}),
    "shared keys": ({"key_heads": 2}, {"enable_gqa": True}),
    "one head of keys": ({"key_heads": 1, "queries": 7}, {"enable_gqa": True, "is_causal": True}),
    "several tiles": ({"batch": 1, "query_heads": 2, "queries": 300, "keys": 530}, {}),
    "several tiles, causal": ({"batch": 1, "query_heads": 2, "queries": 530, "keys": 530}, {"is_causal": True}),
}  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("case", CASES)
def test_it_is_as_near_to_the_exact_numbers_as_the_cpus_math_path(device: str, case: str, dtype: torch.dtype) -> None:
    shape, options = CASES[case]
    options = {
        k: x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x for k, x in options.items()
    }
    tensors = heads(dtype=dtype, **shape)
    exact = exactly(tensors, **options)
    with sdpa_kernel(SDPBackend.MATH):
        theirs = errors(run("cpu", tensors, **options), exact)
    with sdpa_kernel(SDPBackend.OVERRIDEABLE):
        ours = errors(run(device, tensors, **options), exact)
    size = max(x.abs().max().item() for x in exact)  # of which the largest differences are made
    least = torch.finfo(dtype).eps * size * (20 if dtype == torch.float64 else 2)  # double is the measure itself
    assert all(a <= 2 * b + least for a, b in zip(ours, theirs, strict=True)), (ours, theirs, least)


def test_views_of_one_product_are_taken_as_they_are_and_what_comes_out_needs_no_copy(device: str) -> None:
    qkv = torch.randn(2, 5, 3, 4, 8)  # as a linear layer gives it
    *here, grad = (x.transpose(1, 2) for x in (*qkv.to(device).unbind(2), torch.randn(2, 5, 4, 8).to(device)))
    out = attention(*here)
    assert out.transpose(1, 2).is_contiguous()
    assert launches(lambda: attention(*here), most=1)
    there = [x.transpose(1, 2).contiguous() for x in qkv.unbind(2)]
    torch.testing.assert_close(out.cpu(), attention(*there), rtol=1e-5, atol=1e-5)
    own = [x.detach().requires_grad_() for x in here]
    attention(*own).backward(grad)
    theirs = [x.requires_grad_() for x in there]
    attention(*theirs).backward(grad.cpu())
    for a, b in zip(own, theirs, strict=True):
        torch.testing.assert_close(a.grad.cpu(), b.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("expand", [(0,), (1,), (2,), (0, 1, 2)])
def test_keys_that_are_expanded_or_transposed_are_read_right(device: str, expand: tuple[int, ...]) -> None:
    q, k, v, _ = heads(keys=5)
    for dim in expand:
        k = k.narrow(dim, 0, 1).expand(k.shape) if k.size(dim) > 1 else k
    shape = k.shape
    there = k.to(device)
    for dim in expand:
        there = there.narrow(dim, 0, 1)
    v = v.transpose(2, 3).contiguous().transpose(2, 3)
    strided = torch.empty_strided(v.shape, v.stride(), device=device).copy_(v)
    actual = attention(q.to(device), there.expand(shape), strided)
    torch.testing.assert_close(actual.cpu(), attention(q, k, v), rtol=1e-5, atol=1e-5)


def test_not_a_number_stays_in_its_row_of_queries_and_spreads_from_values(device: str) -> None:
    q, k, v, _ = heads(1, 1, queries=3, keys=4)
    q[0, 0, 1, 0] = math.nan
    v[0, 0, 2, 5] = math.inf
    with sdpa_kernel(SDPBackend.MATH):
        expected = attention(q, k, v)
    actual = attention(q.to(device), k.to(device), v.to(device))
    torch.testing.assert_close(actual.cpu(), expected, equal_nan=True, rtol=1e-5, atol=1e-5)


# ------------------------------------------------------------------------------------------------------- dropout


def kept(out: torch.Tensor) -> torch.Tensor:
    """Which pairs dropout has kept, if the values are the identity and all scores are alike."""
    return out.cpu() != 0


@pytest.mark.parametrize("size", [6, 300])
def test_a_seed_gives_the_same_pairs_again_and_the_backward_knows_them(device: str, size: int) -> None:
    q = torch.zeros(1, 2, size, 4, device=device)
    v = torch.eye(size, device=device).expand(1, 2, size, size).contiguous().requires_grad_()
    torch.openreg.manual_seed_all(7)
    first = attention(q, q, v, dropout_p=0.3)
    second = attention(q, q, v, dropout_p=0.3)
    torch.openreg.manual_seed_all(7)
    again = attention(q, q, v, dropout_p=0.3)
    assert torch.equal(first, again) and not torch.equal(kept(first), kept(second))
    torch.testing.assert_close(first.max().item(), 1 / size / 0.7)
    grad = torch.eye(size, device=device).expand_as(first)
    first.backward(grad)  # the weights, transposed
    torch.testing.assert_close(v.grad, first.detach().transpose(2, 3))


def test_of_many_pairs_dropout_keeps_as_many_as_it_says(device: str) -> None:
    q = torch.zeros(1, 1, 500, 4, device=device)
    pairs = kept(attention(q, q, torch.eye(500, device=device)[None, None], dropout_p=0.3)).double()
    assert abs(pairs.mean().item() - 0.7) < 0.01
    for dim in (0, 1):
        assert pairs[0, 0].mean(dim).std().item() < 0.03  # no row and no column is treated in a way of its own


def test_gradients_under_dropout_are_those_of_the_kept_pairs(device: str) -> None:
    q, k, v, grad = heads(1, 2, queries=5, keys=5)
    torch.openreg.manual_seed_all(3)
    own = [x.to(device).requires_grad_() for x in (q, k, v)]
    attention(*own, dropout_p=0.4).backward(grad.to(device))
    torch.openreg.manual_seed_all(3)
    zero = torch.zeros_like(q).to(device)
    pairs = kept(attention(zero, zero, torch.eye(5).expand(1, 2, 5, 5).to(device), dropout_p=0.4))
    theirs = [x.clone().requires_grad_() for x in (q, k, v)]
    aten._scaled_dot_product_attention_math(*theirs, None, 0.4, False, pairs)[0].backward(grad)
    for a, b in zip(own, theirs, strict=True):
        torch.testing.assert_close(a.grad.cpu(), b.grad, rtol=1e-4, atol=1e-5)


def test_without_dropout_no_random_number_is_used(device: str) -> None:
    torch.openreg.manual_seed_all(7)
    before = torch.openreg.get_rng_state(device)
    attention(*(x.to(device) for x in heads()[:3]))
    assert torch.equal(torch.openreg.get_rng_state(device), before)


# -------------------------------------------------------------------------------------------------------- memory


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("causal", [False, True])
def test_a_long_sequence_needs_no_memory_for_its_pairs(device: str, causal: bool) -> None:
    length, width = 4096, 32
    pairs = length * length * 4
    q, k, v = (torch.randn(1, 1, length, width, device=device, requires_grad=True) for _ in range(3))
    torch.accelerator.synchronize(device)
    torch.accelerator.memory.reset_peak_memory_stats(device)
    before = torch.accelerator.memory.memory_allocated(device)
    attention(q, k, v, is_causal=causal).sum().backward()
    torch.accelerator.synchronize(device)
    used = torch.accelerator.memory.max_memory_allocated(device) - before
    assert used < pairs / 8
    with sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        attention(q, k, v, is_causal=causal)
    assert torch.accelerator.memory.max_memory_allocated(device) - before > pairs


# -------------------------------------------------------------------------------------------------------- choice


def choice(*tensors: torch.Tensor, **options: Any) -> int:
    """What PyTorch is told to take."""
    return torch._fused_sdp_choice(*tensors, **options)


CHOICES: dict[str, tuple[Callable[[torch.Tensor], list[Any]], dict[str, Any], int]] = {
    "plain": (lambda x: [x, x, x], {}, FUSED),
    "half": (lambda x: [x.half()] * 3, {}, FUSED),
    "dropout": (lambda x: [x, x, x], {"dropout_p": 0.1}, FUSED),
    "all dropped": (lambda x: [x, x, x], {"dropout_p": 1.0}, MATH),
    "three dimensions": (lambda x: [x[0]] * 3, {}, MATH),
    "nothing": (lambda x: [x[:, :, :0], x, x], {}, MATH),
    "two types": (lambda x: [x, x, x.double()], {}, MATH),
    "heads that are not shared": (lambda x: [x, x[:, :1], x[:, :1]], {}, MATH),
    "shared heads": (lambda x: [x, x[:, :1], x[:, :1]], {"enable_gqa": True}, FUSED),
    "a mask that learns": (lambda x: [x, x, x, torch.zeros(3, 3, device=x.device).requires_grad_()], {}, MATH),
    "a mask and causal": (lambda x: [x, x, x, torch.zeros(3, 3, device=x.device)], {"is_causal": True}, MATH),
    "a mask of another shape": (lambda x: [x, x, x, torch.zeros(2, 3, device=x.device)], {}, MATH),
}


@pytest.mark.parametrize("case", CHOICES)
def test_the_kernel_is_chosen_where_it_fits_and_the_math_path_elsewhere(device: str, case: str) -> None:
    make, options, expected = CHOICES[case]
    assert choice(*make(torch.ones(2, 2, 3, 4, device=device)), **options) == expected


def test_a_program_may_turn_either_way_off(device: str) -> None:
    x = torch.ones(1, 1, 3, 4, device=device)
    with sdpa_kernel(SDPBackend.MATH):
        assert choice(x, x, x) == MATH
    with sdpa_kernel(SDPBackend.OVERRIDEABLE):
        assert choice(x, x, x) == FUSED
        assert choice(x, x, x, dropout_p=1.0) == ERROR
        with pytest.raises(RuntimeError, match="No viable backend for scaled_dot_product_attention was found"):
            attention(x, x, x, dropout_p=1.0)


def test_a_mask_that_learns_has_a_gradient(device: str) -> None:
    q, k, v, grad = heads()
    found = []
    for place in ("cpu", device):
        mask = SOME.float().to(place).requires_grad_()
        attention(q.to(place), k.to(place), v.to(place), attn_mask=mask).backward(grad.to(place))
        found.append(mask.grad.cpu())
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda q, k, v: (q, k[:, :, :, :4], v), "queries of shape"),
        (lambda q, k, v: (q, k[:, :3], v[:, :3]), "queries of shape"),
        (lambda q, k, v: (q.long(), k.long(), v.long()), "\"attention\" not implemented for 'Long'"),
        (lambda q, k, v: (q, k.double(), v), "queries of shape"),
    ],
)
def test_what_the_kernel_would_misread_is_refused_by_the_operator(
    device: str, change: Callable[..., tuple[torch.Tensor, ...]], text: str
) -> None:
    tensors = change(*(x.to(device) for x in heads()[:3]))
    with pytest.raises(RuntimeError, match=text):
        aten._scaled_dot_product_fused_attention_overrideable(*tensors)
    torch.openreg.synchronize(device)


def test_tensors_of_two_devices_are_refused(device: str, other_device: str) -> None:
    q, k, v, _ = heads()
    with pytest.raises(RuntimeError, match="same device"):
        attention(q.to(device), k.to(other_device), v.to(device))


def test_two_runs_give_the_same_bits(device: str) -> None:
    tensors = heads(1, 2, 300, 300, key_heads=1)
    first, second = (run(device, tensors, is_causal=True, enable_gqa=True) for _ in range(2))
    torch.testing.assert_close(first, second, rtol=0, atol=0)


def test_the_operator_has_no_gradient_of_a_mask(device: str) -> None:
    q, k, v, _ = (x.to(device) for x in heads())
    mask = torch.zeros(2, 4, 5, 7, device=device, requires_grad=True)
    out = aten._scaled_dot_product_fused_attention_overrideable(q, k, v, mask)[0]
    with pytest.raises(NotImplementedError) as caught:
        out.sum().backward()
    assert str(caught.value).splitlines()[0] == (
        "_scaled_dot_product_fused_attention_overrideable: there is no gradient of the mask; "
        "scaled_dot_product_attention() takes the math path for a mask that requires one"
    )
