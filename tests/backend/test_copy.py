"""copy_ in all its forms: every direction, layout, type and lazy bit, against the same copy on the CPU.

The comparison is of bytes, and of all the memory under the destination: what lies between its elements must not change.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from contract.harness import Call
from hypothesis import given, settings
from hypothesis import strategies as st

from .conftest import GateFunction, ProgramFunction

View = Callable[[torch.Tensor], torch.Tensor]


DIRECTIONS = [
    ("cpu", "openreg:0"),
    ("cpu", "openreg:1"),
    ("openreg:0", "cpu"),
    ("openreg:1", "cpu"),
    ("openreg:0", "openreg:0"),
    ("openreg:1", "openreg:1"),
    ("openreg:0", "openreg:1"),
    ("openreg:1", "openreg:0"),
]

FLOAT8 = [torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu]
REAL = [
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
]
COMPLEX = [torch.complex32, torch.complex64, torch.complex128]
TYPES = [torch.bool, *REAL, *FLOAT8, *COMPLEX]

# Views of a flat tensor of 128 elements, all of the shape (2, 3, 4). No two elements of a LAYOUT share memory.
LAYOUTS: dict[str, View] = {
    "contiguous": lambda base: base[:24].view(2, 3, 4),
    "offset": lambda base: base[5:29].view(2, 3, 4),
    "transposed": lambda base: base[:24].view(4, 3, 2).transpose(0, 2),
    "permuted": lambda base: base[1:25].view(3, 4, 2).permute(2, 0, 1),
    "gaps": lambda base: base[:120].view(4, 5, 6)[::2, 1:4, 1:5],
    "gaps everywhere": lambda base: base[:126].as_strided((2, 3, 4), (61, 19, 2), 3),
}
SHARING: dict[str, View] = {
    "expanded": lambda base: base[2:6].expand(2, 3, 4),
    "expanded inside": lambda base: base[:6].view(2, 3, 1).expand(2, 3, 4),
    "overlapping": lambda base: base.as_strided((2, 3, 4), (3, 2, 1), 2),
    "broadcast": lambda base: base[:3].view(3, 1),
    "a scalar": lambda base: base[7],
}


class Case(NamedTuple):
    """A copy: views of source and destination over flat tensors of so many elements."""

    src: View
    dst: View
    size: int = 128


def reverse(base: torch.Tensor) -> torch.Tensor:
    """17 dimensions in the opposite order: none of them can be merged with another."""
    return base[: 1 << 17].view([2] * 17).permute(*range(16, -1, -1))


CASES: dict[str, Case] = {
    f"{src} to {dst}": Case((LAYOUTS | SHARING)[src], LAYOUTS[dst]) for dst in LAYOUTS for src in LAYOUTS | SHARING
} | {
    "0-d": Case(lambda base: base[3], lambda base: base[5]),
    "one element to 0-d": Case(lambda base: base[3:4].view(()), lambda base: base[5]),
    "no element": Case(lambda base: base[:0].view(0, 4), lambda base: base[:0].view(0, 4)),
    "no element behind the end": Case(lambda base: base[128:], lambda base: base[128:]),
    "no element, strided": Case(
        lambda base: base[:24].view(4, 6)[:, 3:3], lambda base: base[:24].view(6, 4).t()[:, 2:2]
    ),
    "broadcast to no element": Case(lambda base: base[:1], lambda base: base[:0]),
    "one element of many": Case(lambda base: base[40], lambda base: base[:36].view(6, 6)[2, 3]),
    "channels last": Case(
        lambda base: base[:120].view(2, 3, 4, 5), lambda base: base[:120].view(2, 4, 5, 3).permute(0, 3, 1, 2)
    ),
    "from channels last": Case(
        lambda base: base[:120].view(2, 4, 5, 3).permute(0, 3, 1, 2), lambda base: base[:120].view(2, 3, 4, 5)
    ),
    "both channels last": Case(
        lambda base: base[:120].view(2, 4, 5, 3).permute(0, 3, 1, 2),
        lambda base: base[8:].view(2, 4, 5, 3).permute(0, 3, 1, 2),
    ),
    "5-d permuted": Case(
        lambda base: base[:72].view(2, 3, 2, 3, 2).permute(3, 0, 4, 2, 1),
        lambda base: base[:72].view(3, 2, 2, 2, 3).permute(0, 1, 2, 3, 4),
    ),
    "5-d, both permuted": Case(
        lambda base: base[:72].view(2, 3, 2, 3, 2).permute(3, 0, 4, 2, 1),
        lambda base: base[:72].view(3, 2, 2, 2, 3).permute(4, 3, 2, 1, 0).permute(4, 3, 2, 1, 0),
    ),
    "sizes of one with any stride": Case(
        lambda base: base.as_strided((1, 3, 1), (77, 1, 99)), lambda base: base.as_strided((1, 3, 1), (2, 1, 5))
    ),
    "a column": Case(lambda base: base.view(8, 16)[:, 3], lambda base: base.view(16, 8)[:8, 5]),
    "17 dimensions": Case(reverse, lambda base: base.view([2] * 17), 1 << 17),
    "17 dimensions with gaps": Case(reverse, lambda base: base.view([2] * 18)[..., 1], 1 << 18),
}
# Enough of them to meet every way that the code can take.
SAMPLE = [
    "contiguous to contiguous",
    "transposed to contiguous",
    "gaps to transposed",
    "contiguous to gaps everywhere",
    "expanded to permuted",
    "0-d",
]


def values(size: int, dtype: torch.dtype, first: int = 0) -> torch.Tensor:
    """Numbers that every type can hold, so that a cast of them is defined."""
    numbers = (torch.arange(first, first + size) * 7) % 13
    if dtype.is_complex:
        # No part is 0, whose negative the CPU makes 0 or -0, depending on the place in the array.
        return torch.complex((numbers + 1).double(), ((numbers * 3) % 5 + 1).double()).to(dtype)
    if dtype == torch.bool:
        return numbers % 3 == 0
    if dtype in FLOAT8:
        return (2.0 ** (numbers % 5)).to(dtype)
    return (numbers + 0.5 * (numbers % 2)).to(dtype) if dtype.is_floating_point else numbers.to(dtype)


def any_bits(size: int, dtype: torch.dtype) -> torch.Tensor:
    """Every pattern of bits, signalling NaN too: a copy without a cast must not look at them."""
    count = size * dtype.itemsize
    noise = (torch.arange(count) * 2654435761 % 4294967291 % 256).to(torch.uint8)
    return (noise % 2).view(torch.bool) if dtype == torch.bool else noise.view(dtype)


def raw(tensor: torch.Tensor) -> bytes:
    """All the memory under a CPU tensor."""
    return torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage()).numpy().tobytes()


def check(
    case: Case,
    direction: tuple[str, str],
    src_base: torch.Tensor,
    dst_base: torch.Tensor,
    non_blocking: bool = False,
) -> None:
    """Copies on the CPU and between the devices; both must end alike, or fail alike."""
    expected = dst_base.clone()
    refused: RuntimeError | None = None
    src = src_base.to(direction[0], copy=True)
    got = dst_base.to(direction[1], copy=True)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Casting complex values to real")
        try:
            case.dst(expected).copy_(case.src(src_base))
        except RuntimeError as error:
            refused = error
        if refused is not None:
            with pytest.raises(type(refused), match=f"^{re.escape(str(refused))}$"):
                case.dst(got).copy_(case.src(src), non_blocking=non_blocking)
            return
        destination = case.dst(got)
        assert destination.copy_(case.src(src), non_blocking=non_blocking) is destination
    assert raw(got.cpu()) == raw(expected)
    assert raw(src.cpu()) == raw(src_base)


def name(value: object) -> str | None:
    """Test ids that can be read."""
    if isinstance(value, tuple):
        return "-".join(value)
    return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else None


# ---------------------------------------------------------------------------------------------------------- the table


@pytest.mark.parametrize("direction", DIRECTIONS, ids=name)
@pytest.mark.parametrize("case", CASES)
def test_table_of_layouts(case: str, direction: tuple[str, str]) -> None:
    size = CASES[case].size
    check(CASES[case], direction, values(size, torch.float32), values(size, torch.float32, 5))


@pytest.mark.parametrize("direction", DIRECTIONS, ids=name)
@pytest.mark.parametrize("dtype", TYPES, ids=name)
def test_table_of_types_copied_bit_by_bit(dtype: torch.dtype, direction: tuple[str, str]) -> None:
    for case in SAMPLE:
        check(CASES[case], direction, any_bits(128, dtype), any_bits(256, dtype)[128:].clone())


@pytest.mark.parametrize("direction", [d for d in DIRECTIONS if "1" not in d[0] + d[1] or d[0] != d[1]], ids=name)
@pytest.mark.parametrize("src", TYPES, ids=name)
def test_table_of_casts(src: torch.dtype, direction: tuple[str, str]) -> None:
    for dst in TYPES:
        for case in ("contiguous to contiguous", "expanded to gaps"):
            check(CASES[case], direction, values(128, src), values(128, dst, 5))


def bits(view: View, conj: bool, neg: bool) -> View:
    """The view with lazy bits set: conjugated, negated, or both."""

    def lazy(base: torch.Tensor) -> torch.Tensor:
        tensor = view(base)
        tensor = tensor.conj() if conj else tensor
        return torch._neg_view(tensor) if neg else tensor

    return lazy


@pytest.mark.parametrize("direction", DIRECTIONS, ids=name)
@pytest.mark.parametrize("dst_bits", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("src_bits", [(False, False), (True, False), (False, True), (True, True)])
def test_table_of_lazy_bits(
    src_bits: tuple[bool, bool], dst_bits: tuple[bool, bool], direction: tuple[str, str]
) -> None:
    for case in SAMPLE:
        lazy = Case(bits(CASES[case].src, *src_bits), bits(CASES[case].dst, *dst_bits))
        for src, dst in ((torch.complex64, torch.complex64), (torch.complex64, torch.complex128)):
            check(lazy, direction, values(128, src), values(128, dst, 5))


@pytest.mark.parametrize("direction", DIRECTIONS, ids=name)
def test_table_of_imaginary_parts(direction: tuple[str, str]) -> None:
    # The imaginary part of a conjugated tensor is a negated view of every other number.
    imaginary = Case(lambda base: base[:24].conj().imag, lambda base: base[4:28].conj().imag)
    check(imaginary, direction, values(32, torch.complex64), values(32, torch.complex64, 5))
    mixed = Case(lambda base: base[:24].conj().imag, lambda base: torch._neg_view(base[8:32]))
    check(mixed, direction, values(32, torch.complex128), values(32, torch.float16, 5))


@pytest.mark.parametrize("direction", DIRECTIONS, ids=name)
def test_table_of_non_blocking_copies(direction: tuple[str, str]) -> None:
    for case in SAMPLE:
        for dst in (torch.float32, torch.int64):
            check(CASES[case], direction, values(128, torch.float32), values(128, dst, 5), non_blocking=True)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_table_of_random_strides(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(0, 4), max_size=5))

    def view(distinct: bool) -> tuple[View, int]:
        strides, end = [0] * len(sizes), 1
        for dim in data.draw(st.permutations(range(len(sizes)))):
            if distinct or data.draw(st.booleans()):
                strides[dim] = end + data.draw(st.integers(0, 2))
                end = strides[dim] * max(sizes[dim] - 1, 0) + end
            else:
                strides[dim] = data.draw(st.integers(0, 3))
        offset = data.draw(st.integers(0, 5))
        last = offset + sum(stride * max(size - 1, 0) for stride, size in zip(strides, sizes, strict=True))
        return lambda base: base.as_strided(sizes, strides, offset), last + 1

    (src, src_size), (dst, dst_size) = view(distinct=False), view(distinct=True)
    types = st.sampled_from([torch.float32, torch.int16, torch.bool, torch.complex128])
    src_type = data.draw(types)
    dst_type = data.draw(st.one_of(st.just(src_type), types))
    size = max(src_size, dst_size)
    direction = data.draw(st.sampled_from(DIRECTIONS))
    check(Case(src, dst, size), direction, values(size, src_type), values(size, dst_type, 5))


def test_a_driver_without_a_copy_kernel_gives_the_same_table(program: ProgramFunction) -> None:
    # The driver is asked whether it has the kernel; if not, copies that need it go by the host. Only these change.
    chosen = "table_of and (openreg:0-openreg:0 or openreg:1-cpu or random)"
    said = program(
        f"""
        import pytest
        x = torch.empty(1, device="openreg")
        module = sim.get("orModuleLoad", b"openreg")
        assert sim.lib.orModuleGetKernel(sim.ffi.new("orKernel_t*"), module, b"copy") == sim.errors["orErrorNotFound"]
        sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-k", {chosen!r}, {str(Path(__file__))!r}]))
    """,
        OPENREG_SIM="kernels=0",
        timeout=100,
    )
    assert "failed" not in said
    assert "passed" in said


def test_a_copy_on_one_device_does_not_visit_the_host(gate: GateFunction) -> None:
    x = torch.arange(24.0).to("openreg").view(4, 6)
    y = torch.zeros(6, 4).to("openreg")
    closed = gate(0)
    y.copy_(x.t())  # would wait for the gate if it had to read x
    z = y.clone()
    closed.open()
    assert torch.equal(z.cpu(), torch.arange(24.0).view(4, 6).t())


# ------------------------------------------------------------------------------------------- what lies between elements

INTERLEAVED = """
import torch
from concurrent.futures import ThreadPoolExecutor
from backend.simulator import sim

def write_interleaved(source, rows, width, rounds, dtype):
    x = torch.zeros(rows, 2, width).to("openreg:0")

    def write(half):
        lost = []
        with torch.Stream("openreg:0"):
            for i in range(1, rounds + 1):
                x[:, half].copy_(torch.full((rows, width), float(i), dtype=dtype).to(source))
                if not (x.cpu()[:, half] == i).all():
                    lost.append(i)
        return lost

    sim.ok(sim.lib.orSimSetDelay(0, 0, 2000))  # time enough for the other thread, between any two copies
    try:
        with ThreadPoolExecutor(2) as threads:
            lost = list(threads.map(write, (0, 1)))
    finally:
        sim.ok(sim.lib.orSimSetDelay(0, 0, 0))
    assert lost == [[], []], f"of {rounds} writes to each half, these were lost: {lost}"
"""


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=name)
@pytest.mark.parametrize("source", ["cpu", "openreg:1"])
def test_two_threads_write_interleaved_slices_and_lose_nothing(source: str, dtype: torch.dtype) -> None:
    space: dict[str, Any] = {}
    exec(INTERLEAVED, space)
    space["write_interleaved"](source, 1000, 3, 20, dtype)


@pytest.mark.parametrize("source", ["cpu", "openreg:1"])
def test_two_threads_write_interleaved_slices_without_a_copy_kernel(source: str, program: ProgramFunction) -> None:
    program(f"{INTERLEAVED}\nwrite_interleaved({source!r}, 20, 1, 10, torch.float32)\n", OPENREG_SIM="kernels=0")


def test_a_strided_copy_between_devices_does_not_wait(gate: GateFunction) -> None:
    x = values(24, torch.float32).to("openreg:0").view(4, 6)
    y = torch.zeros(12, 8, dtype=torch.float64).to("openreg:1")
    closed = gate(0)
    y[::2, 1::2].copy_(x.t())
    assert closed.waiting == 1
    closed.open()
    expected = torch.zeros(12, 8, dtype=torch.float64)
    expected[::2, 1::2] = values(24, torch.float32).view(4, 6).t()
    assert torch.equal(y.cpu(), expected)


# --------------------------------------------------------------------------------------------- the current device


@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("direction", DIRECTIONS, ids=name)
def test_the_current_device_plays_no_part(direction: tuple[str, str], current: int) -> None:
    with torch.openreg.device(current):
        for case in SAMPLE:
            for dst in (torch.float32, torch.int64):
                check(CASES[case], direction, values(128, torch.float32), values(128, dst, 5))
        assert torch.openreg.current_device() == current


# --------------------------------------------------------------------------------------- the forms that end in copy_


def test_to_makes_the_device_and_the_type_in_one_call(device: str) -> None:
    x = values(12, torch.float32).view(3, 4).t()
    for dtype in (torch.float32, torch.int64, torch.bool, torch.bfloat16):
        y = x.to(device, dtype)
        assert (y.device, y.dtype, y.stride()) == (torch.device(device), dtype, x.to(dtype).stride())
        assert torch.equal(y.cpu(), x.to(dtype))
        assert torch.equal(y.to("cpu", torch.float64), x.to(dtype).to(torch.float64))


def test_to_without_a_change_is_the_same_tensor(device: str) -> None:
    x = torch.ones(3, device=device)
    assert x.to(device) is x
    assert x.to(device, copy=True) is not x


def test_clone_keeps_or_changes_the_layout_as_on_the_cpu(device: str) -> None:
    x = values(120, torch.float32).view(2, 3, 4, 5)
    for layout in (torch.preserve_format, torch.contiguous_format, torch.channels_last):
        for view in (
            lambda t: t,
            lambda t: t.permute(0, 2, 3, 1),
            lambda t: t[:, ::2],
            lambda t: t[:1].expand(2, 3, 4, 5),
        ):
            expected, got = view(x).clone(memory_format=layout), view(x.to(device)).clone(memory_format=layout)
            assert got.stride() == expected.stride()
            assert torch.equal(got.cpu(), expected)


def test_contiguous_copies_only_what_is_not(device: str) -> None:
    x = values(6, torch.float32).to(device).view(2, 3)
    assert x.contiguous() is x
    assert torch.equal(x.t().contiguous().cpu(), values(6, torch.float32).view(2, 3).t().contiguous())


def test_numpy_is_one_copy_away(device: str) -> None:
    x = values(6, torch.float64).to(device)
    assert x.cpu().numpy().tolist() == values(6, torch.float64).tolist()
    with pytest.raises(TypeError, match=r"can't convert openreg:. device type tensor to numpy"):
        x.numpy()


def test_copy_from_and_to_meta_is_as_on_the_cpu(device: str) -> None:
    x = torch.ones(2, 3).to(device)
    assert x.to("meta").shape == (2, 3)
    with pytest.raises(NotImplementedError) as expected:
        torch.ones(2, 3).copy_(torch.ones(2, 3, device="meta"))
    with pytest.raises(NotImplementedError) as got:
        x.copy_(torch.ones(2, 3, device="meta"))
    assert str(got.value) == str(expected.value)


def test_copy_from_and_resize_takes_the_sizes_of_the_source(device: str) -> None:
    x = values(6, torch.float32).view(2, 3)
    y = torch.empty(0, device=device)
    torch._copy_from_and_resize(x, y)
    assert torch.equal(y.cpu(), x)
    z = torch.empty(0)
    torch._copy_from_and_resize(y.t(), z)
    assert torch.equal(z, x.t())


# ------------------------------------------------------------------------------------------------- overlap, refusals


def error_of(call: Callable[[], object]) -> str:
    """The text of the error that a call raises."""
    try:
        call()
    except RuntimeError as error:  # pytest.raises would make a cycle that keeps the tensors of the call alive
        return str(error)
    pytest.fail("no error was raised")


REFUSED: dict[str, Callable[[torch.Tensor], object]] = {
    "into an expanded tensor": lambda x: x[:1].expand(4).copy_(x[:4]),
    "onto a part of itself": lambda x: x[1:].copy_(x[:-1]),
    "wrong size": lambda x: x[:4].copy_(x[8:11]),
    "too many dimensions": lambda x: x[:4].copy_(x[8:16].view(2, 4)),
    "into fewer elements": lambda x: x[:0].copy_(x[8:12]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_cpu_refuses_is_refused_with_the_same_text(device: str, case: str) -> None:
    call = REFUSED[case]
    x = values(32, torch.float32)
    on_device = x.to(device)
    assert error_of(lambda: call(on_device)) == error_of(lambda: call(x))
    assert torch.equal(on_device.cpu(), x)


@pytest.mark.parametrize("direction", DIRECTIONS, ids=name)
@pytest.mark.parametrize("sizes", [((4,), (3,)), ((4,), (2, 4)), ((2, 3), (3, 2)), ((0,), (2,)), ((), (2,))])
def test_sizes_that_do_not_broadcast_are_refused_with_the_cpu_text(
    sizes: tuple[tuple[int, ...], tuple[int, ...]], direction: tuple[str, str]
) -> None:
    dst, src = sizes
    expected = error_of(lambda: torch.ones(dst).copy_(torch.ones(src)))
    x, y = torch.ones(dst).to(direction[1]), torch.ones(src).to(direction[0])
    assert error_of(lambda: x.copy_(y)) == expected


@pytest.mark.parametrize("source", ["cpu", "openreg:0", "openreg:1"])
def test_an_expanded_destination_is_refused_whatever_the_source(device: str, source: str) -> None:
    expected = error_of(lambda: torch.ones(1).expand(4).copy_(torch.ones(4)))
    x, y = torch.ones(1).to(device), torch.ones(4).to(source)
    assert error_of(lambda: x.expand(4).copy_(y)) == expected


def test_a_cpu_destination_that_overlaps_itself_is_refused(device: str) -> None:
    expected = error_of(lambda: torch.ones(1).expand(4).copy_(torch.ones(4)))
    y = torch.ones(4).to(device)
    assert error_of(lambda: torch.ones(1).expand(4).copy_(y)) == expected


def test_a_copy_onto_itself_changes_nothing(device: str) -> None:
    x = values(24, torch.float32).to(device)
    x.copy_(x)
    x.view(4, 6).copy_(x.view(4, 6))
    x.view(4, 6).t().copy_(x.view(4, 6).t())
    assert torch.equal(x.cpu(), values(24, torch.float32))


def test_disjoint_parts_of_one_storage_can_be_copied(device: str) -> None:
    x = values(24, torch.float32)
    y = x.to(device)
    for tensor in (x, y):
        tensor[12:].copy_(tensor[:12])
        tensor.view(12, 2)[:, 0].copy_(tensor.view(12, 2)[:, 1])
    assert torch.equal(y.cpu(), x)


def test_a_conjugated_copy_onto_itself_is_as_on_the_cpu(device: str) -> None:
    x = values(8, torch.complex64)
    y = x.to(device)
    x.copy_(x.conj())
    y.copy_(y.conj())
    assert torch.equal(y.cpu(), x)


# ----------------------------------------------------------------------------------------------------------- ordering


def test_a_copy_between_devices_does_not_block_and_waits_for_its_source(gate: GateFunction) -> None:
    x, new = torch.zeros(100).to("openreg:0"), torch.ones(100).to("openreg:0")
    closed = gate(0)
    x.copy_(new)  # queued
    y = x.to("openreg:1")  # queued behind it
    z = y.clone()  # later work of the other device
    reading = Call(lambda: z.cpu())
    assert reading.blocks()
    closed.open()
    assert torch.equal(reading.result(), torch.ones(100))
    assert torch.equal(y.cpu(), torch.ones(100))


def test_a_copy_between_devices_waits_for_who_still_reads_its_destination(gate: GateFunction) -> None:
    x, y = torch.ones(100).to("openreg:0"), torch.zeros(100).to("openreg:1")
    closed = gate(1)
    before = y.clone()  # queued; reads y
    y.copy_(x)
    after = y.clone()
    waiting = Call(lambda: torch.openreg.synchronize(0))  # the stream that copies
    assert waiting.blocks()
    closed.open()
    waiting.result()
    assert torch.equal(before.cpu(), torch.zeros(100))
    assert torch.equal(after.cpu(), torch.ones(100))


def test_a_copy_between_devices_keeps_later_writes_to_its_source_behind_it(gate: GateFunction) -> None:
    x, new = torch.zeros(100).to("openreg:0"), torch.ones(100).to("openreg:0")
    y = torch.full((100,), 5.0).to("openreg:1")
    closed = gate(1)
    y.copy_(x)  # has to wait for device 1
    x.copy_(new)  # must not overtake
    closed.open()
    assert torch.equal(y.cpu(), torch.zeros(100))
    assert torch.equal(x.cpu(), torch.ones(100))


def test_a_busy_device_does_not_hold_up_the_other(gate: GateFunction) -> None:
    x = torch.arange(6.0)
    gate(1)
    y = x.to("openreg:0")
    assert torch.equal(y.clone().cpu(), x)
    assert torch.equal(y.view(2, 3).t().to(torch.int64).cpu(), x.view(2, 3).t().to(torch.int64))
    assert y[3].item() == 3


def test_a_copy_from_ordinary_host_memory_has_read_it_when_it_returns(gate: GateFunction, device: str) -> None:
    x = torch.ones(1000)
    y = torch.zeros(1000).to(device)
    closed = gate(torch.device(device).index)
    copying = Call(lambda: y.copy_(x))
    assert copying.blocks()
    closed.open()
    copying.result()
    x.zero_()
    assert torch.equal(y.cpu(), torch.ones(1000))


@pytest.mark.parametrize("non_blocking", [False, True])
def test_a_copy_to_ordinary_host_memory_has_arrived_when_it_returns(
    gate: GateFunction, device: str, non_blocking: bool
) -> None:
    x, new = torch.zeros(1000).to(device), torch.ones(1000).to(device)
    closed = gate(torch.device(device).index)
    x.copy_(new)
    reading = Call(lambda: torch.empty(1000).copy_(x, non_blocking=non_blocking).tolist())
    assert reading.blocks()
    closed.open()
    assert reading.result() == [1.0] * 1000


def test_a_tensor_that_dies_while_its_copy_is_queued_does_not_spoil_it(gate: GateFunction) -> None:
    closed = gate(0)
    made = Call(lambda: torch.arange(1000.0).to("openreg:0").clone())  # the source dies in that thread
    assert made.blocks()
    closed.open()
    assert torch.equal(made.result().cpu(), torch.arange(1000.0))


def test_waiting_for_a_copy_releases_the_gil(gate: GateFunction, device: str) -> None:
    x = torch.ones(10).to(device)
    closed = gate(torch.device(device).index)
    waiting = []
    for wait in (x.cpu, x[0].item, x.tolist, lambda: x.copy_(torch.ones(10))):
        waiting.append(Call(wait))
        # If the waiting thread held the GIL, this line would not run before the gate's deadline.
        assert waiting[-1].blocks()
    closed.open()
    for call in waiting:
        call.result()
