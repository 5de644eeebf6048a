"""Tables of hundreds of rows, which are written as HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable
from typing import Any

from docutils import nodes


def html_rows(lines: Iterable[str]) -> list[nodes.Node]:
    """HTML as it is: thousands of rows as nodes would take the build a minute, and the search its use."""
    return [nodes.raw("", "\n".join(lines), format="html")]


def why(text: str) -> str:
    """A remark in a cell."""
    return f'<span class="why">{html.escape(text)}</span>'


def figure_row(
    figure: dict[str, Any],
    beside: float | None,
    verdict: tuple[str, bool],
    notes: Iterable[str],
    number: Callable[[float], str],
) -> str:
    """The row of something that was measured.

    Args:
        figure: Its `name`, `value` and `unit`.
        beside: The value that it is compared with; None if there is none.
        verdict: What it is to reach, and whether it misses it.
        notes: Remarks behind the name.
        number: Writes a number.
    """
    (bar, missed), value = verdict, figure["value"]
    mark = ' class="above"' if missed else ""
    return (
        f"<tr{' data-missed' if missed else ''}><td>{html.escape(figure['name'])} {''.join(map(why, notes))}</td>"
        f"<td>{number(value)} {html.escape(figure['unit'])}</td><td>{number(beside) if beside else ''}</td>"
        f"<td>{f'{value / beside:.2f}' if beside else ''}</td>"
        f"<td{mark}>{bar}{', missed' if missed else ''}</td></tr>"
    )
