"""The simulator's controls: delays, planned failures, a lost device, OPENREG_SIM."""

from __future__ import annotations

from typing import Any

import pytest

from . import header
from .harness import Call, OpenReg, wait_until

# --------------------------------------------------------------------------------------------------------------- delays


@pytest.mark.entry("orSimSetDelay", case="good")
@pytest.mark.parametrize("work", ["kernel", "copy", "fill"])
@pytest.mark.parametrize("device", [0, 1])
def test_a_delay_makes_the_work_take_at_least_so_long(api: OpenReg, lib: Any, device: int, work: str) -> None:
    stream, kernel = api.stream(device), api.kernel("nothing", device)
    buffer, pinned = api.malloc(64, device), api.malloc_host(64)
    delays = (10_000, 0) if work == "kernel" else (0, 10_000)
    api.ok(lib.orSimSetDelay(device, *delays))
    start = api.record(stream, device=device)
    for _ in range(2):
        if work == "kernel":
            api.ok(api.launch(kernel, b"", [], stream))
        elif work == "copy":
            api.ok(lib.orMemcpyAsync(api.pointer(buffer), api.pointer(pinned), 64, lib.orMemcpyDefault, stream))
        else:
            api.ok(lib.orMemsetAsync(api.pointer(buffer), 0, 64, stream))
    end = api.record(stream, device=device)
    assert not api.is_complete(end)
    api.synchronize(stream)
    assert api.get("orEventElapsedTime", start, end) >= 20


def test_a_delay_of_one_kind_and_device_is_none_of_the_others(api: OpenReg, lib: Any) -> None:
    """The delay is so long that a test that met it would not end."""
    buffer, other = api.malloc(8), api.malloc(8, 1)
    kernel, there = api.kernel("nothing"), api.kernel("nothing", 1)
    api.ok(lib.orSimSetDelay(0, 3_600_000_000, 0))
    api.write(buffer, b"12345678")
    api.ok(api.launch(there, b"", [], api.default_stream(1)))
    api.write(other, b"12345678")
    api.ok(lib.orSimSetDelay(0, 0, 3_600_000_000))
    api.ok(api.launch(kernel, b"", [], api.default_stream(0)))
    Call(lambda: api.synchronize(api.default_stream(0))).result()


@pytest.mark.entry("orSimSetDelay", case="bad")
@pytest.mark.parametrize(("delays", "name"), [((-1, 0), "kernelMicroseconds"), ((0, -1), "copyMicroseconds")])
def test_a_negative_delay_is_refused(api: OpenReg, lib: Any, delays: tuple[int, int], name: str) -> None:
    api.check(lib.orSimSetDelay(0, *delays), "orErrorInvalidValue", "^orSimSetDelay: ", rf"\b{name}\b", "-1")


# -------------------------------------------------------------------------------------------------------- pause points


@pytest.mark.entry("orSimSetPauseFunction", case="good")
def test_a_pause_point_holds_nobody_without_a_closed_gate_of_its_name(api: OpenReg) -> None:
    """The driver calls the function, or has no pause points; test_races.py has what it is for."""
    api.pause_at_gates()
    other = api.gate(name="of another name")
    buffer = api.malloc(8)
    Call(lambda: api.write(buffer, b"12345678")).result()
    assert api.read(buffer, 8) == b"12345678" and other.waiting == 0


# ----------------------------------------------------------------------------------------------------- planned failures


@pytest.mark.entry("orSimFailCall", case="good")
@pytest.mark.parametrize("nth", [1, 2, 5])
@pytest.mark.parametrize("code", ["orErrorMemoryAllocation", "orErrorDeviceLost", "orErrorInvalidValue"])
def test_the_nth_call_fails_and_no_other(api: OpenReg, lib: Any, nth: int, code: str) -> None:
    free = api.memory()[0]
    out = api.ffi.new("void**")
    api.ok(lib.orSimFailCall(b"orMalloc", nth, api.errors[code]))
    for number in range(1, nth + 3):
        error = lib.orMalloc(out, 64)
        if number == nth:
            api.check(error, code, "^orMalloc: ")
            assert lib.orGetLastError() == error
            assert out[0] == api.ffi.NULL
        else:
            api.ok(error)
            api.ok(lib.orFree(out[0]))
    assert api.memory()[0] == free


def test_a_planned_failure_can_be_taken_back(api: OpenReg, lib: Any) -> None:
    api.ok(lib.orSimFailCall(b"orStreamCreate", 1, api.errors["orErrorMemoryAllocation"]))
    api.ok(lib.orSimFailCall(b"orStreamCreate", 0, 0))
    api.get("orStreamCreate")


def test_a_failed_call_does_nothing_else(api: OpenReg, lib: Any) -> None:
    buffer, log, stream = api.malloc(8), api.log(), api.stream()
    api.write(buffer, b"12345678")
    for entry in (b"orMemsetAsync", b"orFree", b"orLaunchKernel", b"orStreamDestroy"):
        api.ok(lib.orSimFailCall(entry, 1, api.errors["orErrorInvalidValue"]))
    assert lib.orMemsetAsync(api.pointer(buffer), 0, 8, stream) != 0
    assert lib.orFree(api.pointer(buffer)) != 0
    with pytest.raises(AssertionError, match="orErrorInvalidValue"):
        api.append(log, 1, stream)
    assert lib.orStreamDestroy(stream) != 0
    api.synchronize(stream)
    assert api.read(buffer, 8) == b"12345678"
    assert api.read_log(log) == []


def test_calls_are_counted_over_all_threads(api: OpenReg, lib: Any) -> None:
    api.ok(lib.orSimFailCall(b"orDeviceSynchronize", 3, api.errors["orErrorTimedOut"]))
    results = [lib.orDeviceSynchronize(0), Call(lambda: lib.orDeviceSynchronize(1)).result()]
    results.append(lib.orDeviceSynchronize(0))
    assert [api.name(error) for error in results] == ["orSuccess", "orSuccess", "orErrorTimedOut"]


CAN_FAIL = [entry for entry in header.entries("openreg.h").values() if entry.may_fail]


@pytest.mark.parametrize("entry", CAN_FAIL, ids=lambda entry: entry.name)
def test_every_entry_can_be_made_to_fail(api: OpenReg, lib: Any, entry: header.Entry) -> None:
    """With arguments that are refused otherwise: the planned failure comes first, so a test can plan any entry's."""
    api.ok(lib.orSimFailCall(entry.name.encode(), 1, api.errors["orErrorDeviceLost"]))
    zeros = [api.ffi.cast(p.type, 0) if p.type.endswith(("*", "_t")) else 0 for p in entry.parameters]
    api.check(api.call(entry.name, *zeros), "orErrorDeviceLost", f"^{entry.name}: ")


@pytest.mark.entry("orSimFailCall", case="bad")
@pytest.mark.parametrize(
    ("entry", "n", "error", "words"),
    [
        (b"orNonsense", 1, 2, (r"\bentry\b", "orNonsense")),
        (b"", 1, 2, (r"\bentry\b",)),
        (b"Malloc", 1, 2, (r"\bentry\b", "Malloc")),
        (b"orMalloc", -1, 2, (r"\bn\b", "-1")),
        (b"orMalloc", 1, 1000, (r"\berror\b", "1000")),
        (b"orMalloc", 1, 25, (r"\berror\b", "25")),
    ],
)
def test_a_plan_that_makes_no_sense_is_refused(
    api: OpenReg, lib: Any, entry: bytes, n: int, error: int, words: tuple[str, ...]
) -> None:
    api.check(lib.orSimFailCall(entry, n, error), "orErrorInvalidValue", "^orSimFailCall: ", *words)
    api.ok(api.free(api.malloc(8)))


# ---------------------------------------------------------------------------------------------------------- lost device


@pytest.mark.entry("orSimLoseDevice", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_a_lost_device_releases_its_waiters_and_a_reset_brings_it_back(api: OpenReg, lib: Any, device: int) -> None:
    stream, other = api.stream(device), api.stream(1 - device)
    buffer = api.malloc(64, device)
    called: list[str] = []
    gate = api.gate(stream)
    api.host_function(stream, lambda: called.append("called"))
    event = api.record(stream, device=device)
    api.ok(lib.orStreamWaitEvent(other, event, 0))
    gate.wait_for(1)
    calls = [
        Call(lambda: lib.orStreamSynchronize(stream)),
        Call(lambda: lib.orDeviceSynchronize(device)),
        Call(lambda: lib.orEventSynchronize(event)),
        Call(lambda: lib.orMemcpyWithStream(api.host(64), api.pointer(buffer), 64, lib.orMemcpyDefault, stream)),
    ]
    assert all(call.blocks() for call in calls)
    api.ok(lib.orSimLoseDevice(device))
    assert [api.name(call.result()) for call in calls] == ["orErrorDeviceLost"] * 4
    Call(lambda: api.synchronize(other)).result()
    api.use(device)
    text = rf"device\D{{0,20}}{device}"
    api.check(lib.orMalloc(api.ffi.new("void**"), 8), "orErrorDeviceLost", "^orMalloc: ", text)
    api.ok(lib.orDeviceSynchronize(1 - device))
    api.forget(device)
    assert called == []
    api.write(api.malloc(8, device), b"12345678")


# ------------------------------------------------------------------------------------------------- in the environment


@pytest.mark.parametrize("count", [0, 1, 3, 16])
def test_the_environment_sets_the_number_of_devices(run_child: Any, count: int) -> None:
    run_child(
        f"""
        assert api.device_count == {count}
        assert (lib.orSetDevice({count}) != 0) and "{count}" in api.message()
        for device in range({count}):
            api.write(api.malloc(8, device), b"12345678")
        if {count} == 0:
            assert lib.orMalloc(ffi.new("void**"), 8) != 0
            assert api.message().startswith("orMalloc: ")
            assert lib.orDeviceSynchronize(0) == api.errors["orErrorInvalidDevice"]
        """,
        env={"OPENREG_SIM": f"devices={count}"},
    )


@pytest.mark.parametrize(
    ("text", "size"), [("65536B", 1 << 16), ("512KiB", 1 << 19), ("3MiB", 3 << 20), ("2GiB", 2 << 30)]
)
def test_the_environment_sets_the_memory(run_child: Any, text: str, size: int) -> None:
    code = f"""
        assert api.memory(0) == api.memory(1) == ({size}, {size})
        assert api.get("orGetDeviceProperties", 1).totalGlobalMem == {size}
    """
    run_child(code, env={"OPENREG_SIM": f"memory={text}"})


@pytest.mark.parametrize(("key", "work"), [("kernel_delay=20ms", "kernel"), ("copy_delay=20000us", "fill")])
def test_the_environment_sets_delays(run_child: Any, key: str, work: str) -> None:
    run_child(
        f"""
        stream = api.default_stream()
        kernel, buffer = api.kernel("nothing"), api.malloc(8)
        start = api.record(stream)
        if {work!r} == "kernel":
            api.ok(api.launch(kernel, b"", [], stream))
        else:
            api.ok(lib.orMemsetAsync(api.pointer(buffer), 0, 8, stream))
        end = api.record(stream)
        api.synchronize(stream)
        assert 20 <= api.get("orEventElapsedTime", start, end) < 20000
        """,
        env={"OPENREG_SIM": key},
    )


def test_the_environment_plans_failures(run_child: Any) -> None:
    run_child(
        """
        out = ffi.new("void**")
        errors = [api.name(lib.orMalloc(out, 8)) for _ in range(4)]
        assert errors == ["orSuccess", "orSuccess", "orErrorMemoryAllocation", "orSuccess"], errors
        assert api.name(lib.orStreamCreate(ffi.new("orStream_t*"))) == "orErrorDeviceLost"
        """,
        env={"OPENREG_SIM": "fail=orMalloc:3:orErrorMemoryAllocation,fail=orStreamCreate:1:orErrorDeviceLost"},
    )


def test_the_environment_takes_the_kernels_away(run_child: Any) -> None:
    run_child(
        """
        module = api.get("orModuleLoad", b"openreg")
        error = lib.orModuleGetKernel(ffi.new("orKernel_t*"), module, b"add")
        api.check(error, "orErrorNotFound", "^orModuleGetKernel: ", "add")
        api.kernel("nothing")  # other modules keep theirs
        """,
        env={"OPENREG_SIM": "kernels=0"},
    )


def test_settings_can_be_combined_and_an_empty_one_is_none(run_child: Any) -> None:
    together = "devices=1,memory=1MiB,check=1,kernel_delay=0us,copy_delay=0s"
    run_child("assert api.device_count == 1 and api.memory()[1] == 1 << 20", env={"OPENREG_SIM": together})
    run_child("assert api.device_count == 2", env={"OPENREG_SIM": ""})


@pytest.mark.parametrize(
    ("setting", "culprit"),
    [
        ("nonsense=1", "nonsense"),
        ("devices", "devices"),
        ("devices=", "devices"),
        ("devices=17", "17"),
        ("devices=-1", "-1"),
        ("devices=two", "two"),
        ("memory=256", "256"),
        ("memory=256MB", "256MB"),
        ("memory=x", "memory"),
        ("memory=-1MiB", "-1MiB"),
        ("memory=99999999999999999999GiB", "99999999999999999999GiB"),
        ("check=2", "check"),
        ("check=yes", "yes"),
        ("kernel_delay=5", "kernel_delay"),
        ("kernel_delay=-5us", "-5us"),
        ("copy_delay=5m", "5m"),
        ("kernels=maybe", "maybe"),
        ("fail=orMalloc", "fail"),
        ("fail=orNonsense:1:orErrorInvalidValue", "orNonsense"),
        ("fail=orMalloc:x:orErrorInvalidValue", "x"),
        ("fail=orMalloc:1:orErrorNonsense", "orErrorNonsense"),
        ("devices=1,nonsense=1", "nonsense"),
    ],
)
def test_a_setting_that_is_not_understood_is_an_error_of_the_first_call_and_is_named(
    run_child: Any, setting: str, culprit: str
) -> None:
    run_child(
        f"""
        assert lib.orGetDeviceCount(ffi.new("int*")) != 0
        message = api.message()
        assert message.startswith("orGetDeviceCount: ") and "OPENREG_SIM" in message and {culprit!r} in message, message
        """,
        env={"OPENREG_SIM": setting},
    )


# -------------------------------------------------------------------------------------------------------------- threads


@pytest.mark.entry("orSimThreadCount", case="good")
def test_loading_counting_and_asking_start_no_thread(run_child: Any) -> None:
    run_child("""
        import os, time
        def threads():
            return len(os.listdir("/proc/self/task")), api.get("orSimThreadCount")
        assert threads() == (1, 0)
        assert api.device_count == 2
        for device in (0, 1):
            api.get("orDeviceGetState", device)
            api.get("orGetDeviceProperties", device)
            api.get("orDeviceCanAccessPeer", device, 1 - device)
            api.use(device)
            api.get("orPointerGetAttributes", ffi.NULL)
        assert threads() == (1, 0)
        api.use(0)
        stream = api.stream()
        assert threads() == (1, 0), "a stream's thread is started at first use"
        api.host_function(stream, lambda: None)
        api.synchronize(stream)
        end = time.monotonic() + 10
        while True:  # one may just be about to begin or to end
            total, own = threads()
            if own >= 1 and total == 1 + own:
                break
            assert time.monotonic() < end, (total, own)
        assert api.get("orDeviceGetState", 1) == 0
    """)


def test_the_thread_count_falls_when_streams_are_gone(api: OpenReg, lib: Any) -> None:
    api.forget(0)
    api.forget(1)
    count = api.ffi.new("int*")

    def threads() -> int:
        api.ok(lib.orSimThreadCount(count))
        return count[0]

    before = threads()
    streams = [api.stream() for _ in range(10)]
    for stream in streams:
        api.host_function(stream, lambda: None)
        api.synchronize(stream)
    assert threads() >= before + 1
    for stream in streams:
        api.ok(lib.orStreamDestroy(stream))
    api.forget(0)
    wait_until(lambda: threads() <= before, "the threads have ended")
