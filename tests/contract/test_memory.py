"""Memory: allocate, free, info, attributes, exhaustion, poison; the host cannot read what is the device's."""

from __future__ import annotations

import itertools
import random
import re
import signal
import struct
from typing import Any

import pytest

from .conftest import run
from .harness import LOG_WORDS, READ, WRITE, Call, OpenReg

HUGE = [2**64 - 1, 2**64 - 4096, 2**63, 2**48]


@pytest.mark.entry("orMalloc", case="good")
@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("size", [1, 7, 64, 4095, 4096, 1 << 20])
def test_memory_is_aligned_and_its_own(api: OpenReg, size: int, device: int) -> None:
    alignment = api.get("orGetDeviceProperties", device).memoryAlignment
    spans = sorted((api.malloc(size, device), size) for _ in range(8))
    assert all(start % alignment == 0 for start, _ in spans)
    assert all(start + length <= after for (start, length), (after, _) in itertools.pairwise(spans))
    for number, (start, length) in enumerate(spans):
        api.write(start, bytes([number]) * length)
    for number, (start, length) in enumerate(spans):
        assert api.read(start, length) == bytes([number]) * length


@pytest.mark.entry("orMalloc", case="good")
@pytest.mark.entry("orMallocHost", case="good")
@pytest.mark.parametrize("entry", ["orMalloc", "orMallocHost"])
def test_zero_bytes_are_a_null_pointer(api: OpenReg, entry: str) -> None:
    out = api.ffi.new("void**", api.pointer(0x1234))
    api.ok(api.call(entry, out, 0))
    assert out[0] == api.ffi.NULL


@pytest.mark.entry("orFree", case="good")
@pytest.mark.entry("orFreeHost", case="good")
@pytest.mark.parametrize("entry", ["orFree", "orFreeHost"])
def test_freeing_null_does_nothing(api: OpenReg, entry: str) -> None:
    api.ok(api.call(entry, api.ffi.NULL))


@pytest.mark.parametrize("size", HUGE)
def test_a_huge_size_is_refused_and_gives_no_pointer(api: OpenReg, lib: Any, size: int) -> None:
    free, total = api.memory()
    out = api.ffi.new("void**", api.pointer(0x1234))
    error = lib.orMalloc(out, size)
    api.check(error, "orErrorMemoryAllocation", "^orMalloc: ", rf"\b{size}\b", rf"\b{free}\b", rf"\b{total}\b")
    assert out[0] == api.ffi.NULL
    assert api.memory() == (free, total)


@pytest.mark.entry("orMallocHost", case="bad")
@pytest.mark.parametrize("size", HUGE)
def test_a_huge_pinned_size_is_refused_in_words(api: OpenReg, lib: Any, size: int) -> None:
    out = api.ffi.new("void**")
    api.check(lib.orMallocHost(out, size), "orErrorMemoryAllocation", "^orMallocHost: ", rf"\b{size}\b")
    assert out[0] == api.ffi.NULL


def test_exhausted_memory_is_refused_with_asked_free_and_total(run_child: Any) -> None:
    run_child(
        """
        import random
        MIB = 1 << 20
        free, total = api.memory()
        assert total == free == 16 * MIB
        assert api.get("orGetDeviceProperties", 0).totalGlobalMem == total
        out = ffi.new("void**")
        def refused(size):
            free = api.memory()[0]
            api.check(lib.orMalloc(out, size), "orErrorMemoryAllocation", "^orMalloc: ",
                      rf"\\b{size}\\b", rf"\\b{free}\\b", rf"\\b{total}\\b")
            assert out[0] == ffi.NULL
        refused(total + 1)
        everything = api.malloc(total)
        assert api.memory()[0] == 0
        refused(1)
        api.use(1)
        api.malloc(total, device=1)  # the other device has memory of its own
        api.use(0)
        api.ok(api.free(everything))
        blocks = [api.malloc(MIB) for _ in range(16)]
        refused(1)
        for block in blocks[::2]:
            api.ok(api.free(block))
        assert api.memory()[0] == 8 * MIB
        again = [api.malloc(MIB) for _ in range(8)]
        assert sorted(again) == sorted(blocks[::2]), "the holes are used again"
        random.Random(1).shuffle(blocks)
        for block in blocks:
            api.ok(api.free(block))
        api.ok(api.free(api.malloc(total)))  # neighbours have grown together again
        assert api.memory() == (total, total)
        """,
        env={"OPENREG_SIM": "memory=16MiB"},
    )


@pytest.mark.entry("orMemGetInfo", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_free_memory_falls_with_each_allocation_and_returns_to_the_total(api: OpenReg, device: int) -> None:
    free, total = api.memory(device)
    other = api.memory(1 - device)
    assert free == total == api.get("orGetDeviceProperties", device).totalGlobalMem > 0
    rng = random.Random(0)
    buffers = []
    for _ in range(200):
        size = rng.choice([1, 100, 5000, 70_000])
        buffers.append(api.malloc(size, device))
        now = api.memory(device)[0]
        assert now <= free - size
        free = now
    assert api.memory(1 - device) == other
    rng.shuffle(buffers)
    for buffer in buffers:
        api.ok(api.free(buffer))
    assert api.memory(device) == (total, total)


@pytest.mark.entry("orFree", case="bad")
@pytest.mark.entry("orFreeHost", case="bad")
@pytest.mark.parametrize("entry", ["orFree", "orFreeHost"])
@pytest.mark.parametrize("what", ["interior", "last byte", "one past", "freed", "pageable", "other kind", "wild"])
def test_only_the_start_of_a_live_allocation_can_be_freed(api: OpenReg, entry: str, what: str) -> None:
    device = entry == "orFree"
    mine, other = (api.malloc, api.malloc_host) if device else (api.malloc_host, api.malloc)
    free = api.free if device else api.free_host
    freed = mine(256)
    live = mine(256)
    api.ok(free(freed))
    addresses = {
        "interior": live + 64,
        "last byte": live + 255,
        "one past": live + 256,
        "freed": freed,
        "pageable": api.address(api.host(64)),
        "other kind": other(64),
        "wild": 0xDEAD0000,
    }
    address = addresses[what]
    text = (f"^{entry}: ", r"\bptr\b", rf"(?i)\b0x0*{address:x}\b")
    api.check(api.call(entry, api.pointer(address)), "orErrorInvalidValue", *text)
    api.ok(free(live))


def test_an_interior_pointer_of_an_empty_rest_is_still_interior(api: OpenReg, lib: Any) -> None:
    """Freeing a wrong pointer must not have freed the right one."""
    buffer = api.malloc(4096)
    api.write(buffer, b"abcd" * 1024)
    for offset in (1, 8, 2048, 4095):
        api.check(lib.orFree(api.pointer(buffer + offset)), "orErrorInvalidValue", "ptr")
    assert api.read(buffer, 4096) == b"abcd" * 1024


@pytest.mark.parametrize("current", [0, 1])
@pytest.mark.parametrize("device", [0, 1])
def test_free_waits_for_the_device_of_the_pointer(api: OpenReg, device: int, current: int) -> None:
    buffer = api.malloc(64, device)
    stream = api.stream(device)
    other_gate = api.gate(api.stream(1 - device))
    other_gate.wait_for(1)
    gate = api.gate(stream)

    def free() -> None:
        api.use(current)
        api.ok(api.free(buffer))

    call = Call(free)
    assert call.blocks()
    gate.open()
    call.result()
    assert other_gate.waiting == 1


def test_free_waits_for_a_copy_that_is_queued(api: OpenReg, lib: Any) -> None:
    """On one device, and without a kernel."""
    buffer, pinned = api.malloc(64), api.malloc_host(64)
    api.write(buffer, bytes(range(64)))
    stream = api.stream()
    gate = api.gate(stream)
    api.ok(lib.orMemcpyAsync(api.pointer(pinned), api.pointer(buffer), 64, lib.orMemcpyDefault, stream))
    call = Call(lambda: api.ok(api.free(buffer)))
    assert call.blocks()
    gate.open()
    call.result()
    assert bytes(api.view(pinned, 64)) == bytes(range(64))


def test_a_kernel_that_is_queued_may_still_use_what_is_being_freed(api: OpenReg) -> None:
    log, result = api.log(), api.malloc(8)
    stream = api.stream()
    gate = api.gate(stream)
    api.append(log, 42, stream)
    args = struct.pack("<QQ", result, log + 8)
    api.ok(api.launch(api.kernel("copy_word"), args, [(0, WRITE, 0, 8), (8, READ, 0, 8)], stream))
    call = Call(lambda: api.ok(api.free(log)))
    assert call.blocks()
    gate.open()
    call.result()
    assert api.read_words(result) == [42]


@pytest.mark.parametrize("work", ["copy out of it", "copy into it", "kernel", "copy in a stream that was destroyed"])
@pytest.mark.parametrize(("device", "other"), [(0, 1), (1, 0)])
def test_free_waits_for_the_work_of_other_devices_that_uses_the_memory(
    api: OpenReg, lib: Any, work: str, device: int, other: int
) -> None:
    """Else what is queued reads what the next owner has written there, or writes over it."""
    freed, kept = api.malloc(64, device), api.malloc(64, other)
    api.write_words(freed, 77)
    api.write_words(kept, 78)
    stream = api.stream(other)
    gate = api.gate(stream)
    if work == "kernel":
        api.ok(lib.orDeviceEnablePeerAccess(other, device))
        args = struct.pack("<QQ", kept, freed)
        api.ok(api.launch(api.kernel("copy_word", other), args, [(0, WRITE, 0, 8), (8, READ, 0, 8)], stream))
    else:
        ends = [(kept, other), (freed, device)]
        (dst, dst_device), (src, src_device) = ends[::-1] if "into" in work else ends
        api.ok(lib.orMemcpyPeerAsync(api.pointer(dst), dst_device, api.pointer(src), src_device, 8, stream))
    event = api.record(stream, device=other)
    if "destroyed" in work:
        api.ok(lib.orStreamDestroy(stream))
    frees = [Call(lambda: api.free(freed)) for _ in range(2)]
    assert all(free.blocks() for free in frees)
    gate.open()
    assert sorted(api.name(free.result()) for free in frees) == ["orErrorInvalidValue", "orSuccess"]
    api.ok(lib.orEventSynchronize(event))
    assert api.read_words(kept) == [78 if "into" in work else 77]


def test_free_does_not_wait_for_the_work_of_other_devices_that_uses_other_memory(api: OpenReg, lib: Any) -> None:
    freed, kept, used = api.malloc(64, 1), api.malloc(64), api.malloc(64)
    stream = api.stream(0)
    gate = api.gate(stream)
    api.ok(lib.orMemcpyPeerAsync(api.pointer(kept), 0, api.pointer(used), 0, 8, stream))
    gate.wait_for(1)
    Call(lambda: api.ok(api.free(freed))).result()
    assert gate.waiting == 1


def test_a_pointer_from_before_a_reset_can_be_freed_as_often_as_one_likes(api: OpenReg, lib: Any) -> None:
    buffers = [api.malloc(100) for _ in range(3)]
    api.forget(0)
    for buffer in buffers * 2:
        api.ok(lib.orFree(api.pointer(buffer)))
    assert api.memory()[0] == api.memory()[1]


def test_freeing_a_pointer_from_before_a_reset_never_frees_what_was_allocated_after_it(api: OpenReg, lib: Any) -> None:
    old = []
    for _ in range(5):
        old += [api.malloc(4096) for _ in range(4)]
        api.forget(0)
    new = [api.malloc(4096) for _ in range(4)]
    for number, buffer in enumerate(new):
        api.write(buffer, bytes([number]) * 4096)
    for buffer in old:
        api.ok(lib.orFree(api.pointer(buffer)))
    for number, buffer in enumerate(new):
        assert api.read(buffer, 4096) == bytes([number]) * 4096


def test_a_pointer_from_before_a_reset_is_good_for_nothing_else(api: OpenReg, lib: Any) -> None:
    old = api.malloc(64)
    api.forget(0)
    new = api.malloc(64)
    to, back = lib.orMemcpyHostToDevice, lib.orMemcpyDeviceToHost
    text = (r"\b(dst|src|ptr)\b", rf"(?i)0x0*{old:x}")
    api.check(lib.orMemcpy(api.pointer(old), api.host(64), 64, to), "orErrorInvalidValue", *text)
    api.check(lib.orMemcpy(api.host(64), api.pointer(old), 64, back), "orErrorInvalidValue", *text)
    api.check(lib.orMemset(api.pointer(old), 0, 64), "orErrorInvalidValue", *text)
    api.ok(api.free(new))


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("offset", [0, 8, 4096 - 8])
def test_a_launch_with_a_pointer_from_before_a_reset_is_refused_at_the_call(
    api: OpenReg, lib: Any, device: int, offset: int
) -> None:
    old = api.malloc(4096, device)
    api.forget(device)
    new, stream = api.log(device), api.stream(device)
    elsewhere = api.log(1 - device)
    kernels = {index: api.kernel("append", index) for index in (0, 1)}
    args = struct.pack("<Qq", old + offset, 1)
    for index, on in ((device, stream), (1 - device, api.stream(1 - device))):
        error = api.launch(kernels[index], args, [(0, READ | WRITE, 0, 8)], on)
        whole = f"device {device} from before its reset; expected memory that was allocated after it"
        text = ("orLaunchKernel", "pointers", rf"(?i)0x0*{old + offset:x}", whole)
        api.check(error, "orErrorInvalidValue", *text)
    # Where a kernel touches nothing it doesn't matter what stands there.
    api.ok(api.launch(kernels[device], struct.pack("<Qq", new, 5), [(0, READ | WRITE, 0, 8 * LOG_WORDS)], stream))
    api.append(elsewhere, 6, api.stream(1 - device), 1 - device)
    api.ok(lib.orDeviceSynchronize(0))
    api.ok(lib.orDeviceSynchronize(1))
    assert (api.read_log(new), api.read_log(elsewhere)) == ([5], [6])


# ---------------------------------------------------------------------------------------------------------- attributes


@pytest.mark.entry("orPointerGetAttributes", case="good")
@pytest.mark.parametrize("offset", [0, 1, 500, 999])
@pytest.mark.parametrize("device", [0, 1])
def test_attributes_know_device_memory_from_any_pointer_into_it(api: OpenReg, device: int, offset: int) -> None:
    api.malloc(1000, device)
    buffer = api.malloc(1000, device)
    api.use_another(device)
    found = api.get("orPointerGetAttributes", api.pointer(buffer + offset))
    assert found.type == api.lib.orMemoryTypeDevice
    assert (found.device, api.address(found.base), found.size) == (device, buffer, 1000)


@pytest.mark.parametrize("offset", [0, 1, 500, 999])
@pytest.mark.parametrize("device", [0, 1])
def test_attributes_know_pinned_memory_and_its_device(api: OpenReg, device: int, offset: int) -> None:
    buffer = api.malloc_host(1000, device)
    found = api.get("orPointerGetAttributes", api.pointer(buffer + offset))
    assert found.type == api.lib.orMemoryTypeHost
    assert (found.device, api.address(found.base), found.size) == (device, buffer, 1000)


@pytest.mark.entry("orPointerGetAttributes", case="bad")
@pytest.mark.parametrize("what", ["null", "pageable", "freed", "freed pinned", "one past", "wild"])
def test_attributes_of_an_unknown_address_are_an_answer_and_no_error(api: OpenReg, what: str) -> None:
    freed, freed_pinned = api.malloc(4096), api.malloc_host(4096)
    api.ok(api.free(freed))
    api.ok(api.free_host(freed_pinned))
    addresses = {
        "null": 0,
        "pageable": api.address(api.host(64)),
        "freed": freed,
        "freed pinned": freed_pinned,
        "one past": 0,
        "wild": 0xDEAD0000,
    }
    address = addresses[what]
    if what == "one past":
        address = api.malloc(4096) + 4096
    found = api.get("orPointerGetAttributes", api.pointer(address))
    assert found.type == api.lib.orMemoryTypeUnregistered
    assert (found.device, api.address(found.base), found.size) == (-1, 0, 0)


# -------------------------------------------------------------------------------------------------------------- pinned


@pytest.mark.parametrize("size", [1, 63, 64, 100_000])
def test_pinned_memory_is_aligned_and_the_host_can_use_it(api: OpenReg, size: int) -> None:
    buffers = [api.malloc_host(size) for _ in range(4)]
    for number, buffer in enumerate(buffers):
        assert buffer % 64 == 0
        api.view(buffer, size)[:] = bytes([number]) * size
    for number, buffer in enumerate(buffers):
        assert bytes(api.view(buffer, size)) == bytes([number]) * size
        api.ok(api.free_host(buffer))


def test_pinned_memory_costs_no_device_memory(api: OpenReg) -> None:
    before = api.memory()
    api.malloc_host(1 << 20)
    assert api.memory() == before


@pytest.mark.parametrize("entry", ["orMalloc", "orMallocHost"])
def test_allocating_does_not_wait_for_the_device(api: OpenReg, entry: str) -> None:
    with api.gate(api.stream()) as gate:
        gate.wait_for(1)
        memory = api.get(entry, 4096)
        assert gate.waiting == 1
    api.ok(api.call("orFree" if entry == "orMalloc" else "orFreeHost", memory))


@pytest.mark.parametrize("direction", ["source", "destination"])
def test_freeing_pinned_memory_waits_for_the_copies_that_use_it(api: OpenReg, lib: Any, direction: str) -> None:
    device, pinned = api.malloc(64), api.malloc_host(64)
    api.write(device, b"d" * 64)
    api.view(pinned, 64)[:] = b"p" * 64
    stream = api.stream()
    gate = api.gate(stream)
    ends = (device, pinned) if direction == "source" else (pinned, device)
    api.ok(lib.orMemcpyAsync(*map(api.pointer, ends), 64, lib.orMemcpyDefault, stream))
    call = Call(lambda: api.ok(api.free_host(pinned)))
    assert call.blocks()
    gate.open()
    call.result()
    if direction == "source":
        assert api.read(device, 64) == b"p" * 64


def test_freeing_pinned_memory_that_nobody_uses_does_not_wait_for_copies_of_other_memory(api: OpenReg) -> None:
    idle = api.malloc_host(64)
    with api.gate(api.stream()) as gate:
        gate.wait_for(1)
        Call(lambda: api.ok(api.free_host(idle))).result()
        assert gate.waiting == 1


def test_a_kernel_that_is_given_pinned_memory_fails(api: OpenReg, lib: Any) -> None:
    pinned = api.malloc_host(8 * 256)
    stream = api.stream()
    api.append(pinned, 1, stream)
    api.check(lib.orStreamSynchronize(stream), "orErrorIllegalAddress", "append")


# ------------------------------------------------------------------------------------------------- the host's own reach


def _dies(run_child: Any, code: str, **env: str) -> str:
    done = run_child(code, env=env, code_expected=None)
    assert done.returncode == -signal.SIGSEGV, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "before" in done.stdout and "after" not in done.stdout
    return done.stderr


@pytest.mark.parametrize("check", [False, True], ids=["plain", "checked"])
@pytest.mark.parametrize("access", ["read", "write"])
@pytest.mark.parametrize("place", ["start", "interior", "freed"])
def test_host_code_that_touches_device_memory_dies(run_child: Any, access: str, place: str, check: bool) -> None:
    act = {"read": "byte = pointer[0]", "write": "pointer[0] = 1"}[access]
    code = f"""
        address = api.malloc(1 << 16)
        api.write(address, b"x" * (1 << 16))
        if {place!r} == "interior":
            address += 5000
        if {place!r} == "freed":
            api.ok(api.free(address))
        pointer = ffi.cast("unsigned char*", address)
        print("before", hex(address), flush=True)
        {act}
        print("after", flush=True)
    """
    said = _dies(run_child, code, OPENREG_SIM="check=1" if check else "")
    if check:
        assert re.search(r"0x[0-9a-f]+", said), "in checking mode the text names the address"
        if place != "freed":
            assert "65536" in said and re.search(r"device\D{0,20}0", said), said


def test_another_crash_in_checking_mode_is_still_a_crash(run_child: Any) -> None:
    """The handler for device addresses must hand everything else on."""
    said = _dies(
        run_child,
        """
        api.malloc(64)
        print("before", flush=True)
        ffi.cast("unsigned char*", 16)[0]
        print("after", flush=True)
        """,
        OPENREG_SIM="check=1",
    )
    assert "orMalloc" not in said


def test_in_checking_mode_fresh_and_freed_memory_is_poisoned(run_child: Any) -> None:
    run_child(
        """
        size = 100_000
        fresh = api.malloc(size)
        assert api.read(fresh, size) == b"\\xcb" * size
        api.write(fresh, b"secret" * 10)
        api.ok(api.free(fresh))
        again = api.malloc(size)
        assert again == fresh
        assert api.read(again, size) == b"\\xcb" * size
        """,
        env={"OPENREG_SIM": "check=1"},
    )


def test_the_driver_calls_no_mprotect(library: Any) -> None:
    symbols = run(["nm", "-D", "--undefined-only", library]).stdout
    assert "mprotect" not in symbols
