"""What the driver "process" believes: nothing that an executor says and that cannot be.

And what an executor does with frames that no host sends. Where an executor lies within what is possible (a fence that
comes early by one), nobody can tell: what it says of its own work is all that there is.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from typing import Any

import pytest

from ..conftest import block
from ..harness import wait_until
from ..processes import LOST, PYTHON
from . import liar, wire
from .conftest import HostFunction
from .test_process_wire import stream_frame

# --------------------------------------------------------------------------------------------------------- answers

MALLOC = "lib.orMalloc(ffi.new('void**'), 1 << 20)"
MEM_INFO = "lib.orMemGetInfo(ffi.new('size_t*'), ffi.new('size_t*'), 0)"
ELAPSED = "lib.orEventElapsedTime(ffi.new('float*'), *events)"
LOAD = "lib.orModuleLoad(ffi.new('orModule_t*'), b'openreg')"
FIND = "lib.orModuleGetKernel(ffi.new('orKernel_t*'), module, b'fill')"
MEMORY = "self.device.memory"

# What is asked, the kind of frame, what the answer's payload is instead, and the call. `first` is a live allocation.
LIES = {
    "an address that is taken": ("malloc", "<Q", f"max({MEMORY}._starts)", MALLOC),
    "an address inside an allocation": ("malloc", "<Q", f"max({MEMORY}._starts) + 4096", MALLOC),
    "an address whose end lies in another": ("malloc", "<Q", f"max({MEMORY}._starts) - 4096", MALLOC),
    "an address whose end is beyond the device's": (
        "malloc",
        "<Q",
        f"{MEMORY}.base + {MEMORY}.bytes.size - 4096",
        MALLOC,
    ),
    "an address before the device's": ("malloc", "<Q", f"{MEMORY}.base - 4096", MALLOC),
    "an address that is not aligned": ("malloc", "<Q", f"{MEMORY}.base + (8 << 20) + 8", MALLOC),
    "the address null": ("malloc", "<Q", "0", MALLOC),
    "the largest address": ("malloc", "<Q", "2**64 - 4096", MALLOC),
    "more free than there is": ("mem_info", "<QQ", f"2**63, {MEMORY}.bytes.size", MEM_INFO),
    "another size of its memory": ("mem_info", "<QQ", f"0, {MEMORY}.bytes.size + 1", MEM_INFO),
    "a time that has not come": ("event_time", "<q", "2**62", ELAPSED),
    "a time before all times": ("event_time", "<q", "-(2**63)", ELAPSED),
    "no time": ("event_time", "<q", "0", ELAPSED),
    "no handle of a module": ("module_load", "<Q", "0", LOAD),
    "no handle of a kernel": ("module_kernel", "<Q", "0", FIND),
}


@pytest.mark.parametrize("what", LIES)
def test_an_answer_that_cannot_be_is_an_error_that_names_the_device(
    run_process: Any,
    liar_of: Callable[[str], str],
    what: str,
) -> None:
    kind, form, values, call = LIES[what]
    program = f"""
    def lie(self, frame):
        if frame.kind == {kind!r}:
            lie.told += 1
            if lie.told > (2 if {kind!r} == "malloc" else 0):
                liar.payload(self, {form!r}, *({values},))
    lie.told = 0
    liar.run(lie)
    """
    run_process(
        f"""
        spare, first = api.malloc(1 << 20), api.malloc(1 << 20)
        api.ok(api.free(spare))
        stream = api.stream()
        with api.gate(stream):
            events = [api.record(stream) for _ in range(2)]
        api.synchronize(stream)
        if {kind!r} == "module_kernel":
            module = api.get("orModuleLoad", b"openreg")
        api.check({call}, {LOST!r}, "device 0", "process", "orDeviceReset")
        api.check(lib.orDeviceSynchronize(0), {LOST!r}, "device 0")
        assert api.get("orPointerGetAttributes", api.pointer(first)).size == 1 << 20
        """,
        liar_of(program),
    )


FUZZED_ANSWERS = """
import random, struct
rng = random.Random(seed)
failures = successes = 0
lives = {}
def failed(error):
    global failures
    failures += 1
    text = api.message()
    assert api.name(error) in api.errors and error not in (0, 5, 13), (error, text)
    assert "orErrorDeviceLost" != api.name(error) or "device 0" in text, text
    if lib.orStreamGetDefault(ffi.new("orStream_t*"), 0):  # it stays: the device is lost
        api.forget(0)
        lives.clear()
def malloc():
    out, size = ffi.new("void**"), rng.choice([1, 4096, 1 << 20])
    if error := lib.orMalloc(out, size):
        return error
    address = api.address(out[0])
    assert address % 4096 == 0 and all(address + size <= it or it + room <= address for it, room in lives.items())
    found = api.get("orPointerGetAttributes", out[0])
    assert (api.address(found.base), found.size, found.device) == (address, size, 0)
    lives[address] = size
    return 0
def free():
    return api.free(lives.popitem()[0] if lives else 0)
def memory():
    free, total = ffi.new("size_t*"), ffi.new("size_t*")
    if error := lib.orMemGetInfo(free, total, 0):
        return error
    assert free[0] <= total[0] == properties.totalGlobalMem
    return 0
def kernel():
    module, kernel = ffi.new("orModule_t*"), ffi.new("orKernel_t*")
    return lib.orModuleLoad(module, b"openreg") or lib.orModuleGetKernel(kernel, module[0], b"fill")
def time():
    stream, events = ffi.new("orStream_t*"), [ffi.new("orEvent_t*") for _ in range(2)]
    if error := lib.orStreamCreate(stream) or lib.orEventCreate(events[0]) or lib.orEventCreate(events[1]):
        return error
    for event in events:
        if error := gate.stand(stream[0]) or lib.orEventRecord(event[0], stream[0]):
            return error
    out = ffi.new("float*")
    return lib.orStreamSynchronize(stream[0]) or lib.orEventElapsedTime(out, events[0][0], events[1][0])
properties = api.get("orGetDeviceProperties", 0)
gate = api.gate()
gate.open()
for _ in range(steps):
    error = rng.choice([malloc, malloc, free, memory, kernel, time])()
    if error:
        failed(error)
    else:
        successes += 1
print(failures, successes)
assert failures and successes
"""


@pytest.mark.parametrize("seed", range(3))
def test_answers_with_any_field_spoilt_never_crash_hang_or_succeed_wrongly(
    run_process: Any,
    liar_of: Callable[[str], str],
    seed: int,
) -> None:
    # Another executor lies in another way; it is told how by its number.
    run_process(
        f"seed, steps = {seed}, 120\n" + block(FUZZED_ANSWERS),
        liar_of("liar.run_wildly(os.getpid())").replace("5s", "1s"),
        env={"OPENREG_SIM": "memory=64MiB"},
    )


# --------------------------------------------------------------------------------------------------------- records

# What an executor records in the place of (correlation, start, end).
RECORDS = {
    "the work of a call that has submitted none": ("correlation + 1000, start, end", "call 10"),
    "the same work twice": ("first, start, end", "or one piece that is done"),
    "a start before the call": ("correlation, 1, end", "'nothing' ran from 1 to"),
    "an end before the start": ("correlation, start, start - 1", "'nothing' ran from"),
    "an end that has not come yet": ("correlation, start, 2**62", "has not come yet"),
    "a time before all times": ("correlation, -(2**63), -(2**63)", "'nothing' ran from -9223372036854775808"),
}


@pytest.mark.parametrize("what", RECORDS)
def test_a_record_that_cannot_be_is_a_lost_device(run_process: Any, liar_of: Callable[[str], str], what: str) -> None:
    lie, text = RECORDS[what]
    program = f"""
    def during(record):
        def lie(self, correlation, start, end):
            first = lie.first = lie.first or correlation
            record(self, *(({lie}) if correlation != first else (correlation, start, end)))
        lie.first = 0
        return lie
    liar.run(record=during)
    """
    run_process(
        f"""
        stream = api.stream()
        api.kernel("nothing")
        with api.listen() as listener:
            for error in (0, 1):
                api.ok(api.launch(api.kernel("nothing"), b"", [], stream))
                found = lib.orStreamSynchronize(stream)
                assert not error or api.check(found, {LOST!r}, "device 0", "process", {text!r}, "orDeviceReset")
        assert len(listener.of("Kernel")) == 1
        """,
        liar_of(program),
    )


def test_a_graph_has_a_record_of_each_node_and_no_more(run_process: Any, liar_of: Callable[[str], str]) -> None:
    program = """
    def during(record):
        def lie(self, correlation, start, end):
            record(self, correlation, start, end)
            if correlation == lie.last:
                record(self, correlation, start, end)
            lie.last = correlation
        lie.last = 0
        return lie
    liar.run(record=during)
    """
    run_process(
        f"""
        stream, graph, kernel = api.stream(), ffi.new("orGraph_t*"), api.kernel("nothing")
        api.ok(lib.orStreamBeginCapture(stream, lib.orStreamCaptureModeRelaxed))
        for _ in range(2):
            api.ok(api.launch(kernel, b"", [], stream))
        api.ok(lib.orStreamEndCapture(stream, graph))
        made = api.get("orGraphInstantiate", graph[0])
        with api.listen() as listener:
            api.ok(lib.orGraphLaunch(made, stream))
            api.check(lib.orStreamSynchronize(stream), {LOST!r}, "device 0", "or one piece that is done")
        assert len(listener.of("Kernel")) == 2
        """,
        liar_of(program),
    )


@pytest.mark.parametrize("count", ["recorded + 8193", "2**63", "2**64 - 1"])
def test_more_records_than_there_is_room_for_are_a_lost_device(run_process: Any, count: str) -> None:
    run_process(
        block(BOARD)
        + block(f"""
        stream = api.stream()
        api.kernel("nothing")
        with api.listen() as listener:
            api.ok(api.launch(api.kernel("nothing"), b"", [], stream))
            api.synchronize(stream)
            channel = open_words("openreg-channel")
            (recorded,) = struct.unpack_from("<Q", channel, wire.RECORDED)
            assert recorded == 1
            struct.pack_into("<Q", channel, wire.RECORDED, {count})
            api.check(lib.orStreamSynchronize(stream), {LOST!r}, "device 0", "has recorded", "orDeviceReset")
        """)
    )


# ------------------------------------------------------------------------------------------------- words of the board

BOARD = f"""
import mmap, struct
from contract.process import wire
def open_words(name):
    for number in os.listdir("/proc/self/fd"):
        if os.readlink(f"/proc/self/fd/{{number}}").startswith(f"/memfd:{{name}}"):
            return mmap.mmap(int(number), 0)
    raise AssertionError(name)
def part(board, device=0):
    at = {wire.HOST_BYTES} + device * {wire.DEVICE_BYTES}
    return memoryview(board)[at : at + {wire.DEVICE_BYTES}]
"""


@pytest.mark.parametrize("code", [0, 5, 25, 99, -1, -(2**31), 2**31 - 1])
def test_a_failure_without_a_code_for_it_is_a_lost_device(run_process: Any, code: int) -> None:
    run_process(
        block(BOARD)
        + block(f"""
        api.malloc(8), api.malloc(8, 1)
        mine = part(open_words("openreg-board"))
        struct.pack_into("<i", mine, wire.ERROR, {code})
        struct.pack_into("<I", mine, wire.FAILED, 1)
        api.check(lib.orDeviceSynchronize(0), {LOST!r}, "device 0", "process", "error {code}\\\\b", "orDeviceReset")
        api.check(lib.orMalloc(ffi.new("void**"), 8), {LOST!r}, "device 0")
        api.write(api.malloc(8, 1), b"12345678")
        api.forget(0)
        api.write(api.malloc(8), b"12345678")
        """)
    )


@pytest.mark.parametrize("text", [b"\xff\xfe\x80", b"x" * 900, b"\x1b[31m\x07", b"", "ü€𝄞".encode()])
def test_the_text_of_a_failure_is_shown_whatever_it_is(run_process: Any, text: bytes) -> None:
    shown = {b"\xff\xfe\x80": r"\?\?\?", b"\x1b[31m\x07": r"\?\[31m\?"}.get(text, text.decode(errors="replace"))
    run_process(
        block(BOARD)
        + block(f"""
        api.malloc(8)
        mine = part(open_words("openreg-board"))
        mine[wire.TEXT : wire.TEXT + {len(text)}] = {text!r}
        struct.pack_into("<i", mine, wire.ERROR, api.errors["orErrorAssert"])
        struct.pack_into("<I", mine, wire.FAILED, 1)
        api.check(lib.orDeviceSynchronize(0), "orErrorAssert", "device 0", {shown!r})
        """)
    )


@pytest.mark.parametrize("value", ["posted + 1", "2**63", "2**64 - 1"])
@pytest.mark.parametrize("call", ["orStreamSynchronize(stream)", "orStreamQuery(stream)", "orDeviceSynchronize(0)"])
def test_a_fence_further_than_it_can_be_is_not_taken_for_done(
    run_process: Any,
    value: str,
    call: str,
) -> None:
    run_process(
        block(BOARD)
        + block(f"""
        stream, log = api.stream(), api.log()
        api.append(log, 1, stream)
        api.synchronize(stream)
        mine = part(open_words("openreg-board"))
        lanes = [wire.STREAMS + lane * wire.FENCE.size for lane in range(4)]
        gate = api.gate(stream)
        api.append(log, 2, stream)
        gate.wait_for(1)
        for at in lanes:
            (posted,) = struct.unpack_from("<Q", mine, at)
            struct.pack_into("<Q", mine, at, max({value}, posted + 2))
        api.check(lib.{call}, {LOST!r}, "device 0", "process", "fence")
        gate.destroy()
        api.forget(0)
        stream, log = api.stream(), api.log()
        api.append(log, 3, stream)
        api.synchronize(stream)
        assert api.read_log(log) == [3]
        """)
    )


@pytest.mark.parametrize("executor", ["C++", "Python"])
def test_a_fence_that_was_set_back_holds_nobody_up_for_ever(run_process: Any, executor: str) -> None:
    run_process(
        block(BOARD)
        + block("""
        stream, log = api.stream(), api.log()
        mine = part(open_words("openreg-board"))
        for value in range(3):
            api.append(log, value, stream)
            event = api.record(stream)
            wait_until(lambda: api.is_complete(event), "it is done")
            for lane in range(4):
                struct.pack_into("<Q", mine, wire.STREAMS + lane * wire.FENCE.size, 0)
            api.ok(Call(lambda: lib.orEventSynchronize(event)).result())
            api.ok(Call(lambda: lib.orDeviceSynchronize(0)).result())
        assert api.read_log(log) == [0, 1, 2]
        """),
        f"deadline=3s,{PYTHON}" if executor == "Python" else "deadline=300ms",
    )


FUZZED_WORDS = """
import random
from contract.process import liar
rng = random.Random(seed)
memory_bytes = api.get("orGetDeviceProperties", 0).totalGlobalMem
failures = 0
expected, made = [], {}
def start():
    global made, mine, channel
    expected.clear()
    made = {"stream": api.stream(), "log": api.log(), "events": [api.event(), api.event()], "gate": api.gate()}
    made["gate"].open()
    mine, channel = part(open_words("openreg-board")), open_words("openreg-channel")
def spoil():
    # Never a fence within what has been posted, and no data: these nobody could tell from the truth.
    far = rng.choice([0, 2**32, 2**63, 2**64 - 1, rng.getrandbits(63) | 1 << 40])
    word = liar.number(rng) & 2**32 - 1
    spot = rng.randrange(7)
    if spot == 0:
        struct.pack_into("<Q", mine, wire.STREAMS + rng.randrange(4) * wire.FENCE.size, far)
    elif spot == 1:
        struct.pack_into("<I", mine, wire.STREAMS + rng.randrange(4) * wire.FENCE.size + rng.choice([8, 12]), word)
    elif spot == 2:
        struct.pack_into("<I", mine, rng.choice([wire.FAILED, wire.ERROR, wire.TEXT, wire.LAST_WORDS]), word)
    elif spot == 3:
        struct.pack_into("<I", mine, wire.DEVICE_SLEEPERS + 4 * rng.randrange(17), word)
    elif spot == 4:
        struct.pack_into("<Q", channel, rng.choice([wire.TAKEN, wire.ANSWERED, wire.WRITTEN]), far)
    elif spot == 5:
        struct.pack_into("<I", channel, rng.choice([wire.REST, wire.SLEEPERS, wire.TAKEN + 8, wire.ANSWERED + 8]), word)
    else:
        struct.pack_into("<I", channel, wire.RING + 4 * rng.randrange(256), word)
def checked(error):
    if error in (0, api.errors["orErrorNotReady"]):
        return
    text = api.message()
    assert api.name(error) in api.errors, error
    assert "device 0" in text, text
    raise NotOfThisDriver
def append():
    value = rng.getrandbits(30)
    args = struct.pack("<Qq", made["log"], value)
    kernel = ffi.new("orKernel_t*")
    module = ffi.new("orModule_t*")
    checked(lib.orModuleLoad(module, api.probe_path.encode()))
    checked(lib.orModuleGetKernel(kernel, module[0], b"append"))
    checked(api.launch(kernel[0], args, [(0, READ | WRITE, 0, 8 * LOG_WORDS)], made["stream"]))
    expected.append(value)
def read():
    words = ffi.new("int64_t[]", LOG_WORDS)
    source = api.pointer(made["log"])
    checked(lib.orMemcpyWithStream(words, source, 8 * LOG_WORDS, lib.orMemcpyDeviceToHost, made["stream"]))
    assert list(words[1 : 1 + words[0]]) == expected, (list(words[0:9]), expected)
def elapsed():
    out, (first, last) = ffi.new("float*"), made["events"]
    for event in (first, last):
        checked(made["gate"].stand(made["stream"]))
        checked(lib.orEventRecord(event, made["stream"]))
    checked(lib.orStreamSynchronize(made["stream"]))
    checked(lib.orEventElapsedTime(out, first, last))
    assert 0 <= out[0] < 60_000, out[0]
def memory():
    free, total = ffi.new("size_t*"), ffi.new("size_t*")
    checked(lib.orMemGetInfo(free, total, 0))
    assert free[0] <= total[0] == memory_bytes
start()
for step in range(steps):
    try:
        if len(expected) > 200:
            api.ok(lib.orMemset(api.pointer(made["log"]), 0, 8))
            expected.clear()
        rng.choice([append, append, read, elapsed, memory])()
        if rng.random() < 0.3:
            spoil()
    except (NotOfThisDriver, Failure):
        failures += 1
        made["gate"].destroy()
        api.forget(0)
        start()
assert failures, "nothing was noticed"
"""


@pytest.mark.parametrize("seed", range(4))
def test_words_of_board_and_channel_that_are_spoilt_never_crash_hang_or_succeed_wrongly(
    run_process: Any,
    seed: int,
) -> None:
    run_process(block(BOARD) + f"seed, steps = {seed}, 150\n" + block(FUZZED_WORDS), "deadline=300ms")


# ----------------------------------------------------------------------------------------------------- who may write


@pytest.mark.parametrize("executor", ["C++", "Python"])
def test_an_executor_can_write_to_its_own_part_of_the_board_and_to_pinned_memory_that_it_was_handed(
    run_process: Any,
    executor: str,
) -> None:
    run_process(
        f"""
        from contract.process import wire
        def writable(device, name):
            found = []
            for line in open(f"/proc/{{executors()[device]}}/maps"):
                words = line.split()
                if words[-1] == "(deleted)" and words[-2] == f"/memfd:{{name}}" and "w" in words[1]:
                    first, last = (int(word, 16) for word in words[0].split("-"))
                    found.append((int(words[2], 16), last - first))
            return found
        buffers = [api.malloc(8), api.malloc(8, 1)]
        for device in (0, 1):
            at = {wire.HOST_BYTES} + device * {wire.DEVICE_BYTES}
            assert writable(device, "openreg-board") == [(at, {wire.DEVICE_BYTES})], device
        blocks = [api.malloc_host(size) for size in (8, 10_000, 8)]
        assert writable(0, "openreg-pinned") == []
        for block in blocks[:2]:
            api.copy(buffers[0], block, 8, lib.orMemcpyHostToDevice, buffers[0])
        pages = {{(blocks[0] - blocks[0], 4096), (blocks[1] - blocks[0], 12288)}}
        assert sum(size for _, size in writable(0, "openreg-pinned")) == 4096 + 12288
        assert writable(1, "openreg-pinned") == []
        api.ok(api.free_host(blocks[1]))
        api.memory(0)  # a request: the frames before it have been taken
        assert [size for _, size in writable(0, "openreg-pinned")] == [4096]
        again = api.malloc_host(10_000)
        api.copy(buffers[1], again, 8, lib.orMemcpyHostToDevice, buffers[1])
        assert sum(size for _, size in writable(1, "openreg-pinned")) == 12288
        """,
        PYTHON if executor == "Python" else "",
    )


# ------------------------------------------------------------------------------------------------------------ frames


def good_frames() -> list[tuple[str, bytes]]:
    """Frames that a host sends, and in this order an executor serves."""
    base = 1 << 44
    return [
        ("stream_create", stream_frame(0)),
        ("stream_create", stream_frame(3)),
        ("malloc", struct.pack("<Q", 4096)),
        ("fill", struct.pack("<IiQQQ", 0, 7, base, 4096, 0)),
        ("pin", struct.pack("<QQ", 4096, 8192)),
        ("copy", struct.pack("<IIIIQQQQ", 0, 0, 1, 0, base, 4096, 100, 0)),
        ("copy", struct.pack("<IIIIQQQQ", 3, 1, 0, 0, 4096, base, 4096, 0)),
        ("fence", struct.pack("<IIQQ", 0, 9, 1, 1)),
        ("wait", struct.pack("<IiIIQQ", 3, 0, 0, 0, 1, 0)),
        ("delay", struct.pack("<qq", 0, 0)),
        ("module_load", b"openreg\0openreg\0"),
        ("module_kernel", struct.pack("<Q", 1) + b"fill\0"),
        ("launch", struct.pack("<IHHQQ", 0, 8, 1, 0, 0) + struct.pack("<IIqQ", 0, 1, 0, 8) + struct.pack("<Q", base)),
        ("graph_create", struct.pack("<II", 5, 0)),
        (
            "launch",
            struct.pack("<IHHQQ", wire.GRAPH | 5, 8, 1, 0, 0)
            + struct.pack("<IIqQ", 0, 1, 0, 8)
            + struct.pack("<Q", base),
        ),
        ("copy", struct.pack("<IIIIQQQQ", wire.GRAPH | 5, 1, 0, 0, 4096, base, 100, 0)),
        ("fill", struct.pack("<IiQQQ", wire.GRAPH | 5, 7, base, 4096, 0)),
        ("graph_launch", struct.pack("<IIQ", 0, 5, 0)),
        ("graph_launch", struct.pack("<IIQ", 0, 5, 0)),
        ("graph_destroy", struct.pack("<II", 5, 0)),
        ("event_time", struct.pack("<II", 9, 0)),
        ("peer_enable", struct.pack("<iI", 1, 0)),
        ("peer_disable", struct.pack("<iI", 1, 0)),
        ("unpin", struct.pack("<QQ", 4096, 8192)),
        ("stream_destroy", stream_frame(3)),
        ("nudge", stream_frame(0)),
        ("mem_info", b""),
        ("free", struct.pack("<Q", base)),
    ]


def spoilt(rng: random.Random) -> tuple[bytes, int]:
    """Those frames, some of them changed, left out, doubled, or cut; and how many they are then."""
    frames = good_frames()
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(frames))
        kind, data = frames[at]
        how = rng.randrange(5)
        if how == 0 and data:
            cut = rng.choice([size for size in (1, 4, 8) if size <= len(data)])
            place = rng.randrange(0, len(data) - cut + 1)
            value = liar.number(rng) & (2 ** (8 * cut) - 1)
            frames[at] = kind, data[:place] + value.to_bytes(cut, "little") + data[place + cut :]
        elif how == 1:
            frames[at] = kind, data[: rng.randrange(len(data) + 1)] + rng.randbytes(rng.choice([0, 0, 3, 40]))
        elif how == 2:
            frames[at] = rng.choice([kind for kind in wire.KINDS if kind not in ("gap", "quit")]), data
        elif how == 3:
            frames.insert(at, frames[rng.randrange(len(frames))])
        else:
            del frames[at]
    pieces = []
    for number, (kind, data) in enumerate(frames, 1):
        request = wire.WANTS_ANSWER if kind in wire.REQUESTS else 0
        pieces.append(wire.frame(wire.KINDS.index(kind), number, data, flags=request))
    text = bytearray(b"".join(pieces))
    if rng.random() < 0.3:
        at = sum(map(len, pieces[: rng.randrange(len(pieces))])) + rng.randrange(wire.HEADER.size)
        text[at] ^= 1 << rng.randrange(8)
    return bytes(text), len(frames)


@pytest.mark.parametrize("part", range(4))
def test_frames_that_no_host_sends_are_served_or_end_the_executor_with_a_reason(
    host: HostFunction,
    request: pytest.FixtureRequest,
    part: int,
) -> None:
    runs = 30 if request.node.callspec.params["host"] == "C++" else 8
    for seed in range(part * runs, (part + 1) * runs):
        it = host()
        data, it.number = spoilt(random.Random(seed))
        it.put(data)
        last = it.post("ping", flags=wire.WANTS_ANSWER)
        # A module that is being loaded may answer after that.
        served = lambda: it.process.poll() is not None or it.channel.value(wire.ANSWERED) >= last  # noqa: B023, E731
        wait_until(served, f"seed {seed}: answered or ended")
        status = it.process.poll()
        assert status in (None, 3), f"seed {seed}: ended with {status}"
        assert status is None or it.last_words(), f"seed {seed}: no last words"
        it.process.kill()
        it.process.wait()
        it.socket.close()


@pytest.mark.parametrize("in_graph", [False, True])
def test_pages_that_a_copy_uses_are_not_unpinned(host: HostFunction, in_graph: bool) -> None:
    frames = dict(good_frames())
    it = host()
    for kind in ("stream_create", "malloc", "pin"):
        data = stream_frame(0) if kind == "stream_create" else frames[kind]
        request = wire.WANTS_ANSWER if kind in wire.REQUESTS else 0
        it.post(kind, data, flags=request)
    it.post("delay", struct.pack("<qq", 0, 20_000_000_000))
    if in_graph:
        it.post("graph_create", struct.pack("<II", 5, 0))
    stream = wire.GRAPH | 5 if in_graph else 0
    it.post("copy", struct.pack("<IIIIQQQQ", stream, 0, 1, 0, 1 << 44, 4096, 100, 0))
    if in_graph:
        it.post("graph_launch", struct.pack("<IIQ", 0, 5, 0))
    it.post("unpin", frames["unpin"])
    assert it.end() == 3
    assert "unpins offset 4096, which a copy uses" in it.last_words()


def test_a_graph_that_needs_pages_which_are_not_pinned_fails_at_its_launch(host: HostFunction) -> None:
    it = host()
    it.post("stream_create", stream_frame(0))
    it.post("graph_create", struct.pack("<II", 5, 0))
    it.post("copy", struct.pack("<IIIIQQQQ", wire.GRAPH | 5, 1, 0, 0, 4096, 1 << 44, 100, 0))
    it.post("graph_launch", struct.pack("<IIQ", 0, 5, 0))
    it.post("fence", struct.pack("<IIQQ", 0, 2**32 - 1, 1, 1))
    mine = wire.HOST_BYTES
    wait_until(lambda: it.board.value(mine + wire.STREAMS) == 1, "the fence was reached")
    assert it.board.word(mine + wire.FAILED) == 1
    assert it.board.word(mine + wire.ERROR) == 6  # orErrorIllegalAddress
    text = it.board.bytes[mine + wire.TEXT : mine + wire.TEXT + 1024].split(b"\0")[0].decode()
    assert text == "a graph's copy of 100 bytes leaves its memory"
