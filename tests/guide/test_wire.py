"""The reference of the wire is what the headers say, and what a compiler makes of them."""

from __future__ import annotations

import re
import runpy
import struct
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from openreg_guide.wire import HEADERS, Wire

from .conftest import ROOT

WIRE = Wire(ROOT)
ALL = WIRE.structs.values()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """Sizes and offsets according to the compiler: "Hello" → 552, "Hello.options" → 40."""
    folder = tmp_path_factory.mktemp("wire")
    names = [f"sizeof({one.name})" for one in ALL]
    names += [f"offsetof({one.name}, {field.name})" for one in ALL for field in one.fields]
    kinds = [f"size_t(Kind::{kind.name})" for kind in WIRE.kinds]
    printed = "".join(f'  printf("%zu\\n", {name});\n' for name in names + kinds + ["size_t(Kind::kCount)"])
    includes = "".join(f'#include "process/wire/{name}.h"\n' for name in ("frames", "channel", "board"))
    source = folder / "layout.cpp"
    source.write_text(
        f"#include <cstddef>\n#include <cstdio>\n{includes}"
        f"using namespace openreg::process;\nint main() {{\n{printed}}}\n"
    )
    program, driver = folder / "layout", ROOT / "openreg/driver"
    paths = [f"-I{driver}", f"-I{driver}/include"]
    subprocess.run(["c++", "-std=c++20", "-Wno-invalid-offsetof", *paths, "-o", str(program), str(source)], check=True)
    numbers = map(int, subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout.split())
    keys = [one.name for one in ALL] + [f"{one.name}.{field.name}" for one in ALL for field in one.fields]
    return dict(zip([*keys, *(f"Kind::{kind.name}" for kind in WIRE.kinds), "kinds"], numbers, strict=True))


def test_sizes_and_offsets_are_those_of_the_compiler(compiled: dict[str, int]) -> None:
    ours = {one.name: one.size for one in ALL}
    ours |= {f"{one.name}.{field.name}": field.offset for one in ALL for field in one.fields}
    ours |= {f"Kind::{kind.name}": kind.number for kind in WIRE.kinds} | {"kinds": len(WIRE.kinds)}
    assert ours == compiled


def test_every_structure_of_the_headers_is_read() -> None:
    text = "".join((ROOT / HEADERS / name).read_text() for name in ("protocol.h", "frames.h", "channel.h", "board.h"))
    assert set(re.findall(r"^struct (?:alignas\(\d+\) )?(\w+)", text, flags=re.M)) <= WIRE.structs.keys()


@pytest.mark.parametrize("name", [one.name for one in ALL if one.header in ("protocol.h", "frames.h")])
def test_what_is_sent_has_no_gaps(name: str, compiled: dict[str, int]) -> None:
    one = WIRE.structs[name]
    ends = [compiled[f"{name}.{field.name}"] for field in one.fields[1:]] + [compiled[name]]
    for field, end in zip(one.fields, ends, strict=True):
        base, _, count = field.type.partition("[")
        size = {"char": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4, "uint64_t": 8, "int64_t": 8}.get(base, 4)
        assert field.offset + size * int(count.rstrip("]") or 1) == end, field


@pytest.fixture(scope="module")
def in_python() -> SimpleNamespace:
    """The wire as the executor in Python has it; the tests of the wire use the same."""
    return SimpleNamespace(**runpy.run_path(str(ROOT / "openreg/driver/process/python/wire.py")))


def test_python_has_the_same_structures_and_offsets(in_python: SimpleNamespace, compiled: dict[str, int]) -> None:
    layouts = ("Hello", "Welcome", "Grant", "Header", "Answer", "Fence")
    there = {name: getattr(in_python, name.upper()).size for name in layouts}
    there |= {
        "Channel": in_python.CHANNEL_BYTES,
        "Channel.answered": in_python.ANSWERED,
        "Channel.answer": in_python.ANSWER_AT,
        "Ring.written": in_python.WRITTEN,
        "Ring.rest": in_python.REST,
        "Ring.sleepers": in_python.SLEEPERS,
        "Ring.taken": in_python.TAKEN,
        "Ring.bytes": in_python.RING,
        "Board": in_python.BOARD_BYTES,
        "HostBoard": in_python.HOST_BYTES,
        "HostBoard.lost": in_python.LOST,
        "HostBoard.streams": in_python.HOST_STREAMS,
        "DeviceBoard": in_python.DEVICE_BYTES,
        "DeviceBoard.failed": in_python.FAILED,
        "DeviceBoard.error": in_python.ERROR,
        "DeviceBoard.text": in_python.TEXT,
        "DeviceBoard.sleepers": in_python.DEVICE_SLEEPERS,
        "DeviceBoard.lastWords": in_python.LAST_WORDS,
        "DeviceBoard.streams": in_python.STREAMS,
    }
    assert there == {name: compiled[name] for name in there}


def test_python_has_the_same_kinds_of_frames(in_python: SimpleNamespace) -> None:
    assert [kind.name for kind in WIRE.kinds] == [
        "".join(word.capitalize() for word in name.split("_")) for name in in_python.KINDS
    ]


def test_python_has_payloads_of_the_same_size(in_python: SimpleNamespace, compiled: dict[str, int]) -> None:
    for kind, (form, _) in zip(WIRE.kinds, in_python.PAYLOADS.values(), strict=True):
        carried = [one for one in WIRE.payload(kind) if one.header == "frames.h" and "Answer" not in one.name]
        asked = [] if kind.what.startswith(("→", "The path")) else carried[:1]
        assert struct.calcsize("<" + form) == sum(compiled[one.name] for one in asked), kind


def test_the_page_has_every_kind_of_frame_and_every_structure(site: Path) -> None:
    html = (site / "reference/wire.html").read_text()
    shown = re.sub(r"<[^>]+>", " ", html)
    for kind in WIRE.kinds:
        assert re.search(rf"\b{kind.number}\s+{kind.name}\b", shown), kind
    for one in ALL:
        assert re.search(rf"\b{one.name}\s+, {one.size:,} bytes", shown), one.name
    assert "Who is there." in shown


def test_tables_in_the_headers_are_whole() -> None:
    """A formatter that wraps a row of a comment makes two of it, and neither has all columns."""
    for path in (ROOT / HEADERS).glob("*.h"):
        rows = [line for line in path.read_text().splitlines() if re.match(r" \* .*\|", line)]
        assert all(line.startswith(" * |") and line.endswith("|") for line in rows), path.name
        assert len({line.count("|") for line in rows}) <= 1, path.name
