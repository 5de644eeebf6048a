"""What `make gpu` has recorded: each part's figures, what each is to reach, and why something misses it."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

RECORD = Path("docs/gpu.json")
REASONS = Path("docs/gpu_reasons.toml")
# The parts in their order, and what each is about.
PARTS = {
    "kernels": "kernels compiled for this GPU",
    "contract": "the contract's tests, two devices",
    "backend": "the tests of the PyTorch side, two devices",
    "train": "networks that train, beside the CPU",
    "operators": "operators and training steps, beside PyTorch's own device cuda",
    "sanitizer": "the contract's kernels and copies, under compute-sanitizer",
}
UNEXPLAINED = "no reason is written down"

Figure = dict[str, Any]  # name, value, unit; beside, most, least, times, note


class Miss(NamedTuple):
    """Something that does not hold: a test function or, by "part: name", a figure; what was said; of how many tests."""

    what: str
    why: str
    count: int = 1


class Reason(NamedTuple):
    """Why some things do not hold on a GPU: a text, patterns of what they are, and patterns of what is said."""

    text: str
    tests: tuple[str, ...]
    said: tuple[str, ...]
    not_asked: bool  # of a GPU: such tests count neither way

    def fits(self, miss: Miss) -> bool:
        """Whether one of the patterns does."""
        tests = any(fnmatchcase(miss.what, pattern) for pattern in self.tests)
        return tests or any(fnmatchcase(miss.why, pattern) for pattern in self.said)


def reasons(root: Path) -> list[Reason]:
    """The reasons that are written down, in their order."""
    entries = tomllib.loads((root / REASONS).read_text(encoding="utf-8"))["reason"]
    return [
        Reason(it["text"], tuple(it.get("tests", ())), tuple(it.get("said", ())), it.get("not_asked", False))
        for it in entries
    ]


def reason_of(miss: Miss, explained: list[Reason]) -> Reason | None:
    """The first reason that fits, or None."""
    return next((reason for reason in explained if reason.fits(miss)), None)


def by_reason(misses: list[Miss], explained: list[Reason]) -> Counter[str]:
    """How many tests each reason is for, the most frequent first."""
    found: Counter[str] = Counter()
    for miss in misses:
        reason = reason_of(miss, explained)
        found[reason.text if reason else UNEXPLAINED] += miss.count
    return Counter(dict(found.most_common()))


def grouped(tests: Iterable[tuple[str, str]]) -> list[Miss]:
    """Tests and what was said of each, the parametrisations of a test that say the same as one."""
    found = Counter((test.partition("[")[0], why) for test, why in tests)
    return [Miss(what, why, count) for (what, why), count in found.items()]


def read(path: Path) -> dict[str, Any]:
    """The record: what each part said last, by its name. Empty as long as nothing has run on a GPU."""
    if not path.exists():
        return {}
    parts = json.loads(path.read_text(encoding="utf-8"))["parts"]
    return {name: parts[name] for name in PARTS if name in parts}


def write(path: Path, parts: dict[str, Any]) -> None:
    """Writes the record, in the order of the parts."""
    ordered = {name: parts[name] for name in PARTS if name in parts}
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps({"parts": ordered}, indent=1) + "\n", encoding="utf-8")
    beside.replace(path)  # who stops the run in the middle finds all or nothing


def misses(part: dict[str, Any]) -> list[Miss]:
    """What does not hold of a part's tests."""
    return [Miss(*it) for it in part.get("misses", [])]


def number(value: float) -> str:
    """A number with three digits that say something; all digits of one that counts."""
    return str(int(value)) if value == int(value) and abs(value) < 1e6 else f"{float(f'{value:.3g}'):g}"


def verdict(figure: Figure) -> tuple[str, bool]:
    """What a figure is to reach, by `most`, `least` or `times` (a multiple of `beside`), and whether it misses it."""
    value = figure["value"]
    if (bar := figure.get("most")) is not None:
        return f"at most {number(bar)}", value > bar
    if (bar := figure.get("least")) is not None:
        return f"at least {number(bar)}", value < bar
    if (bar := figure.get("times")) is not None and figure.get("beside"):
        return f"× {number(bar)}", value > bar * figure["beside"]
    return "", False
