"""Keeps spaces out of the markup of code: each between two words of C++ would be an element, a fifth of a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from pygments.formatters import HtmlFormatter
from pygments.token import Text, Whitespace
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge


class PlainSpaces(HtmlFormatter[str]):
    """Pygments' HTML, with spaces as text."""

    def format_unencoded(self, tokensource: Iterable[tuple[object, str]], outfile: TextIO) -> None:
        """Writes the code."""
        super().format_unencoded(((Text if kind is Whitespace else kind, text) for kind, text in tokensource), outfile)


def setup(app: Sphinx) -> None:
    """Has Sphinx write all code so."""
    PygmentsBridge.html_formatter = PlainSpaces
