"""The doctor on each step: it says exactly what the step has. OPENREG_RECORD=1 records what it prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise

import pytest
from assemble import Ladder
from step import Workshop

from .conftest import REPOSITORY

pytestmark = pytest.mark.timeout(4000)
LADDER = Ladder()
FOLDER = "openreg/torch_openreg/doctor"
RECORDED = REPOSITORY / "tests" / "recorded" / "doctor"
TABLE = REPOSITORY / "tests" / "recorded" / "doctor_steps.md"
STEPS = [*(f"{number:02}" for number in range(1, 11)), LADDER.steps[-1].number]
ROW = re.compile(r"^  (works|not seen|missing|silently does nothing|wrong) +(\S.*?)(?:  +(.*))?$", re.M)
SIGNS = {"works": "✓", "not seen": "not seen", "missing": "–", "silently does nothing": "silent", "wrong": "wrong"}


def rows(text: str) -> dict[str, tuple[str, str]]:
    """Verdict and symptom of each row of a printed table. What works has other details from run to run."""
    return {name: (word, detail if word != "works" else "") for word, name, detail in ROW.findall(text)}


def table() -> str:
    """All recorded tables as one: a row a mechanism, a column a step."""
    texts = {step: (RECORDED / f"{step}.txt").read_text() for step in STEPS}
    found = {step: rows(text) for step, text in texts.items()}
    lines = [f"| | {' | '.join(STEPS)} |", "|---|" + ":-:|" * len(STEPS)]
    after_the_build = texts[STEPS[0]].partition("\nregistration\n")  # what stands before is about the machine
    for line in "".join(after_the_build[1:]).splitlines():
        if match := ROW.match(line):
            signs = (SIGNS[found[step][match[2]][0]] for step in STEPS)
            lines.append(f"| {match[2]} | {' | '.join(signs)} |")
        elif line and not line.startswith(" ") and not line[0].isdigit() and not line.startswith("fails"):
            lines.append(f"| **{line}** |{' |' * len(STEPS)}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("number", STEPS)
def test_the_doctor_says_of_a_step_exactly_what_it_has(shop: Workshop, number: str) -> None:
    env = shop.environment(shop.site(LADDER.find(number))) | {"COLUMNS": "120"}
    env = {name: value for name, value in env.items() if name not in ("OPENREG_DRIVER", "CXX")}
    command = [sys.executable, FOLDER, "--step", number]
    more = ["--deadline", "400"]  # the machine that tests may be busy, and one probe compiles
    done = subprocess.run([*command, *more], cwd=REPOSITORY, env=env, capture_output=True, text=True, check=False)
    printed = f"$ python {FOLDER} --step {number}\n{done.stdout}"
    file = RECORDED / f"{number}.txt"
    if os.environ.get("OPENREG_RECORD"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(printed)
    assert rows(printed) == rows(file.read_text())
    assert done.returncode == 0, printed + done.stderr  # all that this step and those before it give works


def test_the_guides_table_is_made_of_what_was_recorded() -> None:
    if os.environ.get("OPENREG_RECORD"):
        TABLE.write_text(table())
    assert TABLE.read_text() == table()


def test_a_mechanism_that_a_step_has_brought_is_there_in_each_later_one() -> None:
    found = [rows((RECORDED / f"{step}.txt").read_text()) for step in STEPS]
    for before, after in pairwise(found):
        assert {name for name, (word, _) in before.items() if word == "works" and after[name][0] != "works"} == set()


def test_nothing_is_wrong_on_any_step() -> None:
    for step in STEPS:
        said = rows((RECORDED / f"{step}.txt").read_text())
        assert {name: detail for name, (word, detail) in said.items() if word == "wrong"} == {}, step
