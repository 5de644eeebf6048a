"""The directives `exercise` and `solution`: a solution is a file that a test runs, shown live."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .code import LiveCode


class Exercise(SphinxDirective):
    """A task for the reader."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Returns the task as an admonition with its own title."""
        self.assert_has_content()
        box = nodes.admonition(classes=["admonition", "exercise"])
        title, messages = self.parse_inline(self.arguments[0])
        box += nodes.title(self.arguments[0], "", *title)
        box += messages
        box += self.parse_content_to_nodes()
        return [box]


class Solution(LiveCode):
    """A whole file in a closed dropdown, below what there is to say about it."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Returns the dropdown."""
        code = self.show(self.arguments[0], self.read(self.arguments[0]))
        box = nodes.container(classes=["solution"])
        box += nodes.raw("", '<details class="solution"><summary>Solution</summary>', format="html")
        box += self.parse_content_to_nodes()
        box += code
        box += nodes.raw("", "</details>", format="html")
        return [box]


def setup(app: Sphinx) -> None:
    """Registers the directives."""
    app.add_directive("exercise", Exercise)
    app.add_directive("solution", Solution)
