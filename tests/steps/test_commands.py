"""What `make check` runs can be collected: a mistake there would go unnoticed in `make test`."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = runpy.run_path(str(ROOT / "tools" / "test.py"))["PARTS"]


@pytest.mark.timeout(600)  # it imports PyTorch and its database of operators, on a machine that may be busy
@pytest.mark.parametrize("part", [part for part in PARTS if part.pytest and part.quick], ids=lambda part: part.name)
def test_every_quick_part_can_be_collected(part) -> None:
    arguments = [argument for argument in part.quick if argument not in ("-n", "2")]
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
