"""Reading the guide's Markdown, as far as the tests need it: its fences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_OPEN = re.compile(r"^(\s*)(`{3,}|:{3,})(\{[\w:-]+\}|[\w+-]*)[ \t]*(.*)$")


class Fence(NamedTuple):
    """A fenced block: a directive such as `{region}`, or code in a language."""

    kind: str
    argument: str
    line: int
    body: list[str]

    @property
    def options(self) -> dict[str, str]:
        """The `:name: value` lines at its start."""
        found = {}
        for line in self.body:
            match = re.match(r"^:([\w-]+):\s*(.*)$", line)
            if not match:
                break
            found[match[1]] = match[2]
        return found


def fences(path: Path) -> Iterator[Fence]:
    """All fences of a file, those inside other fences too."""
    yield from _scan(path.read_text(encoding="utf-8").splitlines(), 1)


def _scan(lines: list[str], first: int) -> Iterator[Fence]:
    index = 0
    while index < len(lines):
        match = _OPEN.match(lines[index])
        if not match:
            index += 1
            continue
        mark, start = match[2], index
        index += 1
        while index < len(lines) and not re.match(rf"^\s*{re.escape(mark[0])}{{{len(mark)},}}\s*$", lines[index]):
            index += 1
        body = lines[start + 1 : index]
        yield Fence(match[3].strip("{}") if match[3].startswith("{") else match[3], match[4], first + start, body)
        if match[3].startswith("{"):
            yield from _scan(body, first + start + 1)
        index += 1
