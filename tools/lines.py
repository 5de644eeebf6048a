"""Keeps docs/lines.toml: how many lines each folder has, and why it grew.

`make format` lowers a figure when its folder has shrunk. Nothing raises one: `make lint` fails when a folder has grown,
and whoever made it grow writes the new figure and the reason.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from files import ROOT

FILE = ROOT / "docs" / "lines.toml"
SUFFIXES = {".c", ".cmake", ".cpp", ".css", ".h", ".js", ".md", ".py", ".pyi", ".sh", ".toml"}
GENERATED = re.compile(r"tests/recorded/|examples/[^/]+/generated/|docs/steps/\d|steps/\d[^/]*/README")


def slack(lines: int) -> int:
    """Returns by how many lines a folder may differ from its figure."""
    return max(lines // 20, 50)


def read() -> dict[str, dict]:
    """Returns the rows, by folder."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


def count(files: Iterable[Path], folders: Iterable[str]) -> Counter[str]:
    """Counts lines that are not empty. A file counts for the innermost of the folders, or else for its first one."""
    lines: Counter[str] = Counter(dict.fromkeys(folders, 0))
    for file in files:
        name = file.relative_to(ROOT)
        if len(name.parts) == 1 or name.parts[0].startswith(".") or file.suffix not in SUFFIXES:
            continue
        if not GENERATED.match(name.as_posix()):
            place = next((it.as_posix() for it in name.parents if it.as_posix() in folders), name.parts[0])
            lines[place] += sum(bool(line.strip()) for line in file.read_text(encoding="utf-8").splitlines())
    return lines


def complaints(lines: Counter[str], rows: dict[str, dict]) -> Iterator[str]:
    """Yields what is wrong: folders that have grown, or have no row."""
    for folder, now in lines.items():
        row = rows.get(folder, {"lines": 0})
        if now > row["lines"] + slack(row["lines"]) or not row.get("why"):
            yield f"{folder}: has {now} lines, {FILE.name} says {row['lines']}; write lines = {now} and why into it"


def renewed(text: str, lines: Counter[str], rows: dict[str, dict]) -> str:
    """Returns the text of the table with lower figures where folders have shrunk."""
    for folder, row in rows.items():
        if lines[folder] < row["lines"] - slack(row["lines"]):
            text = re.sub(rf'(?m)^(\["?{re.escape(folder)}"?\]\nlines = )\d+', rf"\g<1>{lines[folder]}", text)
    return text


def check_lines(files: list[Path]) -> str:
    """Returns what is wrong, or nothing."""
    return "\n".join(complaints(count(files, rows := read()), rows))


def fix_lines(files: list[Path]) -> str:
    """Lowers figures."""
    FILE.write_text(renewed(FILE.read_text(encoding="utf-8"), count(files, rows := read()), rows), encoding="utf-8")
    return ""
