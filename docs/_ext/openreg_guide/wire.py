"""The wire of the driver `process`, read from its headers: the directives `wireprose`, `wireframes` and `wirestruct`.

Offsets are computed by the rules of C++; a test asks a compiler for the same.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .repository import repository

HEADERS = "openreg/driver/process/wire"
_SCALARS = {"char": 1, "unsigned char": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4, "uint64_t": 8, "int64_t": 8}
_CONSTANT = re.compile(r"constexpr \w+ (k\w+) = ([^;]+);")
_ENUM = re.compile(r"^enum(?: class)? (\w+) : (\w+) \{(.*?)\}", re.M | re.S)
_VALUE = re.compile(r"^  (\w+) = (\d+),?(?:\s*///< (.*))?$", re.M)
_STRUCT = re.compile(r"((?:^///[^\n]*\n)*)^struct (?:alignas\((\d+)\) )?(\w+) \{\n(.*?)^\};", re.M | re.S)
_FIELD = re.compile(
    r"^  (?:alignas\((?P<align>\d+)\) )?(?P<type>std::atomic<\w+>|unsigned char|\w+) (?P<name>\w+)"
    r"(?:\[(?P<count>[^\]]+)\])?"
    r"(?: = [^;{]+|\{[^}]*\})?;(?:\s*///< (?P<what>.*))?$"
)


class Kind(NamedTuple):
    """A kind of frame: its number and name, and what stands beside it."""

    number: int
    name: str
    what: str

    @property
    def is_request(self) -> bool:
        """Whether somebody waits for its answer."""
        return "→" in self.what


class Field(NamedTuple):
    """A field of a structure: where, what it is called, its type with the number of elements, what it means."""

    offset: int
    name: str
    type: str
    what: str


class Struct(NamedTuple):
    """A structure of the wire."""

    name: str
    header: str
    what: str
    size: int
    align: int
    fields: list[Field]


class Wire:
    """What the headers say."""

    def __init__(self, root: Path) -> None:
        """Reads them."""
        self.files = {path.name: path.read_text(encoding="utf-8") for path in sorted((root / HEADERS).glob("*.h"))}
        self._constants: dict[str, int] = {"UINT32_MAX": 2**32 - 1}
        self._sizes: dict[str, tuple[int, int]] = {name: (size, size) for name, size in _SCALARS.items()}
        self.structs: dict[str, Struct] = {}
        # Each includes only those before it.
        for name in ("protocol.h", "frames.h", "fence.h", "channel.h", "board.h"):
            self._read(name, self.files[name])
        kinds = next(match[3] for match in _ENUM.finditer(self.files["frames.h"]) if match[1] == "Kind")
        self.kinds = [Kind(int(number), name, what) for name, number, what in _VALUE.findall(kinds) if name != "kCount"]

    def _number(self, text: str) -> int:
        """The value of an expression of numbers and constants."""
        words = re.sub(r"(?<=[0-9A-Fa-f])'", "", text).replace("Ring::", "")
        return int(eval(words, {"__builtins__": {}}, self._constants))

    def _read(self, header: str, text: str) -> None:
        for name, value in _CONSTANT.findall(text):
            self._constants[name] = self._number(value)
        for name, base, _ in _ENUM.findall(text):
            self._sizes[name] = self._sizes[base]
        for comment, align, name, body in _STRUCT.findall(text):
            what = " ".join(line.removeprefix("///").strip() for line in comment.splitlines())
            self.structs[name] = self._struct(name, header, what, int(align or 1), body)
            self._sizes[name] = self.structs[name].size, self.structs[name].align

    def _struct(self, name: str, header: str, what: str, align: int, body: str) -> Struct:
        fields, end = [], 0
        for line in body.splitlines():
            if line.lstrip().startswith("static"):
                continue
            match = _FIELD.match(line)
            if match is None:
                if re.match(r"^  \w.*;", line) and "(" not in line:
                    raise ValueError(f"{header}: the field {line.strip()!r} of {name} is not understood")
                continue
            one = match["type"].removeprefix("std::atomic<").removesuffix(">")
            size, own = self._sizes[one]
            own = max(own, int(match["align"] or 1))
            align = max(align, own)
            offset = -(-end // own) * own
            count = self._number(match["count"]) if match["count"] else 1
            end = offset + size * count
            fields.append(
                Field(offset, match["name"], one + (f"[{count}]" if match["count"] else ""), match["what"] or "")
            )
        return Struct(name, header, what, -(-end // align) * align, align, fields)

    def prose(self, header: str) -> str:
        """The comment at the head of a file, which is Markdown."""
        comment = re.match(r"/\*\*\n(.*?)\n \*/", self.files[header], re.S)
        lines = [re.sub(r"^ \* ?", "", line) for line in comment[1].splitlines()] if comment else []
        return "\n".join(line for line in lines if not line.startswith("@"))

    def payload(self, kind: Kind) -> list[Struct]:
        """The structures that a kind of frame names."""
        return [self.structs[word] for word in re.findall(r"\w+", kind.what) if word in self.structs]


class _WireDirective(SphinxDirective):
    """Base: what comes from the headers follows them."""

    @property
    def wire(self) -> Wire:
        """The wire as the headers are now."""
        root = repository(self.env).root
        for path in (root / HEADERS).glob("*.h"):
            self.env.note_dependency(str(path))
        return Wire(root)

    def tables(self, text: list[str]) -> list[nodes.Node]:
        """Markdown tables whose first columns are narrow."""
        return [nodes.container("", *self.parse_text_to_nodes("\n".join(text)), classes=["wire"])]


class WireProse(_WireDirective):
    """The comment at the head of a header."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Returns it as if it stood here."""
        return self.parse_text_to_nodes(self.wire.prose(self.arguments[0]))


class WireFrames(_WireDirective):
    """The table of all kinds of frames."""

    def run(self) -> list[nodes.Node]:
        """Returns the table."""
        rows = ["| | kind | | payload and meaning |", "|---|---|---|---|"]
        for kind in self.wire.kinds:
            way = "request" if kind.is_request else "" if kind.name == "Gap" else "posted"
            rows.append(f"| {kind.number} | `{kind.name}` | {way} | {kind.what} |")
        return self.tables(rows)


class WireStruct(_WireDirective):
    """The fields of a structure, of several, or with `frames` of all payloads."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """Returns a table for each."""
        wire = self.wire
        names = self.arguments[0].split()
        if names == ["frames"]:
            names = [name for name, struct in wire.structs.items() if struct.header == "frames.h"]
        text: list[str] = []
        for name in names:
            if name not in wire.structs:
                raise self.error(f"{HEADERS} has no structure {name}; it has {', '.join(wire.structs)}")
            struct = wire.structs[name]
            text += [f"**`{name}`**, {struct.size:,} bytes. {struct.what}".rstrip(), ""]
            text += ["| at | field | type | |", "|---|---|---|---|"]
            text += [
                f"| {field.offset:,} | `{field.name}` | `{field.type}` | {field.what} |" for field in struct.fields
            ]
            text += [""]
        return self.tables(text)


def setup(app: Sphinx) -> None:
    """Registers the directives."""
    app.add_directive("wireprose", WireProse)
    app.add_directive("wireframes", WireFrames)
    app.add_directive("wirestruct", WireStruct)
