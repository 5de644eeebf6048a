"""Devices: count, current one, state, properties, synchronise, reset, peers."""

from __future__ import annotations

import struct
import threading
from typing import Any

import pytest

from .harness import DEADLINE, READ, WRITE, Call, OpenReg, wait_until
from .processes import driver_environment


@pytest.mark.entry("orGetDriverName", case="good")
def test_the_driver_says_its_name(api: OpenReg, driver: str) -> None:
    name = api.ffi.string(api.get("orGetDriverName")).decode()
    assert name == driver_environment(driver)["OPENREG_DRIVER"] if "/" not in driver else name


@pytest.mark.entry("orGetDeviceCount", case="good")
def test_the_simulator_has_two_devices_by_default(api: OpenReg, driver: str) -> None:
    assert api.device_count == 2 if driver == "sim" else api.device_count >= 0


@pytest.mark.entry("orGetDevice", case="good")
@pytest.mark.entry("orSetDevice", case="good")
def test_the_current_device_is_zero_at_first_and_what_was_set_later(api: OpenReg) -> None:
    assert Call(lambda: api.get("orGetDevice")).result() == 0
    for device in (1, 0, 1):
        api.use(device)
        assert api.get("orGetDevice") == device


def test_each_thread_has_a_current_device_of_its_own(api: OpenReg) -> None:
    api.use(1)

    def other() -> list[int]:
        seen = [api.get("orGetDevice")]
        api.use(0)
        return [*seen, api.get("orGetDevice")]

    assert Call(other).result() == [0, 0]
    assert api.get("orGetDevice") == 1


@pytest.mark.parametrize("bad", [-1, 2, 1000])
def test_a_refused_device_leaves_the_current_one_unchanged(api: OpenReg, lib: Any, bad: int) -> None:
    api.use(1)
    api.check(lib.orSetDevice(bad), "orErrorInvalidDevice", "device", str(bad))
    assert api.get("orGetDevice") == 1


@pytest.mark.entry("orGetDeviceProperties", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_properties_are_sensible(api: OpenReg, device: int) -> None:
    properties = api.get("orGetDeviceProperties", device)
    assert api.ffi.string(properties.name)
    assert properties.totalGlobalMem > 0
    assert properties.multiProcessorCount >= 1
    assert properties.synchronousCopies in (0, 1)
    alignment = properties.memoryAlignment
    assert alignment >= 16 and alignment & (alignment - 1) == 0
    assert properties.major >= 0 and properties.minor >= 0


@pytest.mark.parametrize("device", [0, 1])
def test_properties_do_not_depend_on_what_is_allocated(api: OpenReg, device: int) -> None:
    before = api.get("orGetDeviceProperties", device).totalGlobalMem
    api.malloc(1 << 20, device)
    assert api.get("orGetDeviceProperties", device).totalGlobalMem == before == api.memory(device)[1]


@pytest.mark.parametrize("device", [0, 1])
def test_calls_that_take_a_device_leave_the_current_one_alone(api: OpenReg, lib: Any, device: int) -> None:
    other = 1 - device
    api.use(device)
    api.get("orDeviceGetState", other)
    api.get("orGetDeviceProperties", other)
    api.memory(other)
    api.default_stream(other)
    api.ok(lib.orDeviceEnablePeerAccess(other, device))
    api.ok(lib.orDeviceDisablePeerAccess(other, device))
    api.ok(lib.orDeviceSynchronize(other))
    api.ok(lib.orDeviceReset(other))
    assert api.get("orGetDevice") == device


@pytest.mark.parametrize("device", [0, 1])
def test_things_are_made_on_the_current_device(api: OpenReg, lib: Any, device: int) -> None:
    api.use(device)
    stream = api.get("orStreamCreate")
    out = api.ffi.new("int*")
    api.ok(lib.orStreamGetDevice(stream, out))
    assert out[0] == device
    pointer = api.get("orMalloc", 16)
    assert api.get("orPointerGetAttributes", pointer).device == device
    event = api.get("orEventCreate")
    api.ok(lib.orEventRecord(event, stream))
    api.check(lib.orEventRecord(event, api.default_stream(1 - device)), "orErrorInvalidHandle")
    api.use_another(device)
    api.ok(lib.orFree(pointer))


@pytest.mark.entry("orDeviceSynchronize", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_an_idle_device_is_synchronised_at_once(api: OpenReg, lib: Any, device: int) -> None:
    assert api.device_count > 0
    api.use(device)
    api.ok(lib.orDeviceSynchronize(device))


@pytest.mark.entry("orDeviceSynchronize", case="good")
@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("gated", [0, 1])
def test_synchronize_waits_for_the_given_device_only(api: OpenReg, lib: Any, gated: int, current: int) -> None:
    stream = api.stream(gated)
    order = []
    with api.gate(stream) as gate:
        gate.wait_for(1)

        def synchronize() -> None:
            api.use(current)
            api.ok(lib.orDeviceSynchronize(gated))
            order.append("synchronised")

        api.use(current)
        call = Call(synchronize)
        assert call.blocks()
        api.ok(lib.orDeviceSynchronize(1 - gated))
        assert gate.waiting == 1
        order.append("opened")
        gate.open()
        call.result()
    assert order == ["opened", "synchronised"]


def test_synchronize_waits_for_every_stream_of_the_device(api: OpenReg, lib: Any) -> None:
    streams = [api.default_stream(0), api.stream(), api.stream()]
    gates = [api.gate(stream) for stream in streams]
    call = Call(lambda: api.ok(lib.orDeviceSynchronize(0)))
    for gate in gates:
        gate.wait_for(1)
        assert call.blocks()
        gate.open()
    call.result()


def test_synchronize_does_not_wait_for_work_that_comes_later(api: OpenReg, lib: Any) -> None:
    first, second = api.stream(), api.stream()
    gate = api.gate(first)
    call = Call(lambda: api.ok(lib.orDeviceSynchronize(0)))
    assert call.blocks()
    later = api.gate(second)
    later.wait_for(1)
    gate.open()
    call.result()
    assert later.waiting == 1


@pytest.mark.entry("orDeviceGetState", case="good")
def test_a_device_becomes_active_with_its_first_memory(run_child: Any) -> None:
    run_child("""
        last = api.devices[-1]
        active = lambda: [device for device in api.devices if api.get("orDeviceGetState", device)]
        assert active() == []
        api.use(last)
        assert active() == [], "orSetDevice initialises nothing"
        api.get("orGetDeviceProperties", 0)
        assert active() == [], "orGetDeviceProperties initialises nothing"
        api.get("orDeviceGetState", 0)
        assert active() == []
        api.malloc(16, device=last)
        assert active() == [last]
        api.malloc(16, device=0)
        assert active() == list(api.devices)
    """)


@pytest.mark.entry("orDeviceReset", case="good")
def test_reset_frees_all_memory_of_the_device_and_of_no_other(api: OpenReg, lib: Any) -> None:
    mine, theirs = api.malloc(1000), api.malloc(1000, device=1)
    api.write(theirs, b"kept" * 250)
    total = api.memory(0)[1]
    api.forget(0)
    assert api.memory(0) == (total, total)
    assert api.read(theirs, 1000) == b"kept" * 250
    assert api.get("orPointerGetAttributes", api.pointer(mine)).type == lib.orMemoryTypeUnregistered
    api.ok(api.free(mine))
    api.ok(lib.orFree(api.pointer(mine)))


def test_reset_drops_what_is_queued_and_ends_with_a_gate_closed(api: OpenReg, lib: Any) -> None:
    stream = api.stream()
    called = []
    gate = api.gate(stream)
    gate.wait_for(1)
    api.host_function(stream, lambda: called.append("called"))
    Call(lambda: api.forget(0)).result()
    gate.open()
    api.ok(lib.orDeviceSynchronize(0))
    assert called == []


def test_reset_waits_for_the_running_kernel(api: OpenReg, lib: Any) -> None:
    api.ok(lib.orDeviceEnablePeerAccess(0, 1))
    flags = api.malloc(16, device=1)
    api.write_words(flags, 0, 0)
    pointers = [(0, WRITE, 0, 8), (8, READ, 0, 8)]
    stream = api.stream()
    api.ok(api.launch(api.kernel("block"), struct.pack("<QQ", flags, flags + 8), pointers, stream))
    wait_until(lambda: api.read_words(flags) == [1], "the kernel runs")
    reset = Call(lambda: api.forget(0))
    assert reset.blocks()
    api.write_words(flags + 8, 1)
    reset.result()


def test_reset_waits_for_the_running_function_of_the_host_and_calls_none_after_it(api: OpenReg, lib: Any) -> None:
    streams = [api.stream(), api.stream()]
    entered, leave, calls = threading.Event(), threading.Event(), []

    def function() -> None:
        calls.append("in")
        entered.set()
        leave.wait(DEADLINE)
        calls.append("out")

    api.host_function(streams[0], function)
    api.host_function(streams[0], lambda: calls.append("queued"))
    gate = api.gate(streams[1])
    api.host_function(streams[1], lambda: calls.append("behind a gate"))
    assert entered.wait(DEADLINE)
    with api.letting_go(0):
        reset = Call(lambda: api.ok(lib.orDeviceReset(0)))
        try:
            assert reset.blocks()
        finally:
            leave.set()
        reset.result()
    assert calls == ["in", "out"]
    gate.destroy()
    api.host_function(api.stream(), lambda: calls.append("of the next life"))
    api.ok(lib.orDeviceSynchronize(0))
    assert calls == ["in", "out", "of the next life"]


def test_reset_lets_those_go_who_wait_for_the_device(api: OpenReg, lib: Any) -> None:
    stream, other = api.stream(), api.stream(1)
    gate = api.gate(stream)
    gate.wait_for(1)
    event = api.record(stream)
    api.ok(lib.orStreamWaitEvent(other, event, 0))
    calls = [
        Call(lambda: lib.orDeviceSynchronize(0)),
        Call(lambda: lib.orStreamSynchronize(stream)),
        Call(lambda: lib.orEventSynchronize(event)),
    ]
    assert all(call.blocks() for call in calls)
    Call(lambda: api.forget(0)).result()
    for call in calls:
        call.result()
    Call(lambda: api.synchronize(other)).result()


def test_a_device_works_after_a_reset(api: OpenReg) -> None:
    for value in range(3):
        buffer = api.malloc(64)
        api.write(buffer, bytes([value]) * 64)
        assert api.read(buffer, 64) == bytes([value]) * 64
        log = api.log()
        stream = api.stream()
        api.append(log, value, stream)
        api.synchronize(stream)
        assert api.read_log(log) == [value]
        api.forget(0)


@pytest.mark.parametrize("create", ["orEventCreate", "orStreamCreate", "orStreamGetDefault"])
def test_what_is_created_while_the_device_is_reset_has_a_handle(api: OpenReg, lib: Any, create: str) -> None:
    """The handle may be invalid by then. But null is no handle, and orSuccess must not come with it."""
    arguments = [0] if create == "orStreamGetDefault" else []
    destroy = {"orEventCreate": lib.orEventDestroy, "orStreamCreate": lib.orStreamDestroy}.get(create)
    enough = threading.Event()

    def resets() -> int:
        count = 0
        while not enough.is_set():
            api.ok(lib.orDeviceReset(0))
            count += 1
        return count

    other = Call(resets)
    nulls = 0
    try:
        for _ in range(300):
            handles = [api.get(create, *arguments) for _ in range(20)]
            nulls += handles.count(api.ffi.NULL)
            for handle in handles if destroy else []:
                destroy(handle)  # A reset may have done it.
    finally:
        enough.set()
        assert other.result() > 0
        api.forget(0)
    assert nulls == 0


# --------------------------------------------------------------------------------------------------------------- peers


@pytest.mark.entry("orDeviceCanAccessPeer", case="good")
@pytest.mark.parametrize(("device", "peer"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_a_device_is_not_its_own_peer(api: OpenReg, device: int, peer: int) -> None:
    assert api.get("orDeviceCanAccessPeer", device, peer) == (0 if device == peer else 1)


@pytest.mark.entry("orDeviceEnablePeerAccess", case="good")
@pytest.mark.entry("orDeviceDisablePeerAccess", case="good")
@pytest.mark.parametrize(("device", "peer"), [(0, 1), (1, 0)])
def test_a_kernel_reaches_the_peer_only_while_access_is_enabled(api: OpenReg, lib: Any, device: int, peer: int) -> None:
    def launch() -> int:
        api.append(log, 1, stream, device)
        return lib.orStreamSynchronize(stream)

    log = api.log(peer)
    stream = api.stream(device)
    api.ok(lib.orDeviceEnablePeerAccess(device, peer))
    api.ok(launch())
    assert api.read_log(log) == [1]
    api.ok(lib.orDeviceDisablePeerAccess(device, peer))
    api.check(launch(), "orErrorIllegalAddress", "append")
    api.forget(device)
    assert api.read_log(log) == [1]


@pytest.mark.parametrize(("device", "peer"), [(0, 1), (1, 0)])
def test_peer_access_is_one_way(api: OpenReg, lib: Any, device: int, peer: int) -> None:
    api.ok(lib.orDeviceEnablePeerAccess(peer, device))
    log = api.log(peer)
    stream = api.stream(device)
    api.append(log, 1, stream, device)
    api.check(lib.orStreamSynchronize(stream), "orErrorIllegalAddress", "append")


@pytest.mark.entry("orDeviceEnablePeerAccess", case="bad")
def test_enabling_twice_is_an_error(api: OpenReg, lib: Any) -> None:
    api.ok(lib.orDeviceEnablePeerAccess(0, 1))
    text = ("^orDeviceEnablePeerAccess: ", r"\b0\b", r"\b1\b")
    api.check(lib.orDeviceEnablePeerAccess(0, 1), "orErrorPeerAccessAlreadyEnabled", *text)
    api.ok(lib.orDeviceEnablePeerAccess(1, 0))


@pytest.mark.entry("orDeviceDisablePeerAccess", case="bad")
def test_disabling_what_is_not_enabled_is_an_error(api: OpenReg, lib: Any) -> None:
    text = ("^orDeviceDisablePeerAccess: ", r"\b0\b", r"\b1\b")
    api.check(lib.orDeviceDisablePeerAccess(0, 1), "orErrorPeerAccessNotEnabled", *text)
    api.ok(lib.orDeviceEnablePeerAccess(1, 0))
    api.check(lib.orDeviceDisablePeerAccess(0, 1), "orErrorPeerAccessNotEnabled", *text)


@pytest.mark.parametrize("device", [0, 1])
def test_a_device_cannot_be_made_its_own_peer(api: OpenReg, lib: Any, device: int) -> None:
    text = ("^orDeviceEnablePeerAccess: ", r"\bpeer\b", rf"\b{device}\b")
    api.check(lib.orDeviceEnablePeerAccess(device, device), "orErrorInvalidDevice", *text)


@pytest.mark.parametrize("reset", [0, 1])
def test_reset_ends_peer_access_from_and_to_the_device(api: OpenReg, lib: Any, reset: int) -> None:
    api.ok(lib.orDeviceEnablePeerAccess(0, 1))
    api.ok(lib.orDeviceEnablePeerAccess(1, 0))
    api.forget(reset)
    api.check(lib.orDeviceDisablePeerAccess(0, 1), "orErrorPeerAccessNotEnabled")
    api.check(lib.orDeviceDisablePeerAccess(1, 0), "orErrorPeerAccessNotEnabled")


def test_disabling_waits_for_the_work_queued_on_the_device(api: OpenReg, lib: Any) -> None:
    api.ok(lib.orDeviceEnablePeerAccess(0, 1))
    log = api.log(1)
    stream = api.stream(0)
    gate = api.gate(stream)
    api.append(log, 5, stream)
    call = Call(lambda: api.ok(lib.orDeviceDisablePeerAccess(0, 1)))
    assert call.blocks()
    gate.open()
    call.result()
    assert api.read_log(log) == [5]
