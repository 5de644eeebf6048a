"""The table as text, and as JSON."""

from __future__ import annotations

import json
import platform
import textwrap
from collections.abc import Iterable
from importlib import metadata
from itertools import groupby

from .registry import Row, Word

SCHEMA = 1  # grows when a key changes its meaning or goes


def summary(rows: Iterable[Row]) -> dict[str, int]:
    """How often each verdict was given."""
    rows = list(rows)
    return {str(word): sum(row.word == word for row in rows) for word in Word}


def where(row: Row) -> str:
    """The chapter and the function to write."""
    chapter = f"chapter {row.chapter}" if row.chapter[:2].isdigit() else f"page {row.chapter}"
    return f"{chapter}: {row.write}"


def as_text(device: str, rows: list[Row], width: int = 120) -> str:
    """The table for a terminal: what doesn't work has a second line, with the chapter and what to write."""
    lines = [f"device '{device}', torch {metadata.version('torch')}"]
    if not rows:
        return "\n".join([*lines, "", "nothing that was asked for applies to it"])
    words, names = max(map(len, Word)), max(len(row.name) for row in rows)
    start = " " * (words + names + 6)
    for section, members in groupby(rows, key=lambda row: row.section):
        lines += ["", section]
        for row in members:
            about = textwrap.wrap(row.detail, max(width - len(start), 40)) or [""]
            if not row.needs_nothing:
                about += textwrap.wrap(f"→ {where(row)}", max(width - len(start), 40), subsequent_indent="  ")
            lines.append(f"  {row.word:{words}}  {row.name:{names}}  {about[0]}".rstrip())
            lines += [start + line for line in about[1:]]
    counts = ", ".join(f"{number} {word}" for word, number in summary(rows).items() if number)
    return "\n".join([*lines, "", counts])


def as_json(device: str, rows: list[Row]) -> str:
    """The table for programs."""
    document = {
        "schema": SCHEMA,
        "device": device,
        "torch": metadata.version("torch"),
        "python": platform.python_version(),
        "summary": summary(rows),
        "rows": [row.as_dict() for row in rows],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
