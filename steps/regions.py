"""Named regions of a source file: finding them, leaving them out.

A region lies between two comments, `LITERALINCLUDE START: NAME` and `LITERALINCLUDE END: NAME`. Chapters show regions
by name, and a step of the ladder leaves out the regions that a later step adds.
"""

import re
from collections.abc import Callable, Collection
from typing import NamedTuple

MARK = re.compile(r"^\s*(?://|#|<!--)\s*LITERALINCLUDE (START|END): (\S.*?)\s*(?:-->)?\s*$")
OPENS = re.compile(r"[{(\[:]\s*((//|#).*)?$")
CLOSES = re.compile(r"^\s*[})\]]")


class RegionError(ValueError):
    """A marker that is misspelt, unclosed or wrongly nested; the text says where."""


class Line(NamedTuple):
    """A line of a file, with the names of the regions around it, outermost first (a marker lies in its own region)."""

    text: str
    regions: tuple[str, ...]
    mark: str  # START, END, or empty for a line that is no marker


def parse(text: str, where: str) -> list[Line]:
    """Split a text into lines that know their regions; `where` names the file in errors."""
    lines, opened = [], []
    for number, line in enumerate(text.splitlines(), 1):
        kind, name = mark.groups() if "LITERALINCLUDE" in line and (mark := MARK.match(line)) else ("", "")
        if "LITERALINCLUDE" in line and not kind:
            raise RegionError(f"{where}:{number}: a marker is a comment line 'LITERALINCLUDE START: NAME' (or END)")
        if kind == "START":
            if name in opened:
                raise RegionError(f"{where}:{number}: region {name!r} is opened inside itself")
            opened.append(name)
        elif kind == "END" and opened[-1:] != [name]:
            inner = f"the open region is {opened[-1]!r}" if opened else "no region is open"
            raise RegionError(f"{where}:{number}: END of region {name!r}, but {inner}")
        lines.append(Line(line, tuple(opened), kind))
        if kind == "END":
            opened.pop()
    if opened:
        raise RegionError(f"{where}: region {opened[-1]!r} is not closed")
    return lines


def cut(text: str, where: str, later: Collection[str], keep_markers: bool, drops: Callable[[str], bool]) -> str:
    """Leave out the regions named in `later`, and the lines that `drops` is true of.

    What goes leaves one gap where there were two, and none behind an opening or before a closing brace, unless the
    source has one there. The markers of the other regions stay if asked for; which lines stay doesn't depend on that.
    """
    out: list[Line] = []
    edge = swallow = gap = False  # only cuts, markers, empty lines since the last of out; no gap wanted; one is there
    for line in parse(text, where):
        gone = any(name in later for name in line.regions) or (not line.mark and drops(line.text))
        code = [i for i, before in enumerate(out) if not before.mark] if edge or gone or line.mark else []
        if gone or line.mark:
            last = out[code[-1]].text if code else ""
            edge, swallow, gap = True, not last.strip() or bool(OPENS.search(last)), False
            if not gone and keep_markers:
                out.append(line)
            continue
        blank = not line.text.strip()
        gap = gap or blank
        if edge and blank and swallow:
            continue
        if edge and not gap and CLOSES.match(line.text):
            while code and not out[code[-1]].text.strip():
                del out[code.pop()]
        out.append(line)
        edge = edge and blank
    kept = "\n".join(line.text for line in out).rstrip()
    return kept + "\n" if kept else ""
