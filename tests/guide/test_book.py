"""The guide as a book: one PDF of all chapters."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from loading import load_module

from . import browser
from .conftest import ROOT


@pytest.fixture(scope="module")
def book() -> ModuleType:
    """tools/book.py."""
    return load_module(ROOT / "tools" / "book.py")


def test_the_book_has_every_chapter_in_order_and_its_links_lead_into_it(
    book: ModuleType, site: Path, tmp_path: Path
) -> None:
    page = book.assemble(site, tmp_path)
    chapters = re.findall(r'<section id="page-guide-(\d\d-[^"]*)" class="book-page"', page)
    assert chapters == sorted(path.stem for path in site.glob("guide/[0-9]*.html"))
    body = page.partition("<body>")[2]
    links = re.findall(r'href="([^"]*)"', body)
    assert {url for url in links if not url.startswith(("#", "https://"))} == set()
    anchors = set(re.findall(r'\bid="([^"]*)"', body))
    assert {url for url in links if url.startswith("#")} <= {f"#{anchor}" for anchor in anchors} | {"#"}
    assert len([url for url in links if url.startswith("#page-guide-")]) > 100
    styles = re.findall(r'<link[^>]*rel="stylesheet"[^>]*href="([^"?]*)', page)
    assert styles and all((tmp_path / style).resolve().is_file() for style in styles)


def test_a_book_of_one_chapter_is_printed(book: ModuleType, site: Path, tmp_path: Path) -> None:
    if browser.find() is None:
        pytest.skip("no Chromium: tools/setup.sh installs Debian's where it may")
    small = tmp_path / "site"
    (small / "guide").mkdir(parents=True)
    (small / "_static").symlink_to(site / "_static")
    shutil.copy(site / "how-to-use.html", small)
    shutil.copy(site / "guide/04-autograd.html", small / "guide")
    (tmp_path / "book.html").write_text(book.assemble(small, tmp_path), encoding="utf-8")
    book.print_pages(tmp_path / "book.html", tmp_path / "book.pdf")
    pdf = (tmp_path / "book.pdf").read_bytes()
    assert pdf.startswith(b"%PDF")
    assert pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page\r") + pdf.count(b"/Type /Page ") >= 5


def test_without_a_browser_the_book_says_what_is_missing(book: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.delenv("BROWSER_FOR_TESTS", raising=False)
    with pytest.raises(SystemExit, match="book: needs Chromium"):
        book.find_browser()
