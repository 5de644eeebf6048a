"""Builds a step, runs its program and its tests, and says what to do next.

    python steps/step.py 03 [--red] [--record] [--out DIR]          (make step N=03, RED=1, OUT=DIR)
    python steps/step.py all [--record]                             (make steps)

In build/steps/NN are src, the assembled tree, and site, to which the step is installed. A recorded output (before.txt,
after.txt) begins with the command that makes it. Of a traceback it has the last error, up to its first empty line; of
an absolute path the last part. It is written by `--record` only, and recorded_with.txt with it: PyTorch's version.
"""

import argparse
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from importlib.metadata import version
from pathlib import Path

from assemble import ROOT, Ladder, StepError, write
from regions import RegionError

sys.path.append(str(ROOT / "tools"))
import compiler_cache
from progress import watch

TRACE = "Traceback (most recent call last):\n"
FRAMES = re.compile(r"\A([ \t].*\n)+")
FOLDERS = re.compile(r"(?<![\w.:/])/(?:[\w.+@~-]+/)+")
TIME_OR_ADDRESS = r"0x[0-9a-f]+|\d+(\.\d+)?(?= ?(ns|us|µs|ms|s)\b)"
# Of PyTorch: a line of its sources, and for which backends it has kernels.
OF_A_BUILD = r"(?<=\.h\":)\d+|(?<=these backends: \[)[\w, ]+"
MAY_DIFFER = re.compile(f"{TIME_OR_ADDRESS}|{OF_A_BUILD}")
# What PyTorch 2.14 logs where CUDA's compiler is installed and no GPU is.
NO_GPU = re.compile(r"^W.*\] No CUDA runtime is found, using CUDA_HOME=.*\n", re.M)
COMPILER_ERROR = re.compile(r"^(?:\S*/)?(openreg/\S+?):(\d+):\d+: (?:fatal )?error: (.*)", re.M)
FAILED_TEST = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.M)


def describe(site: Path, groups: dict[str, dict[str, str]]) -> None:
    """Write what pip writes of a package: its name and its entry points.

    Without it, PyTorch would find those of the package that the environment has installed, and load it with each step.
    """
    folder = site / "torch_openreg-0.dist-info"
    write(folder / "METADATA", "Metadata-Version: 2.1\nName: torch_openreg\nVersion: 0\n")
    lines = [line for group, points in groups.items() for line in (f"[{group}]", *map(" = ".join, points.items()))]
    write(folder / "entry_points.txt", "\n".join([*lines, ""]))


class Stop(Exception):
    """A step does not build, print or pass what it should; the text is the next thing to do."""


def tidy(output: str) -> str:
    """Shorten what a program prints to what is recorded of it."""
    output = NO_GPU.sub("", output)
    head, trace, _ = output.partition(TRACE)
    if trace:
        error = FRAMES.sub("", output.rpartition(TRACE)[2])
        message, more, _ = error.strip("\n").partition("\n\n")
        output = f"{head}{trace}  ...\n{message}\n" + "...\n" * bool(more)
    return FOLDERS.sub(".../", output).rstrip() + "\n"


def difference(recorded: str, printed: str) -> str:
    """Compare two outputs, but for what may differ; return a diff, empty if they are equal."""
    texts = [MAY_DIFFER.sub("N", text).splitlines() for text in (recorded, printed)]
    return "\n".join(difflib.unified_diff(*texts, "recorded", "printed", lineterm=""))


class Workshop:
    """Builds, runs and tests the steps of a repository. A step before the first stands for plain PyTorch."""

    def __init__(self, root: Path = ROOT, record: bool = False) -> None:
        """Read the steps. With `record`, outputs are recorded instead of compared."""
        self.root, self.record, self.ladder = root, record, Ladder(root)

    def site(self, index: int) -> Path:
        """Return the folder that a step is installed to."""
        return self.root / "build" / "steps" / (self.ladder.steps[index].number if index >= 0 else "00") / "site"

    def chapter(self, index: int) -> str:
        """Return the path of the chapter that explains a step."""
        return f"docs/guide/{self.ladder.steps[index].chapter}.md"

    def installation(self) -> str:
        """Return the commands that install a tree that was handed out, also where nothing is installed yet."""
        project = tomllib.loads((self.root / "pyproject.toml").read_text())
        build = [need for need in project["build-system"]["requires"] if not need.startswith("torch")]
        needs = [*project["dependency-groups"]["run"], *build]  # PyTorch in one version, not in all that are possible
        return f"pip install {shlex.join(needs)} && pip install --no-build-isolation ."

    def environment(self, site: Path | None = None) -> dict[str, str]:
        """Return the variables with which programs run on a step."""
        env = {"PYTHONPATH": str(site or ""), "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "80"}
        env |= compiler_cache.environment(self.root)
        env |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        return os.environ | env

    def run(self, command: str | list[str], cwd: Path, site: Path | None = None) -> tuple[int, str]:
        """Run a program, or a line of shell, on a step; return its exit code and what it printed."""
        pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        done = subprocess.run(command, shell=isinstance(command, str), cwd=cwd, env=self.environment(site), **pipe)
        return done.returncode, done.stdout

    def build(self, index: int) -> float:
        """Assemble, build and install a step; return how many seconds that took."""
        site, start = self.site(index), time.monotonic()
        if index < 0:  # no package, even if the environment has one installed
            absent = "raise ModuleNotFoundError(f'No module named {__name__!r}', name=__name__)\n"
            write(site / "torch_openreg.py", absent)
            describe(site, {})
            return 0.0
        src = site.with_name("src")
        self.ladder.assemble(index, src)
        build, environment = src / "build" / "cmake", src / ".venv"
        # Seen from the build folder, everything lies where it does in the repository. So the compiler cache finds what
        # the repository's own build has compiled.
        if not environment.exists():
            environment.symlink_to(sys.prefix)
        configure = ["cmake", "-G", "Ninja", "-S", str(src), "-B", str(build), "-DOPENREG_WERROR=ON"]
        configure += [f"-DPython_EXECUTABLE={environment / 'bin' / 'python'}", f"-DCMAKE_INSTALL_PREFIX={site}"]
        shutil.rmtree(site, ignore_errors=True)
        print(f"building {src.relative_to(self.root)} ...", flush=True)
        for command in (configure, ["cmake", "--build", str(build)], ["cmake", "--install", str(build)]):
            code, output = watch(command, f"step {self.ladder.steps[index].number}", self.root, self.environment())
            if code:
                print(output[max(output.find("FAILED:"), 0) :])
                error = COMPILER_ERROR.search(output)
                file = error[1] if error else "the build"
                place = f"{src}/{error[1]}:{error[2]}: {error[3]}" if error else "see above"
                index = next((i for i, tree in enumerate(self.ladder.trees) if file in tree), index)
                raise Stop(f"mend {file} ({place}), explained in {self.chapter(index)}")
        if (project := src / "pyproject.toml").is_file():
            describe(site, tomllib.loads(project.read_text())["project"].get("entry-points", {}))
        return time.monotonic() - start

    def show(self, index: int, name: str, site: Path) -> None:
        """Run a step's program and compare what it prints with the recorded file `name`, or record it."""
        file, here = self.ladder.steps[index].folder / name, version("torch").partition("+")[0]
        recorded = file.read_text() if file.is_file() else "$ python demo.py\n"
        recorded_with = self.root / "steps" / "recorded_with.txt"
        if self.record:
            write(recorded_with, f"{here}\n")
        elif recorded_with.is_file():  # what is printed with another PyTorch differs in its version only
            recorded = recorded.replace(f"torch {recorded_with.read_text().strip()}", f"torch {here}")
        command = recorded.partition("\n")[0]
        code, output = self.run(command.removeprefix("$ "), file.parent, site)
        print(printed := f"{command}\n{tidy(output)}")
        changes = difference(recorded, printed)
        if self.record and changes:
            write(file, printed)
        elif changes or (code and name == "after.txt"):
            fault = f"does not print {name} (above: the difference)" if changes else f"ends with exit code {code}"
            print(changes)
            raise Stop(
                f"mend {file.parent.relative_to(self.root)}/demo.py, which {fault}, explained in {self.chapter(index)}"
            )

    def red(self, index: int) -> None:
        """Prove that a step's program does on the step before what is recorded."""
        print(f"=== {self.ladder.steps[index].name} on {'the step before' if index else 'plain PyTorch'}\n")
        self.build(index - 1)
        self.show(index, "before.txt", self.site(index - 1))

    def test(self, index: int, *of: int) -> str:
        """Run the tests of the steps `of` on a step; return pytest's last line."""
        files = [f"{self.ladder.steps[i].folder.relative_to(self.root)}/test_step.py" for i in of]
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *files]
        code, output = self.run(pytest, self.root, self.site(index))
        if code:
            print(output)
            failed = FAILED_TEST.search(output)
            raise Stop(f"mend {failed[1] if failed else files[0]}, which fails, explained in {self.chapter(index)}")
        return output.strip().splitlines()[-1]

    def step(self, index: int) -> list[str]:
        """Do what `make step` does; return a row of the table of `make steps`."""
        step, last = self.ladder.steps[index], index == len(self.ladder.steps) - 1
        print(f"=== {step.name}: {step.title}\n")
        if (before := step.folder / "before.txt").is_file():
            print(f"On {'the step before' if index else 'plain PyTorch'}:\n\n{before.read_text()}")
        seconds = self.build(index)
        print(f"On this step, built in {seconds:.1f} s:\n")
        self.show(index, "after.txt", self.site(index))
        print(tests := self.test(index, index))
        print(f"next: read {self.chapter(index)}, then make step{'s' if last else f' N={int(step.number) + 1:02}'}")
        sizes = [sum(self.ladder.text(i, path).count("\n") for path in self.ladder.trees[i]) for i in range(index + 1)]
        new = sizes[-1] - (sizes[-2] if index else 0)
        return [step.name, str(len(self.ladder.trees[index])), str(sizes[-1]), str(new), f"{seconds:.0f}", "ok", tests]

    def all(self) -> None:
        """Do what `make steps` does."""
        rows = [["step", "files", "lines", "new lines", "build s", "demo", "tests", "red"]]
        for index in range(len(self.ladder.steps)):
            self.red(index)
            rows.append([*self.step(index), "ok"])
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        print("", *("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows), sep="\n")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", help="number or name of a step, or all")
    parser.add_argument("--red", action="store_true", help="prove that the program fails on the step before")
    parser.add_argument("--record", action="store_true", help="record what the program prints, on both steps")
    parser.add_argument(
        "--out", type=Path, help="write the tree to this new folder, as a project of its own; build nothing"
    )
    given = parser.parse_args()
    try:
        shop = Workshop(record=given.record)
        if given.step == "all":
            return shop.all()
        index = shop.ladder.find(given.step)
        if given.out:
            shop.ladder.hand_out(index, given.out)
            return print(f"next: cd {given.out} && {shop.installation()} && python demo.py")
        if given.red or given.record:
            shop.red(index)
        if given.red:
            return print(f"next: make step N={shop.ladder.steps[index].number}")
        shop.step(index)
    except (Stop, StepError, RegionError) as error:
        print(f"next: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
