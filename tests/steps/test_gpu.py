"""The command for a machine with a GPU (make gpu), without one: what it refuses, how it counts, and a whole run.

The run is over the libraries that stand in for NVIDIA's: the driver "cuda" as it is, and kernels that the host runs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import pytest
from contract.cuda.stub import build_cublas, environment
from gpu_figures import Reason, verdict
from loading import load_module

from .conftest import REPOSITORY

TOOL = REPOSITORY / "tools" / "gpu.py"
EXPLAINED = [
    Reason("the simulator's", (), ("*not implemented: orSim*",), True),
    Reason("no bus", ("*::test_bus",), (), False),
]


@pytest.fixture
def part(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A module of tools/gpu_parts, by its name."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools"))
    return lambda name: import_module(f"gpu_parts.{name}")


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that takes the stand-ins for a GPU."""
    return environment(tmp_path_factory.mktemp("gpu"))


def gpu(*arguments: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs the command."""
    without = {name: value for name, value in os.environ.items() if not name.startswith("OPENREG_")}
    command = [sys.executable, TOOL, *arguments]
    return subprocess.run(command, env=without | env, capture_output=True, text=True, check=False, timeout=110)


def asked(part: Callable[[str], ModuleType], seconds: float = 60, **more: object) -> object:
    return part("result").Asked(seconds, **more)


def test_without_a_gpu_it_stops_with_the_driver_s_reason(tmp_path: Path) -> None:
    done = gpu("--record", tmp_path / "gpu.json", OPENREG_CUDA_LIBRARY="/no/such/libcuda.so.1")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("gpu: no device: NVIDIA's driver library cannot be opened: /no/such/libcuda.so.1")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "gpu.json").exists()


def test_what_a_stand_in_says_is_not_recorded_in_the_guide() -> None:
    done = gpu(OPENREG_CUDA_LIBRARY="/no/such/libcuda.so.1")
    assert done.returncode == 1 and "--record FILE says where its record goes" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["speed"], "no part is called speed; there are kernels, contract,"),
        (["--seconds", "soon"], "--seconds: got 'soon'; expected seconds, or PART=seconds with a part of this run"),
        (["train", "--seconds", "backend=5"], "--seconds: got 'backend=5'; expected"),
    ],
)
def test_what_it_does_not_understand_it_names(arguments: list[str], said: str) -> None:
    done = gpu(*arguments)
    assert done.returncode == 2 and said in done.stderr


def test_seconds_are_of_all_parts_or_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools"))
    seconds_of = load_module(TOOL).seconds_of
    assert seconds_of("", ["train"]) == {}
    assert seconds_of("90,train=60.5", ["train", "backend"]) == {"train": 60.5, "backend": 90}


def test_a_program_that_takes_too_long_is_stopped_and_what_it_said_stays(part) -> None:
    slow = "import sys, time; print('{\"a\": 1}'); print('{\"b\"', end=''); sys.stdout.flush(); time.sleep(60)"
    ended = part("limited").run([sys.executable, "-c", slow], 2)
    assert ended.status is None and ended.lines() == [{"a": 1}]
    assert part("limited").run([sys.executable, "-c", "raise SystemExit(3)"], 20).status == 3


def test_the_rate_is_of_what_runs_on_the_simulator_and_is_not_about_it(part) -> None:
    outcomes = part("outcomes")
    found = outcomes.Outcomes(collected=9)
    for test, how, why in (
        *((f"f.py::test_{i}", "passed", "") for i in range(6)),
        ("f.py::test_bus", "failed", "assert 1 == 2"),
        ("f.py::test_control", "skipped", "Skipped: not implemented: orSimFailCall"),
        ("f.py::test_browser", "skipped", "no browser"),
        ("f.py::test_new", "failed", "assert 2 == 3"),
    ):
        found.tests[test] = outcomes.Outcome(how, why)
    summary = part("backend").summary
    said = {it["name"]: it["value"] for it in summary(found, EXPLAINED, {"f.py::test_browser"}).figures}
    assert said == {
        "tests that pass, of those that run on the simulator and are not about it": 75.0,
        "pass": 6,
        "do not pass": 2,
        "of these, without a reason": 1,
        "about the simulator, or another driver": 1,
    }
    result = summary(found, EXPLAINED, None)
    assert result.figures[0]["value"] == 66.67
    assert [miss.what for miss in result.misses] == ["f.py::test_bus", "f.py::test_new", "f.py::test_browser"]
    assert "make gpu PART=sim" in result.said[-1]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in the repository: tests are called by their way from there."""
    build = REPOSITORY / "build"
    build.mkdir(exist_ok=True)
    with TemporaryDirectory(dir=build) as made:
        yield Path(made)


def test_what_only_fails_beside_others_passes_when_it_is_run_again(part, folder: Path) -> None:
    tests = folder / "test_these.py"
    tests.write_text(f"""
from pathlib import Path
import pytest
def test_good(): pass
def test_bad(): assert 1 == 2, "always"
def test_once():
    first = Path({str(folder / "seen")!r})
    was_there = first.exists()
    first.touch()
    assert was_there
@pytest.mark.parametrize("x", ["a::b"])
def test_none(x): pytest.skip("not here")
""")
    found = part("outcomes").twice([tests.relative_to(REPOSITORY).as_posix()], {}, asked(part))
    assert found.collected == 4 and found.is_whole
    how = {test.rpartition("::test_")[2]: it.how for test, it in found.tests.items() if "none" not in test}
    assert how == {"good": "passed", "bad": "failed", "once": "passed"}
    assert [test.rpartition("::")[2] for test in found.again] == ["test_once"]
    assert list(found.those("failed").values()) == ["AssertionError: always"]
    assert list(found.those("skipped").values()) == ["Skipped: not here"]


def test_quick_tests_come_first_and_none_has_more_than_a_third_of_the_time(part, tmp_path: Path) -> None:
    tests = tmp_path / "test_these.py"
    mark = "import pytest, time\n@pytest.mark.timeout(1000)\n"
    tests.write_text(f"{mark}def test_long(): time.sleep(60)\ndef test_quick(): pass\n")
    found = part("outcomes").once([str(tests)], 15, {}, asked(part))
    assert [(test.rpartition("::")[2], it.how) for test, it in found.tests.items()] == [
        ("test_quick", "passed"),
        ("test_long", "failed"),
    ]
    assert found.is_whole and "Timeout" in str(found.those("failed"))


def test_a_test_that_failed_has_failed_and_is_called_without_its_group(part) -> None:
    lines = [
        {"collected": 2},
        {"test": "f.py::test_a[x@y]", "outcome": "failed", "why": "first"},
        {"test": "f.py::test_a[x@y]", "outcome": "failed", "why": "behind it"},
        {"test": "f.py::test_b@group", "outcome": "passed", "why": ""},
    ]
    tests, collected = part("outcomes").read(lines)
    assert collected == 2 and list(tests) == ["f.py::test_a[x@y]", "f.py::test_b"]
    assert tests["f.py::test_a[x@y]"].why == "first"


def test_tests_that_are_stopped_count_as_far_as_they_have_run(part, tmp_path: Path) -> None:
    tests = tmp_path / "test_these.py"
    tests.write_text("import time\ndef test_a(): pass\ndef test_b(): time.sleep(60)\n")
    found = part("outcomes").twice([str(tests)], {}, asked(part, 4))
    assert not found.is_whole and len(found.tests) == 1 and found.collected == 2
    assert part("contract").sentences(found) == ["stopped when its time was over: 1 of 2 tests had run"]


def test_the_contract_s_own_report_says_what_is_not_asked_of_a_driver(part) -> None:
    outcomes = part("outcomes")
    found = outcomes.Outcomes({f"test_{i}.py::t": outcomes.Outcome("skipped", "why") for i in range(3)}, 3)
    found.tests["test_3.py::t"] = outcomes.Outcome("passed", "")
    lines = [{"test": "test_0.py::t", "outcome": "n/a", "why": "sim"}, {"test": "gone", "outcome": "n/a", "why": ""}]
    part("contract").add_not_applicable(found, "\n".join(map(json.dumps, lines)))
    result = part("contract").summary(found)
    assert [it["value"] for it in result.figures] == [33.33, 0, 2, 1, 1]
    assert result.figures[2]["note"] == "1 1, 2 1"


def test_nvrtc_counts_only_with_its_standard_library_beside_it(part, tmp_path: Path, monkeypatch) -> None:
    machine = part("machine")
    for name in ("OPENREG_CUDA_NVRTC", "OPENREG_CUDA_CUBLAS"):
        monkeypatch.delenv(name, raising=False)
    bare, whole = tmp_path / "bare" / "lib", tmp_path / "whole" / "lib"
    for folder in (bare, whole):
        folder.mkdir(parents=True)
        (folder / "libnvrtc.so.13").touch()
    (bare / "libcublas.so.12").touch()
    assert machine.choose_libraries([bare, whole]) == {"OPENREG_CUDA_CUBLAS": str(bare / "libcublas.so.12")}
    header = whole.parent / "include" / "cccl" / "cuda" / "std" / "type_traits"
    header.parent.mkdir(parents=True)
    header.touch()
    assert machine.choose_libraries([bare, whole])["OPENREG_CUDA_NVRTC"] == str(whole / "libnvrtc.so.13")
    monkeypatch.setenv("OPENREG_CUDA_NVRTC", "/of/mine.so")
    assert machine.choose_libraries([bare, whole])["OPENREG_CUDA_NVRTC"] == "/of/mine.so"


def test_compute_sanitizer_is_left_out_where_it_is_not_there(part, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    result = part("sanitizer").run({}, asked(part), [])
    assert result.said == ["compute-sanitizer is not there: it comes with NVIDIA's toolkit"] and not result.figures
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "compute-sanitizer").touch()
    assert part("sanitizer").tool() == str(tmp_path / "bin" / "compute-sanitizer")


@pytest.mark.parametrize(
    ("log", "reports"),
    [
        ("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n", 0),
        ("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 3 errors\n", 3),
        ("========= COMPUTE-SANITIZER\n========= Invalid __global__ read of size 4 bytes\n=========     at add\n", 1),
    ],
)
def test_reports_of_compute_sanitizer_are_counted(part, log: str, reports: int) -> None:
    result = part("result").Result()
    part("sanitizer").add_reports(result, log, "")
    assert result.figures[0]["value"] == reports and verdict(result.figures[0])[1] == bool(reports)


def test_a_log_that_compute_sanitizer_did_not_write_is_no_clean_one(part) -> None:
    result = part("result").Result()
    part("sanitizer").add_reports(result, "", "Device not supported")
    assert not result.figures and "Device not supported" in result.said[0]


def test_losses_are_compared_by_their_size_and_what_is_no_number_is_far_away(part) -> None:
    distance = part("train").distance
    assert distance([2.0, 0.001], [2.02, 0.002]) == pytest.approx(0.01)
    for lost in (float("nan"), float("inf")):
        result = part("result").Result()
        part("train").add(result, "mlp", {"losses": [2.0, lost], "cpu": [2.0, 1.0], "fallbacks": {"aten::sort": 2}})
        assert [verdict(it)[1] for it in result.figures] == [True, True, True]
        assert result.figures[2]["note"] == "sort 2" and "NaN" not in json.dumps(result.recorded())


def test_a_whole_run_over_stand_ins_is_recorded_part_by_part(stub: dict[str, str], tmp_path: Path) -> None:
    record = tmp_path / "gpu.json"
    chosen = "test_a_success_does_not_hide or test_a_stream_that_cannot_be_made or test_exchanging_the_stream_leaves"
    others = "--ignore-glob=tests/backend/test_[!s]* --ignore-glob=tests/backend/test_s[!t]*"
    options = ["--workers", "1", "--pytest", f"-k '{chosen}' {others}", "--record", record]
    done = gpu("contract", "backend", "operators", "kernels", "--seconds", "100,kernels=4", *options, **stub)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(record.read_text())["parts"]
    assert list(found) == ["kernels", "contract", "backend", "operators"]
    assert {said["machine"]["GPU"] for said in found.values()} == {"Stub"}
    figures = {part: {it["name"]: it["value"] for it in said["figures"]} for part, said in found.items()}
    assert figures["contract"]["pass"] == 1 and figures["contract"]["fail"] == 0
    assert figures["backend"]["pass"] == 2 and figures["backend"]["do not pass"] == 0
    assert figures["backend"]["about the simulator, or another driver"] == 1  # it makes a call of the driver fail
    assert figures["kernels"]["kernels that are there"] >= 1
    assert "stopped when its time was over" in found["kernels"]["said"][0]
    assert "is no CUDA build" in found["operators"]["said"][0]
    assert "== contract: " in done.stdout and "at least 100" in done.stdout


def test_an_operator_is_measured_in_turns_with_another_device(part, stub: dict[str, str]) -> None:
    operators = part("operators")
    env = stub | {"OPENREG_CUDA_CUBLAS": str(build_cublas(Path(stub["TMPDIR"]))), "CCACHE_DISABLE": "1"}
    measuring = operators.Measuring(sys.executable, env)
    try:
        both = [operators.Side(measuring, "openreg"), operators.Side(measuring, "cpu")]
        found = operators.compare("x + y, 1 element", both, 60, rounds=2)
        assert len(found.seconds) == 2 and min(found.seconds) > 0 and found.served == {}
        missing = operators.compare("x + y, 1 element", [operators.Side(measuring, "cuda")], 60)
        assert missing.seconds == [] and missing.why.startswith("on cuda: ")
        with pytest.raises(operators.Dead, match="did not answer within"):
            operators.compare("relu, 1 element", both, 0)  # which has to be compiled first
    finally:
        measuring.end()
    result = part("result").Result()
    operators.add(result, "sort", "other", operators.Compared([3e-6, 2e-6], {"aten::sort": 1}))
    (figure,) = result.figures
    assert (figure["value"], figure["beside"], figure["note"]) == (3.0, 2.0, "the CPU served sort")
    assert verdict(figure) == ("× 1.25", True)
