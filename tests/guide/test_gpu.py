"""What `make gpu` records, and what the guide's page makes of it, or of no record."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from gpu_figures import (
    PARTS,
    RECORD,
    UNEXPLAINED,
    Miss,
    Reason,
    by_reason,
    grouped,
    misses,
    number,
    read,
    reason_of,
    reasons,
    verdict,
    write,
)

from .conftest import ROOT, Project

EXPLAINED = [
    Reason("the simulator's", (), ("*not implemented: orSim*",), True),
    Reason("a bus", ("tests/backend/test_copy.py::*", "operators: sort*"), (), False),
]
PART: dict[str, Any] = {
    "time": "2026-01-02T03:04:05Z",
    "seconds": 12.5,
    "machine": {"GPU": "A <GPU>", "driver": "1.2.3"},
    "figures": [
        {"name": "x + y", "value": 11.0, "unit": "µs", "beside": 10.0, "times": 1.2},
        {"name": "sort", "value": 30.0, "unit": "µs", "beside": 10.0, "times": 1.25, "note": "the CPU served sort"},
    ],
    "misses": [["tests/backend/test_copy.py::test_a", "too slow", 3], ["tests/backend/test_b.py::test_b", "no", 1]],
    "said": ["stopped when its time was over"],
}
TOML = '[[reason]]\ntext = "a bus"\ntests = ["tests/backend/test_copy.py::*", "operators: sort*"]\n'


def test_a_record_is_read_as_it_was_written_in_the_order_of_the_parts(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "gpu.json"
    assert read(file) == {}
    write(file, {"train": {"seconds": 1}, "kernels": {"seconds": 2}, "of an older version": {}})
    assert list(read(file)) == ["kernels", "train"]
    assert read(file)["train"] == {"seconds": 1}
    assert [path.name for path in file.parent.iterdir()] == ["gpu.json"]


@pytest.mark.parametrize(
    ("figure", "text", "missed"),
    [
        ({"value": 1.3, "beside": 1.0, "times": 1.2}, "× 1.2", True),
        ({"value": 1.2, "beside": 1.0, "times": 1.2}, "× 1.2", False),
        ({"value": 1, "most": 0}, "at most 0", True),
        ({"value": 0, "most": 0}, "at most 0", False),
        ({"value": 98.9, "least": 99}, "at least 99", True),
        ({"value": 99, "least": 99}, "at least 99", False),
        ({"value": 3, "beside": None, "times": 1.2}, "", False),
        ({"value": 3}, "", False),
    ],
)
def test_a_figure_misses_its_bar_or_reaches_it(figure: dict, text: str, missed: bool) -> None:
    assert verdict(figure) == (text, missed)


def test_counts_keep_their_digits_and_measurements_have_three() -> None:
    assert [number(it) for it in (12345, 12345.0, 0.98765, 1234.5, 99.87)] == [
        "12345",
        "12345",
        "0.988",
        "1230",
        "99.9",
    ]


def test_parametrisations_that_say_the_same_are_one_miss_and_count() -> None:
    tests = [("f.py::test_a[x::y]", "no"), ("f.py::test_a[z]", "no"), ("f.py::test_a[w]", "other")]
    assert grouped(tests) == [Miss("f.py::test_a", "no", 2), Miss("f.py::test_a", "other", 1)]


def test_each_reason_counts_its_tests_and_the_rest_is_unexplained() -> None:
    found = [*misses(PART), Miss("x", "E: not implemented: orSimFailCall", 2)]
    assert by_reason(found, EXPLAINED) == {"a bus": 3, "the simulator's": 2, UNEXPLAINED: 1}


def test_the_reasons_that_are_written_down_can_fit() -> None:
    explained = reasons(ROOT)
    assert all(it.text and (it.tests or it.said) for it in explained)
    control = Miss("tests/backend/test_memory.py::test_x", "NotOfThisDriver: not implemented: orSimFailCall")
    assert reason_of(control, explained).not_asked
    assert reason_of(Miss("tests/backend/test_memory.py::test_x", "assert 1 == 2"), explained) is None


def test_each_figure_of_the_record_that_misses_has_a_reason() -> None:
    assert unexplained({"operators": PART}, []) == ["operators: sort"]
    assert unexplained({"operators": PART}, EXPLAINED) == []
    assert unexplained(read(ROOT / RECORD), reasons(ROOT)) == []


def unexplained(found: dict[str, Any], explained: list[Reason]) -> list[str]:
    names = [f"{part}: {it['name']}" for part, said in found.items() for it in said["figures"] if verdict(it)[1]]
    return [name for name in names if reason_of(Miss(name, ""), explained) is None]


def test_a_page_without_a_record_says_so(project: Project) -> None:
    project.write("docs/gpu_reasons.toml", TOML)
    outcome = project.build("```{gputable}\n```\n")
    assert (outcome.code, outcome.messages) == (0, "")
    assert "Not run yet" in outcome.page() and "<table" not in outcome.page()


def test_a_page_shows_the_record_with_what_misses_and_why(project: Project) -> None:
    project.write("docs/gpu_reasons.toml", TOML)
    project.write("docs/gpu.json", json.dumps({"parts": {"operators": PART}}))
    outcome = project.build("```{gputable}\n```\n")
    assert (outcome.code, outcome.messages) == (0, "")
    page = outcome.page()
    assert "Not run yet" not in page
    assert page.count("not run yet") == len(PARTS) - 1
    for text in ("on 2026-01-02; GPU A &lt;GPU&gt;; driver 1.2.3", "stopped when", "3 × a bus", f"1 × {UNEXPLAINED}"):
        assert text in page
    rows = re.findall(r"<tr( data-missed)?><td>(x \+ y|sort) (.*?)</tr>", page)
    assert [(bool(mark), name) for mark, name, _ in rows] == [(False, "x + y"), (True, "sort")]
    assert "11 µs</td><td>10</td><td>1.10</td><td>× 1.2</td>" in rows[0][2]
    assert "the CPU served sort</span>" in rows[1][2] and "a bus</span>" in rows[1][2]
    assert '3.00</td><td class="above">× 1.25, missed</td>' in rows[1][2]


def test_the_guide_shows_the_record_that_there_is(site: Path) -> None:
    page = (site / "guide" / "gpu.html").read_text(encoding="utf-8")
    found = read(ROOT / RECORD)
    assert ("Not run yet" in page) == (not found)
    assert page.count(" data-missed>") == sum(verdict(it)[1] for said in found.values() for it in said["figures"])
