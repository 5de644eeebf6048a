"""Regions: what is found, what is refused, and what remains when some are left out."""

from collections.abc import Callable

import pytest
from regions import RegionError, cut, parse

Cut = Callable[..., list[str]]


def start(name: str, comment: str = "//", end: str = "") -> str:
    """Returns the marker that opens a region. Written so, this file has no markers itself."""
    return f"{comment} LITERALINCLUDE START: {name}{end}\n"


def end(name: str, comment: str = "//", end: str = "") -> str:
    """Returns the marker that closes a region."""
    return f"{comment} LITERALINCLUDE END: {name}{end}\n"


def region(name: str, text: str) -> str:
    """Returns a text within markers."""
    return start(name) + text + end(name)


@pytest.mark.parametrize(("comment", "closing"), [("//", ""), ("#", ""), ("<!--", " -->")])
def test_markers_stand_in_comments_of_three_languages(comment: str, closing: str) -> None:
    text = "a\n  " + start("ONE TWO", comment, closing) + "b\n" + end("ONE TWO", comment, closing) + "c\n"
    assert [(line.text.strip(), line.regions, line.mark) for line in parse(text, "x")][1:] == [
        (start("ONE TWO", comment, closing).strip(), ("ONE TWO",), "START"),
        ("b", ("ONE TWO",), ""),
        (end("ONE TWO", comment, closing).strip(), ("ONE TWO",), "END"),
        ("c", (), ""),
    ]


def test_a_nested_line_is_in_both_regions() -> None:
    inner = parse(region("A", "x\n" + region("A B", "y\n")), "x")[3]
    assert inner.text == "y"
    assert inner.regions == ("A", "A B")


def test_a_region_may_have_parts_in_one_file() -> None:
    lines = parse(region("A", "x\n") + "y\n" + region("A", "z\n"), "x")
    assert [line.text for line in lines if "A" in line.regions and not line.mark] == ["x", "z"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (start("A"), "x.h: region 'A' is not closed"),
        (end("A"), "x.h:1: END of region 'A', but no region is open"),
        (start("A") + start("B") + end("A") + end("B"), "x.h:3: END of region 'A', but the open region is 'B'"),
        (start("A") + end("a"), "x.h:2: END of region 'a', but the open region is 'A'"),
        (start("A") + start("A") + end("A") + end("A"), "x.h:2: region 'A' is opened inside itself"),
        ("// LITERALINCLUDE BEGIN: A\n", "x.h:1: a marker is a comment line 'LITERALINCLUDE START: NAME' (or END)"),
        ("// LITERALINCLUDE START A\n", "x.h:1: a marker is a comment line 'LITERALINCLUDE START: NAME' (or END)"),
        ("f();  " + start("A"), "x.h:1: a marker is a comment line 'LITERALINCLUDE START: NAME' (or END)"),
    ],
)
def test_a_faulty_marker_is_refused(text: str, message: str) -> None:
    with pytest.raises(RegionError) as error:
        parse(text, "x.h")
    assert str(error.value) == message


def test_a_later_region_goes_with_its_markers_and_what_is_nested_in_it(lines: Cut) -> None:
    text = "a\n" + region("LATER", "b\n" + region("INNER", "c\n") + "d\n") + "e\n"
    assert lines(text) == ["a", "e"]
    assert lines(text, keep_markers=True) == ["a", "e"]


def test_other_markers_stay_if_asked_for(lines: Cut) -> None:
    text = region("A", "a\n" + region("LATER", "b\n") + "c\n")
    assert lines(text) == ["a", "c"]
    assert lines(text, keep_markers=True) == [start("A").strip(), "a", "c", end("A").strip()]


def test_all_parts_of_a_later_region_go(lines: Cut) -> None:
    assert lines(region("LATER", "a\n") + "b\n" + region("LATER", "c\n")) == ["b"]


def test_a_region_whose_name_only_begins_the_same_stays(lines: Cut) -> None:
    assert lines(region("LATER ON", "a\n")) == ["a"]


def test_a_cut_between_two_gaps_leaves_one(lines: Cut) -> None:
    assert lines("a\n\n" + region("LATER", "b\n") + "\nc\n") == ["a", "", "c"]
    assert lines("a\n\n" + region("LATER", "b\n") + "\n" + region("LATER", "c\n") + "\nd\n") == ["a", "", "d"]


def test_a_cut_leaves_the_two_empty_lines_that_python_wants(lines: Cut) -> None:
    assert lines("a\n\n\n" + region("LATER", "b\n") + "\n\nc\n") == ["a", "", "", "c"]


def test_a_cut_without_gaps_leaves_none(lines: Cut) -> None:
    assert lines("a\n" + region("LATER", "b\n") + "c\n") == ["a", "c"]


def test_a_cut_keeps_the_only_gap(lines: Cut) -> None:
    assert lines("a\n" + region("LATER", "b\n") + "\nc\n") == ["a", "", "c"]
    assert lines("a\n\n" + region("LATER", "b\n") + "c\n") == ["a", "", "c"]


def test_no_gap_is_left_behind_an_opening_brace(lines: Cut) -> None:
    assert lines("{\n" + region("LATER", "b\n") + "\nc\n}\n") == ["{", "c", "}"]
    assert lines("f(  // why\n" + region("LATER", "b\n") + "\nc)\n") == ["f(  // why", "c)"]
    assert lines(" public:\n" + region("LATER", "b\n") + "\nc\n") == [" public:", "c"]


def test_no_gap_is_left_before_a_closing_brace(lines: Cut) -> None:
    assert lines("{\na\n\n" + region("LATER", "b\n") + "}\n") == ["{", "a", "}"]
    assert lines("{\na\n\n" + region("LATER", "b\n") + "\n}\n") == ["{", "a", "", "}"]


def test_a_gap_that_the_source_has_before_a_closing_brace_stays(lines: Cut) -> None:
    assert lines("namespace {\n\nint a;\n\n}\n") == ["namespace {", "", "int a;", "", "}"]


def test_markers_alone_change_no_other_line(lines: Cut) -> None:
    plain = "a {\n  b\n\n  c\n\n\n  d\n}\n"
    marked = start("X") + "a {\n  b\n\n" + region("Y", "  c\n") + "\n\n  d\n}\n" + end("X")
    assert lines(marked) == plain.splitlines()


def test_the_lines_left_are_the_same_with_and_without_markers(lines: Cut) -> None:
    text = "{\n" + region("A", "a\n\n" + region("LATER", "b\n")) + "}\n\n" + region("LATER", "c\n")
    with_markers = [line for line in lines(text, keep_markers=True) if "LITERAL" not in line]
    assert with_markers == ["{", "a", "}"] == lines(text)


def test_a_dropped_line_counts_as_a_cut(lines: Cut) -> None:
    assert lines('#include "a.h"\n#include "missing.h"\n\nint x;\n') == ['#include "a.h"', "", "int x;"]
    assert lines('#pragma once\n\n#include "missing.h"\n\nint x;\n') == ["#pragma once", "", "int x;"]


def test_no_gap_is_left_at_the_end(lines: Cut) -> None:
    assert lines("a\n\n" + region("LATER", "b\n")) == ["a"]


def test_an_empty_file_stays_empty() -> None:
    assert cut("", "py.typed", (), False, lambda line: False) == ""
