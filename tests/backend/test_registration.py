"""The page on the registration contract: its rows are PyTorch's functions, its texts are what programs print.

OPENREG_RECORD=1 records both.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from importlib import metadata
from pathlib import Path

import pytest

from . import probe
from .registration import CALLS, CLASSES, GROUPS, LOOKUPS, RECORDED, ROOT, answers, declared, installed, lookups, tables

RELEASE = (ROOT / "steps" / "recorded_with.txt").read_text().strip()
pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        metadata.version("torch").partition("+")[0] != RELEASE, reason=f"the page is about PyTorch {RELEASE}"
    ),
]
ANSWERS = RECORDED / "answers.json"


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list]:
    """What all programs print now, with other bytes in new memory than when they were recorded."""
    recording = bool(os.environ.get("OPENREG_RECORD"))
    library = probe.built("registration_probe", tmp_path_factory.mktemp("registration"))
    found = answers(library, 0x55 if recording else 0xAA)
    if recording:
        RECORDED.mkdir(exist_ok=True)
        lines = (f" {json.dumps(name)}: {json.dumps(of)}" for name, of in found.items())
        ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        for name, text in tables(found).items():
            (RECORDED / f"{name}.md").write_text(text)
    return found


@pytest.mark.xdist_group("registration")
def test_each_program_prints_what_the_page_says(printed: dict[str, list]) -> None:
    recorded = json.loads(ANSWERS.read_text())
    assert printed.keys() == recorded.keys()
    other = {name: (said[0], recorded[name][0]) for name, said in printed.items() if said[0] != recorded[name][0]}
    assert other == {}


@pytest.mark.xdist_group("registration")
def test_each_function_is_called_by_whom_the_page_says(printed: dict[str, list]) -> None:
    recorded = json.loads(ANSWERS.read_text())
    assert {name: said[1] for name, said in printed.items()} == {name: said[1] for name, said in recorded.items()}


@pytest.mark.xdist_group("registration")
def test_the_tables_are_made_of_what_was_recorded() -> None:
    recorded = json.loads(ANSWERS.read_text())
    assert tables(recorded) == {path.stem: path.read_text() for path in sorted(RECORDED.glob("*.md"))}


@pytest.mark.parametrize("kind", GROUPS)
def test_each_function_of_the_headers_has_a_row_and_each_row_is_in_the_headers(kind: str) -> None:
    rows = re.findall(r"^\| `(\w+)`", (RECORDED / f"{kind}.md").read_text(), re.M)
    assert sorted(rows) == sorted(declared(kind))
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("kind", GROUPS)
def test_each_function_that_may_be_left_out_was_called_without_it(kind: str) -> None:
    called = {name.split()[2] for name in json.loads(ANSWERS.read_text()) if name.startswith(f"call {kind} ")}
    assert called == {function for function, (_, pure) in declared(kind).items() if not pure}


@pytest.mark.parametrize("kind", GROUPS)
def test_a_class_without_the_pure_functions_does_not_compile(kind: str, tmp_path: Path) -> None:
    name = GROUPS[kind][-1]
    file = tmp_path / "bare.cpp"
    options = "(c10::Device(c10::DeviceType::PrivateUse1, 0), {})" if kind == "generator" else ""
    base = f"Bare() : GeneratorImpl{options} {{}}" if options else ""
    file.write_text(f"#include <{CLASSES[name]}>\nstruct Bare : {name} {{ {base} }};\nBare bare;\n")
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-fsyntax-only", "-isystem", str(installed() / "include")]
    said = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False).stderr
    pure = {function for function, (_, is_pure) in declared(kind).items() if is_pure}
    assert ("abstract" in said) == bool(pure)
    assert {function for function in pure if not re.search(rf"\b{function}\(", said)} == set()


def test_each_name_that_pytorch_looks_up_in_the_module_has_a_row_and_a_program() -> None:
    names = list(lookups(installed()))
    assert re.findall(r"^\| `(\w+)`", (RECORDED / "module.md").read_text(), re.M) == names
    assert sorted(LOOKUPS) == names


def test_a_program_dies_of_what_is_missing_only_where_the_page_says_so() -> None:
    recorded = json.loads(ANSWERS.read_text())
    dies = {name for name, (said, _) in recorded.items() if said.startswith("the process dies")}
    host_cache = next(call for call in CALLS if "empty_host_cache" in call)
    assert dies == {"part `c10::SetAllocator`, any allocator", "part `REGISTER_HOST_ALLOCATOR`", f"bare {host_cache}"}


def test_a_program_stands_on_the_page_once() -> None:
    assert len(set(CALLS)) == len(CALLS)
