"""Makes a book of the guide: all chapters in one PDF, build/book/openreg.pdf.

    python tools/book.py                                            (make book)

The chapters are taken from the built site, in order, and Chromium prints them. Links between chapters stay links. Those
to files and to the reference become text.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "guide"
BOOK = ROOT / "build" / "book"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ARTICLE = re.compile(r'<article class="bd-article">(.*?)</article>', re.DOTALL)
HEAD = re.compile(r"<head>.*?</head>", re.DOTALL)
LINK = re.compile(r'href="([^"]*)"')


def chapters(site: Path) -> list[str]:
    """Returns the pages of the book in order, as their paths in the site."""
    ladder = sorted(path.name for path in site.glob("guide/[0-9]*.html"))
    names = ["prologue.html", *ladder, "your-backend.html", "drivers.html", "isolated-device.html"]
    names += ["code-generation.html", "replacing-operators.html", "doctor.html"]
    names += ["registration-contract.html", "what-backends-get-wrong.html"]
    pages = ["how-to-use.html", *(f"guide/{name}" for name in names), "map.html", "glossary.html"]
    return [page for page in pages if (site / page).is_file()]


def name_of(page: str) -> str:
    """Returns the anchor of a page in the book."""
    return "page-" + page.removesuffix(".html").replace("/", "-")


def section(site: Path, page: str, pages: list[str]) -> str:
    """Returns the text of a page, its links leading into the book or nowhere."""

    def relink(match: re.Match[str]) -> str:
        url, _, anchor = match[1].partition("#")
        if re.match(r"[a-z]+:", url):
            return match[0]
        target = os.path.normpath(Path(page).parent / url) if url else page
        if target not in pages:
            return ""
        return f'href="#{name_of(target)}{f"-{anchor}" if anchor else ""}"'

    text = ARTICLE.search((site / page).read_text(encoding="utf-8"))[1]
    text = re.sub(r'\bid="([^"]*)"', rf'id="{name_of(page)}-\1"', text)
    return f'<section id="{name_of(page)}" class="book-page">{LINK.sub(relink, text)}</section>'


def assemble(site: Path, book: Path) -> str:
    """Returns the book as one page, which takes its style from the site."""
    pages = chapters(site)
    head = HEAD.search((site / "how-to-use.html").read_text(encoding="utf-8"))[0]
    head = re.sub(r"<script\b.*?</script>", "", head, flags=re.DOTALL)
    static = os.path.relpath(site / "_static", book)
    head = head.replace('"_static/', f'"{static}/').replace('"./_static/', f'"{static}/')
    head = head.replace("</head>", "<style>.book-page { break-before: page; }</style></head>")
    body = "\n".join(section(site, page, pages) for page in pages)
    main = f'<main class="bd-main"><div class="bd-content"><div class="bd-article-container">{body}</div></div></main>'
    return f'<!DOCTYPE html>\n<html lang="en" data-theme="light" data-mode="light">{head}<body>{main}</body></html>\n'


def find_browser() -> str:
    """Returns the path of a Chromium; without one there is no book."""
    for name in (os.environ.get("BROWSER_FOR_TESTS"), *BROWSERS):
        if name and (path := shutil.which(name)):
            return path
    sys.exit("book: needs Chromium to print the pages; on Debian or Ubuntu: sudo apt-get install chromium")


def print_pages(page: Path, pdf: Path) -> None:
    """Prints a page to a PDF."""
    with tempfile.TemporaryDirectory() as profile:
        command = [find_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += [f"--user-data-dir={profile}", "--no-pdf-header-footer", f"--print-to-pdf={pdf}", page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    if done.returncode or not pdf.is_file():
        sys.exit(f"book: Chromium made no PDF\n{done.stderr[-2000:]}")


if __name__ == "__main__":
    BOOK.mkdir(parents=True, exist_ok=True)
    (BOOK / "book.html").write_text(assemble(SITE, BOOK), encoding="utf-8")
    print_pages(BOOK / "book.html", BOOK / "openreg.pdf")
    print(f"book: {(BOOK / 'openreg.pdf').relative_to(ROOT)}")
