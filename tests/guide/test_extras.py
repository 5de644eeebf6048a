"""The programs of chapters beside the ladder: red and green, as in a step. OPENREG_RECORD=1 records what they print."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from step import difference, tidy

from .conftest import EXTRAS, ROOT

SAME = {r"\bprocess \d+": "process N", r"\bprocesses: .*": "processes: N", r" tests in [\d.]+s": " tests in 1.000s"}
# What a PyTorch that was built with CUDA says on a machine without one.
SAME |= {r"(?m)^W\d+ .*No CUDA runtime is found.*\n": ""}
RELEASE = tuple(int(number) for number in version("torch").split(".")[:2])
# What a release of PyTorch prints in place of what is recorded: since when, the recorded line, and its own.
CHANGED = {"at_run_time.txt": ((2, 14), "warnings: 1", "warnings: 0")}


def run(command: str, folder: Path) -> tuple[int, str]:
    """Runs a command as a terminal would, but without settings of the one who runs the tests."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("OPENREG_") and name != "CI"}
    env |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}
    env |= {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run(
        ["env", *shlex.split(command)],
        cwd=folder,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    died = f"{signal.strsignal(-done.returncode)}\n" if done.returncode < 0 else ""  # what a shell says then
    return done.returncode, tidy(done.stdout + died)


def same(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, instead in SAME.items():
        text = re.sub(pattern, instead, text)
    return text


RECORDED = [file for file in sorted(ROOT.glob("examples/*/*.txt")) if file.read_text().startswith("$ ")]


@pytest.mark.timeout(400)
@pytest.mark.parametrize("file", RECORDED, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_program_prints_what_is_recorded(file: Path) -> None:
    command = file.read_text().partition("\n")[0]
    code, output = run(command.removeprefix("$ "), file.parent)
    printed = f"{command}\n{output}"
    assert (code == 0) == (file.name != "before.txt"), printed
    if os.environ.get("OPENREG_RECORD") and difference(same(file.read_text()), same(printed)):
        file.write_text(printed)
    recorded = file.read_text()
    since, before, now = CHANGED.get(file.name, ((99,), "", ""))
    if since <= RELEASE:
        assert recorded.count(f"\n{before}\n") == 1
        recorded = recorded.replace(f"\n{before}\n", f"\n{now}\n")
    assert difference(same(recorded), same(printed)) == ""


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_solution_of_its_exercise_runs(extra: str) -> None:
    code, output = run("python exercise.py", ROOT / "examples" / extra)
    assert code == 0, output
