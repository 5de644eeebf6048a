"""OPENREG_LAUNCH_BLOCKING=1: asynchronous calls wait for their work and return its error."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import HERE, CompileFunction

BLOCKING = {"OPENREG_LAUNCH_BLOCKING": "1"}

# What queues work, as `queue()`, a function that returns the error. Everything lives on device 1, which isn't current.
CALLS = {
    "orLaunchKernel": """
        log = api.log(1)
        queue = lambda: api.launch(api.kernel("append", 1), struct.pack("<Qq", log, 7), [(0, 3, 0, 2048)], stream)
    """,
    "orMemcpyAsync": """
        a, b = api.pointer(api.malloc(8, 1)), api.pointer(api.malloc(8, 1))
        queue = lambda: lib.orMemcpyAsync(a, b, 8, lib.orMemcpyDeviceToDevice, stream)
    """,
    "orMemcpyPeerAsync": """
        a, b = api.pointer(api.malloc(8, 0)), api.pointer(api.malloc(8, 1))
        queue = lambda: lib.orMemcpyPeerAsync(a, 0, b, 1, 8, stream)
    """,
    "orMemsetAsync": """
        a = api.pointer(api.malloc(8, 1))
        queue = lambda: lib.orMemsetAsync(a, 1, 8, stream)
    """,
    "orGraphLaunch": """
        log, graph = api.log(1), ffi.new("orGraph_t*")
        api.ok(lib.orStreamBeginCapture(stream, lib.orStreamCaptureModeRelaxed))
        api.append(log, 7, stream, 1)
        api.ok(lib.orStreamEndCapture(stream, graph))
        made = api.get("orGraphInstantiate", graph[0])
        queue = lambda: lib.orGraphLaunch(made, stream)
    """,
}


def prepare(entry: str) -> str:
    """Code that makes `stream` and `queue`."""
    return "\nstream = api.stream(1)\n" + "\n".join(line.strip() for line in CALLS[entry].splitlines()) + "\n"


@pytest.mark.parametrize("entry", CALLS)
def test_the_call_returns_when_the_work_is_done(run_child: Any, entry: str) -> None:
    run_child(
        prepare(entry)
        + """
with api.gate(stream) as gate:
    call = Call(queue)
    gate.wait_for(1)
    assert call.blocks()
    gate.open()
    api.ok(call.result())
assert api.is_done(stream)
        """,
        env=BLOCKING,
    )


@pytest.mark.parametrize("entry", CALLS)
def test_the_call_returns_the_error_of_work_before_it_under_its_own_name(run_child: Any, entry: str) -> None:
    run_child(
        prepare(entry)
        + f"""
report, gate = api.kernel("report", 1), api.gate(stream)
args = struct.pack("<q56s", api.errors["orErrorAssert"], b"index 7 out of range")
before = Call(lambda: api.launch(report, args, [], stream))
assert before.blocks()
behind = Call(lambda: (queue(), api.message()))
assert behind.blocks()
gate.open()
error, message = behind.result()
assert api.name(error) == "orErrorAssert" and message.startswith("{entry}: "), message
assert "index 7 out of range" in message
api.check(lib.orDeviceSynchronize(1), "orErrorAssert", "^orDeviceSynchronize: ")
api.ok(lib.orDeviceSynchronize(0))
        """,
        env=BLOCKING,
    )


def test_a_failing_kernel_is_named_by_its_own_launch(run_child: Any) -> None:
    run_child(
        """
        stream = api.stream()
        args = struct.pack("<q56s", api.errors["orErrorAssert"], b"index 7 out of range")
        error = api.launch(api.kernel("report"), args, [], stream)
        api.check(error, "orErrorAssert", "^orLaunchKernel: .*report.*index 7 out of range")
        """,
        env=BLOCKING,
    )


def test_it_waits_for_no_other_stream(run_child: Any) -> None:
    run_child(
        """
        stream, other, log = api.stream(), api.stream(), api.log()
        with api.gate(other):
            api.append(log, 1, stream)
            assert not api.is_done(other)
            assert api.read_log(log) == [1]
        """,
        env=BLOCKING,
    )


def test_an_error_found_at_the_call_is_returned_without_waiting(run_child: Any) -> None:
    run_child(
        """
        stream = api.stream()
        with api.gate(stream):
            api.check(lib.orMemsetAsync(api.pointer(8), 0, 8, stream), "orErrorInvalidValue", "^orMemsetAsync: ")
        """,
        env=BLOCKING,
    )


@pytest.mark.parametrize("entry", [entry for entry in CALLS if entry != "orGraphLaunch"])
def test_a_call_that_is_captured_has_no_work_to_wait_for(run_child: Any, entry: str) -> None:
    run_child(
        prepare(entry)
        + """
with api.gate(stream):
    api.ok(lib.orStreamBeginCapture(stream, lib.orStreamCaptureModeGlobal))
    api.ok(Call(queue).result(AT_ONCE))
    graph, count = ffi.new("orGraph_t*"), ffi.new("size_t*")
    api.ok(lib.orStreamEndCapture(stream, graph))
api.ok(lib.orGraphGetNodeCount(graph[0], count))
assert count[0] == 1
api.synchronize(stream)
        """,
        env=BLOCKING,
    )


@pytest.mark.parametrize("value", ["", "0"])
def test_without_it_the_call_returns_at_once(run_child: Any, value: str) -> None:
    run_child(
        """
        stream, log = api.stream(), api.log()
        with api.gate(stream):
            api.append(log, 1, stream)
            assert not api.is_done(stream)
        """,
        env={"OPENREG_LAUNCH_BLOCKING": value},
    )


def test_another_value_is_an_error_that_names_it(run_child: Any) -> None:
    run_child(
        """
        text = "OPENREG_LAUNCH_BLOCKING is 'yes'; expected 0 or 1"
        for _ in range(2):
            api.check(lib.orGetDeviceCount(ffi.new("int*")), "orErrorInvalidValue", "^orGetDeviceCount: " + text)
        """,
        env={"OPENREG_LAUNCH_BLOCKING": "yes"},
    )


def test_any_driver_gets_it(run_child: Any, compile_library: CompileFunction) -> None:
    path = str(compile_library(HERE / "drivers" / "driver.c", "-DCOUNT=1", name="tiny"))
    run_child(
        """
        stream = ffi.cast("orStream_t", 1)
        queue = lambda: lib.orMemsetAsync(api.pointer(8), 0, 8, stream)
        api.ok(queue())  # the driver has no orStreamSynchronize, which nobody needs here
        """,
        env={"OPENREG_DRIVER": path},
    )
    run_child(
        """
        stream = ffi.cast("orStream_t", 1)
        error = lib.orMemsetAsync(api.pointer(8), 0, 8, stream)
        api.check(error, "orErrorNotImplemented", "^not implemented: orStreamSynchronize$")
        """,
        env={"OPENREG_DRIVER": path} | BLOCKING,
    )
