"""The toy driver of the guide serves the steps that its level names: the trees of steps 03 and 04, with its devices.

OPENREG_RECORD=1 records what the guide's first program prints.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from step import Workshop, difference, tidy

from .conftest import REPOSITORY

pytestmark = pytest.mark.timeout(4000)
PROGRAM = REPOSITORY / "examples" / "toy_driver" / "first_tensor.py"
RECORDED = REPOSITORY / "tests" / "recorded"


@pytest.fixture
def toy(shop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The toy driver, built against the library of step 03, and chosen by its path."""
    library = shop.site(shop.ladder.find("03")) / "torch_openreg" / "lib" / "libopenreg.so"
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "tools" / "toy_driver.py"), str(tmp_path)],
        env=os.environ | {"OPENREG_LIBRARY": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.setenv("OPENREG_DRIVER", done.stdout.strip())
    return done.stdout.strip()


@pytest.mark.parametrize("name", ["03", "04"])
def test_a_step_prints_on_the_toy_driver_what_it_prints_on_the_simulator(shop: Workshop, toy: str, name: str) -> None:
    index = shop.ladder.find(name)
    shop.show(index, "after.txt", shop.site(index))


def first_program(shop: Workshop, driver: str, recorded: Path) -> str:
    """Runs the guide's first program on step 03 and compares what it prints with what is recorded."""
    _, output = shop.run(["python", PROGRAM.name], PROGRAM.parent, shop.site(shop.ladder.find("03")))
    printed = f"$ OPENREG_DRIVER={driver} python first_tensor.py\n{tidy(output)}"
    if os.environ.get("OPENREG_RECORD"):
        recorded.write_text(printed, encoding="utf-8")
    assert difference(recorded.read_text(encoding="utf-8"), printed) == ""
    return printed


def test_on_the_empty_table_the_first_program_fails_as_recorded(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENREG_DRIVER", "fake")
    printed = first_program(shop, "fake", RECORDED / "toy_on_fake.txt")
    assert "NotImplementedError: openreg: not implemented: orGetDeviceCount" in printed


def test_on_the_toy_driver_the_first_program_prints_what_is_recorded(shop: Workshop, toy: str) -> None:
    printed = first_program(shop, "/tmp/toy/libtoy.so", RECORDED / "toy_first_tensor.txt")
    assert "x + y is right: True" in printed
    assert "and so is x @ y.t(): True" in printed
    assert "'aten::add.out': 1" in printed
