"""The library as the tests use it: loaded through its own header, with short ways to make things and to wait.

Child processes import this module too, so it needs nothing of pytest.
"""

from __future__ import annotations

import importlib
import os
import re
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from . import gates, header

# A gate that nobody opens lets its streams go after this long, so that a fault cannot hang the tests.
DEADLINE = 30.0
# How long a call that must block is watched. Too short a time could only overlook a fault, never report one.
WATCH = 0.05
# Seconds for a call that must not wait for a closed gate: far more than it takes, far less than the gate's deadline.
AT_ONCE = 5.0

READ, WRITE = 1, 2


class Failure(AssertionError):
    """A call did not return what it had to."""


class NotOfThisDriver(Exception):
    """The driver under test lacks what a test needs; a complete driver never does."""


# The driver that serves where OPENREG_DRIVER says nothing.
DEFAULT_DRIVER = "sim"
# Drivers that must not lack anything but what the contract itself calls optional.
COMPLETE = ("sim", "process", "process-python")
# What a test says that needs two devices and finds one.
NO_SECOND = "there is no device 1"


def is_complete() -> bool:
    """Whether the driver under test is one of those."""
    return (os.environ.get("OPENREG_DRIVER") or DEFAULT_DRIVER) in COMPLETE


class Call:
    """A call in a thread of its own, for calls that are expected to block."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._result: Any = None
        self._error: BaseException | None = None
        self._started = threading.Event()

        def run() -> None:
            self._started.set()
            try:
                self._result = function()
            except BaseException as error:
                self._error = error

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        self._started.wait()

    def blocks(self) -> bool:
        """True if the call has not returned after a moment. What it has raised by then is raised here."""
        self._thread.join(WATCH)
        if self._error is not None:
            raise self._error
        return self._thread.is_alive()

    def result(self, timeout: float = DEADLINE) -> Any:
        """What the call returned; it must return by itself."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise Failure(f"the call has not returned after {timeout} s")
        if self._error is not None:
            raise self._error
        return self._result


class Gate:
    """A function of the host that stands in streams until it is let go; as a context it is opened at the end."""

    def __init__(self, api: OpenReg, name: str, deadline: float) -> None:
        self.api, self.name, self.deadline = api, name, deadline
        self.handle = gates.functions().gateCreate(name.encode(), deadline)
        self._open = self._told = False
        self._streams: list[Any] = []

    def close(self, *streams: Any) -> Gate:
        """Puts the gate on the streams."""
        for stream in streams:
            self.api.ok(self.stand(stream))
        return self

    def stand(self, stream: Any) -> int:
        """The same for one stream; returns the error. A gate that is open holds nobody."""
        if self._open:
            return 0
        self._streams.append(stream)
        function = self.api.ffi.cast("orHostFn_t", gates.address("gateStand"))
        return self.api.lib.orLaunchHostFunc(stream, function, self.api.pointer(self.handle))

    def open(self) -> None:
        """Lets everybody through."""
        self._open = True
        gates.functions().gateOpen(self.handle)

    @property
    def is_closed(self) -> bool:
        """Whether a stream has to wait for it."""
        return bool(self._streams) and not self._open

    @property
    def waiting(self) -> int:
        """How many streams stand at the gate."""
        return gates.functions().gateWaiting(self.handle)

    def wait_for(self, streams: int = 1) -> None:
        """Returns once so many streams stand at the gate."""
        wait_until(lambda: self.waiting == streams, f"{streams} streams stand at the gate")

    def destroy(self) -> None:
        """Opens the gate for good; fails if its deadline has been faster."""
        self._open = True
        gates.functions().gateDestroy(self.handle)
        if gates.functions().gateIsLate(self.handle) and not self._told:
            self._told = True
            raise Failure(f"gate '{self.name}' was not opened within its deadline of {self.deadline:g} s")

    def stands_on(self, device: int) -> bool:
        """Whether it is closed on a stream of a device."""
        found = self.api.ffi.new("int*")
        of_device = (self.api.lib.orStreamGetDevice(it, found) != 0 or found[0] == device for it in self._streams)
        return not self._open and any(of_device)

    def is_forgotten(self) -> bool:
        """Whether a reset has taken back all its streams, and dropped what is behind it."""
        invalid = self.api.errors["orErrorInvalidHandle"]
        return all(self.api.lib.orStreamQuery(stream) == invalid for stream in self._streams)

    def __enter__(self) -> Gate:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.destroy()


def wait_until(condition: Callable[[], bool], what: str, seconds: float = DEADLINE) -> None:
    """Polls until something that must happen has happened."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failure(f"still not true after {seconds} s: {what}")
        time.sleep(0.0005)


def in_forked_child(function: Callable[[], Any]) -> None:
    """Forks, calls the function in the child, and fails if that failed."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        raise Failure(f"the forked child ended with {status}")


@dataclass(frozen=True)
class Record:
    """An orActivityRecord, and the thread on which it came."""

    kind: str
    device: int
    stream: int
    correlation: int
    start: int
    end: int
    name: str
    bytes: int
    direction: str
    host: str
    peer: int
    address: int
    thread: int


class Listener:
    """A subscription that keeps all records. As a context it ends with it."""

    def __init__(self, api: OpenReg, during: Callable[[Record], None] | None = None) -> None:
        """`during` is called for each record, as the subscriber's function."""
        self.api, self.records = api, list[Record]()
        self.size = 0
        self._during = during
        ffi, lib = api.ffi, api.lib
        kinds, directions, hosts = (
            {value: name.removeprefix(prefix) for value, name in ffi.typeof(of).elements.items()}
            for of, prefix in (
                ("orActivityKind", "orActivity"), ("orMemcpyKind", "orMemcpy"), ("orMemoryType", "orMemoryType")
            )
        )  # fmt: skip

        def receive(it: Any, _: Any) -> None:
            self.size = it.size
            record = Record(
                kinds[it.kind], it.device, api.address(it.stream), it.correlation, it.startNs, it.endNs,
                ffi.string(it.name).decode(), it.bytes, directions[it.direction], hosts[it.host], it.peer,
                api.address(it.address), threading.get_ident(),
            )  # fmt: skip
            self.records.append(record)
            if self._during is not None:
                self._during(record)

        self._function = ffi.callback("orActivityFn_t", receive)
        out = ffi.new("orSubscriber_t*")
        api.ok(lib.orActivitySubscribe(out, self._function, ffi.NULL))
        self.handle = api.note_subscriber(out[0])

    def end(self) -> None:
        """No more records."""
        self.api.ok(self.api.lib.orActivityUnsubscribe(self.handle))
        self.api.forget_subscriber(self.handle)

    def of(self, *kinds: str) -> list[Record]:
        """The records of those kinds, in the order in which they came."""
        return [it for it in self.records if it.kind in kinds]

    @property
    def work(self) -> list[Record]:
        """What devices have done, and not what was called."""
        return self.of("Kernel", "Memcpy", "Memset", "Wait", "HostFunction")

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.api.is_subscribed(self.handle):
            self.end()


class PartialLibrary:
    """The library with a driver that may lack something.

    Where it can't queue copies, they would wait behind a closed gate. And a library without the simulator has none of
    its controls.
    """

    def __init__(self, api: OpenReg, lib: Any) -> None:
        self._api, self._lib = api, lib

    def __getattr__(self, name: str) -> Any:
        """A function or constant of the library."""
        if name in ("orMemcpyAsync", "orMemcpyPeerAsync") and self._api.stands_at_a_gate():
            properties = self._api.ffi.new("orDeviceProp*")
            if self._lib.orGetDeviceProperties(properties, 0) == 0 and properties.synchronousCopies:
                raise NotOfThisDriver("copies are synchronous")
        unknown = getattr(self._api.ffi, "error", AttributeError)  # in a child process the headers are compiled
        try:
            return getattr(self._lib, name)
        except unknown as error:
            if name.startswith("orSim"):
                raise NotOfThisDriver("the simulator's controls are not there") from error
            raise


class OpenReg:
    """libopenreg.so behind its header, with errors turned into exceptions where a test wants no error."""

    def __init__(self, path: str, ffi: Any) -> None:
        self.path = path
        self.ffi = ffi
        lib = self.ffi.dlopen(path)
        self.lib: Any = lib if is_complete() else PartialLibrary(self, lib)
        self.errors: dict[str, int] = dict(self.ffi.typeof("orError_t").relements)
        self.probe_path = os.environ.get("OPENREG_TEST_PROBE", "")
        self.missing: list[str] = []  # what the driver has said it lacks, in this test
        self.was_stopped = False  # whether this test was, for want of something, before it could give back what it has
        self._gates: list[Gate] = []
        self._buffers: dict[int, int] = {}
        self._pinned: list[int] = []
        self._kernels: dict[tuple[int, str, str], Any] = {}
        self._alive: list[Any] = []
        self._subscribers: list[Any] = []
        self._leaked: dict[int, int] = {}  # by device, what an earlier test has left and nothing could give back

    # -------------------------------------------------------------------------------------------------------- errors

    def name(self, error: int) -> str:
        """The enumerator's name, from the header and not from the library."""
        return {value: name for name, value in self.errors.items()}.get(error, f"unknown error {error}")

    def message(self) -> str:
        """Text of the calling thread's last error."""
        return self.ffi.string(self.lib.orGetLastErrorMessage()).decode()

    def _refuse_missing(self, error: int) -> None:
        if is_complete():
            return
        if error == self.errors["orErrorNotImplemented"]:
            raise NotOfThisDriver(self.message())
        if error == self.errors["orErrorInvalidDevice"] and "is 1; expected a device index in [0, 1)" in self.message():
            raise NotOfThisDriver(NO_SECOND)

    def ok(self, error: int) -> None:
        """Raises unless the call succeeded."""
        if error != 0:
            self._refuse_missing(error)
            raise Failure(f"{self.name(error)}: {self.message()}")

    def check(self, error: int, code: str, *text: str) -> str:
        """Asserts the code a call returned and what the message says; each text is a regular expression."""
        got = self.name(error)
        if self.name(error) != code:
            self._refuse_missing(error)
        message = self.message() if error not in (0, self.errors["orErrorNotReady"]) else ""
        assert got == code, f"expected {code}, got {got} ({message})"
        if code == "orErrorNotImplemented":
            self.missing.append(message)
        for pattern in text:
            if not re.search(pattern, message):
                self._refuse_missing(error)  # it may be about a device that this driver doesn't have
                raise AssertionError(f"the message lacks {pattern!r}: {message!r}")
        return message

    def call(self, entry: str, *args: Any) -> int:
        """Calls an entry by name. A subscription that this makes is ended after the test."""
        error = getattr(self.lib, entry)(*args)
        if entry == "orActivitySubscribe" and error == 0:
            self.note_subscriber(args[0][0])
            self._alive.append(args[1])
        return error

    def get(self, entry: str, *args: Any) -> Any:
        """Calls an entry whose first argument receives the result, and returns that."""
        out = self.ffi.new(header.entries()[entry].parameters[0].type)
        self.ok(self.call(entry, out, *args))
        return out[0]

    # ------------------------------------------------------------------------------------------------------- devices

    @property
    def device_count(self) -> int:
        """Number of devices."""
        return self.get("orGetDeviceCount")

    def use(self, device: int) -> None:
        """Sets the calling thread's current device."""
        self.ok(self.lib.orSetDevice(device))

    @property
    def devices(self) -> range:
        """The devices that tests use: two, or the one that there is."""
        return range(min(2, self.device_count))

    def use_another(self, device: int) -> None:
        """Makes another device current, if there is one: which one is current must make no difference."""
        if len(self.devices) > 1:
            self.use(1 - device)

    def on(self, device: int, entry: str, *args: Any) -> Any:
        """`get` while `device` is current."""
        before = self.get("orGetDevice")
        self.use(device)
        try:
            return self.get(entry, *args)
        finally:
            self.use(before)

    def memory(self, device: int = 0) -> tuple[int, int]:
        """Free and total bytes."""
        free, total = self.ffi.new("size_t*"), self.ffi.new("size_t*")
        self.ok(self.lib.orMemGetInfo(free, total, device))
        return free[0], total[0]

    # ------------------------------------------------------------------------------------------- streams and events

    def default_stream(self, device: int = 0) -> Any:
        """The default stream of a device."""
        return self.get("orStreamGetDefault", device)

    def stream(self, device: int = 0) -> Any:
        """A new stream."""
        return self.on(device, "orStreamCreate")

    def event(self, device: int = 0, flags: int = 0) -> Any:
        """A new event."""
        return self.on(device, "orEventCreateWithFlags", flags)

    def record(self, stream: Any, event: Any = None, device: int = 0) -> Any:
        """Records an event, by default a new one, and returns it."""
        event = event if event is not None else self.event(device)
        self.ok(self.lib.orEventRecord(event, stream))
        return event

    def synchronize(self, stream: Any) -> None:
        """Waits for a stream."""
        self.ok(self.lib.orStreamSynchronize(stream))

    def is_done(self, stream: Any) -> bool:
        """What orStreamQuery says."""
        error = self.lib.orStreamQuery(stream)
        if error != self.errors["orErrorNotReady"]:
            self.ok(error)
        return error == 0

    def is_complete(self, event: Any) -> bool:
        """What orEventQuery says."""
        error = self.lib.orEventQuery(event)
        if error != self.errors["orErrorNotReady"]:
            self.ok(error)
        return error == 0

    def gate(self, *streams: Any, name: str = "test", deadline: float = DEADLINE) -> Gate:
        """A closed gate on the streams."""
        gate = Gate(self, name, deadline)
        self._gates.append(gate)
        return gate.close(*streams)

    def stands_at_a_gate(self) -> bool:
        """Whether a stream waits at a closed gate."""
        return any(gate.is_closed for gate in self._gates)

    def pause_at_gates(self) -> None:
        """From now on a thread of the simulator stands at a pause point if there is a closed gate of that name."""
        self.ok(self.lib.orSimSetPauseFunction(self.ffi.cast("orSimPauseFn_t", gates.address("gatePause"))))

    # -------------------------------------------------------------------------------------------------------- memory

    def pointer(self, address: int) -> Any:
        """An address as the header's functions take it."""
        return self.ffi.cast("void*", address)

    def address(self, pointer: Any) -> int:
        """The number of a pointer or handle."""
        return int(self.ffi.cast("uintptr_t", pointer))

    def malloc(self, size: int, device: int = 0) -> int:
        """Device memory, freed after the test unless the test frees it."""
        address = self.address(self.on(device, "orMalloc", size))
        self._buffers[address] = device
        return address

    def free(self, address: int) -> int:
        """Frees device memory; returns the error."""
        self._buffers.pop(address, None)
        return self.lib.orFree(self.pointer(address))

    def malloc_host(self, size: int, device: int = 0) -> int:
        """Pinned memory, freed after the test unless the test frees it."""
        address = self.address(self.on(device, "orMallocHost", size))
        self._pinned.append(address)
        return address

    def free_host(self, address: int) -> int:
        """Frees pinned memory; returns the error."""
        if address in self._pinned:
            self._pinned.remove(address)
        return self.lib.orFreeHost(self.pointer(address))

    def host(self, data: bytes | int) -> Any:
        """Pageable host memory that lives until the end of the test."""
        memory = self.ffi.new("unsigned char[]", data)
        self._alive.append(memory)
        return memory

    def view(self, address: int, size: int) -> Any:
        """Pinned memory as a buffer."""
        return self.ffi.buffer(self.pointer(address), size)

    def write(self, address: int, data: bytes) -> None:
        """Copies bytes to device memory and waits, in the order of the default stream of the memory's device."""
        self.copy(address, self.ffi.from_buffer(data), len(data), self.lib.orMemcpyHostToDevice, address)

    def read(self, address: int, size: int) -> bytes:
        """Copies bytes from device memory and waits, in the order of the default stream of the memory's device."""
        data = bytearray(size)
        self.copy(self.ffi.from_buffer(data), address, size, self.lib.orMemcpyDeviceToHost, address)
        return bytes(data)

    def copy(self, dst: Any, src: Any, size: int, kind: int, device_pointer: int) -> None:
        """A synchronous copy on the default stream of the device that a pointer belongs to."""
        dst, src = (self.pointer(end) if isinstance(end, int) else end for end in (dst, src))
        stream = self.default_stream(self.get("orPointerGetAttributes", self.pointer(device_pointer)).device)
        self.ok(self.lib.orMemcpyWithStream(dst, src, size, kind, stream))

    def read_words(self, address: int, count: int = 1) -> list[int]:
        """Device memory as 64-bit integers."""
        return list(struct.unpack(f"<{count}q", self.read(address, 8 * count)))

    def write_words(self, address: int, *values: int) -> None:
        """Writes 64-bit integers to device memory."""
        self.write(address, struct.pack(f"<{len(values)}q", *values))

    # ------------------------------------------------------------------------------------------------------- kernels

    def kernel(self, name: str, device: int = 0, module: str | None = None) -> Any:
        """A kernel, by default of the tests' own module (kernels/probe.cpp)."""
        key = (device, module or self.probe_path, name)
        if key not in self._kernels:
            handle = self.on(device, "orModuleLoad", key[1].encode())
            self._kernels[key] = self.get("orModuleGetKernel", handle, name.encode())
        return self._kernels[key]

    def pointer_args(self, *pointers: tuple[int, int, int, int]) -> Any:
        """Descriptors from (offset, access, lower, extent)."""
        return self.ffi.new("orPointerArg[]", [list(pointer) for pointer in pointers]) if pointers else self.ffi.NULL

    def launch(
        self,
        kernel: Any,
        args: bytes,
        pointers: Iterable[tuple[int, int, int, int]],
        stream: Any,
    ) -> int:
        """Launches and returns the error; the arguments die with this call, as the contract allows."""
        pointers = list(pointers)
        return self.lib.orLaunchKernel(kernel, args, len(args), self.pointer_args(*pointers), len(pointers), stream)

    def append(self, log: int, value: int, stream: Any, device: int = 0) -> None:
        """Queues a kernel that appends a number to a log in device memory: log[0] counts what follows."""
        args = struct.pack("<Qq", log, value)
        self.ok(self.launch(self.kernel("append", device), args, [(0, READ | WRITE, 0, 8 * LOG_WORDS)], stream))

    def log(self, device: int = 0) -> int:
        """An empty log for `append`."""
        log = self.malloc(8 * LOG_WORDS, device)
        self.write_words(log, 0)
        return log

    def read_log(self, log: int) -> list[int]:
        """What has been appended. Reading drains only the default stream of the log's device."""
        words = self.read_words(log, LOG_WORDS)
        return words[1 : 1 + words[0]]

    def fail_on_device(self, stream: Any, text: str = "index 7 out of range", device: int = 0) -> None:
        """Queues a kernel that reports an error of its own."""
        args = struct.pack("<q56s", self.errors["orErrorAssert"], text.encode())
        self.ok(self.launch(self.kernel("report", device), args, [], stream))

    def fail_on_kernel(self, stream: Any, device: int = 0) -> None:
        """Queues a kernel of the module "openreg" with a pointer into nothing: it fails when its turn comes."""
        kernel = self.kernel("copy", device, "openreg")
        self.ok(self.launch(kernel, struct.pack("<Q4088x", 8), [(0, READ, 0, 8)], stream))

    def host_function(self, stream: Any, function: Callable[[], None]) -> None:
        """Queues a function of the host."""
        callback = self.ffi.callback("orHostFn_t", lambda _: function())
        self._alive.append(callback)
        self.ok(self.lib.orLaunchHostFunc(stream, callback, self.ffi.NULL))

    # ------------------------------------------------------------------------------------------------------ activity

    def listen(self, during: Callable[[Record], None] | None = None) -> Listener:
        """From now on, all records."""
        return Listener(self, during)

    def note_subscriber(self, handle: Any) -> Any:
        """A subscription that the clean-up ends unless the test does."""
        self._subscribers.append(handle)
        return handle

    def forget_subscriber(self, handle: Any) -> None:
        """It has been ended."""
        self._subscribers.remove(handle)

    def is_subscribed(self, handle: Any) -> bool:
        """Whether nobody has ended it."""
        return handle in self._subscribers

    # ------------------------------------------------------------------------------------------------------ clean-up

    @contextmanager
    def letting_go(self, device: int) -> Iterator[None]:
        """While a device is reset, which waits for who stands at a gate: opens it once what is behind it is dropped."""
        standing = [gate for gate in self._gates if gate.stands_on(device)]

        def let_go() -> None:
            for gate in standing:
                wait_until(gate.is_forgotten, "the reset takes the streams back")
                gate.open()

        letting = Call(let_go) if standing else None
        yield
        if letting:
            letting.result()

    def forget(self, device: int) -> None:
        """Resets a device and forgets what lived on it."""
        with self.letting_go(device):
            self.ok(self.lib.orDeviceReset(device))
        self._kernels = {key: kernel for key, kernel in self._kernels.items() if key[0] != device}
        self._buffers = {address: owner for address, owner in self._buffers.items() if owner != device}

    def forget_errors(self) -> None:
        """Makes the calling thread's message one that has nothing to do with what a driver lacks."""
        self.lib.orGetDevice(self.ffi.NULL)
        self.lib.orGetLastError()

    def clean_up(self) -> list[str]:
        """Brings everything into its first state; returns the devices whose memory was not all given back."""
        leaks: list[str] = []
        try:
            self._clean_up(leaks)
        except NotOfThisDriver:
            self._gates, self._buffers, self._pinned, self._kernels, self._alive = [], {}, [], {}, []
            self._subscribers = []
            self.lib.orSetDevice(0)  # A driver that cannot even be reset: the next test takes it as it is.
        return leaks

    def _clean_up(self, leaks: list[str]) -> None:
        for subscriber in self._subscribers:  # First of all: their functions may be gone with the test.
            self.lib.orActivityUnsubscribe(subscriber)
        self._subscribers = []
        gates_made, self._gates = self._gates, []
        for gate in gates_made:
            gate.open()
        for gate in gates_made:
            gate.destroy()
        for address in self._buffers:
            self.ok(self.lib.orFree(self.pointer(address)))
        for address in self._pinned:
            self.ok(self.lib.orFreeHost(self.pointer(address)))
        self._buffers, self._pinned = {}, []
        for device in range(self.device_count):
            with suppress(NotOfThisDriver):
                self.lib.orSimSetDelay(device, 0, 0)
            if self.get("orDeviceGetState", device) and self.lib.orDeviceSynchronize(device) == 0:
                free, total = self.memory(device)
                before, self._leaked[device] = self._leaked.get(device, 0), total - free
                if total - free != before and not self.was_stopped:
                    leaks.append(f"device {device}: {total - free - before} bytes are still allocated")
            self.forget(device)
            self._leaked[device] = 0
        self._alive = []
        self.use(0)
        self.lib.orGetLastError()


# 64-bit words of a log: a counter and room for 255 numbers.
LOG_WORDS = 256


def connect() -> OpenReg:
    """In a child process: the library and the driver that the parent tests, without parsing the headers again."""
    sys.path.insert(0, os.environ["OPENREG_TEST_BINDINGS"])
    bindings = importlib.import_module("_openreg_declarations")
    return OpenReg(os.environ["OPENREG_TEST_LIBRARY"], bindings.ffi)
