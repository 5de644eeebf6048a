"""The page of how fast each operator is, made from what the sweep wrote."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from operator_speed import BARS, REASONS, SPEED, Reasons, above, ratio, reasons, speed
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .repository import repository
from .rows import html_rows

TITLES = {"one": "one element", "million": "a million"}


def _figures(directive: SphinxDirective) -> tuple[dict[str, dict[str, Any]], Reasons]:
    root: Path = repository(directive.env).root
    for file in (SPEED, REASONS):
        directive.env.note_dependency(str(root / file))
    return speed(root), reasons(root)


def time_text(microseconds: float | None) -> str:
    """A time in the unit that suits it; a dash if there is none."""
    if microseconds is None:
        return "–"
    return f"{microseconds:.3g} µs" if microseconds < 1000 else f"{microseconds / 1000:.3g} ms"


class SpeedCounts(SphinxDirective):
    """How many operators are within their bar, above it with a reason, and not to be compared."""

    def run(self) -> list[nodes.Node]:
        """Returns the table."""
        return html_rows(self._lines(*_figures(self)))

    @staticmethod
    def _lines(found: dict[str, dict[str, Any]], explained: Reasons) -> Iterator[str]:
        yield '<table class="table speed-counts"><thead><tr>'
        yield "<th>size</th><th>bar</th><th>within</th><th>above, with a reason</th><th>nothing to compare with</th>"
        yield "</tr></thead><tbody>"
        for size, bar in BARS.items():
            slow = sum(above(it, size) for it in found.values())
            without = sum(ratio(it, size) is None for it in found.values())
            yield f"<tr><td>{TITLES[size]}</td><td>{bar:g} ×</td><td>{len(found) - slow - without}</td>"
            yield f"<td>{slow}</td><td>{without}</td></tr>"
        yield "</tbody></table>"


class SpeedReasons(SphinxDirective):
    """The classes of reasons why an operator is above its bar."""

    def run(self) -> list[nodes.Node]:
        """Returns a list of definitions."""
        return html_rows(self._lines(_figures(self)[1]))

    @staticmethod
    def _lines(explained: Reasons) -> Iterator[str]:
        yield '<dl class="speed-reasons">'
        for reason in explained.classes:
            yield f"<dt>{html.escape(reason.title)}</dt><dd>{html.escape(reason.text)}</dd>"
        yield "</dl>"


class SpeedTable(SphinxDirective):
    """Every native operator; speed.js adds the search."""

    def run(self) -> list[nodes.Node]:
        """Returns the table."""
        return html_rows(self._lines(*_figures(self)))

    @staticmethod
    def _lines(found: dict[str, dict[str, Any]], explained: Reasons) -> Iterator[str]:
        yield '<table class="table speed"><thead><tr><th rowspan="2">operator</th>'
        yield "".join(f'<th colspan="3">{title}</th>' for title in TITLES.values())
        yield '<th rowspan="2">why</th></tr><tr>'
        yield "<th>CPU</th><th>openreg</th><th>×</th>" * len(TITLES) + "</tr></thead><tbody>"
        for name, figures in found.items():
            yield f"<tr{' data-above' if any(above(figures, size) for size in BARS) else ''}>"
            shape = html.escape(figures.get("shape", ""))
            yield f'<td><code>{html.escape(name)}</code> <span class="shape">{shape}</span></td>'
            why = []
            for size in BARS:
                cpu, device = figures.get(size, (None, None))
                times = ratio(figures, size)
                mark = ' class="above"' if above(figures, size) else ""
                yield f"<td>{time_text(cpu)}</td><td>{time_text(device)}</td>"
                yield f"<td{mark}>{'–' if times is None else f'{times:.2f}'}</td>"
                reason = explained.of(name, size, figures) if above(figures, size) else None
                if reason and reason.title not in why:
                    why.append(reason.title)
            yield f"<td>{html.escape('; '.join(why))}</td></tr>"
        yield "</tbody></table>"


def setup(app: Sphinx) -> None:
    """Registers the directives."""
    app.add_directive("speedcounts", SpeedCounts)
    app.add_directive("speedreasons", SpeedReasons)
    app.add_directive("speedtable", SpeedTable)
