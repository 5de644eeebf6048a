"""What the pages look like in a window of a laptop and of a phone: nothing is cut, and letters have a size."""

from __future__ import annotations

from pathlib import Path

import pytest

from .browser import ask, ask_each

# What may be wrong with any page, in words.
FAULTS = """
    const shown = (it) => `${it.textContent.trim().slice(0, 50)}`;
    const wide = (it) => it.scrollWidth > it.clientWidth + 1;
    const cut = innerWidth < 1200 ? [] : [...document.querySelectorAll("div.highlight pre")].filter(wide);
    const faults = cut.map((it) => `cut: ${shown(it)}`);
    if (document.documentElement.scrollWidth > innerWidth) {
      faults.push(`${document.documentElement.scrollWidth} wide`);
    }
    for (const text of document.querySelectorAll("div.picture svg text")) {
      const size = parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a;
      const [box, all] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
      if (size <= 8.5) faults.push(`${size.toFixed(1)} px: ${shown(text)}`);
      if (!text.closest("svg.recording") && (box.left < all.left - 1 || box.right > all.right + 1)) {
        faults.push(`outside its picture: ${shown(text)}`);
      }
    }
    for (const image of document.images) {
      if (image.complete && !image.naturalWidth) faults.push(`no picture: ${image.src}`);
      if (!image.alt && !image.closest(".navbar-brand")) faults.push(`no alternative text: ${image.src}`);
    }
    if (document.querySelectorAll("h1").length !== 1) faults.push("not one title");
    return faults;
"""

# Chapters with wide code and with pictures of every kind.
CHAPTERS = ["guide/05-kernels.html", "guide/07-memory.html", "map.html"]
CODE = [*CHAPTERS, "guide/06-stream.html"]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("width", [1280, 500], ids=["laptop", "phone"])
def test_no_page_is_cut_too_wide_or_too_small_to_read(site: Path, tmp_path: Path, width: int) -> None:
    sources = {"source", "steps"}  # listings: ours are the lines, and the highlighter's the page
    pages = sorted(str(it.relative_to(site)) for it in site.rglob("*.html"))
    pages = [it for it in pages if it.split("/")[0] not in sources and "/_" not in f"/{it}"]
    assert len(pages) > 40
    found = ask_each(site, pages, FAULTS, tmp_path, width=width)
    assert found.keys() == set(pages)
    assert {page: faults for page, faults in found.items() if faults} == {}


@pytest.mark.parametrize("width", [1280, 1500])
@pytest.mark.parametrize("page", CODE)
def test_no_code_is_cut_on_a_laptop(site: Path, tmp_path: Path, page: str, width: int) -> None:
    script = """
        return [...document.querySelectorAll("div.highlight pre")].filter((it) => it.scrollWidth > it.clientWidth + 1)
          .map((it) => `${it.textContent.slice(0, 60)}: ${it.scrollWidth} of ${it.clientWidth}`);
    """
    assert ask(site, page, script, tmp_path, width=width) == []


def test_the_pages_own_contents_are_behind_a_button_where_there_is_no_room_for_a_third_column(
    site: Path, tmp_path: Path
) -> None:
    script = """
        const shown = (what) => [...document.querySelectorAll(what)].some((it) => it.getBoundingClientRect().width > 0);
        const column = shown(".bd-sidebar-secondary");
        const button = shown("button.secondary-toggle");
        if (button) document.querySelector("button.secondary-toggle").click();
        return [column, button, button && shown("dialog#pst-secondary-sidebar-modal a")];
    """
    assert ask(site, CHAPTERS[0], script, tmp_path / "narrow", width=1280) == [False, True, True]
    assert ask(site, CHAPTERS[0], script, tmp_path / "wide", width=1500) == [True, False, False]


@pytest.mark.parametrize("page", [*CHAPTERS, "guide/06-stream.html", "index.html"])
def test_letters_of_a_picture_can_be_read_on_a_phone_and_the_page_is_no_wider_than_it(
    site: Path, tmp_path: Path, page: str
) -> None:
    script = """
        const sizes = [...document.querySelectorAll("div.picture svg text")].map(
          (it) => parseFloat(getComputedStyle(it).fontSize) * it.getScreenCTM().a);
        return { least: Math.min(...sizes), page: document.documentElement.scrollWidth, window: innerWidth };
    """
    found = ask(site, page, script, tmp_path, width=500)  # Chromium's windows are no narrower
    assert found["least"] > 8.5
    assert found["page"] <= found["window"]


@pytest.mark.parametrize("page", ["guide/07-memory.html", "guide/08-pinned.html", "map.html"])
def test_a_line_keeps_away_from_a_label_and_colours_have_a_legend(site: Path, tmp_path: Path, page: str) -> None:
    script = """
        const style = (it) => getComputedStyle(it);
        const where = "div.picture svg:not(.recording) > text";
        const inBox = (it) => it.previousElementSibling?.tagName === "rect";
        const labels = [...document.querySelectorAll(where)].filter((it) => !inBox(it));
        const kept = (it) => style(it).paintOrder.startsWith("stroke") && parseFloat(style(it).strokeWidth) >= 4;
        const bare = labels.filter((it) => !kept(it));
        const tints = ["python", "torch", "driver", "device", "cpu", "hot"];
        const unexplained = [...document.querySelectorAll("div.picture")].filter((picture) => {
          const used = tints.filter((tint) => picture.querySelector(`svg .${tint}`));
          const told = [...(picture.parentNode.querySelectorAll("p.legend .tint") ?? [])].map((it) => it.classList[1]);
          return used.length > 1 && used.some((tint) => !told.includes(tint));
        });
        return [labels.length, bare.length, unexplained.length];
    """
    labels, bare, unexplained = ask(site, page, script, tmp_path)
    assert labels or page == "map.html"
    assert (bare, unexplained) == (0, 0)


def test_what_scrolls_shows_that_there_is_more(site: Path, tmp_path: Path) -> None:
    script = """
        const wide = "div.highlight pre, div.picture, .pst-scrollable-table-container";
        const places = [...document.querySelectorAll(wide)].filter((it) => it.scrollWidth > it.clientWidth + 1);
        const shadow = (it) => getComputedStyle(it).backgroundImage.split("linear-gradient").length === 5;
        const alpha = (it) => Number(getComputedStyle(it).backgroundColor.match(/rgba\\(.*, ([\\d.]+)\\)/)?.[1] ?? 1);
        const rows = [...document.querySelectorAll(".pst-scrollable-table-container :is(tr, td, th)")];
        const tables = places.filter((it) => it.matches(".pst-scrollable-table-container"));
        return [places.length - tables.length, tables.length, places.filter((it) => !shadow(it)).length,
                Math.max(...rows.map(alpha))];
    """
    others, tables, bare, alpha = ask(site, "guide/06-stream.html", script, tmp_path, width=500)
    assert others > 0 and tables > 0
    assert bare == 0
    assert alpha < 0.2  # a row that hides what is behind it hides the shadow


@pytest.mark.parametrize("page", ["guide/06-stream.html", "guide/07-memory.html", "guide/09-random.html", "index.html"])
def test_a_picture_has_room_for_its_letters(site: Path, tmp_path: Path, page: str) -> None:
    script = """
        const outside = (it) => {
          const [text, all] = [it.getBoundingClientRect(), it.ownerSVGElement.getBoundingClientRect()];
          return text.left < all.left - 1 || text.right > all.right + 1 || text.bottom > all.bottom + 1;
        };
        const texts = [...document.querySelectorAll("div.picture svg:not(.recording) text")];
        return [texts.length, texts.filter(outside).map((it) => it.textContent)];
    """
    count, outside = ask(site, page, script, tmp_path)
    assert count > 5
    assert outside == []


def test_the_ladder_fits_a_phone_and_its_boxes_are_beside_the_numbers(site: Path, tmp_path: Path) -> None:
    script = """
        const tables = [...document.querySelectorAll("div.ladder .pst-scrollable-table-container")];
        const heights = [...document.querySelectorAll("div.ladder td:has(input)")].map((it) =>
          it.querySelector("p").getBoundingClientRect().height);
        return [tables.filter((it) => it.scrollWidth > it.clientWidth + 1).length, tables.length, Math.max(...heights)];
    """
    scrolling, tables, height = ask(site, "guide/index.html", script, tmp_path, width=500)
    assert tables > 0
    assert scrolling == 0
    assert height < 40  # one line


def test_paper_breaks_code_between_lines(site: Path) -> None:
    style = (site / "_static/openreg.css").read_text()
    paper = style[style.index("-- paper */") :]
    assert "div.highlight pre { background: var(--or-ground); break-inside: auto" in paper
    theme = (site / "_static/styles/pydata-sphinx-theme.css").read_text()
    assert "div.highlight,div.literal-block-wrapper" in theme and "break-inside:avoid" in theme  # which is why


def test_a_finished_step_is_remembered_and_shown_on_the_ladder(site: Path, tmp_path: Path) -> None:
    on_ladder = """
        const done = "div.ladder tr.done td:first-child";
        const rows = () => [...document.querySelectorAll(done)].map((it) => it.innerText.trim());
        const before = rows();
        const boxes = [...document.querySelectorAll("div.ladder input.step-done")];
        boxes[1].click();
        const after = rows();
        localStorage.setItem("openreg-finished-steps", '["01", "03"]');
        dispatchEvent(new Event("storage"));
        return [before, after, rows(), localStorage.getItem("openreg-finished-steps"), boxes.length];
    """
    before, after, then, kept, boxes = ask(site, "guide/index.html", on_ladder, tmp_path / "ladder")
    assert (before, after, then, kept) == ([], ["02"], ["01", "03"], '["01", "03"]')
    assert boxes == len(list(site.glob("guide/[0-9]*.html"))) + 2  # and two pages without a step in the backend
    in_chapter = """
        document.querySelector("label.step-finished input").click();
        return localStorage.getItem("openreg-finished-steps");
    """
    assert ask(site, "guide/06-stream.html", in_chapter, tmp_path / "chapter") == '["06"]'
