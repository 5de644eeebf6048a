"""Other versions of PyTorch that `make build TORCH=2.14.1` has installed: all compiles, and a network trains.

All tests with such a version are `make test TORCH=2.14.1`. This is the part of it that keeps a change of the sources
from breaking a version that nobody was thinking of.
"""

from __future__ import annotations

import re
import subprocess

import pytest

from .conftest import REPOSITORY

PROJECT = (REPOSITORY / "pyproject.toml").read_text()


def taken(version: str) -> bool:
    """Whether the build takes a version. Of others there may be copies, too: somebody tries how far they get."""
    limits = re.search(r'"torch>=2\.(\d+),<2\.(\d+)"', PROJECT)
    minor = re.match(r"2\.(\d+)\.\d+$", version)
    return bool(limits and minor) and int(limits[1]) <= int(minor[1]) < int(limits[2])


COPIES = sorted(place.parent.parent.name for place in (REPOSITORY / "build" / "torch").glob("*/.venv/installed.json"))
INSTALLED = [version for version in COPIES if taken(version)]
NONE = pytest.param("none", marks=pytest.mark.skip(reason="no other is installed: make build TORCH=2.14.1 does that"))


def make(goal: str, version: str) -> str:
    """What make prints with another version."""
    command = ["make", goal, f"TORCH={version}"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def in_copy(version: str, code: str) -> str:
    """What a program prints in the environment of that version."""
    folder = REPOSITORY / "build" / "torch" / version
    python = folder / ".venv" / "bin" / "python"
    return subprocess.run([python, "-c", code], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("version", INSTALLED or [NONE])
def test_everything_compiles_with_another_pytorch_and_a_network_trains(version: str) -> None:
    make("build", version)  # warnings are errors in it
    said = in_copy(version, "import torch, torch_openreg; print(torch.__version__, torch_openreg._C._torch_version())")
    installed, built_for = (number.partition("+")[0] for number in said.split())
    assert installed == version and version.startswith(built_for)
    trained = make("digits", version)
    assert "The losses agree." in trained and "the CPU served nothing" in trained
