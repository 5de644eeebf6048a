"""The directives show what they say, and each fault of a chapter fails the build with a sentence that names it."""

from __future__ import annotations

import html
import json
import re
import shutil
import sys
import types
import zipfile

import pytest

from .conftest import DOCS, Project

REPLACES = 'replaces = ["openreg/gone.h"]\n'
REGION = "```{{region}} openreg/device.h {}\n```\n"


def _code(page: str) -> str:
    """The text of all code blocks of a page."""
    blocks = re.findall(r"<pre>(.*?)</pre>", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", "", "\n".join(blocks)))


def test_the_tiny_project_builds_without_a_warning(project: Project) -> None:
    outcome = project.build()
    assert (outcome.code, outcome.messages) == (0, "")


def test_a_region_is_the_one_of_exactly_that_name(project: Project) -> None:
    code = _code(project.build(REGION.format("GUARD")).page())
    assert "struct Guard" in code
    assert "extra" not in code


def test_a_region_is_dedented_and_has_no_markers(project: Project) -> None:
    code = _code(project.build(REGION.format("GUARD") + REGION.format("LATER")).page())
    assert "\nint stream();" in "\n" + code
    assert "LITERALINCLUDE" not in code


def test_parts_of_a_region_are_joined_by_an_ellipsis(project: Project) -> None:
    code = _code(project.build(REGION.format("PARTS")).page())
    assert "int first_part();\n\n// …\n\nint second_part();" in code
    assert "between" not in code


def test_a_chapter_shows_a_file_as_its_step_has_it(project: Project) -> None:
    text = REGION.format("GUARD") + "```{wholefile} openreg/device.h\n```\n"
    early = _code(project.build(text, "guide/01-first").page("guide/01-first"))
    assert "stream" not in early
    assert "later.h" not in early
    late = _code(project.build(text).page())
    assert late.count("stream") == 2
    assert "later.h" in late


def test_a_chapter_shows_the_file_that_its_step_has_although_a_later_step_replaces_it(project: Project) -> None:
    project.write("openreg/swap.h", "int late();\n")
    project.write("steps/01-first/swap.h", "int early();\n")
    own = 'grows = []\nown = { "swap.h" = "openreg/swap.h" }'
    project.replace("steps/01-first/step.toml", "grows = []", own)
    new = '["openreg/later.h", "openreg/swap.h"]\nreplaces = ["openreg/swap.h"]'
    project.replace("steps/02-second/step.toml", '["openreg/later.h"]', new)
    text = "```{wholefile} openreg/swap.h\n```\n"
    early = project.build(text, "guide/01-first").page("guide/01-first")
    assert "int early();" in _code(early)
    assert 'href="../source/steps/01-first/swap.h.html' in early
    late = project.build(text).page()
    assert "int late();" in _code(late)
    assert 'href="../source/openreg/swap.h.html' in late


def test_a_caption_leads_to_the_page_of_the_file_at_the_region(project: Project) -> None:
    outcome = project.build(REGION.format("GUARD EXTRA"))
    assert 'href="../source/openreg/device.h.html#region-guard-extra"' in outcome.page()
    source = outcome.page("source/openreg/device.h")
    assert 'id="region-guard-extra"' in source
    assert "LITERALINCLUDE" not in source


def test_a_python_object_is_found_by_its_name(project: Project) -> None:
    code = _code(project.build("```{pyobject} openreg/tool.py Two.three\n```\n").page())
    assert code.startswith("@property\ndef three(self)")
    assert "def one" not in code


def test_a_transcript_shows_the_command_and_its_state(project: Project) -> None:
    page = project.build("```{transcript} steps/02-second/before.txt\n```\n").page()
    assert 'class="transcript red' in page
    assert _code(page).startswith("$ python demo.py\nRuntimeError: it  failed")


def test_a_transcript_of_python_says_with_which_pytorch_it_was_recorded(project: Project) -> None:
    project.write("steps/recorded_with.txt", "2.99.1\n")
    project.write("tests/table.txt", "$ make contract\nall\n")
    both = "```{transcript} steps/02-second/before.txt\n```\n\n```{transcript} tests/table.txt\n```\n"
    page = project.build(both).page()
    titles = re.findall(r'class="transcript-title">(.*?)</p>', page)
    assert [re.sub(r"<[^>]*>", "", title) for title in titles] == ["On the step before · PyTorch 2.99.1", "Recorded"]


def test_a_transcript_may_have_a_title_of_its_own(project: Project) -> None:
    page = project.build("```{transcript} steps/02-second/before.txt\n:title: On `plain` PyTorch\n```\n").page()
    assert re.search(r'class="transcript-title">On <code[^>]*><span[^>]*>plain</span></code> PyTorch', page)
    assert "On the step before" not in page


def test_an_error_entry_is_in_the_chapter_and_in_the_index(project: Project) -> None:
    entry = (
        "```{error} RuntimeError: it failed\n:from: steps/02-second/before.txt\n\nCause: the cause,"
        " {source}`openreg/device.h`, {doc}`01-first`.\n\nFix: the fix.\n```\n"
    )
    project.write("docs/errors.md", "---\norphan: true\n---\n# Errors\n\n```{errorindex}\n```\n")
    outcome = project.build(entry)
    assert (outcome.code, outcome.messages) == (0, "")
    assert "The cause" in outcome.page()
    anchor = re.search(r'id="(error-[0-9a-f]{8})"', outcome.page())[1]
    index = outcome.page("errors")
    assert "The cause" in index
    assert "The fix" in index
    assert f'href="guide/02-second.html#{anchor}"' in index
    assert 'href="source/openreg/device.h.html"' in index
    assert 'href="guide/01-first.html"' in index


def test_an_error_text_may_be_asserted_by_a_test(project: Project) -> None:
    entry = (
        "```{error} openreg:7 (there are 2) of them\n:test: tests/test_it.py::test_fails\n\nCause: c\n\nFix: f\n```\n"
    )
    assert project.build(entry).messages == ""


def test_a_step_has_a_page_with_table_difference_and_zip(project: Project) -> None:
    outcome = project.build()
    page = outcome.page("steps/02-second")
    assert "The device." in page
    assert 'href="../source/openreg/device.h.html"' in page
    assert re.search(r'class="gi">\+.*int.*stream', page)
    with zipfile.ZipFile(outcome.html / "zips/openreg-01-first.zip") as archive:
        text = archive.read("openreg-01-first/openreg/device.h").decode()
    assert "struct Guard" in text
    assert "stream" not in text
    assert "LITERALINCLUDE" not in text


def test_a_page_of_a_step_shows_new_files_only_if_a_later_step_changes_them(project: Project) -> None:
    page = project.build().page("steps/01-first")
    written = (project.root / "docs/steps/01-first.md").read_text()
    assert re.findall(r"\{filediff\} (\S+)", written) == ["openreg/device.h"]
    assert "1 new file has a page of its own: the table above leads there." in page
    assert 'href="../source/openreg/tool.py.html"' in page


def test_a_page_of_a_step_that_is_gone_goes_too(project: Project) -> None:
    project.write("docs/steps/07-gone.md", "# Gone\n")
    outcome = project.build()
    assert not (project.root / "docs/steps/07-gone.md").exists()
    assert not (outcome.html / "steps/07-gone.html").exists()


def test_the_files_of_a_step_stand_in_its_chapter_by_folder(project: Project) -> None:
    outcome = project.build("```{stepfiles}\n```\n")
    assert (outcome.code, outcome.messages) == (0, "")
    assert re.search(r"<strong>openreg/<.*device\.h<.*\+3<.*The device\.", outcome.page(), flags=re.DOTALL)
    assert 'href="../source/openreg/device.h.html"' in outcome.page()
    assert "<details" not in outcome.page()


def test_many_files_of_a_step_and_those_of_the_device_wait_in_dropdowns(project: Project) -> None:
    for number in range(14):
        project.write(f"openreg/driver/d{number}.h", "// Of the device.\n")
        project.write(f"openreg/new/n{number}.h", "// Of the backend.\n")
    project.replace("steps/01-first/step.toml", '"openreg/tool.py"', '"openreg/driver/**", "openreg/new/**"')
    page = project.build("```{stepfiles}\n```\n", "guide/01-first").page("guide/01-first")
    titles = re.findall(r"<details><summary>(.*?)</summary>", page)
    assert titles == ["15 files of the backend", "14 files of the device"]


def test_what_a_step_adds_is_named_by_folder_by_stem_and_by_file(project: Project) -> None:
    for name in ("new/one.h", "new/two.h", "pair.h", "pair.cpp", "gone.h"):
        project.write(f"openreg/{name}", "int x();\n")
    project.replace("steps/01-first/step.toml", '"openreg/tool.py"', '"openreg/tool.py", "openreg/gone.h"')
    new = '"openreg/later.h", "openreg/new/**", "openreg/pair.*"'
    project.replace("steps/02-second/step.toml", '"openreg/later.h"', new)
    project.write("steps/02-second/step.toml", (project.root / "steps/02-second/step.toml").read_text() + REPLACES)
    page = project.build("Copy {stepcopy}`02-second`.\n").page()
    text = re.sub(r"<[^>]+>", "", re.search(r"<p>(Copy .*?)</p>", page, flags=re.DOTALL)[1])
    names = "Copy openreg/later.h, openreg/new/, openreg/pair.*, openreg/device.h (+3 lines), without openreg/gone.h."
    assert text == names
    assert 'href="../source/openreg/later.h.html"' in page


def test_the_device_of_the_first_step_is_not_copied(project: Project) -> None:
    project.write("openreg/driver/sim.cpp", "int x();\n")
    project.replace("steps/01-first/step.toml", '"openreg/tool.py"', '"openreg/tool.py", "openreg/driver/**"')
    page = project.build("{stepcopy}`01-first`\n", "guide/01-first").page("guide/01-first")
    assert "device.h" in page
    assert "driver" not in page


def test_pictures_are_inline_and_named(project: Project) -> None:
    page = project.build("```{graphviz}\n:alt: a leads to b\ndigraph { a -> b }\n```\n").page()
    assert 'role="img" aria-label="a leads to b"' in page
    assert "<object" not in page


ENTRY = "```{{error}} {}\n{}\n\nCause: c\n\nFix: f\n```\n"

FAULTS = {
    "no such region": (
        REGION.format("GUARDS"),
        "openreg/device.h has no region 'GUARDS' here; it has GUARD, GUARD EXTRA",
    ),
    "part of a name": (REGION.format("EXTRA"), "has no region 'EXTRA'"),
    "no such file": ("```{region} openreg/nothing.h GUARD\n```\n", "there is no file openreg/nothing.h"),
    "outside": ("```{wholefile} ../secret.txt\n```\n", "paths start at the root of the repository and stay in it"),
    "line numbers": ("```{region} openreg/device.h GUARD\n:lines: 1-3\n```\n", "lines"),
    "wrong option": ("```{transcript} steps/02-second/before.txt\n:state: blue\n```\n", "blue"),
    "no such step": ("```{region} openreg/device.h GUARD\n:step: 09\n```\n", "no step '09'"),
    "no such object": ("```{pyobject} openreg/tool.py four\n```\n", "openreg/tool.py defines 'four' 0 times"),
    "role without file": ("{source}`openreg/nothing.h`\n", "there is no file openreg/nothing.h"),
    "role without step": ("{step}`03-third`\n", "there is no step 03-third"),
    "copying no step": ("{stepcopy}`03-third`\n", "no step '03-third'"),
    "no recorded file": (
        "```{transcript} steps/02-second/none.txt\n```\n",
        "there is no file steps/02-second/none.txt",
    ),
    "invented error": (
        ENTRY.format("RuntimeError: invented", ":from: steps/02-second/before.txt"),
        "steps/02-second/before.txt does not have 'RuntimeError: invented' as a whole message",
    ),
    "part of a recorded error": (
        ENTRY.format("failed", ":from: steps/02-second/before.txt"),
        "steps/02-second/before.txt does not have 'failed' as a whole message",
    ),
    "error from a file that no run writes": (
        ENTRY.format("demo", ":from: steps/02-second/demo.py"),
        "expected a recorded file",
    ),
    "error without origin": (ENTRY.format("RuntimeError: it failed", ""), "exactly one of :from: and :test:"),
    "unknown test": (ENTRY.format("x", ":test: tests/test_it.py::test_nothing"), "there is no such test function"),
    "no test but a function": (ENTRY.format("x", ":test: openreg/tool.py::one"), "there is no such test function"),
    "test without the text": (
        ENTRY.format("another text", ":test: tests/test_it.py::test_fails"),
        "has no string with 'another text' as a whole message",
    ),
    "part of what a test asserts": (
        ENTRY.format("(there are 2) of them", ":test: tests/test_it.py::test_fails"),
        "has no string with '(there are 2) of them' as a whole message",
    ),
    "no fix": ("```{error} RuntimeError: it failed\n:from: steps/02-second/before.txt\n\nCause: c\n```\n", "'Fix:'"),
    "no cause": ("```{error} RuntimeError: it failed\n:from: steps/02-second/before.txt\n\nFix: f\n```\n", "'Cause:'"),
    "twice": (ENTRY.format("RuntimeError: it failed", ":from: steps/02-second/before.txt") * 2, "is explained in"),
    "picture without words": ("```{graphviz}\ndigraph { a -> b }\n```\n", "a picture needs :alt:"),
    "broken picture": ("```{graphviz}\n:alt: x\ndigraph { a -> \n```\n", "syntax error"),
    "broken reference": ("[nowhere](nowhere.md)\n", "nowhere.md"),
    "unknown term": ("{term}`flux`\n", "flux"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_a_chapter_fails_the_build_and_is_named(project: Project, fault: str) -> None:
    text, message = FAULTS[fault]
    outcome = project.build(text)
    assert outcome.code != 0
    assert message in " ".join(outcome.messages.split())


def test_the_files_of_a_step_stand_in_a_chapter_only(project: Project) -> None:
    outcome = project.build("```{stepfiles}\n```\n", "index")
    assert outcome.code != 0
    assert "stepfiles stands in a chapter" in outcome.messages


def test_a_region_that_comes_later_fails_the_build(project: Project) -> None:
    outcome = project.build(REGION.format("LATER"), "guide/01-first")
    assert outcome.code != 0
    assert "has no region 'LATER' here" in outcome.messages


def test_a_file_that_comes_later_fails_the_build(project: Project) -> None:
    outcome = project.build("```{wholefile} openreg/later.h\n```\n", "guide/01-first")
    assert outcome.code != 0
    assert "step 01 does not have openreg/later.h: it is in 02-second" in outcome.messages


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("START: GUARD\n", "START: GUARDIAN\n", "END of region 'GUARD', but the open region is 'GUARDIAN'"),
        ("// LITERALINCLUDE END: GUARD EXTRA\n", "", "region 'GUARD EXTRA' is not closed"),
        ("// LITERALINCLUDE START: GUARD EXTRA\n", "", "END of region 'GUARD EXTRA', but no region is open"),
    ],
)
def test_a_faulty_marker_fails_the_build(project: Project, old: str, new: str, message: str) -> None:
    project.replace("openreg/device.h", old, new)
    outcome = project.build(REGION.format("GUARD"))
    assert outcome.code != 0
    assert message in outcome.messages


def test_without_the_package_the_reference_says_what_to_do(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_openreg", None)
    project.replace("docs/conf.py", "openreg_reference = False", "openreg_reference = True")
    outcome = project.build()
    assert outcome.code != 0
    assert "Build the backend first (`make build`)" in outcome.messages


def test_a_warning_of_doxygen_fails_the_build(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch_openreg", types.ModuleType("torch_openreg"))
    project.replace("docs/conf.py", "openreg_reference = False", "openreg_reference = True")
    shutil.copy(DOCS / "Doxyfile", project.root / "docs")
    project.write(
        "openreg/driver/include/openreg.h", "/** @file */\n/** @brief Adds. @param z None. */\nint add(int x);\n"
    )
    project.write("openreg/csrc/one.h", "/** @file */\n")
    outcome = project.build()
    assert outcome.code != 0
    assert "argument 'z' of command @param is not found" in outcome.messages


# ------------------------------------------------------------------------------------------------------------ timelines

MEASURED = {
    "command": "python measure.py",
    "cores": 2,
    "effective_cores": 1.5,
    "slow": {
        "total": 30.0,
        "spans": [
            {"lane": "host", "batch": 0, "start": 0.0, "end": 20.0},
            {"lane": "copies", "batch": 0, "start": 0.0, "end": 10.0},
            {"lane": "kernels", "batch": 0, "start": 10.0, "end": 30.0},
        ],
    },
    "quick": {"total": 15.0, "spans": [{"lane": "host", "batch": 3, "start": 0.0, "end": 7.5}]},
}
TIMELINE = "```{{timeline}} tests/recorded/times.json {}\n:alt: Who waits.\n:caption: A run.\n```\n"


def test_a_timeline_is_drawn_from_the_recorded_numbers(project: Project) -> None:
    project.write("tests/recorded/times.json", json.dumps(MEASURED))
    page = project.build(TIMELINE.format("slow")).page()
    boxes = re.findall(r'<g class="(\w+)"><rect x="([\d.]+)" y="\d+" width="([\d.]+)"', page)
    assert boxes == [("python", "72.0", "426.7"), ("driver", "72.0", "213.3"), ("device", "285.3", "426.7")]
    assert "all done after 30.0 ms, the host free after 20.0 ms; measured with 1.5 of 2 cores free" in page
    assert 'aria-label="Who waits."' in page and "A run." in page


def test_timelines_of_a_file_have_one_scale(project: Project) -> None:
    project.write("tests/recorded/times.json", json.dumps(MEASURED))
    page = project.build(TIMELINE.format("quick")).page()
    assert re.findall(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)"', page) == [("72.0", "160.0")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TIMELINE.format("fast"), "tests/recorded/times.json has no run 'fast'; it has slow, quick"),
        (TIMELINE.format("slow").replace("times", "none"), "tests/recorded/none.json"),
        (TIMELINE.format("slow").replace(":alt: Who waits.\n", ""), "a timeline needs :alt:"),
    ],
)
def test_a_timeline_that_cannot_be_drawn_says_why(project: Project, text: str, message: str) -> None:
    project.write("tests/recorded/times.json", json.dumps(MEASURED))
    outcome = project.build(text)
    assert outcome.code != 0 and message in outcome.messages
