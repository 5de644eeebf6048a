"""Makes a backend of your own from any step: a project with your name in the place of ours, and a driver to write.

    python backend/generate.py acme [--step 04] [--out DIR] [--sim] [--try]
                                    [--vendor-header acme.h --vendor-lib libacme.so]
                        (make backend NAME=acme STEP=04 OUT=DIR SIM=1 VENDOR_HEADER=acme.h VENDOR_LIB=libacme.so)

The project has the PyTorch side of the step, and of the device side the entry points and the contract. Its driver is a
skeleton, in which each entry that the step needs is to be written. With --sim our simulator and its kernels come along,
and serve until yours can. With --try it is built, and its program and tests run, before the command ends.

The project is a git repository. What was generated is on a branch of its own, so a later step (the same command with
another STEP, on the same folder) is a merge.
"""

import argparse
import json
import posixpath
import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import branch
import names
import skeleton
import try_out

ROOT = Path(__file__).resolve().parent.parent
TEMPLATE = ROOT / "backend" / "template"
sys.path[:0] = [str(ROOT / "steps"), str(ROOT / "tools")]

from assemble import Ladder, StepError  # noqa: E402
from levels import GROUPS, LEVELS, OPTIONAL, Level  # noqa: E402

INCLUDE = re.compile(r'^\s*#include [<"]([^>"]+)[>"]', re.MULTILINE)
DRIVER = "openreg/driver"
DOCTOR = "openreg/torch_openreg/doctor/"
OURS = ("common", "sim", "process", "fake", "cuda")
SIMULATED = (*(f"{DRIVER}/{name}/" for name in OURS), "openreg/kernels/")
SIMULATOR = (f"{DRIVER}/api/control.cpp", f"{DRIVER}/include/openreg_sim.h")
Tree = dict[str, str]
SETTINGS = "generated.toml"
DEFINED = re.compile(r"^\s*#\s*define\s+(\w+)", re.MULTILINE)


class Vendor(NamedTuple):
    """The vendor's header and library."""

    header: Path
    library: Path

    @classmethod
    def given(cls, header: Path | None, library: Path | None) -> "Vendor | None":
        """What a command line has of them.

        Raises:
            ValueError: If it has one of them alone.
        """
        if bool(header) != bool(library):
            raise ValueError("VENDOR_HEADER and VENDOR_LIB go together; expected both or none")
        return cls(header, library) if header and library else None

    @staticmethod
    def add_options(parser: argparse.ArgumentParser) -> None:
        """Adds both to a command line."""
        parser.add_argument("--vendor-header", type=Path, help="the vendor's header, for the driver to include")
        parser.add_argument("--vendor-lib", type=Path, help="the vendor's library, for the driver to be linked to")

    def included(self, text: str) -> str:
        """A file, with the vendor's header if it is a source in which the driver is to be written."""
        if 'include "vendor_error.h"' not in text:
            return text
        return text.replace("\n\nnamespace", f"\n\n#include <{self.header.name}>\n\nnamespace", 1)

    def check(self, tree: Tree) -> None:
        """Checks that they are there, and that nothing in a project has one of their names.

        Raises:
            ValueError: If not.
        """
        for argument, file in (("VENDOR_HEADER", self.header), ("VENDOR_LIB", self.library)):
            if not file.is_file():
                raise ValueError(f"{argument} is {str(file)!r}, which is not a file; expected the path of the vendor's")
        headers = {posixpath.basename(path): text for path, text in tree.items() if path.endswith(".h")}
        if self.header.name in headers:
            raise ValueError(f"VENDOR_HEADER is {str(self.header)!r}, and the project has a header of that name")
        built = re.findall(
            r"add_library\((\w+) SHARED", "".join(t for p, t in tree.items() if p.endswith("CMakeLists.txt"))
        )
        if self.library.name.partition(".so")[0].removeprefix("lib") in built:
            raise ValueError(f"VENDOR_LIB is {str(self.library)!r}, and the project builds a library of that name")
        theirs = set(DEFINED.findall(self.header.read_text(errors="replace")))
        if both := theirs & set(DEFINED.findall("".join(headers.values()))):
            raise ValueError(f"VENDOR_HEADER is {str(self.header)!r}, and the project defines {min(both)}, too")

    def build(self, name: str) -> str:
        """The lines of CMake that give them to the driver."""
        upper = name.upper()
        return f"""
# The vendor's header and library; -D{upper}_VENDOR_LIBRARY=… names others.
set({upper}_VENDOR_INCLUDE "{self.header.resolve().parent}" CACHE PATH "Where the vendor's header is")
set({upper}_VENDOR_LIBRARY "{self.library.resolve()}" CACHE FILEPATH "The vendor's library")
target_include_directories({name}_objects SYSTEM PRIVATE "${{{upper}_VENDOR_INCLUDE}}")
target_link_libraries({name}_device PRIVATE "${{{upper}_VENDOR_LIBRARY}}")
get_filename_component({name}_vendor_folder "${{{upper}_VENDOR_LIBRARY}}" DIRECTORY)
set_property(TARGET {name}_device APPEND PROPERTY INSTALL_RPATH "${{{name}_vendor_folder}}")
"""


def needed(tree: Tree) -> Tree:
    """The tree without our drivers and kernels, but for the files of theirs that the rest of it includes."""
    kept = {path for path in tree if not path.startswith((*SIMULATED, *SIMULATOR))}
    new = list(kept)
    while new:
        path = new.pop()
        for wanted in INCLUDE.findall(tree[path]) if path.endswith((".h", ".cpp")) else ():
            for folder in (posixpath.dirname(path), DRIVER, f"{DRIVER}/include", "openreg", "openreg/csrc"):
                header = posixpath.normpath(f"{folder}/{wanted}")
                source = header.removesuffix(".h") + ".cpp"
                # Kernels are the device's. The host needs the list of them, and how their arguments look.
                sources = [source] if source.startswith((f"{DRIVER}/common/", "openreg/kernels/launch/")) else []
                found = {it for it in (header, *sources) if header in tree and it in tree} - kept
                kept |= found
                new += found
    return {path: tree[path] for path in tree if path in kept}


def levels_of(step: int) -> list[Level]:
    """The levels that a driver needs for a step: not the kernels, without which the CPU computes."""
    return [level for level in LEVELS[:-1] if level.first <= step]


def all_levels_of(step: int) -> list[Level]:
    """The same, and then what a driver may have: the kernels, and what one thing in a step does without."""
    return [*levels_of(step), *(level for level in (LEVELS[-1], *OPTIONAL) if level.first <= step)]


def contract_tests(*, sim: bool) -> Tree:
    """The contract's tests that are about the driver under test, and what they need."""
    groups = [group for group in GROUPS if sim or group != "simulator"]
    files = ["workers.py", *(f"contract/test_{group}.py" for group in groups)]
    files += [f"contract/{module}.py" for module in ("__init__", "arguments", "conftest", "harness", "header")]
    files += ["contract/missing.py", "contract/processes.py", "contract/gates/__init__.py", "contract/gates/gates.cpp"]
    files += ["contract/kernels/probe.cpp", "contract/kernels/probe.cu", "contract/drivers/driver.c"]
    tree = {f"tests/{file}": (ROOT / "tests" / file).read_text() for file in files}
    if not sim:
        harness = "tests/contract/harness.py"
        tree[harness] = tree[harness].replace('DEFAULT_DRIVER = "sim"', 'DEFAULT_DRIVER = "openreg"')
    return tree


def with_own_driver(tree: Tree, step: int, *, sim: bool) -> Tree:
    """The tree with the skeleton as its first driver, and so as the one that serves by default."""
    built_in, header = f"{DRIVER}/api/built_in.cpp", f"{DRIVER}/api/built_in.h"
    mine = "extern const BuiltIn openregDriver; ///< The device's own."
    declared = tree[header] if sim else re.sub(r"^extern const BuiltIn .*\n", "", tree[header], flags=re.MULTILINE)
    ours = "&simDriver, &processDriver, &fakeDriver, &cudaDriver"
    drivers = ours.replace("&simDriver", "&simDriver, &openregDriver") if sim else "&openregDriver"
    files = skeleton.driver(ROOT / DRIVER / "include", all_levels_of(step))
    return tree | {
        header: declared.replace("\n} // namespace", f"\n{mine}\n\n}} // namespace").replace("\n\n\n", "\n\n"),
        built_in: tree[built_in].replace(ours, drivers),
        **{f"{DRIVER}/openreg/{file}": text for file, text in files.items()},
    }


def project(name: str, step: str, *, sim: bool, vendor: Vendor | None = None) -> Tree:
    """All files of the project, by their paths in it."""
    ladder = Ladder()
    index = ladder.find(step)
    number = ladder.steps[index].number
    tree = {path: ladder.text(index, path) for path in ladder.trees[index]}
    license_ = licensed(tree.pop("LICENSE"), f"torch_{name}")
    tree = with_own_driver(tree if sim else needed(tree), int(number), sim=sim)
    folder = ladder.steps[index].folder
    tree["demo.py"] = (folder / "demo.py").read_text()
    for file in ("test_step.py", "exercise.py"):
        tree[f"tests/{file}"] = (folder / file).read_text()
    if int(number) >= 3:  # before, no operator is there for tensors that are
        operators = "examples/testing/device_generic.py"
        tree["tests/test_operators.py"] = (ROOT / operators).read_text().replace(operators, "tests/test_operators.py")
    # From the first step on: who begins a backend asks it most often. The ladder has it only where a package is made.
    last = len(ladder.steps) - 1
    tree |= {path: ladder.text(last, path) for path in ladder.trees[last] if path.startswith(DOCTOR)}
    tree |= contract_tests(sim=sim)
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["run"]
    values = {
        "@STEP@": number,
        "@DRIVER@": "sim" if sim else "openreg",
        '["what-it-runs-with"]': json.dumps([it for it in ours if not it.startswith("torch==")] if sim else []),
        "@RUNNER@": "ubuntu-24.04" if sim else "self-hosted",
        '"@ENTRIES@"': ",\n    ".join(f'"{entry}"' for entry in skeleton.entries_of(levels_of(int(number)))),
        "# @ENTRY_POINT@\n\n": entry_point(tree["pyproject.toml"]),
        '"@GROUPS@"': ",\n    ".join(f'"test_{group}"' for group in GROUPS),
    }
    for file in sorted(TEMPLATE.rglob("*")):
        if file.is_file():
            text = re.sub("|".join(map(re.escape, values)), lambda found: values[found[0]], file.read_text())
            tree[file.relative_to(TEMPLATE).as_posix()] = text
    done = {}
    for path, text in tree.items():
        build = path.endswith(("CMakeLists.txt", ".cmake"))
        done[names.renamed(path, name)] = (names.renamed_build if build else names.renamed)(text, name)
    left = {path: words for path, text in done.items() if (words := names.leftovers(path + text))}
    if left:
        raise ValueError(f"the name is left in {left}")
    if vendor:
        vendor.check(done)
        done[f"{name}/driver/CMakeLists.txt"] += vendor.build(name)
        done = {path: vendor.included(text) for path, text in done.items()}
    done["LICENSE"] = license_
    done[SETTINGS] = settings("backend", name, number, sim=sim, vendor=vendor)
    return done


def entry_point(pyproject: str) -> str:
    """What a step's pyproject.toml says for PyTorch, which loads the package by that, if it does yet."""
    project = tomllib.loads(pyproject).get("project", {})
    loads = project.get("entry-points", {}).get("torch.backends", {})
    lines = [f"{package} = {json.dumps(function)}" for package, function in loads.items()]
    said = '[project.entry-points."torch.backends"] # import torch loads the package\n'
    return said + "\n".join([*lines, "", ""]) if lines else ""


def licensed(text: str, whose: str) -> str:
    """Our licence, which says whose the copied parts are, with a line for the project's own."""
    return text.replace(
        "\n\nRedistribution", f"\nCopyright (c) the {whose} authors, of what they add\n\nRedistribution", 1
    )


def settings(kind: str, name: str, step: str, *, sim: bool, vendor: Vendor | None) -> str:
    """What a project, a "backend" or a "driver", remembers of how it was made, for the next time."""
    header, library = (str(file.resolve()) for file in vendor) if vendor else ("", "")
    values = {"kind": kind, "name": name, "step": step, "sim": sim, "vendor_header": header, "vendor_lib": library}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in values.items())
    return f"# How this project was generated. The next step is generated likewise.\n{lines}\n"


def remember(given: argparse.Namespace, out: Path, kind: str) -> bool:
    """Completes a command line by how the project there was made, if there is one.

    Returns:
        Whether there is one.

    Raises:
        ValueError: If something else is there, or the project of another name or kind.
    """
    if not branch.has(out):
        if out.exists() and any(out.iterdir()):
            raise ValueError(
                f"OUT is {str(out)!r}, which is not empty; expected a new folder, or a project made by this"
            )
        return False
    before = tomllib.loads(branch.read(out, SETTINGS))
    if before["name"] != given.name:
        raise ValueError(f"OUT is {str(out)!r}, the project of {before['name']!r}; NAME is {given.name!r}")
    made = before.get("kind", "backend")  # the first projects didn't say
    if made != kind:
        raise ValueError(f"OUT is {str(out)!r}, which make {made} has made; expected a project made by this")
    given.sim = given.sim or before["sim"]
    given.vendor_header = given.vendor_header or (before["vendor_header"] and Path(before["vendor_header"]))
    given.vendor_lib = given.vendor_lib or (before["vendor_lib"] and Path(before["vendor_lib"]))
    return True


def write(out: Path, files: Tree, message: str) -> None:
    """Writes a new project, and makes a repository of it, unless it is in one or there is no git."""
    for path, text in files.items():
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        (out / path).write_text(text)
    without = ""
    if not shutil.which("git"):
        without = "git is not installed"
    elif branch.is_in_a_repository(out):
        without = "it is in a repository already"
    else:
        branch.begin(out, files, message)
    print(f"{message}, is in {out}", flush=True)
    if without:
        print(f"  without the branch '{branch.BRANCH}', by which it could climb to a later step: {without}", flush=True)


def climb(out: Path, files: Tree, message: str) -> None:
    """Commits the tree of another step to the branch of generated trees."""
    if branch.commit(out, files, message):
        print(f"{message}, is on the branch '{branch.BRANCH}' of {out}")
        print(f"next: cd {out} && git merge {branch.BRANCH}")
    else:
        print(f"the branch '{branch.BRANCH}' of {out} has that already")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="the device's name, as in torch.device(NAME)")
    parser.add_argument("--step", default="04", help="number or name of the step to start from (default: 04)")
    parser.add_argument("--out", type=Path, help="new folder for the project (default: ../torch_NAME)")
    parser.add_argument("--sim", action="store_true", help="bring the simulator along, and use it by default")
    parser.add_argument("--try", dest="tries", action="store_true", help="build it, and run its program and tests")
    Vendor.add_options(parser)
    given = parser.parse_args()
    out = given.out or ROOT.parent / f"torch_{given.name}"
    try:
        climbs = remember(given, out, "backend")
        names.check(given.name, ours=climbs)
        vendor = Vendor.given(given.vendor_header, given.vendor_lib)
        files = project(given.name, given.step, sim=given.sim, vendor=vendor)
        message = f"torch_{given.name}, from step {given.step}"
        if climbs:
            climb(out, files, message)
            return
        write(out, files, message)
        if given.tries:
            try_out.try_out(out.resolve())
        alone = "" if try_out.is_loaded_by_pytorch(tomllib.loads(files[SETTINGS])["step"]) else f"{try_out.AUTOLOAD}=0 "
        print(f"next: cd {out} && pip install --no-build-isolation -e . && {alone}python demo.py")
    except (ValueError, StepError) as error:
        sys.exit(f"backend: {error}")


if __name__ == "__main__":
    main()
