"""Builds the driver library, chooses the driver, and gives every test a library in its first state."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import cffi
import pytest
from workers import locked

from . import header
from .harness import DEFAULT_DRIVER, NotOfThisDriver, OpenReg, is_complete
from .missing import pytest_runtest_call as pytest_runtest_call
from .missing import pytest_runtest_setup as pytest_runtest_setup
from .processes import driver_environment

HERE = Path(__file__).resolve().parent
CompileFunction = Callable[..., Path]
ChildFunction = Callable[..., subprocess.CompletedProcess[str]]
EnvironmentFunction = Callable[[dict[str, str]], dict[str, str]]

PRELUDE = f"""
import sys
sys.path.insert(0, {str(HERE.parent)!r})
from contract.harness import *
api = connect()
ffi, lib = api.ffi, api.lib
def explain(kind, error, trace):
    sys.__excepthook__(kind, error, trace)
    print("the last error of the library:", api.message(), file=sys.stderr)
sys.excepthook = explain
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--driver=NAME`, which OPENREG_DRIVER says too; one run of pytest tests one driver."""
    parser.addoption("--driver", default=None, help="driver of the contract tests: a name or the path of a library")
    parser.addoption(
        "--contract-report", default=None, help="file that receives what each test said, for tools/contract.py"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Names the markers."""
    config.addinivalue_line("markers", "entry(name, case): tests a good or bad case of an entry of the contract")


def is_of_another_driver(why: str) -> bool:
    """Whether a test was skipped for something that the contract doesn't ask of the driver under test.

    A second device, the simulator's controls and settings, copies that can be queued, a clock.
    """
    return not re.search(r"not implemented: or(?!Sim|EventElapsedTime)", why)


def reason(report: pytest.TestReport) -> str:
    """Why a test was skipped, or the first line of what it failed with; nothing if it passed."""
    if report.skipped:
        return report.longrepr[2]
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr or "")
    return (text.splitlines() or [""])[0]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[pytest.TestReport]:
    """Adds a line to the report: the test, how it went, and which entries of the contract it is about.

    It went as pytest says, or "n/a" if it has nothing to say of the driver under test.
    """
    report = yield
    path = item.config.getoption("--contract-report", None)
    api = getattr(item, "funcargs", {}).get("session_api")
    # A test that has heard "not implemented", and found that said well, shows nothing of the entry.
    lacks = api.missing if api is not None and report.passed else []
    if path and (report.when == "call" or report.outcome != "passed"):
        why = reason(report) or ", ".join(lacks)
        group = item.path.stem.removeprefix("test_")
        outcome = "skipped" if lacks else report.outcome
        if outcome == "skipped" and (group == "simulator" or is_of_another_driver(why)):
            outcome = "n/a"
        line = {
            "group": group,
            "test": item.nodeid,
            "outcome": outcome,
            "why": why,
            "entries": [mark.args[0] for mark in item.iter_markers("entry") if mark.kwargs["case"] == "good"],
        }
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    return report


@pytest.fixture(scope="session")
def driver(request: pytest.FixtureRequest) -> str:
    """The driver under test."""
    return request.config.getoption("--driver", None) or os.environ.get("OPENREG_DRIVER") or DEFAULT_DRIVER


def tool(name: str) -> str:
    """A program of the virtual environment, else of the system."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    assert found, f"{name} is not installed"
    return found


def run(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a program and fails with its output if it fails."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done


def cmake_build(source: Path, build: Path, *options: str) -> None:
    """Configures and builds; quick when there is nothing to do."""
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    with locked(build):
        ninja = f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"
        run([tool("cmake"), "-S", source, "-B", build, "-GNinja", ninja, "-DOPENREG_WERROR=ON", *launcher, *options])
        run([tool("cmake"), "--build", build])


def block(code: str) -> str:
    """Code without its indentation, so that pieces can be joined."""
    return textwrap.dedent(code).strip() + "\n"


BUILD = header.ROOT / "build" / "driver"


def pytest_collection_finish(session: pytest.Session) -> None:
    """Brings build/driver up to date before the first test, so that no test's time limit includes it."""
    needed = any("library" in getattr(item, "fixturenames", ()) for item in session.items)
    if needed and not session.config.option.collectonly and not os.environ.get("OPENREG_LIBRARY"):
        # This interpreter has OpenBLAS; CMake would take the first of the PATH.
        python = f"-DPython_EXECUTABLE={sys.executable}"
        try:
            cmake_build(header.ROOT / "openreg" / "driver", BUILD, "-DCMAKE_BUILD_TYPE=Release", python)
        except AssertionError as error:
            pytest.exit(f"the driver can't be built: {error}", returncode=1)


@pytest.fixture(scope="session")
def library() -> Path:
    """The library under test: OPENREG_LIBRARY, or the one in build/driver."""
    return Path(os.environ.get("OPENREG_LIBRARY") or BUILD / "libopenreg.so")


@pytest.fixture(scope="session")
def compile_library(tmp_path_factory: pytest.TempPathFactory, library: Path) -> CompileFunction:
    """Compiles one source file to a shared library that finds the library under test."""

    def compile_library(source: Path, *options: str, name: str | None = None) -> Path:
        language = ["-std=c++20"] if source.suffix == ".cpp" else ["-std=c11"]
        out = tmp_path_factory.mktemp("libraries") / f"{name or source.stem}.so"
        compiler = os.environ.get("CXX", "c++") if source.suffix == ".cpp" else os.environ.get("CC", "cc")
        link = [library, f"-Wl,-rpath,{library.parent}"]
        warnings = ["-Wall", "-Wextra", "-Werror"]
        common = ["-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{header.INCLUDE}"]
        run([compiler, *language, *common, *warnings, *options, source, "-o", out, *link])
        return out

    return compile_library


@pytest.fixture(scope="session")
def probe_path(compile_library: CompileFunction, driver: str) -> Path:
    """The tests' own kernels as a module: a source for the GPU where that is what the driver takes."""
    if driver == "cuda":
        return HERE / "kernels" / "probe.cu"
    return compile_library(HERE / "kernels" / "probe.cpp")


def load_probe(api: OpenReg) -> None:
    """Has all of the tests' kernels loaded: CUDA loads code only once what stands in its streams is done.

    So a test that asks for a kernel first behind a closed gate would wait for itself.
    """
    names = re.findall(r"OPENREG_KERNEL\((\w+)", Path(api.probe_path).read_text(encoding="utf-8"))
    for device in range(api.device_count):
        for name in names:
            api.kernel(name, device=device)


@pytest.fixture(scope="session")
def session_api(driver: str, library: Path, probe_path: Path) -> Iterator[OpenReg]:
    """The library, loaded once with the driver under test."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in driver_environment(driver).items():
            patch.setenv(name, value)
        patch.delenv("OPENREG_SIM", raising=False)
        patch.setenv("OPENREG_TEST_LIBRARY", str(library))
        patch.setenv("OPENREG_TEST_PROBE", str(probe_path))
        ffi = cffi.FFI()
        ffi.cdef(header.declarations())
        api = OpenReg(str(library), ffi)
        if driver == "cuda":
            load_probe(api)
        yield api


@pytest.fixture
def api(session_api: OpenReg) -> Iterator[OpenReg]:
    """The library in its first state; after the test all device memory must have been given back."""
    session_api.forget_errors()
    session_api.missing.clear()
    session_api.was_stopped = False
    yield session_api
    leaks = session_api.clean_up()
    assert not leaks, leaks


@pytest.fixture
def lib(api: OpenReg) -> Any:
    """The entries themselves."""
    return api.lib


@pytest.fixture
def ffi(api: OpenReg) -> Any:
    """cffi with the header's declarations."""
    return api.ffi


@pytest.fixture(scope="session")
def bindings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the headers as a Python module, from which child processes start sooner."""
    folder = tmp_path_factory.mktemp("bindings")
    ffi = cffi.FFI()
    ffi.cdef(header.declarations())
    ffi.set_source("_openreg_declarations", None)
    ffi.emit_python_code(str(folder / "_openreg_declarations.py"))
    return folder


@pytest.fixture(scope="session")
def child_environment(driver: str, library: Path, probe_path: Path, bindings: Path) -> EnvironmentFunction:
    """The environment of a process that uses the library: ours without what concerns it, and what the test says."""

    def child_environment(env: dict[str, str]) -> dict[str, str]:
        # Where NVIDIA's libraries are is the machine's, and none of a test's.
        theirs = {name: value for name, value in os.environ.items() if name.startswith("OPENREG_CUDA_")}
        variables = {name: value for name, value in os.environ.items() if not name.startswith("OPENREG_")} | theirs
        paths = {"LIBRARY": library, "PROBE": probe_path, "BINDINGS": bindings}
        ours = {f"OPENREG_TEST_{name}": str(path) for name, path in paths.items()}
        return variables | driver_environment(driver) | ours | env

    return child_environment


@pytest.fixture(scope="session")
def run_child(child_environment: EnvironmentFunction) -> ChildFunction:
    """Runs Python code in a fresh process in which `api`, `ffi` and `lib` are ready; it must succeed by default."""

    def run_child(
        code: str, env: dict[str, str] | None = None, code_expected: int | None = 0, timeout: float = 60
    ) -> subprocess.CompletedProcess[str]:
        env = env or {}
        if env.get("OPENREG_SIM") and "OPENREG_DRIVER" not in env and not is_complete():
            raise NotOfThisDriver("OPENREG_SIM has the simulator's settings")
        command = [sys.executable, "-c", PRELUDE + textwrap.dedent(code)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=child_environment(env), timeout=timeout
        )
        if code_expected is not None:
            said = f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
            assert done.returncode == code_expected, said
        return done

    return run_child
