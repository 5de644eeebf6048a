"""What is compiled in one go: a source file, or those of a folder, which another file includes, in the build folder."""

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

INCLUDED = re.compile(r'^#include "(.*)"$', re.MULTILINE)


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
        """Whether it is a file that includes others."""
        return self.sources != (self.file,)

    def text(self, instead: Mapping[Path, Path]) -> str:
        """Returns a group's text with other files in place of some of its sources."""
        return "".join(f'#include "{instead.get(source, source)}"\n' for source in self.sources)


def read_units(build: Path) -> list[Unit]:
    """Returns the units of a build folder, as its compile_commands.json has them."""
    found = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file, command = Path(entry["file"]), shlex.split(entry["command"])
        sources = [file]
        if file.is_relative_to(build) and file.is_file():
            folders = [Path(option[2:]) for option in command if option.startswith("-I")]
            sources = [find(name, folders) for name in INCLUDED.findall(file.read_text())]
        found.append(Unit(file, tuple(sources), tuple(command), Path(entry["directory"])))
    return found


def find(name: str, folders: list[Path]) -> Path:
    """Returns the file that an #include means: the first of that name in the folders, or the name if it is whole."""
    return next(Path(os.path.normpath(folder / name)) for folder in folders if (folder / name).is_file())
