"""Pages of the steps, written before Sphinx reads: file table, difference from the step before, zip. And the ladder.

The pages go to docs/steps/NN-name.md, which git ignores: they are made from steps/ and openreg/ alone.
"""

from __future__ import annotations

import difflib
import re
import shutil
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import ClassVar

from assemble import Ladder, StepError
from docutils import nodes
from docutils.parsers.rst import directives
from regions import RegionError
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective, SphinxRole
from tables import table

from . import repository as repo_module
from .files import VENDOR
from .repository import RepositoryError, language, repository

_FENCE = "``````````"
_LINK = re.compile(r"\[`?([^]`]+)`?\]\(([^)#]+)(#[^)]*)?\)")
# A tree's time stamps would make each build's zip differ.
_EPOCH = (2026, 1, 1, 0, 0, 0)


def _table(ladder: Ladder, index: int) -> list[str]:
    """What a step adds, file by file; the links, relative to the step's folder, become links to the files' pages."""
    folder, root = ladder.steps[index].folder, ladder.root.resolve()

    def link(match: re.Match[str]) -> str:
        return f"{{source}}`{(folder / match[2]).resolve().relative_to(root).as_posix()}`"

    return [_LINK.sub(link, line) for line in table(ladder, index).splitlines()]


def _texts(ladder: Ladder, index: int) -> dict[str, str]:
    """The tree of a step as it is handed out; empty for the step before the first."""
    if index < 0:
        return {}
    return {path: ladder.text(index, path) for path in sorted(ladder.trees[index])}


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def _difference(before: dict[str, str], after: dict[str, str], last: dict[str, str]) -> list[str]:
    """A dropdown for each file that differs: a unified diff, or the whole file if it is new and later steps change it.

    A new file that stays as it is has a page of its own, to which the table above leads. All of them on one page would
    make it megabytes long.
    """
    out: list[str] = []
    stay = 0
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        if old is None and new == last.get(path):
            stay += 1
            continue
        if old is None:
            title, kind, body = f"new, {_count(len(new.splitlines()), 'line')}", language(path), new
        elif new is None:
            title, kind, body = "goes away", "text", "(replaced in this step)"
        else:
            lines = list(difflib.unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm="", n=4))
            plus = sum(line.startswith("+") for line in lines) - 1
            minus = sum(line.startswith("-") for line in lines) - 1
            title, kind, body = f"+{plus} −{minus}", "diff", "\n".join(lines)
        out += [f":::{{filediff}} {path}", f":what: {title}", ""]
        out += [f"{_FENCE}{kind}", body.rstrip("\n"), _FENCE, ":::", ""]
    if stay:
        others = f"{_count(stay, 'new file')} {'has a page of its' if stay == 1 else 'have pages of their'} own"
        out = [f"{others}: the table above leads there.", "", *out]
    return out


def _page(ladder: Ladder, index: int, chapter: bool) -> str:
    """The Markdown of one step's page."""
    step = ladder.steps[index]
    name = step.name
    after, before = _texts(ladder, index), _texts(ladder, index - 1)
    readme = (step.folder / "README.md").read_text(encoding="utf-8")
    purpose = [block for block in readme.split("\n\n")[1:2] if not block.startswith(("|", " ", "<"))]
    text = [f"# Step {name}: {step.title}", "", *purpose, ""]
    text += [f"The chapter: {{doc}}`/guide/{step.chapter}`.", ""] if chapter else []
    text += ["```console", f"$ make step N={step.number}", "```", ""]
    size = sum(len(body.splitlines()) for body in after.values())
    text += [
        f"The tree of this step: {{zip}}`{name}` ({_count(len(after), 'file')}, {size:,} lines), a project"
        " of its own that `pip install` builds.",
        "",
        "## What it adds",
        "",
        *_table(ladder, index),
        "",
        "## The program",
        "",
    ]
    text += [f"```{{wholefile}} steps/{name}/demo.py", "```", ""]
    for recorded in ("before.txt", "after.txt"):
        if (step.folder / recorded).is_file():
            plain = [":title: On plain PyTorch"] if recorded == "before.txt" and not index else []
            text += [f"```{{transcript}} steps/{name}/{recorded}", *plain, "```", ""]
    if index:
        text += [f"## Difference from {ladder.steps[index - 1].name}", ""]
    else:
        text += [
            "## Files",
            "",
            "The first step is all new. The device's own library (`openreg/driver`, `openreg/kernels`)",
        ]
        text += ["is whole from here on, and not listed: it stands for the one that came with your hardware.", ""]
        after = {path: body for path, body in after.items() if not path.startswith(VENDOR)}
    text += _difference(before, after, _texts(ladder, len(ladder.steps) - 1))
    return "\n".join(text) + "\n"


def _write_pages(app: Sphinx) -> None:
    """Writes the pages that have changed and removes those of steps that are gone."""
    repo_module.forget()
    ladder = repository(app.env).ladder
    folder = Path(app.srcdir) / "steps"
    pages: dict[str, str] = {}
    for index, step in enumerate(ladder.steps):
        try:
            chapter = (Path(app.srcdir) / "guide" / f"{step.chapter}.md").is_file()
            pages[step.name] = _page(ladder, index, chapter)
        except (OSError, StepError, RegionError) as error:
            raise RepositoryError(f"step {step.name}: {error}") from error
    for old in folder.glob("[0-9][0-9]-*.md"):
        if old.stem not in pages:
            old.unlink()
    for name, text in pages.items():
        folder.mkdir(exist_ok=True)
        page = folder / f"{name}.md"
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")


def _write_zips(app: Sphinx, exception: Exception | None) -> None:
    """Puts the tree of each step, as `make step OUT=` hands it out, beside the pages."""
    if exception or app.builder.format != "html":
        return
    ladder = repository(app.env).ladder
    target = Path(app.outdir) / "zips"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for index, step in enumerate(ladder.steps):
        name = f"openreg-{step.name}"
        with tempfile.TemporaryDirectory() as scratch:
            tree = Path(scratch) / name
            ladder.hand_out(index, tree)
            with zipfile.ZipFile(target / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                for file in sorted(path for path in tree.rglob("*") if path.is_file()):
                    entry = zipfile.ZipInfo(file.relative_to(scratch).as_posix(), _EPOCH)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    entry.external_attr = 0o644 << 16
                    archive.writestr(entry, file.read_bytes())


class FileDiff(SphinxDirective):
    """What a step does to one file, closed until the reader opens it."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar = {"what": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Returns the dropdown."""
        path, what = self.arguments[0], self.options["what"]
        breaking = path.replace("/", "/<wbr>")  # on a phone
        summary = f'<summary><code>{breaking}</code> <span class="what">{what}</span></summary>'
        box = nodes.container(classes=["filediff"])
        box += nodes.raw("", f"<details>{summary}", format="html")
        box += self.parse_content_to_nodes()
        box += nodes.raw("", "</details>", format="html")
        return [box]


class LadderTable(SphinxDirective):
    """All steps of the ladder, written or planned, grouped by part."""

    def run(self) -> list[nodes.Node]:
        """Returns a table for each part."""
        source = Path(self.env.srcdir) / "ladder.toml"
        self.env.note_dependency(str(source))
        self.env.note_reread()  # which steps are written is seen in the file system
        written = {step.name: step for step in repository(self.env).ladder.steps}
        text: list[str] = []
        part = ""
        for step in tomllib.loads(source.read_text(encoding="utf-8"))["step"]:
            if step["part"] != part:
                part = step["part"]
                text += ["", f":::{{rubric}} {part}", ":::", ""]
                text += ["| | step | fails before | gives |", "|---|---|---|---|"]
            number, _, short = step["name"].partition("-")
            have = written.get(step["name"])
            name = short
            if have:
                name = f"{{step}}`{step['name']}`"
                if (Path(self.env.srcdir) / "guide" / f"{have.chapter}.md").is_file():
                    name = f"{{doc}}`{short} </guide/{have.chapter}>`"
            elif "page" in step:
                name = f"{{doc}}`{short} </guide/{step['page']}>`"
            planned = not have and "page" not in step
            state = " *(planned)*" if planned else ""
            more = f"; until then [PyTorch's page]({step['upstream']})" if planned else ""
            text += [f"| {number} | {name}{state} | {step['fails']} | {step['gives']}{more} |"]
        box = nodes.container(classes=["ladder"])
        box += self.parse_text_to_nodes("\n".join(text))
        return [box]


class StepRole(SphinxRole):
    """`{step}` links to the page of a step."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Returns the link; a step that is not there is an error."""
        if self.text not in {step.name for step in repository(self.env).ladder.steps}:
            message = self.inliner.reporter.error(f"there is no step {self.text}", line=self.lineno)
            return [nodes.literal(self.text, self.text)], [message]
        link = addnodes.pending_xref(
            "",
            nodes.inline(self.text, self.text, classes=["xref", "std", "std-doc"]),
            refdoc=self.env.docname,
            refdomain="std",
            reftype="doc",
            reftarget=f"/steps/{self.text}",
            refexplicit=True,
            refwarn=True,
        )
        return [link], []


class ZipRole(SphinxRole):
    """`{zip}` links to the zip of a step's tree."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Returns the link, relative to the page."""
        uri = "../" * self.env.docname.count("/") + f"zips/openreg-{self.text}.zip"
        text = f"openreg-{self.text}.zip"
        return [nodes.reference(text, text, internal=True, refuri=uri, classes=["zip"])], []


def setup(app: Sphinx) -> None:
    """Registers the directives, the role and the hooks."""
    app.add_directive("filediff", FileDiff)
    app.add_directive("ladder", LadderTable)
    app.add_role("step", StepRole())
    app.add_role("zip", ZipRole())
    app.connect("builder-inited", _write_pages, priority=400)
    app.connect("build-finished", _write_zips)
