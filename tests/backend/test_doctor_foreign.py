"""What the doctor said of backends that others have written: recorded tables, and the page that is made of them.

The tables come from `python openreg/torch_openreg/doctor --device NAME`, below lines that say what was examined. Nobody
builds those backends here, so the tests are about the page alone.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from torch_openreg.doctor import examination  # noqa: F401 - registers the probes
from torch_openreg.doctor.registry import PROBES

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "recorded" / "doctor_others"
TABLE = ROOT / "tests" / "recorded" / "doctor_others.md"
PAGE = ROOT / "docs" / "guide" / "what-backends-get-wrong.md"
ROW = re.compile(r"^  (works|missing|silently does nothing|wrong) +(\S.*?)(?:  +(.*))?$", re.M)
SIGNS = {"works": "✓", "missing": "–", "silently does nothing": "silent", "wrong": "wrong", "": ""}
COLUMNS = {"torch_openreg_2.10.txt": "torch_openreg, PyTorch 2.10", "torch_mcpu.txt": "torch_mcpu"}


def verdicts(file: str) -> dict[str, str]:
    """Row -> word."""
    return {name: word for word, name, _ in ROW.findall((FOLDER / file).read_text())}


def table() -> str:
    """A row a mechanism, a column a backend; what is about the machine alone is left out."""
    lines = [f"| | {' | '.join(COLUMNS.values())} |", "|---|" + ":-:|" * len(COLUMNS)]
    found, section = [verdicts(file) for file in COLUMNS], ""
    for name, probe in PROBES.items():
        if probe.section == "before a build" or not any(name in it for it in found):
            continue
        if probe.section != section:
            section = probe.section
            lines.append(f"| **{section}** |{' |' * len(COLUMNS)}")
        lines.append(f"| {name} | {' | '.join(SIGNS[it.get(name, '')] for it in found)} |")
    return "\n".join(lines) + "\n"


def test_the_pages_table_is_made_of_what_was_recorded() -> None:
    if os.environ.get("OPENREG_RECORD"):
        TABLE.write_text(table())
    assert TABLE.read_text() == table()


def test_each_record_says_what_was_examined_and_when() -> None:
    assert sorted(path.name for path in FOLDER.iterdir()) == sorted(COLUMNS)
    for file in COLUMNS:
        head = (FOLDER / file).read_text().split("\n$ ")[0]
        assert re.search(r"^# Examined: \d{4}-\d\d-\d\d", head, re.M), file
        assert re.search(r"^# Version: ", head, re.M), file


def test_the_page_has_each_row_that_is_silent_or_wrong_and_no_other() -> None:
    claimed = set(re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(), re.M))
    found = {
        name for file in COLUMNS for name, word in verdicts(file).items() if word in ("silently does nothing", "wrong")
    }
    assert claimed == found


def test_a_record_names_no_machine() -> None:
    for file in COLUMNS:
        assert not re.search(r"(?<![\w.])/(tmp|root|home|work|usr|lib)\b", (FOLDER / file).read_text()), file
