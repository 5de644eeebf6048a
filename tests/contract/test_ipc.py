"""Memory and events shared between processes: a handle travels, and two processes see the same bytes, in order."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .conftest import PRELUDE, EnvironmentFunction
from .harness import DEADLINE, Call, Failure, NotOfThisDriver, OpenReg
from .processes import shared_memory

MiB = 1 << 20

# What the second process does: each line is code, and what the code assigns to `out` is the answer.
LOOP = """
import json, os
def share(address):
    handle = api.get("orIpcGetMemHandle", api.pointer(address))
    return bytes(handle.reserved).hex()
def open_(text, device=0):
    handle = ffi.new("orIpcMemHandle*", [bytes.fromhex(text)])
    return api.address(api.on(device, "orIpcOpenMemHandle", handle))
def close(address):
    api.ok(lib.orIpcCloseMemHandle(api.pointer(address)))
def share_event(event):
    return bytes(api.get("orIpcGetEventHandle", event).reserved).hex()
def open_event(text, device=0):
    return api.on(device, "orIpcOpenEventHandle", ffi.new("orIpcEventHandle*", [bytes.fromhex(text)]))
names = globals()
for line in sys.stdin:
    out = error = None
    try:
        exec(json.loads(line), names)
    except Exception as failure:
        error = f"{type(failure).__name__}: {failure}"
    print(json.dumps([names.pop("out", None), error]), flush=True)
"""


class Other:
    """A second process with the same driver."""

    def __init__(self, env: dict[str, str]) -> None:
        command, pipe = [sys.executable, "-c", PRELUDE + LOOP], subprocess.PIPE
        self.process = subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True)

    def does(self, code: str) -> Any:
        """Has it run code; what that has assigned to `out`."""
        assert self.process.stdin is not None and self.process.stdout is not None
        print(json.dumps(textwrap.dedent(code)), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise Failure(f"the other process has ended with {self.process.wait()}")
        out, error = json.loads(answer)
        if error and error.startswith("NotOfThisDriver"):
            raise NotOfThisDriver(error.partition(": ")[2])
        if error:
            raise Failure(error)
        return out

    def end(self, number: int = signal.SIGKILL) -> None:
        """Ends it by a signal, and returns when it has gone."""
        self.process.send_signal(number)
        self.process.wait()


@pytest.fixture
def other(child_environment: EnvironmentFunction) -> Iterator[Callable[[], Other]]:
    """Starts processes beside the test."""
    started: list[Other] = []

    def start() -> Other:
        started.append(Other(child_environment({})))
        return started[-1]

    yield start
    for one in started:
        one.end()


def share(api: OpenReg, address: int) -> str:
    """The handle of an allocation, as text."""
    return bytes(api.get("orIpcGetMemHandle", api.pointer(address)).reserved).hex()


def handle_of(api: OpenReg, text: str) -> Any:
    """The same back."""
    return api.ffi.new("orIpcMemHandle*", [bytes.fromhex(text)])


def open_(api: OpenReg, text: str, device: int = 0) -> int:
    """Opens what a handle names."""
    return api.address(api.on(device, "orIpcOpenMemHandle", handle_of(api, text)))


def close(api: OpenReg, address: int) -> None:
    """Ends that."""
    api.ok(api.lib.orIpcCloseMemHandle(api.pointer(address)))


def refused(api: OpenReg, text: str, *words: str, code: str = "orErrorInvalidValue") -> None:
    """Opening is refused, in these words, and gives no address."""
    out = api.ffi.new("void**", api.pointer(8))
    api.check(api.lib.orIpcOpenMemHandle(out, handle_of(api, text)), code, "^orIpcOpenMemHandle: argument", *words)
    assert out[0] == api.ffi.NULL


@pytest.mark.entry("orIpcGetMemHandle", case="good")
@pytest.mark.entry("orIpcOpenMemHandle", case="good")
@pytest.mark.entry("orIpcCloseMemHandle", case="good")
@pytest.mark.parametrize("size", [1, 4096, 3 * MiB + 5])
def test_two_processes_see_the_same_bytes(api: OpenReg, other: Any, size: int) -> None:
    second = other()
    ours = api.malloc(size)
    api.write(ours, bytes([7]) * size)
    theirs = second.does(f"it = open_({share(api, ours)!r}); out = it, api.read(it, {size}).hex()")
    assert theirs[1] == (bytes([7]) * size).hex()
    api.write(ours, bytes([8]) * size)
    assert second.does(f"out = api.read(it, {size}).hex()") == (bytes([8]) * size).hex()
    second.does(f"api.write(it, bytes([9]) * {size}); close(it)")
    assert api.read(ours, size) == bytes([9]) * size


def test_neighbours_in_memory_are_left_alone(api: OpenReg, other: Any) -> None:
    second = other()
    row = [api.malloc(4096) for _ in range(3)]
    for number, it in enumerate(row):
        api.write(it, bytes([number]) * 4096)
    second.does(f"it = open_({share(api, row[1])!r}); api.write(it, bytes([9]) * 4096); close(it)")
    assert [api.read(it, 4096) for it in row] == [bytes([n]) * 4096 for n in (0, 9, 2)]
    fresh = second.does("a = api.malloc(4096); api.write(a, bytes(4096)); out = api.read(a, 4096).hex()")
    assert fresh == bytes(4096).hex()


def test_kernels_and_fills_of_both_use_it(api: OpenReg, other: Any) -> None:
    second = other()
    log = api.log()
    api.append(log, 1, api.default_stream())
    api.synchronize(api.default_stream())
    second.does(
        f"""
        log, stream = open_({share(api, log)!r}), api.default_stream()
        api.append(log, 2, stream)
        api.synchronize(stream)
        """
    )
    assert api.read_log(log) == [1, 2]
    second.does("api.ok(lib.orMemset(api.pointer(log), 0, 16)); close(log)")
    assert api.read_log(log) == []


def test_open_memory_has_attributes_and_takes_none_of_the_device(api: OpenReg, other: Any) -> None:
    text = other().does("a = api.malloc(5000); out = share(a)")
    before = api.memory()
    it = open_(api, text)
    assert api.memory() == before
    for inside in (it, it + 4999):
        about = api.get("orPointerGetAttributes", api.pointer(inside))
        assert (about.type, about.device) == (api.lib.orMemoryTypeDevice, 0)
        assert (api.address(about.base), about.size) == (it, 5000)
    assert it % api.get("orGetDeviceProperties", 0).memoryAlignment == 0
    close(api, it)
    assert api.get("orPointerGetAttributes", api.pointer(it)).type == api.lib.orMemoryTypeUnregistered


def test_a_handle_asked_for_again_is_the_same(api: OpenReg) -> None:
    it = api.malloc(64)
    assert share(api, it) == share(api, it)
    assert share(api, it) != share(api, api.malloc(64))


def test_opened_twice_it_has_two_addresses_each_closed_by_itself(api: OpenReg, other: Any) -> None:
    text = other().does("a = api.malloc(64); api.write_words(a, 5); out = share(a)")
    first, last = open_(api, text), open_(api, text)
    assert first != last
    close(api, first)
    assert api.read_words(last) == [5]
    close(api, last)


def test_it_can_be_open_on_another_device_and_copied_between_devices(api: OpenReg, other: Any) -> None:
    text = other().does("a = api.malloc(64); api.write_words(a, 5); out = share(a)")
    there, here = open_(api, text, device=1), api.malloc(64, 0)
    api.ok(api.lib.orMemcpyPeer(api.pointer(here), 0, api.pointer(there), 1, 8))
    assert api.read_words(here) == [5]
    again = open_(api, text, device=1)  # Device 0 knows the memory of device 1 by now.
    api.write_words(here, 6)
    api.ok(api.lib.orMemcpyPeer(api.pointer(again), 1, api.pointer(here), 0, 8))
    assert api.read_words(there) == [6]
    close(api, there)
    close(api, again)


def test_a_device_with_access_runs_kernels_on_what_its_peer_has_open(api: OpenReg, other: Any) -> None:
    second = other()
    log = open_(api, second.does("log = api.log(); out = share(log)"), device=1)
    api.ok(api.lib.orDeviceEnablePeerAccess(0, 1))
    api.append(log, 3, api.default_stream(0))
    api.synchronize(api.default_stream(0))
    assert second.does("out = api.read_log(log)") == [3]
    api.ok(api.lib.orDeviceDisablePeerAccess(0, 1))
    close(api, log)


def test_sharing_waits_for_nothing_that_is_only_queued(api: OpenReg, other: Any) -> None:
    second = other()
    it, stream = api.malloc(8), api.stream()
    api.write_words(it, 1)
    with api.gate(stream) as gate:
        gate.wait_for()
        api.ok(api.lib.orMemsetAsync(api.pointer(it), 0, 8, stream))
        text = Call(lambda: share(api, it)).result(DEADLINE / 2)
        assert second.does(f"it = open_({text!r}); out = api.read_words(it)") == [1]
    api.synchronize(stream)
    assert second.does("out = api.read_words(it); close(it)") == [0]


def test_what_is_written_while_memory_is_first_shared_is_not_lost(api: OpenReg, other: Any) -> None:
    """Where sharing moves the bytes, a fill that runs meanwhile must go to where they are then."""
    second, stream, size = other(), api.stream(), 64 * MiB
    for value in range(1, 4):
        it = api.malloc(size)
        api.ok(api.lib.orMemsetAsync(api.pointer(it), 0, size, stream))
        api.synchronize(stream)
        with api.gate(stream) as gate:
            for at in range(size - MiB, -1, -MiB):  # from the end: who moves the bytes from the front meets it
                api.ok(api.lib.orMemsetAsync(api.pointer(it + at), value, MiB, stream))
            gate.open()
            text = share(api, it)
        api.synchronize(stream)
        assert api.read(it, size).count(value) == size  # Two numbers: pytest would compare 64 MiB for minutes.
        count = second.does(f"it = open_({text!r}); out = api.read(it, {size}).count({value}); close(it)")
        assert count == size
        api.ok(api.free(it))


def test_closing_waits_for_the_device(api: OpenReg, other: Any) -> None:
    it, stream = open_(api, other().does("out = share(api.malloc(8))")), api.stream()
    with api.gate(stream) as gate:
        api.ok(api.lib.orMemsetAsync(api.pointer(it), 0, 8, stream))
        closing = Call(lambda: close(api, it))
        assert closing.blocks()
        gate.open()
        closing.result()


def test_an_end_of_the_first_process_leaves_the_bytes(api: OpenReg, other: Any) -> None:
    first = other()
    it = open_(api, first.does("a = api.malloc(64); api.write_words(a, 5, 6); out = share(a)"))
    first.end()
    assert api.read_words(it, 2) == [5, 6]
    api.write_words(it, 7)
    assert api.read_words(it, 2) == [7, 6]
    close(api, it)


def test_an_end_of_the_second_process_leaves_the_first_undisturbed(api: OpenReg, other: Any) -> None:
    second = other()
    it = api.malloc(64)
    second.does(f"it = open_({share(api, it)!r}); api.write_words(it, 5)")
    second.end()
    assert api.read_words(it) == [5]
    api.ok(api.free(it))


def test_after_a_free_the_other_process_neither_crashes_nor_keeps_the_memory(api: OpenReg, other: Any) -> None:
    second = other()
    before = api.memory()
    it = api.malloc(MiB)
    second.does(f"it = open_({share(api, it)!r})")
    api.ok(api.free(it))
    assert api.memory() == before
    second.does(f"api.read(it, {MiB}); api.write(it, bytes({MiB})); close(it)")


def test_memory_that_was_shared_is_allocated_anew_like_any_other(api: OpenReg, other: Any) -> None:
    second = other()
    it = api.malloc(MiB)
    second.does(f"it = open_({share(api, it)!r}); close(it)")
    api.ok(api.free(it))
    again = api.malloc(MiB)
    assert again == it
    api.write(again, bytes([3]) * MiB)
    assert api.read(again, MiB) == bytes([3]) * MiB
    text = share(api, again)
    assert second.does(f"it = open_({text!r}); out = api.read(it, 8).hex(); close(it)") == "03" * 8


# ----------------------------------------------------------------------------------------------------------- refusals


def test_a_handle_of_this_process_is_refused(api: OpenReg) -> None:
    refused(api, share(api, api.malloc(64)), "'handle' names memory of this process; expected another's")


def test_a_handle_of_freed_memory_is_refused(api: OpenReg, other: Any) -> None:
    second = other()
    text = second.does("a = api.malloc(64); out = share(a)")
    second.does("api.ok(api.free(a)); api.forget(0)")
    refused(
        api,
        text,
        rf"names memory of process {second.process.pid}, which has freed it or has ended; expected it to live",
    )


def test_a_handle_of_a_process_that_has_ended_is_refused(api: OpenReg, other: Any) -> None:
    second = other()
    text = second.does("a = api.malloc(64); out = share(a)")
    second.end()
    refused(api, text, rf"process {second.process.pid}, which has freed it or has ended")


@pytest.mark.parametrize("byte", [0, 8, 12, 17, 31, 32, 47])
def test_a_handle_with_a_wrong_byte_is_refused(api: OpenReg, other: Any, byte: int) -> None:
    real = bytearray.fromhex(other().does("a = api.malloc(64); out = share(a)"))
    close(api, open_(api, real.hex()))
    real[byte] ^= 0xFF
    refused(api, real.hex(), "'handle' (names memory of process|has bytes that no driver wrote to name memory)")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_handle_of_another_user_is_refused(api: OpenReg, other: Any) -> None:
    second = other()
    second.does("api.malloc(8); os.setgroups([]); os.setgid(65534); os.setuid(65534)")
    text = share(api, api.malloc(64))
    second.does(f"handle = ffi.new('orIpcMemHandle*', [bytes.fromhex({text!r})])")
    said = second.does("code = lib.orIpcOpenMemHandle(ffi.new('void**'), handle); out = api.name(code), api.message()")
    assert said[0] == "orErrorInvalidValue"
    assert "which cannot be opened (Permission denied); expected one of a process of the same user" in said[1]


def test_only_the_start_of_own_live_memory_can_be_shared(api: OpenReg, other: Any) -> None:
    out, it = api.ffi.new("orIpcMemHandle*"), api.malloc(64)
    start = "'ptr' is 0x[0-9a-f]+, which is not the start of live device memory; expected a pointer from orMalloc"
    for wrong in (it + 8, api.malloc_host(64), 0x1000):
        api.check(api.lib.orIpcGetMemHandle(out, api.pointer(wrong)), "orErrorInvalidValue", start)
    api.ok(api.free(it))
    api.check(api.lib.orIpcGetMemHandle(out, api.pointer(it)), "orErrorInvalidValue", start)
    theirs = open_(api, other().does("out = share(api.malloc(64))"))
    error = api.lib.orIpcGetMemHandle(out, api.pointer(theirs))
    api.check(error, "orErrorInvalidValue", "which another process shares; expected memory of this process")
    close(api, theirs)


def test_free_and_close_are_not_each_other(api: OpenReg, other: Any) -> None:
    ours, theirs = api.malloc(64), open_(api, other().does("out = share(api.malloc(64))"))
    error = api.lib.orFree(api.pointer(theirs))
    api.check(
        error, "orErrorInvalidValue", "'ptr' .* another process shares; expected orIpcCloseMemHandle to be called"
    )
    closed = "not the start of open memory of another process; expected a pointer from orIpcOpenMemHandle"
    for wrong in (ours, theirs + 8, 0x1000):
        api.check(api.lib.orIpcCloseMemHandle(api.pointer(wrong)), "orErrorInvalidValue", closed)
    close(api, theirs)
    api.check(api.lib.orIpcCloseMemHandle(api.pointer(theirs)), "orErrorInvalidValue", closed)


def test_addresses_for_other_processes_end_and_come_back(run_child: Any, other: Any) -> None:
    text = other().does(f"a = api.malloc({24 * MiB}); out = share(a)")
    run_child(
        f"""
        handle = ffi.new("orIpcMemHandle*", [bytes.fromhex({text!r})])
        for _ in range(3):
            first = api.get("orIpcOpenMemHandle", handle)
            out = ffi.new("void**")
            error = lib.orIpcOpenMemHandle(out, handle)
            api.check(error, "orErrorMemoryAllocation", "{24 * MiB} bytes; device 0 has not so many addresses left")
            api.ok(lib.orIpcCloseMemHandle(first))
        """,
        env={"OPENREG_SIM": "memory=32MiB"},
    )


# ------------------------------------------------------------------------------------------------------------- lives


def test_a_reset_ends_what_is_open_and_a_late_close_does_nothing(api: OpenReg, other: Any) -> None:
    second = other()
    text = second.does("a = api.malloc(64); api.write_words(a, 5); out = share(a)")
    it = open_(api, text)
    api.forget(0)
    close(api, it)
    again = open_(api, text)
    assert again != it and api.read_words(again) == [5]
    close(api, again)
    second.does("api.forget(0)")
    refused(api, text, "which has freed it or has ended")


def test_on_a_failed_device_nothing_is_shared_or_opened_but_closing_works(api: OpenReg, other: Any) -> None:
    text = other().does("a = api.malloc(64); out = share(a)")
    ours, theirs = api.malloc(64), open_(api, text)
    api.fail_on_device(api.default_stream())
    assert api.lib.orDeviceSynchronize(0) == api.errors["orErrorAssert"]
    api.check(api.lib.orIpcGetMemHandle(api.ffi.new("orIpcMemHandle*"), api.pointer(ours)), "orErrorAssert")
    api.check(api.lib.orIpcOpenMemHandle(api.ffi.new("void**"), handle_of(api, text)), "orErrorAssert")
    close(api, theirs)
    api.forget(0)


def test_sharing_leaves_no_name_descriptor_or_address_behind(api: OpenReg, other: Any) -> None:
    second = other()
    names = shared_memory()

    def once() -> int:
        ours = api.malloc(MiB)
        theirs = open_(api, second.does(f"a = api.malloc({MiB}); out = share(a)"))
        second.does(f"it = open_({share(api, ours)!r}); close(it); close_later = a")
        close(api, theirs)
        second.does("api.ok(api.free(close_later))")
        api.ok(api.free(ours))
        return len(os.listdir("/proc/self/fd"))

    first = [once() for _ in range(3)][-1]
    assert [once() for _ in range(20)][-1] == first
    assert shared_memory() == names


def test_threads_share_open_and_close_at_once(api: OpenReg, other: Any) -> None:
    second = other()
    texts = second.does("out = [share(api.malloc(4096)) for _ in range(4)]")
    log, stream = api.log(), api.stream()

    def work(text: str) -> None:
        for _ in range(25):
            it = open_(api, text)
            own = api.address(api.get("orMalloc", 4096))
            share(api, own)
            api.ok(api.lib.orFree(api.pointer(own)))
            close(api, it)

    calls = [Call(lambda text=text: work(text)) for text in texts]
    for number in range(60):
        api.append(log, number, stream)
    for call in calls:
        call.result()
    api.synchronize(stream)
    assert api.read_log(log) == list(range(60))


def test_a_forked_child_has_no_view_of_what_is_shared(run_child: Any, other: Any) -> None:
    text = other().does("a = api.malloc(64); out = share(a)")
    run_child(
        f"""
        handle = ffi.new("orIpcMemHandle*", [bytes.fromhex({text!r})])
        it, own = api.get("orIpcOpenMemHandle", handle), api.malloc(64)
        api.get("orIpcGetMemHandle", api.pointer(own))
        def child():
            error = lib.orIpcOpenMemHandle(ffi.new("void**"), handle)
            api.check(error, "orErrorForked")
            api.ok(lib.orIpcCloseMemHandle(it))
            with open("/proc/self/maps") as maps:
                shared = [line for line in maps if "memfd:openreg-" in line]
            ours = ("openreg-board", "openreg-channel", "openreg-pinned")
            assert all(any(name in line for name in ours) for line in shared), shared
        in_forked_child(child)
        api.ok(lib.orIpcCloseMemHandle(it))
        """
    )


# ------------------------------------------------------------------------------------------------------------- events

INTERPROCESS = 0x2 | 0x4


def share_event(api: OpenReg, event: Any) -> str:
    """The handle of an event, as text."""
    return bytes(api.get("orIpcGetEventHandle", event).reserved).hex()


def open_event(api: OpenReg, text: str, device: int = 0) -> Any:
    """The event that a handle names."""
    return api.on(device, "orIpcOpenEventHandle", api.ffi.new("orIpcEventHandle*", [bytes.fromhex(text)]))


def record_there(api: OpenReg, second: Other, event: Any) -> None:
    """The other process records an event behind a closed gate, which it calls `gate`."""
    second.does(
        f"""
        event, stream = open_event({share_event(api, event)!r}), api.stream()
        gate = api.gate(stream)
        gate.wait_for()
        api.record(stream, event)
        """
    )


@pytest.mark.entry("orIpcGetEventHandle", case="good")
@pytest.mark.entry("orIpcOpenEventHandle", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_a_stream_waits_for_an_event_of_another_process(api: OpenReg, other: Any, device: int) -> None:
    second = other()
    event, log, stream = api.event(flags=INTERPROCESS), api.log(), api.stream()
    with api.gate(stream) as gate:
        gate.wait_for()
        api.append(log, 1, stream)
        api.record(stream, event)
        second.does(
            f"""
            log, event = open_({share(api, log)!r}, {device}), open_event({share_event(api, event)!r}, {device})
            stream = api.stream({device})
            api.ok(lib.orStreamWaitEvent(stream, event, 0))
            api.append(log, 2, stream, {device})
            """
        )
        assert second.does("out = api.is_done(stream), api.is_complete(event)") == [False, False]
        assert api.read_log(log) == []
        gate.open()
        assert second.does("api.synchronize(stream); out = api.is_complete(event)")
    assert api.read_log(log) == [1, 2]
    second.does("close(log); api.ok(lib.orEventDestroy(event))")


def test_the_other_process_records_it_and_this_one_waits(api: OpenReg, other: Any) -> None:
    second = other()
    event, stream = api.event(flags=INTERPROCESS), api.stream()
    assert api.is_complete(event)  # It was never recorded.
    api.ok(api.lib.orStreamWaitEvent(stream, event, 0))
    api.synchronize(stream)
    record_there(api, second, event)
    assert not api.is_complete(event)
    waiting = Call(lambda: api.ok(api.lib.orEventSynchronize(event)))
    api.ok(api.lib.orStreamWaitEvent(stream, event, 0))
    assert waiting.blocks()
    assert not api.is_done(stream)
    second.does("gate.open()")
    waiting.result()
    api.synchronize(stream)
    assert api.is_complete(event)


def test_a_waiter_waits_for_the_version_it_saw(api: OpenReg, other: Any) -> None:
    second = other()
    event, first, last, waits = api.event(flags=INTERPROCESS), api.stream(), api.stream(), api.stream()
    text = share_event(api, event)
    with api.gate(first) as one, api.gate(last) as two:
        api.record(first, event)
        second.does(
            f"event, stream = open_event({text!r}), api.stream(); api.ok(lib.orStreamWaitEvent(stream, event, 0))"
        )
        api.record(last, event)
        api.ok(api.lib.orStreamWaitEvent(waits, event, 0))
        two.open()
        api.synchronize(waits)
        assert api.is_complete(event)
        assert not second.does("out = api.is_done(stream)")
        one.open()
        second.does("api.synchronize(stream)")


def test_when_the_recorder_is_killed_its_event_is_complete(api: OpenReg, other: Any) -> None:
    second = other()
    event, stream = api.event(flags=INTERPROCESS), api.stream()
    record_there(api, second, event)
    api.ok(api.lib.orStreamWaitEvent(stream, event, 0))
    waiting = Call(lambda: api.ok(api.lib.orEventSynchronize(event)))
    assert waiting.blocks()
    second.process.kill()  # And nobody has asked about it yet.
    waiting.result()
    api.synchronize(stream)
    assert api.is_complete(event)


def test_a_version_recorded_behind_a_failure_is_complete(api: OpenReg, other: Any) -> None:
    second = other()
    event, stream = api.event(flags=INTERPROCESS), api.stream()
    with api.gate(stream):
        api.fail_on_device(stream)
        api.record(stream, event)
        second.does(f"event, stream = open_event({share_event(api, event)!r}), api.stream()")
        second.does("api.ok(lib.orStreamWaitEvent(stream, event, 0))")
        assert not second.does("out = api.is_complete(event)")
    second.does("api.synchronize(stream); api.ok(lib.orEventSynchronize(event))")
    api.forget(0)


def test_a_reset_lets_go_of_a_stream_that_waits_for_another_process(api: OpenReg, other: Any) -> None:
    second = other()
    event, stream = api.event(flags=INTERPROCESS), api.stream()
    record_there(api, second, event)
    api.ok(api.lib.orStreamWaitEvent(stream, event, 0))
    assert not api.is_done(stream)
    Call(lambda: api.forget(0)).result()
    second.does("gate.open()")


def test_a_wrong_handle_of_an_event_is_refused_in_words(api: OpenReg, other: Any) -> None:
    second = other()
    event, memory = api.event(flags=INTERPROCESS), api.malloc(64)

    def refused_event(text: str, words: str) -> None:
        out = api.ffi.new("orEvent_t*")
        handle = api.ffi.new("orIpcEventHandle*", [bytes.fromhex(text)])
        error = api.lib.orIpcOpenEventHandle(out, handle)
        api.check(error, "orErrorInvalidValue", "^orIpcOpenEventHandle: argument 'handle' ", words)

    refused_event(share(api, memory), "no driver wrote to name an event; expected those of orIpcGetEventHandle")
    refused_event(share_event(api, event), "names an event of this process; expected another's")
    text = second.does(f"event = api.event(0, {INTERPROCESS}); out = share_event(event)")
    theirs = open_event(api, text)
    out = api.ffi.new("orIpcEventHandle*")
    error = api.lib.orIpcGetEventHandle(out, theirs)
    api.check(
        error, "orErrorInvalidValue", "'event' is .*, which another process shares; expected an interprocess event"
    )
    error = api.lib.orIpcGetEventHandle(out, api.event())
    api.check(error, "orErrorInvalidValue", "created without orEventInterprocess; expected an interprocess event")
    second.does("api.ok(lib.orEventDestroy(event))")
    refused_event(text, f"names an event of process {second.process.pid}, which has freed it or has ended")


def test_an_interprocess_event_has_no_time(api: OpenReg) -> None:
    error = api.lib.orEventCreateWithFlags(api.ffi.new("orEvent_t*"), 0x4)
    api.check(error, "orErrorInvalidValue", "'flags' is 0x4; expected .* or that with orEventInterprocess")
    event, stream = api.event(flags=INTERPROCESS), api.stream()
    api.record(stream, event)
    error = api.lib.orEventElapsedTime(api.ffi.new("float*"), event, event)
    api.check(error, "orErrorInvalidHandle", "was created with orEventDisableTiming")


def test_events_of_two_processes_in_turns_order_all_their_work(api: OpenReg, other: Any) -> None:
    """Twenty times there and back, and no host waits in between."""
    second = other()
    ours, theirs = (
        api.event(flags=INTERPROCESS),
        second.does(f"ours = api.event(0, {INTERPROCESS}); out = share_event(ours)"),
    )
    theirs, log, stream = open_event(api, theirs), api.log(), api.stream()
    second.does(
        f"theirs, log, stream = open_event({share_event(api, ours)!r}), open_({share(api, log)!r}), api.stream()"
    )
    for turn in range(0, 40, 2):
        api.append(log, turn, stream)
        api.record(stream, ours)
        second.does(
            f"""
            api.ok(lib.orStreamWaitEvent(stream, theirs, 0))
            api.append(log, {turn + 1}, stream)
            api.record(stream, ours)
            """
        )
        api.ok(api.lib.orStreamWaitEvent(stream, theirs, 0))
    api.synchronize(stream)
    assert api.read_log(log) == list(range(40))
    second.does("close(log)")
