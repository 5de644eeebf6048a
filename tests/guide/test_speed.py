"""The page of how fast each operator is: all native operators, and a reason for each that is above its bar."""

from __future__ import annotations

import html
import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401
from bench_figures import bench, free_cores, reason_of, verdict
from bench_figures import reasons as bench_reasons
from operator_speed import BARS, Reason, Reasons, above, ratio, reasons, speed

from .conftest import DOCS, ROOT

ROW = re.compile(r"<tr( data-above)?>\s*<td><code>([^<]+)</code>(.*?)</tr>", re.DOTALL)


@pytest.fixture
def rows(site: Path) -> dict[str, tuple[bool, str]]:
    """Whether each operator is marked as above its bar, and the rest of its row, by name."""
    page = (site / "reference" / "speed.html").read_text(encoding="utf-8")
    return {html.unescape(name): (bool(mark), rest) for mark, name, rest in ROW.findall(page)}


def native() -> set[str]:
    """All native operators."""
    coverage = torch.openreg.operator_coverage()
    return {name.removeprefix("aten::") for name, how in coverage.items() if how == "native"}


def test_the_sweep_has_measured_every_native_operator():
    assert speed(ROOT).keys() == native()


def test_the_sweep_could_call_every_operator():
    found = speed(ROOT)
    assert {name: figures["unmade"] for name, figures in found.items() if "unmade" in figures} == {}
    assert [name for name, figures in found.items() if "one" not in figures] == []


@pytest.mark.parametrize("size", BARS)
def test_each_operator_above_its_bar_has_a_reason(size):
    explained = reasons(ROOT)
    slow = {name: figures for name, figures in speed(ROOT).items() if above(figures, size)}
    assert {name: it[size] for name, it in slow.items() if not explained.of(name, size, it)} == {}


@pytest.mark.parametrize("size", BARS)
def test_each_pattern_of_a_reason_names_a_native_operator(size):
    names = native()
    patterns = [pattern for it in reasons(ROOT).classes for pattern in getattr(it, size)]
    assert [it for it in patterns if not any(fnmatchcase(name, it) for name in names)] == []


def test_a_ratio_is_above_the_bar_only_where_there_is_something_to_compare_with():
    assert not above({"one": [1.0, 1.5]}, "one")
    assert above({"one": [1.0, 1.6]}, "one")
    assert ratio({"one": [None, 3.0]}, "one") is None
    assert not above({"one": [None, 3.0]}, "one")
    assert not above({}, "million")


def test_a_reason_counts_for_its_size_and_its_operators_only():
    explained = Reasons([Reason("title", "text", ("sort.*",), ())])
    slow = {"one": [1.0, 9.0], "million": [1.0, 9.0]}
    assert explained.of("sort.stable", "one", slow)
    assert explained.of("sort.stable", "million", slow) is None
    assert explained.of("cat", "one", slow) is None


def test_a_reason_with_a_limit_does_not_count_beyond_it():
    explained = Reasons([Reason("title", "text", ("*",), (), most=1.0)])
    assert explained.of("cat", "one", {"one": [1.0, 2.0]})
    assert explained.of("cat", "one", {"one": [1.0, 2.1]}) is None


def test_each_operator_has_a_row_with_its_reason(rows):
    found, explained = speed(ROOT), reasons(ROOT)
    assert rows.keys() == found.keys()
    for name, figures in found.items():
        marked, rest = rows[name]
        slow = [size for size in BARS if above(figures, size)]
        assert marked == bool(slow)
        assert all(html.escape(explained.of(name, size, figures).title) in rest for size in slow)


def test_the_script_finds_the_table_and_its_columns(site):
    script = (DOCS / "_static" / "speed.js").read_text(encoding="utf-8")
    page = (site / "reference" / "speed.html").read_text(encoding="utf-8")
    assert '"table.speed"' in script
    assert 'class="table speed"' in page
    assert 'src="../_static/speed.js' in page
    first = page.partition("<tbody>")[2]
    assert first


def missed() -> list[dict]:
    """The figures beside the operators that miss what they are to reach."""
    run = bench(ROOT)
    return [figure for figure in run["figures"] if verdict(figure, free_cores(run))[1]]


def test_each_figure_that_misses_has_a_reason():
    explained = bench_reasons(ROOT)
    assert [f"{it['part']}: {it['name']}" for it in missed() if reason_of(it, explained) is None] == []


def test_each_pattern_of_a_figure_s_reason_names_a_figure():
    names = [f"{it['part']}: {it['name']}" for it in bench(ROOT)["figures"]]
    patterns = [row for _, rows in bench_reasons(ROOT) for row in rows]
    assert [it for it in patterns if not any(fnmatchcase(name, it) for name in names)] == []


@pytest.mark.parametrize(
    ("bar", "text", "misses"),
    [
        ({"most": 2}, "at most 2", True),
        ({"most": 3}, "at most 3", False),
        ({"least": 3}, "at least 3", False),
        ({"least": 4}, "at least 4", True),
        ({"times": 1.5}, "× 1.5", False),
        ({"times": 1.4}, "× 1.4", True),
        ({"most": 2, "cores": 3}, "not counted: needs 3 cores of its own", False),
        ({}, "", False),
    ],
)
def test_what_a_figure_is_to_reach(bar, text, misses):
    assert verdict({"value": 3, "cpu": 2, **bar}, cores=2.0) == (text, misses)


def test_the_page_marks_what_misses_and_says_why(site):
    page = (site / "reference" / "speed.html").read_text(encoding="utf-8")
    table = page.partition('class="table bench"')[2]
    marked = re.findall(r"<tr data-missed><td>(.*?) <span class=\"why\">(.*?)</span>", table)
    explained = bench_reasons(ROOT)
    assert marked == [(html.escape(it["name"]), html.escape(reason_of(it, explained))) for it in missed()]
    figures = bench(ROOT)["figures"]
    assert table.count("<tr") == 1 + len(figures) + len({it["part"] for it in figures})
