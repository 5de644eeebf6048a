"""The built site: whole, self-contained, every link leads somewhere."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from html import unescape as html_text
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from .conftest import EXTRAS, ROOT

# Attributes from which a browser loads something by itself. A link that a reader clicks may lead anywhere.
RESOURCES = {
    ("script", "src"),
    ("link", "href"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "src"),
    ("video", "src"),
    ("iframe", "src"),
    ("object", "data"),
    ("embed", "src"),
    ("image", "href"),
    ("image", "xlink:href"),
    ("use", "href"),
    ("use", "xlink:href"),
}


class Page(HTMLParser):
    """Links, resources, anchors and words of a page."""

    def __init__(self, path: Path) -> None:
        """Reads the file."""
        super().__init__()
        self.links: list[str] = []
        self.resources: list[str] = []
        self.anchors: set[str] = set()
        self.unnamed_pictures = 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sorts the attributes."""
        named = dict(attrs)
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif (tag, name) in RESOURCES and value:
                self.resources.append(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.append(value)
            elif name == "style" and value:
                self.resources += re.findall(r"url\(['\"]?([^'\")]+)", value)
        unnamed_svg = tag == "svg" and not named.get("aria-label") and named.get("aria-hidden") != "true"
        if unnamed_svg or (tag == "img" and "alt" not in named):
            self.unnamed_pictures += 1


@pytest.fixture(scope="session")
def html(site: Path) -> dict[Path, Page]:
    """All pages of the site."""
    return {path: Page(path) for path in sorted(site.rglob("*.html")) if path.name != "webpack-macros.html"}


def _external(url: str) -> bool:
    parts = urlsplit(url)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp")


def _targets(path: Path, urls: list[str]) -> Iterator[tuple[str, Path, str]]:
    """Each internal address with the file and anchor it leads to."""
    for url in urls:
        parts = urlsplit(url)
        if not parts.scheme and not parts.netloc:
            yield url, (path.parent / unquote(parts.path)).resolve() if parts.path else path, unquote(parts.fragment)


def test_nothing_is_loaded_from_elsewhere(site: Path, html: dict[Path, Page]) -> None:
    wrong = [f"{path.name}: {url}" for path, page in html.items() for url in page.resources if _external(url)]
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        urls = re.findall(r"url\(['\"]?([^'\")]+)", text) + re.findall(r"@import\s+['\"]([^'\"]+)", text)
        wrong += [f"{sheet.name}: {url}" for url in urls if _external(url)]
    assert wrong == []


def test_what_is_loaded_is_there(html: dict[Path, Page]) -> None:
    missing = [
        f"{path.name}: {url}"
        for path, page in html.items()
        for url, file, _ in _targets(path, page.resources)
        if not file.is_file() and not url.startswith("data:")
    ]
    assert missing == []


def test_every_link_and_anchor_leads_somewhere(html: dict[Path, Page]) -> None:
    anchors = {path.resolve(): page.anchors for path, page in html.items()}
    broken, followed = [], 0
    for path, page in html.items():
        for url, file, anchor in _targets(path, page.links):
            followed += 1
            if file.is_dir():
                file /= "index.html"
            known = anchors.get(file)
            if not file.is_file():
                broken.append(f"{path.name}: {url}: no such file")
            elif anchor and known is not None and anchor not in known:
                broken.append(f"{path.name}: {url}: no such anchor")
    assert broken == []
    assert followed > 1000


def test_external_links_are_https(html: dict[Path, Page]) -> None:
    links = {url for page in html.values() for url in page.links if _external(url)}
    assert [url for url in sorted(links) if not url.startswith("https://")] == []


def test_every_picture_has_words(html: dict[Path, Page]) -> None:
    assert [path.name for path, page in html.items() if page.unnamed_pictures] == []


def test_no_page_shows_a_marker_or_an_unresolved_role(html: dict[Path, Page]) -> None:
    for path in html:
        text = path.read_text(encoding="utf-8")
        assert "LITERALINCLUDE" not in text, path
        assert not re.search(r"\{(source|step|term|doc|region|cpp:\w+|py:\w+)\}<", text), path


def test_no_page_shows_a_fence_or_a_directive_that_was_not_understood(html: dict[Path, Page]) -> None:
    # A fence of backticks with a backtick on its first line is none, says CommonMark, and Sphinx warns of nothing. It
    # shows as a paragraph, and what follows as code; in code itself, braces around a word are ordinary.
    wrong = []
    for path in html:
        text = path.read_text(encoding="utf-8")
        wrong += [f"{path.name}: {raw}" for raw in re.findall(r"(?:`{3}|:{3}|~{3})\{.*", text)]
        prose = re.sub(r"<(pre|code|script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
        wrong += [f"{path.name}: {raw}" for raw in re.findall(r"`{3}.*|:{3}.*|\{[a-z][\w:-]*\}", prose)]
    assert wrong == []


def test_search_works_from_a_file(site: Path) -> None:
    # A browser refuses to fetch() from file://, so the index must be a script that the page loads.
    assert (site / "searchindex.js").read_text(encoding="utf-8").startswith("Search.setIndex(")
    page = (site / "search.html").read_text(encoding="utf-8")
    assert 'src="searchindex.js"' in page
    assert 'src="_static/searchtools.js' in page


def test_each_step_has_a_page_and_a_zip_that_is_a_project(site: Path) -> None:
    steps = sorted(path.parent.name for path in ROOT.glob("steps/[0-9]*/step.toml"))
    assert steps
    for name in steps:
        assert (site / "steps" / f"{name}.html").is_file()
        with zipfile.ZipFile(site / "zips" / f"openreg-{name}.zip") as archive:
            assert archive.testzip() is None
            names = set(archive.namelist())
            assert {
                f"openreg-{name}/{file}" for file in ("setup.py", "pyproject.toml", "README.md", "demo.py")
            } <= names
            sources = [archive.read(entry) for entry in names if entry.endswith((".cpp", ".h", ".py", ".txt"))]
            assert not any(b"LITERALINCLUDE" in source for source in sources)


def test_the_index_of_errors_has_every_entry_of_every_chapter(site: Path) -> None:
    index = (site / "errors.html").read_text(encoding="utf-8")
    chapters = [path.read_text(encoding="utf-8") for path in sorted(site.glob("guide/*.html"))]
    anchors = [anchor for text in chapters for anchor in re.findall(r'id="(error-[0-9a-f]{8})"', text)]
    assert anchors
    assert sorted(re.findall(r'id="(error-[0-9a-f]{8})"', index)) == sorted(anchors)


def test_the_reference_has_every_entry_of_the_contract(site: Path) -> None:
    page = (site / "reference/contract.html").read_text(encoding="utf-8")
    header = (ROOT / "openreg/driver/include/openreg.h").read_text(encoding="utf-8")
    for entry in set(re.findall(r"\b(or[A-Z]\w*)\(", header)) | set(
        re.findall(r"^  (or\w+) = ", header, flags=re.MULTILINE)
    ):
        assert f'<span class="pre">{entry}</span>' in page, entry


def test_the_reference_has_every_public_name_of_the_module(site: Path) -> None:
    import torch
    import torch_openreg.openreg as package

    page = (site / "reference/python.html").read_text(encoding="utf-8")
    names = {
        name
        for module in vars(package).values()
        if getattr(module, "__name__", "").startswith("torch_openreg.openreg.")
        for name in getattr(module, "__all__", [])
    }
    assert names
    assert [name for name in sorted(names) if f'id="torch.openreg.{name}"' not in page] == []
    assert all(hasattr(torch.openreg, name) for name in names)


def test_the_ladder_tells_written_from_planned(site: Path) -> None:
    page = (site / "guide/index.html").read_text(encoding="utf-8")
    rows = re.findall(r"<tr[^>]*><td><p>(\d\d)</p></td>\s*<td><p>(.*?)</p></td>", page, flags=re.DOTALL)
    assert [number for number, _ in rows] == [f"{number:02}" for number in range(1, 21)]
    written = {path.parent.name[:2] for path in ROOT.glob("steps/[0-9]*/step.toml")}
    written |= {"19", "20"}  # chapters whose code is no part of the backend
    for number, cell in rows:
        assert ("(planned)" not in cell) == (number in written)
        assert ("<a " in cell) == (number in written)


def test_no_page_is_so_long_that_it_is_slow(html: dict[Path, Page]) -> None:
    sizes = {path.name: path.stat().st_size // 1000 for path in html}
    assert {name: size for name, size in sizes.items() if size > 500} == {}, "kB; split the page"


def test_chapters_follow_one_another_and_the_extras_are_no_part_of_the_way(site: Path) -> None:
    def neighbours(page: str) -> dict[str, str]:
        text = (site / f"{page}.html").read_text(encoding="utf-8")
        return dict(re.findall(r'class="(left|right)-(?:prev|next)"\s+href="([^"]+)"', text))

    chapters = sorted(path.stem for path in site.glob("guide/[0-9]*.html"))
    for before, after in pairwise(chapters):
        assert neighbours(f"guide/{before}")["right"] == f"{after}.html"
        assert neighbours(f"guide/{after}")["left"] == f"{before}.html"
    assert neighbours("guide/01-device")["left"] == "prologue.html"
    for extra in EXTRAS:
        if extra != "prologue":
            assert neighbours(f"guide/{extra}") == {}
    assert neighbours("guide/drivers") == {}


def test_each_page_says_what_it_is_about_to_search_engines(site: Path) -> None:
    found = {}
    for path in [site / "index.html", *site.glob("guide/*.html"), *site.glob("reference/*.html")]:
        words = re.search(r'<meta name="description" content="([^"]*)"', path.read_text(encoding="utf-8"))
        assert words and 20 <= len(html_text(words[1])) <= 200, f"{path.name}: {words and words[1]}"
        found[path.name] = words[1]
    assert len(set(found.values())) == len(found)
