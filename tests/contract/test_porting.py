"""Drivers that are being written: the empty table, a table with some entries, and the toy driver of the guide.

These tests run the contract tests, in processes of their own, on drivers that lack most of what there is.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from loading import load_module
from workers import locked, run_folder

from . import header
from .arguments import OPTIONAL
from .conftest import BUILD, HERE, CompileFunction
from .harness import wait_until


def load_tool(name: str) -> Any:
    """A program of tools/ as a module; by path, because this folder is a package that is called like one of them."""
    return load_module(header.ROOT / "tools" / f"{name}.py")


sys.path.append(str(header.ROOT / "tools"))
toy_driver = load_tool("toy_driver")
contract = load_tool("contract")

pytestmark = pytest.mark.timeout(600)

# The entries of the toy driver in the order of the guide, and some of the tests of FILES that each turns to pass.
FILES = ["device", "memory", "copy", "stream"]
ORDER = {
    "GetDeviceCount": {"test_the_current_device_is_zero_at_first_and_what_was_set_later"},
    "DeviceGetState": set(),
    "GetDeviceProperties": {"test_properties_are_sensible"},
    "DeviceSynchronize": {"test_an_idle_device_is_synchronised_at_once"},
    "Malloc": {"test_zero_bytes_are_a_null_pointer", "test_a_device_becomes_active_with_its_first_memory"},
    "Free": {"test_freeing_null_does_nothing"},
    "PointerGetAttributes": {"test_attributes_know_device_memory_from_any_pointer_into_it"},
    "StreamGetDefault": {"test_each_device_has_one_default_stream"},
    "MemcpyWithStream": {"test_memory_is_aligned_and_its_own", "test_any_number_of_bytes_arrives"},
    "MemcpyAsync": {"test_bytes_arrive_on_the_default_stream"},
}
# What the guide shows of that. OPENREG_RECORD=1 writes it.
FILLED = header.ROOT / "tests" / "recorded" / "entries_filled_in.md"


class Outcome(NamedTuple):
    """What one test said."""

    outcome: str
    why: str


Outcomes = dict[str, Outcome]
SomeFunction = Callable[..., str]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory, library: Path) -> str:
    """The toy driver, built outside the tree."""
    assert library.exists()
    folder = tmp_path_factory.mktemp("toy")
    path = toy_driver.build(folder)
    assert not path.is_relative_to(header.ROOT)
    return str(path)


@pytest.fixture(scope="module")
def some(compile_library: CompileFunction, toy: str) -> SomeFunction:
    """Builds a driver that has these entries of the toy driver and no others."""

    def some(*entries: str, **variant: Any) -> str:
        fill = " ".join(f"FILL({entry})" for entry in entries)
        options = [f"-D{name}={value}" for name, value in variant.items()]
        source = HERE / "drivers" / "some.c"
        return str(compile_library(source, f'-DOTHER="{toy}"', f"-DENTRIES={fill}", *options))

    return some


def run_tests(driver: str, report: Path) -> Outcomes:
    """Runs FILES on a driver; gives what each test said."""
    report.unlink(missing_ok=True)
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--contract-report={report}", f"--driver={driver}"]
    files = [str(HERE / f"test_{name}.py") for name in FILES]
    subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=header.ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        | {"OPENREG_DRIVER": driver},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.STDOUT,
        check=False,
    )
    tests = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    return {test["test"].partition("::")[2]: Outcome(test["outcome"], test["why"]) for test in tests}


def passed(outcomes: Outcomes) -> set[str]:
    """The tests that passed."""
    return {test for test, outcome in outcomes.items() if outcome.outcome == "passed"}


def lacking(outcomes: Outcomes, entry: str) -> set[str]:
    """The tests that named an entry as what they lack."""
    named = (f"not implemented: {entry}", f"not implemented: or{entry}")
    return {test for test, outcome in outcomes.items() if outcome.why.removeprefix("Skipped: ") in named}


def functions(tests: set[str]) -> set[str]:
    """The names of tests, whatever their parameters."""
    return {test.partition("[")[0] for test in tests}


@pytest.fixture(scope="module")
def steps(some: SomeFunction, tmp_path_factory: pytest.TempPathFactory) -> dict[int, Outcomes]:
    """What the tests say of the empty table, and after each entry of ORDER."""
    report = tmp_path_factory.mktemp("reports") / "report"
    entries = list(ORDER)

    def run_all() -> list[Outcomes]:
        return [run_tests(some(*entries[:count]), report) for count in range(len(entries) + 1)]

    if "PYTEST_XDIST_WORKER" not in os.environ:
        return dict(enumerate(run_all()))
    # It takes its time, and each worker of a run would do it again.
    file = run_folder(tmp_path_factory) / "porting.json"
    with locked(file):
        if not file.exists():
            file.write_text(json.dumps(run_all()), encoding="utf-8")
    found = json.loads(file.read_text(encoding="utf-8"))
    return {count: {test: Outcome(*it) for test, it in outcomes.items()} for count, outcomes in enumerate(found)}


def test_one_process_at_a_time_builds_the_device_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers of one run share build/driver, and two CMakes in one folder break its files."""
    monkeypatch.delenv("OPENREG_LIBRARY", raising=False)
    held = []

    def call(*command: str | Path) -> None:
        if BUILD in command:
            with BUILD.with_name(f"{BUILD.name}.lock").open("w") as lock, pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            held.append(command[1])

    monkeypatch.setattr(toy_driver, "call", call)
    toy_driver.build(tmp_path)
    assert held == ["-S", "--build", "--install"]


def test_nothing_fails_on_a_driver_that_has_only_some_entries(steps: dict[int, Outcomes]) -> None:
    for count, outcomes in steps.items():
        assert {test for test, outcome in outcomes.items() if outcome.outcome == "failed"} == set(), count


def test_what_passes_with_some_entries_passes_with_more(steps: dict[int, Outcomes]) -> None:
    for before, after in itertools.pairwise(steps.values()):
        assert passed(before) <= passed(after)


def test_a_test_that_an_entry_turns_to_pass_had_named_it_as_missing(steps: dict[int, Outcomes]) -> None:
    for (before, after), entry in zip(itertools.pairwise(steps.values()), ORDER, strict=True):
        assert passed(after) - passed(before) <= lacking(before, entry), entry


def test_an_entry_that_is_filled_in_is_named_as_missing_no_more(steps: dict[int, Outcomes]) -> None:
    for (before, after), entry in zip(itertools.pairwise(steps.values()), ORDER, strict=True):
        assert lacking(before, entry), entry
        assert lacking(after, entry) == set()
        assert all(after[test].why for test in lacking(before, entry) - passed(after)), "they name the next one"


def test_filling_an_entry_turns_exactly_its_tests_from_missing_to_pass(steps: dict[int, Outcomes]) -> None:
    turned = {
        entry: functions(passed(after) - passed(before))
        for (before, after), entry in zip(itertools.pairwise(steps.values()), ORDER, strict=True)
    }
    for entry, some_of_them in ORDER.items():
        assert some_of_them <= turned[entry], entry
    lines = ["| filled in | tests that pass now | what turned from missing to pass |", "|---|---|---|"]
    for (entry, names), outcomes in zip(turned.items(), list(steps.values())[1:], strict=True):
        sentences = "; ".join(sorted(name.removeprefix("test_").replace("_", " ") for name in names))
        lines.append(f"| `{entry}` | {len(passed(outcomes))} | {sentences or 'nothing yet: its tests need more'} |")
    table = "\n".join(lines) + "\n"
    if os.environ.get("OPENREG_RECORD"):
        FILLED.write_text(table, encoding="utf-8")
    assert FILLED.read_text(encoding="utf-8") == table


# ------------------------------------------------------------------------------------------------------ the toy driver


@pytest.fixture(scope="module")
def toy_result(toy: str) -> Any:
    """What tools/contract.py finds out about the toy driver, by its path."""
    return contract.run(toy, ["-p", "no:xdist"])._replace(name="toy")


@pytest.fixture(scope="module")
def fake_result() -> Any:
    """The same of the empty table."""
    return contract.run("fake", ["-p", "no:xdist"])


def test_the_toy_driver_reaches_tensors_and_operators_on_the_cpu(toy_result: Any) -> None:
    level = contract.level_of(toy_result)
    assert level is not None
    assert level.name == "tensors, operators by fallback"
    assert toy_result.failures == {}


def test_the_toy_driver_passes_and_lacks_what_is_recorded(toy_result: Any) -> None:
    assert toy_result.recorded() == contract.read_recorded()["toy"], "python tools/contract.py --record toy"
    recorded = (contract.RECORDED / "toy.txt").read_text(encoding="utf-8")
    assert recorded.partition("\n")[2] == contract.summary([toy_result]) + "\n"


def test_the_empty_table_passes_and_lacks_what_is_recorded(fake_result: Any) -> None:
    assert fake_result.recorded() == contract.read_recorded()["fake"], "python tools/contract.py --record fake"
    assert contract.level_of(fake_result) is None
    assert fake_result.failures == {}


def test_to_say_that_an_entry_is_not_there_is_not_to_have_it(fake_result: Any) -> None:
    said = {name: fake_result.entries[name] for name in OPTIONAL if name in fake_result.entries}
    assert set(said) == set(OPTIONAL)
    assert not any(counts["pass"] for counts in said.values()), said


def test_all_recorded_runs_are_of_the_tests_that_there_are(fake_result: Any) -> None:
    """So that a table of drivers that take long to test cannot fall behind unnoticed."""
    there_are = {group: counts.total() for group, counts in fake_result.groups.items()}
    for name, recorded in contract.read_recorded().items():
        counted = {group: Counter(counts).total() for group, counts in recorded["groups"].items()}
        assert counted == there_are, f"python tools/contract.py --record {name}"
        assert sum(counts.get("fail", 0) for counts in recorded["groups"].values()) == 0


def test_the_guides_table_is_made_of_what_is_recorded() -> None:
    assert contract.TABLE.read_text(encoding="utf-8") == contract.render(contract.read_recorded())
    assert contract.TABLE_OF_LEVELS.read_text(encoding="utf-8") == contract.render_levels()


def test_a_level_is_not_reached_while_one_of_its_entries_lacks_or_fails(toy_result: Any) -> None:
    for entry in contract.LEVELS[1].entries.split():
        seen = toy_result.entries[f"or{entry}"]
        lacks = toy_result._replace(lacks=toy_result.lacks | {f"or{entry}"})
        fails = toy_result._replace(entries=toy_result.entries | {f"or{entry}": seen + Counter(fail=1)})
        for worse in (lacks, fails):
            level = contract.level_of(worse)
            assert level is not None
            assert level.name == "devices"


def test_on_a_driver_with_one_device_the_tests_of_two_are_not_applicable(some: SomeFunction, toy_result: Any) -> None:
    one = contract.run(some(*ORDER, ONE_DEVICE=1), ["-p", "no:xdist"])
    assert one.failures == {}
    assert contract.level_of(one) == contract.level_of(toy_result)
    assert one.groups["copy"]["n/a"] > toy_result.groups["copy"]["n/a"]
    assert one.groups["copy"]["pass"] > 50


@pytest.mark.parametrize("two", [True, False])
def test_a_driver_with_one_device_needs_no_copies_between_devices(two: bool) -> None:
    entries = defaultdict[str, Counter[str]](Counter)
    level = contract.level_of(contract.Result("it", {}, entries, {}, {"orMemcpyPeerAsync"}, two, is_whole=True))
    assert level.name == ("streams and events" if two else "kernels, one by one")


def test_the_command_ends_with_an_error_if_a_test_fails(some: SomeFunction) -> None:
    """This driver says nothing about its devices, and calls that success."""
    wrong = some("GetDeviceCount", "DeviceGetState", WRONG=1)
    command = [sys.executable, str(header.ROOT / "tools" / "contract.py"), wrong, "--pytest=-k properties_are_sensible"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    failed = "failed:\n  some.so: tests/contract/test_device.py::test_properties_are_sensible[0]\n      "
    assert done.stdout.partition(failed)[2].startswith(("assert", "AssertionError")), done.stdout


def test_one_entry_more_turns_the_tests_of_memory_info(
    compile_library: CompileFunction, steps: dict[int, Outcomes], tmp_path: Path
) -> None:
    """The solution of the chapter's exercise."""
    more = run_tests(str(compile_library(header.ROOT / "examples/toy_driver/exercise.cpp")), tmp_path / "report")
    before = steps[len(ORDER)]
    assert {test for test, outcome in more.items() if outcome.outcome == "failed"} == set()
    assert passed(before) < passed(more)
    assert passed(more) - passed(before) <= lacking(before, "MemGetInfo")
    assert "test_free_memory_falls_with_each_allocation_and_returns_to_the_total" in functions(passed(more))
    assert lacking(more, "MemGetInfo") == set()


# -------------------------------------------------------------------------------------------------- choosing by a path


def refusal(run_child: Any, driver: str) -> str:
    """What the first call says of a driver that cannot be used."""
    done = run_child(
        """
        error = lib.orGetDeviceCount(ffi.new("int*"))
        print(api.check(error, "orErrorDriver"))
        """,
        env={"OPENREG_DRIVER": driver},
    )
    return done.stdout.strip()


def test_a_path_needs_a_slash(run_child: Any) -> None:
    said = refusal(run_child, "libtoy.so")
    assert (
        "OPENREG_DRIVER is 'libtoy.so'; expected 'sim', 'process', 'fake', 'cuda' or the path (with a slash in it) of "
        "a shared library that exports orGetDriver"
    ) in said


def test_a_library_that_hides_its_function_is_no_driver(
    run_child: Any, compile_library: CompileFunction, tmp_path: Path
) -> None:
    source = tmp_path / "hidden.c"
    source.write_text("const void* orGetDriver(unsigned version) { return (void)version, (const void*)0; }\n")
    library = compile_library(source)
    assert f"OPENREG_DRIVER is '{library}', which does not export orGetDriver" in refusal(run_child, str(library))


def test_a_driver_that_is_not_linked_to_the_library_cannot_be_loaded(run_child: Any, tmp_path: Path) -> None:
    source, out = header.ROOT / "examples" / "toy_driver" / "toy_driver.cpp", tmp_path / "unlinked.so"
    options = ["-std=c++20", "-shared", "-fPIC", f"-I{header.INCLUDE}"]
    subprocess.run(["c++", *options, str(source), "-o", str(out)], check=True)
    said = refusal(run_child, str(out))
    assert "which cannot be loaded: " in said
    assert "undefined symbol: orDriverError" in said


# ------------------------------------------------------------------------------------------------ older and newer ones


def test_a_driver_with_a_shorter_table_works_for_what_it_has(some: SomeFunction, run_child: Any) -> None:
    """It was built against an older contract, whose table ended before PointerGetAttributes."""
    older = some(*ORDER, SIZE="offsetof(OrDriver,PointerGetAttributes)")
    run_child(
        """
        assert api.device_count == 2
        assert ffi.string(api.get("orGetDeviceProperties", 1).name) == b"Toy"
        buffer = api.get("orMalloc", 100)
        api.ok(lib.orFree(buffer))
        error = lib.orPointerGetAttributes(ffi.new("orPointerAttributes*"), buffer)
        api.check(error, "orErrorNotImplemented", "^not implemented: orPointerGetAttributes$")
        error = lib.orMemcpy(buffer, api.host(8), 8, lib.orMemcpyHostToDevice)
        api.check(error, "orErrorNotImplemented", "^not implemented: orMemcpyWithStream$")
        """,
        env={"OPENREG_DRIVER": older},
    )


def test_a_driver_of_a_newer_contract_is_refused_with_a_sentence(some: SomeFunction, run_child: Any) -> None:
    newer = some(*ORDER, VERSION="OPENREG_DRIVER_VERSION+1")
    run_child(
        f"""
        error = lib.orGetDeviceCount(ffi.new("int*"))
        message = api.check(error, "orErrorDriver")
        assert message == "orGetDeviceCount: the driver '{newer}' has version 2 of the contract; expected 1: " \\
            "it is newer than this library", message
        """,
        env={"OPENREG_DRIVER": newer},
    )


def test_the_toy_driver_finds_the_library_that_loads_it(toy: str) -> None:
    """It has no path to one built in, so that it serves the package's library as it serves this one."""
    said = subprocess.run(["readelf", "-d", toy], capture_output=True, text=True, check=True).stdout
    assert "[libopenreg.so]" in said
    assert "RPATH" not in said and "RUNPATH" not in said
    assert BUILD.name not in said


def test_tests_of_a_driver_that_hangs_are_stopped_with_all_their_processes(
    compile_library: CompileFunction, tmp_path: Path
) -> None:
    source, noted = tmp_path / "hangs.c", tmp_path / "processes"
    source.write_text(f"""
#include <stdio.h>
#include <unistd.h>
#include "openreg_driver.h"
const OrDriver* orGetDriver(uint32_t version) {{
  FILE* file = fopen("{noted}", "a");
  fprintf(file, "%d\\n", (int)getpid());
  fclose(file);
  while (version != 0) pause();
  return NULL;
}}
""")
    driver = str(compile_library(source))
    with pytest.raises(SystemExit, match=r"^contract: no test has ended within 12 s\n"):
        contract.run(driver, ["-k", "properties_are_sensible"], seconds=12)
    (process,) = noted.read_text().split()
    wait_until(lambda: not Path(f"/proc/{process}").exists(), "the process to be gone")


def test_a_file_that_is_no_driver_is_refused_before_the_first_test(library: Path, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"libopenreg\.so does not export orGetDriver; expected a driver"):
        contract.run(str(library), [])
    with pytest.raises(SystemExit, match=r"there is no file .*/nothing\.so; expected a driver"):
        contract.run(str(tmp_path / "nothing.so"), [])
