"""The table as a page that needs no other file."""

from __future__ import annotations

from html import escape
from importlib import metadata
from itertools import groupby

from .registry import Row, Word
from .report import summary, where

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
:root { color-scheme: light dark; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid #8884; }
th[colspan] { padding-top: 1.4rem; font-size: 1.05rem; }
.word { white-space: nowrap; font-weight: 600; }
.works { color: #18794e; } .missing, .unseen { color: #6e6e76; } .silent { color: #ad5700; } .wrong { color: #cd2b31; }
small { color: #7a7a82; }
@media (prefers-color-scheme: dark) {
  .works { color: #4cc38a; } .missing, .unseen { color: #a0a0ab; }
  .silent { color: #ffb224; } .wrong { color: #ff6369; }
}
"""
CLASSES = {
    Word.WORKS: "works",
    Word.NOT_SEEN: "unseen",
    Word.MISSING: "missing",
    Word.SILENT: "silent",
    Word.WRONG: "wrong",
}


def _cells(row: Row) -> str:
    """A row's three cells; what doesn't work has the function to write in the last one."""
    to_write = "" if row.needs_nothing else f"<br><small>{escape(where(row))}</small>"
    return (
        f'<tr><td class="word {CLASSES[row.word]}">{row.word}</td>'
        f'<td title="{escape(row.what)}">{escape(row.name)}</td><td>{escape(row.detail)}{to_write}</td></tr>'
    )


def as_html(device: str, rows: list[Row]) -> str:
    """The table as a document. What a probe does is the tooltip of its name."""
    counts = ", ".join(f"{number} {word}" for word, number in summary(rows).items() if number)
    body = []
    for section, members in groupby(rows, key=lambda row: row.section):
        body.append(f'<tr><th colspan="3" scope="rowgroup">{escape(section)}</th></tr>')
        body += map(_cells, members)
    title = f"Doctor: {escape(device)}"
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title><style>{STYLE}</style></head><body>",
            f"<h1>{title}</h1><p>PyTorch {escape(metadata.version('torch'))}; {counts}.</p><table>",
            *body,
            "</table></body></html>\n",
        ]
    )
