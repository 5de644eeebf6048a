"""Proves that each operator of step 02 is needed: loads the step without it and runs a program that then breaks.

What breaks is recorded in tests/recorded/minimal_set.json and .md, which the chapter shows; OPENREG_RECORD=1 writes
them anew. One build of a step serves for all operators: which registration it leaves out it asks the environment.
Results are kept in build/minimal until a source changes, and the processes of a run share them.
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
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from workers import locked

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]
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

    @property
    def name(self) -> str:
        """The operator's name, with the dispatch key where it is not ours."""
        return self.operator if self.key == "PrivateUse1" else f"{self.operator} ({self.key})"


# A block, and what stands in it.
REGISTERED = re.compile(r'^TORCH_LIBRARY_IMPL\(aten, (\w+), m\)|^( *)m\.impl\("([\w.]+)"', re.MULTILINE)


def registrations() -> list[Registration]:
    """All registrations of the step, in the order of the files. What a step has of its own registers nothing."""
    found = []
    ladder = Ladder(ROOT)
    tree = ladder.trees[ladder.find("02")]
    for path in sorted(ROOT / name for name in tree if name.startswith("openreg/csrc/ops/") and name.endswith(".cpp")):
        if path != tree[path.relative_to(ROOT).as_posix()]:
            continue  # the step's own file, until a later step replaces it
        key = ""
        for match in REGISTERED.finditer(path.read_text()):
            key = match[1] or key
            if match[3]:
                found.append(Registration(key, match[3], path.relative_to(ROOT).as_posix()))
    return found


def asking(text: str, file: str) -> str:
    """Return the text of a file with a question before each registration."""
    key = ""

    def ask(match: re.Match[str]) -> str:
        nonlocal key
        key = match[1] or key
        if not match[3]:
            return match[0]
        name = Registration(key, match[3], file).name
        return f'{match[2]}if (!isLeftOut("{name}"))\n{match[0]}'

    return REGISTERED.sub(ask, text)


ALL = registrations()

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

# For each pair, of the name of an operator and of an expression: says what the expression gives without the operator.
RUN = """
import json, os, sys
import torch

def run(expression, d):
    x = torch.arange(6.0).to(d)
    result = eval(expression)
    return result.cpu().tolist() if isinstance(result, torch.Tensor) else result

def say(without, expression):
    os.environ["OPENREG_WITHOUT"] = without
    try:
        import torch_openreg
        got, expected = run(expression, "openreg"), run(expression, "cpu")
        return "ok" if got == expected else f"wrong: {got} instead of {expected}"
    except Exception as error:
        text = str(error).splitlines()[0]
        return f"{type(error).__name__}: {text.split('. ')[0]}"

for pair in json.loads(sys.argv[1]):
    child = os.fork()
    if not child:
        print(say(*pair), flush=True)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status:
        print("the process dies of a stack overflow" if status == -11 else f"it ends with {status}", flush=True)
"""

# What stands before each registration. It asks when the library is loaded, so one build serves for all operators.
LEFT_OUT = """
#pragma once
#include <cstdlib>
#include <string_view>

inline bool isLeftOut(std::string_view name) {
  const char* without = std::getenv("OPENREG_WITHOUT");
  return without && name == without;
}
"""


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

    def variant(self, index: int) -> Path:
        """Return the site of a step that lacks the registration which OPENREG_WITHOUT names when it is loaded."""
        folder, built = self.site(index).with_name("without"), self.key(index, "variant")
        with locked(built):
            if not built.is_file():
                self.make_variant(index, folder)
                built.touch()
        return folder / "site"

    def make_variant(self, index: int, folder: Path) -> None:
        """Build the variant of a step in a folder: compile what registers, and link."""
        units, site = self.ready(index), self.site(index)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(site / "torch_openreg", folder / "site" / "torch_openreg")
        (folder / "left_out.h").write_text(LEFT_OUT)
        changed: dict[Path, Path] = {}
        for file in sorted({registration.file for registration in ALL}):
            original = site.with_name("src") / file
            changed[original] = folder / Path(file).name
            changed[original].write_text(f'#include "left_out.h"\n{asking(original.read_text(), file)}')
        objects = [self.compile(unit, changed, folder) for unit in units]
        lib = folder / "site" / "torch_openreg" / "lib"
        torch_lib = Path(torch.__file__).parent / "lib"
        link = ["c++", "-shared", "-o", str(lib / "libtorch_openreg.so"), *map(str, objects)]
        link += [f"-L{lib}", "-lopenreg", f"-L{torch_lib}", "-ltorch_cpu", "-lc10", "-Wl,-rpath,$ORIGIN"]
        self.must(link, folder)

    def compile(self, unit: Unit, changed: dict[Path, Path], folder: Path) -> Path:
        """Return the object of a unit, compiled anew into a folder if some of its sources have changed."""
        ours = {source: Path(changed[source].name) for source in unit.sources if source in changed}
        if not ours:
            return unit.folder / unit.object
        group = folder / f"group{unit.sources[0].parent.name}.cpp"
        # The same text for both steps, so that the compiler cache has one for the other.
        group.write_text(unit.text({each: Path(os.path.relpath(each, folder)) for each in unit.sources} | ours))
        made = group.with_suffix(".o")
        words = [str(group) if word == str(unit.file) else word for word in unit.command]
        words[words.index("-o") + 1] = str(made)
        words = ["-O0" if word == "-O3" else word for word in words]  # compiles in half the time
        cache = ["ccache"] if shutil.which("ccache") else []
        self.must([*cache, *words], unit.folder)
        return made

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
        """Return where a result is kept; the name changes with every source it depends on, and with this file."""
        digest = hashlib.sha256("\0".join([torch.__version__, HERE.read_text(), self.sources(index), *words]).encode())
        return BUILD / "results" / f"{digest.hexdigest()[:32]}.json"

    def results(self, index: int, of: Callable[[int], Path], cases: list[tuple[str, str]]) -> list[str]:
        """Return what programs print on a step, or on its variant; nothing runs if nothing changed.

        Args:
            index: The step.
            of: Returns the site: `site` or `variant`.
            cases: For each program the operator that is left out, and an expression.
        """
        kept = self.key(index, of.__name__, json.dumps(cases))
        with locked(kept):
            if not kept.is_file():
                self.ready(index)
                env = os.environ | {"PYTHONPATH": str(of(index)), "PYTHONDONTWRITEBYTECODE": "1"}
                env |= {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}  # each program loads its own
                command = [sys.executable, "-c", RUN, json.dumps(cases)]
                done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
                said = done.stdout.splitlines()
                assert len(said) == len(cases), f"{done.returncode}\n{done.stdout}\n{done.stderr}"
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(said))
        return json.loads(kept.read_text())

    def complete(self, index: int, names: Iterable[str]) -> dict[str, str]:
        """Return what the programs of some operators print on a step."""
        names = list(names)
        return dict(zip(names, self.results(index, self.site, [("", PROGRAMS[it]) for it in names]), strict=True))

    def lacking(self, index: int, names: Iterable[str]) -> dict[str, str]:
        """Return what each operator's program prints on a step without the operator."""
        names = list(names)
        return dict(zip(names, self.results(index, self.variant, [(it, PROGRAMS[it]) for it in names]), strict=True))


@pytest.fixture(scope="session")
def minimal() -> Minimal:
    """The builder."""
    return Minimal()


ALL = registrations()


USED = [name for name in PROGRAMS if name not in LATER]


def rows(minimal: Minimal) -> list[dict[str, str]]:
    """What is recorded of the operators."""
    second = minimal.lacking(minimal.second, USED)
    last = minimal.lacking(minimal.last, PROGRAMS)
    return [
        {
            "operator": registration.name,
            "file": registration.file,
            "program": PROGRAMS[registration.name],
            "step 02": second.get(registration.name, "nobody asks for it on this step"),
            "complete": last[registration.name],
        }
        for registration in ALL
    ]


def test_there_is_a_program_for_each_operator_and_no_other() -> None:
    assert [registration.name for registration in ALL if registration.name not in PROGRAMS] == []
    assert PROGRAMS.keys() - {registration.name for registration in ALL} == set()


@pytest.mark.timeout(600)
def test_step_02_runs_all_the_programs(minimal: Minimal) -> None:
    assert minimal.complete(minimal.second, USED) == dict.fromkeys(USED, "ok")


@pytest.mark.timeout(600)
def test_the_complete_backend_runs_all_the_programs(minimal: Minimal) -> None:
    assert minimal.complete(minimal.last, PROGRAMS) == dict.fromkeys(PROGRAMS, "ok")


@pytest.mark.timeout(600)
def test_step_02_runs_all_the_programs_when_it_leaves_nothing_out(minimal: Minimal) -> None:
    cases = [("", PROGRAMS[name]) for name in USED]
    assert minimal.results(minimal.second, minimal.variant, cases) == ["ok"] * len(USED)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", [registration.name for registration in ALL])
def test_without_the_operator_something_breaks(minimal: Minimal, name: str) -> None:
    if name in LATER:
        assert minimal.lacking(minimal.last, PROGRAMS)[name] != "ok", "no step needs this operator"
    else:
        assert minimal.lacking(minimal.second, USED)[name] != "ok", "the step does not need this operator"


def table(found: list[dict[str, str]]) -> str:
    """The rows as a Markdown table, and above it what the names in the programs are: all of it as RUN has it."""
    (x,) = re.findall(r"^    x = (.+)$", RUN, re.MULTILINE)
    lines = [
        f'In the programs `d` is `"openreg"`, and `x` is `{x}`.',
        "",
        "| operator | a program that needs it | what it says without the operator | and with the CPU fallback |",
        "|---|---|---|---|",
    ]
    for item in found:
        words = [f"`{item['operator']}`", f"`{item['program']}`", item["step 02"], item["complete"]]
        lines.append("| " + " | ".join(word.replace("|", "\\|") for word in words) + " |")
    return "\n".join(lines) + "\n"


@pytest.mark.timeout(600)
def test_the_record_says_what_breaks(minimal: Minimal) -> None:
    found = rows(minimal)
    written = {
        RECORDED / "minimal_set.json": json.dumps(found, indent=1) + "\n",
        RECORDED / "minimal_set.md": table(found),
    }
    for path, text in written.items():
        if os.environ.get("OPENREG_RECORD"):
            path.write_text(text)
        assert path.read_text() == text, "run this test with OPENREG_RECORD=1 to write it anew"
