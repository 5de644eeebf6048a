"""The search of the error index, in a browser: what people paste finds its entry, and another error finds none."""

from __future__ import annotations

import ast
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from .browser import ask
from .conftest import ROOT

# Pastes each text, and returns what is shown: the titles of the entries in their order, and the sentence above them.
PASTE = """
const box = document.querySelector(".error-filter");
const entries = [...document.querySelectorAll(".error-index .error-entry")];
document.querySelectorAll(".error-index button").forEach((button) => button.remove());
const titles = new Map(entries.map((entry) => [entry, entry.querySelector("pre").textContent.trim()]));
return %s.map((text) => {
  box.value = text;
  box.dispatchEvent(new Event("input"));
  const inOrder = [...document.querySelectorAll(".error-index .error-entry")];
  const shown = inOrder.filter((entry) => getComputedStyle(entry).display !== "none");
  return { titles: shown.map((entry) => titles.get(entry)), says: document.querySelector(".error-count").textContent };
});
"""

# A traceback as a terminal gives it, with a message in other words' place.
TRACEBACK = """\
Traceback (most recent call last):
  File "/home/me/work/train_model.py", line 212, in <module>
    loss = criterion(model(inputs), targets)  # stream, memory, backward
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/home/me/.venv/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1775, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
torch.AcceleratorError: {}
"""


class Entries(HTMLParser):
    """Titles of the entries of a chapter or of the index."""

    def __init__(self, text: str) -> None:
        """Reads the page."""
        super().__init__()
        self.titles: list[str] = []
        self._depth, self._in_title = 0, False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """The first block of code of an entry is its title."""
        if tag == "div" and "error-entry" in (dict(attrs).get("class") or "").split():
            self._depth = 1
        elif tag == "pre" and self._depth == 1:
            self._depth, self._in_title = 2, True
            self.titles.append("")

    def handle_endtag(self, tag: str) -> None:
        """Ends the title."""
        if tag == "pre":
            self._in_title = False

    def handle_data(self, data: str) -> None:
        """Adds to the title."""
        if self._in_title:
            self.titles[-1] += data


@pytest.fixture(scope="module")
def titles(site: Path) -> list[str]:
    """The titles of the index."""
    found = Entries((site / "errors.html").read_text(encoding="utf-8")).titles
    assert len(found) > 60
    return [title.strip() for title in found]


def blanks(text: str) -> str:
    return " ".join(text.split())


def core(title: str) -> str:
    """What is left of a message when numbers and quoted names are taken away."""
    return blanks(re.sub(r"(?<!\w)(['\"`])[^'\"`]+\1(?!\w)|\d+", " ", title))


def disguised(title: str) -> str:
    """The same error of another program: other numbers, other names, its lines broken where a terminal ends."""
    other = re.sub(r"(?<!\w)(['\"`])[^'\"`]+\1(?!\w)", r"\1some::other.thing\1", title)
    other = re.sub(r"(?<![\w.])\d+(?![\w.])", "4711", other)
    return "\n".join(re.findall(r".{1,48}(?: |$)|\S+", other))


def recorded_failures() -> list[str]:
    """What the programs of the guide print where they fail with an error."""
    texts = [file.read_text() for file in sorted(ROOT.glob("*/*/before.txt"))]
    return [text for text in texts if re.search(r"^[\w.]+Error: ", text, re.MULTILINE)]


def longest(titles: list[str], text: str) -> str | None:
    """The longest title that a text has in it."""
    return max((title for title in titles if blanks(title) in text), key=len, default=None)


def errors_of_the_tests(titles: list[str]) -> dict[str, str]:
    """Strings of the tests that have a title in them, with the title."""
    found = {}
    for file in [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("steps/*/test_step.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
                text = blanks(re.sub(r"\\(\W)", r"\1", node.value))
                found |= dict.fromkeys([text], title) if (title := longest(titles, text)) else {}
    return found


def paste(site: Path, folder: Path, texts: list[str]) -> list[tuple[list[str], str]]:
    """Titles that are shown for each text, the likeliest first, and the sentence above them."""
    answers = ask(site, "errors.html", PASTE % json.dumps(texts), folder)
    return [(answer["titles"], answer["says"]) for answer in answers]


def test_what_is_pasted_finds_its_entry_first(site: Path, titles: list[str], tmp_path: Path) -> None:
    pasted = {title: title for title in titles}
    pasted |= {TRACEBACK.format(disguised(title)): title for title in titles}
    of_the_tests = errors_of_the_tests(titles)
    assert len(of_the_tests) > 20
    pasted |= {TRACEBACK.format(text): title for text, title in of_the_tests.items()}
    answers = paste(site, tmp_path, list(pasted))
    wrong = {
        text: found[:2]
        for (text, title), (found, _) in zip(pasted.items(), answers, strict=True)
        if not found or core(title) not in core(found[0])
    }
    assert not wrong, json.dumps(wrong, indent=1)


def test_what_the_programs_of_the_guide_print_finds_its_entry_first(site: Path, tmp_path: Path) -> None:
    failures = recorded_failures()
    assert len(failures) >= 11
    for text, (found, _) in zip(failures, paste(site, tmp_path, failures), strict=True):
        assert found and core(found[0]) in core(text), (text, found[:2])


def test_a_few_words_find_what_has_them_and_other_errors_find_nothing(
    site: Path, titles: list[str], tmp_path: Path
) -> None:
    texts = ["", "  \n", "out of memory", "elapsed time", "KeyError: 'epoch'", "shapes (3,4) and (5,6) not aligned"]
    every, blank, memory, elapsed, *others = paste(site, tmp_path, texts)
    assert every[0] == blank[0] == titles and every[1] == f"{len(titles)} of {len(titles)} errors"
    assert "out of memory" in memory[0][0] and 1 < len(memory[0]) < 12
    assert memory[1] == f"{len(memory[0])} of {len(titles)} errors, the likeliest first"
    assert "elapsed" in elapsed[0][0]
    assert others == [([], f"None of the {len(titles)} errors is like this one")] * 2
