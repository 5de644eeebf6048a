"""Live code: the directives `region`, `pyobject` and `wholefile`, the role `source`, and a page for each file shown."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import ReferenceRole, SphinxDirective

from .repository import RepositoryError, language, repository


def _note_source(env: BuildEnvironment, path: str) -> None:
    """Remembers that a document links to the page of a file."""
    env.openreg_sources.setdefault(env.docname, set()).add(path)


def source_reference(env: BuildEnvironment, path: str, anchor: str, *children: nodes.Node) -> nodes.reference:
    """A link to the page of a file. Where that page is depends on the page that links: `_complete` sees to it."""
    _note_source(env, path)
    reference = nodes.reference("", "", *children, internal=True, refuri="#", classes=["source"])
    reference["openreg_target"] = (f"source/{path}", anchor)
    return reference


def _region_anchor(name: str) -> str:
    return "region-" + "-".join(name.lower().split())


class LiveCode(SphinxDirective):
    """Base: reads a file as the chapter's step has it, and shows a piece of it under the file's name."""

    required_arguments = 1
    option_spec: ClassVar = {
        "step": directives.unchanged_required,
        "caption": directives.unchanged_required,
        "name": directives.unchanged_required,
    }

    @property
    def step(self) -> str | None:
        """The step whose state of a file is shown; None: as the file is now."""
        return self.options.get("step") or repository(self.env).step_of(self.env.docname)

    def read(self, path: str) -> str:
        """The file's text, with its markers, as the step of this page has it."""
        repo = repository(self.env)
        try:
            text = repo.text_at(path, self.step)
        except RepositoryError as error:
            raise self.error(str(error)) from error
        for dependency in (repo.place_at(path, self.step), *repo.dependencies):
            self.env.note_dependency(str(repo.root / dependency))
        return text

    def show(self, path: str, text: str, anchor: str = "") -> nodes.Node:
        """The block: a caption that links to the file's page, and the code without its markers."""
        text = textwrap.dedent(repository(self.env).strip_markers(text)).strip("\n")
        block = nodes.literal_block(text, text, language=language(path))
        self.set_source_info(block)
        label = nodes.Text(self.options["caption"]) if "caption" in self.options else nodes.literal(path, path)
        place = repository(self.env).place_at(path, self.step)
        caption = nodes.caption("", "", source_reference(self.env, place, anchor, label))
        wrapper = nodes.container("", caption, block, literal_block=True, classes=["literal-block-wrapper"])
        self.add_name(wrapper)
        return wrapper


class Region(LiveCode):
    """Shows a region, which `LITERALINCLUDE START: NAME` and `END: NAME` bracket, by its exact name."""

    required_arguments = 2
    final_argument_whitespace = True  # names may have blanks

    def run(self) -> list[nodes.Node]:
        """Returns the parts of the region, with a comment of an ellipsis between two."""
        path, name = self.arguments
        text = self.read(path)
        repo = repository(self.env)
        try:
            parts = repo.region(text, path, name)
        except RepositoryError as error:
            raise self.error(str(error)) from error
        gap = "# …" if language(path) in ("python", "cmake") else "// …"
        shown = f"\n\n{gap}\n\n".join(textwrap.dedent(repo.strip_markers(part)).strip("\n") for part in parts)
        return [self.show(path, shown, _region_anchor(name))]


class PyObject(LiveCode):
    """Shows a function, class or method of a Python file by its dotted name."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Returns the definition with its decorators."""
        path, name = self.arguments
        text = self.read(path)
        scope: list[ast.stmt] = ast.parse(text).body
        for part in name.split("."):
            found = [
                node
                for node in scope
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == part
            ]
            if len(found) != 1:
                raise self.error(f"{path} defines {name!r} {len(found)} times; expected once")
            scope = found[0].body
        definition = found[0]
        first = min([definition.lineno, *(decorator.lineno for decorator in definition.decorator_list)])
        lines = text.splitlines()[first - 1 : definition.end_lineno]
        return [self.show(path, "\n".join(lines))]


class WholeFile(LiveCode):
    """Shows a file whole."""

    def run(self) -> list[nodes.Node]:
        """Returns the block."""
        return [self.show(self.arguments[0], self.read(self.arguments[0]))]


class SourceRole(ReferenceRole):
    """`{source}` links to the page of a file, by its path or by a text of one's own, as in `text <path>`."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Returns the link, or an error when there is no such file."""
        try:
            repository(self.env).read(self.target)
        except RepositoryError as error:
            message = self.inliner.reporter.error(str(error), line=self.lineno)
            return [nodes.literal(self.text, self.text)], [message]
        return [source_reference(self.env, self.target, "", nodes.literal(self.title, self.title))], []


def _complete(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Gives our links their address, relative to the page they are on."""
    if app.builder.format != "html":
        return
    for node in doctree.findall(nodes.reference):
        if "openreg_target" in node:
            target, anchor = node["openreg_target"]
            node["refuri"] = app.builder.get_relative_uri(docname, target) + (f"#{anchor}" if anchor else "")


def _source_pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each file that some document links to."""
    repo = repository(app.env)
    if app.builder.format != "html":
        return
    for path in sorted(set().union(*app.env.openreg_sources.values())):
        text, anchors = repo.anchored(path)
        html = app.builder.highlighter.highlight_block(text, language(path), linenos=False)
        lines = html.split("\n")
        for index, name in anchors:
            lines[index] = f'<span class="region-start" id="{_region_anchor(name)}"></span>' + lines[index]
        have = repo.steps_with(path)
        note = f"Part of the backend from step {have[0]} on." if have else ""
        until = repo.replaced_in(path)
        if until:
            note = f"Part of step {have[0]} until {until} replaces it."
        body = f'<h1 class="source-title">{path}</h1><p>{note}</p>' + "\n".join(lines)
        yield f"source/{path}", {"title": path, "body": body, "parents": [], "sourcename": ""}, "page.html"


def _purge(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    env.openreg_sources.pop(docname, None)


def _merge(app: Sphinx, env: BuildEnvironment, docnames: list[str], other: BuildEnvironment) -> None:
    env.openreg_sources.update(
        {name: other.openreg_sources[name] for name in docnames if name in other.openreg_sources}
    )


def _prepare(app: Sphinx) -> None:
    if not hasattr(app.env, "openreg_sources"):
        app.env.openreg_sources = {}


def setup(app: Sphinx) -> None:
    """Registers the directives, the role and the pages."""
    app.add_directive("region", Region)
    app.add_directive("pyobject", PyObject)
    app.add_directive("wholefile", WholeFile)
    app.add_role("source", SourceRole())
    app.connect("builder-inited", _prepare)
    app.connect("env-purge-doc", _purge)
    app.connect("env-merge-info", _merge)
    app.connect("doctree-resolved", _complete)
    app.connect("html-collect-pages", _source_pages)
