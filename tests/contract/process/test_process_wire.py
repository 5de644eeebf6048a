"""The wire of the driver "process": what each end does when the other talks nonsense."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..conftest import block
from ..harness import wait_until
from ..processes import LOST
from . import wire
from .conftest import HostFunction


def stream_frame(stream: int = 0) -> bytes:
    """StreamFrame."""
    return struct.pack("<Ii", stream, 0)


def graph_frame(graph: int = 5) -> bytes:
    """GraphFrame."""
    return struct.pack("<II", graph, 0)


# ------------------------------------------------------------------------------------------------- nonsense of the host


def test_an_executor_answers_and_ends_when_its_host_is_gone(host: HostFunction) -> None:
    it = host()
    assert it.welcome[:3] == (wire.MAGIC, wire.VERSION, 0)
    size = struct.pack("<Q", 100)
    number = it.post("malloc", size, flags=wire.WANTS_ANSWER)
    wait_until(lambda: it.answer()[0] == number, "it has answered")
    assert it.answer() == (number, 0, struct.pack("<Q", 1 << 44))
    it.socket.close()
    assert it.end() == 0


ERROR_FREE = wire.frame(wire.KINDS.index("nudge"), 1, stream_frame())
GRAPH = wire.frame(wire.KINDS.index("graph_create"), 1, graph_frame())
GARBLED = {
    "magic": (wire.frame(1, 1, magic=7), "magic number is 7"),
    "a gap in the numbers": (wire.frame(1, 2), "numbered 2"),
    "a number twice": (ERROR_FREE + ERROR_FREE, "frame 2 is garbled: it is numbered 1"),
    "an unknown kind": (wire.frame(99, 1), "kind is 99"),
    "no bytes": (wire.frame(1, 1, bytes=0), "has 0 bytes"),
    "an odd size": (wire.frame(1, 1, bytes=33), "has 33 bytes"),
    "truncated": (wire.frame(11, 1, b"x" * 64)[:64], "has 96 bytes, of which 64 are there"),
    "a size beyond the ring": (wire.frame(1, 1, bytes=1 << 30), "has 1073741824 bytes"),
    "a payload larger than the frame": (wire.frame(1, 1, size=100), "payload has 100 bytes"),
    "a payload of the wrong size": (wire.frame(3, 1, b"xy"), "2 bytes of payload; expected 8"),
    "a request that nobody waits for": (wire.frame(1, 1), "of kind 1 and has the flags 0"),
    "a stream that there is not": (wire.frame(7 - 3, 1, stream_frame(5)), "stream 5"),
    "a stream that cannot be": (wire.frame(3, 1, stream_frame(5000)), "stream 5000"),
    "a device that there is not": (wire.frame(20, 1, struct.pack("<iI", 7, 0)), "device 7 of 2"),
    "memory that was not granted": (
        wire.frame(25, 1, struct.pack("<iIQQQ", 0, 0, 1 << 44, 8, 0), flags=wire.WANTS_ANSWER),
        "names memory of another process, which was not granted",
    ),
    "memory closed that is not open": (
        wire.frame(26, 1, struct.pack("<iIQQ", 0, 0, (1 << 44) + (1 << 20), 0)),
        "closes memory of another process that is not open",
    ),
    "a text without an end": (wire.frame(13, 1, b"abc", flags=wire.WANTS_ANSWER), "without an end"),
    "a launch whose parts do not fit": (
        wire.frame(3, 1, stream_frame()) + wire.frame(15, 2, struct.pack("<IHHQQ", 0, 8, 1, 1, 0)),
        "launches with 0 bytes of descriptors and arguments; expected 32",
    ),
    "a graph that there is": (GRAPH + wire.frame(27, 2, graph_frame()), "creates graph 5, which there is or cannot be"),
    "a graph that cannot be": (
        wire.frame(27, 1, graph_frame(2**31)),
        "creates graph 2147483648, which there is or cannot be",
    ),
    "a launch of a graph that there is not": (
        wire.frame(3, 1, stream_frame()) + wire.frame(28, 2, struct.pack("<IIQ", 0, 5, 0)),
        "launches graph 5, which does not exist",
    ),
    "a launch of a graph on a stream that there is not": (
        GRAPH + wire.frame(28, 2, struct.pack("<IIQ", 9, 5, 0)),
        "stream 9",
    ),
    "a launch of a graph on a graph": (
        GRAPH + wire.frame(28, 2, struct.pack("<IIQ", wire.GRAPH | 5, 5, 0)),
        f"stream {wire.GRAPH | 5}",
    ),
    "the end of a graph that there is not": (
        GRAPH + wire.frame(29, 2, graph_frame()) + wire.frame(29, 3, graph_frame()),
        "destroys graph 5, which does not exist",
    ),
    "work of a graph that there is not": (
        wire.frame(12, 1, struct.pack("<IiQQQ", wire.GRAPH | 5, 0, 1 << 44, 8, 0)),
        "adds to graph 5, which does not exist or was launched already",
    ),
    "work of a graph that was launched": (
        GRAPH
        + wire.frame(3, 2, stream_frame())
        + wire.frame(28, 3, struct.pack("<IIQ", 0, 5, 0))
        + wire.frame(12, 4, struct.pack("<IiQQQ", wire.GRAPH | 5, 0, 1 << 44, 8, 0)),
        "adds to graph 5, which does not exist or was launched already",
    ),
    "a graph's copy beyond the pinned range": (
        GRAPH + wire.frame(11, 2, struct.pack("<IIIIQQQQ", wire.GRAPH | 5, 0, 1, 0, 1 << 44, (1 << 20) - 8, 9, 0)),
        "names 9 bytes beyond the pinned range",
    ),
    "a wait in a graph": (
        GRAPH + wire.frame(6, 2, struct.pack("<IiIIQQ", wire.GRAPH | 5, 0, 0, 0, 1, 0)),
        f"stream {wire.GRAPH | 5}",
    ),
}


@pytest.mark.parametrize("what", GARBLED)
def test_an_executor_that_gets_a_garbled_frame_says_so_and_ends(host: HostFunction, what: str) -> None:
    data, text = GARBLED[what]
    it = host()
    it.put(data)
    assert it.end() == 3
    assert text in it.last_words()


@pytest.mark.parametrize(
    ("hello", "descriptors", "text"),
    [
        (b"hello", 4, "5 bytes and 4 descriptors"),
        (wire.HELLO.pack(1, wire.VERSION, 0, 2, 0, 0, 0, b""), 4, "magic"),
        (wire.HELLO.pack(wire.MAGIC, wire.VERSION, 0, 2, 0, 0, 0, b""), 3, "3 descriptors"),
        (
            wire.HELLO.pack(wire.MAGIC, 77, 0, 2, 0, 0, 0, b""),
            4,
            f"speaks version 77 of the protocol; expected {wire.VERSION}",
        ),
        (
            wire.HELLO.pack(wire.MAGIC, wire.VERSION, 0, 2, 0, 1 << 20, 1 << 20, b"memory=x"),
            4,
            "OPENREG_SIM has 'memory=x'",
        ),
    ],
)
def test_a_hello_that_is_not_understood_is_refused_in_words(
    host: HostFunction, hello: bytes, descriptors: int, text: str
) -> None:
    it = host(hello=hello, descriptors=descriptors)
    assert it.welcome[2] != 0
    assert text in it.welcome[3].split(b"\0")[0].decode()
    assert it.end() == 1


def test_started_by_hand_it_says_who_starts_it(library: Path) -> None:
    done = subprocess.run([library.parent / "openreg_executor"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "OPENREG_DRIVER=process" in done.stderr


# --------------------------------------------------------------------------------------------- nonsense of the executor


@pytest.fixture
def fake(executor_of: Callable[[str], str]) -> Callable[[str], str]:
    """Writes a program that takes the executor's place; gives the setting that names it."""
    return lambda code: executor_of("it = wire.FakeExecutor()\n" + block(code))


STARTS = {
    "ends without a word": ("sys.exit(0)", "has not answered Hello"),
    "never answers": ("time.sleep(60)", "has not answered Hello"),
    "another version": (
        "it.welcome(version=99); time.sleep(60)",
        f"speaks version 99 of the protocol; expected {wire.VERSION}",
    ),
    "half a Welcome": ("it.socket.send(b'OR'); time.sleep(60)", "answered Hello with 2 bytes"),
    "a refusal": ("it.welcome(error=17, text=b'no such chip'); time.sleep(60)", "cannot serve: no such chip"),
}


@pytest.mark.parametrize("what", STARTS)
def test_an_executor_that_does_not_start_well_is_named_and_ended(
    run_process: Any,
    fake: Callable[[str], str],
    what: str,
) -> None:
    code, text = STARTS[what]
    run_process(
        f"""
        for _ in range(2):
            error = lib.orMalloc(ffi.new("void**"), 8)
            api.check(error, "orErrorDriver", "^orMalloc: ", "device 0", "fake", {text!r})
        with open("/proc/self/task/%d/children" % os.getpid()) as file:
            assert file.read().split() == []
        """,
        fake(code) + ",deadline=2s",
    )


ANSWERS = {
    "of another request": (
        "it.answer(number - 1); it.answer(number + 1)",
        LOST,
        "garbled answer",
    ),
    "with another magic": ("it.answer(number, payload=bytes(8), magic=5)", LOST, "magic 0x5"),
    "too short": ("it.answer(number, payload=bytes(4))", LOST, "4 bytes of payload"),
    "too long": ("it.answer(number, payload=bytes(4), size=5000)", LOST, "5000 bytes of payload"),
    "with an error that there is not": ("it.answer(number, error=1000, payload=b'x')", LOST, "error 1000"),
    "with a text without an end": ("it.answer(number, error=2, payload=b'x' * 1024)", "orErrorMemoryAllocation", "xxx"),
    "with its own error": ("it.answer(number, error=2, payload=b'no rows\\0')", "orErrorMemoryAllocation", "no rows"),
    "missing": ("pass", "orErrorTimedOut", "has not answered request"),
    "its end": ("sys.exit(9)", LOST, "ended with status 9"),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_an_answer_that_is_garbled_or_missing_is_an_error_of_the_call(
    run_process: Any,
    fake: Callable[[str], str],
    what: str,
) -> None:
    answer, code, text = ANSWERS[what]
    program = f"""
    it.welcome()
    while True:
        kind, number = it.next_request()
        if kind == wire.KINDS.index("malloc"):
            {answer}
    """
    run_process(
        f"""
        error = lib.orMalloc(ffi.new("void**"), 8)
        message = api.check(error, {code!r}, "^orMalloc: ", {text!r})
        if {code!r} != "orErrorMemoryAllocation":
            assert "device 0" in message, message
            api.check(lib.orDeviceSynchronize(0), {code!r}, {text!r})
        """,
        fake(program) + ",deadline=2s",
    )


def test_the_program_gives_up_on_an_executor_that_takes_no_frames(
    run_process: Any,
    fake: Callable[[str], str],
) -> None:
    run_process(
        """
        stream = api.stream()
        gate = api.gate()
        def submit():
            for _ in range(100_000):
                if error := gate.stand(stream):
                    return error, api.message()
        error, text = Call(submit).result()
        assert api.name(error) == "orErrorTimedOut", text
        """,
        fake("it.welcome(); time.sleep(60)") + ",deadline=2s",
    )
