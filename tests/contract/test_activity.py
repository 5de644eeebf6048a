"""Activity records: complete, in order, and of nobody who doesn't listen."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest

from . import header
from .harness import Call, Gate, Listener, NotOfThisDriver, OpenReg, Record, wait_until

COPIES = ("orMemcpyWithStream", "orMemcpyAsync")


def listen(api: OpenReg, **options: Any) -> Listener:
    """A subscription; the test is left out on a driver that has none, which must say so."""
    try:
        return api.listen(**options)
    except NotOfThisDriver:
        api.check(
            api.errors["orErrorNotImplemented"], "orErrorNotImplemented", "^not implemented: orActivitySubscribe$"
        )
        handle = api.ffi.cast("orSubscriber_t", 1)
        missing = "^not implemented: orActivityUnsubscribe$"
        api.check(api.lib.orActivityUnsubscribe(handle), "orErrorNotImplemented", missing)
        raise


def nothing(api: OpenReg, stream: Any, device: int = 0) -> None:
    """Launches a kernel that does nothing."""
    api.ok(api.launch(api.kernel("nothing", device), b"", [], stream))


def one(records: list[Record]) -> Record:
    """The only record that there is to be."""
    assert len(records) == 1, records
    return records[0]


# ------------------------------------------------------------------------------------------------- what is recorded


@pytest.mark.entry("orActivitySubscribe", case="good")
@pytest.mark.entry("orActivityUnsubscribe", case="good")
def test_a_subscriber_gets_a_record_of_each_piece_of_work(api: OpenReg, lib: Any) -> None:
    buffer, stream = api.malloc(64), api.default_stream()
    api.kernel("nothing")
    with listen(api) as listener:
        api.ok(lib.orMemset(api.pointer(buffer), 1, 64))
        api.read(buffer, 64)
        nothing(api, stream)
        api.ok(lib.orDeviceSynchronize(0))
    assert [(it.kind, it.name, it.bytes) for it in listener.work] == [
        ("Memset", "memset", 64),
        ("Memcpy", "memcpy", 64),
        ("Kernel", "nothing", 0),
    ]
    assert {it.device for it in listener.work} == {0}
    assert {it.stream for it in listener.work} == {api.address(stream)}
    assert listener.size == api.ffi.sizeof("orActivityRecord")


def test_a_call_and_the_work_that_it_submits_have_one_number(api: OpenReg, lib: Any) -> None:
    buffer, stream, event = api.malloc(64), api.stream(), api.event()
    api.kernel("nothing")
    with listen(api) as listener:
        nothing(api, stream)
        api.ok(lib.orMemsetAsync(api.pointer(buffer), 1, 64, stream))
        api.record(stream, event)
        api.synchronize(stream)
    calls = {it.name: it.correlation for it in listener.of("Call")}
    assert list(calls) == ["orLaunchKernel", "orMemsetAsync", "orEventRecord", "orStreamSynchronize"]
    assert len({*calls.values()}) == 4
    assert [it.correlation for it in listener.work] == [calls["orLaunchKernel"], calls["orMemsetAsync"]]


def test_calls_come_on_the_thread_that_called_and_name_no_device(api: OpenReg) -> None:
    stream = api.stream()
    api.kernel("nothing")
    with listen(api) as listener:
        thread = threading.Thread(target=nothing, args=[api, stream])
        thread.start()
        thread.join()
        api.synchronize(stream)
    launch, wait = listener.of("Call")
    assert (launch.name, launch.thread) == ("orLaunchKernel", thread.ident)
    assert (wait.name, wait.thread) == ("orStreamSynchronize", threading.get_ident())
    assert [(it.device, it.stream, it.peer) for it in (launch, wait)] == [(-1, 0, -1)] * 2


def test_times_are_those_of_the_clock_and_work_of_one_stream_does_not_overlap(api: OpenReg) -> None:
    stream = api.stream()
    api.kernel("nothing")
    with listen(api) as listener:
        before = time.monotonic_ns()
        for _ in range(100):
            nothing(api, stream)
        api.synchronize(stream)
        after = time.monotonic_ns()
    times = [moment for it in listener.work for moment in (it.start, it.end)]
    assert len(times) == 200
    assert before <= times[0] and times[-1] <= after
    assert times == sorted(times)
    starts = {it.correlation: it.start for it in listener.of("Call")}
    assert all(starts[it.correlation] <= it.start for it in listener.work)
    waited = listener.of("Call")[-1]
    assert before <= waited.start <= waited.end <= after and times[-1] <= waited.end


@pytest.mark.parametrize("call", COPIES)
def test_a_copy_says_where_from_and_where_to_and_whether_the_hosts_memory_is_pinned(
    api: OpenReg, lib: Any, call: str
) -> None:
    device, other, pinned, plain = api.malloc(4096), api.malloc(4096), api.malloc_host(4096), api.host(4096)
    stream = api.default_stream()
    ends = {"device": api.pointer(device), "other": api.pointer(other), "pinned": api.pointer(pinned), "plain": plain}
    expected = {
        ("device", "plain"): ("HostToDevice", "Unregistered"),
        ("plain", "device"): ("DeviceToHost", "Unregistered"),
        ("device", "pinned"): ("HostToDevice", "Host"),
        ("pinned", "device"): ("DeviceToHost", "Host"),
        ("device", "other"): ("DeviceToDevice", "Unregistered"),
        ("plain", "plain"): ("HostToHost", "Unregistered"),
    }
    with listen(api) as listener:
        for (dst, src), what in expected.items():
            size = 4096 if dst != src else 2048
            api.ok(api.call(call, ends[dst], ends[src], size, lib.orMemcpyDefault, stream))
            api.synchronize(stream)
            it = listener.work[-1]
            assert (it.kind, it.direction, it.host, it.bytes, it.peer) == ("Memcpy", *what, size, -1)
            assert it.correlation == listener.of("Call")[-2].correlation
    assert len(listener.work) == len(expected)


def test_a_large_copy_of_pageable_memory_is_one_record(api: OpenReg, lib: Any) -> None:
    size = 9 << 20
    device, plain = api.malloc(size), api.host(size)
    with listen(api) as listener:
        api.ok(lib.orMemcpy(api.pointer(device), plain, size, lib.orMemcpyHostToDevice))
    call, copy = one(listener.of("Call")), one(listener.work)
    assert copy.bytes == size and call.correlation == copy.correlation
    assert call.start <= copy.start < copy.end <= call.end


@pytest.mark.parametrize("on", [0, 1])
def test_a_copy_between_devices_names_the_other_one(api: OpenReg, lib: Any, on: int) -> None:
    ends = [api.pointer(api.malloc(64, device)) for device in (0, 1)]
    stream = api.stream(on)
    with listen(api) as listener:
        api.ok(lib.orMemcpyPeerAsync(ends[1], 1, ends[0], 0, 64, stream))
        api.synchronize(stream)
    it = one(listener.work)
    assert (it.device, it.peer, it.direction, it.stream) == (on, 1 - on, "DeviceToDevice", api.address(stream))


def test_a_stream_that_stands_for_an_event_is_a_wait(api: OpenReg, lib: Any) -> None:
    first, second = api.stream(), api.stream()
    with listen(api) as listener:
        gate = api.gate(first)
        event = api.record(first)
        api.ok(lib.orStreamWaitEvent(second, event, 0))
        gate.wait_for(1)
        inside = time.monotonic_ns()
        gate.open()
        api.synchronize(second)
        api.synchronize(first)
    function, wait = one(listener.of("HostFunction")), one(listener.of("Wait"))
    assert (function.stream, wait.stream) == (api.address(first), api.address(second))
    assert (function.name, wait.name) == ("host function", "wait")
    assert function.start <= inside <= function.end <= wait.end
    calls = {it.name: it.correlation for it in listener.of("Call")}
    assert function.correlation == calls["orLaunchHostFunc"] and wait.correlation == calls["orStreamWaitEvent"]


def test_an_allocation_says_how_much_and_where(api: OpenReg) -> None:
    with listen(api) as listener:
        api.use(1)
        ends = {"orMalloc": api.malloc(1000, 1), "orMallocHost": api.malloc_host(2000, 1)}
        api.ok(api.free(ends["orMalloc"]))
        api.ok(api.free_host(ends["orMallocHost"]))
    found = [(it.kind, it.name, it.device, it.address) for it in listener.of("Allocation", "Free")]
    assert found == [
        ("Allocation", "orMalloc", 1, ends["orMalloc"]),
        ("Allocation", "orMallocHost", 1, ends["orMallocHost"]),
        ("Free", "orFree", 1, ends["orMalloc"]),
        ("Free", "orFreeHost", 1, ends["orMallocHost"]),
    ]
    sizes = [it.bytes for it in listener.of("Allocation", "Free")]
    assert sizes[:2] == [1000, 2000] and sizes[2] >= 1000 and sizes[3] >= 2000


def test_what_a_call_was_refused_for_has_no_work(api: OpenReg, lib: Any) -> None:
    with listen(api) as listener:
        assert lib.orMemset(api.pointer(8), 0, 8) != 0
        assert lib.orMalloc(api.ffi.new("void**"), 1 << 60) != 0
        api.ok(lib.orDeviceSynchronize(0))
    assert listener.work == []
    refused = one(listener.of("Allocation"))
    assert (refused.bytes, refused.address) == (1 << 60, 0)


def test_questions_are_not_recorded(api: OpenReg) -> None:
    stream, event = api.stream(), api.event()
    with listen(api) as listener:
        assert api.is_done(stream) and api.is_complete(event)
        api.memory()
        api.get("orPointerGetAttributes", api.pointer(8))
    assert listener.records == []


# ------------------------------------------------------------------------------------------------------------ when


def wait_by(api: OpenReg, how: str, stream: Any) -> None:
    """Waits for a stream in one of the ways that there are."""
    lib = api.lib
    if how == "orStreamQuery":
        wait_until(lambda: api.is_done(stream), "the stream is done")
    elif how.startswith("orEvent"):
        event = api.record(stream)
        if how == "orEventSynchronize":
            api.ok(lib.orEventSynchronize(event))
        else:
            wait_until(lambda: api.is_complete(event), "the event is complete")
    elif how == "orMemcpyWithStream":
        data = api.host(8)
        api.ok(lib.orMemcpyWithStream(api.pointer(api.malloc(8)), data, 8, lib.orMemcpyHostToDevice, stream))
    else:
        api.ok(lib.orDeviceSynchronize(0) if how == "orDeviceSynchronize" else lib.orStreamSynchronize(stream))


@pytest.mark.parametrize(
    "how",
    [
        "orStreamSynchronize",
        "orDeviceSynchronize",
        "orEventSynchronize",
        "orStreamQuery",
        "orEventQuery",
        "orMemcpyWithStream",
    ],
)
def test_who_has_waited_for_the_work_has_its_record(api: OpenReg, how: str) -> None:
    stream = api.stream()
    api.kernel("nothing")
    with listen(api) as listener:
        for round_ in range(1, 21):
            for _ in range(10):
                nothing(api, stream)
            wait_by(api, how, stream)
            assert len(listener.of("Kernel")) == 10 * round_


def test_more_work_than_any_buffer_holds_is_recorded_without_anybody_waiting(api: OpenReg) -> None:
    many = 3 * 8192
    stream = api.stream()
    api.kernel("nothing")
    with listen(api) as listener:
        for _ in range(many):
            nothing(api, stream)
        wait_until(lambda: len(listener.of("Kernel")) >= 2 * 8192, "most of the records come by themselves")
        api.synchronize(stream)
    kernels = listener.of("Kernel")
    assert len(kernels) == many
    assert len({it.correlation for it in kernels}) == many


def test_work_submitted_before_is_not_recorded(api: OpenReg) -> None:
    stream = api.stream()
    gate = api.gate(stream)
    nothing(api, stream)
    with listen(api) as listener:
        nothing(api, stream)
        gate.open()
        api.synchronize(stream)
    launch = next(it for it in listener.of("Call") if it.name == "orLaunchKernel")
    assert one(listener.work).correlation == launch.correlation


def test_work_that_is_done_after_the_end_is_not_delivered(api: OpenReg) -> None:
    stream = api.stream()
    gate = api.gate(stream)
    gate.wait_for(1)
    listener = listen(api)
    nothing(api, stream)
    listener.end()
    gate.open()
    api.synchronize(stream)
    assert listener.work == []


def test_one_who_comes_while_another_listens_gets_what_comes_from_then_on(api: OpenReg) -> None:
    stream = api.stream()
    api.kernel("nothing")
    first = listen(api)
    nothing(api, stream)
    api.synchronize(stream)
    second = listen(api)
    nothing(api, stream)
    api.synchronize(stream)
    first.end()
    nothing(api, stream)
    api.synchronize(stream)
    second.end()
    nothing(api, stream)
    api.synchronize(stream)
    assert (len(first.work), len(second.work)) == (2, 2)
    assert first.work[1].correlation == second.work[0].correlation


def test_there_is_a_largest_number_of_subscriptions(api: OpenReg, lib: Any) -> None:
    most = header.constant("OPENREG_MAX_SUBSCRIBERS")
    listeners = [listen(api) for _ in range(most)]
    function = api.ffi.callback("orActivityFn_t", lambda _record, _data: None)
    error = lib.orActivitySubscribe(api.ffi.new("orSubscriber_t*"), function, api.ffi.NULL)
    api.check(error, "orErrorMemoryAllocation", "^orActivitySubscribe: ", f"{most} subscriptions", "ended first")
    listeners[3].end()
    again = listen(api)
    nothing(api, api.default_stream())
    api.synchronize(api.default_stream())
    assert one(again.of("Kernel")).name == "nothing"


def test_a_subscription_ends_once(api: OpenReg, lib: Any) -> None:
    listener = listen(api)
    listener.end()
    text = ("^orActivityUnsubscribe: ", "'subscriber'", "destroyed")
    api.check(lib.orActivityUnsubscribe(listener.handle), "orErrorInvalidHandle", *text)
    stream = api.ffi.cast("orSubscriber_t", api.stream())
    api.check(lib.orActivityUnsubscribe(stream), "orErrorInvalidHandle", "which is a stream; expected a subscriber")


def test_the_end_waits_for_a_function_that_is_running(api: OpenReg) -> None:
    stream = api.stream()
    inside, leave = threading.Event(), threading.Event()

    def stay(record: Record) -> None:
        if record.name == "orLaunchKernel":
            inside.set()
            leave.wait(30)

    api.kernel("nothing")
    listener = listen(api, during=stay)
    launch = Call(lambda: nothing(api, stream))
    assert inside.wait(30)
    end = Call(listener.end)
    assert end.blocks()
    leave.set()
    end.result()
    launch.result()
    before = len(listener.records)
    nothing(api, stream)
    api.synchronize(stream)
    assert len(listener.records) == before


# ------------------------------------------------------------------------------------- threads, devices, failures


def test_threads_that_work_at_once_mix_nothing_up(api: OpenReg) -> None:
    threads, each = 4, 200
    streams = [api.stream(device % 2) for device in range(threads)]
    for device in (0, 1):
        api.kernel("nothing", device)

    def work(i: int) -> None:
        for _ in range(each):
            nothing(api, streams[i], i % 2)
        api.synchronize(streams[i])

    with listen(api) as listener:
        running = [threading.Thread(target=work, args=[i]) for i in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    calls = {it.correlation: it for it in listener.of("Call")}
    assert len(calls) == threads * (each + 1)
    for i, thread in enumerate(running):
        kernels = [it for it in listener.of("Kernel") if it.stream == api.address(streams[i])]
        assert len(kernels) == each
        assert {it.device for it in kernels} == {i % 2}
        assert {calls[it.correlation].thread for it in kernels} == {thread.ident}
        assert [it.correlation for it in kernels] == sorted(it.correlation for it in kernels)


def test_listening_on_and_off_while_others_work_loses_nothing_else(api: OpenReg) -> None:
    stream, log = api.stream(), api.log()
    stop = threading.Event()
    appended = []

    def work() -> None:
        while not stop.is_set() and len(appended) < 200:
            api.append(log, len(appended), stream)
            appended.append(None)
            api.synchronize(stream)

    api.kernel("append")
    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(50):
        with listen(api) as listener:
            pass
        assert len({it.correlation for it in listener.of("Kernel")}) == len(listener.of("Kernel"))
    stop.set()
    thread.join()
    api.synchronize(stream)
    assert api.read_log(log) == list(range(len(appended)))


def test_a_kernel_that_fails_has_a_record_and_what_is_queued_behind_it_has_none(api: OpenReg, lib: Any) -> None:
    stream, buffer = api.stream(), api.malloc(8)
    api.kernel("report")
    with listen(api) as listener:
        gate = api.gate(stream)
        api.fail_on_device(stream)
        nothing(api, stream)
        api.ok(lib.orMemsetAsync(api.pointer(buffer), 1, 8, stream))
        gate.open()
        assert lib.orStreamSynchronize(stream) == api.errors["orErrorAssert"]
    assert [(it.kind, it.name) for it in listener.work] == [("HostFunction", "host function"), ("Kernel", "report")]


def test_what_a_lost_device_has_not_done_has_no_record_and_the_other_goes_on(api: OpenReg, lib: Any) -> None:
    lost, other = api.stream(0), api.stream(1)
    api.kernel("nothing", 0), api.kernel("nothing", 1)
    with listen(api) as listener:
        nothing(api, lost)
        api.synchronize(lost)
        gate = api.gate(lost)
        gate.wait_for(1)
        nothing(api, lost)
        api.ok(lib.orSimLoseDevice(0))
        assert lib.orStreamSynchronize(lost) == api.errors["orErrorDeviceLost"]
        nothing(api, other, 1)
        api.synchronize(other)
        gate.open()
        api.forget(0)
        api.forget(1)
    kernels = listener.of("Kernel")
    assert [it.device for it in kernels] == [0, 1]


def test_a_device_that_was_reset_is_recorded_again(api: OpenReg) -> None:
    stream = api.stream()
    api.kernel("nothing")
    with listen(api) as listener:
        gate: Gate = api.gate(stream)
        gate.wait_for(1)
        nothing(api, stream)
        api.forget(0)
        again = api.stream()
        nothing(api, again)
        api.synchronize(again)
    kernel = one(listener.of("Kernel"))
    assert kernel.stream == api.address(again)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_records_nothing_and_the_parent_goes_on(run_child: Any) -> None:
    run_child(
        """
        from contract.test_activity import listen, nothing, one
        stream = api.stream()
        api.kernel("nothing")
        listener = listen(api)
        def child():
            function = ffi.callback("orHostFn_t", lambda _: None)
            api.check(lib.orLaunchHostFunc(stream, function, ffi.NULL), "orErrorForked")
            api.ok(lib.orFree(api.pointer(8)))
            assert listener.records == []
            api.ok(lib.orActivityUnsubscribe(listener.handle))
            out = ffi.new("orSubscriber_t*")
            api.check(lib.orActivitySubscribe(out, listener._function, ffi.NULL), "orErrorForked")
        in_forked_child(child)
        nothing(api, stream)
        api.synchronize(stream)
        listener.end()
        one(listener.of("Kernel"))
        """
    )


def test_a_child_of_a_process_that_had_no_device_listens_as_its_parent_did(run_child: Any) -> None:
    run_child(
        """
        from contract.test_activity import listen, nothing
        listener = listen(api)
        def child():
            nothing(api, api.stream())
            api.ok(lib.orDeviceSynchronize(0))
            assert len(listener.of("Kernel")) == 1
            listener.end()
        in_forked_child(child)
        """
    )
