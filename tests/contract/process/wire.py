"""The wire of the driver "process" (openreg/driver/process/wire) in Python: either end of it, for tests.

A test takes the host's place to see what an executor does with frames that no host would send; a program that a test
starts as an executor takes that one's place. Fake executors import this module, so it needs nothing of pytest. The
numbers are those of the executor in Python (openreg/driver/process/python/wire.py).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
import subprocess
import sys
from pathlib import Path

_PYTHON = Path(__file__).resolve().parents[3] / "openreg" / "driver" / "process" / "python"
sys.path.append(str(_PYTHON))
_definitions = importlib.import_module("wire")
sys.path.remove(str(_PYTHON))
MAGIC, VERSION, WANTS_ANSWER = _definitions.MAGIC, _definitions.VERSION, _definitions.WANTS_ANSWER
HELLO, WELCOME, HEADER, ANSWER = _definitions.HELLO, _definitions.WELCOME, _definitions.HEADER, _definitions.ANSWER
KINDS, GRAPH = _definitions.KINDS, _definitions.GRAPH
WRITTEN, REST, ASLEEP, TAKEN = _definitions.WRITTEN, _definitions.REST, _definitions.ASLEEP, _definitions.TAKEN
RING, RING_BYTES = _definitions.RING, _definitions.RING_BYTES
ANSWERED, ANSWER_AT, CHANNEL_BYTES = _definitions.ANSWERED, _definitions.ANSWER_AT, _definitions.CHANNEL_BYTES
HOST_BYTES, DEVICE_BYTES, BOARD_BYTES = _definitions.HOST_BYTES, _definitions.DEVICE_BYTES, _definitions.BOARD_BYTES
FAILED, ERROR, TEXT, LAST_WORDS = _definitions.FAILED, _definitions.ERROR, _definitions.TEXT, _definitions.LAST_WORDS
DEVICE_SLEEPERS, STREAMS = _definitions.DEVICE_SLEEPERS, _definitions.STREAMS
SLEEPERS, FENCE, REQUESTS = _definitions.SLEEPERS, _definitions.FENCE, _definitions.REQUESTS
RECORDED = _definitions.RECORDED
Shared = _definitions.Shared


def frame(kind: int, number: int, payload: bytes = b"", flags: int = 0, **wrong: int) -> bytes:
    """A frame; `wrong` replaces fields of its header."""
    size = (HEADER.size + len(payload) + 31) // 32 * 32
    fields = {"magic": MAGIC, "kind": kind, "flags": flags, "bytes": size, "size": len(payload), "number": number}
    fields |= {"reserved": 0} | wrong
    return (HEADER.pack(*fields.values()) + payload).ljust(size, b"\0")


class Host:
    """The host's end: an executor process, and frames for it."""

    def __init__(self, command: list[str], hello: bytes | None = None, descriptors: int = 4) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        start = f"os.execv({command[0]!r}, {command!r} + [str(os.getppid())])"
        script = f"import os; os.dup2({theirs.fileno()}, 3); {start}"
        self.process = subprocess.Popen([sys.executable, "-c", script], pass_fds=[theirs.fileno()])
        theirs.close()
        sizes = {"channel": CHANNEL_BYTES, "board": BOARD_BYTES, "memory": 1 << 20, "pinned": 1 << 20}
        files = [os.memfd_create(name) for name in sizes]
        for file, size in zip(files, sizes.values(), strict=True):
            os.ftruncate(file, size)
        self.written = self.number = 0
        hello = hello or HELLO.pack(MAGIC, VERSION, 0, 2, 1 << 44, 1 << 20, 1 << 20, b"memory=1MiB")
        socket.send_fds(self.socket, [hello], files[:descriptors])
        self.channel, self.board = Shared(files[0], CHANNEL_BYTES), Shared(files[1], BOARD_BYTES)
        os.close(files[2])
        os.close(files[3])
        self.welcome = WELCOME.unpack(self.socket.recv(1024).ljust(WELCOME.size, b"\0"))

    def put(self, data: bytes) -> None:
        """Bytes for the ring, and the doorbell."""
        self.channel.bytes[RING + self.written : RING + self.written + len(data)] = data
        self.written += len(data)
        self.channel.write(WRITTEN, self.written)
        # It may have seen the frame, and ended: without being rung for, or with the last ring unread.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.socket.send(b"\0")

    def post(self, kind: str, payload: bytes = b"", **header: int) -> int:
        """A frame of that kind; its number."""
        self.number += 1
        self.put(frame(KINDS.index(kind), self.number, payload, **header))
        return self.number

    def answer(self) -> tuple[int, int, bytes]:
        """Number, error and payload of the last answer."""
        _, error, number, size, _, data = ANSWER.unpack_from(self.channel.bytes, ANSWER_AT)
        return number, error, data[:size]

    def last_words(self) -> str:
        """What the executor has said before it left."""
        at = HOST_BYTES + LAST_WORDS  # of device 0
        return self.board.bytes[at : at + 500].split(b"\0")[0].decode()

    def end(self) -> int:
        """Exit status of the executor, which must end by itself."""
        try:
            return self.process.wait(10)
        finally:
            self.process.kill()
            self.socket.close()


class FakeExecutor:
    """The executor's end, as little of it as a test needs."""

    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=3)
        self.hello, files, _, _ = socket.recv_fds(self.socket, 1024, 4)
        self.channel = Shared(files[0], CHANNEL_BYTES)
        self.taken = 0

    def welcome(self, version: int = VERSION, error: int = 0, text: bytes = b"") -> None:
        """Answers Hello."""
        self.socket.send(WELCOME.pack(MAGIC, version, error, text))

    def next_request(self) -> tuple[int, int]:
        """Kind and number of the next frame that wants an answer; others are passed over."""
        while True:
            written = self.channel.value(WRITTEN)
            if written == self.taken:
                self.channel.set(REST, ASLEEP)
                if self.channel.value(WRITTEN) == written and not self.socket.recv(1024):
                    sys.exit(0)
                continue
            at = RING + self.taken % RING_BYTES
            _, kind, flags, size, _, number, _ = HEADER.unpack_from(self.channel.bytes, at)
            self.taken += size
            self.channel.advance(TAKEN, self.taken)
            if flags & WANTS_ANSWER:
                return kind, number

    def answer(self, number: int, error: int = 0, payload: bytes = b"", magic: int = MAGIC, size: int = -1) -> None:
        """Answers a request."""
        size = len(payload) if size < 0 else size
        ANSWER.pack_into(self.channel.bytes, ANSWER_AT, magic, error, number, size, 0, payload)
        self.channel.advance(ANSWERED, number)
