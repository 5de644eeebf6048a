"""Streams: order within one, none between two, priorities, queries, waits, functions of the host."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from .harness import AT_ONCE, Call, OpenReg


@pytest.mark.entry("orDeviceGetStreamPriorityRange", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_a_smaller_number_is_the_greater_priority(api: OpenReg, lib: Any, device: int) -> None:
    least, greatest = api.ffi.new("int*"), api.ffi.new("int*")
    api.ok(lib.orDeviceGetStreamPriorityRange(least, greatest, device))
    assert greatest[0] <= least[0]


@pytest.mark.entry("orStreamCreateWithPriority", case="good")
@pytest.mark.entry("orStreamCreate", case="good")
@pytest.mark.entry("orStreamGetPriority", case="good")
@pytest.mark.entry("orStreamDestroy", case="good")
@pytest.mark.parametrize("asked", [-(2**31), -100, -1, 0, 1, 100, 2**31 - 1])
def test_a_priority_is_clamped_into_the_range(api: OpenReg, lib: Any, asked: int) -> None:
    least, greatest, priority = (api.ffi.new("int*") for _ in range(3))
    api.ok(lib.orDeviceGetStreamPriorityRange(least, greatest, 0))
    stream = api.get("orStreamCreateWithPriority", lib.orStreamDefault, asked)
    api.ok(lib.orStreamGetPriority(stream, priority))
    assert priority[0] == max(greatest[0], min(least[0], asked))
    api.ok(lib.orStreamDestroy(stream))
    plain = api.get("orStreamCreate")
    api.ok(lib.orStreamGetPriority(plain, priority))
    assert priority[0] == least[0]
    api.ok(lib.orStreamDestroy(plain))


@pytest.mark.entry("orStreamGetDevice", case="good")
@pytest.mark.entry("orStreamGetDefault", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_a_stream_knows_its_device(api: OpenReg, lib: Any, device: int) -> None:
    out = api.ffi.new("int*")
    for stream in (api.stream(device), api.default_stream(device)):
        api.use_another(device)
        api.ok(lib.orStreamGetDevice(stream, out))
        assert out[0] == device


@pytest.mark.entry("orStreamGetDefault", case="good")
def test_each_device_has_one_default_stream(api: OpenReg) -> None:
    streams = [api.default_stream(device) for device in api.devices]
    assert len({api.address(stream) for stream in streams} - {0}) == len(api.devices)
    for device in api.devices:
        api.use_another(device)
        assert api.default_stream(device) == streams[device]


def test_the_default_stream_is_always_the_same_and_every_other_stream_is_new(api: OpenReg) -> None:
    assert api.default_stream(0) == api.default_stream(0) != api.default_stream(1)
    streams = [api.stream(device) for device in (0, 1) for _ in range(40)]
    assert len({api.address(stream) for stream in [*streams, api.default_stream(0), api.default_stream(1)]}) == 82
    assert Call(lambda: api.default_stream(0)).result() == api.default_stream(0)


@pytest.mark.entry("orStreamDestroy", case="bad")
@pytest.mark.parametrize("device", [0, 1])
def test_a_default_stream_cannot_be_destroyed(api: OpenReg, lib: Any, device: int) -> None:
    text = ("^orStreamDestroy: ", r"\bstream\b", "default")
    api.check(lib.orStreamDestroy(api.default_stream(device)), "orErrorInvalidHandle", *text)
    api.synchronize(api.default_stream(device))


def test_work_already_submitted_still_runs_after_the_stream_is_destroyed(api: OpenReg, lib: Any) -> None:
    log = api.log()
    stream = api.stream()
    gate = api.gate(stream)
    for value in range(5):
        api.append(log, value, stream)
    event = api.record(stream)
    api.ok(lib.orStreamDestroy(stream))
    assert gate.waiting <= 1
    assert not api.is_complete(event)
    gate.open()
    api.ok(lib.orEventSynchronize(event))
    assert api.read_log(log) == [0, 1, 2, 3, 4]


# --------------------------------------------------------------------------------------------------------------- order


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("default", [False, True], ids=["made", "default"])
def test_work_on_one_stream_runs_in_the_order_of_submission(api: OpenReg, device: int, default: bool) -> None:
    log = api.log(device)
    stream = api.default_stream(device) if default else api.stream(device)
    gate = api.gate(stream)
    for value in range(200):
        api.append(log, value, stream, device)
    gate.wait_for(1)
    gate.open()
    api.synchronize(stream)
    assert api.read_log(log) == list(range(200))


def test_kernels_copies_fills_and_host_functions_share_one_order(api: OpenReg, lib: Any) -> None:
    buffer, pinned = api.malloc(8), api.malloc_host(8 * 4)
    stream = api.stream()
    seen = []

    def look(slot: int) -> None:
        api.ok(lib.orMemcpyAsync(api.pointer(pinned + 8 * slot), api.pointer(buffer), 8, lib.orMemcpyDefault, stream))
        api.host_function(stream, lambda: seen.append(bytes(api.view(pinned + 8 * slot, 8))))

    with api.gate(stream):
        for slot, value in enumerate((0xAA, 0xBB, 0xCC)):
            api.ok(lib.orMemsetAsync(api.pointer(buffer), value, 8, stream))
            look(slot)
    api.synchronize(stream)
    assert seen == [b"\xaa" * 8, b"\xbb" * 8, b"\xcc" * 8]


def test_there_is_no_order_between_two_streams(api: OpenReg) -> None:
    log = api.log()
    first, second = api.stream(), api.stream()
    with api.gate(first) as gate:
        api.append(log, 1, first)
        api.append(log, 2, second)
        api.synchronize(second)
        assert api.read_log(log) == [2]
        gate.open()
        api.synchronize(first)
        assert api.read_log(log) == [2, 1]


@pytest.mark.parametrize("gated", ["default", "made"])
def test_the_default_stream_neither_waits_for_the_others_nor_makes_them_wait(api: OpenReg, gated: str) -> None:
    made, default = api.stream(), api.default_stream()
    stands, goes = (default, made) if gated == "default" else (made, default)
    with api.gate(stands) as gate:
        gate.wait_for(1)
        log = api.malloc(8 * 256)
        api.ok(api.lib.orMemsetAsync(api.pointer(log), 0, 8 * 256, goes))
        api.append(log, 1, goes)
        api.synchronize(goes)
        assert api.is_done(goes)
        assert not api.is_done(stands)
        assert gate.waiting == 1


def test_many_streams_stand_at_gates_at_once_without_holding_each_other_up(api: OpenReg) -> None:
    log = api.log()
    streams = [api.stream() for _ in range(40)]
    gates = [api.gate(stream) for stream in streams]
    for value, stream in enumerate(streams):
        api.append(log, value, stream)
    for gate in gates:
        gate.wait_for(1)
    order = [(7 * number) % 40 for number in range(40)]
    for number in order:
        gates[number].open()
        api.synchronize(streams[number])
    assert api.read_log(log) == order


def test_work_of_one_thread_on_many_streams_and_of_many_threads_on_one_stream_all_runs(api: OpenReg) -> None:
    log = api.log()
    stream = api.stream()
    kernel = api.kernel("append")
    barrier = threading.Barrier(4)

    def submit(thread: int) -> None:
        barrier.wait()
        for number in range(50):
            api.append(log, 100 * thread + number, stream)

    assert kernel
    calls = [Call(lambda thread=thread: submit(thread)) for thread in range(4)]
    for call in calls:
        call.result()
    api.synchronize(stream)
    seen = api.read_log(log)
    assert sorted(seen) == sorted(100 * thread + number for thread in range(4) for number in range(50))
    for thread in range(4):
        mine = [value for value in seen if value // 100 == thread]
        assert mine == sorted(mine), "each thread's work keeps its order"


# ----------------------------------------------------------------------------------------------------- query and waits


@pytest.mark.entry("orStreamQuery", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_query_tells_whether_all_work_is_done(api: OpenReg, device: int) -> None:
    stream = api.stream(device)
    assert api.is_done(stream)
    gate = api.gate(stream)
    assert not api.is_done(stream)
    gate.wait_for(1)
    assert not api.is_done(stream)
    gate.open()
    api.synchronize(stream)
    assert api.is_done(stream)


def test_a_stream_is_not_ready_while_its_last_task_runs(api: OpenReg) -> None:
    stream = api.stream()
    runs, finish = threading.Event(), threading.Event()

    def function() -> None:
        runs.set()
        finish.wait(30)

    api.host_function(stream, function)
    runs.wait(30)
    try:
        assert not api.is_done(stream)
        event = api.record(stream)
        assert not api.is_complete(event)
    finally:
        finish.set()
    api.synchronize(stream)
    assert api.is_done(stream)
    assert api.is_complete(event)


@pytest.mark.entry("orStreamSynchronize", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_stream_synchronize_waits_for_its_stream_only(api: OpenReg, device: int) -> None:
    stream, sibling, foreign = api.stream(device), api.stream(device), api.stream(1 - device)
    order = []
    with api.gate(stream) as gate, api.gate(api.default_stream(device)) as others:
        others.wait_for(1)
        gate.wait_for(1)

        def synchronize() -> None:
            api.synchronize(stream)
            order.append("synchronised")

        call = Call(synchronize)
        assert call.blocks()
        for idle in (sibling, foreign):
            Call(lambda idle=idle: api.synchronize(idle)).result(AT_ONCE)
        order.append("opened")
        gate.open()
        call.result()
        assert others.waiting == 1
    assert order == ["opened", "synchronised"]


def test_stream_synchronize_does_not_wait_for_work_that_comes_later(api: OpenReg) -> None:
    stream = api.stream()
    first = api.gate(stream, name="first")
    call = Call(lambda: api.synchronize(stream))
    assert call.blocks()
    second = api.gate(stream, name="second")
    first.open()
    call.result()
    second.wait_for(1)
    assert not api.is_done(stream)


def test_many_threads_can_wait_for_one_stream(api: OpenReg) -> None:
    stream = api.stream()
    gate = api.gate(stream)
    calls = [Call(lambda: api.synchronize(stream)) for _ in range(8)]
    assert calls[-1].blocks()
    gate.open()
    for call in calls:
        call.result()


# ------------------------------------------------------------------------------------------------------ wait for event


@pytest.mark.entry("orStreamWaitEvent", case="good")
@pytest.mark.parametrize(("waiter", "owner"), [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("current", [0, 1])
def test_work_behind_a_wait_runs_after_the_event(api: OpenReg, waiter: int, owner: int, current: int) -> None:
    log = api.log(waiter)
    first, second = api.stream(owner), api.stream(waiter)
    gate = api.gate(first)
    event = api.record(first, device=owner)
    api.use(current)
    api.append(log, 1, second, waiter)
    api.ok(api.lib.orStreamWaitEvent(second, event, 0))
    before = api.record(second, device=waiter)
    api.append(log, 2, second, waiter)
    gate.wait_for(1)
    assert not api.is_done(second)
    assert not api.is_complete(before)
    gate.open()
    api.synchronize(second)
    assert api.is_complete(event)
    assert api.read_log(log) == [1, 2]


def test_waiting_for_an_event_that_was_never_recorded_makes_nobody_wait(api: OpenReg) -> None:
    stream = api.stream()
    api.ok(api.lib.orStreamWaitEvent(stream, api.event(), 0))
    Call(lambda: api.synchronize(stream)).result()


def test_waiting_does_not_block_the_host_and_does_not_block_other_streams(api: OpenReg) -> None:
    first, second, third = api.stream(), api.stream(), api.stream()
    with api.gate(first) as gate:
        event = api.record(first)
        Call(lambda: api.ok(api.lib.orStreamWaitEvent(second, event, 0))).result(AT_ONCE)
        Call(lambda: api.synchronize(third)).result(AT_ONCE)
        gate.wait_for(1)
        assert not api.is_done(second)


def test_a_stream_can_wait_for_its_own_event(api: OpenReg) -> None:
    stream = api.stream()
    event = api.record(stream)
    api.ok(api.lib.orStreamWaitEvent(stream, event, 0))
    Call(lambda: api.synchronize(stream)).result()


def test_a_chain_of_waits_through_many_streams_keeps_its_order(api: OpenReg) -> None:
    log = api.log()
    streams = [api.stream() for _ in range(20)]
    gate = api.gate(streams[0])
    for number, stream in enumerate(streams):
        if number > 0:
            api.ok(api.lib.orStreamWaitEvent(stream, api.record(streams[number - 1]), 0))
        api.append(log, number, stream)
    gate.open()
    api.synchronize(streams[-1])
    assert api.read_log(log) == list(range(20))


@pytest.mark.entry("orStreamWaitEvent", case="bad")
@pytest.mark.parametrize("flags", [1, 2, 2**31])
def test_wait_flags_must_be_zero(api: OpenReg, flags: int) -> None:
    event = api.event()
    text = ("^orStreamWaitEvent: ", r"\bflags\b", rf"\b({flags}|0x{flags:x})\b", r"\b0\b")
    api.check(api.lib.orStreamWaitEvent(api.stream(), event, flags), "orErrorInvalidValue", *text)


# ----------------------------------------------------------------------------------------------------- host functions


@pytest.mark.entry("orLaunchHostFunc", case="good")
def test_host_functions_run_in_order_once_each_and_get_their_data(api: OpenReg, ffi: Any) -> None:
    seen = []
    callback = ffi.callback("orHostFn_t", lambda data: seen.append(api.address(data)))
    stream = api.stream()
    with api.gate(stream) as gate:
        for number in range(100):
            api.ok(api.lib.orLaunchHostFunc(stream, callback, ffi.cast("void*", number)))
        gate.wait_for(1)
        assert seen == []
    api.synchronize(stream)
    assert seen == list(range(100))


def test_what_is_submitted_later_waits_for_the_return_of_a_host_function(api: OpenReg) -> None:
    log = api.log()
    stream = api.stream()
    runs, finish = threading.Event(), threading.Event()

    def function() -> None:
        runs.set()
        finish.wait(30)

    api.host_function(stream, function)
    api.append(log, 1, stream)
    runs.wait(30)
    assert api.read_log(log) == []
    finish.set()
    api.synchronize(stream)
    assert api.read_log(log) == [1]


def test_a_host_function_does_not_hold_up_another_stream(api: OpenReg) -> None:
    stream, other = api.stream(), api.stream()
    finish = threading.Event()
    api.host_function(stream, lambda: finish.wait(30) and None)
    api.host_function(other, finish.set)
    api.synchronize(other)
    api.synchronize(stream)
    assert finish.is_set()


def test_functions_of_different_streams_do_not_wait_for_each_other(api: OpenReg) -> None:
    """Collectives rest on it: each of these functions returns only when all of them have begun."""
    streams = [api.stream(device) for device in (0, 1) for _ in range(3)]
    all_have_begun = threading.Barrier(len(streams), timeout=30)
    passed = []
    for stream in streams:
        api.host_function(stream, lambda: passed.append(all_have_begun.wait()))
    for stream in streams:
        api.synchronize(stream)
    assert sorted(passed) == list(range(len(streams)))


def test_a_host_function_runs_in_a_thread_of_the_driver(api: OpenReg) -> None:
    stream = api.stream()
    threads = []
    api.host_function(stream, lambda: threads.append(threading.get_native_id()))
    api.synchronize(stream)
    assert threads[0] != threading.get_native_id()
