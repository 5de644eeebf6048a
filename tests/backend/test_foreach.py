"""Operators over lists of tensors: a few launches for all of them, and the numbers of the loop over them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from .simulator import sim

Tensors = list[torch.Tensor]

MANY = 200


@pytest.fixture(autouse=True)
def on_the_device_alone() -> Iterator[None]:
    """Whatever is tested here, the CPU does none of it."""
    with torch.openreg.no_fallback():
        yield


def tensors(count: int = 6, dtype: torch.dtype = torch.float32, seed: int = 0) -> Tensors:
    """Tensors of many shapes: one without elements, a single number, one that is transposed, two long ones."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [(3, 4), (0, 2), (), (5, 2), (20_001,), (20_000,)]
    made = [torch.rand(shapes[i % len(shapes)], generator=generator).add_(0.1).to(dtype) for i in range(count)]
    return [x.t() if x.dim() == 2 and i % 2 else x for i, x in enumerate(made)]


def on(device: str, values: Any) -> Any:
    """The same arguments on a device, with the strides that they have."""
    if isinstance(values, torch.Tensor):
        return torch.empty_like(values, device=device).copy_(values)
    return [on(device, value) for value in values] if isinstance(values, list) else values


def launches(body: Callable[[], object], most: int) -> bool:
    """Whether `body` gets by with so many launches: one more is made to fail."""
    sim.lib.orSimFailCall(b"orLaunchKernel", most + 1, sim.errors["orErrorLaunchFailure"])
    try:
        body()
    except RuntimeError as error:
        if "orLaunchKernel" not in str(error):
            raise
        return False
    finally:
        sim.lib.orSimFailCall(b"orLaunchKernel", 0, sim.errors["orSuccess"])
    return True


LISTS = [tensors(seed=1), tensors(seed=2)]
NUMBERS = [0.5, 2, -1.5, 3.25, 0.125, 7]  # which halves hold, too: the CPU rounds some to them first
# What each is called with behind its first list.
CALLS: dict[str, list[tuple[Any, ...]]] = {
    "add": [(LISTS[0],), (0.375,), (NUMBERS,), (torch.tensor(0.375),)],
    "sub": [(LISTS[0],), (0.375,), (NUMBERS,)],
    "mul": [(LISTS[0],), (0.375,), (NUMBERS,), (torch.tensor(0.375),)],
    "div": [(LISTS[0],), (0.375,), (NUMBERS,), (torch.tensor(0.375),)],
    "lerp": [(LISTS[0], LISTS[1]), (LISTS[0], 0.375), (LISTS[0], NUMBERS)],
    "addcmul": [(LISTS[0], LISTS[1], 0.375), (LISTS[0], LISTS[1], NUMBERS)],
    "addcdiv": [(LISTS[0], LISTS[1], 0.375), (LISTS[0], LISTS[1], NUMBERS)],
    "maximum": [(LISTS[0],), (0.375,), (NUMBERS,)],
    "minimum": [(LISTS[0],), (0.375,), (NUMBERS,)],
    "clamp_min": [(LISTS[0],), (0.375,), (NUMBERS,)],
    "clamp_max": [(LISTS[0],), (0.375,), (NUMBERS,)],
    **{name: [()] for name in ("abs", "exp", "log", "neg", "reciprocal", "rsqrt", "sigmoid", "sign", "sqrt", "tanh")},
}
EACH = [(name, arguments) for name, calls in CALLS.items() for arguments in calls]


def kind(value: object) -> str:
    """Which overload an argument chooses."""
    if isinstance(value, list):
        return "list" if isinstance(value[0], torch.Tensor) else "numbers"
    return "tensor" if isinstance(value, torch.Tensor) else "number"


IDS = [" ".join([name, *map(kind, arguments)]) for name, arguments in EACH]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("name", "arguments"), EACH, ids=IDS)
def test_a_list_gets_the_numbers_of_the_cpu_in_both_forms(
    device: str, name: str, arguments: tuple[Any, ...], dtype: torch.dtype
) -> None:
    def typed(values: Any) -> Any:
        if isinstance(values, list) and isinstance(values[0], torch.Tensor):
            return [x.to(dtype) for x in values]
        return values.to(dtype) if isinstance(values, torch.Tensor) else values

    given = [typed(value) for value in arguments]
    expected = getattr(torch, f"_foreach_{name}")(tensors(dtype=dtype), *given)
    here = on(device, tensors(dtype=dtype))
    there = [on(device, value) for value in given]
    made = getattr(torch, f"_foreach_{name}")(here, *there)
    torch.testing.assert_close([x.cpu() for x in here], tensors(dtype=dtype), rtol=0, atol=0)
    getattr(torch, f"_foreach_{name}_")(here, *there)
    for actual in (made, here):
        assert [x.device for x in actual] == [torch.device(device)] * len(actual)
        assert [x.stride() for x in actual if x.numel()] == [x.stride() for x in expected if x.numel()]
        torch.testing.assert_close([x.cpu() for x in actual], expected)


@pytest.mark.parametrize(("name", "arguments"), EACH, ids=IDS)
def test_a_list_of_many_takes_few_launches(device: str, name: str, arguments: tuple[Any, ...]) -> None:
    def many(value: Any) -> Any:
        if kind(value) == "numbers":
            return (value * MANY)[:MANY]
        return [torch.ones(3, device=device) for _ in range(MANY)] if kind(value) == "list" else on(device, value)

    given = [many(value) for value in (LISTS[0], *arguments)]
    getattr(torch, f"_foreach_{name}_")(*given)  # looks its kernel up
    assert launches(lambda: getattr(torch, f"_foreach_{name}_")(*given), most=MANY // 9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_number_to_the_power_of_each_tensor_equals_the_cpus(device: str, dtype: torch.dtype) -> None:
    steps = [torch.tensor(float(i), dtype=dtype) for i in range(1, MANY)]
    actual = torch._foreach_pow(0.9, on(device, steps))
    torch.testing.assert_close([x.cpu() for x in actual], list(torch._foreach_pow(0.9, steps)))
    here = on(device, steps[:20])
    assert launches(lambda: torch._foreach_pow(0.9, here), most=1)


def test_a_list_is_copied_and_filled_with_zeros_in_few_launches(device: str) -> None:
    source = on(device, tensors(20))
    to = [torch.full_like(x, 7) for x in source]
    torch._foreach_copy_(to, source)
    torch.testing.assert_close(to, source, rtol=0, atol=0)
    assert launches(lambda: torch._foreach_copy_(to, source), most=1)
    torch._foreach_zero_(to)
    assert [x.abs().sum().item() for x in to] == [0] * len(to)
    to[0].fill_(float("nan"))
    assert launches(lambda: torch._foreach_zero_(to), most=1)
    assert to[0].sum().item() == 0


def test_the_list_and_the_loop_give_the_same_bits(device: str) -> None:
    a, b, c = (on(device, tensors(seed=seed)) for seed in (0, 1, 2))
    loop = [torch.addcdiv(x, y, z, value=-0.01) for x, y, z in zip(a, b, c, strict=True)]
    torch.testing.assert_close(list(torch._foreach_addcdiv(a, b, c, -0.01)), loop, rtol=0, atol=0)
    loop = [torch.lerp(x, y, 0.1) for x, y in zip(a, b, strict=True)]
    torch.testing.assert_close(list(torch._foreach_lerp(a, b, 0.1)), loop, rtol=0, atol=0)


# ------------------------------------------------------------------------------------ what goes tensor by tensor

X = torch.arange(6.0).view(2, 3)
MIXED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "two types": ("add", ([X, X], [X, X.double()])),
    "two types in the first list": ("add", ([X, X.half()], [X, X])),
    "integers": ("add", ([X.long(), X.long()], 2)),
    "integers and a fraction": ("mul", ([X.long()], 0.5)),
    "integers divided": ("div", ([X.long() + 1], [X.long() + 2])),
    "booleans": ("add", ([X > 2], [X > 3])),
    "complex numbers": ("mul", ([X + 1j], [X - 2j])),
    "absolute values of complex numbers": ("abs", ([X + 1j],)),
    "a complex number": ("add", ([X], 2j)),
    "shapes that are broadcast": ("add", ([X, X], [X[:1], X[0]])),
    "other strides": ("mul", ([X, X], [X, X.t().contiguous().t()])),
    "gaps": ("mul", ([X[:, ::2]], [X[:, ::2]])),
    "expanded": ("mul", ([X[:1].expand(2, 3)], [X])),
    "a limit that is no number": ("clamp_min", ([X], float("nan"))),
}


@pytest.mark.parametrize("case", MIXED)
def test_lists_that_no_kernel_takes_get_the_cpus_numbers_all_the_same(device: str, case: str) -> None:
    name, arguments = MIXED[case]
    expected = getattr(torch, f"_foreach_{name}")(*arguments)

    def moved(value: Any) -> Any:
        if isinstance(value, list):
            return [moved(x) for x in value]
        if isinstance(value, torch.Tensor) and 0 in value.stride():
            return value[:1].to(device).expand(value.shape)
        return on(device, value)

    actual = getattr(torch, f"_foreach_{name}")(*map(moved, arguments))
    torch.testing.assert_close([x.cpu() for x in actual], list(expected), equal_nan=True)


def test_a_lists_first_type_is_kept_in_place(device: str) -> None:
    here = [x.to(device) for x in (X.double(), X)]
    torch._foreach_add_(here, [x.to(device) for x in (X, X)])
    assert [x.dtype for x in here] == [torch.float64, torch.float32]
    torch.testing.assert_close([x.cpu() for x in here], [X.double() * 2, X * 2])


def test_a_tensor_that_is_in_the_list_twice_is_changed_twice(device: str) -> None:
    x, y = torch.ones(70_000, device=device), torch.ones(3, device=device)
    torch._foreach_add_([x, y, x], 1)
    assert (x.min().item(), x.max().item(), y.max().item()) == (3, 3, 2)


def test_what_one_tensor_becomes_is_what_a_later_one_reads(device: str) -> None:
    x, y = torch.ones(70_000, device=device), torch.zeros(70_000, device=device)
    torch._foreach_add_([x, y], [torch.ones_like(x), x])
    assert (y.min().item(), y.max().item()) == (2, 2)


def test_tensors_that_overlap_in_part_are_refused_as_by_the_cpu(device: str) -> None:
    for place in ("cpu", device):
        x = torch.ones(8, device=place)
        with pytest.raises(RuntimeError, match="unsupported operation"):
            torch._foreach_add_([x[1:]], [x[:-1]])


@pytest.mark.parametrize(
    "call",
    [
        lambda x: torch._foreach_add([x], [x, x]),
        lambda x: torch._foreach_add_([x, x], [1.0]),
        lambda x: torch._foreach_mul([x], x),
        lambda x: torch._foreach_add([x > 1], [x > 1], alpha=2.5),
        lambda x: torch._foreach_add([x], [x], alpha=True),
        lambda x: torch._foreach_sub([x > 1], [x > 1]),
        lambda x: torch._foreach_neg([x > 1]),
        lambda x: torch._foreach_add_([x.long()], 0.5),
        lambda x: torch._foreach_lerp([x], [x], 2j),
    ],
    ids=[
        "lists of two lengths", "too few numbers", "a tensor for all of many elements", "a fraction of booleans",
        "a boolean factor", "booleans subtracted", "booleans negated", "a fraction into integers", "a complex weight",
    ],
)  # fmt: skip
def test_what_the_cpu_refuses_is_refused_with_its_words(device: str, call: Callable[[torch.Tensor], object]) -> None:
    texts = []
    for place in ("cpu", device):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            call(X.to(place))
        texts.append(str(caught.value).replace(place, "PLACE"))
    assert texts[0] == texts[1]


def test_lists_on_two_devices_are_refused_and_both_stay_usable(device: str, other_device: str) -> None:
    a, b = torch.ones(3, device=device), torch.ones(3, device=other_device)
    with pytest.raises(RuntimeError, match="same device"):
        torch._foreach_add([a, a], [a, b])
    assert torch._foreach_add([a, b], 1)[1].device == b.device  # tensor by tensor
    assert (a + 1).sum().item() == (b + 1).sum().item() == 6


def test_a_list_runs_on_the_current_stream_of_its_device(device: str, gate) -> None:
    x = [torch.zeros(3, device=device) for _ in range(3)]
    stream = torch.Stream(device)
    torch.openreg.synchronize(device)
    closed = gate(stream)
    with stream:
        torch._foreach_add_(x, 1)
    assert not stream.query()
    closed.open()
    stream.synchronize()
    assert [y.sum().item() for y in x] == [3, 3, 3]


def test_gradients_flow_through_a_list(device: str) -> None:
    x = [torch.ones(3, device=device, requires_grad=True) for _ in range(2)]
    sum(y.sum() for y in torch._foreach_mul(x, [2.0, 3.0])).backward()
    assert [y.grad.tolist() for y in x] == [[2, 2, 2], [3, 3, 3]]


EVERYWHERE = """
    own = [torch.full((3,), float(i), device="openreg", requires_grad=True) for i in range(70)]
    for x in own:
        x.grad = torch.ones_like(x)
    for options in ({"foreach": True}, {"fused": True}):
        torch.optim.SGD(own, lr=0.5, **options).step()
    print([x[2].item() for x in own] == [i - 1.0 for i in range(70)])
    q = torch.arange(300 * 8.0).view(1, 1, 300, 8).sin()
    attention = torch.nn.functional.scaled_dot_product_attention
    here = attention(*3 * [q.to("openreg")], is_causal=True).cpu()
    print(torch.allclose(here, attention(q, q, q, is_causal=True), atol=1e-5), torch.openreg.fallbacks())
"""


@pytest.mark.parametrize("executor", ["native", "python"])
def test_lists_optimizers_and_attention_run_on_a_device_in_another_process(program, executor: str) -> None:
    chosen = {"OPENREG_PROCESS": f"executor=python,python={sys.executable}"} if executor == "python" else {}
    assert program(EVERYWHERE, timeout=120, OPENREG_DRIVER="process", **chosen).splitlines() == ["True", "True {}"]
