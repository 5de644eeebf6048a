"""What search engines show below a page's title: its first sentences."""

from __future__ import annotations

import re
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

_LONGEST = 200  # characters


def first_sentences(text: str) -> str:
    """As many whole sentences from the start of a text as fit; of a first one that is too long, the first words."""
    text = " ".join(text.split())
    found = ""
    for sentence in re.findall(r".+?(?:[.!?:](?=\s)|$)", text):
        if len(found) + len(sentence) > _LONGEST:
            break
        found += sentence
    return found.strip() or text[: _LONGEST - 1].rsplit(" ", 1)[0] + "…"


def _describe(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: nodes.document | None) -> None:
    """Adds the description to the head of a page."""
    if doctree is not None:
        paragraph = next((it for it in doctree.findall(nodes.paragraph) if isinstance(it.parent, nodes.section)), None)
        text = first_sentences(paragraph.astext()) if paragraph else ""
    else:
        text = f"{page.removeprefix('source/')}, a file of OpenReg." if page.startswith("source/") else ""
    if text:
        context["metatags"] = context.get("metatags", "") + f'\n<meta name="description" content="{escape(text)}" />'


def setup(app: Sphinx) -> None:
    """Registers the hook."""
    app.connect("html-page-context", _describe)
