"""The wire of the driver "process" (../wire) in Python: its numbers and structures, shared memory, frames.

The executor beside this file speaks it; the tests take the place of either end with it.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from collections.abc import Callable
from typing import NamedTuple

# LITERALINCLUDE START: PYTHON FORMATS
MAGIC = 0x4652524F
VERSION = 6
HELLO = struct.Struct("<IIiiQQQ512s")
WELCOME = struct.Struct("<IIi508s")
GRANT = struct.Struct("<IIQ")
HEADER = struct.Struct("<IHHIIQQ")
ANSWER = struct.Struct("<IiQII1024s")
FENCE = struct.Struct("<QIi")  # value, wakes, cpu
POINTER = struct.Struct("<IIqQ")  # orPointerArg
TIMES = struct.Struct("<Qqq")  # correlation, start, end
WANTS_ANSWER = 1
MAX_FRAME_BYTES = 16384

# Kinds of frames by number, and what each carries: its fixed part, and whether bytes of any number follow.
PAYLOADS = {
    "gap": ("", True),
    "ping": ("", False),
    "quit": ("", False),
    "stream_create": ("Ii", False),
    "stream_destroy": ("Ii", False),
    "fence": ("IIQQ", False),
    "wait": ("IiIIQQ", False),
    "nudge": ("Ii", False),
    "malloc": ("Q", False),
    "free": ("Q", False),
    "mem_info": ("", False),
    "copy": ("IIIIQQQQ", False),
    "fill": ("IiQQQ", False),
    "module_load": ("", True),
    "module_kernel": ("Q", True),
    "launch": ("IHHQQ", True),
    "event_time": ("II", False),
    "peer_memory": ("iIQQ", False),
    "peer_forget": ("iI", False),
    "peer_block": ("iIQQ", False),
    "peer_enable": ("iI", False),
    "peer_disable": ("iI", False),
    "delay": ("qq", False),
    "pin": ("QQ", False),
    "unpin": ("QQ", False),
    "open_memory": ("iIQQQ", False),
    "close_memory": ("iIQQ", False),
    "graph_create": ("II", False),
    "graph_launch": ("IIQ", False),
    "graph_destroy": ("II", False),
}
REQUESTS = {"ping", "malloc", "mem_info", "module_load", "module_kernel", "event_time", "open_memory"}
KINDS = list(PAYLOADS)
GRAPH = 1 << 31  # in place of a stream: the graph of that number

# Where things lie in a channel (channel.h).
RING_BYTES = 1 << 20
WRITTEN, REST, SLEEPERS, TAKEN, RING = 0, 12, 16, 64, 128
AWAKE, ASLEEP = 0, 2
ANSWERED = RING + RING_BYTES
ANSWER_AT = ANSWERED + FENCE.size
RECORDED = (ANSWER_AT + ANSWER.size + 63) // 64 * 64
RECORDS_SLEEPERS, RECORDS_TAKEN, RECORDS, RECORDS_ENTRIES = RECORDED + 16, RECORDED + 64, RECORDED + 128, 8192
CHANNEL_BYTES = RECORDS + RECORDS_ENTRIES * TIMES.size

# And on the board (board.h): first what the host says, then each device's part.
MAX_STREAMS, MAX_DEVICES = 1024, 16
LOST, HOST_STREAMS, HOST_BYTES = 4, 144, 5 * 65536
FAILED, ERROR, TEXT, LAST_WORDS, DEVICE_SLEEPERS = 0, 4, 8, 8 + 1024, 8 + 1024 + 500
STREAMS, DEVICE_BYTES = 1600, 65536
BOARD_BYTES = HOST_BYTES + MAX_DEVICES * DEVICE_BYTES
# LITERALINCLUDE END: PYTHON FORMATS

_SYS_FUTEX = 202 if os.uname().machine == "x86_64" else 98
_FUTEX_WAIT, _FUTEX_WAKE_OP = 0, 5
_SET, _ADD = 0, 1
_NS_PER_SECOND = 1_000_000_000
_libc = ctypes.CDLL(None, use_errno=True)
_mprotect = _libc.mprotect
_mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_futex = _libc.syscall
_futex.argtypes = [ctypes.c_long, ctypes.c_void_p, *(2 * [ctypes.c_long]), *(2 * [ctypes.c_void_p]), ctypes.c_long]


# LITERALINCLUDE START: PYTHON SHARED MEMORY
class Shared:
    """Memory that other processes see, too: bytes, words that are read and written whole, and fences in it.

    Python has no atomic operations. The kernel has: a futex call that changes a word and wakes who sleeps on it, in one
    step, with everything written before visible to whoever sees the change.
    """

    def __init__(self, file: int, size: int, offset: int = 0) -> None:
        """Maps a part of it; closes the descriptor."""
        self.bytes = mmap.mmap(file, size, offset=offset)
        os.close(file)
        self.size = size
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.bytes))
        self._u64 = memoryview(self.bytes)[: size // 8 * 8].cast("Q")
        self._u32 = memoryview(self.bytes)[: size // 4 * 4].cast("I")

    def protect_all_but(self, offset: int, size: int) -> None:
        """From now on only these bytes, whole pages, can be written to."""
        for begin, end in ((0, offset), (offset + size, self.size)):
            if end > begin and _mprotect(self.address + begin, end - begin, mmap.PROT_READ) != 0:
                raise OSError(ctypes.get_errno(), "shared memory cannot be protected")

    def open(self, offset: int, size: int, is_open: bool) -> None:
        """Whether these bytes, whole pages, can be read and written to."""
        access = mmap.PROT_READ | mmap.PROT_WRITE if is_open else 0
        if _mprotect(self.address + offset, size, access) != 0:
            raise OSError(ctypes.get_errno(), "shared memory cannot be protected")

    def value(self, offset: int) -> int:
        """A word of 64 bits."""
        return self._u64[offset // 8]

    def write(self, offset: int, value: int) -> None:
        """Writes a word of 64 bits."""
        self._u64[offset // 8] = value

    def word(self, offset: int) -> int:
        """A word of 32 bits."""
        return self._u32[offset // 4]

    def _change(self, offset: int, operation: int, operand: int) -> None:
        word = self.address + offset
        code = operation << 28 | (operand & 0xFFF) << 12
        _futex(_SYS_FUTEX, word, _FUTEX_WAKE_OP, 2**31 - 1, None, word, code)

    def set(self, offset: int, small: int) -> None:
        """Writes a word of 32 bits."""
        self._change(offset, _SET, small)

    def add(self, offset: int, small: int) -> None:
        """Adds to a word of 32 bits."""
        self._change(offset, _ADD, small)

    def advance(self, fence: int, value: int) -> None:
        """Gives a fence its next value, unless it is further, and wakes those who wait."""
        self.write(fence, max(value, self.value(fence)))
        self.add(fence + 8, 1)

    def wait(self, fence: int, value: int, sleepers: int, released: Callable[[], bool]) -> bool:
        """Sleeps until a fence has that value, which is True, or `released()`, asked every 5 ms, which is False.

        `sleepers` is where this side counts those of its threads who sleep: who advances the fence looks there.
        """
        timeout = (ctypes.c_long * 2)(0, 5_000_000)
        self.add(sleepers, 1)
        try:
            while True:
                wakes = self.word(fence + 8)
                if self.value(fence) >= value:
                    return True
                if released():
                    return False
                _futex(_SYS_FUTEX, self.address + fence + 8, _FUTEX_WAIT, wakes, ctypes.addressof(timeout), None, 0)
        finally:
            self.add(sleepers, -1)


# LITERALINCLUDE END: PYTHON SHARED MEMORY


# LITERALINCLUDE START: PYTHON FRAMES
class Garbled(Exception):
    """A frame that no host would send: nothing that follows can be trusted."""


class Frame(NamedTuple):
    """A frame: its kind's name, header, and payload in parts; what follows the fixed part comes last, as bytes."""

    kind: str
    number: int
    wants_answer: bool
    fields: tuple


class Ring:
    """The executor's end of the ring of frames."""

    def __init__(self, channel: Shared) -> None:
        """Starts at the first frame."""
        self.channel, self.taken, self.number = channel, 0, 0

    def ready(self) -> bool:
        """Whether there are frames."""
        return self.channel.value(WRITTEN) != self.taken

    def next(self) -> Frame | None:
        """The next frame, whose place in the ring is given back at once; None if there is none."""
        while self.ready():
            offset = self.taken % RING_BYTES
            readable = min(self.channel.value(WRITTEN) - self.taken, RING_BYTES - offset)
            self.number += 1
            header = HEADER.unpack_from(self.channel.bytes, RING + offset)
            self.check(*header, readable=readable)
            _, code, flags, size, payload, number, _ = header
            start = RING + offset + HEADER.size
            data = self.channel.bytes[start : start + payload]
            self.taken += size
            self.channel.advance(TAKEN, self.taken)
            if kind := KINDS[code] if code else "":
                return Frame(kind, number, bool(flags & WANTS_ANSWER), self.parts(code, data))
        return None

    def check(
        self, magic: int, code: int, flags: int, size: int, payload: int, number: int, _reserved: int, readable: int
    ) -> None:
        """Raises Garbled if a header cannot be one."""
        if magic != MAGIC:
            wrong = f"its magic number is {magic}; expected {MAGIC}"
        elif number != self.number:
            wrong = f"it is numbered {number}"
        elif code >= len(KINDS):
            wrong = f"its kind is {code}; expected less than {len(KINDS)}"
        elif size < HEADER.size or size % 32 or size > readable or (code and size > MAX_FRAME_BYTES):
            wrong = f"it has {size} bytes, of which {readable} are there"
        elif payload > size - HEADER.size or (code and size - HEADER.size - payload >= 32):
            wrong = f"its payload has {payload} bytes, the frame {size}"
        elif flags != (WANTS_ANSWER if KINDS[code] in REQUESTS else 0):
            wrong = f"it is of kind {code} and has the flags {flags}"
        else:
            return
        raise Garbled(f"frame {self.number} is garbled: {wrong}")

    def parts(self, code: int, data: bytes) -> tuple:
        """A payload's fields, and what follows them."""
        form, more = PAYLOADS[KINDS[code]]
        fixed = struct.calcsize("<" + form)
        if len(data) < fixed or (len(data) > fixed and not more):
            expected = f"{'at least ' if more else ''}{fixed}"
            raise Garbled(f"frame {self.number} of kind {code} has {len(data)} bytes of payload; expected {expected}")
        return struct.unpack("<" + form, data[:fixed]) + ((data[fixed:],) if more else ())


# LITERALINCLUDE END: PYTHON FRAMES
