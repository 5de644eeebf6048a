"""Graphs: what a capture records, what forbids it, and what a launch does."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from .harness import AT_ONCE, LOG_WORDS, READ, WRITE, Call, OpenReg, in_forked_child

GLOBAL, THREAD_LOCAL, RELAXED = range(3)
NONE, ACTIVE, INVALIDATED = range(3)


class Graphs:
    """Short ways to capture and to launch."""

    def __init__(self, api: OpenReg) -> None:
        self.api, self.lib = api, api.lib

    def begin(self, stream: Any, mode: int = GLOBAL) -> None:
        """Begins a capture."""
        self.api.ok(self.lib.orStreamBeginCapture(stream, mode))

    def end(self, stream: Any) -> Any:
        """Ends it and gives the graph."""
        out = self.api.ffi.new("orGraph_t*")
        self.api.ok(self.lib.orStreamEndCapture(stream, out))
        return out[0]

    def refuse_end(self, stream: Any, code: str, *text: str) -> None:
        """Ends a capture that has no graph to give."""
        out = self.api.ffi.new("orGraph_t*")
        out[0] = self.api.ffi.cast("orGraph_t", 1)
        self.api.check(self.lib.orStreamEndCapture(stream, out), code, "^orStreamEndCapture: ", *text)
        assert out[0] == self.api.ffi.NULL

    def status(self, stream: Any) -> tuple[int, int]:
        """Whether a stream captures, and the capture's number."""
        status, number = self.api.ffi.new("orStreamCaptureStatus*"), self.api.ffi.new("uint64_t*")
        self.api.ok(self.lib.orStreamGetCaptureInfo(stream, status, number))
        return status[0], number[0]

    @contextmanager
    def relaxed(self, mode: int = RELAXED) -> Iterator[None]:
        """The thread has another mode."""
        word = self.api.ffi.new("orStreamCaptureMode*", mode)
        self.api.ok(self.lib.orThreadExchangeStreamCaptureMode(word))
        yield
        self.api.ok(self.lib.orThreadExchangeStreamCaptureMode(word))
        assert word[0] == mode

    def capture(self, stream: Any, *work: Any) -> Any:
        """An instantiated graph of what these functions submit."""
        self.begin(stream)
        for submit in work:
            submit()
        graph = self.end(stream)
        made = self.exec(graph)
        self.api.ok(self.lib.orGraphDestroy(graph))
        return made

    def exec(self, graph: Any) -> Any:
        """Instantiates a graph."""
        return self.api.get("orGraphInstantiate", graph)

    def launch(self, graph: Any, stream: Any) -> None:
        """Launches it."""
        self.api.ok(self.lib.orGraphLaunch(graph, stream))

    def nodes(self, graph: Any) -> int:
        """How many nodes a graph has."""
        count = self.api.ffi.new("size_t*")
        self.api.ok(self.lib.orGraphGetNodeCount(graph, count))
        return count[0]


@pytest.fixture
def graphs(api: OpenReg) -> Graphs:
    """For the library under test."""
    return Graphs(api)


# ------------------------------------------------------------------------------------------------------------- capture


@pytest.mark.entry("orStreamBeginCapture", case="good")
@pytest.mark.entry("orStreamEndCapture", case="good")
@pytest.mark.entry("orGraphInstantiate", case="good")
@pytest.mark.entry("orGraphLaunch", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_captured_work_runs_at_each_launch_and_not_before(api: OpenReg, graphs: Graphs, device: int) -> None:
    log, stream = api.log(device), api.stream(device)
    api.use_another(device)
    made = graphs.capture(
        stream, lambda: api.append(log, 1, stream, device), lambda: api.append(log, 2, stream, device)
    )
    api.synchronize(stream)
    assert api.read_log(log) == []
    graphs.launch(made, stream)
    api.append(log, 3, stream, device)
    graphs.launch(made, stream)
    api.synchronize(stream)
    assert api.read_log(log) == [1, 2, 3, 1, 2]


@pytest.mark.entry("orStreamGetCaptureInfo", case="good")
def test_a_stream_says_whether_it_captures(api: OpenReg, graphs: Graphs) -> None:
    first, second = api.stream(), api.stream()
    assert graphs.status(first) == (NONE, 0)
    graphs.begin(first, THREAD_LOCAL)
    status, number = graphs.status(first)
    assert status == ACTIVE and number > 0
    assert graphs.status(second) == (NONE, 0)
    api.ok(api.lib.orStreamGetCaptureInfo(first, api.ffi.new("orStreamCaptureStatus*"), api.ffi.NULL))
    graphs.end(first)
    assert graphs.status(first) == (NONE, 0)
    graphs.begin(first)
    assert graphs.status(first)[1] > number, "a number is given once"
    graphs.end(first)


@pytest.mark.entry("orStreamBeginCapture", case="bad")
@pytest.mark.entry("orStreamEndCapture", case="bad")
def test_a_capture_is_begun_once_and_ended_once(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    stream = api.stream()
    graphs.refuse_end(stream, "orErrorInvalidValue", "'stream' doesn't capture")
    for mode in (-1, 3):
        error = lib.orStreamBeginCapture(stream, api.ffi.cast("orStreamCaptureMode", mode))
        api.check(error, "orErrorInvalidValue", "^orStreamBeginCapture: argument 'mode' is -?\\d+; expected")
    graphs.begin(stream)
    error = lib.orStreamBeginCapture(stream, GLOBAL)
    api.check(error, "orErrorInvalidValue", r"^orStreamBeginCapture: argument 'stream' is in capture \d+ already")
    graphs.end(stream)
    graphs.refuse_end(stream, "orErrorInvalidValue", "'stream' doesn't capture")


def test_the_default_stream_captures_like_any_other(api: OpenReg, graphs: Graphs) -> None:
    log, stream = api.log(), api.default_stream()
    made = graphs.capture(stream, lambda: api.append(log, 4, stream))
    graphs.launch(made, api.stream())
    api.ok(api.lib.orDeviceSynchronize(0))
    assert api.read_log(log) == [4]


def test_other_streams_execute_while_one_captures(api: OpenReg, graphs: Graphs) -> None:
    log, stream, other = api.log(), api.stream(), api.stream()
    graphs.begin(stream, RELAXED)
    api.append(log, 1, stream)
    api.append(log, 2, other)
    api.synchronize(other)
    assert api.read_log(log) == [2]
    assert graphs.nodes(graphs.end(stream)) == 1


@pytest.mark.entry("orGraphGetNodeCount", case="good")
def test_copies_fills_and_functions_of_the_host_are_captured(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    device, other, pinned = api.malloc(16), api.malloc(16), api.malloc_host(16)
    stream, calls = api.stream(), []
    graphs.begin(stream)
    api.ok(lib.orMemcpyAsync(api.pointer(device), api.pointer(pinned), 16, lib.orMemcpyHostToDevice, stream))
    api.ok(lib.orMemsetAsync(api.pointer(device), 7, 8, stream))
    api.ok(lib.orMemcpyAsync(api.pointer(other), api.pointer(device), 16, lib.orMemcpyDeviceToDevice, stream))
    api.ok(lib.orMemcpyAsync(api.pointer(pinned), api.pointer(other), 16, lib.orMemcpyDefault, stream))
    api.host_function(stream, lambda: calls.append(bytes(api.view(pinned, 16))))
    api.ok(lib.orMemsetAsync(api.pointer(other), 9, 0, stream))
    graph = graphs.end(stream)
    assert graphs.nodes(graph) == 5, "what moves no bytes is no node"
    made = graphs.exec(graph)
    for text in (b"0123456789abcdef", b"ABCDEFGHIJKLMNOP"):
        api.view(pinned, 16)[:] = text
        graphs.launch(made, stream)
        api.synchronize(stream)
        assert bytes(api.view(pinned, 16)) == bytes([7] * 8) + text[8:]
    assert calls == [bytes([7] * 8) + b"89abcdef", bytes([7] * 8) + b"IJKLMNOP"]


def test_a_function_of_the_host_has_its_place_among_the_nodes(api: OpenReg, graphs: Graphs) -> None:
    log, stream = api.log(), api.stream()
    seen: list[int] = []
    pinned = api.malloc_host(8 * LOG_WORDS)

    def read() -> None:
        api.ok(
            api.lib.orMemcpyAsync(
                api.pointer(pinned), api.pointer(log), 8 * LOG_WORDS, api.lib.orMemcpyDeviceToHost, stream
            )
        )

    def look() -> None:
        seen.append(struct.unpack("<q", api.view(pinned, 8))[0])

    made = graphs.capture(
        stream,
        lambda: api.append(log, 1, stream),
        read,
        lambda: api.host_function(stream, look),
        lambda: api.append(log, 2, stream),
        lambda: api.append(log, 3, stream),
        read,
        lambda: api.host_function(stream, look),
        lambda: api.append(log, 4, stream),
    )
    graphs.launch(made, stream)
    graphs.launch(made, stream)
    api.synchronize(stream)
    assert seen == [1, 3, 5, 7]
    assert api.read_log(log) == [1, 2, 3, 4] * 2


@pytest.mark.parametrize("device", [0, 1])
def test_a_copy_between_two_devices_is_captured(api: OpenReg, lib: Any, graphs: Graphs, device: int) -> None:
    here, there = api.malloc(8, device), api.malloc(8, 1 - device)
    stream = api.stream(device)
    made = graphs.capture(
        stream,
        lambda: api.ok(lib.orMemcpyPeerAsync(api.pointer(there), 1 - device, api.pointer(here), device, 8, stream)),
    )
    for word in (5, 6):
        api.write_words(here, word)
        graphs.launch(made, stream)
        api.synchronize(stream)
        assert api.read_words(there) == [word]


# --------------------------------------------------------------------------------------------------------- side streams


@pytest.mark.parametrize("flags", ["orEventDefault", "orEventDisableTiming"])
def test_a_stream_joins_by_an_event_and_is_joined_by_one(api: OpenReg, lib: Any, graphs: Graphs, flags: str) -> None:
    log, stream, side = api.log(), api.stream(), api.stream()
    forked, joined = (api.event(0, getattr(lib, flags)) for _ in range(2))
    graphs.begin(stream)
    api.append(log, 1, stream)
    api.record(stream, forked)
    api.ok(lib.orStreamWaitEvent(side, forked, 0))
    assert graphs.status(side) == graphs.status(stream)
    api.append(log, 2, side)
    api.record(side, joined)
    api.ok(lib.orStreamWaitEvent(stream, joined, 0))
    api.append(log, 3, stream)
    made = graphs.exec(graphs.end(stream))
    assert graphs.status(side) == (NONE, 0)
    assert api.is_complete(forked) and api.is_complete(joined), "they count as never recorded"
    graphs.launch(made, api.stream())
    api.ok(lib.orDeviceSynchronize(0))
    assert api.read_log(log) == [1, 2, 3]


def test_an_event_of_a_capture_that_has_ended_holds_nobody(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    stream, other, event = api.stream(), api.stream(), api.event()
    graphs.begin(stream)
    api.record(stream, event)
    graphs.end(stream)
    api.ok(lib.orStreamWaitEvent(other, event, 0))
    api.synchronize(other)
    with api.gate(stream) as gate:
        gate.wait_for(1)
        api.record(stream, event)
        assert not api.is_complete(event), "recorded again, it is an event like any other"
    api.ok(lib.orEventSynchronize(event))


def test_work_that_is_not_joined_makes_no_graph(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    log, stream, side, event = api.log(), api.stream(), api.stream(), api.event()
    graphs.begin(stream)
    api.append(log, 1, stream)
    api.ok(lib.orStreamWaitEvent(side, api.record(stream, event), 0))
    api.append(log, 2, side)
    graphs.refuse_end(side, "orErrorStreamCaptureUnmatched", "joined capture")
    graphs.refuse_end(stream, "orErrorStreamCaptureUnjoined", "1 of the capture's 2 nodes")
    assert graphs.status(stream) == graphs.status(side) == (NONE, 0)
    api.append(log, 3, side)
    api.synchronize(side)
    assert api.read_log(log) == [3]


def test_a_stream_that_has_joined_and_done_nothing_need_not_be_joined(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    log, stream, side = api.log(), api.stream(), api.stream()
    graphs.begin(stream)
    api.append(log, 1, stream)
    api.ok(lib.orStreamWaitEvent(side, api.record(stream), 0))
    assert graphs.nodes(graphs.end(stream)) == 1


def test_captured_work_can_only_wait_for_work_of_its_capture(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    stream, other = api.stream(), api.stream()
    outside = api.record(other)
    never = api.event()
    graphs.begin(stream)
    api.ok(lib.orStreamWaitEvent(stream, never, 0))
    error = lib.orStreamWaitEvent(stream, outside, 0)
    api.check(error, "orErrorStreamCaptureIsolation", "'event' was recorded outside of the capture; expected")
    graphs.refuse_end(stream, "orErrorStreamCaptureInvalidated", "wait for an event from outside")


def test_two_captures_stay_apart(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    first, second = api.stream(), api.stream()
    graphs.begin(first)
    graphs.begin(second)
    error = lib.orStreamWaitEvent(second, api.record(first), 0)
    api.check(error, "orErrorStreamCaptureIsolation", "'event' was recorded in another capture; expected")
    for stream in (first, second):
        assert graphs.status(stream)[0] == INVALIDATED
        graphs.refuse_end(stream, "orErrorStreamCaptureInvalidated", "another capture")


def test_a_capture_is_of_one_device(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    here, there = api.stream(0), api.stream(1)
    graphs.begin(here)
    error = lib.orStreamWaitEvent(there, api.record(here), 0)
    api.check(error, "orErrorStreamCaptureIsolation", "'event' was recorded in a capture of another device")
    graphs.refuse_end(here, "orErrorStreamCaptureInvalidated", "another device")
    assert graphs.status(there) == (NONE, 0)


# ------------------------------------------------------------------------------------------- what makes it invalid

WAITS = {
    "orStreamSynchronize": lambda api, lib, stream, event: lib.orStreamSynchronize(stream),
    "orStreamQuery": lambda api, lib, stream, event: lib.orStreamQuery(stream),
    "orEventSynchronize": lambda api, lib, stream, event: lib.orEventSynchronize(event),
    "orEventQuery": lambda api, lib, stream, event: lib.orEventQuery(event),
    "orEventElapsedTime": lambda api, lib, stream, event: lib.orEventElapsedTime(api.ffi.new("float*"), event, event),
}


@pytest.mark.parametrize("call", WAITS)
@pytest.mark.parametrize("mode", [GLOBAL, THREAD_LOCAL, RELAXED])
def test_what_is_recorded_cannot_be_waited_for(api: OpenReg, lib: Any, graphs: Graphs, call: str, mode: int) -> None:
    log, stream, event = api.log(), api.stream(), api.event()
    graphs.begin(stream, mode)
    api.append(log, 1, stream)
    api.record(stream, event)
    error = WAITS[call](api, lib, stream, event)
    text = "its work is recorded and not executed, so that it can't be waited for, asked for, or timed"
    api.check(error, "orErrorStreamCaptureUnsupported", rf"^{call}: capture \d+ is under way: {text}")
    assert graphs.status(stream)[0] == INVALIDATED
    error = api.launch(api.kernel("append"), struct.pack("<Qq", log, 1), [(0, 3, 0, 8 * LOG_WORDS)], stream)
    api.check(error, "orErrorStreamCaptureInvalidated", f"^orLaunchKernel: an earlier call .*: {text}; expected")
    graphs.refuse_end(stream, "orErrorStreamCaptureInvalidated", text)
    api.append(log, 2, stream)
    api.synchronize(stream)
    assert api.read_log(log) == [2]


@pytest.mark.parametrize("entry", ["orMemcpyAsync", "orMemcpyWithStream"])
def test_a_copy_of_pageable_memory_and_one_that_waits_are_refused(
    api: OpenReg, lib: Any, graphs: Graphs, entry: str
) -> None:
    device, host, stream = api.malloc(8), api.host(8), api.stream()
    graphs.begin(stream)
    error = getattr(lib, entry)(api.pointer(device), host, 8, lib.orMemcpyHostToDevice, stream)
    text = "pageable memory, which may be gone by then" if entry == "orMemcpyAsync" else "can't be waited for"
    api.check(error, "orErrorStreamCaptureUnsupported", rf"^{entry}: capture \d+ is under way: .*{text}")
    graphs.refuse_end(stream, "orErrorStreamCaptureInvalidated", text)


def unsafe(api: OpenReg, lib: Any) -> dict[str, Any]:
    """Calls that may wait for device 0."""
    device, pinned = api.malloc(8), api.malloc_host(8)
    out = api.ffi.new("void**")
    return {
        "orDeviceSynchronize": lambda: lib.orDeviceSynchronize(0),
        "orMalloc": lambda: lib.orMalloc(out, 8),
        "orMallocHost": lambda: lib.orMallocHost(out, 8),
        "orFree": lambda: lib.orFree(api.pointer(device)),
        "orFreeHost": lambda: lib.orFreeHost(api.pointer(pinned)),
        "orIpcGetMemHandle": lambda: lib.orIpcGetMemHandle(api.ffi.new("orIpcMemHandle*"), api.pointer(device)),
    }


UNSAFE = ["orDeviceSynchronize", "orMalloc", "orMallocHost", "orFree", "orFreeHost", "orIpcGetMemHandle"]


@pytest.mark.entry("orThreadExchangeStreamCaptureMode", case="good")
@pytest.mark.parametrize("call", UNSAFE)
def test_calls_that_may_wait_are_refused_unless_the_thread_is_relaxed(
    api: OpenReg, lib: Any, graphs: Graphs, call: str
) -> None:
    stream = api.stream()
    calls = unsafe(api, lib)
    graphs.begin(stream)
    api.check(
        calls[call](), "orErrorStreamCaptureUnsupported", rf"^{call}: capture \d+ is under way: the call may wait"
    )
    graphs.refuse_end(stream, "orErrorStreamCaptureInvalidated", "the call may wait")
    graphs.begin(stream)
    if call.startswith("orFree") or call == "orDeviceSynchronize":
        with graphs.relaxed():
            assert graphs.status(stream)[0] == ACTIVE
            if call == "orDeviceSynchronize":
                api.ok(calls[call]())
    graphs.end(stream)


@pytest.mark.parametrize(
    ("capture", "thread", "same", "refused"),
    [
        (GLOBAL, GLOBAL, True, True),
        (GLOBAL, GLOBAL, False, True),
        (GLOBAL, THREAD_LOCAL, True, True),
        (GLOBAL, THREAD_LOCAL, False, False),
        (GLOBAL, RELAXED, True, False),
        (THREAD_LOCAL, GLOBAL, True, True),
        (THREAD_LOCAL, GLOBAL, False, False),
        (THREAD_LOCAL, RELAXED, False, False),
        (RELAXED, GLOBAL, True, False),
        (RELAXED, GLOBAL, False, False),
    ],
)
def test_the_modes_of_capture_and_thread_decide(
    api: OpenReg, lib: Any, graphs: Graphs, capture: int, thread: int, *, same: bool, refused: bool
) -> None:
    stream = api.stream()
    graphs.begin(stream, capture)

    def synchronize() -> str:
        with graphs.relaxed(thread):
            return api.name(lib.orDeviceSynchronize(0))

    said = synchronize() if same else Call(synchronize).result(AT_ONCE)
    assert said == ("orErrorStreamCaptureUnsupported" if refused else "orSuccess")
    assert graphs.status(stream)[0] == (INVALIDATED if refused else ACTIVE)
    lib.orStreamEndCapture(stream, api.ffi.new("orGraph_t*"))


@pytest.mark.entry("orThreadExchangeStreamCaptureMode", case="bad")
def test_a_mode_that_there_is_not_is_refused(api: OpenReg, lib: Any) -> None:
    word = api.ffi.new("orStreamCaptureMode*", api.ffi.cast("orStreamCaptureMode", 7))
    error = lib.orThreadExchangeStreamCaptureMode(word)
    api.check(error, "orErrorInvalidValue", "^orThreadExchangeStreamCaptureMode: argument 'mode' is 7; expected")


@pytest.mark.parametrize("mode", [GLOBAL, RELAXED])
def test_only_a_relaxed_capture_is_ended_by_another_thread(api: OpenReg, lib: Any, graphs: Graphs, mode: int) -> None:
    stream = api.stream()
    graphs.begin(stream, mode)
    out = api.ffi.new("orGraph_t*")

    def end() -> tuple[str, str]:
        return api.name(lib.orStreamEndCapture(stream, out)), api.message()

    said, message = Call(end).result(AT_ONCE)
    if mode == RELAXED:
        assert said == "orSuccess" and graphs.nodes(out[0]) == 0
        return
    assert said == "orErrorStreamCaptureWrongThread" and "begun by another thread" in message
    assert graphs.status(stream)[0] == ACTIVE
    graphs.end(stream)


def test_work_of_another_thread_is_captured_too(api: OpenReg, graphs: Graphs) -> None:
    """As that of PyTorch's backward pass is."""
    log, stream = api.log(), api.stream()
    graphs.begin(stream)
    api.append(log, 1, stream)
    Call(lambda: api.append(log, 2, stream)).result(AT_ONCE)
    made = graphs.exec(graphs.end(stream))
    graphs.launch(made, stream)
    api.synchronize(stream)
    assert api.read_log(log) == [1, 2]


def test_a_stream_that_is_destroyed_takes_its_capture_along(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    stream, side = api.stream(), api.stream()
    graphs.begin(stream)
    api.ok(lib.orStreamWaitEvent(side, api.record(stream), 0))
    api.ok(lib.orStreamDestroy(side))
    graphs.refuse_end(stream, "orErrorStreamCaptureInvalidated", "a stream that had joined it was destroyed")
    graphs.begin(stream)
    joined = api.stream()
    api.ok(lib.orStreamWaitEvent(joined, api.record(stream), 0))
    api.ok(lib.orStreamDestroy(stream))
    assert graphs.status(joined) == (NONE, 0)
    api.ok(lib.orDeviceSynchronize(0))


def test_a_reset_ends_captures_and_takes_graphs_back(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    stream = api.stream(0)
    graph = (graphs.begin(stream), graphs.end(stream))[1]
    made = graphs.exec(graph)
    graphs.begin(stream, RELAXED)
    api.forget(0)
    api.check(lib.orStreamEndCapture(stream, api.ffi.new("orGraph_t*")), "orErrorInvalidHandle")
    api.check(lib.orGraphLaunch(made, api.stream(0)), "orErrorInvalidHandle", "reset")
    api.check(lib.orGraphDestroy(graph), "orErrorInvalidHandle", "reset")
    api.ok(lib.orDeviceSynchronize(0))


# -------------------------------------------------------------------------------------------------------------- launch


def test_a_launch_is_one_piece_of_its_streams_work(api: OpenReg, graphs: Graphs) -> None:
    log, stream, other = api.log(), api.stream(), api.stream()
    made = graphs.capture(stream, *(lambda i=i: api.append(log, i, stream) for i in range(20)))
    with api.gate(other) as gate:
        gate.wait_for(1)
        graphs.launch(made, other)
        api.append(log, 99, other)
        graphs.launch(made, other)
        assert not api.is_done(other)
        api.synchronize(stream)
        assert api.read_log(log) == []
    api.synchronize(other)
    assert api.read_log(log) == [*range(20), 99, *range(20)]


@pytest.mark.entry("orGraphExecKernelNodeSetParams", case="good")
def test_other_arguments_count_from_the_next_launch_on(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    log, stream = api.log(), api.stream()
    made = graphs.capture(stream, *(lambda i=i: api.append(log, i, stream) for i in (1, 2, 3)))
    with api.gate(stream) as gate:
        gate.wait_for(1)
        graphs.launch(made, stream)
        args = struct.pack("<Qq", log, 7)
        pointers = api.pointer_args((0, READ | WRITE, 0, 8 * LOG_WORDS))
        api.ok(lib.orGraphExecKernelNodeSetParams(made, 1, args, len(args), pointers, 1))
        graphs.launch(made, stream)
    api.synchronize(stream)
    assert api.read_log(log) == [1, 2, 3, 1, 7, 3]


@pytest.mark.entry("orGraphExecKernelNodeSetParams", case="bad")
def test_only_a_kernel_has_arguments_and_it_keeps_its_own_rules(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    buffer, log, stream = api.malloc(8), api.log(), api.stream()
    made = graphs.capture(
        stream,
        lambda: api.ok(lib.orMemsetAsync(api.pointer(buffer), 1, 8, stream)),
        lambda: api.append(log, 1, stream),
    )
    name = "orGraphExecKernelNodeSetParams"
    for node in (0, 2):
        error = lib.orGraphExecKernelNodeSetParams(made, node, api.ffi.NULL, 0, api.ffi.NULL, 0)
        api.check(
            error, "orErrorInvalidValue", f"^{name}: argument 'node' is {node}; expected the index of a kernel node"
        )
    error = lib.orGraphExecKernelNodeSetParams(made, 1, b"12345678", 8, api.pointer_args((4, READ, 0, 8)), 1)
    api.check(error, "orErrorInvalidValue", f"^{name}: argument 'pointers'")
    graphs.launch(made, stream)
    api.synchronize(stream)
    assert api.read_log(log) == [1]


@pytest.mark.entry("orGraphDestroy", case="good")
@pytest.mark.entry("orGraphExecDestroy", case="good")
def test_what_was_launched_runs_after_all_handles_are_given_back(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    log, stream = api.log(), api.stream()
    graphs.begin(stream)
    api.append(log, 1, stream)
    graph = graphs.end(stream)
    made = graphs.exec(graph)
    api.ok(lib.orGraphDestroy(graph))
    with api.gate(stream) as gate:
        gate.wait_for(1)
        graphs.launch(made, stream)
        api.ok(lib.orGraphExecDestroy(made))
    api.synchronize(stream)
    assert api.read_log(log) == [1]
    api.check(lib.orGraphExecDestroy(made), "orErrorInvalidHandle", "'exec' is .*, which was destroyed")
    api.check(lib.orGraphLaunch(made, stream), "orErrorInvalidHandle", "'exec' is .*, which was destroyed")
    api.check(lib.orGraphDestroy(graph), "orErrorInvalidHandle", "'graph' is .*, which was destroyed")


@pytest.mark.entry("orGraphLaunch", case="bad")
def test_a_graph_is_launched_on_a_stream_of_its_device_that_does_not_capture(
    api: OpenReg, lib: Any, graphs: Graphs
) -> None:
    stream, other = api.stream(0), api.stream(0)
    made = graphs.capture(stream)
    graphs.begin(other)
    error = lib.orGraphLaunch(made, other)
    api.check(error, "orErrorStreamCaptureUnsupported", "^orGraphLaunch: .*a graph can't be part of another")
    graphs.refuse_end(other, "orErrorStreamCaptureInvalidated")
    error = lib.orGraphLaunch(made, api.stream(1))
    api.check(error, "orErrorInvalidHandle", "'stream' is a stream of device 1; expected one of device 0, the graph's")
    graphs.launch(made, other)
    api.synchronize(other)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("kernel", "kernel 'append'"),
        ("fill", "a graph's fill of 8 bytes on device 0 uses memory that was freed"),
        ("copy", "a graph's copy of 8 bytes on device 0 uses memory that was freed"),
    ],
)
def test_memory_that_was_freed_is_found_when_its_turn_comes(
    api: OpenReg, lib: Any, graphs: Graphs, kind: str, text: str
) -> None:
    gone, log, stream = api.malloc(8 * LOG_WORDS), api.log(), api.stream()
    ends = api.pointer(gone), api.pointer(log)
    submit = {
        "kernel": lambda: api.append(gone, 1, stream),
        "fill": lambda: api.ok(lib.orMemsetAsync(ends[0], 1, 8, stream)),
        "copy": lambda: api.ok(lib.orMemcpyAsync(*ends, 8, lib.orMemcpyDeviceToDevice, stream)),
    }
    made = graphs.capture(stream, submit[kind], lambda: api.append(log, 2, stream))
    api.ok(api.free(gone))
    graphs.launch(made, stream)
    api.check(lib.orStreamSynchronize(stream), "orErrorIllegalAddress", text)
    api.forget(0)


def test_pinned_memory_that_was_freed_is_found_at_the_launch(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    device, pinned, stream = api.malloc(8), api.malloc_host(8), api.stream()
    made = graphs.capture(
        stream,
        lambda: api.ok(
            lib.orMemcpyAsync(api.pointer(device), api.pointer(pinned), 8, lib.orMemcpyHostToDevice, stream)
        ),
    )
    with api.gate(stream) as gate:
        gate.wait_for(1)
        graphs.launch(made, stream)
        free = Call(lambda: api.ok(api.free_host(pinned)))
        assert free.blocks(), "a launch uses it"
        gate.open()
        free.result()
    error = lib.orGraphLaunch(made, stream)
    api.check(error, "orErrorInvalidValue", "^orGraphLaunch: argument 'exec' has a copy, node 0, of pinned memory at")
    api.synchronize(stream)


def test_work_behind_a_failure_in_a_graph_is_not_executed(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    log, stream = api.log(), api.stream(0)
    calls: list[int] = []
    made = graphs.capture(
        stream,
        lambda: api.append(log, 1, stream),
        lambda: api.fail_on_device(stream),
        lambda: api.append(log, 2, stream),
        lambda: api.host_function(stream, lambda: calls.append(1)),
    )
    graphs.launch(made, stream)
    event = api.record(stream)
    api.check(lib.orEventSynchronize(event), "orErrorAssert", "kernel 'report' on device 0: index 7 out of range")
    assert calls == []
    api.forget(0)


def test_each_node_has_a_record_of_the_launch(api: OpenReg, lib: Any, graphs: Graphs) -> None:
    log, buffer, stream = api.log(), api.malloc(8), api.stream()
    made = graphs.capture(
        stream,
        lambda: api.append(log, 1, stream),
        lambda: api.ok(lib.orMemsetAsync(api.pointer(buffer), 1, 8, stream)),
        lambda: api.append(log, 2, stream),
        lambda: api.host_function(stream, lambda: None),
    )
    with api.listen() as listener:
        graphs.launch(made, stream)
        api.synchronize(stream)
    work = sorted(listener.work, key=lambda it: it.start)  # those of the host may be delivered sooner
    assert [(it.kind, it.name) for it in work] == [
        ("Kernel", "append"),
        ("Memset", "memset"),
        ("Kernel", "append"),
        ("HostFunction", "host function"),
    ]
    (call,) = (it for it in listener.of("Call") if it.name == "orGraphLaunch")
    assert {it.correlation for it in work} == {call.correlation}
    ends = [it.end for it in work]
    assert ends == sorted(ends) and all(it.start <= it.end for it in work)


@pytest.mark.entry("orGraphDebugDotPrint", case="good")
def test_a_graph_is_drawn_with_what_its_nodes_wait_for(api: OpenReg, graphs: Graphs, lib: Any, tmp_path: Path) -> None:
    log, buffer, stream, side = api.log(), api.malloc(8), api.stream(), api.stream()
    graphs.begin(stream)
    api.append(log, 1, stream)
    api.ok(lib.orStreamWaitEvent(side, api.record(stream), 0))
    api.ok(lib.orMemsetAsync(api.pointer(buffer), 1, 8, side))
    api.append(log, 2, stream)
    api.ok(lib.orStreamWaitEvent(stream, api.record(side), 0))
    api.append(log, 3, stream)
    graph = graphs.end(stream)
    path = tmp_path / "graph.dot"
    api.ok(lib.orGraphDebugDotPrint(graph, str(path).encode()))
    lines = path.read_text().splitlines()
    assert [line.strip() for line in lines if "label" in line] == [
        'n0 [label="0: append"]',
        'n1 [label="1: memset of 8 bytes"]',
        'n2 [label="2: append"]',
        'n3 [label="3: append"]',
    ]
    assert {line.strip() for line in lines if "->" in line} == {"n0 -> n1", "n0 -> n2", "n1 -> n3", "n2 -> n3"}


@pytest.mark.entry("orGraphDebugDotPrint", case="bad")
def test_a_file_that_cannot_be_written_is_named(api: OpenReg, graphs: Graphs, lib: Any) -> None:
    stream = api.stream()
    graphs.begin(stream)
    graph = graphs.end(stream)
    error = lib.orGraphDebugDotPrint(graph, b"/no/such/folder/graph.dot")
    text = "argument 'path' is '/no/such/folder/graph.dot', which cannot be written: No such file"
    api.check(error, "orErrorInvalidValue", f"^orGraphDebugDotPrint: {text}")


def test_in_a_forked_child_graphs_are_given_back_in_silence(api: OpenReg, graphs: Graphs, lib: Any) -> None:
    stream = api.stream()
    graphs.begin(stream)
    graph = graphs.end(stream)
    made = graphs.exec(graph)

    def child() -> None:
        assert lib.orGraphDestroy(graph) == lib.orGraphExecDestroy(made) == 0
        api.check(lib.orGraphLaunch(made, stream), "orErrorForked")

    in_forked_child(child)
    graphs.launch(made, stream)
    api.synchronize(stream)


def test_captures_of_many_threads_end_as_they_began(api: OpenReg, graphs: Graphs) -> None:
    logs = [api.log() for _ in range(4)]
    api.kernel("append")

    def work(log: int) -> None:
        for _ in range(20):
            stream = api.get("orStreamCreate")
            graphs.begin(stream, THREAD_LOCAL)
            api.append(log, 1, stream)
            api.append(log, 2, stream)
            graph = graphs.end(stream)
            made = graphs.exec(graph)
            graphs.launch(made, stream)
            api.synchronize(stream)
            api.ok(api.lib.orGraphExecDestroy(made))
            api.ok(api.lib.orGraphDestroy(graph))
            api.ok(api.lib.orStreamDestroy(stream))

    calls = [Call(lambda log=log: work(log)) for log in logs]
    for call in calls:
        call.result()
    assert [api.read_log(log) for log in logs] == [[1, 2] * 20] * 4
