"""What only a device that computes operators by name can show. test_device_fallback.py runs it on such a driver."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
import torch_openreg
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import load_module

from .own_operators import define
from .own_operators import operators as ops
from .simulator import sim

ELEMENTS = 64
DTYPES = [
    *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16),
    *(torch.float32, torch.float64, torch.complex32, torch.complex64, torch.complex128),
    *(torch.uint16, torch.uint32, torch.uint64),
]


@pytest.fixture(autouse=True)
def device_computes() -> Iterator[None]:
    """The policy of all these tests."""
    torch.openreg.set_fallback("device")
    torch.openreg.reset_fallbacks()
    yield
    torch.openreg.set_fallback("cpu")


def numbers(count: int, device: str = "openreg") -> torch.Tensor:
    """Counts from 0 on."""
    return torch.arange(float(count)).to(device)


# --------------------------------------------------------------------------------------------------------- metadata


@st.composite
def layouts(draw: st.DrawFn) -> tuple[torch.dtype, list[int], list[int], int]:
    """Type, sizes, strides and offset of a tensor in ELEMENTS elements: with gaps, overlapping, empty, a number."""
    sizes = draw(st.lists(st.integers(0, 5), max_size=5))
    strides: list[int] = []
    room = ELEMENTS - 1
    for size in sizes:
        strides.append(draw(st.integers(0, room // max(1, size - 1))))
        room -= (size - 1) * strides[-1] if size > 1 and 0 not in sizes else 0
    return draw(st.sampled_from(DTYPES)), sizes, strides, draw(st.integers(0, room))


@given(layouts())
@settings(max_examples=150, deadline=None)
def test_the_device_sees_a_tensor_as_it_is(layout: tuple[torch.dtype, list[int], list[int], int]) -> None:
    dtype, sizes, strides, offset = layout
    base = torch.empty(ELEMENTS, dtype=dtype, device="openreg")
    x = base.as_strided(sizes, strides, offset)
    seen = ops.layout(x)
    assert seen == [offset, ELEMENTS * dtype.itemsize, dtype.itemsize, *sizes, *strides]
    assert ops.dtype_of(x) == str(dtype)


@given(layouts())
@settings(max_examples=60, deadline=None)
def test_a_results_metadata_comes_back_as_it_was(layout: tuple[torch.dtype, list[int], list[int], int]) -> None:
    dtype, sizes, strides, offset = layout
    base = torch.empty(ELEMENTS, dtype=dtype, device="openreg")
    x = ops.restride(base, sizes, strides, offset)  # a view, made by the device
    assert (x.dtype, list(x.shape), list(x.stride()), x.storage_offset()) == (dtype, sizes, strides, offset)
    assert x.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()


def run_op_module() -> ModuleType:
    """The executor's own file, for the numbers of its wire."""
    return load_module(Path(torch_openreg.__file__).parent / "lib" / "executor_python" / "run_op.py")


def ask(description: bytes, storage: torch.Tensor) -> tuple[int, bytes]:
    """Launches run_op with any bytes; whether the reply is an error, and what it says."""
    run_op = run_op_module()
    reply = torch.zeros(4096, dtype=torch.uint8, device="openreg")
    size = storage.untyped_storage().nbytes()
    args = run_op.HEAD.pack(reply.data_ptr(), 4096, 0, run_op.INTO, 1)
    pointers = [(0, 2, 0, 4096), (len(args), 3, 0, size)]
    args += run_op.STORAGE.pack(storage.untyped_storage().data_ptr(), size) + description
    stream = sim.ffi.cast("orStream_t", torch.openreg.current_stream(0).native_handle)
    sim.ok(sim.launch(sim.kernel("run_op", module="openreg"), args, pointers, stream))
    said = bytes(reply.cpu().tolist())
    return struct.unpack_from("<I", said)[0], said[4:]


def described(dtype: int, offset: int, sizes: list[int], strides: list[int], storage: int = 0) -> bytes:
    """A call of `layout` with a tensor of our making."""
    run_op = run_op_module()
    head = run_op.text("test_fallback::layout") + run_op.text("")
    tensor = b"t" + struct.pack("<iIqI", dtype, storage, offset, len(sizes))
    return head + tensor + struct.pack(f"<{2 * len(sizes)}q", *sizes, *strides) + b"l" + struct.pack("<I", 1) + b"n"


def test_a_description_made_by_hand_is_understood() -> None:
    error, _ = ask(described(7, 2, [3, 4], [4, 1]), numbers(16))
    assert error == 0


@pytest.mark.parametrize(
    "wrong",
    [
        described(7, 0, [17], [1]),
        described(7, 1, [16], [1]),
        described(7, 0, [2, 2], [15, 15]),
        described(7, 0, [1 << 40], [1]),
        described(7, 0, [1 << 62, 1 << 62], [1 << 62, 1]),
        described(7, -1, [1], [1]),
        described(7, 0, [-3], [1]),
        described(7, 0, [3], [-1]),
        described(8, 0, [9], [1]),
        described(99, 0, [1], [1]),
        described(7, 0, [1], [1], storage=1),
        described(7, 0, [1], [1])[:40],
    ],
)
def test_what_is_out_of_range_is_refused_and_touches_nothing(wrong: bytes) -> None:
    x = numbers(16)
    error, said = ask(wrong, x)
    assert error == 1, said
    assert x.tolist() == list(range(16))


# ---------------------------------------------------------------------------------------------------------- once


def test_what_depends_on_data_is_computed_once(device: str) -> None:
    x = torch.tensor([1.0, -1.0, 2.0, -2.0, 3.0], device=device)
    before = ops.runs(x)
    assert ops.positive(x).tolist() == [1, 2, 3]
    assert ops.runs(x) == before + 1
    assert ops.positive(x - 10).tolist() == []
    assert ops.runs(x) == before + 2


def test_an_out_argument_that_grows_is_computed_once_and_resized_here(device: str) -> None:
    out = torch.empty(0, device=device)
    assert ops.grow(numbers(9, device), 7, out=out) is out
    assert out.tolist() == list(range(7))
    base = torch.full((8,), -1.0, device=device)
    ops.grow(numbers(9, device), 4, out=base[::2])
    assert base.tolist() == [0, -1, 1, -1, 2, -1, 3, -1]


# ------------------------------------------------------------------------------------------------------ values


def test_plain_values_and_lists_are_passed_on_and_returned(device: str) -> None:
    x, other = numbers(3, device), torch.full((2,), 5.0, device=device)
    flag, number, total, tensor, tensors = ops.kinds(x, True, 4, [0.5, 0.25], "abc", [True, False], None)
    assert (flag, number, total, tensor.tolist()) == (False, 7, 0.75, [0, 1, 2])
    assert [it.tolist() for it in tensors] == [[1, 2, 3], []]
    flag, number, total, tensor, _ = ops.kinds(x, False, None, [], None, [False, True], other)
    assert (flag, number, total, tensor.tolist()) == (True, -1, 0.0, [6, 6])
    assert str(tensor.device) == device


def test_a_tensor_without_a_meta_function_is_written_in_place(device: str) -> None:
    base = numbers(6, device)
    view = base[1::2]
    assert ops.increment_(view) is view
    assert base.tolist() == [0, 2, 2, 4, 4, 6]


def test_a_view_is_a_view(device: str) -> None:
    base = numbers(6, device)
    half = ops.half(base)
    half.fill_(9)
    assert base.tolist() == [9, 9, 9, 3, 4, 5]


def test_a_number_that_is_no_tensor_does_not_change_the_type(device: str) -> None:
    for x in (torch.tensor(2.0), torch.tensor(2.0, dtype=torch.float16), torch.ones(2)):
        expected = torch.special.hermite_polynomial_h(x.float(), 3)
        result = torch.special.hermite_polynomial_h(x.float().to(device), 3)
        assert result.dtype == expected.dtype
        torch.testing.assert_close(result.cpu(), expected)


# ------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("index", IndexError),
        ("value", ValueError),
        ("type", TypeError),
        ("none", NotImplementedError),
        ("", RuntimeError),
    ],
)
def test_an_error_says_operator_device_and_what_the_device_says(device: str, kind: str, error: type[Exception]) -> None:
    with pytest.raises(error) as caught:
        ops.fail(numbers(3, device), kind)
    assert type(caught.value) is error
    assert f"openreg: 'test_fallback::fail' failed on {device}: no luck with [3]" in str(caught.value)
    assert (numbers(2, device) + 1).tolist() == [1, 2]


def test_an_operator_that_the_device_does_not_know_is_named() -> None:
    define("here_only(Tensor self) -> Tensor", lambda x: x + 1)
    with pytest.raises(
        NotImplementedError, match=r"'test_fallback::here_only' failed on openreg:0: its PyTorch has no op"
    ):
        ops.here_only(numbers(2))


def test_a_call_with_too_many_tensors_is_refused_before_anything_is_done() -> None:
    many = [numbers(2) for _ in range(64)]
    with pytest.raises(NotImplementedError, match=r"takes \d+ bytes and 65 pointers .* room for 4096 and 64"):
        ops.total(many)
    assert ops.total(many[:60]).tolist() == [0, 60]


def test_a_call_with_too_long_a_text_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"takes \d{4} bytes and 2 pointers"):
        ops.fail(numbers(1), "x" * 5000)


def test_results_whose_description_is_too_long_are_an_error() -> None:
    with pytest.raises(RuntimeError, match=r"description of its results has \d+ bytes; there is room for 16384"):
        ops.pieces(numbers(1000))


def test_a_failed_call_leaves_nothing_behind() -> None:
    for _ in range(3):
        with pytest.raises(RuntimeError):
            ops.fail(numbers(3), "")


def test_calls_of_two_threads_do_not_mix() -> None:
    def work(index: int) -> Any:
        x = torch.full((index + 1,), float(index), device=f"openreg:{index % 2}")
        return [ops.positive(x + 1).tolist() for _ in range(20)]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, range(8)))
    assert results == [[[index + 1.0] * (index + 1)] * 20 for index in range(8)]
