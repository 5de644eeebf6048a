"""Copies and fills: directions, bounds found at the call, what a copy waits for and what it does not."""

from __future__ import annotations

from typing import Any

import pytest

from .harness import Call, OpenReg

SIZE = 4096
DATA = bytes(range(256)) * 16
KINDS = {"hh": 0, "hd": 1, "dh": 2, "dd": 3}
COPIES = ["orMemcpy", "orMemcpyWithStream", "orMemcpyAsync"]


class End:
    """One end of a copy: host, pinned or device memory that can be filled and looked at."""

    def __init__(self, api: OpenReg, kind: str, device: int = 0) -> None:
        self.api, self.kind = api, kind
        makers = {"h": lambda: api.address(api.host(SIZE)), "p": lambda: api.malloc_host(SIZE)}
        self.address: int = makers[kind]() if kind in makers else api.malloc(SIZE, device)
        self.pointer = api.pointer(self.address)

    @property
    def content(self) -> bytes:
        """All bytes."""
        is_device = self.kind == "d"
        return self.api.read(self.address, SIZE) if is_device else bytes(self.api.view(self.address, SIZE))

    @content.setter
    def content(self, data: bytes) -> None:
        if self.kind == "d":
            self.api.write(self.address, data)
        else:
            self.api.view(self.address, SIZE)[:] = data


def kind_of(dst: str, src: str) -> int:
    """The direction that two ends have."""
    return KINDS[(src + dst).replace("p", "h")]


@pytest.mark.entry("orMemcpy", case="good")
@pytest.mark.entry("orMemcpyWithStream", case="good")
@pytest.mark.entry("orMemcpyAsync", case="good")
@pytest.mark.parametrize("inferred", [False, True], ids=["named", "default"])
@pytest.mark.parametrize("src", "hpd")
@pytest.mark.parametrize("dst", "hpd")
@pytest.mark.parametrize("entry", COPIES)
def test_bytes_arrive_in_every_direction(api: OpenReg, entry: str, dst: str, src: str, inferred: bool) -> None:
    source, target = End(api, src), End(api, dst)
    source.content, target.content = DATA, bytes(SIZE)
    stream = [] if entry == "orMemcpy" else [api.stream()]
    kind = api.lib.orMemcpyDefault if inferred else kind_of(dst, src)
    there, here = api.pointer(target.address + 100), api.pointer(source.address + 7)
    api.ok(api.call(entry, there, here, 1000, kind, *stream))
    for one in stream:
        api.synchronize(one)
    assert target.content == bytes(100) + DATA[7:1007] + bytes(SIZE - 1100)


@pytest.mark.entry("orMemcpy", case="good")
@pytest.mark.entry("orMemcpyWithStream", case="good")
@pytest.mark.entry("orMemcpyAsync", case="good")
@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize(("dst", "src"), [("d", "h"), ("h", "d"), ("d", "d"), ("h", "h")])
@pytest.mark.parametrize("entry", COPIES)
def test_bytes_arrive_on_the_default_stream(api: OpenReg, entry: str, dst: str, src: str, device: int) -> None:
    api.use(device)
    source, target = End(api, src, device), End(api, dst, device)
    source.content, target.content = DATA, bytes(SIZE)
    stream = [] if entry == "orMemcpy" else [api.default_stream(device)]
    api.ok(api.call(entry, target.pointer, source.pointer, SIZE, kind_of(dst, src), *stream))
    # Reading the device waits for what its default stream has to do, and pageable memory is written before the return.
    assert target.content == DATA


@pytest.mark.parametrize("size", [0, 1, 2, 3, 15, 17, 4095, 4096])
def test_any_number_of_bytes_arrives(api: OpenReg, size: int) -> None:
    source, target = End(api, "h"), End(api, "d")
    source.content, target.content = DATA, bytes(SIZE)
    api.ok(api.lib.orMemcpy(target.pointer, source.pointer, size, api.lib.orMemcpyHostToDevice))
    assert target.content == DATA[:size] + bytes(SIZE - size)


def test_a_large_copy_arrives_whole(api: OpenReg) -> None:
    data = bytes(range(251)) * 80_000
    buffer, other = api.malloc(len(data)), api.malloc(len(data))
    api.write(buffer, data)
    assert api.read(buffer, len(data)) == data
    to, source = api.pointer(other), api.pointer(buffer)
    api.ok(api.lib.orMemcpy(to, source, len(data), api.lib.orMemcpyDeviceToDevice))
    assert api.read(other, len(data)) == data


def test_memory_copied_onto_itself_stays_as_it_is(api: OpenReg) -> None:
    buffer = End(api, "d")
    buffer.content = DATA
    api.ok(api.lib.orMemcpy(buffer.pointer, buffer.pointer, SIZE, api.lib.orMemcpyDeviceToDevice))
    assert buffer.content == DATA


@pytest.mark.entry("orMemcpy", case="bad")
@pytest.mark.entry("orMemcpyWithStream", case="bad")
@pytest.mark.entry("orMemcpyAsync", case="bad")
@pytest.mark.parametrize(
    ("dst", "src", "kind"),
    [(dst, src, kind) for dst in "hpd" for src in "hpd" for kind in KINDS if KINDS[kind] != kind_of(dst, src)],
)
@pytest.mark.parametrize("entry", COPIES)
def test_a_direction_that_contradicts_the_pointers_is_refused(
    api: OpenReg, entry: str, dst: str, src: str, kind: str
) -> None:
    source, target = End(api, src), End(api, dst)
    stream = [] if entry == "orMemcpy" else [api.default_stream()]
    error = api.call(entry, target.pointer, source.pointer, SIZE, KINDS[kind], *stream)
    api.check(error, "orErrorInvalidValue", f"^{entry}: ", r"\b(dst|src|kind)\b")


@pytest.mark.parametrize("side", ["dst", "src"])
@pytest.mark.parametrize(("offset", "size"), [(0, SIZE + 1), (1, SIZE), (SIZE - 1, 2), (0, 2**64 - 1), (8, 2**64 - 4)])
@pytest.mark.parametrize("entry", COPIES)
@pytest.mark.parametrize("other", "pd")
def test_a_copy_out_of_bounds_is_refused_at_the_call(
    api: OpenReg, entry: str, side: str, offset: int, size: int, other: str
) -> None:
    short, big = api.malloc(SIZE), api.malloc(2 * SIZE) if other == "d" else api.malloc_host(2 * SIZE)
    api.write(short, DATA)
    ends = {"dst": big, "src": big} | {side: short + offset}
    stream = [] if entry == "orMemcpy" else [api.stream()]
    args = (api.pointer(ends["dst"]), api.pointer(ends["src"]), size, api.lib.orMemcpyDefault, *stream)
    text = (f"^{entry}: ", rf"\b{side}\b" if size < 2**60 else r"\b(dst|src)\b", rf"\b{size}\b")
    api.check(api.call(entry, *args), "orErrorInvalidValue", *text)
    assert api.read(short, SIZE) == DATA


@pytest.mark.parametrize("side", ["dst", "src"])
@pytest.mark.parametrize("entry", COPIES)
def test_a_freed_pointer_is_refused_at_the_call(api: OpenReg, entry: str, side: str) -> None:
    freed = api.malloc(SIZE)
    api.ok(api.free(freed))
    host = api.host(SIZE)
    ends = {"dst": host, "src": host} | {side: api.pointer(freed)}
    kind = api.lib.orMemcpyHostToDevice if side == "dst" else api.lib.orMemcpyDeviceToHost
    stream = [] if entry == "orMemcpy" else [api.stream()]
    error = api.call(entry, ends["dst"], ends["src"], SIZE, kind, *stream)
    api.check(error, "orErrorInvalidValue", f"^{entry}: ", rf"\b{side}\b", rf"(?i)0x0*{freed:x}")


@pytest.mark.parametrize("side", ["dst", "src"])
@pytest.mark.parametrize("other", "hpd")
@pytest.mark.parametrize("entry", COPIES)
@pytest.mark.parametrize("device", [0, 1])
def test_memory_of_another_device_than_the_streams_is_refused(
    api: OpenReg, entry: str, side: str, other: str, device: int
) -> None:
    api.use(device)
    foreign, end = End(api, "d", 1 - device), End(api, other, device)
    ends = {"dst": end, "src": end} | {side: foreign}
    stream = [] if entry == "orMemcpy" else [api.stream(device)]
    args = (ends["dst"].pointer, ends["src"].pointer, SIZE, api.lib.orMemcpyDefault, *stream)
    api.check(api.call(entry, *args), "orErrorInvalidValue", f"^{entry}: ", rf"\b{side}\b", r"\bdevice\b")


# ------------------------------------------------------------------------------------------------------------ blocking


@pytest.mark.parametrize("size", [0, 64])
@pytest.mark.parametrize("device", [0, 1])
def test_a_synchronous_copy_drains_its_stream_and_waits_for_no_other(api: OpenReg, device: int, size: int) -> None:
    stream, other = api.stream(device), api.stream(device)
    buffer, host = api.malloc(64, device), api.host(64)
    with api.gate(other) as other_gate, api.gate(stream) as gate:
        other_gate.wait_for(1)
        call = Call(lambda: api.ok(api.lib.orMemcpyWithStream(api.pointer(buffer), host, size, 1, stream)))
        assert call.blocks()
        gate.open()
        call.result()
        assert other_gate.waiting == 1


@pytest.mark.entry("orStreamDestroy", case="good")
@pytest.mark.parametrize("to_device", [True, False], ids=["to the device", "from the device"])
def test_a_synchronous_copy_goes_on_when_another_thread_destroys_its_stream(api: OpenReg, to_device: bool) -> None:
    """It still waits for the stream's earlier work, all bytes arrive, and the device is not done before."""
    data = bytes(range(251)) * 20_000
    stream, buffer, host = api.stream(), api.malloc(len(data)), api.host(len(data))
    api.write(buffer, bytes(len(data)) if to_device else data)
    api.view(host, len(data))[:] = data if to_device else bytes(len(data))
    ends = (api.pointer(buffer), host) if to_device else (host, api.pointer(buffer))
    direction = KINDS["hd" if to_device else "dh"]
    with api.gate(stream) as gate:
        gate.wait_for(1)
        copy = Call(lambda: api.ok(api.lib.orMemcpyWithStream(*ends, len(data), direction, stream)))
        assert copy.blocks()
        api.ok(api.lib.orStreamDestroy(stream))
        everything = Call(lambda: api.ok(api.lib.orDeviceSynchronize(0)))
        assert everything.blocks() and copy.blocks()
        gate.open()
        everything.result()
        arrived = api.read(buffer, len(data)) if to_device else bytes(api.view(host, len(data)))
        copy.result()
    assert arrived == data


def test_the_default_stream_of_the_current_device_is_the_stream_of_a_plain_copy(api: OpenReg) -> None:
    api.use(1)
    buffer, host = api.malloc(64, 1), api.host(64)
    with api.gate(api.default_stream(0), api.stream(1)) as others, api.gate(api.default_stream(1)) as gate:
        others.wait_for(2)

        def copy() -> None:
            api.use(1)
            api.ok(api.lib.orMemcpy(host, api.pointer(buffer), 64, api.lib.orMemcpyDeviceToHost))

        call = Call(copy)
        assert call.blocks()
        gate.open()
        call.result()
        assert others.waiting == 2


@pytest.mark.parametrize(("dst", "src"), [("d", "p"), ("p", "d"), ("d", "d")])
def test_an_asynchronous_copy_without_pageable_memory_does_not_block(api: OpenReg, dst: str, src: str) -> None:
    source, target = End(api, src), End(api, dst)
    source.content, target.content = DATA, bytes(SIZE)
    stream = api.stream()
    with api.gate(stream) as gate:
        gate.wait_for(1)
        api.ok(api.lib.orMemcpyAsync(target.pointer, source.pointer, SIZE, api.lib.orMemcpyDefault, stream))
        assert gate.waiting == 1
        assert target.content == bytes(SIZE)
        gate.open()
        api.synchronize(stream)
    assert target.content == DATA


@pytest.mark.parametrize(("dst", "src"), [("d", "h"), ("h", "d")])
def test_an_asynchronous_copy_with_pageable_memory_behaves_as_a_synchronous_one(
    api: OpenReg, dst: str, src: str
) -> None:
    source, target = End(api, src), End(api, dst)
    source.content, target.content = DATA, bytes(SIZE)
    stream = api.stream()
    gate = api.gate(stream)
    gate.wait_for(1)
    args = (target.pointer, source.pointer, SIZE, api.lib.orMemcpyDefault, stream)
    call = Call(lambda: api.ok(api.lib.orMemcpyAsync(*args)))
    assert call.blocks()
    assert gate.waiting == 1
    gate.open()
    call.result()
    source.content = bytes(SIZE)
    assert target.content == DATA


@pytest.mark.parametrize("device", [0, 1])
def test_a_stream_of_another_device_than_the_current_one_works(api: OpenReg, device: int) -> None:
    stream, buffer = api.stream(device), api.malloc(SIZE, device)
    api.use_another(device)
    back = api.host(SIZE)
    kinds = (api.lib.orMemcpyHostToDevice, api.lib.orMemcpyDeviceToHost)
    api.ok(api.lib.orMemcpyAsync(api.pointer(buffer), api.host(DATA), SIZE, kinds[0], stream))
    api.ok(api.lib.orMemcpyWithStream(back, api.pointer(buffer), SIZE, kinds[1], stream))
    assert bytes(back) == DATA


# ---------------------------------------------------------------------------------------------------------------- peer


@pytest.mark.entry("orMemcpyPeer", case="good")
@pytest.mark.entry("orMemcpyPeerAsync", case="good")
@pytest.mark.parametrize(
    ("dst", "src", "stream_of"),
    [(dst, src, stream) for dst in (0, 1) for src in (0, 1) for stream in (None, 0, 1) if stream in (None, dst, src)],
)
@pytest.mark.parametrize("current", [0, 1])
def test_a_peer_copy_needs_no_peer_access(
    api: OpenReg, dst: int, src: int, stream_of: int | None, current: int
) -> None:
    source, target = End(api, "d", src), End(api, "d", dst)
    source.content, target.content = DATA, bytes(SIZE)
    api.use(current)
    if stream_of is None:
        api.ok(api.lib.orMemcpyPeer(target.pointer, dst, source.pointer, src, SIZE))
    else:
        stream = api.stream(stream_of)
        api.ok(api.lib.orMemcpyPeerAsync(target.pointer, dst, source.pointer, src, SIZE, stream))
        api.synchronize(stream)
    assert target.content == DATA


@pytest.mark.entry("orMemcpyPeer", case="bad")
@pytest.mark.entry("orMemcpyPeerAsync", case="bad")
@pytest.mark.parametrize("entry", ["orMemcpyPeer", "orMemcpyPeerAsync"])
@pytest.mark.parametrize("fault", ["dst of the other", "src of the other", "dst of the host", "src pinned", "too long"])
def test_a_pointer_that_is_not_of_the_device_beside_it_is_refused(api: OpenReg, entry: str, fault: str) -> None:
    on_0, on_1 = api.malloc(SIZE, 0), api.malloc(SIZE, 1)
    dst, src, size = on_0, on_1, SIZE
    if fault == "dst of the other":
        dst = on_1
    elif fault == "src of the other":
        src = on_0
    elif fault == "dst of the host":
        dst = api.address(api.host(SIZE))
    elif fault == "src pinned":
        src = api.malloc_host(SIZE)
    else:
        size = SIZE + 1
    stream = [api.stream()] if entry == "orMemcpyPeerAsync" else []
    error = api.call(entry, api.pointer(dst), 0, api.pointer(src), 1, size, *stream)
    api.check(error, "orErrorInvalidValue", f"^{entry}: ", rf"\b{fault[:3]}\b" if size == SIZE else rf"\b{size}\b")


def test_a_peer_copy_on_a_stream_of_a_third_device_is_refused(run_child: Any) -> None:
    run_child(
        """
        dst, src = api.malloc(64, 0), api.malloc(64, 1)
        error = lib.orMemcpyPeerAsync(api.pointer(dst), 0, api.pointer(src), 1, 64, api.stream(2))
        assert error != 0
        assert "orMemcpyPeerAsync: " in api.message() and "stream" in api.message(), api.message()
        """,
        env={"OPENREG_SIM": "devices=3"},
    )


def test_an_asynchronous_peer_copy_does_not_block_and_is_not_ordered_by_the_other_device(api: OpenReg) -> None:
    source, target = End(api, "d", 1), End(api, "d", 0)
    source.content, target.content = DATA, bytes(SIZE)
    stream = api.stream(0)
    with api.gate(api.default_stream(1)) as other, api.gate(stream) as gate:
        other.wait_for(1)
        api.ok(api.lib.orMemcpyPeerAsync(target.pointer, 0, source.pointer, 1, SIZE, stream))
        gate.open()
        api.synchronize(stream)
        assert target.content == DATA
        assert other.waiting == 1


def test_a_synchronous_peer_copy_waits_in_the_default_stream_of_the_destination(api: OpenReg) -> None:
    source, target = End(api, "d", 0), End(api, "d", 1)
    source.content = DATA
    with api.gate(api.default_stream(0)) as other, api.gate(api.default_stream(1)) as gate:
        other.wait_for(1)
        call = Call(lambda: api.ok(api.lib.orMemcpyPeer(target.pointer, 1, source.pointer, 0, SIZE)))
        assert call.blocks()
        gate.open()
        call.result()
        assert other.waiting == 1
    assert target.content == DATA


# --------------------------------------------------------------------------------------------------------------- fills


@pytest.mark.entry("orMemset", case="good")
@pytest.mark.entry("orMemsetAsync", case="good")
@pytest.mark.parametrize("value", [0, 1, 255, 256, 0x1234, -1, -256])
@pytest.mark.parametrize("entry", ["orMemset", "orMemsetAsync"])
@pytest.mark.parametrize("device", [0, 1])
def test_a_fill_uses_the_low_byte_and_keeps_to_its_bytes(api: OpenReg, entry: str, value: int, device: int) -> None:
    buffer = End(api, "d", device)
    buffer.content = DATA
    stream = api.stream(device)
    api.ok(api.call(entry, api.pointer(buffer.address + 5), value, 100, *([stream] if entry[-1] == "c" else [])))
    api.synchronize(stream)
    assert buffer.content == DATA[:5] + bytes([value & 0xFF]) * 100 + DATA[105:]


@pytest.mark.entry("orMemset", case="bad")
@pytest.mark.entry("orMemsetAsync", case="bad")
@pytest.mark.parametrize("entry", ["orMemset", "orMemsetAsync"])
@pytest.mark.parametrize("fault", ["too long", "interior", "wraps", "freed", "pageable", "pinned"])
def test_a_fill_of_anything_but_live_device_memory_is_refused(api: OpenReg, entry: str, fault: str) -> None:
    live, freed = api.malloc(SIZE), api.malloc(SIZE)
    api.ok(api.free(freed))
    bad = {
        "too long": (live, SIZE + 1),
        "interior": (live + 1, SIZE),
        "wraps": (live + 8, 2**64 - 4),
        "freed": (freed, 8),
        "pageable": (api.address(api.host(SIZE)), 8),
        "pinned": (api.malloc_host(SIZE), 8),
    }
    address, size = bad[fault]
    stream = [api.stream()] if entry == "orMemsetAsync" else []
    error = api.call(entry, api.pointer(address), 0, size, *stream)
    api.check(error, "orErrorInvalidValue", f"^{entry}: ", r"\bptr\b", rf"(?i)0x0*{address:x}")


def test_a_fill_on_a_stream_of_another_device_is_refused(api: OpenReg) -> None:
    buffer = api.malloc(64, 0)
    error = api.lib.orMemsetAsync(api.pointer(buffer), 0, 64, api.stream(1))
    api.check(error, "orErrorInvalidValue", "^orMemsetAsync: ", r"\bptr\b", r"\bdevice\b")


def test_a_fill_of_zero_bytes_does_nothing(api: OpenReg) -> None:
    buffer = End(api, "d")
    buffer.content = DATA
    api.ok(api.lib.orMemset(buffer.pointer, 0, 0))
    assert buffer.content == DATA


def test_an_asynchronous_fill_does_not_block(api: OpenReg) -> None:
    buffer = End(api, "d")
    buffer.content = DATA
    stream = api.stream()
    with api.gate(stream) as gate:
        gate.wait_for(1)
        api.ok(api.lib.orMemsetAsync(buffer.pointer, 9, SIZE, stream))
        assert buffer.content == DATA
        assert gate.waiting == 1
    api.synchronize(stream)
    assert buffer.content == b"\x09" * SIZE


@pytest.mark.parametrize("current", [0, 1])
def test_a_synchronous_fill_waits_in_the_default_stream_of_its_device(api: OpenReg, current: int) -> None:
    buffer = api.malloc(64, 1)
    with api.gate(api.default_stream(0)) as other, api.gate(api.default_stream(1)) as gate:
        other.wait_for(1)

        def fill() -> None:
            api.use(current)
            api.ok(api.lib.orMemset(api.pointer(buffer), 3, 64))

        call = Call(fill)
        assert call.blocks()
        gate.open()
        call.result()
        assert other.waiting == 1
    assert api.read(buffer, 64) == b"\3" * 64


@pytest.mark.parametrize("lost", [0, 1])
@pytest.mark.parametrize("source", [0, 1])
@pytest.mark.parametrize("of", [0, 1])
def test_nothing_is_copied_from_or_to_a_device_that_is_lost(
    api: OpenReg, lib: Any, source: int, lost: int, of: int
) -> None:
    buffers = [api.malloc(8, 0), api.malloc(8, 1)]
    streams = [api.stream(0), api.stream(1)]
    for buffer in buffers:
        api.write(buffer, b"12345678")
    target = 1 - source
    ends = (api.pointer(buffers[target]), target, api.pointer(buffers[source]), source, 8)
    api.ok(lib.orMemcpyPeerAsync(*ends, streams[of]))
    api.synchronize(streams[of])
    api.ok(lib.orSimLoseDevice(lost))
    api.check(lib.orMemcpyPeer(*ends), "orErrorDeviceLost", "^orMemcpyPeer: ", f"device {lost}")
    error = lib.orMemcpyPeerAsync(*ends, streams[of])
    api.check(error, "orErrorDeviceLost", "^orMemcpyPeerAsync: ", f"device {lost}")
    api.ok(lib.orDeviceSynchronize(1 - lost))
