"""The wire of the driver "process" (openreg/driver/process/wire) in Python: either end of it, for tests.

A test takes the host's place to see what an executor does with frames that no host would send; a program that a test
starts as an executor takes that one's place. Fake executors import this module, so it needs nothing of pytest.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

MAGIC = 0x4652524F
VERSION = 1
HELLO = struct.Struct("<IIiiQQQ512s")
WELCOME = struct.Struct("<IIi508s")
HEADER = struct.Struct("<IHHIIQq")
ANSWER = struct.Struct("<IiQII1024s")
FENCE = struct.Struct("<QIIiI8x")

KINDS = ["gap", "ping", "quit", "stream_create", "stream_destroy", "fence", "wait", "nudge", "malloc", "free"]
KINDS += ["mem_info", "copy", "fill", "module_load", "module_kernel", "launch", "event_time", "peer_memory"]
KINDS += ["peer_forget", "peer_block", "peer_enable", "peer_disable", "gate", "delay"]
WANTS_ANSWER = 1

# Where things lie in a channel (channel.h).
RING_BYTES = 1 << 20
WRITTEN, REST, TAKEN, RING = 0, 12, 64, 128
ANSWERED = RING + RING_BYTES
ANSWER_AT = ANSWERED + FENCE.size
STAGING = (ANSWER_AT + ANSWER.size + 4095) // 4096 * 4096
STAGING_BYTES = 16 << 20
CHANNEL_BYTES = STAGING + STAGING_BYTES

# And on the board (board.h): a device has its state, its last words, and two fences for each of 1,024 streams.
LOST, FAILED, LAST_WORDS, STREAMS = 0, 4, 12 + 1024, 1536
DEVICE_BYTES = STREAMS + 1024 * 2 * FENCE.size
GATE_BYTES = FENCE.size + 16 * 4
BOARD_BYTES = 16 * DEVICE_BYTES + 4096 * GATE_BYTES

_libc = ctypes.CDLL(None, use_errno=True)
_SYS_FUTEX = 202 if os.uname().machine == "x86_64" else 98


def memory(name: str, size: int) -> tuple[int, mmap.mmap]:
    """Shared memory without a name: its descriptor and a view."""
    descriptor = os.memfd_create(name)
    os.ftruncate(descriptor, size)
    return descriptor, mmap.mmap(descriptor, size)


def wake(view: mmap.mmap, offset: int) -> None:
    """Wakes who sleeps on a word."""
    word = ctypes.byref(ctypes.c_uint32.from_buffer(view, offset))
    _libc.syscall(_SYS_FUTEX, word, 1, 2**31 - 1, None, None, 0)


def advance(view: mmap.mmap, fence: int, value: int) -> None:
    """Makes a fence's value at least so much, and wakes those who wait."""
    struct.pack_into("<Q", view, fence, value)
    (wakes,) = struct.unpack_from("<I", view, fence + 8)
    struct.pack_into("<I", view, fence + 8, (wakes + 1) % 2**32)
    wake(view, fence + 8)


def frame(kind: int, number: int, payload: bytes = b"", flags: int = 0, deadline: int = 0, **wrong: int) -> bytes:
    """A frame; `wrong` replaces fields of its header."""
    size = (HEADER.size + len(payload) + 31) // 32 * 32
    fields = {"magic": MAGIC, "kind": kind, "flags": flags, "bytes": size, "size": len(payload), "number": number}
    fields |= {"deadline": deadline} | wrong
    return (HEADER.pack(*fields.values()) + payload).ljust(size, b"\0")


class Host:
    """The host's end: an executor process, and frames for it."""

    def __init__(self, program: Path, hello: bytes | None = None, descriptors: int = 4) -> None:
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        start = f"os.execv({str(program)!r}, [{str(program)!r}, str(os.getppid())])"
        script = f"import os; os.dup2({theirs.fileno()}, 3); {start}"
        self.process = subprocess.Popen([sys.executable, "-c", script], pass_fds=[theirs.fileno()])
        theirs.close()
        sizes = {"channel": CHANNEL_BYTES, "board": BOARD_BYTES, "memory": 1 << 20, "pinned": 1 << 20}
        files, views = zip(*(memory(name, size) for name, size in sizes.items()), strict=True)
        self.channel, self.board = views[0], views[1]
        self.written = self.number = 0
        hello = hello or HELLO.pack(MAGIC, VERSION, 0, 2, 1 << 44, 1 << 20, 1 << 20, b"memory=1MiB")
        socket.send_fds(self.socket, [hello], files[:descriptors])
        for file in files:
            os.close(file)
        self.welcome = WELCOME.unpack(self.socket.recv(1024).ljust(WELCOME.size, b"\0"))

    def put(self, data: bytes) -> None:
        """Bytes for the ring, and the doorbell."""
        self.channel[RING + self.written : RING + self.written + len(data)] = data
        self.written += len(data)
        struct.pack_into("<Q", self.channel, WRITTEN, self.written)
        self.socket.send(b"\0")

    def post(self, kind: str, payload: bytes = b"", **header: int) -> int:
        """A frame of that kind; its number."""
        self.number += 1
        self.put(frame(KINDS.index(kind), self.number, payload, **header))
        return self.number

    def answer(self) -> tuple[int, int, bytes]:
        """Number, error and payload of the last answer."""
        _, error, number, size, _, data = ANSWER.unpack_from(self.channel, ANSWER_AT)
        return number, error, data[:size]

    def last_words(self) -> str:
        """What the executor has said before it left."""
        return bytes(self.board[LAST_WORDS : LAST_WORDS + 500]).split(b"\0")[0].decode()

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
        self.channel = mmap.mmap(files[0], CHANNEL_BYTES)
        self.taken = 0

    def welcome(self, version: int = VERSION, error: int = 0, text: bytes = b"") -> None:
        """Answers Hello."""
        self.socket.send(WELCOME.pack(MAGIC, version, error, text))

    def next_request(self) -> tuple[int, int]:
        """Kind and number of the next frame that wants an answer; others are passed over."""
        while True:
            (written,) = struct.unpack_from("<Q", self.channel, WRITTEN)
            if written == self.taken:
                struct.pack_into("<I", self.channel, REST, 2)
                if struct.unpack_from("<Q", self.channel, WRITTEN)[0] == written and not self.socket.recv(1024):
                    sys.exit(0)
                continue
            _, kind, flags, size, _, number, _ = HEADER.unpack_from(self.channel, RING + self.taken % RING_BYTES)
            self.taken += size
            advance(self.channel, TAKEN, self.taken)
            if flags & WANTS_ANSWER:
                return kind, number

    def answer(self, number: int, error: int = 0, payload: bytes = b"", magic: int = MAGIC, size: int = -1) -> None:
        """Answers a request."""
        size = len(payload) if size < 0 else size
        ANSWER.pack_into(self.channel, ANSWER_AT, magic, error, number, size, 0, payload)
        advance(self.channel, ANSWERED, number)
