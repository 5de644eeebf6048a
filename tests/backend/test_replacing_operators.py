"""The programs of the page "Replacing operators": the logger in C++, and the drawing of what calls pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import compiler_cache
import pytest
import torch_openreg

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(torch_openreg.__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "replacing-operators"
RECORDED = ROOT / "tests" / "recorded" / "boxed_logger.txt"


def call(*command: str | Path, cwd: Path, **env: str) -> str:
    """Runs a program of this environment and returns what it prints."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    settings = compiler_cache.environment_of_temporary_folders() | {"PATH": path, "PYTHONPATH": str(SITE)}
    settings |= {"PYTHONDONTWRITEBYTECODE": "1"} | env
    words = [str(it) for it in command]
    done = subprocess.run(words, cwd=cwd, env=os.environ | settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the two loggers print, built as a reader builds them."""
    folder = tmp_path_factory.mktemp("logger")
    options = ["-GNinja", f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_CXX_FLAGS=-Werror"]
    call("cmake", "-S", EXAMPLE / "logger", "-B", folder, *options, cwd=folder)
    call("cmake", "--build", folder, cwd=folder)
    printed = call(sys.executable, "logger.py", cwd=EXAMPLE / "logger", LOGGER=str(folder / "liblogger.so"))
    return printed.splitlines()


@pytest.mark.timeout(300)
def test_the_loggers_print_what_is_recorded(logged: list[str]) -> None:
    if os.environ.get("OPENREG_RECORD"):
        RECORDED.write_text("\n".join(["$ python logger.py", *logged, ""]))
    assert logged == RECORDED.read_text().splitlines()[1:]


@pytest.mark.timeout(300)
def test_the_boxed_logger_sees_composites_and_what_they_call_and_its_twin_only_their_parts(logged: list[str]) -> None:
    split = logged.index("-- C++")
    python, cpp = logged[1:split], logged[split + 1 :]
    assert "aten::log_sigmoid" not in python
    assert "aten::log_sigmoid_forward" in python
    at = cpp.index("aten::log_sigmoid")
    assert cpp[at + 1] == "  aten::log_sigmoid_forward"
    assert "aten::log_sigmoid_backward" in cpp  # in the thread that runs the backward pass
    assert len((EXAMPLE / "logger" / "logger.cpp").read_text().splitlines()) <= 45


def test_the_drawing_of_the_chains_is_what_a_run_records() -> None:
    assert call(sys.executable, "chain.py", cwd=EXAMPLE) == (EXAMPLE / "chain.dot").read_text()


def test_the_chains_end_where_the_operator_is_computed() -> None:
    program = """
import chain, torch
x = torch.ones(2, device="openreg", requires_grad=True)
steps = lambda *call: [(depth, key) for depth, _, key in chain.record(*call)]
print(steps(lambda: torch.sin(x), "sin"))
print(steps(lambda: torch.no_grad()(torch.sin)(x), "sin"))
print(steps(lambda: x.detach().sin_(), "sin_"))
print(steps(lambda: torch.sin(torch.ones(2)), "sin"))
print(steps(lambda: torch.sin(x), "cos"), torch.sin(x).grad_fn is not None)
"""
    assert call(sys.executable, "-W", "ignore", "-c", program, cwd=EXAMPLE).splitlines() == [
        "[(0, 'AutogradPrivateUse1'), (1, 'PrivateUse1')]",
        "[(0, 'AutogradPrivateUse1'), (1, 'PrivateUse1')]",
        "[(0, 'AutogradPrivateUse1'), (1, 'ADInplaceOrView'), (2, 'PrivateUse1')]",
        "[(0, 'CPU')]",
        "[] True",
    ]


def test_what_the_page_says_of_errors_is_printed() -> None:
    """That the programs print their files is tested with all programs of that kind; here, that these are in them."""
    said = {
        "fallthrough": "There were no tensor arguments to this function (e.g., you passed an empty list of Tensors), "
        "but no fallback function is registered for schema aten::im2col",
        "composite": "aten::log_sigmoid: an autograd kernel was not registered to the Autograd key(s) but we are "
        "trying to backprop through it",
        "at_run_time": "This is not allowed since there's already a kernel registered from python overriding abs's "
        "behavior for PrivateUse1 dispatch key and aten namespace",
    }
    for name, text in said.items():
        assert text in call(sys.executable, f"{name}.py", cwd=EXAMPLE, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
