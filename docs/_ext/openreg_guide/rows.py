"""Tables of hundreds of rows, which are written as HTML."""

from __future__ import annotations

from collections.abc import Iterable

from docutils import nodes


def html_rows(lines: Iterable[str]) -> list[nodes.Node]:
    """HTML as it is: thousands of rows as nodes would take the build a minute, and the search its use."""
    return [nodes.raw("", "\n".join(lines), format="html")]
