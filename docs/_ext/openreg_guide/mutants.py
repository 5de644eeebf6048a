"""The directive `mutants`: the list of seeded bugs, with the test that finds each, read from tests/mutants."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .repository import RepositoryError, repository

_LIST = "tests/mutants"
_COLUMNS = ("a bug of", "the bug", "what one sees", "the test that finds it")


def groups(root: Path, side: str) -> list[tuple[str, list[dict[str, Any]]]]:
    """Title and mutants of each file of one side, in the order of the files.

    Args:
        root: The repository.
        side: `contract` or `backend`.
    """
    files = sorted((root / _LIST / side).glob("*.toml"), key=lambda file: int(file.stem.partition("-")[0]))
    tables = [tomllib.loads(file.read_text(encoding="utf-8")) for file in files]
    return [(table["title"], table["mutant"]) for table in tables]


def _mechanism(of: str) -> str:
    """The mechanism as a cell: code if it is a name, words if not."""
    return f"{{cpp:func}}`{of}`" if re.fullmatch(r"or[A-Z]\w+", of) else f"`{of}`" if re.search(r"[.:]", of) else of


def _row(mutant: dict[str, Any]) -> str:
    file, _, test = mutant["test"].partition("::")
    name = test.partition("[")[0].replace("_", " ").removeprefix("test ")
    seen = "".join(f" [Seen]({address})." for address in mutant.get("seen", ()))
    finds = f"{{source}}`{name} <{file}>`"
    if mutant.get("ends") == "hang":
        finds += " (by hanging)"
    cells = (_mechanism(mutant["of"]), mutant["bug"] + seen, mutant["shows"], finds)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


class Mutants(SphinxDirective):
    """Tables of one side's mutants, a heading for each group; the argument is `contract` or `backend`."""

    required_arguments = 1
    option_spec: ClassVar = {"name": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Returns the sections."""
        root = repository(self.env).root
        found = groups(root, self.arguments[0])
        if not found:
            raise RepositoryError(f"there are no mutants of {self.arguments[0]} in {_LIST}")
        self.env.note_reread()  # files may have been added, too
        sections: list[nodes.Node] = []
        for title, mutants in found:
            section = nodes.section(ids=[nodes.make_id(f"bugs-{self.arguments[0]}-{title}")], names=[])
            section += nodes.title(title, title)
            head = ["| " + " | ".join(_COLUMNS) + " |", "|" + "---|" * len(_COLUMNS)]
            section += self.parse_text_to_nodes("\n".join([*head, *map(_row, mutants)]))
            sections.append(section)
        return sections


class MutantCount(SphinxDirective):
    """A sentence: how many there are, and of how many mechanisms."""

    def run(self) -> list[nodes.Node]:
        """Returns the paragraph."""
        root = repository(self.env).root
        self.env.note_reread()
        every = [mutant for side in ("contract", "backend") for _, mutants in groups(root, side) for mutant in mutants]
        text = f"There are {len(every)} of them, bugs of {len({mutant['of'] for mutant in every})} mechanisms."
        return self.parse_text_to_nodes(text)


def setup(app: Sphinx) -> None:
    """Registers the directives."""
    app.add_directive("mutants", Mutants)
    app.add_directive("mutantcount", MutantCount)
