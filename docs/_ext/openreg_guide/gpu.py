"""What `make gpu` measured on a GPU, made from the file that it wrote; or that there is no such file yet."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from gpu_figures import PARTS, REASONS, RECORD, Figure, Miss, Reason, by_reason, misses, number, read, reasons, verdict
from gpu_figures import reason_of as reason_of_miss
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .repository import repository
from .rows import figure_row, html_rows, why

NOT_RUN = "Not run yet: this repository has no record of a run on a GPU."


class GpuTable(SphinxDirective):
    """All parts, each with its machine, its figures, and why what misses does."""

    def run(self) -> list[nodes.Node]:
        """Returns the table, or a sentence."""
        root = repository(self.env).root
        for file in (RECORD, REASONS):
            self.env.note_dependency(str(root / file))
        found = read(root / RECORD)
        if not found:
            return [nodes.paragraph("", NOT_RUN)]
        return html_rows(lines(found, reasons(root)))


def lines(found: dict[str, Any], explained: list[Reason]) -> Iterator[str]:
    """The lines of the table."""
    yield '<table class="table bench gpu"><thead><tr><th>what</th><th>openreg</th><th>beside</th><th>×</th>'
    yield "<th>to reach</th></tr></thead><tbody>"
    for name, about in PARTS.items():
        yield f'<tr><th colspan="5">{name}: {html.escape(about)}</th></tr>'
        if name not in found:
            yield '<tr><td colspan="5">not run yet</td></tr>'
            continue
        part = found[name]
        where = "; ".join([f"on {part['time'][:10]}", *(f"{key} {value}" for key, value in part["machine"].items())])
        notes = [where, *part["said"]]
        for reason, count in by_reason(misses(part), explained).items():
            notes.append(f"{count} × {reason}")
        yield f'<tr><td colspan="5">{"".join(why(note) for note in notes)}</td></tr>'
        yield from (_row(name, figure, explained) for figure in part["figures"])
    yield "</tbody></table>"


def _row(part: str, figure: Figure, explained: list[Reason]) -> str:
    reached = verdict(figure)
    reason = reason_of_miss(Miss(f"{part}: {figure['name']}", ""), explained) if reached[1] else None
    notes = [figure.get("note"), reason.text if reason else None]
    return figure_row(figure, figure.get("beside"), reached, filter(None, notes), number)


def setup(app: Sphinx) -> None:
    """Registers the directive."""
    app.add_directive("gputable", GpuTable)
