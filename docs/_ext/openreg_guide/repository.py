"""What the directives ask of the repository: files, regions, and how both look at a step. Built on steps/*.py."""

from __future__ import annotations

import re
import sys
from functools import cached_property
from pathlib import Path, PurePosixPath

from sphinx.environment import BuildEnvironment
from sphinx.errors import SphinxError

# The tool of the steps is a folder of scripts, not a package.
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "steps"))
from assemble import Ladder, StepError
from regions import MARK, RegionError, parse

_LANGUAGES = {
    ".c": "c",
    ".cpp": "cpp",
    ".h": "cpp",
    ".cmake": "cmake",
    ".py": "python",
    ".pyi": "python",
    ".toml": "toml",
    ".sh": "bash",
    ".md": "markdown",
}
_CHAPTER = re.compile(r"(?:guide|steps)/(\d\d)-")


class RepositoryError(SphinxError):
    """A directive asks for something that is not there; the text says what there is."""

    category = "guide"


def language(path: str) -> str:
    """The name by which Pygments knows the language of a file."""
    name = PurePosixPath(path)
    if name.name == "CMakeLists.txt":
        return "cmake"
    return _LANGUAGES.get(name.suffix, "make" if name.name == "Makefile" else "text")


class Repository:
    """The tree that the guide is about, as it is and as each step has it."""

    def __init__(self, root: Path) -> None:
        """Reads every step.toml."""
        self.root = root
        try:
            self.ladder = Ladder(root)
        except StepError as error:
            raise RepositoryError(str(error)) from error
        # What each page depends on besides the file it shows: which step has what.
        self.dependencies = [(step.folder / "step.toml").relative_to(root).as_posix() for step in self.ladder.steps]

    @cached_property
    def _names(self) -> list[dict[Path, str]]:
        """What each step calls the files of its tree, by where they lie. Asked for hundreds of files, so found once."""
        places = {file: file.resolve() for tree in self.ladder.trees for file in tree.values()}
        return [{places[file]: name for name, file in tree.items()} for tree in self.ladder.trees]

    def source_of(self, path: str) -> Path:
        """Where a file lies: in the tree, or in the folder of the step that brings it until a later one replaces it.

        Raises:
            RepositoryError: There is no such file, or the path leaves the repository.
        """
        file = (self.root / path).resolve()
        if path.startswith("/") or not file.is_relative_to(self.root.resolve()):
            raise RepositoryError(f"{path}: paths start at the root of the repository and stay in it")
        if file.is_file():
            return file
        for tree in self.ladder.trees:
            if path in tree:
                return tree[path]
        raise RepositoryError(f"there is no file {path}")

    def read(self, path: str) -> str:
        """The text of a file, with its markers."""
        return self.source_of(path).read_text(encoding="utf-8")

    def step_of(self, docname: str) -> str | None:
        """The number of the step that a page belongs to: that of a chapter, None elsewhere."""
        match = _CHAPTER.match(docname)
        return match[1] if match else None

    def text_at(self, path: str, step: str | None) -> str:
        """The text of a file, with the markers, as a step has it; as it lies there when `step` is None.

        A file that no step has in its tree (a demo, a test, a recorded output) is the same at all of them.

        Raises:
            RepositoryError: No such file or step, or the step does not have the file.
        """
        source = self.source_of(path)
        if step is None:
            return source.read_text(encoding="utf-8")
        try:
            index = self.ladder.find(step)
            tree = self.ladder.trees[index]
            if path in tree:
                return self.ladder.text(index, path, keep_markers=True)
            if name := self._names[index].get(source.resolve()):
                return self.ladder.text(index, name, keep_markers=True)
        except (StepError, RegionError) as error:
            raise RepositoryError(str(error)) from error
        if have := self.steps_with(path):
            raise RepositoryError(f"step {step} does not have {path}: it is in {', '.join(have)}")
        return source.read_text(encoding="utf-8")

    def place_at(self, path: str, step: str | None) -> str:
        """Where the file lies that a step has under a path: in the step's folder, if a later one replaces it."""
        tree = self.ladder.trees[self.ladder.find(step)] if step is not None else {}
        return tree[path].relative_to(self.root).as_posix() if path in tree else path

    def steps_with(self, path: str) -> list[str]:
        """Names of the steps whose tree has a file, wherever it lies."""
        source = self.source_of(path).resolve()
        return [step.name for step, names in zip(self.ladder.steps, self._names, strict=True) if source in names]

    def replaced_in(self, path: str) -> str | None:
        """The step from which on a file that an earlier step brings is in the tree no more; None if it stays."""
        have = self.steps_with(path)
        names = [step.name for step in self.ladder.steps]
        after = names.index(have[-1]) + 1 if have else len(names)
        return names[after] if after < len(names) else None

    def region(self, text: str, where: str, name: str) -> list[str]:
        """The parts of a region, markers of regions inside it included.

        Args:
            text: The file's text.
            where: The file's name, for errors.
            name: Exactly the name of the markers.

        Raises:
            RepositoryError: No region has this name, or the markers are faulty.
        """
        try:
            lines = parse(text, where)
        except RegionError as error:
            raise RepositoryError(str(error)) from error
        parts: list[list[str]] = []
        for line in lines:
            if name in line.regions:
                own = line.mark and line.regions[-1] == name
                if own and line.mark == "START":
                    parts.append([])
                elif not own:
                    parts[-1].append(line.text)
        if not parts:
            names = sorted({name for line in lines for name in line.regions})
            raise RepositoryError(f"{where} has no region {name!r} here; it has {', '.join(names) or 'none'}")
        return ["\n".join(part) for part in parts]

    def strip_markers(self, text: str) -> str:
        """The text without the lines that are markers; where one stood between empty lines, one of these stays."""
        out: list[str] = []
        after_marker = False
        for line in text.splitlines():
            if MARK.match(line):
                after_marker = True
                continue
            if after_marker and not line.strip() and (not out or not out[-1].strip()):
                continue
            out.append(line)
            after_marker = False
        return "\n".join(out) + "\n"

    def anchored(self, path: str) -> tuple[str, list[tuple[int, str]]]:
        """The text of a file without markers, and at which of its lines each region begins (from 0)."""
        shown: list[str] = []
        anchors: dict[str, int] = {}
        for line in self.read(path).splitlines():
            if match := MARK.match(line):
                if match[1] == "START":
                    anchors.setdefault(match[2], len(shown))
                continue
            shown.append(line)
        return "\n".join(shown) + "\n", [(index, name) for name, index in anchors.items()]


_repositories: dict[str, Repository] = {}


def forget() -> None:
    """Reads the steps anew: called when a build begins."""
    _repositories.clear()


def repository(env: BuildEnvironment) -> Repository:
    """The repository of this build."""
    root = env.config.openreg_root
    if root not in _repositories:
        _repositories[root] = Repository(Path(root))
    return _repositories[root]
