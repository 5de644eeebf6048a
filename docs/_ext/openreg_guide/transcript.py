"""The `transcript` directive: output that was recorded, never typed."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .repository import RepositoryError, repository

_STATES = {
    "red": "On the step before",
    "green": "On this step",
    "plain": "Recorded",
}


def _state(argument: str) -> str:
    return directives.choice(argument, tuple(_STATES))


class Transcript(SphinxDirective):
    """Shows a recorded file, whose first line is the command that made it."""

    required_arguments = 1
    option_spec: ClassVar = {"state": _state, "title": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Returns the block with its heading."""
        path = self.arguments[0]
        try:
            text = repository(self.env).read(path)
        except RepositoryError as error:
            raise self.error(str(error)) from error
        self.env.note_dependency(str(repository(self.env).root / path))
        if not text.strip():
            raise self.error(f"{path} is empty: a transcript begins with the command that made it")
        name = PurePosixPath(path).name
        state = self.options.get("state") or {"before.txt": "red", "after.txt": "green"}.get(name, "plain")
        if not text.startswith("$ "):
            text = "$ " + text
        block = nodes.literal_block(text.rstrip("\n"), text.rstrip("\n"), language="console")
        self.set_source_info(block)
        title, messages = self.parse_inline(self.options.get("title", _STATES[state]))
        heading = nodes.paragraph("", "", *title, classes=["transcript-title"])
        if text.startswith("$ python ") and (version := self.recorded_with()):
            heading += nodes.inline("", f" · PyTorch {version}", classes=["transcript-version"])
        return [nodes.container("", heading, block, classes=["transcript", state]), *messages]

    def recorded_with(self) -> str:
        """The version of PyTorch with which outputs were recorded, or nothing where no file says so."""
        file = repository(self.env).root / "steps" / "recorded_with.txt"
        self.env.note_dependency(str(file))
        return file.read_text(encoding="utf-8").strip() if file.is_file() else ""


def setup(app: Sphinx) -> None:
    """Registers the directive."""
    app.add_directive("transcript", Transcript)
