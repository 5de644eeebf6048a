"""The page of how each operator is served, made from the live dispatch tables when the site is built."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from operator_tables import COMPOSITES, CORE_EXCEPTIONS, Operator, core_exceptions, operators
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .repository import repository
from .rows import html_rows

# What the page calls each way of being served, and what that means.
SERVED = {
    "native": ("native", "a kernel of this backend"),
    "composite": ("composite", "PyTorch's own kernel for all devices, which ends in native operators"),
    "mixed": ("composite, partly on the CPU", "PyTorch's own kernel, one of whose operators needs the fallback"),
    "unseen": ("composite, not recorded", "PyTorch's own kernel; no test runs it, so what it ends in is not recorded"),
    "fallback": ("fallback", "copied to the CPU, computed there, copied back"),
    "none": ("none", "no kernel for tensors of this device, nor for the CPU's: quantized, sparse, other hardware's"),
}


def _operators(directive: SphinxDirective) -> tuple[Path, list[Operator]]:
    """Reads the tables once for all directives of a build."""
    root = repository(directive.env).root
    directive.env.note_reread()  # the tables are those of the library that is built, not of a file
    for file in (COMPOSITES, CORE_EXCEPTIONS):
        directive.env.note_dependency(str(root / file))
    cache = directive.env.temp_data
    if "openreg_operators" not in cache:
        cache["openreg_operators"] = operators(root)
    return root, cache["openreg_operators"]


def _code(name: str, mark: str = "") -> str:
    return f"<code{mark}>{html.escape(name)}</code>"


def _over(operator: Operator) -> str:
    """What a composite operator ends in, what the CPU serves marked."""
    if operator.over is None:
        return ""
    names = (_code(name, ' class="on-cpu"' if name in operator.on_cpu else "") for name in operator.over)
    return " ".join(names) or "no operator with a kernel"


class CoverageCounts(SphinxDirective):
    """How many operators are served in each way, of all and of the core set."""

    def run(self) -> list[nodes.Node]:
        """Returns the table."""
        _, found = _operators(self)
        return html_rows(self._lines(Counter(o.served for o in found), Counter(o.served for o in found if o.core)))

    @staticmethod
    def _lines(every: Counter[str], core: Counter[str]) -> Iterator[str]:
        yield '<table class="table coverage-counts"><thead><tr>'
        yield "<th>served</th><th>operators</th><th>core set</th><th>means</th></tr></thead><tbody>"
        for served, (title, meaning) in SERVED.items():
            yield f'<tr><td><span class="served {served}">{title}</span></td>'
            yield f"<td>{every[served]}</td><td>{core[served]}</td><td>{html.escape(meaning)}</td></tr>"
        yield f"<tr><td>all</td><td>{every.total()}</td><td>{core.total()}</td><td></td></tr></tbody></table>"


class CoverageCore(SphinxDirective):
    """The operators of the core set that are left to the CPU, and why."""

    def run(self) -> list[nodes.Node]:
        """Returns a table, or a sentence if there are none."""
        root, found = _operators(self)
        reasons = core_exceptions(root)
        left = [operator for operator in found if operator.core and not operator.is_native]
        if not left:
            return [nodes.paragraph("", "None: every operator of the core set is native, or composite over natives.")]
        return html_rows(self._lines(left, reasons))

    @staticmethod
    def _lines(left: list[Operator], reasons: dict[str, str]) -> Iterator[str]:
        yield f"<details{' open' if len(left) <= 30 else ''}><summary>{len(left)} operators</summary>"
        yield '<table class="table coverage-core"><thead><tr>'
        yield "<th>operator</th><th>left to the CPU</th><th>why</th></tr></thead><tbody>"
        for operator in left:
            on_cpu = operator.on_cpu or (operator.name,)
            why = reasons.get(operator.name, "no kernel yet")
            yield f"<tr><td>{_code(operator.name)}</td><td>{' '.join(map(_code, on_cpu))}</td>"
            yield f"<td>{html.escape(why)}</td></tr>"
        yield "</tbody></table></details>"


class CoverageTable(SphinxDirective):
    """Every operator; coverage.js adds the search and the filter."""

    def run(self) -> list[nodes.Node]:
        """Returns the table."""
        return html_rows(self._lines(_operators(self)[1]))

    @staticmethod
    def _lines(found: list[Operator]) -> Iterator[str]:
        yield '<table class="table coverage"><thead><tr>'
        yield "<th>operator</th><th>served</th><th>ends in</th></tr></thead><tbody>"
        for operator in found:
            core = ' <span class="core">core</span>' if operator.core else ""
            yield f'<tr data-served="{operator.served}"{" data-core" if operator.core else ""}>'
            yield f"<td>{_code(operator.name)}{core}</td>"
            yield f"<td>{SERVED[operator.served][0]}</td><td>{_over(operator)}</td></tr>"
        yield "</tbody></table>"


def setup(app: Sphinx) -> None:
    """Registers the directives."""
    app.add_directive("coveragecounts", CoverageCounts)
    app.add_directive("coveragecore", CoverageCore)
    app.add_directive("coveragetable", CoverageTable)
