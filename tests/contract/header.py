"""Reads the contract's headers, so that the tests know every declaration without repeating one."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "openreg" / "driver" / "include"

# Handles by the name of their type. All of them are pointers that are never followed.
HANDLES = ("orStream_t", "orEvent_t", "orModule_t", "orKernel_t", "orSubscriber_t", "orGraph_t", "orGraphExec_t")

_ENTRY = re.compile(
    r"(?:/\*\*(?P<comment>(?:(?!\*/).)*)\*/\s*)?OPENREG_EXPORT\s+(?P<returns>[\w\s*]+?)\s*\b(?P<name>or\w+)\s*"
    r"\((?P<parameters>[^;]*?)\)\s*;",
    re.DOTALL,
)


@dataclass(frozen=True)
class Parameter:
    """One parameter of an entry point."""

    type: str
    name: str

    @property
    def is_out(self) -> bool:
        """True for a pointer through which the entry gives something back."""
        plain = self.type.endswith("*") and not self.type.startswith("const ") and self.type != "void*"
        return plain or self.type.endswith("**")


@dataclass(frozen=True)
class Entry:
    """One entry point with its documentation as plain words."""

    name: str
    returns: str
    parameters: tuple[Parameter, ...]
    documentation: str
    header: str

    @property
    def may_fail(self) -> bool:
        """False for the entries that tell about errors: they have no error of their own."""
        return self.returns == "orError_t" and self.name not in ("orGetLastError", "orPeekAtLastError")


def words(comment: str) -> str:
    """A comment as one line of plain words: no stars, no backticks, no `::` of Doxygen's links."""
    lines = (re.sub(r"^\s*/?\*+/?<?", "", line) for line in comment.splitlines())
    return re.sub(r"\s+", " ", " ".join(lines)).replace("`", "").replace("::", "").replace("*", "").strip()


def _parameters(text: str) -> tuple[Parameter, ...]:
    found = []
    for part in re.sub(r"\s+", " ", text).split(","):
        if part.strip() not in ("", "void", "..."):
            match = re.fullmatch(r"\s*(.*?[\s*])(\w+)\s*", part)
            assert match, f"cannot read the parameter {part!r}"
            found.append(Parameter(match[1].strip().replace(" *", "*"), match[2]))
    return tuple(found)


@functools.cache
def source(name: str) -> str:
    """The text of a header."""
    return (INCLUDE / name).read_text(encoding="utf-8")


@functools.cache
def entries(*headers: str) -> dict[str, Entry]:
    """The entry points that the headers declare, by name, in their order."""
    found = {}
    for header in headers or ("openreg.h", "openreg_sim.h"):
        for match in _ENTRY.finditer(source(header)):
            found[match["name"]] = Entry(
                match["name"],
                re.sub(r"\s+", " ", match["returns"]).replace(" *", "*"),
                _parameters(match["parameters"]),
                words(match["comment"] or ""),
                header,
            )
    return found


@functools.cache
def documentation(name: str) -> str:
    """What an entry's comment says together with the entries it refers to as its own meaning.

    "@brief ::orMemsetAsync on the default stream …" and "@return As ::orMemcpyWithStream" hand the rest over.
    """
    text = entries()[name].documentation
    for other in re.findall(r"(?:@brief|@return (?:As|Of)) (or\w+)\b", text):
        if other in entries() and other != name:
            text += " " + documentation(other)
    return text


@functools.cache
def constant(name: str) -> int:
    """A number that a header defines as a macro."""
    for header in sorted(INCLUDE.glob("*.h")):
        match = re.search(rf"^#define {name} (\w+?)u?$", source(header.name), re.MULTILINE)
        if match:
            return int(match[1], 0)
    raise LookupError(name)


@functools.cache
def table_fields() -> tuple[str, ...]:
    """Names of the functions in OrDriver."""
    return tuple(re.findall(r"orError_t \(\*(\w+)\)", source("openreg_driver.h")))


@functools.cache
def declarations(*headers: str) -> str:
    """The headers as cffi can read them: what is left after the compiler's preprocessor.

    The standard headers are replaced by empty ones, because cffi knows size_t and its like; without __GNUC__ the
    attributes vanish. Nothing else is touched.
    """
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or "cc"
    with tempfile.TemporaryDirectory() as folder:
        for name in ("stddef.h", "stdint.h"):
            Path(folder, name).touch()
        includes = "".join(f'#include "{name}"\n' for name in headers or ("openreg_sim.h",))
        command = [compiler, "-E", "-P", "-nostdinc", "-U__GNUC__", f"-I{INCLUDE}", f"-isystem{folder}", "-xc", "-"]
        done = subprocess.run(command, input=includes, capture_output=True, text=True, check=True)
    return done.stdout
