"""What our style sheet makes of the pages, in a browser: what is to be seen is seen, and what isn't has no room."""

from __future__ import annotations

from pathlib import Path

import pytest

from .browser import ask

THEMES = ["light", "dark"]

# The luminance of a colour, as WCAG defines contrast.
LUMINANCE = """
const luminance = (colour) => {
  const [r, g, b] = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => {
    const c = part / 255;
    return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
};
"""


@pytest.mark.parametrize("theme", THEMES)
def test_every_table_with_words_in_its_head_shows_them(site: Path, tmp_path: Path, theme: str) -> None:
    script = """
        return [...document.querySelectorAll("table thead")].map(
          (head) => ({ words: head.textContent.trim(), shown: head.offsetHeight > 10 }));
    """
    heads = ask(site, "reference/coverage.html", script, tmp_path, theme=theme)
    assert {"servedoperatorscore setmeans", "operatorservedends in"} <= {head["words"] for head in heads}
    assert [head for head in heads if head["shown"] != bool(head["words"])] == []


def test_a_head_without_words_takes_no_room(site: Path, tmp_path: Path) -> None:
    script = """
        return [...document.querySelectorAll("table thead")].map(
          (head) => [head.textContent.trim(), head.offsetHeight]);
    """
    heads = ask(site, "guide/01-device.html", script, tmp_path)
    assert {bool(words) for words, _ in heads} == {True, False}
    assert all((height > 10) == bool(words) for words, height in heads)


@pytest.mark.parametrize("theme", THEMES)
def test_the_arrow_of_a_choice_is_to_be_seen(site: Path, tmp_path: Path, theme: str) -> None:
    script = (
        LUMINANCE
        + """
        const style = getComputedStyle(document.querySelector("form.coverage-bar select"));
        const arrow = style.backgroundImage.match(/rgba?\\((?!0, 0, 0, 0)[^)]*\\)/g) ?? [];
        return [document.documentElement.dataset.theme, arrow.map((it) => contrast(it, style.backgroundColor))];
    """
    )
    shown, contrasts = ask(site, "reference/coverage.html", script, tmp_path, theme=theme)
    assert shown == theme
    assert contrasts and min(contrasts) > 4.5


@pytest.mark.parametrize("page", ["bugs.html", "errors.html", "guide/01-device.html"])
def test_a_column_at_the_left_has_something_in_it_or_takes_no_room(site: Path, tmp_path: Path, page: str) -> None:
    script = """
        const column = document.querySelector(".bd-sidebar-primary");
        const widest = (all) => Math.max(0, ...[...all].map((it) => it.getBoundingClientRect().width));
        return { column: column.getBoundingClientRect().width, links: column.querySelectorAll(".bd-links a").length,
                 tables: widest(document.querySelectorAll("article table")), window: innerWidth };
    """
    found = ask(site, page, script, tmp_path, width=1200)
    assert found["window"] == 1200
    assert (found["column"] > 0) == (found["links"] > 0)
    if page == "bugs.html":
        assert found["tables"] > 800, "four columns of sentences need the room"
