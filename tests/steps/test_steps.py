"""The real steps: each builds, fails before, works after, keeps what earlier steps gave, and can be handed out.

Slow the first time. What is built stays in build/steps, so that the second time only what has changed is compiled.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import compiler_cache
import pytest
from assemble import Ladder
from step import Workshop

from .conftest import REPOSITORY

pytestmark = pytest.mark.timeout(4000)
LADDER = Ladder()
LAST = len(LADDER.steps) - 1
each_step = pytest.mark.parametrize("index", range(LAST + 1), ids=[step.name for step in LADDER.steps])


def run(command: list[str], **options: object) -> str:
    """Runs a command that must succeed and returns what it printed."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


@each_step
def test_a_program_does_on_the_step_before_what_is_recorded(shop: Workshop, index: int) -> None:
    assert (LADDER.steps[index].folder / "before.txt").is_file()
    shop.show(index, "before.txt", shop.site(index - 1))


@each_step
def test_a_program_does_on_its_step_what_is_recorded(shop: Workshop, index: int) -> None:
    assert (LADDER.steps[index].folder / "after.txt").is_file()
    shop.show(index, "after.txt", shop.site(index))


@each_step
def test_what_earlier_steps_gave_stays(shop: Workshop, index: int) -> None:
    of = range(LAST + 1) if index == LAST else range(max(index - 1, 0), index + 1)
    assert " passed" in shop.test(index, *of)


def test_what_all_steps_gave_is_there_with_each_device_in_a_process(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENREG_DRIVER", "process")
    assert " passed" in shop.test(LAST, *range(LAST + 1))


def test_what_is_no_matter_of_kernels_is_there_on_a_driver_that_has_none(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENREG_SIM", "kernels=0")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-m 'not kernels'")
    assert " passed" in shop.test(LAST, *range(LAST + 1))


@each_step
def test_what_is_handed_out_is_what_was_built_without_markers(shop: Workshop, index: int, tmp_path: Path) -> None:
    LADDER.hand_out(index, tmp_path / "out")
    for path in LADDER.trees[index]:
        built = (shop.site(index).with_name("src") / path).read_text().splitlines()
        assert (tmp_path / "out" / path).read_text().split() == " ".join(
            line for line in built if "LITERALINCLUDE" not in line
        ).split(), path


def test_the_last_step_is_the_complete_backend(tmp_path: Path) -> None:
    LADDER.hand_out(LAST, tmp_path / "out")
    listed = run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "openreg"], cwd=REPOSITORY)
    complete = {path for path in listed.splitlines() if (REPOSITORY / path).is_file()}
    assert {path for path in LADDER.trees[LAST] if path.startswith("openreg/")} == complete
    for path in complete:
        lines = [line for line in (REPOSITORY / path).read_text().splitlines() if "LITERALINCLUDE" not in line]
        assert (tmp_path / "out" / path).read_text().split() == " ".join(lines).split(), path


def test_a_handed_out_tree_installs_in_a_clean_environment_and_runs(tmp_path: Path) -> None:
    # One whose libraries have all their parts, and which launches no kernels: without markers, no file of it is in the
    # compiler cache.
    index = LADDER.find("04")
    out, clean = tmp_path / "project", tmp_path / "venv"
    LADDER.hand_out(index, out)
    venv.create(clean, symlinks=True)
    # PyTorch and pip are those of the environment that runs the tests: it is read, nothing is installed to it.
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(clean)}))
    (packages / "shared.pth").write_text(sysconfig.get_path("purelib") + "\n")
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"PATH": f"{clean / 'bin'}:{Path(sys.executable).parent}:{env['PATH']}"}
    env |= compiler_cache.environment(tmp_path) | {"CMAKE_ARGS": "-DOPENREG_KERNELS=launch/registry"}
    python = str(clean / "bin" / "python")
    run([python, "-m", "pip", "install", "--no-build-isolation", "--no-deps", "."], cwd=out, env=env)
    shutil.rmtree(out / "openreg")
    where = run([python, "-c", "import torch_openreg; print(torch_openreg.__file__)"], cwd=tmp_path, env=env)
    assert Path(where.strip()).is_relative_to(packages)
    printed = run([python, "demo.py"], cwd=out, env=env)
    recorded = (LADDER.steps[index].folder / "after.txt").read_text()
    assert printed.splitlines() == recorded.splitlines()[1:]
