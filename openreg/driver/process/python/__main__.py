"""A device in a process of its own, in Python: the same wire and the same kernels as ../executor, to be read.

    OPENREG_DRIVER=process OPENREG_PROCESS=executor=python

Where the executor in C++ has the simulator inside, this one has threads and queues: one thread takes frames and never
waits for work, one thread a stream does the work. Read it from here: HELLO, then the loop, then what each frame does.
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import struct
import sys
import threading
import time
import weakref
from collections.abc import Callable

import wire
from device import Device, Stream, Work
from errors import Error, Refused
from kernels import Modules, launch
from memory import Memory
from wire import Frame, Garbled, Ring, Shared

SOCKET = 3
NO_EVENT = 2**32 - 1
WHERE_DEVICE, WHERE_PINNED = 0, 1


def read_options(text: str) -> dict[str, str]:
    """What concerns an executor of OPENREG_SIM, which the host has understood already; the size it has said itself."""
    options = dict(item.partition("=")[::2] for item in text.split(",") if item)
    if not options.get("memory", "0")[0].isdigit():
        raise ValueError(f"OPENREG_SIM has 'memory={options['memory']}'; expected a number")
    return options


class Pin:
    """Pages of the pinned range that are open. Copies that have not ended share it."""

    def __init__(self, size: int) -> None:
        """So many bytes."""
        self.size = size


class Graph:
    """Work that is launched as a whole."""

    def __init__(self) -> None:
        """Without a node."""
        self.works: list[Work] = []  # a node's each
        self.pinned: list[tuple[int, int]] = []  # which bytes of the pinned range they use: offsets and sizes
        self.was_launched = False

    def submit(self, work: Work, correlation: int = 0) -> None:
        """As for a stream, which would do it; launches have correlations of their own."""
        self.works.append(work)


# LITERALINCLUDE START: PYTHON EXECUTOR
def here_of(index: int) -> int:
    """Where a device's part of the board begins."""
    return wire.HOST_BYTES + index * wire.DEVICE_BYTES


class Executor:
    """An executor at work. `on_X` serves the frames of kind X and gets their fields; a request returns its answer."""

    def __init__(self, host: socket.socket, hello: tuple, files: list[int]) -> None:
        """Maps what the host has sent, and makes the device."""
        _, _, index, self.device_count, base, size, pinned, text = hello
        options = read_options(text.rstrip(b"\0").decode())
        self.host = host
        self.channel = Shared(files[0], wire.CHANNEL_BYTES)
        self.board = Shared(files[1], wire.BOARD_BYTES)
        self.pinned = Shared(files[3], pinned)
        self.device = Device(
            index, Memory(base, Shared(files[2], size), poison=options.get("check") == "1", owned=True)
        )
        self.modules = Modules(with_kernels=options.get("kernels") != "0")
        self.streams: dict[int, Stream] = {}
        self.graphs: dict[int, Graph] = {}
        self.ring = Ring(self.channel)
        self.grants: dict[int, int] = {}  # descriptors of memory that no frame has named yet, by address
        self.times: dict[int, tuple[int, int]] = {}  # of events: which version, when
        self.here = here_of(index)  # our part of the board
        self.board.protect_all_but(self.here, wire.DEVICE_BYTES)
        self.pinned.open(0, pinned, is_open=False)
        self.pins: dict[int, Pin] = {}  # what is open there, by offset
        self.passed: dict[int, int] = {}  # how far each stream has come, whatever the board says
        self.recording, self.recorded = threading.Lock(), 0  # how much work has been recorded

    def run(self) -> None:
        """Serves frames until the host is gone."""
        while True:
            frame = self.ring.next()
            if frame is None:
                self.rest()
            elif frame.kind == "module_load":  # It may take its time, and other frames do not wait for it.
                threading.Thread(target=self.answer_beside, args=[frame], daemon=True).start()
            elif frame.wants_answer:
                self.answer(frame)
            else:
                self.serve(frame)

    def serve(self, frame: Frame) -> bytes | None:
        """Does what a frame asks for."""
        return getattr(self, f"on_{frame.kind}")(*frame.fields)

    def answer(self, frame: Frame) -> None:
        """Serves a request, and writes the answer or why there is none."""
        error, data = 0, b""
        try:
            data = self.serve(frame) or b""
        except Refused as refusal:
            error, data = refusal.error, str(refusal).encode()[:1023] + b"\0"
        answer = wire.ANSWER.pack(wire.MAGIC, error, frame.number, len(data), 0, data)
        self.channel.bytes[wire.ANSWER_AT : wire.ANSWER_AT + len(answer)] = answer
        self.channel.advance(wire.ANSWERED, frame.number)

    def answer_beside(self, frame: Frame) -> None:
        """The same on a thread of its own."""
        try:
            self.answer(frame)
        except Exception as error:
            self.leave(error)

    def leave(self, error: Exception) -> None:
        """Ends, and says why."""
        at, words = self.here + wire.LAST_WORDS, str(error) if isinstance(error, Garbled) else repr(error)
        self.board.bytes[at : at + 500] = struct.pack("500s", words.encode()[:499])
        os._exit(3)

    def rest(self) -> None:
        """Sleeps until the doorbell rings."""
        self.channel.set(wire.REST, wire.ASLEEP)  # Before looking once more: one of us sees the other.
        if select.select([self.host], [], [], 0 if self.ring.ready() else None)[0]:
            self.take_message()
        self.channel.set(wire.REST, wire.AWAKE)

    def take_message(self) -> None:
        """The doorbell, a grant, or the end of the host."""
        data, files, _, _ = socket.recv_fds(self.host, 1024, 8)
        if not data:
            os._exit(0)  # Kernels may be running: nothing to clean up is worth waiting for them.
        if len(data) == wire.GRANT.size and len(files) == 1:
            self.grants[wire.GRANT.unpack(data)[2]] = files[0]

    # LITERALINCLUDE END: PYTHON EXECUTOR

    # LITERALINCLUDE START: PYTHON STREAM FRAMES
    def stream(self, number: int) -> Stream:
        """The stream of that number."""
        if number not in self.streams:
            raise Garbled(f"a frame names stream {number}, which does not exist")
        return self.streams[number]

    def on_stream_create(self, number: int, _priority: int) -> None:
        """A thread more."""
        if number in self.streams or number >= wire.MAX_STREAMS:
            raise Garbled(f"a frame creates stream {number}, which there is or cannot be")
        self.streams[number] = Stream(self.device, self.record)

    def on_stream_destroy(self, number: int, _: int) -> None:
        """What is queued is still done."""
        self.stream(number).close()
        del self.streams[number]

    def on_fence(self, number: int, event: int, value: int, version: int) -> None:
        """When the stream has come here, whoever waits for it may go on."""

        def work() -> None:
            if event != NO_EVENT and version > self.times.get(event, (0, 0))[0]:
                self.times[event] = version, time.monotonic_ns()
            self.tell_failure()
            self.passed[number] = value
            self.board.advance(self.here + wire.STREAMS + number * wire.FENCE.size, value)

        self.stream(number).submit(work, always=True)

    def tell_failure(self) -> None:
        """Writes to the board that the device has failed, if it has, before a fence lets anybody look there."""
        if self.device.failure is not None and not self.board.word(self.here + wire.FAILED):
            error, text = self.device.failure
            at = self.here + wire.ERROR
            self.board.bytes[at : at + 4 + 1024] = struct.pack("<i1024s", error, text.encode()[:1023])
            self.board.set(self.here + wire.FAILED, 1)

    def record(self, correlation: int, start: int, end: int) -> None:
        """Tells the host when a piece of work was done, before the fence behind it. Called by the streams' threads."""
        channel, half = self.channel, wire.RECORDS_ENTRIES // 2
        with self.recording:
            while self.recorded - channel.value(wire.RECORDS_TAKEN) >= wire.RECORDS_ENTRIES:
                self.host.send(b"\0")
                looks = iter([False])  # Sleeps once, and rings again.
                channel.wait(
                    wire.RECORDS_TAKEN,
                    self.recorded - half,
                    wire.RECORDS_SLEEPERS,
                    lambda looks=looks: next(looks, True),
                )
            at = wire.RECORDS + self.recorded % wire.RECORDS_ENTRIES * wire.TIMES.size
            wire.TIMES.pack_into(channel.bytes, at, correlation, start, end)
            self.recorded += 1
            channel.advance(wire.RECORDED, self.recorded)
            if self.recorded % half == 0 and self.recorded - channel.value(wire.RECORDS_TAKEN) >= half:
                self.host.send(b"\0")

    def on_wait(self, number: int, of_device: int, of_stream: int, of_host: int, value: int, correlation: int) -> None:
        """The stream stands until another one, of whichever device, or the host has come so far."""
        if not 0 <= of_device < self.device_count or of_stream >= wire.MAX_STREAMS or of_host > 1:
            raise Garbled(f"a frame waits for stream {of_stream} of device {of_device}, fence of kind {of_host}")
        board, lost = self.board, wire.LOST + 4 * of_device
        first, owner = here_of(of_device) + wire.STREAMS, of_device
        if of_host:
            first, owner = wire.HOST_STREAMS + of_device * wire.MAX_STREAMS * wire.FENCE.size, wire.MAX_DEVICES
        fence, sleepers = first + of_stream * wire.FENCE.size, self.here + wire.DEVICE_SLEEPERS + 4 * owner

        def work() -> None:
            board.wait(fence, value, sleepers, lambda: self.device.dropping.is_set() or board.word(lost) != 0)

        self.stream(number).submit(work, correlation=correlation)

    def on_nudge(self, number: int, _: int) -> None:
        """Somebody waits for the stream. Its thread never naps, so there is nothing to hurry.

        But what it waits for may have been: a word on the board that was spoilt holds nobody up for ever.
        """
        fence = self.here + wire.STREAMS + number * wire.FENCE.size
        if (passed := self.passed.get(number, 0)) > self.board.value(fence):
            self.board.advance(fence, passed)

    def on_event_time(self, event: int, _: int) -> bytes:
        """When an event's latest version was reached."""
        return struct.pack("<q", self.times.get(event, (0, 0))[1])

    def on_ping(self) -> None:
        """The answer says it all."""

    def on_quit(self) -> None:
        """Drops what is queued, waits for the running kernels, and ends. Meanwhile frames are served."""
        self.device.dropping.set()
        for stream in self.streams.values():
            stream.close()

        def end(streams: list[Stream]) -> None:
            for stream in streams:
                stream.thread.join()
            os._exit(0)

        threading.Thread(target=end, args=[list(self.streams.values())], daemon=True).start()

    def on_delay(self, kernel_ns: int, copy_ns: int) -> None:
        """Tests want it slower."""
        if kernel_ns < 0 or copy_ns < 0:
            raise Garbled("a frame names a delay below 0")
        self.device.kernel_delay, self.device.copy_delay = kernel_ns / 1e9, copy_ns / 1e9

    # LITERALINCLUDE END: PYTHON STREAM FRAMES

    # LITERALINCLUDE START: PYTHON MEMORY FRAMES
    def on_malloc(self, size: int) -> bytes:
        """New memory."""
        memory = self.device.memory
        address = memory.allocate(size)
        if address is None:
            has = f"device {self.device.index} has {memory.free} bytes free of {memory.bytes.size} in total"
            raise Refused(Error.MEMORY_ALLOCATION, f"argument 'size' is {size} bytes; {has}")
        return struct.pack("<Q", address)

    def on_free(self, address: int) -> None:
        """The host has waited for what uses it."""
        self.device.memory.release(address)

    def on_mem_info(self) -> bytes:
        """Free and in total."""
        return struct.pack("<QQ", self.device.memory.free, self.device.memory.bytes.size)

    def place(self, where: int, at: int, size: int) -> tuple[int | None, object]:
        """Where this process sees an end of a copy, and what must not go away meanwhile."""
        if where == WHERE_DEVICE:
            _, owner = self.device.owner(at)
            return (owner.find(at, size) if owner else None), owner
        pins = [] if where != WHERE_PINNED else self.pins.items()
        pin = next((pin for begin, pin in pins if begin <= at and at + size <= begin + pin.size), None)
        return (self.pinned.address + at if pin else None), pin

    def move(
        self, number: int, what: str, ends: list[tuple], size: int, change: Callable[..., object], correlation: int
    ) -> None:
        """Has the stream change memory; `ends` say where. It holds what must not go away until then."""
        target = self.target(number)
        if isinstance(target, Graph):
            self.add_move(target, what, ends, size, change)
            return
        places = [self.place(where, at, size) for where, at in ends]
        if any(address is None for address, _ in places):  # Freed since the host looked: by who still uses it.
            self.device.fail(Error.ILLEGAL_ADDRESS, f"a {what} of {size} bytes leaves its memory")
            return
        target.submit(lambda: self.change(change, places), correlation=correlation)

    def change(self, change: Callable[..., object], places: list[tuple]) -> bool:
        """Changes memory now. False if the device has failed before."""
        self.device.delay(self.device.copy_delay)
        if self.device.dropping.is_set():
            return False
        change(*(address for address, _ in places))
        return True

    def on_copy(
        self, number: int, to_where: int, from_where: int, _: int, to: int, from_: int, size: int, correlation: int
    ) -> None:
        """Moves bytes."""
        ends = [(to_where, to), (from_where, from_)]
        self.move(number, "copy", ends, size, lambda to, from_: ctypes.memmove(to, from_, size), correlation)

    def on_fill(self, number: int, value: int, address: int, size: int, correlation: int) -> None:
        """Writes one byte everywhere."""
        ends = [(WHERE_DEVICE, address)]
        self.move(number, "fill", ends, size, lambda to: ctypes.memset(to, value, size), correlation)

    def on_pin(self, offset: int, size: int) -> None:
        """Copies may name these pages of the pinned range. The others cannot even be read here."""
        if offset in self.pins and self.pins[offset].size == size:
            return  # Two threads of the host have each been the first.
        page, all_ = os.sysconf("SC_PAGESIZE"), self.pinned.size
        overlaps = any(offset < begin + pin.size and begin < offset + size for begin, pin in self.pins.items())
        if offset % page or size % page or not size or offset + size > all_ or overlaps:
            expected = "whole pages of the pinned range that are not pinned yet"
            raise Garbled(f"a frame pins {size} bytes at offset {offset}; expected {expected}")
        self.pinned.open(offset, size, is_open=True)
        self.pins[offset] = Pin(size)

    def on_unpin(self, offset: int, size: int) -> None:
        """They may not any more."""
        if offset not in self.pins or self.pins[offset].size != size:
            raise Garbled(f"a frame unpins offset {offset}, which is not pinned so")
        used = weakref.ref(self.pins.pop(offset))
        if used() is not None:  # A host waits for its copies first. To close the pages would end them, and us.
            raise Garbled(f"a frame unpins offset {offset}, which a copy uses")
        self.pinned.open(offset, size, is_open=False)

    def peer(self, index: int) -> int:
        """Checks the number of a device."""
        if not 0 <= index < self.device_count:
            raise Garbled(f"a frame names device {index} of {self.device_count}")
        if index == self.device.index:
            raise Garbled(f"a frame calls device {index}, which is this one, a peer")
        return index

    def on_peer_memory(self, index: int, _: int, base: int, size: int) -> None:
        """Another device's memory may be copied from and to. Its descriptor has come before, or is on its way."""
        file = self.granted(base, f"the memory of device {self.peer(index)}")
        others = [it for at, it in self.device.peers.items() if at != index] + [self.device.memory]
        known = any(it.base < base + size and base < it.base + it.bytes.size for it in others)
        if known or size != self.device.memory.bytes.size or base + size > 2**64:
            raise Garbled(f"a frame names the memory of device {index} at addresses it cannot have")
        self.device.peers[index] = Memory(base, Shared(file, size))

    def granted(self, address: int, what: str) -> int:
        """The descriptor that was sent for an address."""
        while address not in self.grants:
            if not select.select([self.host], [], [], 0)[0]:
                raise Garbled(f"a frame names {what}, which was not granted")
            self.take_message()
        return self.grants.pop(address)

    def on_open_memory(self, index: int, _: int, address: int, size: int, offset: int) -> None:
        """Memory of another process has these addresses."""
        file = self.granted(address, "memory of another process")
        if any(it.covers(address) or address <= it.base < address + size for _, it in self.device.memories()):
            raise Garbled(f"a frame opens {size} bytes of another process at addresses they cannot have")
        memory = Memory(address, Shared(file, size, offset))
        memory.note(address, size)
        self.device.opened[address] = index, memory

    def on_close_memory(self, index: int, _: int, address: int, size: int) -> None:
        """It has them no longer."""
        if size or self.device.opened.get(address, (None,))[0] != index:
            raise Garbled("a frame closes memory of another process that is not open")
        del self.device.opened[address]

    def on_peer_block(self, index: int, _: int, address: int, size: int) -> None:
        """An allocation there has begun or ended."""
        memory = self.device.peers.get(self.peer(index))
        if memory and size:
            if not memory.fits(address, size):
                raise Garbled(f"a frame says that device {index} has allocated {size} bytes where they cannot be")
            memory.note(address, size)
        elif memory:
            memory.release(address)

    def on_peer_forget(self, index: int, _: int) -> None:
        """That memory is gone."""
        self.device.peers.pop(self.peer(index), None)
        self.device.opened = {at: it for at, it in self.device.opened.items() if it[0] != index}

    def on_peer_enable(self, index: int, _: int) -> None:
        """Kernels may use it, too."""
        self.device.accessible.add(self.peer(index))

    def on_peer_disable(self, index: int, _: int) -> None:
        """They may not any more."""
        self.device.accessible.discard(self.peer(index))

    # LITERALINCLUDE END: PYTHON MEMORY FRAMES

    # LITERALINCLUDE START: PYTHON KERNEL FRAMES
    def text(self, data: bytes) -> str:
        """A text with its final zero."""
        if not data.endswith(b"\0"):
            raise Garbled(f"frame {self.ring.number} has a text without an end")
        return data.rstrip(b"\0").decode(errors="surrogateescape")

    def on_module_load(self, name: bytes) -> bytes:
        """A module's handle. First comes the path, then what the program calls it."""
        path, _, said = self.text(name).partition("\0")
        return struct.pack("<Q", self.modules.load(path, said))

    def on_module_kernel(self, module: int, name: bytes) -> bytes:
        """A kernel's handle, and the fewest argument bytes."""
        return struct.pack("<QQ", *self.modules.find(module, self.text(name)))

    def on_launch(
        self, number: int, args_size: int, pointer_count: int, kernel: int, correlation: int, data: bytes
    ) -> None:
        """A kernel, with the descriptors of its pointers and its arguments."""
        descriptors = pointer_count * wire.POINTER.size
        if len(data) != descriptors + args_size:
            expected = descriptors + args_size
            frame = f"frame {self.ring.number} launches with {len(data)} bytes of descriptors and arguments"
            raise Garbled(f"{frame}; expected {expected}")
        places = [offset for offset, *_ in wire.POINTER.iter_unpack(data[:descriptors])]
        if any(offset % 8 or offset + 8 > args_size for offset in places):
            raise Garbled(f"frame {self.ring.number} launches with pointers that do not lie in its arguments")
        target = self.target(number)
        if not 0 < kernel <= len(self.modules.kernels):
            self.device.fail(Error.INVALID_HANDLE, f"kernel {kernel} was launched, which does not exist")
            return
        found = self.modules.kernels[kernel - 1]
        args, pointers = data[descriptors:], data[:descriptors]
        target.submit(lambda: launch(self.device, found, args, pointers), correlation=correlation)

    # LITERALINCLUDE END: PYTHON KERNEL FRAMES

    # LITERALINCLUDE START: PYTHON GRAPH FRAMES
    def target(self, number: int) -> Stream | Graph:
        """Who gets a frame's work: a stream does it, a graph remembers it."""
        if not number & wire.GRAPH:
            return self.stream(number)
        graph = self.graphs.get(number & ~wire.GRAPH)
        if graph is None or graph.was_launched:
            wrong = "which does not exist or was launched already"
            raise Garbled(f"a frame adds to graph {number & ~wire.GRAPH}, {wrong}")
        return graph

    def on_graph_create(self, number: int, _: int) -> None:
        """An empty one."""
        if number >= wire.GRAPH or number in self.graphs:
            raise Garbled(f"a frame creates graph {number}, which there is or cannot be")
        self.graphs[number] = Graph()

    def add_move(self, graph: Graph, what: str, ends: list[tuple], size: int, change: Callable[..., object]) -> None:
        """Adds a change of memory. That of the device is looked up when its turn comes, as it may have been freed."""
        pinned = [(at, size) for where, at in ends if where == WHERE_PINNED]
        if any(at + size > self.pinned.size for at, _ in pinned):
            raise Garbled(f"a frame names {size} bytes beyond the pinned range")

        def found(where: int, at: int) -> tuple[int | None, object]:
            return (self.pinned.address + at, None) if where == WHERE_PINNED else self.place(where, at, size)

        def work() -> bool:
            places = [found(where, at) for where, at in ends]
            if any(address is None for address, _ in places):
                uses = f"on device {self.device.index} uses memory that was freed after the capture"
                said = f"a graph's {what} of {size} bytes {uses}; expected it to stay allocated"
                self.device.fail(Error.ILLEGAL_ADDRESS, said)
                return False
            return self.change(change, places)

        graph.pinned += pinned
        graph.submit(work)

    def on_graph_launch(self, number: int, graph: int, correlation: int) -> None:
        """All its nodes in their order, as one piece of work, which holds the pinned memory that they use."""
        if graph not in self.graphs:
            raise Garbled(f"a frame launches graph {graph}, which does not exist")
        it = self.graphs[graph]
        it.was_launched = True
        places = [self.place(WHERE_PINNED, at, size) for at, size in it.pinned]
        if gone := [size for (_, size), (_, pin) in zip(it.pinned, places, strict=True) if pin is None]:
            self.device.fail(Error.ILLEGAL_ADDRESS, f"a graph's copy of {gone[0]} bytes leaves its memory")
            return
        self.stream(number).submit(*it.works, correlation=correlation, held=places)

    def on_graph_destroy(self, number: int, _: int) -> None:
        """What is queued still runs."""
        if number not in self.graphs:
            raise Garbled(f"a frame destroys graph {number}, which does not exist")
        del self.graphs[number]

    # LITERALINCLUDE END: PYTHON GRAPH FRAMES


# LITERALINCLUDE START: PYTHON HELLO
def greet(host: socket.socket) -> Executor:
    """Answers the host's Hello: with our version, or with why we cannot serve."""
    data, files, _, _ = socket.recv_fds(host, 1024, 8)
    if not data:
        sys.exit(0)
    refusal = ""
    if len(data) != wire.HELLO.size or wire.HELLO.unpack(data)[0] != wire.MAGIC or len(files) != 4:
        said = f"Hello has {len(data)} bytes and {len(files)} descriptors"
        refusal = f"{said}; expected {wire.HELLO.size} with the magic number, and 4"
    elif (version := wire.HELLO.unpack(data)[1]) != wire.VERSION:
        refusal = f"the host speaks version {version} of the protocol; expected {wire.VERSION}"
    executor = None
    try:
        executor = None if refusal else Executor(host, wire.HELLO.unpack(data), files)
    except (OSError, ValueError) as error:
        refusal = str(error)
    error = Error.DRIVER if refusal else 0
    host.send(wire.WELCOME.pack(wire.MAGIC, wire.VERSION, error, refusal.encode()[:507]))
    return executor or sys.exit(1)


def main() -> None:
    """Serves the process that has started this one, and ends with it."""
    if len(sys.argv) < 2:
        sys.exit("this executor is started by OPENREG_DRIVER=process, with a socket as descriptor 3")
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: if the parent dies, so do we …
    if os.getppid() != int(sys.argv[1]):
        sys.exit(0)  # … and if it has died before that took effect, too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # What Ctrl-C means for us is for the parent to say.
    os.closerange(SOCKET + 1, os.sysconf("SC_OPEN_MAX"))
    executor = greet(socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, fileno=SOCKET))
    try:
        executor.run()
    except Exception as error:  # Garbled, as a rule.
        executor.leave(error)


# LITERALINCLUDE END: PYTHON HELLO


if __name__ == "__main__":
    main()
