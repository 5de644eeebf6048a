"""Events: versions, waits, queries, time."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from .harness import AT_ONCE, Call, OpenReg, wait_until


@pytest.mark.entry("orEventCreate", case="good")
@pytest.mark.entry("orEventQuery", case="good")
@pytest.mark.entry("orEventSynchronize", case="good")
def test_an_event_that_was_never_recorded_is_complete(api: OpenReg, lib: Any) -> None:
    event = api.get("orEventCreate")
    with api.gate(api.stream(), api.default_stream()) as gate:
        gate.wait_for(2)
        assert api.is_complete(event)
        api.ok(lib.orEventSynchronize(event))
        assert gate.waiting == 2
    api.ok(lib.orEventDestroy(event))


@pytest.mark.entry("orEventRecord", case="good")
@pytest.mark.entry("orEventCreateWithFlags", case="good")
@pytest.mark.parametrize("flags", ["orEventDefault", "orEventDisableTiming"])
@pytest.mark.parametrize("device", [0, 1])
def test_an_event_is_complete_once_the_work_before_it_is_done(api: OpenReg, lib: Any, flags: str, device: int) -> None:
    stream = api.stream(device)
    event = api.event(device, getattr(lib, flags))
    api.use_another(device)
    with api.gate(stream) as gate:
        api.record(stream, event)
        gate.wait_for(1)
        assert not api.is_complete(event)
        behind = api.gate(stream, name="behind")
        gate.open()
        api.ok(lib.orEventSynchronize(event))
        assert api.is_complete(event)
        behind.wait_for(1)
        assert not api.is_done(stream), "work behind the event plays no part"


@pytest.mark.parametrize("device", [0, 1])
def test_event_synchronize_waits_for_its_event_only(api: OpenReg, lib: Any, device: int) -> None:
    stream, other = api.stream(device), api.stream(1 - device)
    with api.gate(other, api.default_stream(device)) as others, api.gate(stream) as gate:
        others.wait_for(2)
        event = api.record(stream, device=device)
        order = []

        def synchronize() -> None:
            api.ok(lib.orEventSynchronize(event))
            order.append("synchronised")

        call = Call(synchronize)
        assert call.blocks()
        order.append("opened")
        gate.open()
        call.result()
        assert others.waiting == 2
    assert order == ["opened", "synchronised"]


def test_event_synchronize_does_not_wait_for_what_its_stream_is_given_later(api: OpenReg, lib: Any) -> None:
    stream = api.stream()
    event = api.record(stream)
    with api.gate(stream) as later:
        later.wait_for(1)
        Call(lambda: api.ok(lib.orEventSynchronize(event))).result(AT_ONCE)
        assert later.waiting == 1


# ------------------------------------------------------------------------------------------------------------ versions


def test_a_stream_that_waits_for_the_old_version_is_not_moved_by_a_new_one(api: OpenReg, lib: Any) -> None:
    """The waiter comes to its wait once the new version is recorded: it waits for the old one all the same."""
    first, second, waiter = api.stream(), api.stream(), api.stream()
    old, new, turn = api.gate(first, name="old"), api.gate(second, name="new"), api.gate(waiter, name="turn")
    event = api.record(first)
    api.ok(lib.orStreamWaitEvent(waiter, event, 0))
    api.record(second, event)
    turn.open()
    new.wait_for(1)
    assert not api.is_done(waiter)
    old.open()
    Call(lambda: api.synchronize(waiter)).result(AT_ONCE)
    assert new.waiting == 1
    assert not api.is_complete(event), "the query is about the latest version"
    new.open()
    api.ok(lib.orEventSynchronize(event))


def test_a_stream_that_waits_for_the_old_version_is_not_released_by_a_new_one(api: OpenReg, lib: Any) -> None:
    first, second, waiter = api.stream(), api.stream(), api.stream()
    old = api.gate(first, name="old")
    event = api.record(first)
    api.ok(lib.orStreamWaitEvent(waiter, event, 0))
    api.record(second, event)
    api.ok(lib.orEventSynchronize(event))
    assert api.is_complete(event)
    old.wait_for(1)
    assert not api.is_done(waiter)
    old.open()
    api.synchronize(waiter)


def test_recording_after_a_wait_on_an_unrecorded_event_does_not_catch_the_waiter(api: OpenReg, lib: Any) -> None:
    waiter, stream = api.stream(), api.stream()
    event = api.event()
    with api.gate(stream) as gate:
        api.ok(lib.orStreamWaitEvent(waiter, event, 0))
        api.record(stream, event)
        api.synchronize(waiter)
        gate.wait_for(1)


def test_event_synchronize_waits_for_the_version_of_the_call(api: OpenReg, lib: Any) -> None:
    first, second = api.stream(), api.stream()
    old, new = api.gate(first, name="old"), api.gate(second, name="new")
    event = api.record(first)
    call = Call(lambda: api.ok(lib.orEventSynchronize(event)))
    assert call.blocks()
    api.record(second, event)
    new.wait_for(1)
    old.open()
    call.result()
    assert new.waiting == 1
    assert not api.is_complete(event)


def test_event_synchronize_is_not_released_by_a_version_that_came_later(api: OpenReg, lib: Any) -> None:
    first, second = api.stream(), api.stream()
    old = api.gate(first, name="old")
    event = api.record(first)
    call = Call(lambda: api.ok(lib.orEventSynchronize(event)))
    assert call.blocks()
    api.record(second, event)
    api.synchronize(second)
    assert api.is_complete(event)
    assert call.blocks()
    old.open()
    call.result()


def test_each_of_many_versions_releases_its_own_waiter(api: OpenReg, lib: Any) -> None:
    event = api.event()
    source = api.stream()
    gates, waiters = [], []
    for number in range(10):
        gates.append(api.gate(source, name=str(number)))
        api.record(source, event)
        waiters.append(api.stream())
        api.ok(lib.orStreamWaitEvent(waiters[-1], event, 0))
    for number, gate in enumerate(gates):
        gate.wait_for(1)
        assert [api.is_done(waiter) for waiter in waiters[number:]] == [False] * (10 - number)
        gate.open()
        api.synchronize(waiters[number])
    assert api.is_complete(event)


def test_recording_twice_on_one_stream_counts_the_second(api: OpenReg) -> None:
    stream = api.stream()
    event = api.record(stream)
    api.synchronize(stream)
    with api.gate(stream):
        api.record(stream, event)
        assert not api.is_complete(event)
    api.synchronize(stream)
    assert api.is_complete(event)


# ------------------------------------------------------------------------------------------------------------- destroy


@pytest.mark.entry("orEventDestroy", case="good")
def test_records_and_waits_already_submitted_take_effect_after_the_event_is_destroyed(api: OpenReg, lib: Any) -> None:
    log = api.log()
    first, second = api.stream(), api.stream()
    gate = api.gate(first)
    api.append(log, 1, first)
    event = api.record(first)
    api.ok(lib.orStreamWaitEvent(second, event, 0))
    api.append(log, 2, second)
    blocked = Call(lambda: api.ok(lib.orEventSynchronize(event)))
    assert blocked.blocks()
    api.ok(lib.orEventDestroy(event))
    new = api.event()
    api.record(api.stream(), new)
    gate.wait_for(1)
    assert not api.is_done(second)
    gate.open()
    api.synchronize(second)
    blocked.result()
    assert api.read_log(log) == [1, 2]


@pytest.mark.entry("orEventRecord", case="bad")
@pytest.mark.parametrize("device", [0, 1])
def test_an_event_is_recorded_on_streams_of_its_own_device_only(api: OpenReg, lib: Any, device: int) -> None:
    event = api.event(device)
    for stream in (api.stream(1 - device), api.default_stream(1 - device)):
        text = ("^orEventRecord: ", r"\bstream\b", rf"device\D{{0,20}}{1 - device}", rf"device\D{{0,20}}{device}")
        api.check(lib.orEventRecord(event, stream), "orErrorInvalidHandle", *text)
    assert api.is_complete(event)


# ---------------------------------------------------------------------------------------------------------------- time


@pytest.mark.entry("orEventElapsedTime", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_elapsed_time_is_at_least_what_the_device_was_busy(api: OpenReg, lib: Any, device: int) -> None:
    stream = api.stream(device)
    api.ok(lib.orSimSetDelay(device, 20_000, 0))
    start = api.record(stream, device=device)
    api.ok(api.launch(api.kernel("nothing", device), b"", [], stream))
    end = api.record(stream, device=device)
    api.synchronize(stream)
    api.ok(lib.orSimSetDelay(device, 0, 0))
    there, back = (api.get("orEventElapsedTime", *pair) for pair in ((start, end), (end, start)))
    assert 20 <= there < 20_000
    assert back == -there
    assert api.get("orEventElapsedTime", start, start) == 0


def test_an_event_made_without_flags_has_a_time(api: OpenReg) -> None:
    stream = api.stream()
    start, end = (api.record(stream, api.get("orEventCreate")) for _ in range(2))
    api.synchronize(stream)
    assert api.get("orEventElapsedTime", start, end) >= 0


def test_elapsed_time_resolves_less_than_a_microsecond(api: OpenReg) -> None:
    stream = api.stream()
    events = [api.record(stream) for _ in range(200)]
    api.synchronize(stream)
    steps = [api.get("orEventElapsedTime", *pair) for pair in itertools.pairwise(events)]
    assert all(step >= 0 for step in steps)
    assert any((step * 1000) % 1 > 0.001 for step in steps), "all are whole microseconds"


@pytest.mark.entry("orEventElapsedTime", case="bad")
@pytest.mark.parametrize("side", ["start", "end"])
@pytest.mark.parametrize("fault", ["no timing", "never recorded"])
def test_elapsed_time_needs_two_recorded_events_with_timing(api: OpenReg, lib: Any, fault: str, side: str) -> None:
    stream = api.stream()
    good = api.record(stream)
    no_timing = api.record(stream, api.event(flags=lib.orEventDisableTiming))
    api.synchronize(stream)
    bad = no_timing if fault == "no timing" else api.event()
    pair = (bad, good) if side == "start" else (good, bad)
    word = "timing|orEventDisableTiming" if fault == "no timing" else "record"
    error = lib.orEventElapsedTime(api.ffi.new("float*"), *pair)
    api.check(error, "orErrorInvalidHandle", "^orEventElapsedTime: ", rf"\b{side}\b", word)


@pytest.mark.entry("orEventElapsedTime", case="bad")
def test_elapsed_time_needs_events_of_one_device(api: OpenReg, lib: Any) -> None:
    start, end = (api.record(api.stream(device), device=device) for device in (0, 1))
    for device in (0, 1):
        api.ok(lib.orDeviceSynchronize(device))
    error = lib.orEventElapsedTime(api.ffi.new("float*"), start, end)
    api.check(error, "orErrorInvalidHandle", "^orEventElapsedTime: ", r"\bdevice")


def test_elapsed_time_is_not_ready_before_both_are_complete(api: OpenReg, lib: Any) -> None:
    stream = api.stream()
    start = api.record(stream)
    api.synchronize(stream)
    with api.gate(stream):
        end = api.record(stream)
        for pair in ((start, end), (end, start)):
            assert api.name(lib.orEventElapsedTime(api.ffi.new("float*"), *pair)) == "orErrorNotReady"
        assert lib.orPeekAtLastError() == 0


@pytest.mark.entry("orEventCreateWithFlags", case="bad")
@pytest.mark.parametrize("flags", [1, 3, 4, 2**31])
def test_unknown_event_flags_are_refused(api: OpenReg, lib: Any, flags: int) -> None:
    out = api.ffi.new("orEvent_t*")
    text = ("^orEventCreateWithFlags: ", r"\bflags\b", rf"\b({flags}|0x{flags:x})\b")
    api.check(lib.orEventCreateWithFlags(out, flags), "orErrorInvalidValue", *text)


def test_thousands_of_events_are_no_trouble(api: OpenReg, lib: Any) -> None:
    stream = api.stream()
    events = [api.record(stream) for _ in range(3000)]
    wait_until(lambda: api.is_complete(events[-1]), "the last event is complete")
    for event in events:
        api.ok(lib.orEventDestroy(event))
