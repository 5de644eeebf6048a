"""Builds a stress program with a sanitizer, runs it, and reads what it has counted."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from . import header
from .conftest import cmake_build

# Those of one sanitizer share a folder to build in, and so a process.
SANITIZERS = pytest.mark.parametrize(
    "sanitizer",
    [
        pytest.param("thread", marks=pytest.mark.xdist_group("thread"), id="thread"),
        pytest.param("address;undefined", marks=pytest.mark.xdist_group("address"), id="address"),
    ],
)


def play(
    source: Path,
    build: str,
    sanitizer: str,
    command: tuple[str, ...],
    environment: dict[str, str],
    limit: float,
    options: tuple[str, ...] = (),
) -> dict[str, int]:
    """Builds the programs of a folder and runs one of them; it must end well, and its sanitizer say nothing.

    Args:
        source: The folder, with a CMakeLists.txt.
        build: How the folder below build/stress begins; the sanitizer's name is put behind it.
        sanitizer: For OPENREG_SANITIZE.
        command: The program's name and its arguments.
        environment: What it needs besides ours, the sanitizers' options among it.
        limit: Seconds.
        options: More for CMake.

    Returns:
        What it has counted, by name: "ok name=number …" is its last word.
    """
    folder = header.ROOT / "build" / "stress" / f"{build}{sanitizer.replace(';', '-')}"
    optimised = ("-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1")  # enough for a sanitizer, and sooner compiled
    cmake_build(source, folder, f"-DOPENREG_SANITIZE={sanitizer}", *optimised, *options)
    program, *arguments = command
    done = subprocess.run(
        [str(folder / program), *arguments],
        env={**os.environ, "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1", **environment},
        capture_output=True,
        text=True,
        timeout=limit,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    assert "Sanitizer" not in done.stderr, done.stderr[-8000:]
    assert done.stdout.startswith("ok "), done.stdout
    return {name: int(count) for name, _, count in (word.partition("=") for word in done.stdout.split()[1:])}
