"""Tensors: factories, views, resize_, set_, storages, elements, printing, serialisation; and where memory goes."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from .conftest import ProgramFunction, memory_in_use
from .test_copy import FLOAT8, TYPES, error_of, name, raw, values

# ---------------------------------------------------------------------------------------------------------- factories


@pytest.mark.parametrize("dtype", TYPES, ids=name)
def test_empty_makes_every_type(device: str, dtype: torch.dtype) -> None:
    x = torch.empty(2, 3, dtype=dtype, device=device)
    assert (str(x.device), x.dtype, x.shape, x.stride(), x.is_openreg) == (device, dtype, (2, 3), (3, 1), True)
    x.copy_(values(6, dtype).view(2, 3))
    assert raw(x.cpu()) == raw(values(6, dtype))


FACTORIES: dict[str, Callable[[str], torch.Tensor]] = {
    "empty": lambda device: torch.empty(2, 3, 4, 5, device=device),
    "empty, 0-d": lambda device: torch.empty((), device=device),
    "empty, nothing": lambda device: torch.empty(0, device=device),
    "empty, no row": lambda device: torch.empty(3, 0, 2, device=device),
    "empty, channels last": lambda device: torch.empty(2, 3, 4, 5, device=device, memory_format=torch.channels_last),
    "empty, channels last 3-d": lambda device: torch.empty(
        2, 3, 4, 5, 6, device=device, memory_format=torch.channels_last_3d
    ),
    "empty_strided": lambda device: torch.empty_strided((2, 3), (1, 4), device=device),
    "empty_strided, expanded": lambda device: torch.empty_strided((2, 3), (0, 1), device=device),
    "empty_strided, 0-d": lambda device: torch.empty_strided((), (), device=device),
    "empty_like": lambda device: torch.empty_like(torch.empty(2, 3, device=device).t()),
    "empty_like of the CPU's": lambda device: torch.empty_like(torch.empty(2, 3, dtype=torch.int8), device=device),
    "empty_like, channels last": lambda device: torch.empty_like(
        torch.empty(2, 3, 4, 5, device=device), memory_format=torch.channels_last
    ),
    "new_empty": lambda device: torch.empty(1, dtype=torch.int16, device=device).new_empty(2, 3),
    "new_empty_strided": lambda device: torch.empty(1, device=device).new_empty_strided((2, 3), (7, 2)),
    "empty_permuted": lambda device: torch.empty_permuted((2, 3, 4), (2, 0, 1), device=device),
    "default type": lambda device: torch.empty(3, dtype=None, device=device),
}


@pytest.mark.parametrize("factory", FACTORIES)
def test_a_factory_of_unset_memory_gives_the_cpu_shape(device: str, factory: str) -> None:
    make = FACTORIES[factory]
    got, expected = make(device), make("cpu")
    assert str(got.device) == device
    assert (got.shape, got.stride(), got.dtype) == (expected.shape, expected.stride(), expected.dtype)
    assert got.untyped_storage().nbytes() == expected.untyped_storage().nbytes()
    assert got.layout == torch.strided
    assert not got.requires_grad


FILLED: dict[str, Callable[[str], torch.Tensor]] = {
    "zeros": lambda device: torch.zeros(2, 3, device=device),
    "ones": lambda device: torch.ones(2, 3, dtype=torch.int64, device=device),
    "full": lambda device: torch.full((2, 3), 2.5, device=device),
    "full, bool": lambda device: torch.full((2,), True, device=device),
    "arange": lambda device: torch.arange(1, 9, 2, device=device),
    "arange, float": lambda device: torch.arange(0.0, 1.0, 0.25, device=device),
    "linspace": lambda device: torch.linspace(0, 1, 5, device=device),
    "logspace": lambda device: torch.logspace(0, 2, 3, device=device),
    "eye": lambda device: torch.eye(3, 4, device=device),
    "tensor": lambda device: torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=device),
    "tensor, a number": lambda device: torch.tensor(7, device=device),
    "tensor, complex": lambda device: torch.tensor([1 + 2j], device=device),
    "as_tensor": lambda device: torch.as_tensor([1, 2, 3], device=device),
    "scalar_tensor": lambda device: torch.scalar_tensor(4.0, device=device),
    "zeros_like": lambda device: torch.zeros_like(torch.empty(3, device=device)),
    "new_tensor": lambda device: torch.empty(1, device=device).new_tensor([5, 6]),
    "new_full": lambda device: torch.empty(1, device=device).new_full((2,), 3.0),
    "tril_indices": lambda device: torch.tril_indices(3, 3, device=device),
    "hann_window": lambda device: torch.hann_window(5, device=device),
    "complex": lambda device: torch.complex(torch.ones(2, device=device), torch.zeros(2, device=device)),
}


@pytest.mark.parametrize("factory", FILLED)
def test_a_filling_factory_gives_the_cpu_values(device: str, factory: str) -> None:
    make = FILLED[factory]
    got = make(device)
    expected = make("cpu")
    assert str(got.device) == device
    assert (got.dtype, got.stride()) == (expected.dtype, expected.stride())
    # The last bit of a cosine may differ; from 1 on, the next number of this type is farther away than that.
    torch.testing.assert_close(got.cpu(), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("layout", [torch.sparse_coo, torch.sparse_csr])
def test_strides_are_for_strided_tensors(device: str, layout: torch.layout) -> None:
    with pytest.raises(
        NotImplementedError, match=f"empty_strided.*{'Csr' if layout == torch.sparse_csr else 'Sparse'}"
    ):
        torch.empty_strided((2, 2), (2, 1), layout=layout, device=device)


@pytest.mark.parametrize("make", [torch.empty, lambda size, **options: torch.empty_strided((size,), (1,), **options)])
def test_device_memory_cannot_be_pinned(device: str, make: Callable[..., torch.Tensor]) -> None:
    with pytest.raises(RuntimeError, match=r"^empty\w*: only dense CPU tensors can be pinned"):
        make(2, device=device, pin_memory=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda device: torch.empty(-1, device=device),
        lambda device: torch.empty(2, 3, device=device, memory_format=torch.channels_last),
        lambda device: torch.empty_strided((2, 3), (1,), device=device),
        lambda device: torch.empty_strided((2, 3), (1, -1), device=device),
        lambda device: torch.empty(1 << 40, 1 << 40, device=device),
    ],
    ids=["negative size", "format of other dimensions", "too few strides", "negative stride", "overflow"],
)
def test_what_the_cpu_refuses_is_refused_with_the_same_text(device: str, make: Callable[[str], torch.Tensor]) -> None:
    assert error_of(lambda: make(device)) == error_of(lambda: make("cpu"))


@pytest.mark.usefixtures("puts_back")
def test_deterministic_mode_fills_new_memory(device: str) -> None:
    torch.use_deterministic_algorithms(True)
    for dtype in (torch.float32, torch.float16, torch.complex64, torch.int32, torch.uint8, torch.bool):
        assert raw(torch.empty(4, dtype=dtype, device=device).cpu()) == raw(torch.empty(4, dtype=dtype))
        strided = [torch.empty_strided((2, 2), (1, 2), dtype=dtype, device=where) for where in (device, "cpu")]
        assert raw(strided[0].cpu()) == raw(strided[1])
        grown = [torch.zeros(2, dtype=dtype).to(where).resize_(5) for where in (device, "cpu")]
        assert raw(grown[0].cpu()) == raw(grown[1])


# -------------------------------------------------------------------------------------------------------------- views

VIEWS: dict[str, Callable[[torch.Tensor], object]] = {
    "view": lambda x: x.view(6, 4),
    "view, inferred": lambda x: x.view(2, -1),
    "view of another type": lambda x: x.view(torch.int32),
    "view of a narrower type": lambda x: x.view(torch.int16),
    "view of a wider type": lambda x: x.view(torch.int64),
    "view_as": lambda x: x.view_as(torch.empty(4, 6)),
    "reshape": lambda x: x.reshape(12, 2),
    "reshape of a strided tensor": lambda x: x[:, ::2].reshape(2, 2, 2, 2),
    "_reshape_alias": lambda x: torch.ops.aten._reshape_alias(x, (4, 6), (6, 1)),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (2, 2)),
    "as_strided": lambda x: x.as_strided((3, 2), (7, 2), 1),
    "as_strided of a view": lambda x: x[1].as_strided((2, 2), (2, 1)),
    "index": lambda x: x[1],
    "slice": lambda x: x[:, 1:3, ::2],
    "newaxis and ellipsis": lambda x: x[..., None, 1],
    "select": lambda x: x.select(2, 3),
    "narrow": lambda x: x.narrow(1, 1, 2),
    "transpose": lambda x: x.transpose(0, 2),
    "permute": lambda x: x.permute(2, 0, 1),
    "movedim": lambda x: x.movedim(0, 2),
    "mT": lambda x: x.mT,
    "squeeze": lambda x: x[:1].squeeze(),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "expand": lambda x: x[:, :, :1].expand(2, 3, 5),
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "unfold": lambda x: x.unfold(2, 2, 1),
    "split": lambda x: x.split(2, dim=1),
    "split in sizes": lambda x: x.split([1, 3], dim=2),
    "tensor_split": lambda x: x.tensor_split(3, dim=2),
    "chunk": lambda x: x.chunk(2, dim=2),
    "unbind": lambda x: x.unbind(1),
    "hsplit": lambda x: x.hsplit(3),
    "view_as_complex": lambda x: torch.view_as_complex(x.view(2, 3, 2, 2)),
    "view_as_real": lambda x: torch.view_as_real(torch.view_as_complex(x.view(2, 3, 2, 2))),
    "real": lambda x: torch.view_as_complex(x.view(12, 2)).real,
    "imag": lambda x: torch.view_as_complex(x.view(12, 2)).imag,
    "imag of a conjugate": lambda x: torch.view_as_complex(x.view(12, 2)).conj().imag,
    "detach": lambda x: x.detach(),
    "data": lambda x: x.data,
    "alias": lambda x: torch.ops.aten.alias(x),
    "view of nothing": lambda x: x[:0].view(0, 12),
}


def tensors(result: object) -> list[torch.Tensor]:
    """One view or several as a list."""
    return [result] if isinstance(result, torch.Tensor) else list(result)


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_aliases_its_base_as_on_the_cpu(device: str, view: str) -> None:
    reference = values(24, torch.float32).view(2, 3, 4)
    base = reference.to(device)
    expected, got = tensors(VIEWS[view](reference)), tensors(VIEWS[view](base))
    assert len(got) == len(expected)
    torch.openreg.reset_fallbacks()
    for mine, theirs in zip(got, expected, strict=True):
        assert str(mine.device) == device
        assert (mine.shape, mine.stride(), mine.storage_offset(), mine.dtype) == (
            theirs.shape,
            theirs.stride(),
            theirs.storage_offset(),
            theirs.dtype,
        )
        assert mine.untyped_storage().data_ptr() == base.untyped_storage().data_ptr()
        assert (mine.is_conj(), mine.is_neg()) == (theirs.is_conj(), theirs.is_neg())
        assert torch.equal(mine.cpu(), theirs)
        # An expanded tensor cannot be written to, and windows that overlap get values in no particular order.
        if view not in ("expand", "unfold"):
            written = values(theirs.numel(), theirs.dtype, 3).view(theirs.shape)
            theirs.copy_(written)
            mine.copy_(written)
    assert torch.equal(base.cpu(), reference), "the base does not show what was written through the view"
    assert torch.openreg.fallbacks() == {}


def test_a_view_sees_what_is_written_to_its_base(device: str) -> None:
    base = torch.zeros(4, 6).to(device)
    column = base[:, 2].unfold(0, 2, 2)
    base.copy_(values(24, torch.float32).view(4, 6))
    assert torch.equal(column.cpu(), values(24, torch.float32).view(4, 6)[:, 2].unfold(0, 2, 2))


def test_a_view_keeps_its_base_alive(device: str) -> None:
    before = memory_in_use()
    row = values(24, torch.float32).view(4, 6).to(device)[2]
    assert memory_in_use() != before
    assert torch.equal(row.cpu(), values(24, torch.float32).view(4, 6)[2])
    del row
    assert memory_in_use() == before


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t().view(24),
        lambda x: x.view(5, 5),
        lambda x: x.as_strided((100,), (1,)),
        lambda x: x.as_strided((2,), (-1,)),
        lambda x: x[:, :5].view(torch.complex64),
        lambda x: torch.view_as_complex(x),
        lambda x: torch.view_as_real(x),
        lambda x: x.unfold(0, 9, 1),
    ],
    ids=["stride", "size", "out of bounds", "negative stride", "wider type", "no pairs", "not complex", "too long"],
)
def test_a_view_that_cannot_be_is_refused_with_the_cpu_text(
    device: str, view: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    x = values(24, torch.float32).view(4, 6)
    on_device = x.to(device)
    assert error_of(lambda: view(on_device)) == error_of(lambda: view(x))


# ------------------------------------------------------------------------------------------------------------ resize_

RESIZES: dict[str, Callable[[torch.Tensor], object]] = {
    "larger": lambda x: x.resize_(5, 8),
    "smaller": lambda x: x.resize_(2, 3),
    "same number": lambda x: x.resize_(6, 4),
    "same sizes": lambda x: x.resize_(4, 6),
    "to 0-d": lambda x: x.resize_(()),
    "to nothing": lambda x: x.resize_(0),
    "to nothing and back": lambda x: x.resize_(3, 0).resize_(4, 6),
    "smaller and back": lambda x: x.resize_(3).resize_(4, 6),
    "channels last": lambda x: x.resize_(1, 2, 3, 4, memory_format=torch.channels_last),
    "with an offset": lambda x: x[2:].resize_(12),
    "with an offset, growing": lambda x: x[2:].resize_(20),
    "behind the end, to nothing": lambda x: x[4:].resize_(0, 7),
    "a transposed tensor to its own sizes": lambda x: x.t().resize_(6, 4),
    "a transposed tensor": lambda x: x.t().resize_(4, 6),
    "resize_as_": lambda x: x.resize_as_(torch.empty(3, 9, device=x.device)),
}


@pytest.mark.parametrize("resize", RESIZES)
def test_resize_keeps_what_was_there(device: str, resize: str) -> None:
    reference = values(24, torch.float32).view(4, 6)
    base = reference.to(device)
    expected = RESIZES[resize](reference)
    got = RESIZES[resize](base)
    assert isinstance(got, torch.Tensor)
    assert isinstance(expected, torch.Tensor)
    assert (got.shape, got.stride(), got.storage_offset()) == (
        expected.shape,
        expected.stride(),
        expected.storage_offset(),
    )
    assert got.untyped_storage().nbytes() == expected.untyped_storage().nbytes()
    kept = min(24 * 4, expected.untyped_storage().nbytes())
    storage = got.untyped_storage().cpu()
    assert bytes(storage)[:kept] == raw(expected)[:kept]


def test_resize_returns_the_tensor_itself(device: str) -> None:
    x = torch.empty(3, device=device)
    assert x.resize_(50) is x


def test_views_share_the_grown_storage(device: str) -> None:
    x = values(4, torch.float32).to(device)
    y = x[1:]
    x.resize_(100)
    assert y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert torch.equal(y.cpu(), values(4, torch.float32)[1:])


def test_growing_takes_new_memory_and_gives_the_old_back(device: str) -> None:
    index = torch.device(device).index
    before = memory_in_use()[index]
    x = torch.empty(1 << 10, dtype=torch.uint8, device=device).resize_(1 << 20)
    assert memory_in_use()[index] - before == 1 << 20
    x.resize_(0)  # shrinking keeps the memory, as on the CPU
    assert memory_in_use()[index] - before == 1 << 20


def test_a_resize_that_fails_changes_nothing(device: str) -> None:
    x = values(6, torch.float32).to(device)
    with pytest.raises(torch.OutOfMemoryError):
        x.resize_(1 << 40)
    with pytest.raises(RuntimeError, match="resize_: argument 'memory_format' is Preserve"):
        x.resize_(6, memory_format=torch.preserve_format)
    assert x.shape == (6,)
    assert torch.equal(x.cpu(), values(6, torch.float32))


@pytest.mark.parametrize(
    "resize",
    [lambda x: x.resize_(2, 2, memory_format=torch.channels_last), lambda x: x.resize_(1 << 62)],
    ids=["format", "overflow"],
)
def test_a_resize_that_cannot_be_is_refused_with_the_cpu_text(
    device: str, resize: Callable[[torch.Tensor], object]
) -> None:
    on_device, on_cpu = torch.empty(3, device=device), torch.empty(3)
    assert error_of(lambda: resize(on_device)) == error_of(lambda: resize(on_cpu))


def test_out_arguments_are_resized(device: str) -> None:
    out = torch.empty(0, device=device)
    torch.add(torch.ones(2, 3).to(device), 1, out=out)
    assert torch.equal(out.cpu(), torch.full((2, 3), 2.0))


# --------------------------------------------------------------------------------------------------------------- set_


def test_set_to_nothing(device: str) -> None:
    x = values(6, torch.float32).to(device)
    before = memory_in_use()
    assert x.set_() is x
    assert (x.shape, str(x.device), x.untyped_storage().nbytes()) == ((0,), device, 0)
    assert memory_in_use() != before
    x.resize_(3)
    assert str(x.device) == device


def test_set_to_a_tensor_shares_its_memory(device: str) -> None:
    source = values(24, torch.float32).view(4, 6).to(device)
    x = torch.empty(0, device=device)
    x.set_(source.t()[2:])
    assert (x.shape, x.stride(), x.storage_offset()) == ((4, 4), (1, 6), 2)
    x.copy_(torch.zeros(4, 4))
    assert source.cpu().sum() == source.cpu()[:, :2].sum()


def test_set_to_a_storage_takes_all_of_it(device: str) -> None:
    source = values(24, torch.float32).to(device)
    x = torch.empty(0, dtype=torch.int16, device=device)
    x.set_(source.untyped_storage())
    assert x.shape == (48,)
    assert torch.equal(x.cpu(), values(24, torch.float32).view(torch.int16))


def test_set_to_a_part_of_a_storage(device: str) -> None:
    source = values(24, torch.float32).to(device)
    x = torch.empty(0, device=device)
    x.set_(source.untyped_storage(), 3, (4, 2), (5, 1))
    assert torch.equal(x.cpu(), values(24, torch.float32).as_strided((4, 2), (5, 1), 3))
    x.set_(source.untyped_storage(), 2, (3, 3))
    assert torch.equal(x.cpu(), values(24, torch.float32)[2:11].view(3, 3))
    x.set_(source, 1, (2,), (2,))
    assert torch.equal(x.cpu(), values(24, torch.float32).as_strided((2,), (2,), 1))


def test_set_grows_a_storage_that_is_too_short(device: str) -> None:
    source = values(4, torch.float32).to(device)
    x = torch.empty(0, device=device)
    x.set_(source.untyped_storage(), 2, (3, 5), (8, 1))
    assert source.untyped_storage().nbytes() == (2 + 16 + 5) * 4
    assert source.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
    assert torch.equal(source.cpu(), values(4, torch.float32))


def test_set_to_no_element_needs_no_memory(device: str) -> None:
    source = values(4, torch.float32).to(device)
    torch.empty(0, device=device).set_(source.untyped_storage(), 100, (0, 5), (5, 1))
    assert source.untyped_storage().nbytes() == 16


@pytest.mark.parametrize(
    "call",
    [
        lambda x, s: x.set_(s, -1, (2,), (1,)),
        lambda x, s: x.set_(s, 0, (2, 2), (1,)),
        lambda x, s: x.set_(s, 0, (2,), (-1,)),
        lambda x, s: x.set_(torch.empty(3, dtype=torch.int8, device=x.device)),
    ],
    ids=["negative offset", "too few strides", "negative stride", "another type"],
)
def test_a_set_that_cannot_be_is_refused_with_the_cpu_text(
    device: str, call: Callable[[torch.Tensor, torch.UntypedStorage], object]
) -> None:
    texts = []
    for where in (device, "cpu"):
        x, source = torch.empty(3, device=where), torch.empty(8, device=where)
        texts.append(error_of(lambda x=x, source=source: call(x, source.untyped_storage())))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("source", ["cpu", "openreg:0", "openreg:1"])
def test_set_to_memory_of_another_device_is_refused(device: str, source: str) -> None:
    if source == device:
        return
    x, other = torch.empty(3, device=device), torch.empty(3, device=source)
    for call in (lambda: x.set_(other), lambda: x.set_(other.untyped_storage())):
        assert str(torch.device(source)) in error_of(call)
    assert x.shape == (3,)
    assert str(x.untyped_storage().device) == device


def test_data_can_be_exchanged(device: str) -> None:
    parameter = torch.nn.Parameter(torch.zeros(3).to(device))
    parameter.data = values(6, torch.float32).to(device)
    assert torch.equal(parameter.detach().cpu(), values(6, torch.float32))


# ----------------------------------------------------------------------------------------------------------- storages


def test_a_storage_tells_where_it_is(device: str) -> None:
    storage = torch.empty(5, dtype=torch.int16, device=device).untyped_storage()
    assert (str(storage.device), storage.nbytes(), storage.is_openreg) == (device, 10, True)
    assert storage.resizable()


def test_a_storage_can_be_made_alone(device: str) -> None:
    storage = torch.UntypedStorage(16, device=device)
    assert (str(storage.device), storage.nbytes()) == (device, 16)
    assert torch.UntypedStorage(0, device=device).nbytes() == 0


def test_storages_travel(device: str, other_device: str) -> None:
    x = values(8, torch.float32)
    storage = x.to(device).untyped_storage()
    assert bytes(storage.cpu()) == raw(x)
    assert bytes(storage.clone().cpu()) == raw(x)
    assert str(storage.clone().device) == device
    moved = storage.to(device=torch.device(other_device))
    assert str(moved.device) == other_device
    assert bytes(moved.cpu()) == raw(x)
    assert str(x.untyped_storage().openreg().device) == "openreg:0"
    assert bytes(x.untyped_storage().openreg().cpu()) == raw(x)
    assert bytes(x.untyped_storage().openreg(torch.device(device)).cpu()) == raw(x)
    target = torch.UntypedStorage(32, device=device)
    assert bytes(target.copy_(x.untyped_storage()).cpu()) == raw(x)
    assert bytes(torch.UntypedStorage(32).copy_(storage)) == raw(x)
    assert storage.tolist() == list(raw(x))


def test_typed_storages_travel(device: str) -> None:
    x = values(8, torch.float32).to(device)
    storage = x._typed_storage()
    assert (storage.dtype, len(storage)) == (torch.float32, 8)
    assert storage.cpu().tolist() == values(8, torch.float32).tolist()
    assert storage[3] == x[3].item()


def test_two_tensors_know_that_they_share_a_storage(device: str) -> None:
    x = torch.empty(4, device=device)
    assert x[1:].untyped_storage()._cdata == x.untyped_storage()._cdata
    assert x.is_set_to(x)
    assert not x.is_set_to(x[1:])
    assert torch._C._is_alias_of(x, x[2:])
    assert not torch._C._is_alias_of(x, x.clone())


@pytest.mark.parametrize("size", [0, 8, 16, 4096])
def test_a_storage_is_resized_by_the_hooks(device: str, size: int) -> None:
    x = values(4, torch.float32).to(device)
    storage = x.untyped_storage()
    storage.resize_(size)
    assert storage.nbytes() == size
    kept = min(size, 16)
    assert bytes(storage.cpu())[:kept] == raw(values(4, torch.float32))[:kept]


def test_a_storage_gives_its_memory_back_when_it_is_resized_to_nothing(device: str) -> None:
    # This is how FSDP frees parameters that it has gathered.
    before = memory_in_use()
    x = torch.empty(1 << 20, device=device)
    x.untyped_storage().resize_(0)
    assert memory_in_use() == before


def test_memory_that_somebody_else_owns_cannot_be_resized(device: str) -> None:
    x = values(4, torch.float32).to(device)
    borrowed = torch.utils.dlpack.from_dlpack(x.__dlpack__())
    assert borrowed.data_ptr() == x.data_ptr()
    for call in (
        lambda: borrowed.resize_(100),
        lambda: borrowed.untyped_storage().resize_(100),
        lambda: torch.empty(0, device=device).set_(borrowed.untyped_storage(), 0, (100,)),
    ):
        assert "Trying to resize storage that is not resizable" in error_of(call)
    assert torch.equal(x.cpu(), values(4, torch.float32))


# ---------------------------------------------------------------------------------------------------- single elements


@pytest.mark.parametrize("dtype", TYPES, ids=name)
def test_item_of_every_type(device: str, dtype: torch.dtype) -> None:
    x = values(6, dtype)
    y = x.to(device)
    for index in range(6):
        assert y[index].item() == x[index].item()
        assert type(y[index].item()) is type(x[index].item())
    if dtype not in FLOAT8 and dtype != torch.complex32:
        assert y.view(2, 3).t().tolist() == x.view(2, 3).t().tolist()


def test_item_honours_lazy_bits(device: str) -> None:
    x = torch.tensor([1 + 2j, 3 + 4j])
    y = x.to(device)
    assert y.conj()[1].item() == 3 - 4j
    assert y.conj().imag[0].item() == -2
    assert y.conj().tolist() == [1 - 2j, 3 - 4j]


def test_numbers_come_out_as_python_wants_them(device: str) -> None:
    x = torch.tensor([0.0, 2.5]).to(device)
    assert not x[0]
    assert bool(x[1]) is True
    assert int(x[1]) == 2
    assert float(x[1]) == 2.5
    assert complex(x[1]) == 2.5
    assert ["a", "b", "c"][torch.tensor(2).to(device)] == "c"
    assert f"{x[1]:.2f}" == "2.50"
    assert list(range(5))[: torch.tensor(3).to(device)] == [0, 1, 2]


@pytest.mark.parametrize("shape", [(2,), (0,), (2, 2)])
def test_item_of_more_or_less_than_one_element_is_refused_with_the_cpu_text(
    device: str, shape: tuple[int, ...]
) -> None:
    x = torch.ones(shape)
    on_device = x.to(device)
    assert error_of(on_device.item) == error_of(x.item)
    assert error_of(lambda: bool(on_device)) == error_of(lambda: bool(x)) if shape != (0,) else True


# ----------------------------------------------------------------------------------------------------------- printing

PRINTED: dict[str, torch.Tensor] = {
    "floats": torch.tensor([[1.0, -2.5], [1e-3, 4.0]]),
    "scientific": torch.tensor([1e-10, 1e10]),
    "special": torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0]),
    "integers": torch.arange(12).view(3, 4),
    "bools": torch.tensor([True, False]),
    "half": torch.tensor([0.5, 1.5], dtype=torch.float16),
    "bfloat16": torch.tensor([0.5, 1.5], dtype=torch.bfloat16),
    "float8": torch.tensor([0.5, 1.5]).to(torch.float8_e4m3fn),
    "complex": torch.tensor([1 + 2j, 3.5 - 4j]),
    "uint16": torch.arange(3).to(torch.uint16),
    "0-d": torch.tensor(3.25),
    "nothing": torch.empty(0, 3),
    "long": torch.arange(3000),
    "strided": torch.arange(12.0).view(3, 4).t()[::2],
    "conjugate": torch.tensor([1 + 2j]).conj(),
    "leaf": torch.tensor([1.0, 2.0], requires_grad=True),
}


@pytest.mark.parametrize("tensor", PRINTED)
def test_a_tensor_prints_as_on_the_cpu_but_for_its_device(device: str, tensor: str) -> None:
    x = PRINTED[tensor]
    y = x.detach().to(device).requires_grad_(x.requires_grad)
    printed = " ".join(str(y).split())
    assert f"device='{device}'" in printed
    assert printed.replace(f", device='{device}'", "").replace(f"device='{device}', ", "") == " ".join(str(x).split())


def test_a_module_prints_its_parameters(device: str) -> None:
    assert f"device='{device}'" in repr(torch.nn.Linear(1, 1).to(device).bias)


# ------------------------------------------------------------------------------------------------------ serialisation


def round_trip(value: object, **options: object) -> object:
    """torch.save and torch.load."""
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)


def test_deepcopy_copies_and_keeps_sharing(device: str) -> None:
    x = values(24, torch.float32).view(4, 6).to(device)
    both = copy.deepcopy([x, x[1]])
    assert str(both[0].device) == str(both[1].device) == device
    first, second = (tensor.untyped_storage().data_ptr() for tensor in both)
    assert first == second != x.untyped_storage().data_ptr()
    assert torch.equal(both[0].cpu(), x.cpu())
    assert torch.equal(copy.deepcopy(x.t()).cpu(), x.cpu().t())
    assert str(copy.deepcopy(torch.nn.Linear(2, 2).to(device)).weight.device) == device


@pytest.mark.parametrize("dtype", TYPES, ids=name)
def test_pickle_and_save_keep_values_type_and_device(device: str, dtype: torch.dtype) -> None:
    x = values(6, dtype).to(device)
    loaded = [round_trip(x)]
    if dtype not in FLOAT8 and dtype not in (torch.complex32, torch.uint16, torch.uint32, torch.uint64):
        loaded.append(pickle.loads(pickle.dumps(x)))  # of the others the CPU's tensors cannot be pickled either
    for y in loaded:
        assert isinstance(y, torch.Tensor)
        assert (str(y.device), y.dtype) == (device, dtype)
        assert raw(y.cpu()) == raw(x.cpu())


def test_save_keeps_strides_sharing_and_lazy_bits(device: str) -> None:
    x = values(24, torch.complex64).view(4, 6).to(device)
    loaded = round_trip({"t": x.t(), "row": x[2], "conj": x.conj()})
    assert isinstance(loaded, dict)
    assert loaded["t"].stride() == (1, 6)
    assert loaded["t"].untyped_storage().data_ptr() == loaded["row"].untyped_storage().data_ptr()
    assert loaded["conj"].is_conj()
    for key, expected in {"t": x.t(), "row": x[2], "conj": x.conj()}.items():
        assert torch.equal(loaded[key].cpu(), expected.cpu())


@pytest.mark.parametrize("source", ["cpu", "openreg:0", "openreg:1"])
@pytest.mark.parametrize("target", ["cpu", "openreg:0", "openreg:1"])
def test_load_maps_between_devices(source: str, target: str) -> None:
    x = values(6, torch.float32).to(source)
    for location in (target, torch.device(target), {source: target}, lambda storage, _: storage.to(device=target)):
        y = round_trip(x, map_location=location)
        assert isinstance(y, torch.Tensor)
        assert str(y.device) == target
        assert torch.equal(y.cpu(), x.cpu())


def test_load_from_a_file_mapped_into_memory(device: str, tmp_path: Path) -> None:
    torch.save({"x": values(6, torch.float32).to(device)}, tmp_path / "file.pt")
    loaded = torch.load(tmp_path / "file.pt", mmap=True, map_location="cpu")
    assert torch.equal(loaded["x"], values(6, torch.float32))
    assert torch.equal(torch.load(tmp_path / "file.pt")["x"].cpu(), values(6, torch.float32))


def test_load_on_a_device_that_is_not_there_says_so(device: str) -> None:
    text = error_of(lambda: round_trip(torch.ones(2), map_location="openreg:7"))
    assert "7" in text
    assert "openreg" in text


def test_a_module_moves_there_and_back(device: str) -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    before = {key: value.clone() for key, value in module.state_dict().items()}
    moved = module.to(device)
    assert moved is module
    assert {str(value.device) for value in module.state_dict().values()} == {device}
    loaded = round_trip(module.state_dict(), map_location="cpu")
    assert isinstance(loaded, dict)
    module.half().float().cpu()
    for key, value in module.state_dict().items():
        assert torch.equal(loaded[key], before[key])
        assert torch.equal(value, before[key].half().float() if value.is_floating_point() else before[key])
    other = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4)).openreg(torch.device(device))
    other.load_state_dict(loaded)
    assert all(torch.equal(value.cpu(), before[key]) for key, value in other.state_dict().items())


# ------------------------------------------------------------------------------------------------------------- memory


def test_memory_comes_back_when_tensors_die(device: str) -> None:
    before = memory_in_use()
    index = torch.device(device).index
    kept = [torch.empty(1 << 16, dtype=torch.uint8, device=device) for _ in range(10)]
    assert memory_in_use()[index] - before[index] == 10 << 16
    del kept[::2]
    assert memory_in_use()[index] - before[index] == 5 << 16
    kept.clear()
    assert memory_in_use() == before


def test_memory_comes_back_when_an_exception_passes(device: str) -> None:
    before = memory_in_use()

    def fail() -> None:
        kept = torch.empty(1 << 20, device=device)
        raise KeyError(kept.shape)

    with pytest.raises(KeyError):
        fail()
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 20, device=device).resize_(1 << 40)
    with pytest.raises(RuntimeError):
        torch.empty(4, device=device).copy_(torch.empty(3, device=device).to(torch.int64))
    assert memory_in_use() == before


def test_a_tensor_of_no_element_takes_no_memory(device: str) -> None:
    before = memory_in_use()
    x = torch.empty(0, 5, device=device)
    assert memory_in_use() == before
    assert x.data_ptr() == 0


def test_new_memory_is_aligned(device: str) -> None:
    kept = [torch.empty(size, dtype=torch.uint8, device=device) for size in (1, 3, 100, 1000)]
    assert all(x.data_ptr() % 64 == 0 for x in kept)


@pytest.mark.parametrize("made", ["empty(2, ", "empty_strided((2,), (1,), "])
def test_complex_numbers_of_halves_come_with_pytorchs_warning(program: ProgramFunction, made: str) -> None:
    """It comes once in a process: from here where there is no tensor of the CPU."""
    said = program(f"""
import torch
for _ in range(2):
    torch.{made}dtype=torch.complex32, device="openreg")
""")
    assert said.count("ComplexHalf support is experimental and many operators don't support it yet.") == 1
