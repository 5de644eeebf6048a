"""Fixtures: the devices, programs in processes of their own, and gates.

On a driver that lacks something, tests that fail for want of it are skipped, and say what it is: contract/missing.py.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Protocol

import pytest
import torch
import torch_openreg
from contract.harness import Gate, NotOfThisDriver, is_complete
from contract.missing import pytest_runtest_call as pytest_runtest_call
from contract.missing import pytest_runtest_setup as pytest_runtest_setup

from .distributed_ranks import Ranks
from .simulator import handle, sim
from .workers import RunEntriesFunction, entries_remembered

TESTS = Path(__file__).resolve().parents[1]
SITE = Path(torch_openreg.__file__).resolve().parents[1]

# For a device process that computes operators: where it finds those of the tests.
os.environ["OPENREG_RUN_OP_IMPORT"] = "backend.own_operators"
os.environ["PYTHONPATH"] = os.pathsep.join([str(TESTS), str(SITE)])

GateFunction = Callable[..., Gate]

PASSED = pytest.StashKey[bool]()

# What every program starts with.
PRELUDE = """
import os, sys, threading, time
import torch, torch_openreg
from contract.harness import Call, wait_until
from backend.simulator import handle, sim
"""


def child_environment(**env: str) -> dict[str, str]:
    """Environment of a child process that finds the package under test and the tests' own modules."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), str(SITE)]), "PYTHONDONTWRITEBYTECODE": "1"} | env


class ProgramFunction(Protocol):
    """Type of the fixture `program`."""

    def __call__(self, code: str, *, status: int | None = 0, timeout: float = 30, **env: str) -> str:
        """Runs the code and returns what it printed, errors too."""


@pytest.fixture(params=["openreg:0", "openreg:1"])
def device(request: pytest.FixtureRequest) -> str:
    """Each device in turn."""
    return request.param


@pytest.fixture
def other_device(device: str) -> str:
    """The one that `device` is not."""
    return {"openreg:0": "openreg:1", "openreg:1": "openreg:0"}[device]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProgramFunction]:
    """Runs Python code in a process that has imported PyTorch and this backend and used neither."""
    folder = tmp_path_factory.mktemp("programs")
    server: list[subprocess.Popen[str]] = []

    def program(code: str, *, status: int | None = 0, timeout: float = 30, **env: str) -> str:
        if "OPENREG_SIM" in env and "OPENREG_DRIVER" not in env and not is_complete():
            raise NotOfThisDriver("OPENREG_SIM has the simulator's settings")
        if not server:
            server.append(
                subprocess.Popen(
                    [sys.executable, "-m", "backend.server"],
                    env=child_environment(),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        files = {name: str(folder / name) for name in ("program", "stdout", "stderr")}
        Path(files["program"]).write_text(PRELUDE + textwrap.dedent(code))
        stdin, stdout = server[0].stdin, server[0].stdout
        assert stdin and stdout
        stdin.write(json.dumps({**files, "env": env, "timeout": timeout}) + "\n")
        stdin.flush()
        got = json.loads(stdout.readline())
        said = Path(files["stdout"]).read_text() + Path(files["stderr"]).read_text()
        ended = f"did not end within {timeout} s" if got is None else f"ended with status {got}, expected {status}"
        assert got is not None and status in (None, got), f"the program {ended}; it printed:\n{said}"
        return said

    yield program
    for process in server:
        process.kill()  # it can't wait for the end of its input: what tests have forked may hold the other end
        process.communicate(timeout=10)


@pytest.fixture(scope="session")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ranks]:
    """Runs programs as the ranks of a process group: distributed_ranks.py."""
    made = Ranks(tmp_path_factory.mktemp("ranks"), child_environment())
    yield made
    made.close()


@pytest.fixture(params=["staged", "direct"])
def transport(request: pytest.FixtureRequest) -> str:
    """Each way that a process group's values can go."""
    return request.param


@pytest.fixture(scope="module")
def run_entries(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunEntriesFunction]:
    """`run_entries("opinfo_worker.py")` runs all entries of a program, or knows how they went: workers.py."""
    before = request.session.testsfailed
    with entries_remembered(tmp_path_factory, lambda: request.session.testsfailed == before) as run:
        yield run


@pytest.fixture
def gate() -> Iterator[GateFunction]:
    """`gate(0, stream)` puts a closed gate on streams and returns when they stand at it; a number is a default stream.

    What is queued on these streams afterwards runs once the gate has been opened, at the end of the test at the latest.
    """
    gates: list[Gate] = []

    def close(*streams: int | torch.Stream) -> Gate:
        made = Gate(sim, os.environ.get("PYTEST_CURRENT_TEST", "test"), 30.0)
        gates.append(made)
        made.close(*(sim.default_stream(it) if isinstance(it, int) else handle(it) for it in streams))
        made.wait_for(len(streams))
        return made

    yield close
    for made in gates:
        made.destroy()
    for index in range(torch.openreg.device_count()):
        torch.openreg.synchronize(index)


def put_back() -> None:
    """Makes device 0 current, and of each device its default stream; turns deterministic algorithms off."""
    for index in range(torch.openreg.device_count()):
        torch.openreg.set_stream(torch.openreg.default_stream(index))
    torch.openreg.set_device(0)
    if torch.are_deterministic_algorithms_enabled():
        torch.use_deterministic_algorithms(False)


@pytest.fixture(autouse=True)
def nothing_else_is_current() -> Iterator[None]:
    """A test that leaves another device or stream current fails, and the next one finds the first ones all the same.

    Only this shows an operator that does so. Tests that mean to do it ask for `puts_back`.
    """
    yield
    indices = range(torch.openreg.device_count())
    device = torch.openreg.current_device() if indices else 0
    streams = [torch.openreg.current_stream(index) for index in indices]
    deterministic = torch.are_deterministic_algorithms_enabled()
    put_back()
    assert device == 0, f"device {device} is current after the test"
    assert streams == [torch.openreg.default_stream(index) for index in indices], "other streams are current"
    assert not deterministic, "deterministic algorithms are still on"


def memory_in_use() -> list[int]:
    """Bytes of each device that tensors have."""
    return [torch.openreg.memory_allocated(index) for index in range(torch.openreg.device_count())]


def is_given_back(before: list[int], seconds: float) -> bool:
    """Waits until tensors have no more memory than before: a thread of autograd lets go of it after `backward`."""
    gone_by = time.monotonic() + seconds
    while any(now > then for now, then in zip(memory_in_use(), before, strict=True)):
        if time.monotonic() > gone_by:
            return False
        gc.collect()
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Notes which tests have passed."""
    report = yield
    item.stash[PASSED] = report.passed
    return report


@pytest.fixture(autouse=True)
def memory_is_given_back(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that leaves tensors behind fails. Else a later one would, which counts them, and only in some orders.

    A test that has failed may leave what its traceback has.
    """
    before = memory_in_use()
    yield
    if request.node.stash[PASSED]:
        request.node.funcargs.clear()  # the values of its fixtures, which pytest lets go of later
        given_back = is_given_back(before, seconds=10)
        assert given_back, f"tensors had {before} bytes before the test, and have {memory_in_use()} after it"


@pytest.fixture
def puts_back() -> Iterator[None]:
    """For tests that themselves make a device or stream current, or set what all tests share: puts it back."""
    yield
    put_back()


@pytest.fixture
def no_collection() -> Iterator[None]:
    """For tests that compare how much memory is in use: what an earlier test has left in cycles is not given back here.

    Python's collector runs when it likes. In the middle of such a test it would free tensors that were counted before.
    So would a thread of autograd: it lets go of a backward pass a moment after `backward` has returned.
    """
    is_given_back([0] * torch.openreg.device_count(), seconds=0.05)
    gc.disable()
    yield
    gc.enable()
