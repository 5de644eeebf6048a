"""Errors that arrive late: when they surface, that they stay, whom they touch, and how they are cured."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from . import header
from .arguments import OPTIONAL, Arguments
from .harness import READ, WRITE, Call, OpenReg, wait_until

TEXT = "index 7 out of range"


def strip(message: str) -> str:
    """A message without the function that returned it."""
    return message.split(": ", 1)[1]


def fail(api: OpenReg, device: int = 0) -> Any:
    """A device that has failed and a stream that has seen it."""
    stream = api.stream(device)
    api.fail_on_device(stream, TEXT, device)
    api.check(api.lib.orStreamSynchronize(stream), "orErrorAssert", "report", TEXT)
    return stream


@pytest.mark.parametrize("device", [0, 1])
def test_the_launch_succeeds_and_the_next_synchronise_tells(api: OpenReg, lib: Any, device: int) -> None:
    stream = api.stream(device)
    with api.gate(stream):
        api.fail_on_device(stream, TEXT, device)
        api.append(api.log(device), 1, stream, device)
    message = api.check(lib.orStreamSynchronize(stream), "orErrorAssert", "^orStreamSynchronize: ", "report", TEXT)
    again = api.check(lib.orDeviceSynchronize(device), "orErrorAssert", "^orDeviceSynchronize: ")
    assert strip(again) == strip(message)


SURFACES: dict[str, Callable[[OpenReg, Any, Any, int], int]] = {
    "orDeviceSynchronize": lambda api, stream, event, buffer: api.lib.orDeviceSynchronize(0),
    "orStreamSynchronize": lambda api, stream, event, buffer: api.lib.orStreamSynchronize(stream),
    "orEventSynchronize": lambda api, stream, event, buffer: api.lib.orEventSynchronize(event),
    "orMemcpyWithStream": lambda api, stream, event, buffer: api.lib.orMemcpyWithStream(
        api.host(8), api.pointer(buffer), 8, api.lib.orMemcpyDefault, stream
    ),
    "orMemcpyAsync": lambda api, stream, event, buffer: api.lib.orMemcpyAsync(
        api.host(8), api.pointer(buffer), 8, api.lib.orMemcpyDefault, stream
    ),
}


@pytest.mark.parametrize("entry", SURFACES)
def test_the_error_surfaces_in_a_call_that_is_blocked(api: OpenReg, entry: str) -> None:
    stream, buffer = api.stream(), api.malloc(8)
    gate = api.gate(stream)
    api.fail_on_device(stream, TEXT)
    event = api.record(stream)

    def wait() -> tuple[int, str]:
        return SURFACES[entry](api, stream, event, buffer), api.message()

    call = Call(wait)
    assert call.blocks()
    gate.open()
    error, message = call.result()
    assert api.name(error) == "orErrorAssert"
    assert message.startswith(f"{entry}: ") and "report" in message and TEXT in message


@pytest.mark.parametrize("entry", ["orMemcpy", "orMemset", "orMemcpyPeer"])
def test_the_error_surfaces_in_synchronous_copies_and_fills_on_the_default_stream(api: OpenReg, entry: str) -> None:
    buffer, other, host = api.malloc(8), api.malloc(8, 1), api.host(8)
    gate = api.gate(api.default_stream())
    api.fail_on_device(api.default_stream(), TEXT)
    calls = {
        "orMemcpy": lambda: api.lib.orMemcpy(host, api.pointer(buffer), 8, api.lib.orMemcpyDefault),
        "orMemset": lambda: api.lib.orMemset(api.pointer(buffer), 0, 8),
        "orMemcpyPeer": lambda: api.lib.orMemcpyPeer(api.pointer(buffer), 0, api.pointer(other), 1, 8),
    }
    call = Call(lambda: (calls[entry](), api.message()))
    assert call.blocks()
    gate.open()
    error, message = call.result()
    assert api.name(error) == "orErrorAssert"
    assert message.startswith(f"{entry}: ") and "report" in message and TEXT in message


@pytest.mark.parametrize("entry", ["orStreamQuery", "orEventQuery"])
def test_the_error_surfaces_in_queries(api: OpenReg, entry: str) -> None:
    stream = api.stream()
    api.fail_on_device(stream, TEXT)
    event = api.record(stream)
    handle = stream if entry == "orStreamQuery" else event
    not_ready = api.errors["orErrorNotReady"]
    wait_until(lambda: api.call(entry, handle) != not_ready, "the query knows more than not ready")
    api.check(api.call(entry, handle), "orErrorAssert", f"^{entry}: ", "report", TEXT)


NEEDS_THE_DEVICE = [
    name
    for name in header.entries()
    if ("sticky error" in header.documentation(name) or "asynchronous error" in header.documentation(name))
    # The end of a capture comes first, and only then an error.
    and name not in ("orGetLastError", "orDeviceReset", "orStreamEndCapture", *OPTIONAL)
]


@pytest.mark.parametrize("entry", NEEDS_THE_DEVICE)
def test_from_then_on_every_call_that_needs_the_device_returns_code_and_message(api: OpenReg, entry: str) -> None:
    args = Arguments(api).of(entry)
    fail(api)
    first = strip(api.message())
    for _ in range(2):
        api.lib.orGetLastError()
        error = api.call(entry, *args)
        message = api.check(error, "orErrorAssert", f"^{entry}: ", "report", TEXT)
        assert strip(message) == first
        assert api.lib.orPeekAtLastError() == error, "recorded anew by each call that returns it"
    if entry == "orMalloc":
        assert args[0][0] == api.ffi.NULL


def test_the_list_above_is_not_empty() -> None:
    assert {"orMalloc", "orLaunchKernel", "orStreamQuery", "orMemcpy", "orEventRecord"} <= set(NEEDS_THE_DEVICE)


def test_another_thread_gets_the_sticky_error_with_its_message(api: OpenReg, lib: Any) -> None:
    fail(api)

    def other() -> tuple[int, str]:
        return lib.orDeviceSynchronize(0), api.message()

    error, message = Call(other).result()
    assert api.name(error) == "orErrorAssert"
    assert TEXT in message


@pytest.mark.parametrize("device", [0, 1])
def test_other_devices_go_on(api: OpenReg, lib: Any, device: int) -> None:
    other = 1 - device
    log, stream = api.log(other), api.stream(other)
    with api.gate(stream):
        api.append(log, 1, stream, other)
        fail(api, device)
        api.append(log, 2, stream, other)
    api.synchronize(stream)
    assert api.read_log(log) == [1, 2]
    api.ok(lib.orDeviceSynchronize(other))


def test_calls_that_need_no_device_go_on(api: OpenReg, lib: Any) -> None:
    pinned = api.malloc_host(64)
    fail(api)
    assert api.device_count == 2
    assert api.get("orDeviceGetState", 0) == 1
    api.get("orGetDeviceProperties", 0)
    api.use(0)
    api.ok(api.free_host(pinned))


def test_free_and_destroy_succeed_on_a_failed_device(api: OpenReg, lib: Any) -> None:
    """Deleters run while an error is on its way up."""
    buffer, stream, event = api.malloc(64), api.stream(), api.event()
    fail(api)
    api.ok(api.free(buffer))
    api.ok(lib.orStreamDestroy(stream))
    api.ok(lib.orEventDestroy(event))


def test_free_does_not_surface_an_error(api: OpenReg, lib: Any) -> None:
    buffer, stream = api.malloc(64), api.stream()
    gate = api.gate(stream)
    api.fail_on_device(stream)
    call = Call(lambda: api.free(buffer))
    assert call.blocks()
    gate.open()
    assert call.result() == 0
    api.check(lib.orStreamSynchronize(stream), "orErrorAssert")


def test_work_behind_the_failure_is_not_executed_and_events_behind_it_complete(api: OpenReg, lib: Any) -> None:
    api.ok(lib.orDeviceEnablePeerAccess(0, 1))
    log = api.log(1)
    called: list[str] = []
    stream, other = api.stream(0), api.stream(1)
    gate = api.gate(stream)
    api.append(log, 1, stream, 0)
    api.fail_on_device(stream)
    api.append(log, 2, stream, 0)
    api.host_function(stream, lambda: called.append("called"))
    event = api.record(stream)
    api.ok(lib.orStreamWaitEvent(other, event, 0))
    api.append(log, 3, other, 1)
    blocked = Call(lambda: lib.orEventSynchronize(event))
    gate.wait_for(1)
    assert blocked.blocks()
    gate.open()
    assert api.name(blocked.result()) == "orErrorAssert"
    api.synchronize(other)
    assert api.read_log(log) == [1, 3]
    assert called == []


def test_work_on_other_streams_of_the_failed_device_is_released(api: OpenReg, lib: Any) -> None:
    waiter, stream = api.stream(), api.stream()
    gate = api.gate(waiter)
    gate.wait_for(1)
    call = Call(lambda: lib.orStreamSynchronize(waiter))
    assert call.blocks()
    api.fail_on_device(stream)
    api.check(lib.orStreamSynchronize(stream), "orErrorAssert")
    gate.open()
    assert api.name(call.result()) == "orErrorAssert"


def test_the_first_failure_counts(api: OpenReg, lib: Any) -> None:
    stream = api.stream()
    with api.gate(stream):
        api.fail_on_device(stream, "the first")
        api.fail_on_device(stream, "the second")
    api.check(lib.orStreamSynchronize(stream), "orErrorAssert", "the first")
    api.check(lib.orDeviceSynchronize(0), "orErrorAssert", "the first")


@pytest.mark.parametrize("device", [0, 1])
def test_a_reset_cures(api: OpenReg, lib: Any, device: int) -> None:
    fail(api, device)
    api.forget(device)
    api.ok(lib.orDeviceSynchronize(device))
    log, stream = api.log(device), api.stream(device)
    api.append(log, 3, stream, device)
    api.synchronize(stream)
    assert api.read_log(log) == [3]


def test_a_device_can_fail_and_be_cured_again_and_again(api: OpenReg) -> None:
    for _ in range(20):
        fail(api)
        api.forget(0)


@pytest.mark.parametrize("code", ["orErrorAssert", "orErrorLaunchFailure", "orErrorInvalidValue"])
def test_a_kernel_fails_with_the_code_and_text_it_reports_first(api: OpenReg, lib: Any, code: str) -> None:
    stream = api.stream()
    args = struct.pack("<q56s", api.errors[code], b"the text of the kernel")
    api.ok(api.launch(api.kernel("report_twice"), args, [], stream))
    message = api.check(lib.orStreamSynchronize(stream), code, "report_twice", "the text of the kernel")
    assert "second" not in message


THROWN = {
    "std::bad_alloc": ("orErrorMemoryAllocation", "the host has not enough memory for what the kernel itself needs"),
    "std::runtime_error": ("orErrorLaunchFailure", "thrown by a test"),
    "an int": ("orErrorLaunchFailure", "std::exception"),
}
THROWERS = ["the kernel", "every piece of a loop", "the kernel's own thread in a loop", "the other threads in a loop"]


@pytest.mark.parametrize("thrower", THROWERS)
@pytest.mark.parametrize("thrown", THROWN)
def test_what_device_code_throws_is_an_error_of_the_kernel_and_breaks_nothing(
    api: OpenReg, lib: Any, driver: str, thrower: str, thrown: str
) -> None:
    if driver == "process-python":
        pytest.skip("no exception can pass through Python: it ends the executor, and its device is lost")
    properties = api.get("orGetDeviceProperties", 0)
    threads = properties.multiProcessorCount
    if threads == 1 and "other" in thrower:
        pytest.skip("there are no other threads")

    def together() -> int:
        met, stream = api.malloc(8), api.stream()
        api.ok(api.launch(api.kernel("together"), struct.pack("<Qq", met, threads), [(0, WRITE, 0, 8)], stream))
        api.synchronize(stream)
        return api.read_words(met)[0]

    assert together() == threads
    stream, (code, text) = api.stream(), THROWN[thrown]
    args = struct.pack("<qq", list(THROWN).index(thrown), THROWERS.index(thrower))
    api.ok(api.launch(api.kernel("throws"), args, [], stream))
    api.check(lib.orStreamSynchronize(stream), code, "kernel 'throws'", text)
    api.forget(0)
    assert together() == threads, "the compute pool is as before"


def test_an_illegal_address_is_as_sticky(api: OpenReg, lib: Any) -> None:
    stream = api.stream()
    args = struct.pack("<QQ", 0x1000, 0x2000)
    api.ok(api.launch(api.kernel("copy_word"), args, [(0, WRITE, 0, 8), (8, READ, 0, 8)], stream))
    for _ in range(2):
        api.check(lib.orDeviceSynchronize(0), "orErrorIllegalAddress", "copy_word")
    api.check(lib.orMalloc(api.ffi.new("void**"), 8), "orErrorIllegalAddress", "^orMalloc: ", "copy_word")


def test_before_it_surfaces_no_call_fails_for_it(api: OpenReg, lib: Any) -> None:
    """The other device goes on once the failed work is over, which brings nothing to light."""
    stream, other, module = api.stream(), api.stream(1), api.get("orModuleLoad", b"openreg")
    api.fail_on_device(stream, TEXT)
    api.ok(lib.orStreamWaitEvent(other, api.record(stream), 0))
    api.synchronize(other)
    api.malloc(8)
    api.memory(0)
    api.get("orModuleGetKernel", module, b"fill")
    api.stream()
    api.check(lib.orDeviceSynchronize(0), "orErrorAssert", TEXT)
    api.check(lib.orMalloc(api.ffi.new("void**"), 8), "orErrorAssert", TEXT)


def test_the_error_is_not_the_last_error_before_it_surfaces(api: OpenReg, lib: Any) -> None:
    stream = api.stream()
    seen: list[int] = []
    api.fail_on_device(stream)
    seen.append(lib.orPeekAtLastError())
    assert lib.orStreamSynchronize(stream) == lib.orGetLastError() != 0
    assert seen == [0]
