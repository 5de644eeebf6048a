"""The checker: a sound repository passes, and each deliberate fault is found and named."""

import tokenize
from pathlib import Path

import check
import pytest
import tables

from .conftest import REPOSITORY, Toy

GUARD_H = "openreg/csrc/device/guard.h"
CACHING = "openreg/csrc/memory/caching.cpp"
STALE = "README.md: the table is not up to date; run: python steps/check.py --fix"


def faults(toy: Toy) -> list[str]:
    """Returns what is wrong beside tables, which change with everything."""
    return [line for line in check.problems(toy.root) if not line.endswith(STALE)]


def test_a_sound_repository_has_no_problems(toy: Toy) -> None:
    assert check.problems(toy.root) == []


# -- regions -----------------------------------------------------------------------------------------------------------
def test_a_renamed_marker_is_found(toy: Toy) -> None:
    toy.edit(CACHING, ": CACHING", ": CASHING")
    assert faults(toy) == [
        f"docs/guide/03-memory.md: shows {CACHING} CACHING, a region that step 03-memory lacks",
        f"{CACHING}: no chapter shows region 'CASHING' and no step grows it",
    ]


def test_half_a_renamed_marker_is_found(toy: Toy) -> None:
    toy.edit(CACHING, "END: CACHING", "END: CASHING")
    assert faults(toy) == [f"{CACHING}:5: END of region 'CASHING', but the open region is 'CACHING'"]


def test_a_grown_region_whose_marker_was_renamed_is_found(toy: Toy) -> None:
    toy.edit(GUARD_H, "GUARD STREAM", "GUARD STREAMS")
    assert "step.toml: region 'GUARD STREAM' is in no file" in faults(toy)


def test_an_orphan_region_is_found(toy: Toy) -> None:
    toy.edit("docs/guide/03-memory.md", f"{{region}} {CACHING} CACHING", "{note}")
    assert faults(toy) == [f"{CACHING}: no chapter shows region 'CACHING' and no step grows it"]


def test_a_region_that_a_step_grows_need_not_be_shown(toy: Toy) -> None:
    assert "GUARD STREAM" not in "".join(path.read_text() for path in toy.root.glob("docs/**/*.md"))
    assert faults(toy) == []


def test_a_region_shown_too_early_is_found(toy: Toy) -> None:
    toy.edit("docs/guide/01-device.md", "guard.h GUARD", "guard.h GUARD STREAM")
    assert f"docs/guide/01-device.md: shows {GUARD_H} GUARD STREAM, a region that step 01-device lacks" in faults(toy)


def test_a_file_shown_too_early_is_found(toy: Toy) -> None:
    toy.write("docs/guide/02-stream.md", f"```{{region}} {CACHING} CACHING\n```\n\n```{{wholefile}} {CACHING}\n```\n")
    assert faults(toy) == [
        f"docs/guide/02-stream.md: shows {CACHING} CACHING, a file that step 02-stream lacks",
        f"docs/guide/02-stream.md: shows {CACHING}, a file that step 02-stream lacks",
    ]


def test_a_python_object_that_is_not_there_is_found(toy: Toy) -> None:
    toy.edit("openreg/torch_openreg/stream.py", "def stream", "def flow")
    assert faults(toy) == [
        "docs/guide/02-stream.md: shows openreg/torch_openreg/stream.py stream, an object that step 02-stream lacks"
    ]


def test_a_page_that_is_no_chapter_may_show_what_the_last_step_has(toy: Toy) -> None:
    toy.write("docs/map.md", f"```{{region}} {CACHING} CACHING\n```\n```{{region}} {GUARD_H} GUARD STREAM\n```\n")
    assert faults(toy) == []


def test_a_page_may_show_a_program_beside_the_ladder_if_that_has_what_it_shows(toy: Toy) -> None:
    toy.write("examples/demo.py", "# LITERALINCLUDE START: DEMO\nx = 1\n# LITERALINCLUDE END: DEMO\n")
    toy.write("docs/map.md", "```{region} examples/demo.py DEMO\n```\n```{region} examples/demo.py NONE\n```\n")
    assert faults(toy) == ["docs/map.md: shows examples/demo.py NONE, a region that step 03-memory lacks"]


def test_an_unclosed_region_is_found(toy: Toy) -> None:
    toy.edit(CACHING, "// LITERALINCLUDE END: CACHING\n", "")
    assert faults(toy) == [f"{CACHING}: region 'CACHING' is not closed"]


def test_a_name_in_two_files_is_found(toy: Toy) -> None:
    toy.edit(CACHING, ": CACHING", ": GUARD")
    assert f"{CACHING}: region 'GUARD' is also in {GUARD_H}" in faults(toy)


def test_two_parts_in_one_file_may_share_a_name(toy: Toy) -> None:
    toy.write(CACHING, toy.read(CACHING) + toy.read(CACHING).replace("// Memory that is kept for later.\n", ""))
    assert faults(toy) == []


def test_a_region_that_two_steps_grow_is_found(toy: Toy) -> None:
    toy.edit("steps/03-memory/step.toml", "replaces", 'grows = ["GUARD STREAM"]\nreplaces')
    assert "step.toml: region 'GUARD STREAM' is grown by two steps" in faults(toy)


def test_too_many_markers_are_found(toy: Toy) -> None:
    toy.write("openreg/csrc/device/filler.cpp", "// Fills.\n")
    (fault,) = faults(toy)
    assert fault.endswith("lines are markers, and it must be less than 5 %")


# -- files -------------------------------------------------------------------------------------------------------------
def test_a_file_that_no_step_adds_is_found(toy: Toy) -> None:
    toy.write("openreg/csrc/new/new.cpp", "// New.\n")
    assert faults(toy) == ["openreg/csrc/new/new.cpp: no step adds it"]


def test_a_file_that_two_steps_add_is_found(toy: Toy) -> None:
    toy.edit("steps/03-memory/step.toml", "adds = [", 'adds = ["openreg/torch_openreg/stream.py", ')
    assert faults(toy) == ["step 03-memory adds 'openreg/torch_openreg/stream.py', which an earlier step has"]


def test_a_file_of_the_complete_tree_that_a_step_replaces_is_found(toy: Toy) -> None:
    toy.edit("steps/03-memory/step.toml", "replaces = [", 'replaces = ["openreg/torch_openreg/stream.py", ')
    assert "openreg/torch_openreg/stream.py: a step replaces it" in faults(toy)


def test_a_file_that_only_a_step_has_must_be_replaced_in_the_end(toy: Toy) -> None:
    toy.edit("steps/03-memory/step.toml", 'replaces = ["openreg/csrc/memory/direct.cpp"]', "")
    assert faults(toy) == ["openreg/csrc/memory/direct.cpp: differs between the last step and the complete tree"]


def test_a_line_that_even_the_last_step_lacks_is_found(toy: Toy) -> None:
    toy.edit(CACHING, "namespace toy {", '#include "memory/direct.cpp"\nnamespace toy {')
    assert faults(toy) == [f"{CACHING}: differs between the last step and the complete tree"]


def test_an_empty_line_too_many_beside_a_marker_is_found(toy: Toy) -> None:
    toy.edit(CACHING, "\n// LITERALINCLUDE START: CACHING", "\n\n// LITERALINCLUDE START: CACHING\n")
    assert faults(toy) == [f"{CACHING}: an empty line too many beside a marker, which no step has"]


# -- tables ------------------------------------------------------------------------------------------------------------
def rows(table: str) -> dict[str, str]:
    return {row.split("]")[0].removeprefix("| ["): row.split(" | ", 1)[1] for row in table.splitlines()[2:]}


def test_a_table_lists_what_the_step_adds_or_grows(toy: Toy) -> None:
    table = tables.table(toy.ladder, 1)
    assert rows(table) == {
        GUARD_H: "+5 | The guard: which device is current. |",
        "openreg/torch_openreg/__init__.py": "+1 | The package. |",
        "openreg/csrc/memory/direct.cpp": "2 | Memory that goes back at once. |",
        "openreg/csrc/stream/stream.cpp": "10 | Streams, for all devices. |",
        "openreg/csrc/stream/stream.h": "5 | Streams: an order of work. |",
        "openreg/torch_openreg/stream.py": "6 | Names a stream. |",
    }
    assert f"[{GUARD_H}](../../{GUARD_H})" in table
    assert "[openreg/csrc/memory/direct.cpp](direct.cpp)" in table


def test_a_readme_has_a_row_for_a_folder_and_links_to_where_its_files_lie(toy: Toy) -> None:
    table = toy.read("steps/02-stream/README.md").split("<!-- table start -->\n")[1].split("<!-- table end -->")[0]
    assert rows(table) == {
        "openreg/csrc/device": "1 | 5 | guard.h |",
        "openreg/torch_openreg": "2 | 7 | __init__.py, stream.py |",
        "openreg/csrc/memory": "1 | 2 | direct.cpp |",
        "openreg/csrc/stream": "2 | 15 | stream.* |",
    }
    assert "[openreg/csrc/stream](../../openreg/csrc/stream)" in table
    assert "[openreg/csrc/memory](.)" in table


def test_a_readme_names_a_few_files_of_a_folder_and_the_devices_library_as_a_whole(toy: Toy) -> None:
    for number in range(tables.MANY + 3):
        toy.write(f"openreg/csrc/device/n{number}.h", "// It.\n")
    toy.write("openreg/driver/sim/it.cpp", "// It.\n")
    toy.write("openreg/driver/it.cpp", "// It.\n")
    toy.edit("steps/01-device/step.toml", "adds = [", 'adds = ["openreg/driver/**", ')
    found = rows(tables.folder_table(toy.ladder, 0))
    assert found["openreg/csrc/device"].endswith(" more |")
    assert found["openreg/driver"] == "2 | 2 | the device's own library |"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("/**\n * @file x.h\n * @brief What it\n * is. More.\n */\n", "What it is."),
        ("// One line\n// and one more.\n#pragma once\n", "One line and one more."),
        ("// No full stop\n\n// Not this.\n", "No full stop"),
        ('#!/usr/bin/env python\n"""A tool, v1.2 or later. More.\n\nMore."""\n', "A tool, v1.2 or later."),
        ("# CMake | Ninja.\n#\n# More.\n", "CMake \\| Ninja."),
        ("#include <x>\n// Not a header.\n", ""),
    ],
)
def test_the_last_column_is_the_first_sentence_of_a_file(text: str, sentence: str) -> None:
    assert tables.why("x", text) == sentence


def test_a_stale_table_is_found_and_mended(toy: Toy) -> None:
    toy.edit("openreg/csrc/stream/stream.h", "an order of work.", "an order of work.\n// A queue.")
    assert check.problems(toy.root) == [f"steps/02-stream/{STALE}"]
    assert check.problems(toy.root, fix=True) == []
    assert "| 2 | 16 | stream.* |" in toy.read("steps/02-stream/README.md")


def test_a_file_that_does_not_say_what_it_is_for_is_found(toy: Toy) -> None:
    toy.edit("openreg/csrc/stream/stream.h", "// Streams: an order of work.\n", "")
    assert faults(toy) == ["openreg/csrc/stream/stream.h: begins with no comment that says why"]


# -- this repository ---------------------------------------------------------------------------------------------------
def code_lines(path: Path) -> int:
    """Counts the lines of a program that are not empty, comments or docstrings."""
    skip = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    with path.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in skip | {tokenize.ENCODING}]
    tokens = [token for token in tokens if not (token.type == tokenize.STRING and token.line.strip().startswith('"""'))]
    return len({line for token in tokens for line in range(token.start[0], token.end[0] + 1)})


def test_the_tools_can_be_read_in_one_sitting() -> None:
    steps = REPOSITORY / "steps"
    # What assembles and checks, with all its comments and empty lines; and the code of that and of what runs the steps.
    assert sum(len((steps / f"{name}.py").read_text().splitlines()) for name in ("regions", "assemble", "check")) < 400
    assert sum(code_lines(path) for path in steps.glob("*.py")) < 470


def test_this_repository_is_sound() -> None:
    assert check.problems() == []
