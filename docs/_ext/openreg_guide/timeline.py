"""The `timeline` directive: a picture of what ran when, drawn from the file that a measurement wrote."""

from __future__ import annotations

import json
from html import escape
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .pictures import inline, legend
from .repository import RepositoryError, repository

# The lanes from top to bottom, and the class that tints each.
_LANES = {"host": "python", "copies": "driver", "kernels": "device"}
_LEFT, _WIDTH, _ROW, _BOX = 72, 640, 44, 30


def _draw(measured: dict[str, Any], way: str) -> str:
    """The picture of one run. All runs of a file have one scale, so that they can be compared."""
    longest = max(run["total"] for run in measured.values() if isinstance(run, dict))
    scale = _WIDTH / longest
    run = measured[way]
    parts = []
    for row, (lane, tint) in enumerate(_LANES.items()):
        top = 8 + row * _ROW
        middle, text = top + _BOX // 2, top + _BOX // 2 + 4
        parts.append(f'<text x="{_LEFT - 12}" y="{text}" text-anchor="end">{lane}</text>')
        parts.append(f'<path d="M{_LEFT} {middle}H{_LEFT + _WIDTH}" stroke="black" stroke-dasharray="2 4"/>')
        for span in run["spans"]:
            if span["lane"] != lane:
                continue
            x, width = _LEFT + span["start"] * scale, max((span["end"] - span["start"]) * scale, 1.5)
            shape = f'x="{x:.1f}" y="{top}" width="{width:.1f}" height="{_BOX}" rx="3"'
            box = f'<rect {shape} fill="white" stroke="black"/>'
            if width > 14:
                box += f'<text x="{x + width / 2:.1f}" y="{text}" text-anchor="middle">{span["batch"]}</text>'
            parts.append(f'<g class="{tint}">{box}</g>')
    axis = 8 + len(_LANES) * _ROW
    parts.append(f'<path d="M{_LEFT} {axis}H{_LEFT + _WIDTH}" stroke="black"/>')
    for tick in range(0, int(longest) + 1, 10):
        x = _LEFT + tick * scale
        parts.append(f'<path d="M{x:.1f} {axis}v5" stroke="black"/>')
        parts.append(f'<text x="{x:.1f}" y="{axis + 19}" text-anchor="middle" font-size="11">{tick}</text>')
    free = max(span["end"] for span in run["spans"] if span["lane"] == "host")
    words = (
        f"all done after {run['total']:.1f} ms, the host free after {free:.1f} ms; "
        f"measured with {measured['effective_cores']} of {measured['cores']} cores free"
    )
    parts.append(f'<text x="{_LEFT}" y="{axis + 38}">{escape(words)}</text>')
    parts.append(f'<text x="{_LEFT - 12}" y="{axis + 19}" text-anchor="end" font-size="11">ms</text>')
    size = f'viewBox="0 0 {_LEFT + _WIDTH + 8} {axis + 46}" width="{_LEFT + _WIDTH + 8}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-size="13">{"".join(parts)}</svg>'


class Timeline(SphinxDirective):
    """Draws a run of a recorded file: `{timeline} tests/recorded/overlap.json queued`."""

    required_arguments = 2
    option_spec: ClassVar = {"alt": directives.unchanged_required, "caption": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Returns the picture."""
        path, way = self.arguments
        if "alt" not in self.options or "caption" not in self.options:
            raise self.error("a timeline needs :alt:, one sentence for those who don't see it, and :caption:")
        try:
            measured = json.loads(repository(self.env).read(path))
        except (RepositoryError, json.JSONDecodeError) as error:
            raise self.error(f"{path}: {error}") from error
        self.env.note_dependency(str(repository(self.env).root / path))
        runs = [name for name, run in measured.items() if isinstance(run, dict)]
        if way not in runs:
            raise self.error(f"{path} has no run {way!r}; it has {', '.join(runs)}")
        figure = nodes.figure(classes=["picture-figure"])
        picture = inline(_draw(measured, way), self.options["alt"])
        figure += nodes.raw("", f'<div class="picture" tabindex="0">{picture}</div>{legend(picture)}', format="html")
        text, messages = self.parse_inline(self.options["caption"])
        figure += [nodes.caption("", "", *text), *messages]
        return [figure]


def setup(app: Sphinx) -> None:
    """Registers the directive."""
    app.add_directive("timeline", Timeline)
