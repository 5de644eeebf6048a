"""What a step adds, as tables: file by file for its page and its chapter, folder by folder for its README.md."""

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from assemble import Ladder

HEADER = re.compile(r'\A(?:#!.*\n)?\s*(?:"""(.*?)"""|/\*\*?(.*?)\*/|((?:(?://|# )[^\n]*\n)+))', re.S)
DECORATION = re.compile(r"^[ \t]*(?://+|#|\*)?[ \t]?(?:@file.*|@brief )?", re.M)
VENDOR = re.compile(r"openreg/(driver|kernels)(?=/|\Z)")  # whole in the first step: the library that came with a chip
MANY = 8  # names of files in a row
NO_HEADER = {"LICENSE": "BSD 3-Clause licence.", "py.typed": "Tells type checkers that the package has type hints."}


def why(path: str, text: str) -> str:
    """Return the first sentence of a file's header comment."""
    if not (header := HEADER.match(text)):
        return NO_HEADER.get(posixpath.basename(path), "")
    comment = DECORATION.sub("", next(filter(None, header.groups()))).strip()
    return re.split(r"(?<=[.?!])\s|\n\s*\n", comment)[0].replace("\n", " ").replace("|", "\\|")


def changes(ladder: Ladder, index: int) -> Iterator[tuple[str, Path, str, str | None]]:
    """Yield what a step adds or grows: path, where the file lies, its text, and the text before if it was there."""
    for path, source in ladder.trees[index].items():
        text, old = ladder.text(index, path), None
        if index and ladder.trees[index - 1].get(path) == source:
            old = ladder.text(index - 1, path)
        if text != old:
            yield path, source, text, old


def link(ladder: Ladder, index: int, place: Path) -> str:
    """Return the way from a step's folder to a place."""
    return posixpath.relpath(place.as_posix(), ladder.steps[index].folder.as_posix())


def table(ladder: Ladder, index: int) -> str:
    """Return the table of a step's page and chapter: each file added or grown, its lines, and what it is for."""
    rows = "| file | lines | why |\n|---|---|---|\n"
    for path, source, text, old in changes(ladder, index):
        lines = f"{text.count(chr(10)) - (old or '').count(chr(10)):{'' if old is None else '+'}}"
        rows += f"| [{path}]({link(ladder, index, source)}) | {lines} | {why(path, text)} |\n"
    return rows


def folder_table(ladder: Ladder, index: int) -> str:
    """Return the table of a step's README: a row for each folder, so that it fits on a screen."""
    folders: dict[str, list[tuple[str, Path, int]]] = {}
    for path, source, text, old in changes(ladder, index):
        vendor = VENDOR.match(path) if index == 0 else None
        lines = text.count("\n") - (old or "").count("\n")
        folders.setdefault(vendor[0] if vendor else posixpath.dirname(path) or ".", []).append((path, source, lines))
    rows = "| folder | files | lines | which |\n|---|---|---|---|\n"
    for folder, files in folders.items():
        stems = Counter(posixpath.splitext(posixpath.basename(path))[0] for path, _, _ in files)
        names = {posixpath.basename(path): posixpath.splitext(posixpath.basename(path))[0] for path, _, _ in files}
        short = list(dict.fromkeys(f"{stem}.*" if stems[stem] > 1 else name for name, stem in names.items()))
        which = ", ".join(short[:MANY]) + (f" and {len(short) - MANY} more" if len(short) > MANY else "")
        # Files that a later step replaces lie beside the step itself: then the folder is two places, and has no link.
        places, title = {source.parent for _, source, _ in files}, "top folder" if folder == "." else folder
        if VENDOR.fullmatch(folder):
            places, which = {ladder.root / folder}, "the device's own library"
        one = len(places) == 1 and folder != "."
        name = f"[{title}]({link(ladder, index, places.pop())})" if one else title
        rows += f"| {name} | {len(files)} | {sum(lines for _, _, lines in files)} | {which} |\n"
    return rows
