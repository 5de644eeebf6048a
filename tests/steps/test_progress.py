"""What a long build says of how far it is."""

import io
import os
import sys
from importlib import util
from pathlib import Path
from types import ModuleType

import pytest

from .conftest import REPOSITORY

sys.path.append(str(REPOSITORY / "tools"))
from progress import Progress, watch


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_that_grows_with_the_time_that_is_left() -> None:
    times, out = iter([0.0, 10.0]), Terminal()
    Progress("build", out, lambda: next(times)).at(10, 40)
    assert out.getvalue().endswith("build: 10 of 40 files, 10 s, 30 s left")
    assert out.getvalue().count("█") == 7  # of 30


def test_elsewhere_each_tenth_is_a_line() -> None:
    out = io.StringIO()
    progress = Progress("build", out)
    for done in range(1, 41):
        progress.at(done, 40)
    progress.end()
    lines = out.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("build: 40 of 40 files, ")
    assert "left" not in lines[-1]


@pytest.mark.parametrize("code", [0, 3])
def test_what_a_build_prints_is_kept_and_its_lines_move_the_bar(
    code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = f"print('[1/2] one'); print('  [2/2] two'); raise SystemExit({code})"
    done, said = watch([sys.executable, "-c", program], "build", tmp_path, os.environ)
    assert (done, said) == (code, "[1/2] one\n  [2/2] two\n")
    assert [line.partition(",")[0] for line in capsys.readouterr().out.splitlines()] == [
        "build: 1 of 2 files",
        "build: 2 of 2 files",
    ]


def load_runner() -> ModuleType:
    """tools/test.py; a module called test is Python's own."""
    spec = util.spec_from_file_location("run_tests", REPOSITORY / "tools" / "test.py")
    assert spec and spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_dots_of_pytest_move_a_bar_on_a_terminal_and_a_failure_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner, program = load_runner(), tmp_path / "part.py"
    program.write_text("print('....s... [ 25%]'); print('..F..... [ 50%]'); print('........ [ 75%]')")
    part = runner.Part("some", "tests", [str(program)], None, pytest=False)
    said = {}
    for out in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stdout", out)
        assert runner.run(part, quick=False, everything=False, far="1 of 1").ok
        said[out.isatty()] = out.getvalue()
    assert "some: 25 of 100 %, " in said[True] and "some: 75 of 100 %, " in said[True]
    assert "..F..... [ 50%]\n" in said[True] and "...." not in said[True].replace("..F.....", "")
    assert all(f"[ {percent}%]\n" in said[False] for percent in (25, 50, 75)) and "█" not in said[False]
