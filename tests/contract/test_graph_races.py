"""Threads that meet at a capture or a graph: one submits, another ends, destroys or resets."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from .harness import LOG_WORDS, READ, WRITE, Call, OpenReg, wait_until

GLOBAL, THREAD_LOCAL, RELAXED = range(3)


def end(api: OpenReg, stream: Any) -> Any:
    """Ends a capture; gives the graph."""
    out = api.ffi.new("orGraph_t*")
    api.ok(api.lib.orStreamEndCapture(stream, out))
    return out[0]


def relax(api: OpenReg) -> None:
    """Makes the calling thread one that heeds no capture."""
    api.ok(api.lib.orThreadExchangeStreamCaptureMode(api.ffi.new("orStreamCaptureMode*", RELAXED)))


def check_that_nothing_captures(api: OpenReg) -> None:
    """A capture that nobody can end would forbid what may wait, or have got hold of a stream with a new owner."""
    api.ok(Call(lambda: api.lib.orDeviceSynchronize(0)).result())
    stream, status = api.stream(), api.ffi.new("orStreamCaptureStatus*")
    api.ok(api.lib.orStreamGetCaptureInfo(stream, status, api.ffi.NULL))
    assert status[0] == api.lib.orStreamCaptureStatusNone
    api.ok(api.lib.orStreamDestroy(stream))


@pytest.mark.parametrize("before", [0, 5, 30])
def test_work_that_meets_the_end_of_a_capture_is_recorded_or_executed(api: OpenReg, lib: Any, before: int) -> None:
    count = 60
    api.kernel("append")
    for _ in range(10):
        stream, log, submitted = api.stream(), api.log(), list[int]()
        api.ok(lib.orStreamBeginCapture(stream, RELAXED))

        def submit(stream: Any = stream, log: int = log, submitted: list[int] = submitted) -> None:
            for value in range(count):
                api.append(log, value, stream)
                submitted.append(value)

        submitting = Call(submit)
        wait_until(lambda submitted=submitted: len(submitted) >= before, "some of it was submitted")
        graph = end(api, stream)
        submitting.result()
        api.synchronize(stream)
        nodes = api.ffi.new("size_t*")
        api.ok(lib.orGraphGetNodeCount(graph, nodes))
        executed = api.read_log(log)
        assert executed == list(range(nodes[0], count))
        api.ok(lib.orGraphLaunch(api.get("orGraphInstantiate", graph), stream))
        api.synchronize(stream)
        assert api.read_log(log) == executed + list(range(nodes[0]))


def test_a_stream_that_is_destroyed_as_its_capture_begins_leaves_none_behind(api: OpenReg, lib: Any) -> None:
    invalid = api.errors["orErrorInvalidHandle"]
    for _ in range(300):
        stream = api.stream()
        begin = Call(lambda stream=stream: lib.orStreamBeginCapture(stream, GLOBAL))
        api.ok(lib.orStreamDestroy(stream))
        assert begin.result() in (0, invalid)
        check_that_nothing_captures(api)


def test_a_stream_that_is_destroyed_as_it_joins_a_capture_is_not_in_it_afterwards(api: OpenReg, lib: Any) -> None:
    invalid = api.errors["orErrorInvalidHandle"]
    stream, event = api.stream(), api.event()
    for _ in range(300):
        side = api.stream()
        api.ok(lib.orStreamBeginCapture(stream, THREAD_LOCAL))
        api.record(stream, event)
        join = Call(lambda side=side: lib.orStreamWaitEvent(side, event, 0))
        api.ok(lib.orStreamDestroy(side))
        assert join.result() in (0, invalid)
        error = lib.orStreamEndCapture(stream, api.ffi.new("orGraph_t*"))
        assert api.name(error) in ("orSuccess", "orErrorStreamCaptureInvalidated")
        check_that_nothing_captures(api)


def test_a_reset_in_the_middle_of_captures_and_launches_leaves_none_behind(api: OpenReg, lib: Any) -> None:
    expected = {"orErrorInvalidHandle", "orErrorDeviceLost"}
    api.kernel("nothing")

    def work() -> str:
        kernel, stream, out = api.ffi.new("orKernel_t*"), api.ffi.new("orStream_t*"), api.ffi.new("orGraph_t*")
        module, made = api.ffi.new("orModule_t*"), api.ffi.new("orGraphExec_t*")
        error = lib.orModuleLoad(module, api.probe_path.encode())
        error = error or lib.orModuleGetKernel(kernel, module[0], b"nothing") or lib.orStreamCreate(stream)
        while not error:
            error = (
                lib.orStreamBeginCapture(stream[0], GLOBAL)
                or api.launch(kernel[0], b"", [], stream[0])
                or lib.orStreamEndCapture(stream[0], out)
                or lib.orGraphInstantiate(made, out[0])
                or lib.orGraphDestroy(out[0])
                or lib.orGraphLaunch(made[0], stream[0])
                or lib.orGraphExecKernelNodeSetParams(made[0], 0, api.ffi.NULL, 0, api.ffi.NULL, 0)
                or lib.orGraphLaunch(made[0], stream[0])
                or lib.orGraphExecDestroy(made[0])
            )
        return api.name(error)

    for _ in range(10):
        calls = [Call(work) for _ in range(3)]
        assert all(call.blocks() for call in calls)
        Call(lambda: (relax(api), api.forget(0))).result()
        assert {call.result() for call in calls} <= expected
        check_that_nothing_captures(api)


def test_a_graph_that_is_changed_and_destroyed_while_it_is_launched_runs_as_often_as_it_was(
    api: OpenReg, lib: Any
) -> None:
    invalid = api.errors["orErrorInvalidHandle"]
    pointers = api.pointer_args((0, READ | WRITE, 0, 8 * LOG_WORDS))
    for _ in range(10):
        stream, log = api.stream(), api.log()
        api.ok(lib.orStreamBeginCapture(stream, THREAD_LOCAL))
        api.append(log, 0, stream)
        made = api.get("orGraphInstantiate", end(api, stream))

        def launch(stream: Any = stream, made: Any = made) -> int:
            for times in range(LOG_WORDS - 1):
                if error := lib.orGraphLaunch(made, stream):
                    assert error == invalid
                    return times
            return LOG_WORDS - 1

        launching = Call(launch)
        for value in range(20):
            args = struct.pack("<Qq", log, value)
            api.ok(lib.orGraphExecKernelNodeSetParams(made, 0, args, len(args), pointers, 1))
        api.ok(lib.orGraphExecDestroy(made))
        times = launching.result()
        api.synchronize(stream)
        values = api.read_log(log)
        assert len(values) == times
        assert values == sorted(values)


# ------------------------------------------------------------------------------ freed between capture and instantiation


@pytest.mark.parametrize("work", ["kernel", "fill", "copy"])
def test_memory_freed_before_a_graph_is_instantiated_is_found_when_its_turn_comes(
    api: OpenReg, lib: Any, work: str
) -> None:
    stream, gone, there = api.stream(), api.malloc(8 * LOG_WORDS), api.pointer(api.malloc(8))
    submit = {
        "kernel": lambda: api.append(gone, 1, stream),
        "fill": lambda: api.ok(lib.orMemsetAsync(api.pointer(gone), 1, 8, stream)),
        "copy": lambda: api.ok(lib.orMemcpyAsync(there, api.pointer(gone), 8, lib.orMemcpyDefault, stream)),
    }[work]
    api.kernel("append")
    api.ok(lib.orStreamBeginCapture(stream, GLOBAL))
    submit()
    graph = end(api, stream)
    api.ok(api.free(gone))
    made = api.get("orGraphInstantiate", graph)
    api.ok(lib.orDeviceSynchronize(0))
    api.ok(lib.orGraphLaunch(made, stream))
    api.check(lib.orStreamSynchronize(stream), "orErrorIllegalAddress", work)
    api.forget(0)


def test_pinned_memory_freed_before_a_graph_is_instantiated_is_found_at_the_launch(api: OpenReg, lib: Any) -> None:
    stream, device, gone = api.stream(), api.malloc(8), api.malloc_host(8)
    api.ok(lib.orStreamBeginCapture(stream, GLOBAL))
    api.ok(lib.orMemcpyAsync(api.pointer(device), api.pointer(gone), 8, lib.orMemcpyDefault, stream))
    graph = end(api, stream)
    api.ok(api.free_host(gone))
    made = api.get("orGraphInstantiate", graph)
    error = lib.orGraphLaunch(made, stream)
    api.check(error, "orErrorInvalidValue", "^orGraphLaunch: argument 'exec' has a copy, node 0, of pinned memory at")
    api.synchronize(stream)
