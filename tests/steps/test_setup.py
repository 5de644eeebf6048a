"""setup.py in environments that are not ours: what is missing is named, and no more compilers run than fit."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

# What setup.py calls in the place of CMake: it writes down what it was asked, and builds nothing.
CMAKE = """#!/bin/sh
echo "$@" >> "$ASKED"
"""


def setup(tmp_path: Path, *arguments: str, path: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    """Runs setup.py, of a copy without sources, with nothing but `path` to find programs on."""
    for name in ("setup.py", "pyproject.toml"):
        (tmp_path / name).write_text((REPOSITORY / name).read_text())
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("CMAKE_", "PYTHON"))}
    command = [sys.executable, "setup.py", "--quiet", *arguments]
    env = environment | {"PATH": path, "PYTHONPATH": str(tmp_path / "site")} | env
    return subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)


def pretend(tmp_path: Path, package: str, version: str) -> None:
    """Lets a package seem to be installed in a version."""
    folder = tmp_path / "site" / f"{package}-{version}.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")


@pytest.fixture
def cmake(tmp_path: Path) -> Path:
    """A folder with a program named cmake, and no other."""
    program = tmp_path / "bin" / "cmake"
    program.parent.mkdir()
    program.write_text(CMAKE)
    program.chmod(0o755)
    return program.parent


@pytest.mark.parametrize("arguments", [["--version"], ["build_ext"]])
def test_all_that_is_missing_is_named_where_setuptools_is_old(tmp_path: Path, arguments: list[str]) -> None:
    pretend(tmp_path, "setuptools", "65.5.0")
    pretend(tmp_path, "torch", "1.0.0+cpu")
    done = setup(tmp_path, *arguments)
    needs, run, then = done.stderr.splitlines()[-3:]
    assert done.returncode == 1
    assert needs.startswith("setup.py: the build needs setuptools>=77, not 65.5.0; cmake>=3.18, not none; torch==")
    assert needs.endswith(", not 1.0.0")
    assert run.startswith("run: pip install 'setuptools>=77' 'cmake>=3.18' torch==")
    assert then == "then: pip install --no-build-isolation ."


def test_a_build_in_an_environment_of_its_own_gets_the_pytorch_that_the_package_runs_with() -> None:
    said = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    (wanted,) = (need for need in said["project"]["dependencies"] if need.startswith("torch"))
    assert wanted in said["build-system"]["requires"]


def test_who_asks_for_no_build_needs_no_pytorch(tmp_path: Path) -> None:
    pretend(tmp_path, "torch", "1.0.0")
    assert setup(tmp_path, "--version").returncode == 0
    done = setup(tmp_path, "build_ext")
    assert done.returncode == 1 and "needs cmake>=3.18, not none; torch==" in done.stderr


def test_pip_passes_the_sentence_on_in_an_environment_with_an_old_setuptools(tmp_path: Path) -> None:
    """The real thing: before, pip said that project.license must be valid exactly by one definition."""
    venv.create(tmp_path / "fresh", with_pip=True)
    python = str(tmp_path / "fresh" / "bin" / "python")
    asked = [python, "-c", "from importlib.metadata import version; print(version('setuptools'))"]
    bundled = subprocess.run(asked, capture_output=True, text=True, check=False)
    if bundled.returncode or int(bundled.stdout.split(".")[0]) >= 77:
        pytest.skip("this Python's venv brings no old setuptools")
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        (tmp_path / name).write_text((REPOSITORY / name).read_text())
    pip = [python, "-m", "pip", "install", "--no-index", "--no-build-isolation", "."]
    done = subprocess.run(pip, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert f"setup.py: the build needs setuptools>=77, not {bundled.stdout.strip()}; " in done.stdout + done.stderr


@pytest.mark.parametrize("wanted", [None, "3"])
def test_without_ninja_no_more_compilers_run_than_there_are_processors(
    tmp_path: Path, cmake: Path, wanted: str | None
) -> None:
    env = {"ASKED": str(tmp_path / "asked")} | ({"CMAKE_BUILD_PARALLEL_LEVEL": wanted} if wanted else {})
    setup(tmp_path, "build_ext", "--inplace", path=str(cmake), **env)
    configure, build, _ = (tmp_path / "asked").read_text().splitlines()
    assert "Ninja" not in configure
    parallel = build.split()[2:]
    # CMake itself reads the variable. Where it isn't set, "--parallel" without a number would be make's "all at once".
    assert parallel == ([] if wanted else ["--parallel", str(len(os.sched_getaffinity(0)))])
