"""What `make bench` measured beside the operators, what each figure is to reach, and why some don't reach it."""

from __future__ import annotations

import json
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

BENCH = Path("docs/bench.json")
REASONS = Path("docs/bench_reasons.toml")

Figure = dict[str, Any]


def bench(root: Path) -> dict[str, Any]:
    """The last run: `time`, `cores`, `effective before`, `effective after`, and `figures` in the order of the run."""
    return json.loads((root / BENCH).read_text(encoding="utf-8"))


def free_cores(run: dict[str, Any]) -> float:
    """How many cores a run had for itself."""
    return min(run["cores"], run["effective before"], run["effective after"])


def number(value: float) -> str:
    """A number with three digits that say something."""
    return f"{float(f'{value:.3g}'):g}"


def verdict(figure: Figure, cores: float) -> tuple[str, bool]:
    """What a figure is to reach, and whether it misses it.

    Args:
        figure: With a bar by `most`, `least` or `times`, a multiple of the CPU's; or with none.
        cores: That the run had for itself. Some figures say little on fewer than they need.
    """
    for kind, reached in (
        ("most", lambda bar: figure["value"] <= bar),
        ("least", lambda bar: figure["value"] >= bar),
        ("times", lambda bar: figure["value"] <= bar * figure["cpu"]),
    ):
        if (bar := figure.get(kind)) is not None:
            if cores < figure.get("cores", 0) - 0.2:
                return f"not counted: needs {figure['cores']} cores of its own", False
            return f"× {number(bar)}" if kind == "times" else f"at {kind} {number(bar)}", not reached(bar)
    return "", False


def reasons(root: Path) -> list[tuple[str, tuple[str, ...]]]:
    """The reasons that are written down: of each the text, and patterns of `part: name`."""
    entries = tomllib.loads((root / REASONS).read_text(encoding="utf-8"))["reason"]
    return [(it["text"], tuple(it["rows"])) for it in entries]


def reason_of(figure: Figure, explained: list[tuple[str, tuple[str, ...]]]) -> str | None:
    """Why a figure misses its bar, or None if nothing is written down."""
    name = f"{figure['part']}: {figure['name']}"
    return next((text for text, rows in explained if any(fnmatchcase(name, row) for row in rows)), None)
