"""setup.py in environments that are not ours: what is missing is named, and no more compilers run than fit."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
(TORCH,) = (need for need in PROJECT["build-system"]["requires"] if need.startswith("torch"))

# What setup.py calls in the place of CMake: it writes down what it was asked, and builds nothing.
CMAKE = """#!/bin/sh
echo "$@" >> "$ASKED"
"""


def setup(
    tmp_path: Path, *arguments: str, path: str = "", torch: str = TORCH, **env: str
) -> subprocess.CompletedProcess[str]:
    """Runs setup.py, of a copy without sources that takes this PyTorch, with nothing but `path` to find programs on."""
    for name in ("setup.py", "pyproject.toml"):
        (tmp_path / name).write_text((REPOSITORY / name).read_text().replace(f'"{TORCH}"', f'"{torch}"', 1))
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
    assert needs.startswith("setup.py: the build needs setuptools>=77, not 65.5.0; cmake>=3.18, not none; torch")
    assert needs.endswith(", not 1.0.0")
    assert run.startswith(f"run: pip install 'setuptools>=77' 'cmake>=3.18' {shlex.quote(TORCH)}")
    assert then == "then: pip install --no-build-isolation ."


@pytest.mark.parametrize(
    ("version", "taken"),
    [
        ("2.8.1", False),
        ("2.9", True),
        ("2.9.0+cpu", True),
        ("2.10.3", True),
        ("2.11.0", False),
        ("2.11.0.dev20261123+cpu", False),
        ("3.9.1", False),
    ],
)
def test_a_release_of_pytorch_is_taken_that_lies_in_the_range(tmp_path: Path, version: str, taken: bool) -> None:
    pretend(tmp_path, "torch", version)
    done = setup(tmp_path, "build_ext", torch="torch>=2.9,<2.11")
    assert ("torch>=2.9,<2.11, not " in done.stderr) is not taken, done.stderr
    assert done.returncode == 1 and "cmake>=3.18, not none" in done.stderr


def test_a_release_that_is_not_in_the_range_is_named_with_what_to_do(tmp_path: Path, cmake: Path) -> None:
    pretend(tmp_path, "torch", "2.8.1")
    done = setup(tmp_path, "build_ext", path=str(cmake), torch="torch>=2.9,<2.11")
    assert done.stderr.splitlines()[-3:] == [
        "setup.py: the build needs torch>=2.9,<2.11, not 2.8.1",
        "run: pip install 'torch>=2.9,<2.11'",
        "then: pip install --no-build-isolation .",
    ]


@pytest.mark.parametrize(
    ("torch", "version", "said"),
    [
        ("torch>=2.9,<2.11", "2.10.3+cpu", "torch==2.10.3"),
        ("torch==2.15.0.dev20261123", "2.15.0.dev20261123+cpu", "torch==2.15.0.dev20261123"),
    ],
)
def test_the_package_says_that_it_runs_with_the_pytorch_that_it_was_built_for(
    tmp_path: Path, torch: str, version: str, said: str
) -> None:
    pretend(tmp_path, "torch", version)
    (tmp_path / "openreg" / "torch_openreg" / "openreg").mkdir(parents=True)
    done = setup(tmp_path, "egg_info", "--egg-base=.", torch=torch)
    assert done.returncode == 0, done.stderr
    needs = (tmp_path / "torch_openreg.egg-info" / "requires.txt").read_text().split()
    others = [need for need in PROJECT["dependency-groups"]["run"] if not need.startswith("torch==")]
    assert needs == [said, *others]


def test_who_asks_for_no_build_needs_no_pytorch(tmp_path: Path) -> None:
    pretend(tmp_path, "torch", "1.0.0")
    assert setup(tmp_path, "--version").returncode == 0
    done = setup(tmp_path, "build_ext")
    assert done.returncode == 1 and f"needs cmake>=3.18, not none; {TORCH}, not 1.0.0" in done.stderr


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
