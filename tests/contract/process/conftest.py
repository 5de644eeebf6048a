"""What the tests of the driver "process" share: processes that use it, whichever is under test, and executors alone."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ..conftest import HERE, PRELUDE, ChildFunction, EnvironmentFunction, block
from . import wire

StartFunction = Callable[..., subprocess.Popen[str]]
HostFunction = Callable[..., wire.Host]

PROCESSES = "from contract.processes import *\nimport os, signal, time\n"


@pytest.fixture
def run_process(run_child: ChildFunction) -> ChildFunction:
    """`run_child` with the driver "process", whichever is under test, and with the functions of processes.py."""

    def run_process(
        code: str, settings: str = "", env: dict[str, str] | None = None, **options: Any
    ) -> subprocess.CompletedProcess[str]:
        variables = {"OPENREG_DRIVER": "process", "OPENREG_PROCESS": settings} | (env or {})
        return run_child(PROCESSES + block(code), env=variables, **options)

    return run_process


@pytest.fixture
def start_process(child_environment: EnvironmentFunction) -> Iterator[StartFunction]:
    """The same, running beside the test: what its code says has been done, and it lives until it is killed."""
    started: list[subprocess.Popen[str]] = []

    def start_process(code: str, settings: str = "") -> subprocess.Popen[str]:
        env = child_environment({"OPENREG_DRIVER": "process", "OPENREG_PROCESS": settings})
        text = PRELUDE + PROCESSES + block(code) + 'print("ready", flush=True)\nsignal.pause()\n'
        started.append(subprocess.Popen([sys.executable, "-c", text], env=env, stdout=subprocess.PIPE, text=True))
        stdout = started[-1].stdout
        assert stdout is not None and stdout.readline() == "ready\n"
        return started[-1]

    yield start_process
    for one in started:
        one.kill()
        one.wait()


@pytest.fixture
def executor_of(tmp_path: Path) -> Callable[[str], str]:
    """Writes a program that takes the executor's place; gives the setting that names it."""

    def executor_of(code: str) -> str:
        program = tmp_path / "fake"
        start = f"#!{sys.executable}\nimport os, sys, time\nsys.path.insert(0, {str(HERE.parent)!r})\n"
        program.write_text(start + "from contract.process import liar, wire\n" + block(code))
        program.chmod(0o755)
        return f"executor={program}"

    return executor_of


@pytest.fixture
def liar_of(executor_of: Callable[[str], str]) -> Callable[[str], str]:
    """Writes an executor that lies as the code says; gives the setting that names it."""
    return lambda code: f"{executor_of(code)},deadline=5s"


@pytest.fixture(params=["C++", "Python"])
def host(request: pytest.FixtureRequest, library: Path) -> Iterator[HostFunction]:
    """Starts executors, of either kind, whose host is the test."""
    hosts: list[wire.Host] = []
    programs = {
        "C++": [str(library.parent / "openreg_executor")],
        "Python": [sys.executable, str(library.parent / "executor_python")],
    }

    def start(**options: Any) -> wire.Host:
        hosts.append(wire.Host(programs[request.param], **options))
        return hosts[-1]

    yield start
    for one in hosts:
        one.process.kill()
        one.process.wait()
        one.socket.close()
