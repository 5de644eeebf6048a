"""Proves that each operator of step 02 is needed: builds the step without it and runs a program that then breaks.

What breaks is recorded in tests/recorded/minimal_set.json and .md, which the chapter shows; OPENREG_RECORD=1 writes
them anew. A variant is a recompiled group of files and a link; results are kept in build/minimal until a
source changes, and the processes of a run share them.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from workers import locked

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "recorded"
BUILD = ROOT / "build" / "minimal"

sys.path.insert(0, str(ROOT / "steps"))
sys.path.append(str(ROOT / "tools"))
from assemble import Ladder  # noqa: E402
from step import Workshop  # noqa: E402
from units import Unit, read_units  # noqa: E402


class Registration(NamedTuple):
    """One `m.impl` of openreg/csrc/ops."""

    key: str
    operator: str
    file: str
    statement: str

    @property
    def name(self) -> str:
        """The operator's name, with the dispatch key where it is not ours."""
        return self.operator if self.key == "PrivateUse1" else f"{self.operator} ({self.key})"


def registrations() -> list[Registration]:
    """All registrations of the step, in the order of the files. What a step has of its own registers nothing."""
    found = []
    ladder = Ladder(ROOT)
    tree = ladder.trees[ladder.find("02")]
    for path in sorted(ROOT / name for name in tree if name.startswith("openreg/csrc/ops/") and name.endswith(".cpp")):
        if path != tree[path.relative_to(ROOT).as_posix()]:
            continue  # the step's own file, until a later step replaces it
        key = ""
        pattern = r'^TORCH_LIBRARY_IMPL\(aten, (\w+), m\)|^ *m\.impl\("([\w.]+)"[^;]*;\n'
        for match in re.finditer(pattern, path.read_text(), re.MULTILINE):
            if match[1]:
                key = match[1]
            else:
                found.append(Registration(key, match[2], path.relative_to(ROOT).as_posix(), match[0]))
    return found


# By operator: an expression that needs it, with the same value on the device `d` as on the CPU; x is arange(6.0) on d.
PROGRAMS = {
    "empty.memory_format": "torch.empty(2, 3, device=d).shape",
    "empty_strided": "x.device.type == d",
    "_copy_from": "x.device.type == d",
    "_copy_from_and_resize": "torch.special.airy_ai(x, out=torch.empty(0, device=d))",
    "_copy_from (Conjugate)": "torch.view_as_complex(x.view(3, 2)).conj().cpu()",
    "_copy_from (Negative)": "torch._neg_view(x).cpu()",
    "_local_scalar_dense": "x[3].item()",
    "resize_": "x.resize_(2, 2)",
    "set_": "x.set_().untyped_storage().nbytes()",
    "set_.source_Storage": "torch.empty(0, device=d).set_(x.untyped_storage())",
    "set_.source_Storage_storage_offset": "torch.empty(0, device=d).set_(x.untyped_storage(), 1, (2,), (2,))",
    "set_.source_Tensor": "torch.empty(0, device=d).set_(x).data_ptr() == x.data_ptr()",
    "is_set_to": "x.is_set_to(x)",
    "as_strided": "x[1:4:2]",
    "view": "x.view(2, 3)",
    "_reshape_alias": "x.view(2, 3).t().reshape(3, 2, 1)",
    "unfold": "x.unfold(0, 2, 3)",
    "view_as_real": "torch.view_as_real(torch.view_as_complex(x.view(3, 2)))",
    "view_as_complex": "torch.view_as_complex(x.view(3, 2))",
}
# Nobody asks for these on step 02: the fallback does, from step 03 on.
LATER = {"_copy_from_and_resize"}

RUN = """
import json, sys
import torch, torch_openreg

def run(expression, d):
    x = torch.arange(6.0).to(d)
    result = eval(expression)
    return result.cpu().tolist() if isinstance(result, torch.Tensor) else result

for expression in json.loads(sys.argv[1]):
    try:
        got, expected = run(expression, "openreg"), run(expression, "cpu")
        print("ok" if got == expected else f"wrong: {got} instead of {expected}")
    except Exception as error:
        text = str(error).splitlines()[0]
        print(f"{type(error).__name__}: {text.split('. ')[0]}")
"""

CRASHED = "the process dies of a stack overflow"


class Minimal(Workshop):
    """Builds steps, and variants of them, in build/minimal."""

    def site(self, index: int) -> Path:
        """Return the folder into which a step is installed."""
        return BUILD / self.ladder.steps[index].number / "site"

    @functools.cached_property
    def second(self) -> int:
        """Return the index of step 02."""
        return self.ladder.find("02")

    @functools.cached_property
    def last(self) -> int:
        """Return the index of the complete backend."""
        return len(self.ladder.steps) - 1

    @functools.cache  # noqa: B019 (one object a session)
    def ready(self, index: int) -> list[Unit]:
        """Build a step; return the units of libtorch_openreg.so."""
        src, built = self.site(index).with_name("src"), self.key(index)
        with locked(built):
            if not built.is_file():
                self.build(index)
                built.touch()
        units = read_units(src / "build" / "cmake")
        return [unit for unit in units if all(file.is_relative_to(src / "openreg" / "csrc") for file in unit.sources)]

    def variant(self, index: int, without: Registration) -> Path:
        """Return the site of a step that lacks one registration."""
        units, site = self.ready(index), self.site(index)
        folder = site.parent / "variants" / re.sub(r"\W+", "-", without.name)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(site / "torch_openreg", folder / "site" / "torch_openreg")
        original = site.with_name("src") / without.file
        text = original.read_text()
        assert without.statement in text
        source, group, made = folder / original.name, folder / "group.cpp", folder / "without.o"
        source.write_text(text.replace(without.statement, ""))
        unit = next(unit for unit in units if original in unit.sources)
        # The same text for both steps, so that the compiler cache has one for the other.
        others = {each: Path(os.path.relpath(each, folder)) for each in unit.sources}
        group.write_text(unit.text(others | {original: Path(source.name)}))
        words = [str(group) if word == str(unit.file) else word for word in unit.command]
        words[words.index("-o") + 1] = str(made)
        words = ["-O0" if word == "-O3" else word for word in words]  # compiles in half the time
        cache = ["ccache"] if shutil.which("ccache") else []
        self.must([*cache, *words, "-Wno-error"], unit.folder)  # what the line used is unused now
        objects = [made if each is unit else each.folder / each.object for each in units]
        lib = folder / "site" / "torch_openreg" / "lib"
        torch_lib = Path(torch.__file__).parent / "lib"
        link = ["c++", "-shared", "-o", str(lib / "libtorch_openreg.so"), *map(str, objects)]
        link += [f"-L{lib}", "-lopenreg", f"-L{torch_lib}", "-ltorch_cpu", "-lc10", "-Wl,-rpath,$ORIGIN"]
        self.must(link, folder)
        return folder / "site"

    def must(self, command: list[str], cwd: Path) -> None:
        """Run a command that has to succeed."""
        code, output = self.run(command, cwd=cwd)
        assert code == 0, output

    @functools.cache  # noqa: B019 (and so the same all the session, should somebody edit meanwhile)
    def sources(self, index: int) -> str:
        """Return everything that a step is built from."""
        paths = sorted(path for path in self.ladder.trees[index] if path.startswith("openreg/"))
        return "\0".join(self.ladder.text(index, path) for path in paths)

    def key(self, index: int, *words: str) -> Path:
        """Return where a result is kept; the name changes with every source it depends on."""
        digest = hashlib.sha256("\0".join([torch.__version__, RUN, self.sources(index), *words]).encode())
        return BUILD / "results" / f"{digest.hexdigest()[:32]}.json"

    def results(self, index: int, expressions: list[str], without: Registration | None = None) -> list[str]:
        """Return what each expression gives on a step: "ok", or what goes wrong. Nothing runs if nothing changed."""
        kept = self.key(index, *expressions, repr(without))
        with locked(kept):
            if not kept.is_file():
                self.ready(index)
                site = self.variant(index, without) if without else self.site(index)
                env = os.environ | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
                command = [sys.executable, "-c", RUN, json.dumps(expressions)]
                done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)
                said = done.stdout.splitlines()
                if done.returncode == -11 and len(expressions) == 1:
                    said = [CRASHED]
                assert len(said) == len(expressions), f"{done.returncode}\n{done.stdout}\n{done.stderr}"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(said))
        return json.loads(kept.read_text())


@pytest.fixture(scope="session")
def minimal() -> Minimal:
    """The builder."""
    return Minimal()


ALL = registrations()


def row(minimal: Minimal, registration: Registration) -> dict[str, str]:
    """What is recorded of an operator."""
    program = PROGRAMS[registration.name]
    on_step_02 = "nobody asks for it on this step"
    if registration.name not in LATER:
        on_step_02 = minimal.results(minimal.second, [program], registration)[0]
    return {
        "operator": registration.name,
        "file": registration.file,
        "program": program,
        "step 02": on_step_02,
        "complete": minimal.results(minimal.last, [program], registration)[0],
    }


def test_there_is_a_program_for_each_operator_and_no_other() -> None:
    assert [registration.name for registration in ALL if registration.name not in PROGRAMS] == []
    assert PROGRAMS.keys() - {registration.name for registration in ALL} == set()


@pytest.mark.timeout(600)
def test_step_02_runs_all_the_programs(minimal: Minimal) -> None:
    programs = [program for name, program in PROGRAMS.items() if name not in LATER]
    assert dict(zip(programs, minimal.results(minimal.second, programs), strict=True)) == dict.fromkeys(programs, "ok")


@pytest.mark.timeout(600)
def test_the_complete_backend_runs_all_the_programs(minimal: Minimal) -> None:
    programs = list(PROGRAMS.values())
    assert dict(zip(programs, minimal.results(minimal.last, programs), strict=True)) == dict.fromkeys(programs, "ok")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("registration", ALL, ids=lambda registration: registration.name)
def test_without_the_operator_something_breaks(minimal: Minimal, registration: Registration) -> None:
    got = row(minimal, registration)
    assert got["step 02"] != "ok", "the step does not need this operator"
    if registration.name in LATER:
        assert got["complete"] != "ok", "no step needs this operator"


def table(rows: list[dict[str, str]]) -> str:
    """The rows as a Markdown table, and above it what the names in the programs are: all of it as RUN has it."""
    (x,) = re.findall(r"^    x = (.+)$", RUN, re.MULTILINE)
    lines = [
        f'In the programs `d` is `"openreg"`, and `x` is `{x}`.',
        "",
        "| operator | a program that needs it | what it says without the operator | and with the CPU fallback |",
        "|---|---|---|---|",
    ]
    for item in rows:
        words = [f"`{item['operator']}`", f"`{item['program']}`", item["step 02"], item["complete"]]
        lines.append("| " + " | ".join(word.replace("|", "\\|") for word in words) + " |")
    return "\n".join(lines) + "\n"


@pytest.mark.timeout(600)
def test_the_record_says_what_breaks(minimal: Minimal) -> None:
    rows = [row(minimal, registration) for registration in ALL]
    written = {
        RECORDED / "minimal_set.json": json.dumps(rows, indent=1) + "\n",
        RECORDED / "minimal_set.md": table(rows),
    }
    for path, text in written.items():
        if os.environ.get("OPENREG_RECORD"):
            path.write_text(text)
        assert path.read_text() == text, "run this test with OPENREG_RECORD=1 to write it anew"
