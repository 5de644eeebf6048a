"""What is compiled in one go: a source file, or those of a folder, which CMake's UNITY_BUILD includes in another."""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

INCLUDED = re.compile(r'^#include "(.*)"$', re.MULTILINE)
HOME = re.compile(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Unit:
    """A translation unit of a build folder."""

    file: Path
    sources: tuple[Path, ...]  # the files that it consists of: itself, or those that it includes
    command: tuple[str, ...]  # that compiles it
    folder: Path  # in which the command runs

    @property
    def object(self) -> str:
        """What is made of it, as the command says it."""
        return self.command[self.command.index("-o") + 1]

    @property
    def is_group(self) -> bool:
        """Whether it is a file of CMake's."""
        return self.sources != (self.file,)

    def text(self, instead: Mapping[Path, Path]) -> str:
        """Returns a group's text with other files in place of some of its sources."""
        return "".join(f'#include "{instead.get(source, source)}"\n' for source in self.sources)


def read_units(build: Path) -> list[Unit]:
    """Returns the units of a build folder, as its compile_commands.json has them."""
    # Names in a group's text start at the sources' root. Before CMake 4 they are whole.
    root = Path(HOME.search((build / "CMakeCache.txt").read_text())[1])
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        sources = [file]
        if file.is_relative_to(build) and file.is_file():
            sources = [root / name for name in INCLUDED.findall(file.read_text())]
        found.append(Unit(file, tuple(sources), tuple(shlex.split(entry["command"])), Path(entry["directory"])))
    return found
