"""What chapters may contain, read from their Markdown."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from .conftest import DOCS, EXTRAS, ROOT, pages
from .markdown import Fence, fences

# A language of a fence that isn't here is code that nobody runs: C++ above all, which is shown live or not at all.
LANGUAGES = {"console", "pycon", "text"}
BANNED_DIRECTIVES = {"literalinclude", "code", "code-block", "sourcecode", "raw", "highlight", "include"}
LINE_NUMBERS = {"lines", "emphasize-lines", "linenos", "lineno-start", "lineno-match", "start-after", "end-before"}
HEADINGS = [
    "The program that fails",
    "The idea",
    "The code",
    "Run it",
    "What goes wrong",
    "In your backend",
    "What we left out, and why",
    "Exercise",
    "The files of this step",
]
# Files that a later step replaces: they are in the trees of the steps before it.
REPLACED = {
    path.removeprefix("openreg/")
    for toml in ROOT.glob("steps/[0-9]*/step.toml")
    for path in tomllib.loads(toml.read_text(encoding="utf-8")).get("own", {}).values()
}
PAGES = pages()
CHAPTERS = sorted(DOCS.glob("guide/[0-9]*.md"))
# Where the program of a chapter is: in its step, or beside the ladder.
PROGRAMS = {page: f"steps/{page.stem}" for page in CHAPTERS} | {
    DOCS / "guide" / f"{name}.md": f"examples/{name}" for name in EXTRAS
}
WITH_PYTHON = [path for path in PAGES if any(fence.kind == "pycon" for fence in fences(path))]


def _name(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


def _problems(fence: Fence) -> list[str]:
    """What is wrong with one fence."""
    found = []
    places = ("../../tests/recorded/", "../../examples/code-generation/generated/")
    recorded = fence.kind == "include" and fence.argument.startswith(places)
    if fence.kind in BANNED_DIRECTIVES and not recorded:
        found.append(f"{fence.kind} is banned: code is shown by region, pyobject or wholefile")
    if used := LINE_NUMBERS & fence.options.keys():
        found.append(f"line numbers select nothing here: {', '.join(sorted(used))}")
    if fence.kind == "graphviz" and not fence.options.get("alt"):
        found.append("a picture needs :alt:")
    return found


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_nothing_is_pasted_and_no_line_numbers_select(page: Path) -> None:
    plain = _plain_fences(page)
    problems = [
        f"{line}: a fence of language {kind!r}: code that no test runs" for kind, line in plain if kind not in LANGUAGES
    ]
    problems += [f"{fence.line}: {problem}" for fence in fences(page) for problem in _problems(fence)]
    assert problems == []


def _plain_fences(page: Path) -> list[tuple[str, int]]:
    """Languages of the fences that are no directives, with their lines."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found = [(fence.kind, fence.line) for fence in fences(page)]
    return [(kind, line) for kind, line in found if not re.match(r"\s*[`:]+\{", lines[line - 1])]


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_a_console_block_has_commands_only(page: Path) -> None:
    for fence in fences(page):
        if fence.kind == "console":
            wrong = [line for line in fence.body if line.strip() and not re.match(r"\$ |  +\S", line)]
            assert wrong == [], f"line {fence.line}: output is recorded and shown by transcript"


@pytest.mark.parametrize("page", PROGRAMS, ids=_name)
def test_a_chapter_has_its_sections_in_order(page: Path) -> None:
    inside, titles = "", []
    for line in page.read_text(encoding="utf-8").splitlines():
        if match := re.match(r"^(`{3,}|:{3,})", line):
            inside = "" if inside == match[1] else inside or match[1]
        elif not inside and line.startswith("## "):
            titles.append(line.removeprefix("## "))
    assert titles == (HEADINGS if page in CHAPTERS else HEADINGS[:-1])


@pytest.mark.parametrize("page", CHAPTERS, ids=_name)
def test_a_chapter_lists_what_its_step_adds(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert f"| **copy** | {{stepcopy}}`{page.stem}` |" in text
    assert "stepfiles" in {fence.kind for fence in fences(page)}


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_a_path_in_the_text_is_one_of_the_tree(page: Path) -> None:
    """Paths begin in `openreg`, as the guide says of itself, or at the top of the repository."""
    text = re.sub(r"^(`{3,}).*?^\1", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    spans = re.findall(r"(?<!\})`([\w.*-]+/[\w./*-]*)`", text)
    wrong = [
        span
        for span in spans
        if not list((ROOT / "openreg").glob(span))
        and not list(ROOT.glob(span))
        and "." in span
        and span not in REPLACED
    ]
    assert wrong == []


@pytest.mark.parametrize("page", PROGRAMS, ids=_name)
def test_a_heading_about_code_begins_with_the_path_of_a_file(page: Path) -> None:
    code = page.read_text(encoding="utf-8").split("\n## The code\n")[1].split("\n## Run it\n")[0]
    paths = re.findall(r"^### `([^`]+)`", code, flags=re.MULTILINE)
    assert paths
    places = (ROOT / "openreg", ROOT)
    assert [path for path in paths if not any((at / path).exists() for at in places) and path not in REPLACED] == []


@pytest.mark.parametrize("page", PROGRAMS, ids=_name)
def test_a_chapter_begins_red_ends_green_and_explains_errors(page: Path) -> None:
    kinds = [(fence.kind, fence.argument) for fence in fences(page)]
    shown = [argument for kind, argument in kinds if kind == "transcript"]
    assert f"{PROGRAMS[page]}/before.txt" in shown
    assert f"{PROGRAMS[page]}/after.txt" in shown
    assert "error" in {kind for kind, _ in kinds}
    assert "graphviz" in {kind for kind, _ in kinds} or "svg" in {kind for kind, _ in kinds}
    assert "solution" in {kind for kind, _ in kinds}


@pytest.mark.parametrize("page", CHAPTERS, ids=_name)
def test_each_solution_is_run_by_a_test(page: Path) -> None:
    tests = [
        path.read_text(encoding="utf-8")
        for pattern in ("tests/**/*.py", "steps/*/test_*.py")
        for path in ROOT.glob(pattern)
    ]
    for fence in fences(page):
        if fence.kind == "solution":
            name = Path(fence.argument).name
            own = (ROOT / fence.argument).with_name("test_step.py")
            named = own.is_file() and name in own.read_text(encoding="utf-8")
            assert named or any(fence.argument in text for text in tests), f"no test runs {fence.argument}"


def test_each_step_has_its_chapter_and_each_chapter_its_step() -> None:
    steps = {path.parent.name for path in ROOT.glob("steps/[0-9]*/step.toml")}
    assert {page.stem for page in CHAPTERS} == steps
    assert steps


@pytest.mark.parametrize("page", WITH_PYTHON, ids=_name)
def test_inline_python_prints_what_the_page_says(page: Path) -> None:
    runner = Path(__file__).with_name("run_doctests.py")
    done = subprocess.run(
        [sys.executable, str(runner), str(page)], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "code"),
    [(">>> 1 + 1\n2", 0), (">>> 1 + 1\n3", 1), ("1 + 1", 1), (">>> print('a  b')\na b", 0), (">>> 1 / 0", 1)],
)
def test_the_runner_of_inline_python_tells_right_from_wrong(tmp_path: Path, text: str, code: int) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Page\n\n:::{{note}}\n```pycon\n{text}\n```\n:::\n")
    runner = Path(__file__).with_name("run_doctests.py")
    done = subprocess.run([sys.executable, str(runner), str(page)], capture_output=True, check=False)
    assert done.returncode == code


def test_the_words_of_the_glossary_are_in_order() -> None:
    words = (DOCS / "glossary.md").read_text(encoding="utf-8").split("```{glossary}\n")[1].split("```")[0]
    terms = re.findall(r"^\S.*$", words, flags=re.MULTILINE)
    assert len(terms) > 90
    assert terms == sorted(set(terms), key=str.casefold)


def test_the_glossary_has_every_entry_of_the_contract() -> None:
    header = (ROOT / "openreg/driver/include/openreg.h").read_text(encoding="utf-8")
    without_comments = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    entries = re.findall(r"OPENREG_EXPORT[\s\w*]*?\b(or[A-Z]\w*)\(", without_comments)
    assert len(entries) == without_comments.count("OPENREG_EXPORT ") - without_comments.count("define OPENREG_EXPORT ")
    listed = re.findall(
        r"^\| \{cpp:func\}`(or\w+)` \| ", (DOCS / "glossary.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert sorted(listed) == sorted(entries)
