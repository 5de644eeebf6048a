"""The page of how each operator is served: all operators, as the dispatcher has them, and counts that add up."""

from __future__ import annotations

import html
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401
from operator_tables import Operator, core_exceptions, operators

from .conftest import DOCS, ROOT

ROW = re.compile(r'<tr data-served="(\w+)"( data-core)?>\s*<td><code>([^<]+)</code>(.*?)</tr>', re.DOTALL)
COUNT = re.compile(r'<span class="served (\w+)">[^<]*</span></td>\s*<td>(\d+)</td><td>(\d+)</td>')


@pytest.fixture(scope="module")
def found() -> list[Operator]:
    """All operators."""
    return operators(ROOT)


@pytest.fixture
def page(site: Path) -> str:
    """The HTML."""
    return (site / "reference" / "coverage.html").read_text(encoding="utf-8")


@pytest.fixture
def rows(page: str) -> dict[str, tuple[str, bool, str]]:
    """How each operator is served, whether it is of the core set, and the rest of its row, by name."""
    return {html.unescape(name): (served, bool(core), rest) for served, core, name, rest in ROW.findall(page)}


def test_each_operator_has_a_row_that_says_how_the_dispatcher_would_serve_it(rows):
    coverage = torch.openreg.operator_coverage()
    assert rows.keys() == {name.removeprefix("aten::") for name in coverage}
    kinds = {"mixed": "composite", "unseen": "composite"}
    wrong = [name for name, row in rows.items() if kinds.get(row[0], row[0]) != coverage[f"aten::{name}"]]
    assert wrong == []


def test_a_composite_operator_names_what_it_ends_in_and_marks_the_cpus_part(rows, found):
    for operator in found:
        shown = re.findall(r"<code( class=\"on-cpu\")?>([^<]+)</code>", rows[operator.name][2])
        assert tuple(html.unescape(name) for _, name in shown) == (operator.over or ())
        assert {html.unescape(name) for mark, name in shown if mark} == set(operator.on_cpu)
    mixed = [operator for operator in found if operator.served == "mixed"]
    assert all(operator.on_cpu for operator in mixed)


def test_operators_of_the_core_set_are_marked(rows):
    core = {name for name, row in rows.items() if row[1]}
    assert {"mm", "convolution", "add.Tensor", "native_layer_norm"} <= core
    assert "linear" not in core
    assert all(('class="core"' in row[2]) == row[1] for row in rows.values())


def test_the_counts_are_those_of_the_rows(page, rows):
    counts = {served: (int(every), int(core)) for served, every, core in COUNT.findall(page)}
    every = Counter(row[0] for row in rows.values())
    core = Counter(row[0] for row in rows.values() if row[1])
    assert counts == {served: (every[served], core[served]) for served in counts}
    assert sum(number for number, _ in counts.values()) == len(rows)


def test_what_the_core_set_leaves_to_the_cpu_is_listed_with_reasons(page, found):
    _, _, rest = page.partition('id="the-core-set"')
    section, _, _ = rest.partition('id="all-operators"')
    left = [operator.name for operator in found if operator.core and not operator.is_native]
    assert [html.unescape(name) for name in re.findall(r"<tr><td><code>([^<]+)</code>", section)] == left
    for reason in core_exceptions(ROOT).values():
        assert html.escape(reason) in section


def test_the_script_finds_what_it_filters_and_offers_every_way_of_being_served(page, rows):
    script = (DOCS / "_static" / "coverage.js").read_text(encoding="utf-8")
    assert '"table.coverage"' in script
    assert '"table.coverage-counts .served"' in script
    assert 'src="../_static/coverage.js' in page
    legend = {served for served, _, _ in COUNT.findall(page)}
    assert {row[0] for row in rows.values()} <= legend
