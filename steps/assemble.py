"""The source tree of a step, put together from the one complete tree.

A file is in the tree of a step if that step or an earlier one `adds` it, or has it as its `own`, and none up to that
step `replaces` it. A glob leaves to later steps what they add by name or by a longer glob. In a file that grows, the
regions that later steps list in `grows` are left out.

    python steps/assemble.py 03 DIR         write the tree of step 03 to DIR and print where its files come from
"""

import posixpath
import re
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import NamedTuple

import regions

ROOT = Path(__file__).resolve().parent.parent
IGNORED = re.compile(r"(^|/)(__pycache__|\.[^/]*|lib|torch_openreg/include|build|[^/]*\.(so|egg-info))(/|$)")
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')
INCLUDE_PATH = ("openreg/csrc", "openreg", "openreg/driver/include")
IMPORT = re.compile(r"^\s*(?:from\s+(\.*)([\w.]*)\s+)?import\s+([^#]+)")


class StepError(ValueError):
    """A step.toml that does not fit the tree; the text says which and why."""


class Step(NamedTuple):
    """What a step.toml says. Paths are relative to the repository, keys of `own` to the step's folder."""

    folder: Path
    title: str
    chapter: str
    adds: list[str] = []  # files, or globs, which stand for what no earlier step has and no later one names
    grows: list[str] = []  # regions that this step is the first to have
    replaces: list[str] = []  # files of earlier steps that go away
    own: dict[str, str] = {}  # files of the step's folder, and the path each takes until a later step replaces it

    @property
    def name(self) -> str:
        """The name of the folder, as in `03-fallback`."""
        return self.folder.name

    @property
    def number(self) -> str:
        """The two digits at the start of the name."""
        return self.name[:2]


class Ladder:
    """All steps in order, and the tree of each: `trees[i]` maps each path to the file it comes from."""

    def __init__(self, root: Path = ROOT) -> None:
        """Read every step.toml of a repository."""
        self.root, self.steps = root, []
        self.trees: list[dict[str, Path]] = []
        for toml in sorted(root.glob("steps/[0-9][0-9]-*/step.toml")):
            try:
                self.steps.append(Step(toml.parent, **tomllib.loads(toml.read_text())))
            except (TypeError, tomllib.TOMLDecodeError) as error:
                raise StepError(f"{toml}: {error}") from None
        for index, step in enumerate(self.steps):
            later = [pattern for other in self.steps[index + 1 :] for pattern in other.adds]
            tree = dict(self.trees[-1]) if self.trees else {}
            for path in step.replaces:
                if not tree.pop(path, None):
                    raise StepError(f"step {step.name} replaces {path!r}, which no earlier step has")
            added = {path: step.folder / file for file, path in step.own.items()}
            for pattern in step.adds:
                added |= self._find(pattern, tree, later)
            if twice := tree.keys() & added.keys():
                raise StepError(f"step {step.name} adds {min(twice)!r}, which an earlier step has")
            self.trees.append(tree | added)
        self.known = {path for tree in self.trees for path in tree}

    def _files(self, pattern: str) -> dict[str, Path]:
        """Find all files that a pattern fits."""
        found = self.root.glob(pattern + "/*" if pattern.endswith("**") else pattern)  # '**' alone finds folders only
        return {x.relative_to(self.root).as_posix(): x for x in sorted(found) if x.is_file() and not self.ignores(x)}

    def _find(self, pattern: str, tree: dict[str, Path], later: list[str]) -> dict[str, Path]:
        """Find the files that a pattern of `adds` stands for, given the step before and the patterns of later steps."""
        new = files = self._files(pattern)
        if "*" in pattern:
            length = pattern.index("*")  # of two patterns that fit a file, the longer beginning says more about it
            narrower = [other for other in later if other[:length] == pattern[:length] and other.find("*") != length]
            theirs = {path for other in narrower for path in self._files(other)}
            new = {path: file for path, file in files.items() if path not in tree and path not in theirs}
        if new:
            return new
        raise StepError(f"a step adds {pattern!r}, which matches no file{' that no earlier step has' if files else ''}")

    def ignores(self, file: Path) -> bool:
        """Tell whether a file is something that builds leave in the tree."""
        return bool(IGNORED.search(file.relative_to(self.root).as_posix()))

    def find(self, name: str) -> int:
        """Return the index of the step called `name`: '3', '03', '03-fallback' or the path of its folder."""
        for index, step in enumerate(self.steps):
            if Path(name).name in (step.name, step.number, step.number.lstrip("0")):
                return index
        raise StepError(f"no step {name!r}; there are {', '.join(step.name for step in self.steps)}")

    def text(self, index: int, path: str, keep_markers: bool = False) -> str:
        """Return the text of a file as it is at a step."""
        later = {name for step in self.steps[index + 1 :] for name in step.grows}
        text = self.trees[index][path].read_text()
        return regions.cut(text, path, later, keep_markers, partial(self._lacks, index, path))

    def _lacks(self, index: int, path: str, line: str) -> bool:
        """Tell whether a line includes or imports a file that other steps have, but not this one."""
        folder = posixpath.dirname(path)
        if "include" in line and (match := INCLUDE.match(line)):  # seldom so, and soon known
            wanted = [[f"{place}/{match[1]}" for place in (folder, *INCLUDE_PATH)]]
        elif "import" in line and path.endswith((".py", ".pyi")) and (match := IMPORT.match(line)):
            dots, module, names = match.groups()
            base = posixpath.join(folder, "../" * (len(dots) - 1)) if dots else "openreg"
            modules = [module] if module else re.findall(r"([\w.]+)(?:\s+as\s+\w+)?", names)
            ends = (".py", ".pyi", "/__init__.py")
            wanted = [[f"{base}/{name.replace('.', '/')}{end}" for end in ends] for name in modules]
        else:
            return False
        places = [[place for place in map(posixpath.normpath, paths) if place in self.known] for paths in wanted]
        lacks = [bool(found) and found[0] not in self.trees[index] for found in places]
        if any(lacks) and (not all(lacks) or line.rstrip().endswith("(")):
            raise StepError(f"{path}: a step lacks a part of this import, so write one line for each: {line.strip()}")
        return bool(lacks) and all(lacks)

    def assemble(self, index: int, out: Path) -> None:
        """Write the tree of a step with its markers, touching only what differs, so that a build stays incremental."""
        for path in self.trees[index]:
            write(out / path, self.text(index, path, keep_markers=True))
        for file in out.rglob("*"):
            path = file.relative_to(out).as_posix()
            if file.is_file() and path not in self.trees[index] and not IGNORED.search(path):
                file.unlink()

    def hand_out(self, index: int, out: Path) -> None:
        """Write the tree of a step as a project of its own: no markers, with the step's README and program."""
        if out.exists() and any(out.iterdir()):
            raise StepError(f"{out} is not empty: name a new folder")
        tree, folder = self.trees[index], self.steps[index].folder
        for path in tree:
            write(out / path, self.text(index, path))
        write(out / "demo.py", (folder / "demo.py").read_text())
        links = re.compile(r"\[([^]]+)\]\(\.\./\.\./([^)]+)\)")  # they lead to what the tree has, or become plain text
        there = {str(part) for path in tree for part in (Path(path), *Path(path).parents)}
        readme = links.sub(lambda x: f"[{x[1]}]({x[2]})" if x[2] in there else x[1], (folder / "README.md").read_text())
        write(out / "README.md", readme)


def write(path: Path, text: str) -> None:
    """Write a file unless it holds this text already."""
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    ladder = Ladder()
    at = ladder.find(sys.argv[1])
    ladder.assemble(at, Path(sys.argv[2]))
    print(*ladder.trees[at].values(), sep=";", end="")
