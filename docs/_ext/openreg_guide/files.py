"""The files of a step: the directive `stepfiles`, which says what each is for, and the role `stepcopy`, their names.

Both are made from step.toml and the files themselves: a list in a chapter would go stale.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from assemble import Ladder, StepError
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole
from tables import table

from .code import source_reference
from .repository import repository

# The vendor's library is whole in the first step. A reader has one already, and neither writes nor copies it.
VENDOR = ("openreg/driver/", "openreg/kernels/")
_ROW = re.compile(r"^\| \[([^\]]+)\]\(([^)]+)\) \| (\S+) \| (.*) \|$", re.MULTILINE)
_MANY = 12  # rows that are shown at once; more wait in a dropdown


def _is_vendors(index: int, path: str) -> bool:
    return index == 0 and path.startswith(VENDOR)


def _table(rows: list[tuple[str, str, str, str]], folder: Path, root: Path) -> Iterator[str]:
    """Lines of a Markdown table, with a row for each folder above those of its files."""
    yield from ("| file | lines | what it is for |", "|---|---|---|")
    rows = sorted(rows, key=lambda row: PurePosixPath(row[0]).parent)  # stable: within a folder as in the step
    for where, group in itertools.groupby(rows, key=lambda row: PurePosixPath(row[0]).parent.as_posix()):
        yield f"| **{'top folder' if where == '.' else where + '/'}** | | |"
        for path, target, lines, why in group:
            source = (folder / target).resolve().relative_to(root.resolve()).as_posix()
            yield f"| {{source}}`{PurePosixPath(path).name} <{source}>` | {lines} | {why} |"


class StepFiles(SphinxDirective):
    """The files of a chapter's step, folder by folder, and what each is for; the vendor's apart."""

    def run(self) -> list[nodes.Node]:
        """Returns the tables; long ones wait in a dropdown."""
        repo = repository(self.env)
        number = repo.step_of(self.env.docname)
        if number is None:
            raise self.error("stepfiles stands in a chapter: it lists the files of the chapter's step")
        self.env.note_reread()  # a file that is added changes the table, and no file that is noted here
        index = repo.ladder.find(number)
        step = repo.ladder.steps[index]
        rows = _ROW.findall(table(repo.ladder, index))
        vendors = [row for row in rows if _is_vendors(index, row[0])]
        found: list[nodes.Node] = []
        others = [row for row in rows if row not in vendors]
        for part, title in ((others, "of the backend"), (vendors, "of the device")):
            if not part:
                continue
            shown = self.parse_text_to_nodes("\n".join(_table(part, step.folder, repo.root)))
            if len(part) > _MANY:
                summary = f"<details><summary>{len(part)} files {title}</summary>"
                shown = [nodes.raw("", summary, format="html"), *shown, nodes.raw("", "</details>", format="html")]
            found.append(nodes.container("", *shown, classes=["stepfiles"]))
        return found


def _names(new: Collection[str], tree: Collection[str]) -> list[str]:
    """The files of `new`; a folder that is all new, and files that differ in their endings only, are one name."""
    names: dict[str, None] = {}
    for path in sorted(new):
        folders = [f"{folder}/" for folder in PurePosixPath(path).parents if folder.name]
        stem = PurePosixPath(path).with_suffix("").as_posix() + "."
        starts = [(start, "") for start in reversed(folders)] + [(stem, "*")]
        for start, end in starts:
            group = [other for other in tree if other.startswith(start)]
            if len(group) > 1 and all(other in new for other in group):
                names[start + end] = None
                break
        else:
            names[path] = None
    return list(names)


def what_a_step_adds(ladder: Ladder, index: int) -> tuple[list[str], list[tuple[str, int]], list[str]]:
    """What one copies of a step: names of new files and folders, files with more lines than before, files that go."""
    tree = ladder.trees[index]
    before = ladder.trees[index - 1] if index else {}
    new = {path for path in tree if tree[path] != before.get(path) and not _is_vendors(index, path)}
    grown = []
    for path in sorted(tree.keys() & before.keys() - new):
        old, now = (ladder.text(at, path).count("\n") for at in (index - 1, index))
        if old != now:
            grown.append((path, now - old))
    return _names(new, tree), grown, sorted(before.keys() - tree.keys())


class StepCopy(SphinxRole):
    """`{stepcopy}` names everything that a step adds to the one before."""

    def _file(self, ladder: Ladder, index: int, name: str) -> nodes.Node:
        source = ladder.trees[index].get(name)
        shown = nodes.literal(name, name)
        path = source.relative_to(ladder.root).as_posix() if source else ""
        return source_reference(self.env, path, "", shown) if path else shown

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Returns the names, those of files as links; a step that is not there is an error."""
        ladder = repository(self.env).ladder
        try:
            index = ladder.find(self.text)
        except StepError as error:
            return [], [self.inliner.reporter.error(str(error), line=self.lineno)]
        self.env.note_reread()
        names, grown, gone = what_a_step_adds(ladder, index)
        items = [[self._file(ladder, index, name)] for name in names]
        items += [
            [self._file(ladder, index, name), nodes.Text(f" (+{lines} line{'' if lines == 1 else 's'})")]
            for name, lines in grown
        ]
        items += [[nodes.Text("without "), nodes.literal(name, name)] for name in gone]
        found = [node for item in items for node in (nodes.Text(", "), *item)]
        return [nodes.inline("", "", *found[1:], classes=["stepcopy"])], []


def setup(app: Sphinx) -> None:
    """Registers the directive and the role."""
    app.add_directive("stepfiles", StepFiles)
    app.add_role("stepcopy", StepCopy())
