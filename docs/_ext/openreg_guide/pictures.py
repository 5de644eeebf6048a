"""Pictures as inline SVG, so that the page's style sheet colours them, in the dark as well."""

from __future__ import annotations

import re
import subprocess
from html import escape
from pathlib import Path
from typing import ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.ext.graphviz import graphviz
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

# Colours are left to the style sheet, which knows the names of the classes; the width of text is dot's business.
_DEFAULTS = (
    'graph [bgcolor="transparent", fontname="Helvetica", fontsize=12, pad=0.1, nodesep=0.3, ranksep=0.4];'
    'node [shape=box, style="rounded,filled", fillcolor="white", fontname="Helvetica", fontsize=12,'
    ' margin="0.18,0.09", height=0.3];'
    'edge [fontname="Helvetica", fontsize=10, arrowsize=0.7];'
)
_LEAST = 0.8  # the smallest scale of a picture
# What the colours mean, the same in all pictures; below each is the legend of those that it has.
_TINTS = {
    "python": "your program",
    "torch": "PyTorch",
    "driver": "the device's library",
    "device": "the device",
    "cpu": "the CPU and its memory",
    "hot": "what it is about",
}


def legend(svg: str) -> str:
    """The line below a picture that says what its colours mean; nothing where there is one colour only."""
    used = {name for names in re.findall(r'\sclass="([^"]*)"', svg) for name in names.split()}
    shown = [name for name in _TINTS if name in used]
    if len(shown) < 2:
        return ""
    items = (f'<span class="tint {name}">{escape(_TINTS[name])}</span>' for name in shown)
    return f'<p class="legend">{"".join(items)}</p>'


def inline(svg: str, label: str) -> str:
    """The `<svg>` element of a file, named for screen readers, its ids removed: a page has many pictures."""
    start = svg.find("<svg")
    if start < 0:
        raise ExtensionError(f"no <svg> element in the picture {label!r}")
    svg = re.sub(r'\sid="[^"]*"', "", svg[start:])
    svg = re.sub(r"<!--.*?-->\n?", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<title>[^<]*</title>\n?", "", svg)  # dot's titles are node names: tool tips that tell nothing
    # A picture a little too wide is shown smaller, one much too wide scrolls: text must stay readable.
    size = re.search(r'<svg[^>]*?\s(?:width="|viewBox="0 0 )([\d.]+)(pt)?', svg)
    width = float(size[1]) * (4 / 3 if size[2] else 1) if size else 0
    least = f' style="width: {width:.0f}px; min-width: {width * _LEAST:.0f}px"' if width else ""
    return svg.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"{least}', 1)


def _render(code: str) -> str:
    """What dot makes of a graph."""
    code = code.replace("{", "{" + _DEFAULTS, 1)
    try:
        done = subprocess.run(["dot", "-Tsvg"], input=code, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise ExtensionError(
            "the guide's pictures need Graphviz, and there is no `dot`: apt install graphviz"
        ) from error
    if done.returncode or done.stderr:
        raise ExtensionError(f"dot: {done.stderr.strip()}\nin the graph\n{code}")
    return done.stdout


def _visit_graphviz(self: HTML5Translator, node: graphviz) -> None:
    label = node.get("alt")
    if not label:
        raise ExtensionError(
            f"{node.source}:{node.line}: a picture needs :alt:, one sentence for those who don't see it"
        )
    svg = _render(node["code"])
    self.body.append(f'<div class="picture" tabindex="0">{inline(svg, label)}</div>{legend(svg)}\n')
    raise nodes.SkipNode


class InlineSvg(SphinxDirective):
    """A hand-made SVG of `_static`, inline."""

    required_arguments = 1
    option_spec: ClassVar = {"alt": directives.unchanged_required, "caption": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        """Returns the picture."""
        if "alt" not in self.options:
            raise self.error("a picture needs :alt:, one sentence for those who don't see it")
        path = Path(self.env.srcdir) / "_static" / self.arguments[0]
        if not path.is_file():
            raise self.error(f"there is no picture docs/_static/{self.arguments[0]}")
        self.env.note_dependency(str(path))
        svg = inline(path.read_text(encoding="utf-8"), self.options["alt"])
        figure = nodes.figure(classes=["picture-figure"])
        figure += nodes.raw("", f'<div class="picture" tabindex="0">{svg}</div>{legend(svg)}', format="html")
        if "caption" in self.options:
            text, messages = self.parse_inline(self.options["caption"])
            figure += [nodes.caption("", "", *text), *messages]
        return [figure]


def setup(app: Sphinx) -> None:
    """Registers the directive, and takes over how HTML shows a graph."""
    app.setup_extension("sphinx.ext.graphviz")
    app.add_node(graphviz, override=True, html=(_visit_graphviz, None))
    app.add_directive("svg", InlineSvg)
