"""Pinned memory: the allocator and its cache, copies that don't wait, DataLoader, forks, failures and the end."""

from __future__ import annotations

import gc
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from contract.harness import Call
from torch.utils.data import DataLoader, Dataset

from .conftest import GateFunction, ProgramFunction
from .simulator import sim
from .test_copy import CASES, TYPES, any_bits, raw, values

MiB = 1 << 20
STAGED = MiB  # the most that is staged when the source is pageable


def index_of(device: str) -> int:
    """The number in a device's name."""
    return torch.device(device).index


def pinned(*size: int, value: float = 0.0) -> torch.Tensor:
    """A pinned tensor."""
    return torch.full(size, float(value), pin_memory=True)


def stat(name: str) -> float:
    """One of the statistics."""
    return torch.openreg.host_memory_stats()[name]


@pytest.fixture(autouse=True)
def nothing_stays_in_use() -> Iterator[None]:
    """Each test begins with an empty cache, and gives back every block it has used."""
    torch.empty(0, device="openreg")  # before the first, empty_host_cache does nothing
    if stat("active_requests.current"):
        gc.collect()  # what an earlier test file has left in cycles would else be given back in the middle
    for index in range(torch.openreg.device_count()):
        torch.openreg.synchronize(index)
    torch.accelerator.empty_host_cache()
    before = stat("active_requests.current"), stat("allocations.current")
    yield
    for index in range(torch.openreg.device_count()):
        torch.openreg.synchronize(index)
    torch.accelerator.empty_host_cache()
    if stat("active_requests.current") != before[0]:
        gc.collect()  # an exception's traceback may hold a tensor
        torch.accelerator.empty_host_cache()
    assert (stat("active_requests.current"), stat("allocations.current")) == before


# ------------------------------------------------------------------------------------------------- pinning and asking


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental")
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_a_pinned_tensor_has_the_values_of_its_source(dtype: torch.dtype) -> None:
    source = any_bits(24, dtype).view(4, 6)
    got = source.pin_memory()
    assert got.is_pinned() and not source.is_pinned() and got.device.type == "cpu"
    assert raw(got) == raw(source.clone())


@pytest.mark.parametrize(
    "view",
    [
        lambda base: base.view(4, 6).t(),
        lambda base: base[3:],
        lambda base: base[::5],
        lambda base: base[7],
        lambda base: base[:0],
    ],
    ids=["transposed", "offset", "gaps", "0-d", "empty"],
)
def test_every_layout_can_be_pinned(view: Callable[[torch.Tensor], torch.Tensor]) -> None:
    source = view(torch.arange(24.0))
    got = source.pin_memory()
    assert torch.equal(got, source)
    assert got.is_pinned() is (source.numel() > 0)


def test_an_expanded_tensor_must_be_made_contiguous_first() -> None:
    # PyTorch gives the pinned copy the strides of its source.
    text = (
        r"^unsupported operation: more than one element of the written-to tensor refers to a single memory location\. "
        r"Please clone\(\) the tensor before performing the operation\."
    )
    with pytest.raises(RuntimeError, match=text):
        torch.ones(1).expand(4, 4).pin_memory()


def test_pinning_twice_returns_the_same_tensor() -> None:
    x = torch.ones(3).pin_memory()
    assert x.pin_memory() is x or x.pin_memory().data_ptr() == x.data_ptr()


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.empty(5, pin_memory=True),
        lambda: torch.zeros(5, pin_memory=True),
        lambda: torch.full((5,), 2.0, pin_memory=True),
        lambda: torch.arange(5, pin_memory=True),
        lambda: torch.rand(5, pin_memory=True),
        lambda: torch.tensor([1, 2, 3], pin_memory=True),
        lambda: torch.empty_strided((2, 3), (1, 2), pin_memory=True),
        lambda: torch.empty_like(torch.ones(2, 3), pin_memory=True),
        lambda: torch.ones(2, 3).new_empty(4, pin_memory=True),
        lambda: torch.ones(5).untyped_storage().pin_memory(),
        lambda: torch.ones(5, device="openreg:1").to("cpu", non_blocking=True),
    ],
    ids=["empty", "zeros", "full", "arange", "rand", "tensor", "strided", "like", "new", "storage", "to"],
)
def test_pinned_memory_is_made_by(make: Callable[[], Any]) -> None:
    assert make().is_pinned()


def test_parts_of_a_pinned_tensor_are_pinned() -> None:
    x = torch.arange(24.0).pin_memory()
    assert x[5:].is_pinned() and x.view(4, 6)[:, 2].is_pinned() and x.numpy().ctypes.data == x.data_ptr()
    assert torch.from_numpy(x.numpy()[7:]).is_pinned(), "an address in the middle of the block"
    assert not x.clone().is_pinned() and not (x + 1).is_pinned()


def test_asking_about_pageable_memory_starts_nothing(program: ProgramFunction) -> None:
    code = """
    before = len(os.listdir("/proc/self/task"))
    print(torch.ones(2).is_pinned(), torch.from_numpy(torch.ones(2).numpy()).is_pinned())
    print(torch._C._len_torch_function_stack() == 0, torch.openreg.is_initialized())
    print([sim.get("orDeviceGetState", i) for i in (0, 1)], len(os.listdir("/proc/self/task")) == before)
    torch.ones(2, device="openreg:1")
    print(torch.ones(2).is_pinned(), [sim.get("orDeviceGetState", i) for i in (0, 1)])
    """
    assert program(code).splitlines() == ["False False", "True False", "[0, 0] True", "False [0, 1]"]


@pytest.mark.parametrize("question", [torch.Tensor.is_pinned, torch.Tensor.pin_memory], ids=["is_pinned", "pin_memory"])
def test_the_device_argument_is_deprecated_and_still_taken(question: Callable[..., Any]) -> None:
    x = torch.ones(3).pin_memory()
    text = r"The argument 'device' of Tensor\.\w+\(\) is deprecated\. Please do not pass this argument\."
    with pytest.warns(DeprecationWarning, match=text):
        assert question(x, "openreg") is not None


def test_pinned_means_pinned_for_this_accelerator() -> None:
    x = torch.ones(3).pin_memory()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert x.is_pinned("openreg") and x.is_pinned("openreg:1")
        assert not x.is_pinned("cuda") and not x.is_pinned("cpu")


def test_device_memory_is_neither_pinned_nor_can_be(device: str) -> None:
    x = torch.ones(3, device=device)
    assert not x.is_pinned()
    with pytest.raises(RuntimeError, match="cannot pin 'openregFloatType' only dense CPU tensors can be pinned"):
        x.pin_memory()


def test_pinning_wakes_no_device_beside_the_one_in_use(program: ProgramFunction) -> None:
    code = """
    x = torch.ones(2, device="openreg:1")
    made = Call(lambda: (torch.openreg.current_device(), torch.ones(2).pin_memory())).result()
    print(made[0], made[1].is_pinned(), [sim.get("orDeviceGetState", i) for i in (0, 1)])
    """
    assert program(code).splitlines() == ["0 True [0, 1]"]


def test_the_first_pinned_tensor_needs_no_device_tensor_before_it(program: ProgramFunction) -> None:
    code = """
    torch.openreg.set_device(1)
    print(torch.ones(2).pin_memory().is_pinned(), [sim.get("orDeviceGetState", i) for i in (0, 1)])
    """
    assert program(code).splitlines() == ["True [0, 1]"]


# ---------------------------------------------------------------------------------------------------------- the cache


def test_a_freed_block_is_given_out_again_without_asking_the_driver() -> None:
    x = torch.empty(1000, pin_memory=True)
    where, calls = x.data_ptr(), stat("num_host_alloc")
    del x
    y = torch.empty(800, pin_memory=True)  # of 4096 bytes, too
    assert y.data_ptr() == where and stat("num_host_alloc") == calls
    assert torch.empty(800, pin_memory=True).data_ptr() != where


def test_statistics_follow_each_block() -> None:
    torch.openreg.reset_accumulated_host_memory_stats()
    torch.openreg.reset_peak_host_memory_stats()
    x, y = (torch.empty(bytes_, dtype=torch.uint8, pin_memory=True) for bytes_ in (1000, 5000))
    now = torch.openreg.host_memory_stats()
    assert (now["allocations.current"], now["allocated_bytes.current"]) == (2, 1024 + 8192)
    assert (now["active_requests.current"], now["active_bytes.current"]) == (2, 1024 + 8192)
    assert (now["num_host_alloc"], now["num_host_free"]) == (2, 0)
    assert now["host_alloc_time.count"] == 2 and now["host_alloc_time.avg"] == now["host_alloc_time.total"] / 2
    del x
    now = torch.openreg.host_memory_stats()
    assert (now["allocations.current"], now["active_requests.current"], now["active_bytes.current"]) == (2, 1, 8192)
    assert (now["active_bytes.peak"], now["active_bytes.allocated"], now["active_bytes.freed"]) == (9216, 9216, 1024)
    torch.openreg.reset_peak_host_memory_stats()
    assert stat("active_bytes.peak") == 8192 and stat("active_bytes.allocated") == 9216
    torch.openreg.reset_accumulated_host_memory_stats()
    assert stat("active_bytes.allocated") == stat("active_bytes.freed") == stat("host_alloc_time.total") == 0
    del y
    torch.accelerator.empty_host_cache()
    now = torch.openreg.host_memory_stats()
    assert (now["allocations.current"], now["allocated_bytes.current"], now["num_host_free"]) == (0, 0, 2)
    assert now["host_free_time.count"] == 2


def test_emptying_the_cache_gives_unused_blocks_back_and_no_others() -> None:
    kept, freed = pinned(1000, value=3), pinned(5000)
    where = freed.data_ptr()
    del freed
    attributes = sim.ffi.new("orPointerAttributes*")
    sim.ok(sim.lib.orPointerGetAttributes(attributes, sim.ffi.cast("void*", where)))
    assert attributes.type == sim.lib.orMemoryTypeHost and attributes.size == 32768, "it waits in the cache"
    torch.accelerator.empty_host_cache()
    sim.ok(sim.lib.orPointerGetAttributes(attributes, sim.ffi.cast("void*", where)))
    assert attributes.type == sim.lib.orMemoryTypeUnregistered
    assert kept.is_pinned() and kept.tolist() == [3.0] * 1000


def test_emptying_the_cache_before_anything_was_pinned_does_nothing(program: ProgramFunction) -> None:
    code = "torch.accelerator.empty_host_cache(); torch.ones(1, device='openreg'); torch.accelerator.empty_host_cache()"
    assert program(code) == ""


def test_pytorch_does_not_empty_the_cache_before_the_first_device_tensor(program: ProgramFunction) -> None:
    code = """
    blocks = lambda: torch.openreg.host_memory_stats()["allocations.current"]
    torch.ones(2).pin_memory()
    torch.accelerator.empty_host_cache()
    before = blocks()
    torch.ones(2, device="openreg")
    torch.accelerator.empty_host_cache()
    print(before, blocks())
    """
    assert program(code).splitlines() == ["1 0"]


@pytest.mark.parametrize(
    ("setting", "bytes_", "kept"),
    [
        ("", 5 * MiB, [8 * MiB, 8 * MiB]),
        ("pinned_max_round_threshold_mb:4", 5 * MiB, [5 * MiB, 5 * MiB]),
        ("pinned_max_round_threshold_mb:4", 3 * MiB, [4 * MiB, 4 * MiB]),
        ("pinned_max_cached_size_mb:4", 5 * MiB, [5 * MiB, 0]),
    ],
)
def test_the_allocators_settings_are_pytorchs(
    setting: str, bytes_: int, kept: list[int], program: ProgramFunction
) -> None:
    code = f"""
    kept = lambda: torch.openreg.host_memory_stats()["allocated_bytes.current"]
    x = torch.empty({bytes_}, dtype=torch.uint8, pin_memory=True)
    used = kept()
    del x
    print([used, kept()])
    """
    assert program(code, PYTORCH_ALLOC_CONF=setting).splitlines() == [str(kept)]


def test_what_does_not_fit_is_out_of_memory() -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"the host has not so much memory") as caught:
        torch.empty(1 << 61, dtype=torch.uint8, pin_memory=True)
    assert str(caught.value) == (
        "openreg: orMallocHost: argument 'size' is 2305843009213693952 bytes; the host has not so much memory "
        "[orErrorMemoryAllocation]"
    )
    assert torch.empty(3, pin_memory=True).is_pinned()


def test_unused_blocks_are_given_back_before_the_memory_is_said_to_be_out() -> None:
    x = torch.empty(5000, pin_memory=True)
    del x
    before = stat("num_host_free")
    sim.ok(sim.lib.orSimFailCall(b"orMallocHost", 1, sim.errors["orErrorMemoryAllocation"]))
    y = torch.empty(100, pin_memory=True)
    assert y.is_pinned() and stat("num_host_free") == before + 1
    assert sim.lib.orPeekAtLastError() == 0, "the failure was dealt with"


def test_another_error_of_the_driver_arrives_as_itself() -> None:
    sim.ok(sim.lib.orSimFailCall(b"orMallocHost", 1, sim.errors["orErrorDriver"]))
    with pytest.raises(torch.AcceleratorError, match="orMallocHost"):
        torch.empty(100, pin_memory=True)


# ------------------------------------------------------------------------------------------------ copies to the device


def test_a_non_blocking_copy_from_pinned_memory_returns_at_once(device: str, gate: GateFunction) -> None:
    x, y = torch.arange(1000.0).pin_memory(), torch.zeros(1000, device=device)
    closed = gate(index_of(device))
    y.copy_(x, non_blocking=True)
    event = torch.Event(device)
    event.record()
    with torch.accelerator.device_index(index_of(device)):
        assert not torch.accelerator.current_stream().query()
    closed.open()
    assert torch.equal(y.cpu(), x)


def test_a_blocking_copy_from_pinned_memory_waits(device: str, gate: GateFunction) -> None:
    x, y = pinned(1000, value=1), torch.zeros(1000, device=device)
    closed = gate(index_of(device))
    copying = Call(lambda: y.copy_(x))
    assert copying.blocks()
    closed.open()
    copying.result()
    x.zero_()
    assert torch.equal(y.cpu(), torch.ones(1000))


def test_the_device_reads_pinned_memory_when_the_copys_turn_comes(device: str, gate: GateFunction) -> None:
    # Not a wish: this is what a device does that reads the host's memory itself, and what a program has to expect.
    x, y = pinned(1000, value=1), torch.zeros(1000, device=device)
    closed = gate(index_of(device))
    y.copy_(x, non_blocking=True)
    x.fill_(2)
    closed.open()
    assert torch.equal(y.cpu(), torch.full((1000,), 2.0))


@pytest.mark.parametrize("bytes_", [4, 4000, STAGED])
def test_pageable_memory_is_staged_so_nobody_waits_and_later_writes_are_not_seen(
    bytes_: int, device: str, gate: GateFunction
) -> None:
    x, y = torch.full((bytes_ // 4,), 1.0), torch.zeros(bytes_ // 4, device=device)
    closed = gate(index_of(device))
    y.copy_(x, non_blocking=True)
    x.fill_(2)
    closed.open()
    assert torch.equal(y.cpu(), torch.ones(bytes_ // 4))


def test_more_than_is_staged_waits_and_leaves_nothing_pinned(device: str, gate: GateFunction) -> None:
    x, y = torch.ones(STAGED // 4 + 1), torch.zeros(STAGED // 4 + 1, device=device)
    before = stat("allocations.current")
    closed = gate(index_of(device))
    copying = Call(lambda: y.copy_(x, non_blocking=True))
    assert copying.blocks()
    closed.open()
    copying.result()
    assert stat("allocations.current") == before
    x.zero_()
    assert torch.equal(y.cpu(), torch.ones(STAGED // 4 + 1))


def test_staged_copies_in_a_queue_have_blocks_of_their_own(device: str, gate: GateFunction) -> None:
    x, rows = torch.empty(100), torch.zeros(20, 100, device=device)
    closed = gate(index_of(device))
    for i in range(20):
        rows[i].copy_(x.fill_(i), non_blocking=True)
    closed.open()
    assert torch.equal(rows.cpu(), torch.arange(20.0)[:, None].expand(20, 100))
    for i in range(20):
        rows[i].copy_(x.fill_(i), non_blocking=True)
    assert stat("allocations.current") <= 20, "the blocks of the first copies serve the second"


# -------------------------------------------------------------------------------------------------- copies to the host


def wait_for_device(device: str) -> None:
    """Waits by the device."""
    torch.openreg.synchronize(device)


def wait_for_stream(device: str) -> None:
    """Waits by the stream."""
    torch.accelerator.current_stream(device).synchronize()


def wait_for_event(device: str) -> None:
    """Waits by an event."""
    torch.accelerator.current_stream(device).record_event().synchronize()


@pytest.mark.parametrize("wait", [wait_for_device, wait_for_stream, wait_for_event])
def test_a_non_blocking_copy_to_pinned_memory_is_stale_until_one_waits(
    wait: Callable[[str], None], device: str, gate: GateFunction
) -> None:
    x, y = torch.arange(1000.0).to(device), pinned(1000, value=-1)
    closed = gate(index_of(device))
    y.copy_(x, non_blocking=True)
    assert torch.equal(y, torch.full((1000,), -1.0)), "nothing has arrived, and nothing says so"
    waiting = Call(lambda: wait(device))
    assert waiting.blocks()
    closed.open()
    waiting.result()
    assert torch.equal(y, torch.arange(1000.0))


def test_to_cpu_without_blocking_makes_pinned_memory_and_is_stale_until_one_waits(
    device: str, gate: GateFunction
) -> None:
    x = torch.arange(1.0, 1001.0).to(device)
    closed = gate(index_of(device))
    y = x.to("cpu", non_blocking=True)
    assert y.is_pinned() and not torch.equal(y, torch.arange(1.0, 1001.0))
    closed.open()
    torch.openreg.synchronize(device)
    assert torch.equal(y, torch.arange(1.0, 1001.0))


def test_to_cpu_in_the_ordinary_way_is_pageable_and_right(device: str, gate: GateFunction) -> None:
    x = torch.arange(1000.0).to(device)
    closed = gate(index_of(device))
    reading = Call(lambda: x.to("cpu"))
    assert reading.blocks()
    closed.open()
    assert torch.equal(reading.result(), torch.arange(1000.0)) and not reading.result().is_pinned()


# ----------------------------------------------------------------------------------------- layouts, types and lazy bits


@pytest.mark.parametrize("device", ["openreg:0", "openreg:1"])
@pytest.mark.parametrize("to_device", [True, False], ids=["to the device", "to the host"])
@pytest.mark.parametrize("case", CASES)
def test_non_blocking_copies_of_every_layout_equal_the_cpus(case: str, to_device: bool, device: str) -> None:
    view_src, view_dst, size = CASES[case]
    sources = [values(size, torch.float32), values(size, torch.int64)]
    for src in sources:
        expected, got = values(size, torch.float32, 5), values(size, torch.float32, 5)
        view_dst(expected).copy_(view_src(src))
        here, there = (src.pin_memory(), got.to(device)) if to_device else (src.to(device), got.pin_memory())
        view_dst(there).copy_(view_src(here), non_blocking=True)
        torch.openreg.synchronize(device)
        assert raw(there.cpu()) == raw(expected)


@pytest.mark.parametrize("to_device", [True, False], ids=["to the device", "to the host"])
@pytest.mark.parametrize("view", ["conj", "imag", "real", "adjoint"])
def test_lazy_bits_are_honoured(view: str, to_device: bool, device: str) -> None:
    x = torch.randn(5, 6, dtype=torch.complex64)
    look: Callable[[torch.Tensor], torch.Tensor] = {
        "conj": torch.conj,
        "imag": lambda t: t.conj().imag,
        "real": lambda t: t.conj().real,
        "adjoint": torch.adjoint,
    }[view]
    here = x.pin_memory() if to_device else x.to(device)
    got = look(here).to(device if to_device else "cpu", non_blocking=True)
    torch.openreg.synchronize(device)
    assert torch.equal(got.cpu().resolve_conj().resolve_neg(), look(x).resolve_conj().resolve_neg())
    target = torch.zeros_like(look(x).resolve_conj(), device=device if to_device else "cpu")
    target = target if to_device else target.pin_memory()
    target.copy_(look(here), non_blocking=True)
    torch.openreg.synchronize(device)
    assert torch.equal(target.cpu(), look(x).resolve_conj().resolve_neg())


ARRANGED: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a cast": lambda base: base.view(10, 20),
    "a cast from bytes": lambda base: base.to(torch.uint8).view(10, 20),
    "transposed": lambda base: base.view(20, 10).t(),
    "channels last": lambda base: base.view(1, 5, 4, 10).permute(0, 3, 1, 2).reshape(10, 20),
}


@pytest.mark.parametrize("how", ARRANGED)
def test_casts_and_strides_are_the_devices_work_behind_the_copy(how: str, device: str, gate: GateFunction) -> None:
    source = ARRANGED[how](torch.arange(200.0))
    x = torch.empty_like(source, pin_memory=True).copy_(source)
    y = torch.zeros(10, 20, dtype=torch.int64, device=device)
    holes = torch.zeros(10, 40, dtype=torch.float64, device=device)[:, ::2]
    closed = gate(index_of(device))
    y.copy_(x, non_blocking=True)
    holes.copy_(x, non_blocking=True)
    closed.open()
    assert torch.equal(y.cpu(), source.long()) and torch.equal(holes.cpu(), source.double())


@pytest.mark.parametrize("how", ARRANGED)
def test_casts_and_strides_are_the_devices_work_before_the_copy_back(how: str, device: str, gate: GateFunction) -> None:
    source = ARRANGED[how](torch.arange(200.0))
    x, host = source.to(device), torch.zeros(10, 20, dtype=torch.int32, pin_memory=True)
    closed = gate(index_of(device))
    host.copy_(x, non_blocking=True)
    turned = x.t().to("cpu", torch.float16, non_blocking=True)
    assert turned.is_pinned()
    closed.open()
    torch.openreg.synchronize(device)
    assert torch.equal(host, source.int()) and torch.equal(turned, source.t().half())


def test_pageable_memory_is_cast_and_arranged_after_it_was_staged(device: str, gate: GateFunction) -> None:
    x, y = torch.arange(200.0).view(20, 10)[::2], torch.zeros(10, 10, dtype=torch.int32, device=device).t()
    closed = gate(index_of(device))
    expected = x.int()
    y.copy_(x, non_blocking=True)
    x.zero_()
    closed.open()
    assert torch.equal(y.cpu(), expected)


def test_memory_with_gaps_is_written_and_read_without_touching_the_gaps(device: str) -> None:
    base, x = pinned(10, 10, value=-1), torch.arange(50.0).view(10, 5)
    base[:, ::2].copy_(x.to(device), non_blocking=True)
    assert torch.equal(base[:, ::2], x), "such a copy waits: the host spreads the elements"
    assert torch.equal(base[:, 1::2], torch.full((10, 5), -1.0))
    y = base[:, ::2].to(device, non_blocking=True)
    assert torch.equal(y.cpu(), x)


def test_a_cast_on_the_way_is_in_the_streams_order(device: str, gate: GateFunction) -> None:
    x, host, y = torch.arange(100.0).to(device), pinned(100), torch.zeros(100, dtype=torch.int64, device=device)
    closed = gate(index_of(device))
    host.copy_(x, non_blocking=True)
    y.copy_(host, non_blocking=True)  # reads what the copy before it has written
    closed.open()
    assert torch.equal(y.cpu(), torch.arange(100))


def test_pinned_memory_serves_both_directions_in_order(device: str, gate: GateFunction) -> None:
    x, host, y = torch.arange(100.0).to(device), pinned(100), torch.zeros(100, device=device)
    closed = gate(index_of(device))
    host.copy_(x, non_blocking=True)
    y.copy_(host, non_blocking=True)
    closed.open()
    assert torch.equal(y.cpu(), torch.arange(100.0))


# ------------------------------------------------------------------------------------------------------------- streams


def test_a_copy_runs_on_the_current_stream_and_on_no_other(device: str, gate: GateFunction) -> None:
    x, y, side = pinned(1000, value=1), torch.zeros(1000, device=device), torch.Stream(device)
    closed = gate(side)
    with side:
        y.copy_(x, non_blocking=True)
    torch.accelerator.current_stream(device).synchronize()
    assert torch.equal(y.cpu(), torch.zeros(1000)), "the default stream does not wait for it"
    torch.accelerator.current_stream(device).wait_stream(side)
    closed.open()
    assert torch.equal(y.cpu(), torch.ones(1000)), "and now it does"


def test_a_copy_back_waits_for_the_stream_that_computes_if_told_to(device: str, gate: GateFunction) -> None:
    x, new, host, side = torch.zeros(9, device=device), torch.ones(9, device=device), pinned(9), torch.Stream(device)
    closed = gate(index_of(device))
    x.copy_(new)
    side.wait_stream(torch.accelerator.current_stream(device))
    with side:
        host.copy_(x, non_blocking=True)
    closed.open()
    side.synchronize()
    assert host.tolist() == [1.0] * 9


# ------------------------------------------------------------------------------------- blocks that a queued copy uses


def freed_while_in_use(copy: Callable[[torch.Tensor], Any], value: float) -> tuple[int, torch.Tensor]:
    """Pins, copies, frees, and pins again at once; the first address, and the second tensor, full of rubbish."""
    x = pinned(1000, value=value)
    where = x.data_ptr()
    copy(x)
    del x
    return where, pinned(1000, value=-99)


def test_a_block_is_not_given_out_while_a_copy_from_it_is_queued(device: str, gate: GateFunction) -> None:
    y = torch.zeros(1000, device=device)
    closed = gate(index_of(device))
    where, other = freed_while_in_use(lambda x: y.copy_(x, non_blocking=True), 7)
    assert other.data_ptr() != where
    closed.open()
    assert torch.equal(y.cpu(), torch.full((1000,), 7.0))
    assert pinned(1000).data_ptr() == where, "now it is free"


def test_a_block_is_not_given_out_while_a_copy_to_it_is_queued(device: str, gate: GateFunction) -> None:
    y = torch.ones(1000, device=device)
    closed = gate(index_of(device))
    where, other = freed_while_in_use(lambda x: x.copy_(y, non_blocking=True), 7)
    assert other.data_ptr() != where
    closed.open()
    torch.openreg.synchronize(device)
    assert torch.equal(other, torch.full((1000,), -99.0)), "the copy has written into its own block"


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[10:],
        lambda x: torch.from_numpy(x.numpy()),
        lambda x: torch.from_numpy(x.numpy()[10:]),
        lambda x: x.view(10, 100).t(),
        lambda x: x.view(torch.int32),
        lambda x: torch.from_dlpack(x),
    ],
    ids=["slice", "numpy", "middle of numpy", "transposed", "as int", "dlpack"],
)
def test_a_copy_from_a_view_counts_as_a_use_of_the_block(
    view: Callable[[torch.Tensor], torch.Tensor], device: str, gate: GateFunction
) -> None:
    y = torch.zeros_like(view(pinned(1000)), device=device)
    closed = gate(index_of(device))
    where, other = freed_while_in_use(lambda x: y.copy_(view(x), non_blocking=True), 7)
    assert other.data_ptr() != where
    closed.open()
    assert torch.equal(y.cpu(), view(torch.full((1000,), 7.0)))


def test_a_block_that_two_devices_use_is_free_when_both_are_done(gate: GateFunction) -> None:
    first, second = torch.zeros(1000, device="openreg:0"), torch.zeros(1000, device="openreg:1")
    gates = [gate(0), gate(1)]
    where, _ = freed_while_in_use(lambda x: (first.copy_(x, non_blocking=True), second.copy_(x, non_blocking=True)), 7)
    for closed, done in zip(gates, (first, second), strict=True):
        assert pinned(1000).data_ptr() != where
        closed.open()
        assert torch.equal(done.cpu(), torch.full((1000,), 7.0))
    assert where in {tensor.data_ptr() for tensor in [pinned(1000) for _ in range(4)]}


def test_a_block_that_two_streams_use_is_free_when_both_are_done(device: str, gate: GateFunction) -> None:
    y, side = torch.zeros(2, 1000, device=device), torch.Stream(device)
    gates = [gate(index_of(device)), gate(side)]

    def copy(x: torch.Tensor) -> None:
        y[0].copy_(x, non_blocking=True)
        with side:
            y[1].copy_(x, non_blocking=True)

    where, _ = freed_while_in_use(copy, 7)
    gates[0].open()
    torch.accelerator.current_stream(device).synchronize()
    assert pinned(1000).data_ptr() != where
    gates[1].open()
    torch.openreg.synchronize(device)
    assert torch.equal(y.cpu(), torch.full((2, 1000), 7.0))


def test_emptying_the_cache_leaves_blocks_that_are_in_use(device: str, gate: GateFunction) -> None:
    y = torch.zeros(1000, device=device)
    closed = gate(index_of(device))
    where, _ = freed_while_in_use(lambda x: y.copy_(x, non_blocking=True), 7)
    torch.accelerator.empty_host_cache()  # and does not wait
    attributes = sim.ffi.new("orPointerAttributes*")
    sim.ok(sim.lib.orPointerGetAttributes(attributes, sim.ffi.cast("void*", where)))
    assert attributes.type == sim.lib.orMemoryTypeHost
    closed.open()
    assert torch.equal(y.cpu(), torch.full((1000,), 7.0))


# ---------------------------------------------------------------------------------------------------- what goes wrong


def test_a_block_waits_for_the_device_if_there_is_no_event_for_it(device: str, gate: GateFunction) -> None:
    x, y = pinned(1000, value=7), torch.zeros(1000, device=device)
    closed = gate(index_of(device))
    y.copy_(x, non_blocking=True)
    sim.ok(sim.lib.orSimFailCall(b"orEventRecord", 1, sim.errors["orErrorMemoryAllocation"]))
    holder = [x]
    del x
    freeing = Call(holder.clear)
    assert freeing.blocks(), "a deleter must not throw, and must not give the block out too early"
    closed.open()
    freeing.result()
    assert torch.equal(y.cpu(), torch.full((1000,), 7.0))


def test_a_copy_that_fails_gives_its_block_back(device: str) -> None:
    x, y = pinned(1000), torch.zeros(1000, device=device)
    sim.ok(sim.lib.orSimFailCall(b"orMemcpyAsync", 1, sim.errors["orErrorInvalidValue"]))
    with pytest.raises(torch.AcceleratorError, match="orMemcpyAsync"):
        y.copy_(x, non_blocking=True)
    where = x.data_ptr()
    del x
    torch.openreg.synchronize(device)
    assert pinned(1000).data_ptr() == where


def test_pinned_memory_outlives_a_device_that_fails(program: ProgramFunction) -> None:
    code = """
    x, y = torch.ones(1000).pin_memory(), torch.zeros(1000, device="openreg:1")
    y.copy_(x, non_blocking=True)
    z = torch.ones(1000).pin_memory()
    y.copy_(z, non_blocking=True)
    del z
    sim.ok(sim.lib.orSimLoseDevice(1))
    del x  # its event cannot be recorded any more
    print(torch.ones(1000).pin_memory().sum().item())
    try:
        y.copy_(torch.ones(1000).pin_memory(), non_blocking=True)
    except torch.AcceleratorError as error:
        print(error)
    good = torch.ones(1000).pin_memory().to("openreg:0", non_blocking=True)
    print(good.cpu().sum().item())
    torch.accelerator.empty_host_cache()
    """
    lines = program(code).splitlines()
    assert lines[0] == "1000.0" and lines[-1] == "1000.0"
    assert "orErrorDeviceLost" in lines[1]


def test_blocking_launches_make_these_copies_wait_too(program: ProgramFunction) -> None:
    code = """
    y = torch.arange(1000.0).to("openreg:1").to("cpu", non_blocking=True)
    print(y.is_pinned(), torch.equal(y, torch.arange(1000.0)))
    """
    assert program(code, OPENREG_LAUNCH_BLOCKING="1", OPENREG_SIM="copy_delay=20ms").splitlines() == ["True True"]


# -------------------------------------------------------------------------------------------------------------- threads


def test_threads_pin_copy_and_free_at_once() -> None:
    failed: list[str] = []

    def work(number: int) -> None:
        device = f"openreg:{number % 2}"
        stream = torch.Stream(device)
        with stream:
            for i in range(60):
                there = torch.full((257 * (i % 5 + 1),), float(number * 100 + i)).pin_memory()
                there = there.to(device, non_blocking=True)
                back = there.to("cpu", non_blocking=True)
                if i % 20 == 0:
                    torch.accelerator.empty_host_cache()
                stream.synchronize()
                if not bool((back == number * 100 + i).all()):
                    failed.append(f"thread {number}, round {i}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


# ----------------------------------------------------------------------------------------------------------- DataLoader


class Numbers(Dataset):
    """Items with a tensor, a number and a list in them."""

    def __init__(self, count: int = 32) -> None:
        self.rows = torch.arange(count * 5.0).view(count, 5)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"row": self.rows[index], "number": index, "pair": [self.rows[index, 0], str(index)]}


class OnDevice(Numbers):
    """A dataset that uses the device in its workers."""

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.rows[index].to("openreg").cpu()


WORKERS: dict[str, dict[str, Any]] = {
    "in this thread": {},
    "fork": {"num_workers": 2, "multiprocessing_context": "fork"},
    "spawn": {"num_workers": 1, "multiprocessing_context": "spawn"},
    "fork, persistent": {"num_workers": 1, "multiprocessing_context": "fork", "persistent_workers": True},
}


@pytest.mark.parametrize("workers", WORKERS)
def test_a_data_loader_pins_its_batches(workers: str) -> None:
    device = "openreg:1"
    data, used = Numbers(), torch.ones(2, device=device)  # the device is in use before the workers start
    loader = DataLoader(data, batch_size=8, pin_memory=True, **WORKERS[workers])
    for _ in range(2 if "persistent" in workers else 1):
        rows = []
        for batch in loader:
            assert batch["row"].is_pinned() and batch["number"].is_pinned() and batch["pair"][0].is_pinned()
            rows.append(batch["row"].to(device, non_blocking=True))
        assert torch.equal(torch.cat(rows).cpu(), data.rows)
    assert used.tolist() == [1, 1]


def test_a_data_loader_may_be_left_in_the_middle() -> None:
    loader = DataLoader(Numbers(), batch_size=2, pin_memory=True, num_workers=1, multiprocessing_context="fork")
    first = next(iter(loader))
    assert first["row"].is_pinned() and first["number"].tolist() == [0, 1]


def test_a_forked_worker_that_uses_the_device_says_what_to_do() -> None:
    torch.ones(2, device="openreg")
    loader = DataLoader(OnDevice(), num_workers=1, multiprocessing_context="fork", pin_memory=True)
    with pytest.raises(RuntimeError, match="you must use the 'spawn' start method") as caught:
        next(iter(loader))
    assert str(caught.value).startswith("Caught RuntimeError in DataLoader worker process 0.")


def test_a_spawned_worker_may_use_the_device() -> None:
    loader = DataLoader(OnDevice(4), batch_size=4, num_workers=1, multiprocessing_context="spawn", pin_memory=True)
    assert torch.equal(next(iter(loader)), Numbers(4).rows)


def test_the_loaders_device_argument_is_deprecated() -> None:
    text = (
        "pin_memory_device is deprecated, the current accelerator will be used as the device,"
        "ignore pin_memory_device='openreg'."
    )
    with pytest.warns(UserWarning, match=text):
        iterator = iter(DataLoader(Numbers(), pin_memory=True, pin_memory_device="openreg"))
    assert next(iterator)["row"].is_pinned()


def test_the_pinning_thread_sets_the_device_of_the_one_that_made_it(program: ProgramFunction) -> None:
    code = """
    from backend.test_pinned import Numbers
    from torch.utils.data import DataLoader
    torch.openreg.set_device(1)
    x = torch.ones(1, device="openreg:1")
    for batch in DataLoader(Numbers(), pin_memory=True, num_workers=1, multiprocessing_context="fork"):
        assert batch["row"].is_pinned()
    print([sim.get("orDeviceGetState", i) for i in (0, 1)])
    """
    assert program(code).splitlines() == ["[0, 1]"]


# ----------------------------------------------------------------------------------------------------- fork and the end

IN_CHILD = """
def in_child(body):
    sys.stdout.flush()
    child = os.fork()
    if child:
        print("child:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
        return
    try:
        print(body(), flush=True)
    except Exception as error:
        print(type(error).__name__, error, flush=True)
    sys.exit()  # the ordinary end: destructors and all
"""


def test_a_forked_child_frees_nothing_and_ends_well(program: ProgramFunction) -> None:
    code = (
        IN_CHILD
        + """
x, y = torch.arange(1000.0).pin_memory(), torch.zeros(1000, device="openreg")
y.copy_(x, non_blocking=True)
where, unused = x.data_ptr(), torch.ones(5).pin_memory()
def body():
    global x, unused
    seen, before = x.sum().item(), torch_openreg._C._host_memory_stats()
    x = unused = None  # the cache is not touched: a thread that is gone may hold its locks
    return seen, torch.ones(2).is_pinned(), torch_openreg._C._host_memory_stats() == before
in_child(body)
x = None
torch.openreg.synchronize()
print(torch.empty(1000, pin_memory=True).data_ptr() == where, torch.openreg.host_memory_stats()["allocations.current"])
"""
    )
    assert program(code).splitlines() == ["(499500.0, False, True)", "child: 0", "True 2"]


@pytest.mark.parametrize("what", ["torch.ones(2).pin_memory()", "torch.empty(2, pin_memory=True)"])
def test_pinning_in_a_forked_child_is_a_clear_error(what: str, program: ProgramFunction) -> None:
    code = IN_CHILD + f"\nx = torch.ones(2).pin_memory()\nin_child(lambda: {what})"
    lines = program(code).splitlines()
    assert "forked" in lines[0] and "orErrorForked" in lines[0] and lines[1] == "child: 0"


def test_a_child_forked_before_the_first_use_pins_for_itself(program: ProgramFunction) -> None:
    code = IN_CHILD + "\nin_child(lambda: torch.ones(2).pin_memory().to('openreg', non_blocking=True).sum().item())"
    assert program(code).splitlines() == ["2.0", "child: 0"]


@pytest.mark.parametrize("setting", ["", "pinned_use_background_threads:True"])
def test_a_process_ends_well_with_copies_queued(setting: str, program: ProgramFunction) -> None:
    code = """
    x = [torch.ones(100000).pin_memory() for _ in range(10)]
    y = torch.zeros(100000, device="openreg:1")
    for one in x:
        y.copy_(one, non_blocking=True)
        z = y.to("cpu", non_blocking=True)
    x[:5] = []
    """
    for _ in range(3):
        assert program(code, PYTORCH_ALLOC_CONF=setting, OPENREG_SIM="copy_delay=1ms") == ""


def test_a_process_ends_well_while_a_thread_pins(program: ProgramFunction) -> None:
    code = """
    from backend.test_pinned import Numbers
    from torch.utils.data import DataLoader
    loader = iter(DataLoader(Numbers(2000), pin_memory=True, num_workers=1, multiprocessing_context="fork"))
    next(loader)
    """
    for _ in range(3):
        assert program(code) == ""


def test_background_threads_give_blocks_back_by_themselves(program: ProgramFunction) -> None:
    code = """
    y = torch.zeros(1000, device="openreg:1")
    active = lambda: torch.openreg.host_memory_stats()["active_requests.current"]
    for i in range(50):
        y.copy_(torch.full((1000,), float(i)).pin_memory(), non_blocking=True)
    wait_until(lambda: active() == 0, "all blocks are back")
    print(y.sum().item())
    """
    assert program(code, PYTORCH_ALLOC_CONF="pinned_use_background_threads:True").splitlines() == ["49000.0"]
