"""What the sweep over all native operators measured, and why some are slower than their bar."""

from __future__ import annotations

import json
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

SPEED = Path("docs/speed.json")
REASONS = Path("docs/speed_reasons.toml")

# How many times the CPU's time an operator may take without a reason.
BARS = {"one": 1.5, "million": 2.0}


class Reason(NamedTuple):
    """A class of reasons, and the operators it is the reason for."""

    title: str
    text: str
    one: tuple[str, ...]  # patterns of names, at one element
    million: tuple[str, ...]
    most: float | None = None  # microseconds more than the CPU that it is a reason for; any number if none

    def covers(self, name: str, size: str, figures: dict[str, Any]) -> bool:
        """Whether it is the reason of an operator with these figures at a size."""
        cpu, device = figures[size]
        if self.most is not None and device - cpu > self.most:
            return False
        return any(fnmatchcase(name, pattern) for pattern in (self.one if size == "one" else self.million))


class Reasons(NamedTuple):
    """All classes of reasons."""

    classes: list[Reason]

    def of(self, name: str, size: str, figures: dict[str, Any]) -> Reason | None:
        """The first reason why an operator with these figures may be slow at a size."""
        return next((it for it in self.classes if it.covers(name, size, figures)), None)


def ratio(figures: dict[str, Any], size: str) -> float | None:
    """How many times the CPU's time an operator takes; nothing where the CPU hasn't got it, or not at this size."""
    cpu, device = figures.get(size, (None, None))
    return device / cpu if cpu else None


def above(figures: dict[str, Any], size: str) -> bool:
    """Whether an operator takes longer than its bar."""
    times = ratio(figures, size)
    return times is not None and times > BARS[size]


def speed(root: Path) -> dict[str, dict[str, Any]]:
    """The figures of each operator: `shape`, and at the sizes `one` and `million` microseconds of CPU and openreg."""
    return json.loads((root / SPEED).read_text(encoding="utf-8"))


def reasons(root: Path) -> Reasons:
    """The reasons that are written down."""
    entries = tomllib.loads((root / REASONS).read_text(encoding="utf-8"))["reason"]
    return Reasons(
        [
            Reason(it["title"], it["text"], tuple(it.get("one", ())), tuple(it.get("million", ())), it.get("most"))
            for it in entries
        ]
    )
