"""What keeps sums of lines small: growth without a reason is found, and figures sink by themselves."""

import sys
from pathlib import Path

import pytest

from .conftest import REPOSITORY

sys.path.append(str(REPOSITORY / "tools"))
import lines
import lint

ROWS = {"openreg": {"lines": 2000, "why": "drivers"}, "openreg/csrc": {"lines": 100, "why": "operators"}}


@pytest.mark.parametrize(
    ("folder", "now", "found"),
    [("openreg", 2100, False), ("openreg", 2101, True), ("openreg/csrc", 150, False), ("openreg/csrc", 151, True)],
)
def test_a_folder_that_has_grown_needs_a_reason(folder: str, now: int, found: bool) -> None:
    said = list(lines.complaints({folder: now}, ROWS))
    text = f"{folder}: has {now} lines, lines.toml says {ROWS[folder]['lines']}; write lines = {now} and why into it"
    assert said == ([text] if found else [])


def test_a_folder_needs_a_row_and_a_row_a_reason() -> None:
    assert [it.split(":")[0] for it in lines.complaints({"new": 51}, ROWS)] == ["new"]
    assert len(list(lines.complaints({"openreg": 1}, {"openreg": {"lines": 1, "why": ""}}))) == 1


def test_lines_count_for_the_innermost_folder_and_only_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "ROOT", tmp_path)
    names = ["openreg/a.h", "openreg/csrc/deep/b.cpp", "new/c.py", "top.py", ".ci/d.sh", "openreg/speed.json"]
    made = ["tests/recorded/e.toml", "steps/01-it/README.md", "docs/steps/01-it.md"]
    for file in (files := [tmp_path / name for name in names + made]):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("one\n\n  \ntwo\n")
    assert lines.count(files, ROWS) == {"openreg": 2, "openreg/csrc": 2, "new": 2}


def test_a_figure_sinks_by_itself_and_never_rises() -> None:
    text = '[openreg]\nlines = 2000\nwhy = "drivers"\n\n["openreg/csrc"]\nlines = 100\nwhy = "operators"\n'
    assert lines.renewed(text, {"openreg": 2900, "openreg/csrc": 51}, ROWS) == text
    assert lines.renewed(text, {"openreg": 1900, "openreg/csrc": 49}, ROWS) == text.replace("100", "49")
    assert lines.renewed(text, {"openreg": 1899, "openreg/csrc": 99}, ROWS) == text.replace("2000", "1899")


def test_lint_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for other in ("run", "check_text", "check_workflows", "check_tidy"):
        monkeypatch.setattr(lint, other, lambda *_: "")
    files = [REPOSITORY / "tools" / "lint.py"]
    monkeypatch.setattr(lines, "read", lambda: {"tools": {"lines": 10, "why": "a start"}})
    assert [it for it in lint.check(files, everything=False) if it.startswith("tools: has ")] != []
    monkeypatch.setattr(lines, "read", lambda: {"tools": {"lines": 1000, "why": "a start"}})
    assert [it for it in lint.check(files, everything=False) if it.startswith("tools: has ")] == []
