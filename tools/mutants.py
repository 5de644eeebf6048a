"""Seeds the bugs of tests/mutants one at a time, and says whether the test that each of them names fails.

    python tools/mutants.py --record        all of them, and writes down which were caught  (make mutants)
    python tools/mutants.py --due           those that a change could let escape            (make test)
    python tools/mutants.py --due --record  the same, and writes down which were caught
    python tools/mutants.py NAME ...        these: names, mechanisms, contract, backend    (make mutants NAME=orFree)
    python tools/mutants.py --check         only whether each still fits the sources      (make lint)

A bug is a piece of text in a source file and another to put in its place. Nothing in the repository changes: the
changed file is compiled by the command of build/cmake, and linked with the objects that are there into a library of its
own, in build/mutants. First of all the same is done without a bug, and all tests must pass: a test that fails anyhow,
or a tree that works nowhere, proves nothing.

That a bug was caught is remembered (remembered.py) until one of its library's sources changes, its test, or what tests
share. tests/mutants/caught.json has it for fresh clones: a digest of all that each verdict depends on, versions of the
compiler, Python and PyTorch included. Where any of it differs, the bug is due.
"""

import argparse
import ast
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import threading
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import compiler_cache
from files import all_files
from remembered import remember, shared_by_tests, stamp
from units import Unit, read_units

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "cmake"
STAMP = ROOT / "build" / "stamps" / "build"
WORK = ROOT / "build" / "mutants"
PACKAGE = ROOT / "openreg" / "torch_openreg"
LIST = ROOT / "tests" / "mutants"
RECORD = LIST / "caught.json"
CONTRACT = ROOT / "openreg" / "driver" / "include" / "openreg.h"
VIRTUAL = [ROOT / "openreg" / "csrc" / "device" / "guard.h", ROOT / "openreg" / "csrc" / "device" / "hooks.h"]
SECONDS = 60  # for one test, on a busy machine, too
HANGS = 10  # for one that is to hang
WORKERS = 3  # of the contract's tests, many wait more than they compute
# What each side's tests import and no bug is in; the last is 500 modules that torch.testing.assert_close asks for.
LOADED = {"contract": ["cffi"], "backend": ["cffi", "torch", "torch.distributed.tensor"]}
ENDS = ("fail", "crash", "hang")  # how the test says that it has found the bug
LIBRARIES = {"openreg/csrc": "openreg/csrc/libtorch_openreg.so", "openreg/": "openreg/driver/libopenreg.so"}
# Compiled and linked anew without a change, so that the tests' first run is on a tree that was made like the others.
CONTROL = ["openreg/driver/api/error.cpp", "openreg/csrc/device/error.cpp"]


@dataclass(frozen=True)
class Edit:
    """A piece of a source file, and what a bug makes of it."""

    file: str
    find: str
    put: str


@dataclass(frozen=True)
class Mutant:
    """One seeded bug."""

    name: str
    of: str  # the mechanism: an entry of the contract, a method of guard or hooks, or words
    group: str
    edits: tuple[Edit, ...]
    bug: str
    shows: str
    test: str
    ends: str = "fail"
    compile: tuple[str, ...] = ()  # where a header is changed: who is compiled anew
    seen: tuple[str, ...] = ()  # where others had it: addresses
    unless_cuda: bool = False  # whether a PyTorch that was built with CUDA never shows it

    @property
    def of_contract(self) -> bool:
        """Whether it is found through the contract alone, without PyTorch."""
        return self.test.startswith("tests/contract/")

    @property
    def side(self) -> str:
        """Which tests find it: contract or backend."""
        return self.test.split("/")[1]

    @property
    def sources(self) -> list[str]:
        """The files to compile."""
        changed = [edit.file for edit in self.edits if edit.file.endswith(".cpp")]
        return list(dict.fromkeys([*changed, *self.compile]))


class Broken(Exception):
    """A bug that cannot be seeded, or a test that says neither yes nor no."""


def in_order(file: Path) -> tuple[bool, int]:
    """The contract's files first, each side's by their numbers."""
    return file.parent.name != "contract", int(file.stem.partition("-")[0])


def read(folder: Path = LIST) -> list[Mutant]:
    """All mutants, in the order of the files that list them."""
    found = []
    for file in sorted(folder.glob("*/*.toml"), key=in_order):
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        for entry in table.get("mutant", []):
            first = {key: entry.pop(key) for key in ("file", "find", "put")}
            more = [{"file": first["file"], **edit} for edit in entry.pop("edits", [])]
            lists = {key: tuple(entry.pop(key)) for key in ("compile", "seen") if key in entry}
            edits = tuple(Edit(**edit) for edit in [first, *more])
            found.append(Mutant(group=table["title"], edits=edits, **lists, **entry))
    return found


# ------------------------------------------------------------------------------------------------------------- the list


def contract() -> list[str]:
    """The entries of openreg.h."""
    return re.findall(r"^OPENREG_EXPORT [^(]*?\b(or[A-Z]\w+)\(", CONTRACT.read_text(encoding="utf-8"), re.MULTILINE)


def virtual_functions() -> list[str]:
    """What guard and hooks override: `Guard::record`."""
    found = []
    for header in VIRTUAL:
        name = header.stem.capitalize()
        text = header.read_text(encoding="utf-8")
        found += [f"{name}::{it}" for it in re.findall(r"(\w+)\([^()]*\) (?:const )?(?:noexcept )?override", text)]
    return found


@cache
def functions(file: Path) -> set[str]:
    """Names of the test functions of a file."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def problems_of(mutant: Mutant) -> Iterator[str]:
    """What is wrong with one entry of the list."""
    for edit in mutant.edits:
        source = ROOT / edit.file
        count = source.read_text(encoding="utf-8").count(edit.find) if source.is_file() else 0
        if count != 1:
            yield f"{mutant.name}: the text to be replaced is {count} times in {edit.file}; expected once: {edit.find}"
    file, _, function = mutant.test.partition("::")
    if not (ROOT / file).is_file() or function.partition("[")[0] not in functions(ROOT / file):
        yield f"{mutant.name}: there is no test {mutant.test}"
    if mutant.ends not in ENDS:
        yield f"{mutant.name}: ends is {mutant.ends!r}; expected one of {', '.join(ENDS)}"
    if any(edit.file.endswith(".h") for edit in mutant.edits) and not mutant.compile:
        yield f"{mutant.name}: a header is changed; expected `compile` to say which files are compiled anew"


def problems(mutants: list[Mutant], complete: bool = True) -> list[str]:
    """What is wrong with the list: bugs that no longer fit, and, if it is to be complete, what has none."""
    found = [problem for mutant in mutants for problem in problems_of(mutant)]
    if not complete:
        return found
    names = [mutant.name for mutant in mutants]
    found += [f"two mutants are called {name}" for name in sorted(set(names)) if names.count(name) > 1]
    covered = {mutant.of for mutant in mutants}
    found += [f"no mutant is a bug of {it}" for it in [*contract(), *virtual_functions()] if it not in covered]
    return found


# ------------------------------------------------------------------------------------------------------------ the trees


@cache
def units() -> dict[str, Unit]:
    """For each source file the unit that it is compiled in."""
    return {str(source.relative_to(ROOT)): unit for unit in read_units(BUILD) for source in unit.sources}


@cache
def link_command(library: str) -> list[str]:
    """The command that links a library of build/cmake."""
    ninja = Path(sys.executable).parent / "ninja"
    said = subprocess.run([ninja, "-t", "commands", library], cwd=BUILD, capture_output=True, text=True, check=True)
    words = shlex.split(said.stdout.splitlines()[-1])
    return [word for word in words if word not in (":", "&&")]


def call(command: list[str], cwd: Path) -> None:
    """Runs a compiler."""
    env = os.environ | compiler_cache.environment(ROOT)
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Broken(f"it does not compile:\n{done.stdout}{done.stderr}")


class Tree:
    """What one mutant is built of: changed sources, objects, libraries, and a package that has them."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.root = WORK / mutant.name
        self.sources = self.root / "openreg"
        self.site = self.root / "site"
        self.lib = self.root / "lib" if mutant.of_contract else self.site / "torch_openreg" / "lib"

    def make(self) -> None:
        """Makes all of it."""
        shutil.rmtree(self.root, ignore_errors=True)
        self._write_sources()
        if not self.mutant.of_contract:
            self._copy_package()
        self.lib.mkdir(parents=True, exist_ok=True)
        for folder, library in LIBRARIES.items():
            mine = [source for source in self.mutant.sources if source.startswith(folder)]
            if folder == "openreg/":
                mine = [source for source in mine if not source.startswith("openreg/csrc")]
            if mine:
                self._link(library, {unit.object: self._compile(unit) for unit in {units()[source] for source in mine}})
        for program in ("openreg_executor", "executor_python"):  # the driver "process" looks for them beside it
            if self.mutant.of_contract:
                (self.lib / program).symlink_to(BUILD / "openreg" / "driver" / program)

    def _write_sources(self) -> None:
        """The headers, as links, and the changed files. A header is found here before it is found where it belongs."""
        for header in (ROOT / "openreg").rglob("*.h"):
            link = self.sources / header.relative_to(ROOT / "openreg")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(header)
        changed: dict[str, str] = {}
        for file in [*self.mutant.sources, *(edit.file for edit in self.mutant.edits)]:
            changed[file] = (ROOT / file).read_text(encoding="utf-8")
        for edit in self.mutant.edits:
            if changed[edit.file].count(edit.find) != 1:
                raise Broken(f"the text to be replaced is not once in {edit.file}")
            changed[edit.file] = changed[edit.file].replace(edit.find, edit.put)
        for file, text in changed.items():
            path = self.root / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
            path.write_text(text, encoding="utf-8")

    def _copy_package(self) -> None:
        """The package as it is installed, with the changed files of Python. Real files: tests follow links home."""
        for file in [*PACKAGE.rglob("*"), *PACKAGE.parent.glob("*.py")]:
            if file.is_dir() or "__pycache__" in file.parts:
                continue
            copy = self.site / file.relative_to(PACKAGE.parent)
            copy.parent.mkdir(parents=True, exist_ok=True)
            changed = self.root / file.relative_to(ROOT)
            if changed.is_file():
                shutil.copyfile(changed, copy)
            else:
                os.link(file, copy)

    def _compile(self, unit: Unit) -> Path:
        """Compiles one unit the way build/cmake does, without optimising it."""
        source = self.root / (unit.file.name if unit.is_group else unit.file.relative_to(ROOT))
        if unit.is_group:
            source.write_text(unit.text({ROOT / name: self.root / name for name in self.mutant.sources}))
        made = self.root / "objects" / f"{Path(unit.object).name}.o"
        made.parent.mkdir(exist_ok=True)
        words: list[str] = []
        for word in unit.command:
            if word.startswith(("-I", "-iquote")) and word.removeprefix("-I").startswith(str(ROOT / "openreg")):
                words.append(word.replace(str(ROOT / "openreg"), str(self.sources)))
            words.append(word)
        where = [i for i, word in enumerate(words) if word == "-o"]
        words[where[0] + 1] = str(made)
        words = [str(source) if word == str(unit.file) else word for word in words]
        words = ["-O0" if word in ("-O2", "-O3") else word for word in words]
        cache = [found] if (found := shutil.which("ccache")) and "ccache" not in words[0] else []
        call([*cache, *words, "-iquote", str(unit.file.parent)], BUILD)
        return made

    def _link(self, library: str, objects: dict[str, Path]) -> None:
        """Links a library with some of its objects replaced."""
        words = link_command(library)
        if missing := objects.keys() - set(words):
            raise Broken(f"{library} is not made of {', '.join(missing)}")
        words = [str(objects.get(word, word)) for word in words]
        made = self.lib / Path(library).name
        made.unlink(missing_ok=True)  # it may be another name of the real one
        words[words.index("-o") + 1] = str(made)
        words = [
            "-Wl,-rpath,$ORIGIN" if word.startswith("-Wl,-rpath,") and "csrc" in library else word for word in words
        ]
        call(words, BUILD)

    def environment(self) -> dict[str, str]:
        """For the tests: this tree in front of everything else."""
        # With CI set, pytest compares two values that differ to their ends: of 64 MiB, that looks like a hang.
        hidden = ("OPENREG_", "PYTEST_", "CI")
        env = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        env["PATH"] = f"{Path(sys.executable).parent}:{env['PATH']}"
        env["PYTHONPATH"] = os.pathsep.join([str(self.site), str(ROOT / "tests")])
        env["OPENREG_MUTANT_WITNESS"] = str(self.root / "witness.txt")
        if self.mutant.of_contract:
            env["OPENREG_LIBRARY"] = str(self.lib / "libopenreg.so")
        return env

    def check_witness(self) -> None:
        """Raises unless the tests have loaded what is here, and nothing of the same name from elsewhere."""
        file = self.root / "witness.txt"
        loaded = [Path(line) for line in file.read_text().splitlines()] if file.is_file() else []
        others = [str(path) for path in loaded if not path.is_relative_to(self.root)]
        package = self.site / "torch_openreg" / "__init__.py"
        if others or (not self.mutant.of_contract and package not in loaded):
            raise Broken(f"the test has not loaded the bug; it has loaded {', '.join(map(str, loaded)) or 'nothing'}")


# ------------------------------------------------------------------------------------------------------------ the tests


@dataclass
class Verdict:
    """How a mutant went."""

    mutant: Mutant
    state: str  # caught, SURVIVED or BROKEN
    why: str
    seconds: float


class Warm(threading.local):
    """For each thread of ours the processes that run its tests: tests/mutants/warm.py."""

    def __init__(self) -> None:
        self.servers: dict[str, subprocess.Popen[str]] = {}

    def run(self, side: str, order: dict[str, Any]) -> int | None:
        """Runs pytest and returns its exit status, negative for a signal, None for a timeout."""
        if side not in self.servers:
            self.servers[side] = subprocess.Popen(
                [sys.executable, "-m", "mutants.warm", *LOADED[side]],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT / "tests"), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        stdin, stdout = self.servers[side].stdin, self.servers[side].stdout
        assert stdin and stdout
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        return json.loads(stdout.readline())


warm = Warm()


def run_tests(tree: Tree, tests: list[str], seconds: float) -> str:
    """Runs tests on a tree and says how they ended: pass, fail, crash or hang."""
    report = tree.root / "report.xml"
    arguments = ["-q", "-x", "-p", "mutants.witness", "-p", "no:cacheprovider", f"--junitxml={report}", *tests]
    output = tree.root / "output.txt"
    order = {"arguments": arguments, "env": tree.environment(), "output": str(output), "seconds": seconds}
    status = warm.run(tree.mutant.side, order)
    if status is None:
        return "hang"
    if status < 0:
        return "crash"
    tree.check_witness()
    if status not in (0, 1) or not report.is_file():
        raise Broken(f"pytest ended with {status}; see {output.relative_to(ROOT)}")
    return "fail" if status else "pass"


def complaint(tree: Tree) -> str:
    """What the failed test said, in one line; raises if it could not even begin."""
    for case in ElementTree.parse(tree.root / "report.xml").iter("testcase"):
        for bad in (*case.iter("failure"), *case.iter("error")):
            message = bad.get("message", "")
            if bad.tag == "error" and "on teardown" not in message:
                raise Broken(f"the test could not begin: {message}")
            return " ".join(message.split())[:100]
    raise Broken("no test has run")


def judge(mutant: Mutant) -> Verdict:
    """Seeds one bug and runs its test."""
    start = time.monotonic()
    state, why = "caught", ""
    try:
        tree = Tree(mutant)
        tree.make()
        ended = run_tests(tree, [mutant.test], HANGS if mutant.ends == "hang" else SECONDS)
        if ended == "fail":
            why = complaint(tree)
        if ended == "pass":
            state, why = "SURVIVED", f"{mutant.test} passes"
        elif ended != mutant.ends:
            state, why = "BROKEN", f"the test ends in a {ended}; expected a {mutant.ends} ({why})"
    except Broken as error:
        state, why = "BROKEN", str(error)
    return Verdict(mutant, state, why, time.monotonic() - start)


def control(mutants: list[Mutant], of_contract: bool) -> str:
    """Runs all the tests on a tree without a bug; says what is wrong, if anything."""
    tests = sorted({mutant.test for mutant in mutants if mutant.of_contract == of_contract})
    if not tests:
        return ""
    name = f"without-a-bug-{'contract' if of_contract else 'backend'}"
    compiled = tuple(CONTROL[:1] if of_contract else CONTROL)
    tree = Tree(Mutant(name, "", "", (), "", "", tests[0], compile=compiled))
    try:
        tree.make()
        ended = run_tests(tree, tests, SECONDS * len(tests))
    except Broken as error:
        return f"{name}: {error}"
    if ended == "pass":
        return ""
    output = tree.root / "output.txt"
    last_words = "\n".join(output.read_text(encoding="utf-8", errors="replace").splitlines()[-4:])
    return f"{name}: the tests end in a {ended}; see {output.relative_to(ROOT)}\n{last_words}"


def chosen(mutants: list[Mutant], names: list[str]) -> list[Mutant]:
    """The mutants that the command line names."""
    known = {mutant: {mutant.name, mutant.of, mutant.side} for mutant in mutants}
    if any(" ".join(names) in of_mutant for of_mutant in known.values()):
        names = [" ".join(names)]  # some mechanisms have two words, and make takes them apart
    if unknown := set(names).difference(*known.values()):
        sys.exit(f"mutants: none is called {', '.join(sorted(unknown))}, and none is a bug of it")
    return [mutant for mutant in mutants if not names or known[mutant].intersection(names)]


@cache
def shared_files(of_contract: bool) -> frozenset[Path]:
    """What a verdict depends on beside the test's own file: the library's sources, and what its side's tests share."""
    sources = ("openreg/driver", "openreg/kernels") if of_contract else ("openreg",)
    tests = ("tests/contract",) if of_contract else ("tests/contract", "tests/backend")
    alone = ["CMakeLists.txt", "tests/conftest.py", "tools/mutants.py", "tools/units.py"]
    alone += [f"tests/mutants/{name}.py" for name in ("warm", "witness")]
    folders = [ROOT / folder for folder in sources]
    built = {file for file in all_files() if any(map(file.is_relative_to, folders))}
    return frozenset(built | shared_by_tests(*tests) | {ROOT / name for name in alone})


def caught_before(mutant: Mutant) -> Path:
    """The stamp that says that a bug was caught as everything is now."""
    versions = [sys.version, version("torch"), version("pytest"), compiler_version()]
    files = shared_files(mutant.of_contract) | {ROOT / mutant.test.partition("::")[0]}
    return stamp("mutants", [repr(mutant), *versions], files)


def recorded() -> dict[str, str]:
    """By the name of a bug, the name of the stamp that it left when it was caught last and written down."""
    return json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.is_file() else {}


def record(stamps: dict[Mutant, Path], names: set[str]) -> None:
    """Writes down which bugs were caught as everything is now; of others with these names what was known stays."""
    known = {name: it for name, it in recorded().items() if name in names}
    known |= {mutant.name: it.name for mutant, it in stamps.items() if it.exists()}
    RECORD.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n", encoding="utf-8")


def newer_than_the_build() -> str:
    """Names a source that was changed after the libraries were built, if there is one."""
    built = STAMP.stat().st_mtime if STAMP.is_file() else 0.0
    sources = (file for file in all_files() if file.is_relative_to(ROOT / "openreg") and file.suffix in (".h", ".cpp"))
    return next((str(file.relative_to(ROOT)) for file in sources if file.stat().st_mtime > built), "")


def built_with_cuda() -> bool:
    """Whether PyTorch was built with CUDA; read where it was written down, for to import it takes a second."""
    found = find_spec("torch")
    return bool(runpy.run_path(str(Path(found.origin).with_name("version.py")))["cuda"]) if found else False


@cache
def compiler_version() -> str:
    """What the compiler of the build says that it is."""
    compiler = next(word for word in read_units(BUILD)[0].command if "ccache" not in word)
    return subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True).stdout


def stop_if(wrong: str, pool: ThreadPoolExecutor) -> None:
    """Ends everything with a sentence, if there is one."""
    if wrong:
        pool.shutdown(wait=False, cancel_futures=True)
        sys.exit(f"mutants: {wrong}")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a mutant, or the mechanism it is a bug of")
    parser.add_argument("--check", action="store_true", help="only look whether all fit the sources")
    parser.add_argument("--due", action="store_true", help="leave out what was caught and what nothing has changed for")
    parser.add_argument("--record", action="store_true", help="write down for fresh clones which were caught")
    given = parser.parse_args()
    mutants = chosen(every := read(), given.names)
    if wrong := problems(mutants, complete=not given.names):
        sys.exit("mutants: " + "\nmutants: ".join(wrong))
    if given.check:
        print(f"mutants: all {len(mutants)} fit the sources; every entry of openreg.h, guard and hooks has one")
        return
    if built_with_cuda():
        mutants = [mutant for mutant in mutants if not mutant.unless_cuda]
    start = time.monotonic()
    if newer := newer_than_the_build():
        sys.exit(f"mutants: {newer} is newer than the libraries, and a verdict would be on others; run: make build")
    stamps = {mutant: caught_before(mutant) for mutant in mutants}
    if given.due:
        known, written = len(mutants), recorded()
        mutants = [it for it in mutants if written.get(it.name) != stamps[it].name and not stamps[it].exists()]
        print(
            f"{known - len(mutants)} of {known} bugs were caught before, and nothing has changed for them", flush=True
        )
    with ThreadPoolExecutor(WORKERS) as pool:
        backend = pool.submit(control, mutants, False)  # takes longer; the contract's mutants need not wait for it
        stop_if(control(mutants, True), pool)
        verdicts = []
        for verdict in pool.map(judge, mutants):
            if not verdict.mutant.of_contract:
                stop_if(backend.result(), pool)
            verdicts.append(verdict)
            if verdict.state == "caught":
                remember(stamps[verdict.mutant], verdict.mutant.name)
            said = f"{verdict.state:8} {verdict.seconds:5.1f} s  {verdict.mutant.of:32} {verdict.mutant.name}"
            print(said if verdict.state == "caught" else f"{said}\n    {verdict.why}", flush=True)
    WORK.mkdir(parents=True, exist_ok=True)  # in a fresh clone in which nothing is due, nobody has made it
    (WORK / "verdicts.json").write_text(
        json.dumps([[it.mutant.name, it.state, round(it.seconds, 1), it.why] for it in verdicts], indent=1)
    )
    if given.record:
        record(stamps, {mutant.name for mutant in every})
    if not verdicts:
        return  # no test has run
    print("\nwithout a bug all tests pass")
    others = [verdict for verdict in verdicts if verdict.state != "caught"]
    for verdict in others:
        print(f"{verdict.state} {verdict.mutant.name}: {verdict.why}")
    print(f"{len(verdicts) - len(others)} of {len(verdicts)} bugs are caught ({time.monotonic() - start:.0f} s)")
    sys.exit(bool(others))


if __name__ == "__main__":
    main()
