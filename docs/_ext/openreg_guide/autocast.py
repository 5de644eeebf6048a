"""The page of autocast's lists, and the figures of half precision: from files that a test and a benchmark wrote."""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from autocast_tables import KEYS, REASONS, RECORD, Reason, reasons, recorded
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .repository import repository
from .rows import html_rows
from .speed import time_text

FIGURES = "docs/precision.json"
TYPES = ("float32", "bfloat16", "float16")
NAMES = {"openreg": "openreg", "cuda": "CUDA", "cpu": "CPU"}
MEANING = {
    "half": "in the type of the region, bfloat16 or float16",
    "float": "in float32",
    "widest": "in the widest type among its tensors",
    "refused": "an error",
}


def reason_of(explained: list[Reason], device: str, name: str) -> Reason | None:
    """Why an operator is in another list here than on a device.

    Args:
        explained: All reasons.
        device: Which other.
        name: The operator's, with overload.
    """
    of_device = (reason for reason in explained if reason.device == device)
    return next((it for it in of_device if any(fnmatchcase(name, pattern) for pattern in it.operators)), None)


class _OfLists(SphinxDirective):
    def _lists(self) -> tuple[dict[str, dict[str, str]], list[Reason]]:
        root = repository(self.env).root
        for file in (RECORD, REASONS):
            self.env.note_dependency(str(root / file))
        return recorded(root)[1], reasons(root)


class AutocastCounts(_OfLists):
    """How many operators are in each list, on each device."""

    def run(self) -> list[nodes.Node]:
        """Returns the table."""
        lists, _ = self._lists()
        return html_rows(self._lines({device: Counter(lists[device].values()) for device in KEYS}))

    @staticmethod
    def _lines(counts: dict[str, Counter[str]]) -> Iterator[str]:
        yield '<table class="table autocast-counts"><thead><tr><th>list</th><th>its operators run</th>'
        yield "".join(f"<th>{name}</th>" for name in NAMES.values()) + "</tr></thead><tbody>"
        for rule, meaning in MEANING.items():
            yield f'<tr><td><span class="rule {rule}">{rule}</span></td><td>{meaning}</td>'
            yield "".join(f"<td>{counts[device][rule]}</td>" for device in NAMES) + "</tr>"
        yield "</tbody></table>"


class AutocastReasons(_OfLists):
    """The classes of reasons why lists differ."""

    def run(self) -> list[nodes.Node]:
        """Returns a list of definitions."""
        return html_rows(self._lines(self._lists()[1]))

    @staticmethod
    def _lines(explained: list[Reason]) -> Iterator[str]:
        yield '<dl class="autocast-reasons">'
        for reason in explained:
            yield f"<dt>{html.escape(reason.title)} ({NAMES[reason.device]})</dt><dd>{html.escape(reason.text)}</dd>"
        yield "</dl>"


class AutocastTable(_OfLists):
    """Every operator that has a rule on one of the devices; autocast.js adds the search."""

    def run(self) -> list[nodes.Node]:
        """Returns the table."""
        return html_rows(self._lines(*self._lists()))

    @staticmethod
    def _lines(lists: dict[str, dict[str, str]], explained: list[Reason]) -> Iterator[str]:
        yield '<table class="table autocast"><thead><tr><th>operator</th>'
        yield "".join(f"<th>{name}</th>" for name in NAMES.values()) + "<th>why they differ</th></tr></thead><tbody>"
        for name in sorted(set().union(*lists.values())):
            here = lists["openreg"].get(name)
            differ = [device for device in NAMES if lists[device].get(name) != here]
            why = [reason.title for device in differ if (reason := reason_of(explained, device, name))]
            yield f'<tr data-rule="{here or ""}"{" data-differs" if differ else ""}>'
            yield f"<td><code>{html.escape(name)}</code></td>"
            yield "".join(f"<td>{lists[device].get(name, '–')}</td>" for device in NAMES)
            yield f"<td>{html.escape('; '.join(dict.fromkeys(why)))}</td></tr>"
        yield "</tbody></table>"


class PrecisionFigures(SphinxDirective):
    """What half precision takes in time and memory beside float32; the argument says of what."""

    required_arguments = 1  # networks or products

    def run(self) -> list[nodes.Node]:
        """Returns the table."""
        repo = repository(self.env)
        self.env.note_dependency(str(repo.root / FIGURES))
        figures = json.loads(repo.read(FIGURES))
        lines = {"networks": self._networks, "products": self._products}[self.arguments[0]]
        return html_rows(lines(figures))

    @staticmethod
    def _networks(figures: dict[str, Any]) -> Iterator[str]:
        yield '<table class="table precision"><thead><tr><th>network</th><th>type</th><th>a step</th>'
        yield f"<th>memory, at most</th><th>loss after {figures['steps']} steps</th></tr></thead><tbody>"
        for row in figures["networks"]:
            for name in TYPES:
                found = row[name]
                yield f"<tr><td>{html.escape(row['network'])}</td><td>{name}</td><td>{found['ms']:.1f} ms</td>"
                yield f"<td>{found['MiB']:.1f} MiB</td><td>{found['loss']:.4f}</td></tr>"
        yield "</tbody></table>"

    @staticmethod
    def _products(figures: dict[str, Any]) -> Iterator[str]:
        yield '<table class="table precision"><thead><tr><th>rows × factors × columns</th>'
        yield "".join(f"<th>{name}</th>" for name in TYPES) + "</tr></thead><tbody>"
        for row in figures["products"]:
            yield f"<tr><td>{' × '.join(map(str, row['shape']))}</td><td>{time_text(row['float32'])}</td>"
            yield "".join(f"<td>× {row[name] / row['float32']:.2f}</td>" for name in TYPES[1:]) + "</tr>"
        yield "</tbody></table>"


def setup(app: Sphinx) -> None:
    """Registers the directives."""
    app.add_directive("autocastcounts", AutocastCounts)
    app.add_directive("autocastreasons", AutocastReasons)
    app.add_directive("autocasttable", AutocastTable)
    app.add_directive("precisionfigures", PrecisionFigures)
