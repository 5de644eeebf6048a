"""What `make bench` measured beside the operators, made from the file that it wrote."""

from __future__ import annotations

import html
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from bench_figures import BENCH, REASONS, Figure, bench, free_cores, number, reason_of, reasons, verdict
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .repository import repository
from .rows import figure_row, html_rows


class BenchTable(SphinxDirective):
    """All figures, part by part, with what each is to reach."""

    def run(self) -> list[nodes.Node]:
        """Returns when and where they were measured, and the table."""
        root = repository(self.env).root
        for file in (BENCH, REASONS):
            self.env.note_dependency(str(root / file))
        found = bench(root)
        where = f"Measured on {found['time'][:10]}, on {found['cores']} cores, {free_cores(found):g} of them free."
        return [nodes.paragraph("", where), *html_rows(self._lines(found, reasons(root)))]

    @staticmethod
    def _lines(found: dict[str, Any], explained: list[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
        yield '<table class="table bench"><thead><tr><th>what</th><th>openreg</th><th>CPU</th><th>×</th>'
        yield "<th>to reach</th></tr></thead><tbody>"
        for part, figures in groupby(found["figures"], lambda it: it["part"]):
            yield f'<tr><th colspan="5">{html.escape(part)}</th></tr>'
            for figure in figures:
                yield BenchTable._row(figure, free_cores(found), explained)
        yield "</tbody></table>"

    @staticmethod
    def _row(figure: Figure, cores: float, explained: list[tuple[str, tuple[str, ...]]]) -> str:
        reached = verdict(figure, cores)
        reason = reason_of(figure, explained) if reached[1] else None
        return figure_row(figure, figure.get("cpu"), reached, [reason] if reason else [], number)


def setup(app: Sphinx) -> None:
    """Registers the directive."""
    app.add_directive("benchtable", BenchTable)
