"""A device that is lost or reset while something runs on it: who waits is released, and all works again after."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .harness import AT_ONCE, READ, WRITE, Call, OpenReg, wait_until


class Running:
    """Something that runs on a stream until `end`."""

    def __init__(self, api: OpenReg, device: int, kind: str) -> None:
        self.api, self.stream = api, api.stream(device)
        self.returned = False
        if kind == "host function":
            called, self._leave = threading.Event(), threading.Event()

            def function() -> None:
                called.set()
                self._leave.wait(30)
                self.returned = True

            api.host_function(self.stream, function)
            assert called.wait(30)
        else:
            # What ends the kernel is in the memory of the other device, which goes on.
            api.ok(api.lib.orDeviceEnablePeerAccess(device, 1 - device))
            self._flags = api.malloc(16, 1 - device)
            api.write_words(self._flags, 0, 0)
            args, pointers = struct.pack("<QQ", self._flags, self._flags + 8), [(0, WRITE, 0, 8), (8, READ, 0, 8)]
            api.ok(api.launch(api.kernel("block", device), args, pointers, self.stream))
            wait_until(lambda: api.read_words(self._flags) == [1], "the kernel runs")
        self.kind = kind

    def end(self) -> None:
        """Lets it return."""
        if self.kind == "host function":
            self._leave.set()
        else:
            self.api.write_words(self._flags + 8, 1)


@pytest.fixture(params=["kernel", "host function"])
def kind(request: pytest.FixtureRequest) -> str:
    """What runs."""
    return request.param


@pytest.fixture(params=[0, 1])
def device(request: pytest.FixtureRequest) -> int:
    """Where."""
    return request.param


@pytest.fixture
def running(api: OpenReg, device: int, kind: str) -> Iterator[Running]:
    """It runs, and is ended whatever the test finds."""
    it = Running(api, device, kind)
    yield it
    it.end()


def fill_queue(api: OpenReg, stream: Any, device: int) -> int:
    """Launches until there is no room, and then waits for it."""
    kernel = api.kernel("nothing", device)
    while True:
        error = api.launch(kernel, bytes(4000), [], stream)
        if error != 0:
            return error


def waiters(api: OpenReg, stream: Any, device: int) -> dict[str, tuple[Callable[[], int], str]]:
    """Calls that block while something runs on the stream, and what each returns when the device is lost."""
    lib, event = api.lib, api.record(stream, device=device)
    memory, freed, host = api.malloc(64, device), api.malloc(64, device), api.host(64)
    pinned = api.malloc_host(64)
    api.ok(lib.orMemcpyAsync(api.pointer(memory), api.pointer(pinned), 64, lib.orMemcpyDefault, stream))
    copy = (api.pointer(memory), host, 64, lib.orMemcpyDefault, stream)
    return {
        "orDeviceSynchronize": (lambda: lib.orDeviceSynchronize(device), "orErrorDeviceLost"),
        "orStreamSynchronize": (lambda: lib.orStreamSynchronize(stream), "orErrorDeviceLost"),
        "orEventSynchronize": (lambda: lib.orEventSynchronize(event), "orErrorDeviceLost"),
        "orMemcpyWithStream": (lambda: lib.orMemcpyWithStream(*copy), "orErrorDeviceLost"),
        "orLaunchKernel": (lambda: fill_queue(api, stream, device), "orErrorDeviceLost"),
        "orFree": (lambda: api.free(freed), "orSuccess"),
        "orFreeHost": (lambda: api.free_host(pinned), "orSuccess"),
        "orDeviceDisablePeerAccess": (lambda: lib.orDeviceDisablePeerAccess(device, 1 - device), "orSuccess"),
    }


def test_the_loss_of_a_device_releases_whoever_waits_for_what_runs_there(
    api: OpenReg, lib: Any, running: Running, device: int
) -> None:
    """Several threads, each in another call; and a stream of the other device that waits for an event."""
    if running.kind != "kernel":
        api.ok(lib.orDeviceEnablePeerAccess(device, 1 - device))
    other, called = api.stream(1 - device), []
    api.ok(lib.orStreamWaitEvent(other, api.record(running.stream, device=device), 0))
    api.host_function(running.stream, lambda: called.append("called"))
    waiting = waiters(api, running.stream, device)
    calls = {name: Call(call) for name, (call, _) in waiting.items()}
    behind = Call(lambda: api.synchronize(other))
    assert all(call.blocks() for call in calls.values()) and behind.blocks()
    api.ok(lib.orSimLoseDevice(device))
    got = {name: api.name(call.result(AT_ONCE)) for name, call in calls.items()}
    assert got == {name: code for name, (_, code) in waiting.items()}
    behind.result(AT_ONCE)
    api.check(lib.orStreamSynchronize(running.stream), "orErrorDeviceLost", rf"device {device} was lost")
    running.end()
    api.forget(device)
    assert called == [], "what was queued behind is dropped"
    log, stream = api.log(device), api.stream(device)
    api.append(log, 3, stream, device)
    api.synchronize(stream)
    assert api.read_log(log) == [3]


def test_a_reset_waits_for_what_runs_and_drops_what_is_queued(
    api: OpenReg, lib: Any, running: Running, device: int
) -> None:
    called: list[str] = []
    api.host_function(running.stream, lambda: called.append("called"))
    reset = Call(lambda: (api.forget(device), running.returned))
    assert reset.blocks()
    running.end()
    _, returned = reset.result()
    assert returned or running.kind == "kernel", "the host function had not returned when the reset did"
    assert called == []
    log, stream = api.log(device), api.stream(device)
    api.append(log, 3, stream, device)
    api.synchronize(stream)
    assert api.read_log(log) == [3]


def test_a_device_that_is_lost_can_be_reset_while_a_host_function_still_runs_there(api: OpenReg, lib: Any) -> None:
    """The reset of a lost device waits for it, too: no code of the program runs behind its back."""
    running = Running(api, 0, "host function")
    api.ok(lib.orSimLoseDevice(0))
    reset = Call(lambda: (api.forget(0), running.returned))
    assert reset.blocks()
    running.end()
    _, returned = reset.result()
    assert returned
    api.ok(lib.orDeviceSynchronize(0))
