"""The list of seeded bugs, and the program that seeds them."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def seeding() -> ModuleType:
    """tools/mutants.py, which finds its neighbours as if it were run."""
    sys.path.append(str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("seeding", ROOT / "tools" / "mutants.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["seeding"] = module  # where a dataclass looks for its own module
    spec.loader.exec_module(module)
    return module


def named(seeding: ModuleType, name: str):
    """A mutant of the list."""
    return next(mutant for mutant in seeding.read() if mutant.name == name)


def test_every_bug_fits_and_every_entry_and_function_has_one(seeding: ModuleType) -> None:
    assert seeding.problems(seeding.read()) == []
    assert {"orMalloc", "orEventRecord", "orActivitySubscribe"} <= set(seeding.contract())
    assert {"Guard::record", "Guard::uncheckedSetDevice", "Hooks::getNewGenerator"} <= set(seeding.virtual_functions())


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"test": "tests/contract/test_errors.py::test_that_is_not_there"}, "there is no test"),
        ({"test": "tests/contract/test_nothing.py::test_that_is_not_there"}, "there is no test"),
        ({"ends": "somehow"}, "ends is 'somehow'"),
    ],
)
def test_an_entry_that_is_wrong_is_named(seeding: ModuleType, change: dict[str, str], text: str) -> None:
    mutant = replace(named(seeding, "peek-forgets"), **change)
    (said,) = seeding.problems([mutant], complete=False)
    assert said.startswith("peek-forgets: ") and text in said


@pytest.mark.parametrize(("find", "count"), [("no such text", 0), ("return", 40)])
def test_a_text_that_is_not_there_once_is_named(seeding: ModuleType, find: str, count: int) -> None:
    mutant = named(seeding, "peek-forgets")
    mutant = replace(mutant, edits=(replace(mutant.edits[0], find=find),))
    (said,) = seeding.problems([mutant], complete=False)
    assert "peek-forgets: the text to be replaced is " in said and "expected once" in said
    assert (" 0 times" in said) == (count == 0)


def test_an_entry_of_the_contract_without_a_bug_is_named(seeding: ModuleType) -> None:
    mutants = [mutant for mutant in seeding.read() if mutant.of not in ("orFree", "Guard::record")]
    assert seeding.problems(mutants) == ["no mutant is a bug of orFree", "no mutant is a bug of Guard::record"]


@pytest.mark.parametrize(
    ("put", "state", "why"),
    [
        ("  return orGetLastError();", "caught", "assert"),
        ("  return thread.lastError; // no bug", "SURVIVED", "passes"),
        ("  return no_such_thing;", "BROKEN", "does not compile"),
    ],
)
def test_a_bug_is_caught_and_what_is_none_survives(
    seeding: ModuleType, monkeypatch: pytest.MonkeyPatch, put: str, state: str, why: str
) -> None:
    """What is no bug must not count as found: then a test that fails anyhow would count, too."""
    monkeypatch.setattr(seeding, "WORK", ROOT / "build" / "mutants" / "of-its-own-test")
    mutant = replace(named(seeding, "peek-forgets"), name=state.lower())
    mutant = replace(mutant, edits=(replace(mutant.edits[0], put=f"orError_t orPeekAtLastError(void) {{\n{put}"),))
    verdict = seeding.judge(mutant)
    assert (verdict.state, why in verdict.why) == (state, True), verdict.why


def test_a_bug_is_due_again_when_what_its_verdict_depends_on_changes(
    seeding: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant = named(seeding, "peek-forgets")
    assert mutant.of_contract
    shared = {file.relative_to(ROOT).as_posix() for file in seeding.shared_files(True)}
    assert {"openreg/driver/api/error.cpp", "openreg/kernels/copy/copy.cpp", "tests/contract/conftest.py"} <= shared
    assert not [name for name in shared if name.startswith(("openreg/csrc", "tests/mutants/contract", "tests/backend"))]
    backend = {file.relative_to(ROOT).as_posix() for file in seeding.shared_files(False)}
    assert {
        "openreg/csrc/device/guard.cpp",
        "openreg/torch_openreg/__init__.py",
        "tests/backend/conftest.py",
    } <= backend
    before = seeding.caught_before(mutant)
    assert before == seeding.caught_before(mutant)
    assert before != seeding.caught_before(replace(mutant, edits=(replace(mutant.edits[0], put="another bug"),)))
    source = next(iter(seeding.shared_files(True)))
    content = sys.modules["remembered"].content
    monkeypatch.setattr("remembered.content", lambda file: content(file) + b"!" * (file == source))
    assert before != seeding.caught_before(mutant)


def test_a_fresh_clone_knows_what_was_written_down_and_nothing_older(
    seeding: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(seeding, "RECORD", tmp_path / "caught.json")
    mutants = [named(seeding, name) for name in ("peek-forgets", "counting-initialises")]
    stamps = {mutant: tmp_path / f"stamp of {mutant.name}" for mutant in mutants}
    seeding.RECORD.write_text('{"counting-initialises": "older", "gone": "older"}')
    stamps[mutants[0]].touch()
    seeding.record(stamps, {mutant.name for mutant in mutants})
    assert seeding.recorded() == {"counting-initialises": "older", "peek-forgets": "stamp of peek-forgets"}
