"""The caching allocator: reuse in stream order, record_stream, cutting and joining, statistics, limits, running out."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch_openreg  # noqa: F401
from contract.harness import Call

from .conftest import GateFunction, ProgramFunction
from .simulator import sim

openreg = torch.openreg
KIB, MIB = 1 << 10, 1 << 20


def index_of(device: str) -> int:
    """The number in a device's name."""
    return torch.device(device).index


def memory(size: int, device: str) -> torch.Tensor:
    """A tensor of so many bytes, with whatever they hold."""
    return torch.empty(size, dtype=torch.uint8, device=device)


def now(device: str, *names: str) -> tuple[int, ...]:
    """Present values, for small and large blocks together."""
    stats = openreg.memory_stats(device)
    return tuple(stats[f"{name}.all.current"] for name in names)


@pytest.fixture(autouse=True)
def empty_cache(no_collection: None) -> Iterator[None]:
    """Every test begins with nothing in the cache."""
    openreg.empty_cache()
    yield
    for index in range(openreg.device_count()):
        openreg.set_per_process_memory_fraction(1.0, index)


# ------------------------------------------------------------------------------------------------------------ reuse


@pytest.mark.parametrize("size", [1, 512, 1000, MIB, 3 * MIB, 12 * MIB])
def test_a_freed_block_is_used_again_at_once_on_its_stream(device: str, gate: GateFunction, size: int) -> None:
    gate(index_of(device))
    x = memory(size, device)
    copied = x.clone()  # work on it, that the gate holds back
    where = x.data_ptr()
    del x
    assert memory(size, device).data_ptr() == where != copied.data_ptr()


def test_freeing_does_not_wait_for_the_device(device: str, gate: GateFunction) -> None:
    x = memory(MIB, device)
    closed = gate(index_of(device))
    y = x.clone()
    del x, y
    assert closed.waiting == 1


def test_work_queued_before_a_block_is_used_again_sees_the_old_contents(device: str, gate: GateFunction) -> None:
    x = torch.arange(100).to(device)
    gate_ = gate(index_of(device))
    copied = x.clone()
    where = x.data_ptr()
    del x
    other = torch.zeros(100, dtype=torch.int64, device="cpu")
    new = torch.empty(100, dtype=torch.int64, device=device)
    assert new.data_ptr() == where
    new.copy_(torch.empty_like(new))
    gate_.open()
    new.copy_(other)
    assert copied.cpu().tolist() == list(range(100))
    assert new.cpu().tolist() == [0] * 100


def test_a_block_stays_with_the_stream_that_was_current_when_it_was_allocated(device: str) -> None:
    side = torch.Stream(device)
    x = memory(1000, device)
    where = x.data_ptr()
    with side:
        del x  # by whom and where it is freed plays no part
        y = memory(1000, device)
        assert y.data_ptr() != where
    assert memory(1000, device).data_ptr() == where


def test_a_block_freed_by_another_thread_returns_to_its_own_stream(device: str, other_device: str) -> None:
    kept = [memory(1000, device)]
    where = kept[0].data_ptr()

    def free() -> None:
        openreg.set_device(other_device)
        with torch.Stream(device):
            kept.clear()

    thread = threading.Thread(target=free)
    thread.start()
    thread.join()
    assert memory(1000, device).data_ptr() == where


def test_memory_of_no_bytes_is_none(device: str) -> None:
    before = openreg.memory_stats(device)
    x = memory(0, device)
    assert (x.data_ptr(), str(x.device)) == (0, device)
    x.record_stream(torch.Stream(device))
    del x
    assert openreg.memory_stats(device) == before


@pytest.mark.usefixtures("puts_back")
def test_a_clone_of_a_storage_is_made_on_the_device(device: str) -> None:
    openreg.set_device(device)
    x = torch.arange(6.0).to(device)
    y = torch._lazy_clone(x)
    y.copy_(torch.zeros(6))
    assert (x.cpu().tolist(), y.cpu().tolist()) == ([0, 1, 2, 3, 4, 5], [0] * 6)


# ----------------------------------------------------------------------------------------------------- record_stream


def used_on_side(device: str, gate: GateFunction, record: bool) -> list[int]:
    """A tensor dies while another stream has yet to read it, and its memory is given to somebody who writes to it."""
    x = torch.arange(8).to(device)
    openreg.synchronize(device)
    side = torch.Stream(device)
    with side:
        read = torch.empty(8, dtype=torch.int64, device=device)
        closed = gate(side)
        read.copy_(x)
    if record:
        x.record_stream(side)
    del x
    new = torch.empty(8, dtype=torch.int64, device=device)
    new.copy_(torch.full((8,), -1))
    openreg.default_stream(device).synchronize()
    closed.open()
    side.synchronize()
    return read.cpu().tolist()


def test_without_record_stream_another_stream_reads_what_came_after(device: str, gate: GateFunction) -> None:
    assert used_on_side(device, gate, record=False) == [-1] * 8


def test_with_record_stream_another_stream_reads_what_it_should(device: str, gate: GateFunction) -> None:
    assert used_on_side(device, gate, record=True) == list(range(8))


def test_a_recorded_block_is_used_again_when_all_its_streams_have_passed(device: str, gate: GateFunction) -> None:
    sides = [torch.Stream(device) for _ in range(3)]
    x = memory(3 * MIB, device)
    where = x.data_ptr()
    gates = [gate(side) for side in sides]
    for side in (*sides, *sides, openreg.current_stream(device)):
        x.record_stream(side)
    del x
    for side, closed in zip(sides, gates, strict=True):
        assert memory(3 * MIB, device).data_ptr() != where
        closed.open()
        side.synchronize()
    assert memory(3 * MIB, device).data_ptr() == where


@pytest.mark.parametrize(
    "grow",
    [
        lambda x: x.resize_(2 * MIB),
        lambda x: x.untyped_storage().resize_(2 * MIB),
        lambda x: x.set_(x.untyped_storage(), 0, (2 * MIB,), (1,)),
    ],
    ids=["resize_", "storage.resize_", "set_"],
)
def test_what_is_copied_where_memory_grows_is_not_overwritten_before(
    device: str, gate: GateFunction, grow: Callable[[torch.Tensor], object]
) -> None:
    x = torch.ones(MIB, dtype=torch.uint8, device=device)
    openreg.synchronize(device)
    side = torch.Stream(device)
    closed = gate(side)
    with side:
        grow(x)  # queues a copy of the contents, and drops the old memory
    other = torch.full((MIB,), 7, dtype=torch.uint8, device=device)  # of the default stream, as the old memory was
    openreg.default_stream(device).synchronize()
    closed.open()
    side.synchronize()
    assert torch.equal(x.view(-1)[:MIB].cpu(), torch.ones(MIB, dtype=torch.uint8))
    assert int(other[0]) == 7


def test_the_own_stream_need_not_be_recorded(device: str, gate: GateFunction) -> None:
    gate(index_of(device))
    x = memory(1000, device)
    where = x.data_ptr()
    x.record_stream(openreg.current_stream(device))
    del x
    assert memory(1000, device).data_ptr() == where


def test_work_queued_after_the_free_is_not_waited_for(device: str, gate: GateFunction) -> None:
    side = torch.Stream(device)
    x = memory(1000, device)
    where = x.data_ptr()
    x.record_stream(side)
    del x
    gate(side)
    assert memory(1000, device).data_ptr() == where


def test_a_stream_of_another_device_can_be_recorded(device: str, other_device: str, gate: GateFunction) -> None:
    side = torch.Stream(other_device)
    x = memory(1000, device)
    where = x.data_ptr()
    closed = gate(side)
    x.record_stream(side)
    del x
    assert memory(1000, device).data_ptr() != where
    closed.open()
    side.synchronize()
    assert memory(1000, device).data_ptr() == where


def test_recording_needs_a_stream_of_this_backend(device: str) -> None:
    with pytest.raises(
        ValueError, match="record_stream: argument 'stream' is a stream of cpu:0; expected one of openreg"
    ):
        memory(1, device).record_stream(torch.Stream(stream_id=0, device_index=0, device_type=0))


def test_a_view_records_the_memory_of_its_base(device: str, gate: GateFunction) -> None:
    x = memory(1000, device)
    where = x.data_ptr()
    side = torch.Stream(device)
    gate(side)
    x[10:20].record_stream(side)
    del x
    assert memory(1000, device).data_ptr() != where


def test_a_gradient_that_crosses_streams_is_recorded_by_the_engine(device: str) -> None:
    side = torch.Stream(device)
    for _ in range(20):
        x = torch.arange(1000.0).to(device).requires_grad_()
        openreg.synchronize(device)
        with side:
            y = x * 2
        z = x * 3
        openreg.synchronize(device)
        (y.sum() + z.sum()).backward()
        openreg.synchronize(device)
        assert x.grad is not None and x.grad.cpu().tolist() == [5.0] * 1000


# -------------------------------------------------------------------------------------------- cutting and joining


def test_small_tensors_share_a_segment(device: str) -> None:
    segments, reserved = now(device, "segment", "reserved_bytes")
    kept = [memory(1, device) for _ in range(100)]
    assert len({x.data_ptr() for x in kept}) == 100
    assert now(device, "segment", "reserved_bytes") == (segments + 1, reserved + 2 * MIB)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1)])
@pytest.mark.parametrize("size", [512 * KIB, 4 * MIB])
def test_freed_neighbours_become_one_block_again(device: str, size: int, order: tuple[int, ...]) -> None:
    blocks = {i: memory(size, device) for i in range(3)}
    first = blocks[0].data_ptr()
    assert [blocks[i].data_ptr() for i in range(3)] == [first, first + size, first + 2 * size]
    (segments,) = now(device, "segment")
    for i in order:
        del blocks[i]
    if size < MIB:  # of the small pool, with blocks of up to 1 MiB
        assert memory(MIB, device).data_ptr() == first
    else:
        assert memory(3 * size, device).data_ptr() == first
    assert now(device, "segment") == (segments,)


def test_the_smallest_block_that_fits_is_taken(device: str) -> None:
    sizes = [6, 2, 4, 3, 5]
    free: dict[int, int] = {}
    kept = []
    blocks = []
    for size in sizes:
        x = memory(size * 100 * KIB, device)
        kept.append(memory(512, device))  # keeps the freed ones apart
        free[size] = x.data_ptr()
        blocks.append(x)
    del x
    blocks.clear()
    assert memory(280 * KIB, device).data_ptr() == free[3]
    assert memory(400 * KIB, device).data_ptr() == free[4]
    assert memory(410 * KIB, device).data_ptr() == free[5]


def test_live_blocks_never_overlap_and_are_aligned(device: str) -> None:
    kept = [memory(size, device) for size in (1, 511, 512, 513, 5000, 70_000, MIB, MIB + 1, 5 * MIB, 11 * MIB) * 3]
    spans = sorted((x.data_ptr(), x.data_ptr() + x.nbytes) for x in kept)
    assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert all(start % 512 == 0 for start, _ in spans)


# -------------------------------------------------------------------------------------------------------- statistics


def test_statistics_count_what_happens(program: ProgramFunction) -> None:
    program("""
        stats, MIB = torch.accelerator.memory_stats, 1 << 20
        assert stats(1) == {} and torch.accelerator.memory_allocated(1) == 0, "nothing was allocated yet"
        def values(name, pool="all"):
            return tuple(stats(1)[f"{name}.{pool}.{what}"] for what in ("current", "peak", "allocated", "freed"))
        def counts(*names):
            return tuple(stats(1)[name] for name in names)

        a = torch.empty(1000, dtype=torch.uint8, device="openreg:1")
        assert len(stats(1)) == 122
        b = torch.empty(3 * MIB, dtype=torch.uint8, device="openreg:1")
        assert values("allocation") == (2, 2, 2, 0)
        assert values("allocation", "small_pool") == values("allocation", "large_pool") == (1, 1, 1, 0)
        assert values("requested_bytes") == (1000 + 3 * MIB, 1000 + 3 * MIB, 1000 + 3 * MIB, 0)
        assert values("allocated_bytes", "small_pool") == (1024, 1024, 1024, 0)
        assert values("segment") == (2, 2, 2, 0)
        assert values("reserved_bytes") == (22 * MIB, 22 * MIB, 22 * MIB, 0)
        assert values("inactive_split")[0] == 2
        assert values("inactive_split_bytes")[0] == 22 * MIB - 1024 - 3 * MIB
        assert counts("num_device_alloc", "num_device_free") == (2, 0)

        side = torch.Stream("openreg:1")
        gate = sim.gate(handle(side))
        b.record_stream(side)
        del b
        assert values("allocated_bytes") == (1024, 1024 + 3 * MIB, 1024 + 3 * MIB, 3 * MIB)
        assert values("active_bytes") == (1024 + 3 * MIB, 1024 + 3 * MIB, 1024 + 3 * MIB, 0), "a stream works on it"
        gate.open()
        side.synchronize()
        c = torch.empty(MIB // 2, dtype=torch.uint8, device="openreg:1")
        assert values("active_bytes")[0] == values("allocated_bytes")[0] == 1024 + MIB // 2
        assert values("inactive_split", "large_pool") == (0, 1, 1, 1)

        torch.accelerator.reset_peak_memory_stats(1)
        assert values("allocated_bytes")[:2] == (1024 + MIB // 2,) * 2
        torch.accelerator.reset_accumulated_memory_stats(1)
        assert values("allocated_bytes")[2:] == (0, 0)
        assert counts("num_device_alloc", "num_device_free") == (0, 0)
        del a, c
        torch.accelerator.empty_cache()
        assert counts("num_device_alloc", "num_device_free") == (0, 2)
        for name in ("allocation", "allocated_bytes", "requested_bytes", "active", "active_bytes", "segment",
                     "reserved_bytes", "inactive_split", "inactive_split_bytes"):
            for pool in ("all", "small_pool", "large_pool"):
                assert values(name, pool)[0] == 0, (name, pool)
        assert torch.openreg.mem_get_info(1) == torch.accelerator.get_memory_info(1) == (4 << 30, 4 << 30)
        assert torch.accelerator.memory_stats(0)["allocation.all.allocated"] == 0, "the other device has its own"
    """)


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize(
    "name", ["memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "memory_stats"]
)
def test_the_module_says_the_same_as_torch_accelerator(device: str, name: str) -> None:
    kept = memory(5000, device)
    asked = getattr(openreg, name)
    assert asked(device) == asked(index_of(device)) == getattr(torch.accelerator, name)(index_of(device))
    openreg.set_device(device)
    assert asked() == asked(device)
    del kept


def test_peaks_can_be_reset(device: str) -> None:
    x = memory(3 * MIB, device)
    del x
    openreg.reset_peak_memory_stats(device)
    assert openreg.max_memory_allocated(device) == openreg.memory_allocated(device)
    openreg.reset_accumulated_memory_stats(device)
    kept = memory(MIB, device)
    assert openreg.memory_stats(device)["allocated_bytes.all.allocated"] == kept.nbytes
    assert openreg.max_memory_reserved(device) >= openreg.memory_reserved(device)


def test_reserved_is_what_the_driver_gave(device: str) -> None:
    kept = [memory(size, device) for size in (1, MIB, 3 * MIB, 50 * MIB)]
    free, total = openreg.mem_get_info(device)
    assert openreg.memory_reserved(device) <= total - free
    before = openreg.memory_reserved(device) - (total - free)
    kept.clear()
    openreg.empty_cache()
    free, total = openreg.mem_get_info(device)
    assert openreg.memory_reserved(device) - (total - free) == before


@pytest.mark.parametrize(
    "call",
    [
        torch.accelerator.memory_stats,
        torch.accelerator.memory_allocated,
        torch.accelerator.reset_peak_memory_stats,
        torch.accelerator.reset_accumulated_memory_stats,
    ],
)
def test_a_device_that_is_not_there_is_refused(call: Callable[[int], Any]) -> None:
    memory(1, "openreg")
    with pytest.raises(RuntimeError, match=r"openreg: The device index is out of range: expected 0 to 1, but got 9"):
        call(9)


def test_the_profiler_sees_allocations(device: str) -> None:
    with torch.profiler.profile(profile_memory=True) as profile:
        x = memory(5000, device)
        del x
    sizes = [event.device_memory_usage for event in profile.events() if event.name in ("aten::empty", "[memory]")]
    assert 5120 in sizes and -5120 in sizes


# -------------------------------------------------------------------------------------------------- running out of it


def test_out_of_memory_says_what_one_needs_to_know(program: ProgramFunction) -> None:
    said = program(
        """
        kept = torch.empty(3 << 20, dtype=torch.uint8, device="openreg:1")
        try:
            torch.empty(2 << 20, dtype=torch.uint8, device="openreg:1")
        except torch.OutOfMemoryError as error:
            assert isinstance(error, RuntimeError)
            print(str(error).splitlines()[0])
        torch.empty(2 << 20, dtype=torch.uint8, device="openreg:0")
        del kept
        torch.empty(3 << 20, dtype=torch.uint8, device="openreg:1")
        stats = torch.accelerator.memory_stats(1)
        print(stats["num_ooms"], stats["num_alloc_retries"])
        assert torch.accelerator.memory_stats(0)["num_ooms"] == 0
    """,
        OPENREG_SIM="memory=4MiB",
    )
    message, counts = said.splitlines()
    assert message == (
        "openreg out of memory. Tried to allocate 2.00 MiB on openreg:1. Of 4.00 MiB of device memory 1024.00 KiB are "
        "free. This process uses 3.00 MiB and has 0 bytes cached that it could not give back, the largest block of "
        "them 0 bytes; its limit is 4.00 MiB. Free tensors that are not needed, or make batches smaller."
    )
    assert counts == "1 2"


def test_memory_in_pieces_is_named_as_such(program: ProgramFunction) -> None:
    said = program(
        """
        MIB = 1 << 20
        kept = [torch.empty(2 * MIB, dtype=torch.uint8, device="openreg") for _ in range(10)]
        del kept[1::2]
        try:
            torch.empty(4 * MIB, dtype=torch.uint8, device="openreg")
        except torch.OutOfMemoryError as error:
            print(error)
    """,
        OPENREG_SIM="memory=22MiB",
    )
    assert "has 10.00 MiB cached that it could not give back, the largest block of them 2.00 MiB" in said
    assert (
        "The cached memory is in pieces. Allocate large tensors first, or set PYTORCH_ALLOC_CONF=max_split_size_mb:N."
    ) in said


def test_the_cache_is_given_back_before_memory_runs_out(program: ProgramFunction) -> None:
    program(
        """
        MIB = 1 << 20
        for size in (20, 12, 30, 1, 25):  # none fits into what the one before leaves in the cache
            x = torch.empty(size * MIB, dtype=torch.uint8, device="openreg")
            with torch.Stream("openreg"):  # nor does one stream get what another has freed
                del x
                torch.empty(size * MIB, dtype=torch.uint8, device="openreg")
        stats = torch.accelerator.memory_stats(0)
        assert stats["num_alloc_retries"] > 0 and stats["num_ooms"] == 0
    """,
        OPENREG_SIM="memory=32MiB",
    )


def test_an_allocation_that_was_tried_again_leaves_no_error_behind(program: ProgramFunction) -> None:
    program("""
        sim.lib.orSimFailCall(b"orMalloc", 1, sim.errors["orErrorMemoryAllocation"])
        assert torch.empty(3 << 20, device="openreg").data_ptr() != 0
        assert sim.lib.orPeekAtLastError() == 0, "the error was handled, but stayed behind"
    """)


def test_a_tensor_that_fits_does_not_fail_because_segments_are_larger(program: ProgramFunction) -> None:
    program(
        """
        kept = [torch.empty(3 << 20, dtype=torch.uint8, device="openreg") for _ in range(2)]
        kept += [torch.empty(512 << 10, dtype=torch.uint8, device="openreg") for _ in range(2)]
        assert torch.openreg.mem_get_info()[0] == 0
    """,
        OPENREG_SIM="memory=7MiB",
    )


def test_running_out_waits_for_the_streams_that_use_freed_memory(program: ProgramFunction) -> None:
    program(
        """
        side = torch.Stream("openreg")
        x = torch.empty(20 << 20, dtype=torch.uint8, device="openreg")
        where = x.data_ptr()
        x.record_stream(side)
        gate = sim.gate(handle(side))
        gate.wait_for(1)
        del x
        call = Call(lambda: torch.empty(20 << 20, dtype=torch.uint8, device="openreg"))
        assert call.blocks(), "the only memory there is, is in use"
        # Meanwhile everybody else goes on: tensors die, which takes the GIL and the lock, and small ones are made.
        y = torch.empty(9, device="openreg:1")
        del y
        assert torch.accelerator.memory_allocated(0) == 0
        gate.open()
        assert call.result().nbytes == 20 << 20
        assert torch.accelerator.memory_stats(0)["num_sync_all_streams"] == 1
    """,
        OPENREG_SIM="memory=32MiB",
    )


def test_what_comes_into_the_cache_meanwhile_is_given_back_too(program: ProgramFunction) -> None:
    program(
        """
        MIB = 1 << 20
        memory = lambda size: torch.empty(size * MIB, dtype=torch.uint8, device="openreg")
        cached, kept = memory(20), memory(60)
        del cached
        gate = sim.gate(sim.default_stream(0))
        gate.wait_for(1)
        call = Call(lambda: memory(70))
        assert call.blocks(), "it gives 20 MiB back to the driver, which waits for the device"
        del kept  # too late for this round, and without it 70 MiB are not there
        gate.open()
        assert call.result().nbytes == 70 * MIB
        assert torch.openreg.memory_stats(0)["num_ooms"] == 0
    """,
        OPENREG_SIM="memory=100MiB",
    )


def test_what_another_thread_is_giving_back_is_waited_for(program: ProgramFunction) -> None:
    program(
        """
        MIB = 1 << 20
        def memory(size):
            with torch.Stream("openreg"):  # which gets nothing of what the others have cached
                return torch.empty(size * MIB, dtype=torch.uint8, device="openreg")
        cached = memory(90)
        del cached
        gate = sim.gate(sim.default_stream(0))
        gate.wait_for(1)
        first = Call(lambda: memory(40))
        assert first.blocks(), "it gives 90 MiB back"
        second = Call(lambda: memory(50))
        assert second.blocks(), "neither in the cache nor with the driver, and yet not gone"
        gate.open()
        assert (first.result().nbytes, second.result().nbytes) == (40 * MIB, 50 * MIB)
    """,
        OPENREG_SIM="memory=100MiB",
    )


def test_two_threads_near_the_limit_do_not_run_out(program: ProgramFunction) -> None:
    program(
        """
        streams = [torch.Stream("openreg") for _ in range(4)]
        sim.lib.orSimSetDelay(0, 1000, 0)  # so that giving memory back, which waits for the device, takes its time
        failed = []
        def work(k):
            try:
                for i in range(100):
                    with streams[2 * k + i % 2]:
                        x = torch.empty(45 << 20, dtype=torch.uint8, device="openreg")
                        x[:8].fill_(1)
                        del x
            except torch.OutOfMemoryError as error:
                failed.append(error)
        threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed, failed[0]
        assert torch.openreg.memory_stats(0)["num_alloc_retries"] > 0
    """,
        OPENREG_SIM="memory=100MiB",
    )


def test_a_tensor_can_die_while_another_thread_waits_for_memory(program: ProgramFunction) -> None:
    program(
        """
        kept = [torch.empty(9, device="openreg") for _ in range(100)]
        x = torch.empty(20 << 20, dtype=torch.uint8, device="openreg")
        gate = sim.gate(sim.default_stream(0))
        gate.wait_for(1)
        del x
        with torch.Stream("openreg") as side:
            call = Call(lambda: torch.empty(20 << 20, dtype=torch.uint8, device="openreg").shape)
            with side:
                pass
        openings = []
        function = sim.ffi.callback("void(void*)", lambda data: openings.append(1))  # needs the GIL
        sim.ok(sim.lib.orLaunchHostFunc(sim.default_stream(0), function, sim.ffi.NULL))
        call.blocks()
        kept.clear()
        again = [torch.empty(9, device="openreg") for _ in range(50)]
        gate.open()
        call.result()
        torch.openreg.synchronize()
        assert openings == [1]
    """,
        OPENREG_SIM="memory=24MiB",
    )


@pytest.mark.parametrize("size", [1 << 40, (1 << 63) - 1, (1 << 63) - 1000])
def test_a_size_that_cannot_be_is_out_of_memory(device: str, size: int) -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"openreg out of memory\. Tried to allocate"):
        memory(size, device)
    assert str(memory(1, device).device) == device


def test_the_limit_holds_and_can_be_raised(device: str, other_device: str) -> None:
    total = openreg.mem_get_info(device)[1]
    openreg.set_per_process_memory_fraction((openreg.memory_reserved(device) + 64 * MIB) / total, device)
    kept = [memory(32 * MIB, device), memory(20 * MIB, device)]
    with pytest.raises(torch.OutOfMemoryError) as caught:
        memory(32 * MIB, device)
    assert "Raise the limit with torch.openreg.set_per_process_memory_fraction." in str(caught.value)
    assert memory(32 * MIB, other_device).nbytes == 32 * MIB
    kept.pop()
    assert memory(32 * MIB, device).nbytes == 32 * MIB  # by giving the cached segment back
    openreg.set_per_process_memory_fraction(1.0, device)
    assert openreg.get_per_process_memory_fraction(device) == 1
    assert memory(64 * MIB, device).nbytes == 64 * MIB


def test_a_limit_of_nothing_allows_nothing_new(device: str) -> None:
    openreg.set_per_process_memory_fraction(0, device)
    with pytest.raises(torch.OutOfMemoryError, match="its limit is 0 bytes"):
        memory(100 * MIB, device)


@pytest.mark.parametrize("fraction", [-0.1, 1.1, float("nan"), float("inf")])
def test_a_limit_out_of_range_is_refused(fraction: float) -> None:
    text = "set_per_process_memory_fraction: argument 'fraction' is .*; expected a number from 0 to 1"
    with pytest.raises(ValueError, match=text):
        openreg.set_per_process_memory_fraction(fraction)
    assert openreg.get_per_process_memory_fraction() == 1


# -------------------------------------------------------------------------------------------------------- empty_cache


@pytest.mark.parametrize("empty", [openreg.empty_cache, torch.accelerator.empty_cache])
def test_emptying_the_cache_gives_back_what_no_tensor_is_in(device: str, empty: Callable[[], None]) -> None:
    free = openreg.mem_get_info(device)[0]
    kept = memory(11 * MIB, device)
    for size in (1, MIB, 4 * MIB, 15 * MIB):
        memory(size, device)
    assert openreg.mem_get_info(device)[0] < free - 12 * MIB
    empty()
    assert openreg.mem_get_info(device)[0] == free - 12 * MIB
    kept.copy_(torch.ones(11 * MIB, dtype=torch.uint8))
    assert kept[-1].item() == 1


def test_emptying_the_cache_waits_and_lets_other_threads_run(device: str, gate: GateFunction) -> None:
    x = memory(3 * MIB, device)
    side = torch.Stream(device)
    closed = gate(side)
    x.record_stream(side)
    del x
    call = Call(openreg.empty_cache)
    assert call.blocks()
    assert memory(100, device).nbytes == 100  # in the cache or from the driver: nobody waits
    closed.open()
    call.result()


def test_emptying_the_cache_waits_for_each_event_whatever_their_order(program: ProgramFunction) -> None:
    """Who frees records its events without the lock, so that of two events of a stream the later may be added first."""
    program(
        """
        stream = torch.Stream("openreg")
        early, late = (torch.empty(1 << 20, dtype=torch.uint8, device="openreg") for _ in range(2))
        for x in (early, late):
            x.record_stream(stream)
        sim.pause_at_gates()
        recorded = sim.gate(name="recorded")
        freeing = Call(early.set_)  # lets the GIL go, unlike `del`
        recorded.wait_for(1)
        closed = sim.gate(handle(stream))
        del late, x
        recorded.open()
        freeing.result()
        emptying = Call(torch.openreg.empty_cache)
        assert emptying.blocks()
        closed.open()
        emptying.result()
        assert torch.openreg.memory_stats(0)["active_bytes.all.current"] == 0
    """,
        OPENREG_DRIVER="sim",  # inside which the pause points are
    )


def test_pytorchs_own_way_to_empty_the_cache_holds_the_gil(program: ProgramFunction) -> None:
    # So that nobody who reads the guide's advice to use torch.openreg.empty_cache follows it without need.
    said = program("""
        x = torch.empty(9, device="openreg")
        side = torch.Stream("openreg")
        gate = sim.gate(handle(side), deadline=2)
        gate.wait_for(1)
        x.record_stream(side)
        del x
        thread = threading.Thread(target=torch.accelerator.empty_cache)
        start = time.monotonic()
        thread.start()
        time.sleep(0.01)  # gives the GIL away, and comes back with it
        print("went on after the gate's deadline:", time.monotonic() - start > 0.5)
        thread.join()
    """)
    assert "went on after the gate's deadline: True\n" in said


def test_emptying_a_cache_that_was_never_used_starts_nothing(program: ProgramFunction) -> None:
    said = program("""
        torch.openreg.empty_cache()
        torch.accelerator.empty_cache()
        print(sim.get("orSimThreadCount"), [sim.get("orDeviceGetState", i) for i in (0, 1)])
    """)
    assert said == "0 [0, 0]\n"


# ------------------------------------------------------------------------------------------------------------- config


def test_sizes_can_be_rounded_to_parts_of_a_power_of_two(program: ProgramFunction) -> None:
    said = program(
        """
        for size in (100, 4096, 5000, 1 << 20, (1 << 20) + 1, 5 << 20, (5 << 20) + 1):
            before = torch.openreg.memory_allocated()
            x = torch.empty(size, dtype=torch.uint8, device="openreg")
            print(torch.openreg.memory_allocated() - before)
            del x
    """,
        PYTORCH_ALLOC_CONF="roundup_power2_divisions:4",
    )
    assert said.split() == ["512", "4096", "5120", "1048576", "1310720", "5242880", "6291456"]


def test_large_blocks_can_be_kept_whole(program: ProgramFunction) -> None:
    program(
        """
        MIB = 1 << 20
        x = torch.empty(64 * MIB, dtype=torch.uint8, device="openreg")
        where = x.data_ptr()
        del x
        small = torch.empty(30 * MIB, dtype=torch.uint8, device="openreg")
        assert small.data_ptr() != where, "a huge block is not cut up for a small tensor"
        fits = torch.empty(50 * MIB, dtype=torch.uint8, device="openreg")
        assert fits.data_ptr() == where, "but a tensor nearly as large may have it"
        stats = torch.accelerator.memory_stats()
        assert stats["max_split_size"] == 40 * MIB
        assert (stats["oversize_segments.current"], stats["oversize_allocations.current"]) == (1, 1)
        del fits
        torch.openreg.empty_cache()
        stats = torch.accelerator.memory_stats()
        assert (stats["oversize_segments.current"], stats["oversize_allocations.current"]) == (0, 0)
    """,
        PYTORCH_ALLOC_CONF="max_split_size_mb:40",
    )


def test_segments_can_be_larger(program: ProgramFunction) -> None:
    said = program(
        "torch.empty(3 << 20, dtype=torch.uint8, device='openreg'); print(torch.openreg.memory_reserved() >> 20)",
        PYTORCH_ALLOC_CONF="large_segment_size_mb:64",
    )
    assert said == "64\n"


@pytest.mark.parametrize(
    ("config", "text"),
    [
        ("max_split_mb:100", "Unrecognized key 'max_split_mb' in Accelerator allocator config."),
        ("poison:yes", "Expected 'True' or 'False' at index 2 in ConfigTokenizer but got 'yes'"),
    ],
)
def test_a_setting_that_is_not_understood_is_named(program: ProgramFunction, config: str, text: str) -> None:
    said = program(
        """
        for _ in range(2):  # it is not forgotten
            try:
                torch.empty(3, device="openreg")
            except ValueError as error:
                print(error)
    """,
        PYTORCH_ALLOC_CONF=config,
    )
    assert said.count(text) == 2


@pytest.mark.parametrize("key", ["expandable_segments:True", "garbage_collection_threshold:0.8"])
def test_a_setting_without_a_use_here_is_said_to_have_none(program: ProgramFunction, key: str) -> None:
    said = program("torch.empty(3, device='openreg')", PYTORCH_ALLOC_CONF=key)
    assert f"PYTORCH_ALLOC_CONF: openreg's allocator has no use for '{key.partition(':')[0]}'" in said


def test_settings_can_change_while_the_program_runs(program: ProgramFunction) -> None:
    program("""
        torch._C._accelerator_setAllocatorSettings("poison:True,max_split_size_mb:30")
        assert torch.empty(4, dtype=torch.uint8, device="openreg").tolist() == [0xCB] * 4
        assert torch.accelerator.memory_stats()["max_split_size"] == 30 << 20
    """)


# ------------------------------------------------------------------------------------------------------------- poison

POISON = """
x = torch.arange(8, dtype=torch.uint8).to("openreg")
torch.openreg.synchronize()
side = torch.Stream("openreg")
with side:
    read = torch.empty(8, dtype=torch.uint8, device="openreg")
    gate = sim.gate(handle(side))
    read.copy_(x)
{}
del x
torch.openreg.default_stream().synchronize()
gate.open()
side.synchronize()
print(read.cpu().tolist())
"""


@pytest.mark.parametrize(
    ("record", "config", "expected"),
    [
        ("", "", list(range(8))),  # right by luck: nobody has used the memory yet
        ("", "poison:True", [0xCB] * 8),
        ("x.record_stream(side)", "poison:True", list(range(8))),
    ],
)
def test_poison_shows_a_use_after_free_that_went_unnoticed(
    program: ProgramFunction, record: str, config: str, expected: list[int]
) -> None:
    assert program(POISON.format(record), PYTORCH_ALLOC_CONF=config) == f"{expected}\n"


def test_poison_fills_fresh_and_used_memory(program: ProgramFunction) -> None:
    program(
        """
        for size in (1, 1000, 1 << 20, 3 << 20):
            for _ in range(2):
                x = torch.empty(size, dtype=torch.uint8, device="openreg")
                assert x.cpu().eq(0xCB).all(), size
                x.copy_(torch.ones(size, dtype=torch.uint8))
    """,
        PYTORCH_ALLOC_CONF="poison:True",
    )


# ---------------------------------------------------------------------------------------------------- threads and ends


def test_threads_allocate_free_and_record_at_once(program: ProgramFunction) -> None:
    program(
        """
        import random
        errors = []
        def work(seed):
            draw = random.Random(seed)
            side = torch.Stream(f"openreg:{seed % 2}")
            kept = []
            try:
                for i in range(400):
                    size, device = draw.choice([1, 700, 5000, 1 << 20, 3 << 20]), f"openreg:{draw.randrange(2)}"
                    x = torch.full((size,), seed, dtype=torch.uint8).to(device)
                    kept.append((x, seed))
                    if draw.random() < 0.3:
                        x.record_stream(side)
                    if draw.random() < 0.02:
                        torch.openreg.empty_cache()
                    if draw.random() < 0.6:
                        x, value = kept.pop(draw.randrange(len(kept)))
                        assert x[0].item() == x[-1].item() == value
            except BaseException as error:
                errors.append(repr(error))
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert not errors, errors
        torch.openreg.synchronize(0)
        torch.openreg.synchronize(1)
        torch.openreg.empty_cache()
        for i in (0, 1):
            stats = torch.accelerator.memory_stats(i)
            assert not {key: value for key, value in stats.items() if key.endswith(".current") and value}
            free, total = torch.openreg.mem_get_info(i)
            assert free == total
    """,
        timeout=120,
        OPENREG_SIM="memory=512MiB",
    )


def test_a_forked_child_frees_nothing_and_is_told_so(program: ProgramFunction) -> None:
    said = program("""
        kept = [torch.ones(1000).to("openreg") for _ in range(5)]
        kept[0].record_stream(torch.Stream("openreg"))
        sys.stdout.flush()
        if not (child := os.fork()):
            kept.clear()
            for call in (lambda: torch.accelerator.memory_stats(0), torch.accelerator.empty_cache,
                         lambda: torch.accelerator.reset_peak_memory_stats(0)):
                try:
                    call()
                except torch.AcceleratorError as error:
                    print(str(error).split()[-1], flush=True)
            sys.exit()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        assert torch.openreg.memory_allocated() == 5 * 4096
        assert all(x.sum().item() == 1000 for x in kept)
    """)
    assert said.split() == ["[orErrorForked]"] * 3 + ["0"]


def test_a_child_forked_while_the_lock_is_held_does_not_hang(program: ProgramFunction) -> None:
    said = program(
        """
        keep = torch.ones(9).to("openreg")
        ended = []
        for _ in range(3):
            many = [torch.empty(1, device="openreg") for _ in range(100_000)]
            many.clear()
            # Joining so many free blocks takes some 30 ms, all under the lock; the fork comes after 2.
            thread = threading.Thread(target=torch.openreg.empty_cache)
            thread.start()
            time.sleep(0.002)
            if not (child := os.fork()):
                del keep
                os._exit(7)
            ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            thread.join()
        print(ended)
    """,
        timeout=60,
    )
    assert said == "[7, 7, 7]\n"


def test_on_a_failed_device_tensors_die_and_new_memory_is_refused(program: ProgramFunction) -> None:
    said = program("""
        kept = [torch.ones(1000).to("openreg:1") for _ in range(5)]
        side = torch.Stream("openreg:1")
        kept[0].record_stream(side)
        kept[1].record_stream(side)
        gate = sim.gate(handle(side))
        del kept[0]
        sim.lib.orSimLoseDevice(1)
        for call in (lambda: torch.empty(3 << 20, device="openreg:1"), lambda: kept[1].record_stream(side),
                     lambda: kept[2].cpu()):
            try:
                call()
            except torch.AcceleratorError as error:
                print(str(error).split()[-1])
        kept.clear()
        torch.openreg.empty_cache()
        assert torch.accelerator.memory_stats(1)["active.all.current"] == 0
        assert torch.ones(3).to("openreg:0").sum().item() == 3
    """)
    assert said.split() == ["[orErrorDeviceLost]"] * len(said.split()) and len(said.split()) >= 2


def test_after_a_reset_nothing_of_before_is_used_again(program: ProgramFunction) -> None:
    program("""
        x = torch.ones(1000).to("openreg:1")
        torch.openreg.empty_cache()
        del x
        assert sim.lib.orDeviceReset(1) == 0
        torch.openreg.empty_cache()
        assert torch.openreg.memory_reserved(1) == 0
    """)


def test_an_exception_in_the_middle_leaves_nothing_behind(device: str) -> None:
    before = now(device, "allocated_bytes", "active")
    sim.lib.orSimFailCall(b"orMalloc", 1, sim.errors["orErrorTimedOut"])
    with pytest.raises(torch.AcceleratorError, match="orErrorTimedOut"):
        memory(100 * MIB, device)
    side = torch.Stream(device)
    x = memory(10, device)
    sim.lib.orSimFailCall(b"orEventCreateWithFlags", 1, sim.errors["orErrorTimedOut"])
    with pytest.raises(torch.AcceleratorError, match="orErrorTimedOut"):
        x.record_stream(side)
    del x
    assert now(device, "allocated_bytes", "active") == before
