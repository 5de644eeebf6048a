"""Modules, kernels and launches: what a kernel sees, what a launch refuses, what is found out late."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest

from . import header
from .conftest import CompileFunction
from .harness import LOG_WORDS, READ, WRITE, OpenReg

MAX_BYTES = header.constant("OPENREG_MAX_ARGUMENT_BYTES")
MAX_POINTERS = header.constant("OPENREG_MAX_POINTER_ARGS")


@pytest.mark.entry("orModuleLoad", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_loading_a_module_twice_gives_the_same_handle(api: OpenReg, device: int) -> None:
    for name in (b"openreg", api.probe_path.encode()):
        first = api.on(device, "orModuleLoad", name)
        assert api.on(device, "orModuleLoad", name) == first
        assert api.on(1 - device, "orModuleLoad", name) != first


@pytest.mark.entry("orModuleLoad", case="bad")
@pytest.mark.parametrize("name", ["nonsense", "", "openreg2", "/no/such/file.so", "./openreg"])
def test_a_module_that_does_not_exist_is_not_found(api: OpenReg, lib: Any, name: str) -> None:
    out = api.ffi.new("orModule_t*")
    error = lib.orModuleLoad(out, name.encode())
    api.check(error, "orErrorNotFound", "^orModuleLoad: ", r"\bname\b", f"['\"]{re.escape(name)}['\"]")


def test_a_library_that_is_no_module_is_not_found_and_the_text_says_why(
    api: OpenReg, lib: Any, tmp_path: Path, compile_library: CompileFunction
) -> None:
    source = tmp_path / "empty.c"
    source.write_text("int nothing_here;\n")
    path = compile_library(source)
    text = ("^orModuleLoad: ", r"\bname\b", str(path), "orGetKernels")
    api.check(lib.orModuleLoad(api.ffi.new("orModule_t*"), str(path).encode()), "orErrorNotFound", *text)
    wrong = tmp_path / "text.so"
    wrong.write_text("this is no library")
    error = lib.orModuleLoad(api.ffi.new("orModule_t*"), str(wrong).encode())
    api.check(error, "orErrorNotFound", "^orModuleLoad: ", r"\bname\b", str(wrong))


@pytest.mark.entry("orModuleGetKernel", case="good")
@pytest.mark.parametrize("device", [0, 1])
def test_a_kernel_is_found_by_its_name(api: OpenReg, device: int) -> None:
    module = api.on(device, "orModuleLoad", api.probe_path.encode())
    append = api.get("orModuleGetKernel", module, b"append")
    assert api.get("orModuleGetKernel", module, b"append") == append
    assert api.get("orModuleGetKernel", module, b"nothing") != append


@pytest.mark.entry("orModuleGetKernel", case="bad")
@pytest.mark.parametrize("name", ["", "appen", "append2", "Append", "report\n"])
def test_an_unknown_kernel_is_not_found(api: OpenReg, lib: Any, name: str) -> None:
    module = api.get("orModuleLoad", api.probe_path.encode())
    error = lib.orModuleGetKernel(api.ffi.new("orKernel_t*"), module, name.encode())
    api.check(error, "orErrorNotFound", "^orModuleGetKernel: ", r"\bname\b", f"['\"]{re.escape(name)}['\"]")


@pytest.mark.parametrize("name", ["fill", "copy", "add"])
def test_the_repositorys_own_module_has_its_first_kernels(api: OpenReg, name: str) -> None:
    """Asking is how one learns what a device can do, so the names are part of the contract."""
    assert api.address(api.kernel(name, module="openreg")) != 0


# ---------------------------------------------------------------------------------------------- what a kernel is given


@pytest.mark.entry("orLaunchKernel", case="good")
@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("offset", [0, 8, 80])
def test_a_kernel_writes_through_start_and_interior_pointers(api: OpenReg, device: int, offset: int) -> None:
    buffer = api.malloc(96, device)
    api.write(buffer, bytes(96))
    api.use_another(device)
    api.append(log := api.log(device), 7, stream := api.stream(device), device)
    args = struct.pack("<QQ", buffer + offset, log + 8)
    pointers = [(0, WRITE, 0, 8), (8, READ, 0, 8)]
    api.ok(api.launch(api.kernel("copy_word", device), args, pointers, stream))
    api.synchronize(stream)
    expected = [0] * 12
    expected[offset // 8] = 7
    assert api.read_words(buffer, 12) == expected


def test_arguments_are_copied_before_the_launch_returns(api: OpenReg) -> None:
    log = api.log()
    stream = api.stream()
    args = bytearray(struct.pack("<Qq", log, 1))
    with api.gate(stream):
        pointers = api.pointer_args((0, READ | WRITE, 0, 2048))
        raw = api.ffi.from_buffer(args)
        api.ok(api.lib.orLaunchKernel(api.kernel("append"), raw, len(args), pointers, 1, stream))
        args[:] = b"\xff" * len(args)
        pointers[0].offset = 4096
        pointers[0].extent = 2**40
    api.synchronize(stream)
    assert api.read_log(log) == [1]


def test_arguments_are_aligned_to_sixteen_bytes(api: OpenReg) -> None:
    result = api.malloc(8)
    for shift in range(8):
        api.write_words(result, -1)
        raw = api.host(bytes(shift) + struct.pack("<Q", result))
        pointers = api.pointer_args((0, WRITE, 0, 8))
        api.ok(api.lib.orLaunchKernel(api.kernel("alignment"), raw + shift, 8, pointers, 1, api.default_stream()))
        assert api.read_words(result) == [0]


def test_the_largest_number_of_argument_bytes_arrives(api: OpenReg) -> None:
    result = api.malloc(8)
    rest = bytes(number % 251 for number in range(MAX_BYTES - 8))
    args = struct.pack("<Q", result) + rest
    api.ok(api.launch(api.kernel("sum_arguments"), args, [(0, WRITE, 0, 8)], api.default_stream()))
    assert api.read_words(result) == [sum(rest)]


def test_the_largest_number_of_pointers_is_translated(api: OpenReg) -> None:
    buffers = [api.malloc(8) for _ in range(MAX_POINTERS)]
    args = struct.pack(f"<{MAX_POINTERS}Q", *buffers)
    pointers = [(8 * number, WRITE, 0, 8) for number in range(MAX_POINTERS)]
    api.ok(api.launch(api.kernel("scatter"), args, pointers, api.default_stream()))
    assert [api.read_words(buffer)[0] for buffer in buffers] == list(range(MAX_POINTERS))


@pytest.mark.parametrize("args", ["null", "empty"])
def test_a_launch_without_arguments_may_give_null(api: OpenReg, args: str) -> None:
    raw = api.ffi.NULL if args == "null" else b""
    stream = api.stream()
    api.ok(api.lib.orLaunchKernel(api.kernel("nothing"), raw, 0, api.ffi.NULL, 0, stream))
    api.synchronize(stream)


@pytest.mark.parametrize(("count", "grain"), [(0, 1), (1, 1), (1000, 1), (1000, 300), (1000, 5000), (1 << 20, 1000)])
def test_a_parallel_loop_visits_each_index_once_in_pieces_of_the_grain(api: OpenReg, count: int, grain: int) -> None:
    values, results = api.malloc(8 * max(count, 1)), api.malloc(16)
    api.ok(api.lib.orMemset(api.pointer(values), 0, 8 * max(count, 1)))
    args = struct.pack("<QqqQQ", values, count, grain, results, results + 8)
    pointers = [(0, READ | WRITE, 0, 8 * count), (24, WRITE, 0, 8), (32, WRITE, 0, 8)]
    api.ok(api.launch(api.kernel("squares"), args, pointers, api.default_stream()))
    pieces, smallest = api.read_words(results, 2)
    assert api.read_words(values, count) == [index * index for index in range(count)]
    assert (pieces == 0) if count == 0 else (1 <= pieces <= max(1, -(-count // grain)))
    assert smallest >= grain


def test_a_negative_lower_bound_reaches_before_the_pointer(api: OpenReg) -> None:
    buffer = api.malloc(32)
    api.write_words(buffer, 11, 22, 33, 44)
    args = struct.pack("<Q", buffer + 16)
    api.ok(api.launch(api.kernel("copy_from_before"), args, [(0, READ | WRITE, -8, 16)], api.default_stream()))
    assert api.read_words(buffer, 4) == [11, 22, 22, 44]


def test_two_descriptors_may_describe_one_pointer_and_each_is_checked(api: OpenReg, lib: Any) -> None:
    log, stream = api.log(), api.stream()
    args = struct.pack("<Qq", log, 42)
    twice = [(0, READ, 0, 8), (0, WRITE, 0, 8 * LOG_WORDS), (0, READ | WRITE, 8, 8)]
    api.ok(api.launch(api.kernel("append"), args, twice, stream))
    api.synchronize(stream)
    assert api.read_log(log) == [42]
    twice[1] = (0, WRITE, 0, 8 * LOG_WORDS + 1)
    api.ok(api.launch(api.kernel("append"), args, twice, stream))
    api.check(lib.orStreamSynchronize(stream), "orErrorIllegalAddress", "append", hex(log))


@pytest.mark.parametrize("access", [READ, WRITE])
def test_a_pointer_with_an_extent_of_zero_may_be_null(api: OpenReg, access: int) -> None:
    stream = api.stream()
    api.ok(api.launch(api.kernel("nothing"), struct.pack("<Q", 0), [(0, access, 0, 0)], stream))
    api.synchronize(stream)


def test_a_kernel_may_be_given_a_whole_allocation_to_its_last_byte(api: OpenReg) -> None:
    buffer = api.malloc(1000)
    stream = api.stream()
    args = struct.pack("<Q", buffer + 500)
    api.ok(api.launch(api.kernel("nothing"), args, [(0, READ | WRITE, -500, 1000)], stream))
    api.synchronize(stream)


# ---------------------------------------------------------------------------------------- what is refused at the call


@pytest.mark.entry("orLaunchKernel", case="bad")
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("too many bytes", (r"\bargsSize\b", r"\b4097\b", r"\b4096\b")),
        ("too many pointers", (r"\bpointerCount\b", r"\b65\b", r"\b64\b")),
        ("no bytes", (r"\bargs\b", r"\bnull\b")),
        ("no pointers", (r"\bpointers\b", r"\bnull\b")),
        ("offset misaligned", (r"\bpointers'?\[0\]", r"\boffset\b", r"\b4\b")),
        ("offset at the end", (r"\bpointers'?\[0\]", r"\boffset\b", r"\b16\b")),
        ("offset reaches over the end", (r"\bpointers'?\[1\]", r"\boffset\b", r"\b8\b")),
        ("offset far away", (r"\bpointers'?\[0\]", r"\boffset\b", r"\b4294967288\b")),
        ("no access", (r"\bpointers'?\[0\]", r"\baccess\b", r"\b0(x0)?\b")),
        ("unknown access", (r"\bpointers'?\[0\]", r"\baccess\b", r"\b(0x)?4\b")),
        ("too few bytes", (r"\bargsSize\b", r"\b8\b", r"\b16\b", "append")),
    ],
)
def test_a_launch_that_contradicts_itself_is_refused(api: OpenReg, what: str, words: tuple[str, ...]) -> None:
    buffer = api.malloc(8 * 256)
    size, count, args = 16, 1, api.host(8192)
    pointers: list[tuple[int, int, int, int]] = [(0, READ | WRITE, 0, 8)] * 80
    kernel = api.kernel("nothing")
    struct.pack_into("<Q", api.ffi.buffer(args), 0, buffer)
    changed = {
        "offset misaligned": (4, READ, 0, 8),
        "offset at the end": (16, READ, 0, 8),
        "offset far away": (2**32 - 8, READ, 0, 8),
        "no access": (0, 0, 0, 8),
        "unknown access": (0, 4, 0, 8),
    }
    if what in changed:
        pointers = [changed[what]]
    elif what == "too many bytes":
        size = MAX_BYTES + 1
    elif what == "too many pointers":
        count = MAX_POINTERS + 1
    elif what == "offset reaches over the end":
        size, count, pointers = 12, 2, [(0, READ, 0, 8), (8, READ, 0, 8)]
    elif what == "too few bytes":
        size, count, kernel = 8, 0, api.kernel("append")
    raw = api.ffi.NULL if what == "no bytes" else args
    descriptors = api.ffi.NULL if what == "no pointers" else api.pointer_args(*pointers)
    error = api.lib.orLaunchKernel(kernel, raw, size, descriptors, count, api.default_stream())
    api.check(error, "orErrorInvalidValue", "^orLaunchKernel: ", *words)
    api.ok(api.lib.orDeviceSynchronize(0))


@pytest.mark.parametrize("device", [0, 1])
def test_a_kernel_of_another_device_than_the_streams_is_refused(api: OpenReg, device: int) -> None:
    error = api.launch(api.kernel("nothing", device), b"", [], api.stream(1 - device))
    api.check(error, "orErrorInvalidHandle", "^orLaunchKernel: ", r"\b(kernel|stream)\b", r"\bdevice\b")


# ------------------------------------------------------------------------------------- what the device finds out later


ILLEGAL = {
    "null": lambda a: (0, 0, 8),
    "freed": lambda a: (a["freed"], 0, 8),
    "pageable": lambda a: (a["pageable"], 0, 8),
    "pinned": lambda a: (a["pinned"], 0, 8),
    "of another device": lambda a: (a["other"], 0, 8),
    "wild": lambda a: (0xDEAD0000, 0, 8),
    "largest": lambda a: (2**64 - 8, 0, 8),
    "one byte too long": lambda a: (a["live"], 0, 65),
    "one byte too early": lambda a: (a["live"], -1, 8),
    "behind the end": lambda a: (a["live"] + 64, 0, 1),
    "beyond the end": lambda a: (a["live"], 64, 1),
    "wraps": lambda a: (a["live"] + 8, 0, 2**64 - 4),
    "lower wraps": lambda a: (a["live"], -(2**63), 8),
    "two allocations": lambda a: (a["live"], 0, a["next"] - a["live"] + 8),
}


@pytest.mark.parametrize("access", [READ, WRITE, READ | WRITE])
@pytest.mark.parametrize("what", ILLEGAL)
def test_memory_outside_a_live_allocation_fails_the_device_with_the_kernels_name(
    api: OpenReg, lib: Any, what: str, access: int
) -> None:
    places = {"freed": api.malloc(64), "other": api.malloc(64, 1), "pageable": api.address(api.host(64))}
    api.ok(api.free(places["freed"]))
    low, high = sorted((api.malloc(64), api.malloc(64)))
    places |= {"live": low, "next": high, "pinned": api.malloc_host(64)}
    if what == "freed":
        api.ok(api.free(low if places["freed"] == low else high))
        places["freed"] = low if places["freed"] == low else high
    address, lower, extent = ILLEGAL[what](places)
    stream = api.stream()
    api.ok(api.launch(api.kernel("nothing"), struct.pack("<Q", address), [(0, access, lower, extent)], stream))
    error = lib.orStreamSynchronize(stream)
    written = rf"(?i)0x0*{address:x}\b" if address else r"(?i)null|0x0\b"
    api.check(error, "orErrorIllegalAddress", r"\bnothing\b", written)


def test_a_pointer_is_checked_when_the_kernel_has_its_turn(api: OpenReg, lib: Any) -> None:
    stream = api.stream()
    gate = api.gate(stream)
    api.ok(api.launch(api.kernel("nothing"), struct.pack("<Q", 0xDEAD0000), [(0, READ, 0, 8)], stream))
    gate.wait_for(1)
    assert not api.is_done(stream)
    gate.open()
    api.check(lib.orStreamSynchronize(stream), "orErrorIllegalAddress", "nothing")
