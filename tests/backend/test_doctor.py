"""The doctor: what it says of this backend, of broken ones, of one in Python alone; crashes, hangs, files, status."""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
import torch_openreg
from loading import load_module
from torch_openreg.doctor import examination  # noqa: F401 - registers the probes
from torch_openreg.doctor.command import failures
from torch_openreg.doctor.probes import build, entries
from torch_openreg.doctor.registry import PROBES, Finding, Word

from .conftest import ProgramFunction, child_environment
from .doctor_breaks import BREAKS, Break

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(torch_openreg.__file__).parent / "doctor"
LOADED = """
import contextlib, ctypes, itertools, json, os
from torch_openreg.doctor import examination
from torch_openreg.doctor.answers import ask
from torch_openreg.doctor.backend import Backend
from torch_openreg.doctor.registry import *
backend = Backend("openreg", torch_openreg)
"""


def doctor(*arguments: str | Path, status: int = 0, **env: str) -> str:
    """Runs the folder as a program; returns what it prints."""
    command = [sys.executable, str(FOLDER), *map(str, arguments)]
    done = subprocess.run(command, env=child_environment(**env), capture_output=True, text=True, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def rows_of(text: str) -> dict[str, str]:
    """The verdicts of a printed table by name."""
    names = "|".join(map(re.escape, sorted(PROBES, key=len, reverse=True)))
    return {name: word for word, name in re.findall(rf"^  ({'|'.join(Word)}) +({names})(?:  .*|$)", text, re.M)}


@pytest.fixture(scope="module")
def examined(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict, str]:
    """The table of this backend: printed, as JSON, as a page."""
    files = [tmp_path_factory.mktemp("doctor") / name for name in ("table.json", "table.html")]
    # A machine that tests on both processors is slow, and no test of the doctor is about how fast it is.
    said = doctor("--json", files[0], "--html", files[1], "--deadline", "200")
    return said, json.loads(files[0].read_text()), files[1].read_text()


# What it says of this backend


@pytest.mark.timeout(300)
@pytest.mark.xdist_group("doctor")
def test_all_mechanisms_of_this_backend_work(examined: tuple[str, dict, str]) -> None:
    rows = {row["name"]: row for row in examined[1]["rows"]}
    assert rows.keys() == PROBES.keys() - {"vendor libraries"}  # the simulators need none
    assert {name: row["detail"] for name, row in rows.items() if row["word"] != "works"} == {}


@pytest.mark.timeout(300)
@pytest.mark.xdist_group("doctor")
def test_the_table_the_file_and_the_page_say_the_same(examined: tuple[str, dict, str]) -> None:
    text, document, page = examined
    assert rows_of(text) == {row["name"]: row["word"] for row in document["rows"]}
    counts = {str(word): sum(row["word"] == word for row in document["rows"]) for word in Word}
    assert document["summary"] == counts
    assert text.rstrip().endswith(", ".join(f"{number} {word}" for word, number in counts.items() if number))
    cells = re.findall(r'<tr><td class="word \w+">(.*?)</td><td title=".+?">(.*?)</td><td>(.*?)</td></tr>', page)
    assert [(word, name) for word, name, _ in cells] == [(row["word"], row["name"]) for row in document["rows"]]
    parser = HTMLParser()
    parser.feed(page)
    parser.close()
    assert not re.search(r"(src|href)=", page)  # it needs no other file


@pytest.mark.timeout(300)
@pytest.mark.xdist_group("doctor")
def test_each_row_of_the_file_has_all_that_the_probe_knows(examined: tuple[str, dict, str]) -> None:
    assert examined[1]["schema"] == 1 and examined[1]["device"] == "openreg"
    for row in examined[1]["rows"]:
        probe = PROBES[row["name"]]
        expected = {name: getattr(probe, name) for name in ("name", "section", "step", "chapter", "write", "what")}
        assert {name: row[name] for name in expected} == expected
        assert set(row) == {*expected, "word", "detail", "seconds", "lacks"}
        assert row["chapter"] and row["write"] and row["what"].endswith(".")


@pytest.mark.timeout(300)
@pytest.mark.xdist_group("doctor")
def test_it_warns_that_the_device_is_simulated(examined: tuple[str, dict, str]) -> None:
    (row,) = (row for row in examined[1]["rows"] if row["name"] == "library")
    driver = os.environ.get("OPENREG_DRIVER") or "sim"
    assert row["detail"].startswith(f"libopenreg.so, driver '{driver}'; warning: ")


def test_it_names_the_file_of_a_driver_that_was_chosen_by_its_path(program: ProgramFunction, tmp_path: Path) -> None:
    source, built = ROOT / "tests" / "contract" / "drivers" / "driver.c", tmp_path / "libtiny.so"
    package = Path(torch_openreg.__file__).parent
    options = ["-shared", "-fPIC", "-DCOUNT=1", f"-I{ROOT / 'openreg/driver/include'}"]
    command = ["cc", *options, str(source), str(package / "lib" / "libopenreg.so"), "-o", str(built)]
    subprocess.run(command, check=True)
    said = program(LOADED + "print(ask(PROBES['library'], backend))", OPENREG_DRIVER=str(built))
    assert f"libopenreg.so, driver 'tiny' of {built}" in said


def test_it_names_the_vendors_library_and_says_when_it_is_not_found(program: ProgramFunction, tmp_path: Path) -> None:
    vendor, driver = tmp_path / "vendor" / "libacme.so", tmp_path / "driver.so"
    vendor.parent.mkdir()
    for text, *options in (
        ("int acmeOpen(void) { return 0; }", "-Wl,-soname,libacme.so", "-o", vendor),
        ("int acmeOpen(void); int opens(void) { return acmeOpen(); }", "-o", driver, "-x", "none", vendor),
    ):
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", *options], input=text, text=True, check=True)
    asked = LOADED + 'print(ask(PROBES["vendor libraries"], backend))'
    said = program(asked, OPENREG_DRIVER=str(driver), LD_LIBRARY_PATH=str(vendor.parent))
    assert f"libacme.so ({vendor.parent})" in said
    assert "driver.so needs libacme.so, which is not found" in program(asked, OPENREG_DRIVER=str(driver))


# Each probe can fail


@pytest.mark.parametrize("broken", BREAKS, ids=lambda it: f"{it.probe}-{it.word}")
def test_a_probe_sees_that_its_mechanism_is_broken(program: ProgramFunction, broken: Break) -> None:
    code = f"""
probe = PROBES[{broken.probe!r}]
here = sys.modules[probe.run.__module__]
{broken.code}
print("\\n" + json.dumps(list(vars(ask(probe, backend)).values())))
"""
    said = program(LOADED + code, **{"OPENREG_DRIVER": os.environ.get("OPENREG_DRIVER", "sim")} | broken.env)
    (answer,) = (line for line in said.splitlines() if line.startswith('["'))
    word, detail = json.loads(answer)
    assert (word, broken.says in detail) == (broken.word, True), detail


def test_each_probe_is_broken_in_some_way() -> None:
    assert {broken.probe for broken in BREAKS} == PROBES.keys() - {"import"}


# Processes


PROBE = """
@Section("test", needs=()).probe("bad", write="", seconds=0.5)
def bad(backend):
    {0}
(said,) = examination._ask_all([PROBES["bad"]], backend, 0.5).values()
print(json.dumps(said[:2]))
"""


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ("print('last words'); sys.stdout.flush(); os.abort()", "the process dies by SIGABRT: last words"),
        ("time.sleep(60)", "the process hangs (after 0.5 s; --deadline gives it longer)"),
        ("os._exit(3)", "the process ends with status 3"),
        ("bad(backend)", "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_however_a_probe_ends_there_is_an_answer(program: ProgramFunction, body: str, detail: str) -> None:
    assert json.dumps(["wrong", detail]) in program(LOADED + PROBE.format(body))


def test_a_probe_that_hangs_takes_along_what_it_started(program: ProgramFunction, tmp_path: Path) -> None:
    body = f"""import subprocess
    open({str(tmp_path / "pid")!r}, "w").write(str(subprocess.Popen(["sleep", "60"]).pid))
    time.sleep(60)"""
    program(LOADED + PROBE.format(body))
    status = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    assert not status.exists() or status.read_text().rpartition(") ")[2][0] == "Z"


@pytest.mark.parametrize(
    "text",
    [
        "Operator 'aten::special_zeta.out' is not implemented for torch_acme.",
        "getMemoryInfo is not implemented for this allocator yet.",
        "Expected a 'cpu' device type for generator but found 'acme'",
        "Could not run 'aten::record_stream' with arguments from the 'acme' backend.",
    ],
)
def test_an_error_that_says_what_is_not_there_counts_as_missing(program: ProgramFunction, text: str) -> None:
    body = f"raise RuntimeError({text!r})"
    assert '["missing", "RuntimeError: ' in program(LOADED + PROBE.format(body))


def test_the_last_words_of_a_process_are_the_errors_and_not_those_of_its_stack(program: ProgramFunction) -> None:
    printed = (
        "  what():  the text\\n[rank0]:[W1124 08:20 a.cpp:1] Warning: b\\nException raised from a\\n  frame #1: c + 0x1"
    )
    body = f"print('{printed}'); sys.stdout.flush(); os.abort()"
    assert '"the process dies by SIGABRT: what():  the text"' in program(LOADED + PROBE.format(body))


def test_a_module_without_synchronize_is_a_row_of_the_module_and_not_of_the_guard(program: ProgramFunction) -> None:
    code = """
del torch.openreg.synchronize
print([(name, ask(PROBES[name], backend).word.value) for name in ("synchronize", "module functions")])
"""
    assert "[('synchronize', 'works'), ('module functions', 'missing')]" in program(LOADED + code)


def test_which_operators_stay_in_float32_is_for_the_backend_to_say(program: ProgramFunction) -> None:
    code = """
torch.Tensor.sum = lambda self: torch.zeros(1, dtype=self.dtype)
print(ask(PROBES["autocast"], backend))
"""
    said = program(LOADED + code)
    assert "Word.WORKS" in said and "sums are in half precision, too" in said


def test_kernels_that_the_driver_lacks_are_missing(program: ProgramFunction) -> None:
    said = program(LOADED + 'print(ask(PROBES["native kernels"], backend))', OPENREG_SIM="kernels=0")
    assert "Word.MISSING" in said
    served = re.findall(r"aten::([a-z_]+)", said.partition("the driver lacks the kernel, and the CPU computes: ")[2])
    assert {"add", "mul", "mm", "sum", "_log_softmax"} <= set(served)


@pytest.mark.parametrize("probe", ["Stream.synchronize", "order of streams", "event versions"])
def test_queues_are_seen_at_work_without_kernels(program: ProgramFunction, probe: str) -> None:
    """By copies, as products leave nothing to wait for."""
    said = program(LOADED + f"print(ask(PROBES[{probe!r}], backend))", OPENREG_SIM="kernels=0,copy_delay=20ms")
    assert "Word.WORKS" in said


def test_a_probe_leaves_nothing_to_the_next_one(program: ProgramFunction) -> None:
    code = """
@Section("test", needs=()).probe("first", write="")
def first(backend):
    torch.first = 1
@Section("test", needs=()).probe("second", write="")
def second(backend):
    return str(hasattr(torch, "first"))
print(*(examination._ask_all([PROBES[name]], backend, 5) for name in ("first", "second")))
"""
    assert "['works', 'False'," in program(LOADED + code)


def test_importing_the_probes_touches_no_device(program: ProgramFunction) -> None:
    assert "False" in program(LOADED + "print(torch.openreg.is_initialized())")


# Other backends

IN_PYTHON = """
import torch, types
torch.utils.rename_privateuse1_backend("acme")
module = types.ModuleType("torch.acme")
module.is_available = lambda: False
module.device_count = lambda: 0
torch._register_device_module("acme", module)
"""


@pytest.mark.parametrize(
    ("code", "word", "detail"),
    [
        ("import os; os.abort()", "wrong", "the process dies by SIGABRT"),
        ("raise RuntimeError('no such library')", "wrong", "RuntimeError: no such library"),
        ("import no_such", "missing", "No module named 'no_such'; name the package with --module"),
        ("import torch; torch.utils.rename_privateuse1_backend('other')", "missing", "is called 'other'"),
    ],
)
def test_a_package_that_cannot_be_imported_is_a_row_and_a_failure(
    tmp_path: Path, code: str, word: str, detail: str
) -> None:
    (tmp_path / "torch_acme.py").write_text(code)
    path = os.pathsep.join([str(tmp_path), str(FOLDER.parents[1])])
    env = {"PYTHONPATH": path, "COLUMNS": "200"}
    said = doctor("--device", "acme", "--only", "import", "name", "pin_memory", "headers", status=1, **env)
    assert rows_of(said) == {"headers": "works", "import": word, "name": "missing", "pin_memory": "missing"}
    assert detail in said and "needs import" in said and "fails: import: " in said


@pytest.mark.timeout(300)
def test_a_backend_in_python_alone_lacks_nearly_all_and_gets_no_rows_on_our_driver(tmp_path: Path) -> None:
    (tmp_path / "acme_in_python.py").write_text(IN_PYTHON)
    file = tmp_path / "table.json"
    arguments = ["--device", "acme", "--module", "acme_in_python", "--json", file, "--allow", "guard", "registration"]
    doctor(*arguments, PYTHONPATH=str(tmp_path))
    rows = {row["name"]: row["word"] for row in json.loads(file.read_text())["rows"]}
    assert not any(PROBES[name].section == "driver" for name in rows)
    assert rows["import"] == "works" and rows["module functions"] == "missing"
    expected = {name for name in rows if PROBES[name].section not in ("before a build", "registration", "guard")}
    assert {rows[name] for name in expected} == {"missing"}


# The exit status


def test_what_is_missing_fails_only_if_it_is_asked_for() -> None:
    rows = [PROBES[name].row(Finding(Word.MISSING)) for name in ("streams", "compile")]
    assert failures(rows, [], None, []) == []
    assert failures(rows, ["streams"], None, []) == ["streams: missing, and --require names it"]
    assert len(failures(rows, ["streams", "graphs"], None, [])) == 2
    assert failures(rows, [], 6, []) == ["streams: missing, and it works from step 06 on"]
    assert failures(rows, [], 5, []) == []


def test_what_is_not_seen_fails_only_if_it_is_required() -> None:
    rows = [PROBES["Stream.synchronize"].row(Finding(Word.NOT_SEEN))]
    assert failures(rows, [], None, []) == failures(rows, [], 10, []) == []
    assert failures(rows, ["streams"], 10, []) == ["Stream.synchronize: not seen, and --require names it"]


def test_what_is_silent_or_wrong_fails_unless_it_is_allowed_or_of_a_later_step() -> None:
    rows = [PROBES["profiler"].row(Finding(Word.SILENT)), PROBES["fork"].row(Finding(Word.WRONG))]
    assert failures(rows, [], None, []) == ["profiler: silently does nothing", "fork: wrong"]
    assert failures(rows, [], None, ["profiler"]) == ["fork: wrong"]
    assert failures(rows, [], 14, ["forked processes"]) == []
    assert failures(rows, [], 1, []) == []
    assert len(failures(rows, [], 15, [])) == 2


def test_rows_that_do_not_apply_are_no_table_and_no_failure(tmp_path: Path) -> None:
    said = doctor("--only", "vendor libraries", "--html", tmp_path / "page.html", "--json", tmp_path / "table.json")
    assert said.rstrip().endswith("nothing that was asked for applies to it")
    assert json.loads((tmp_path / "table.json").read_text())["rows"] == []


def test_an_unknown_name_is_refused_with_those_that_there_are() -> None:
    said = doctor("--require", "steams", status=2)
    assert "there is no row and no section 'steams'; there are compiler, cmake" in said


# What is written in two places


def test_the_oldest_tools_are_those_of_the_build() -> None:
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    for name in ("setuptools", "cmake"):
        assert f"{name}>={'.'.join(map(str, build.OLDEST[name]))}" in needs


def test_the_levels_of_a_driver_are_those_of_the_contracts_tests() -> None:
    levels = load_module(ROOT / "tools" / "levels.py").LEVELS
    assert [(level.steps, level.entries.split()) for level in levels] == entries.LEVELS
    assert tuple(entries.FOR_TWO_DEVICES) == load_module(ROOT / "tools" / "levels.py").FOR_TWO_DEVICES


@pytest.mark.parametrize("count", [1, 2])
def test_a_driver_of_one_device_needs_no_copies_between_devices(count: int) -> None:
    class Library:
        """A driver that has all but those copies."""

        def __getattr__(self, name: str) -> Callable[..., int]:
            def entry(*arguments: object) -> int:
                if name == "orGetDeviceCount":
                    ctypes.cast(arguments[0], ctypes.POINTER(ctypes.c_int))[0] = count
                return 9 if name == "orMemcpyPeerAsync" else 0

            return entry

        def orGetLastErrorMessage(self) -> bytes:  # noqa: N802 - the contract's name
            return b"not implemented: orMemcpyPeerAsync"

    lacking, asked = entries.missing_entries(Library())
    assert lacking == ([] if count == 1 else ["MemcpyPeerAsync"])
    assert asked == sum(len(names) for _, names in entries.LEVELS) - (count == 1)


def test_each_chapter_that_a_row_names_is_written_or_on_the_ladder() -> None:
    ladder = {step["name"] for step in tomllib.loads((ROOT / "docs" / "ladder.toml").read_text())["step"]}
    written = {path.stem for path in (ROOT / "docs" / "guide").glob("*.md")}
    assert {probe.chapter for probe in PROBES.values()} <= ladder | written
