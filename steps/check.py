"""Checks what must hold of steps, regions and chapters. `--fix` rewrites the tables in the steps' README.md."""

import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from assemble import ROOT, Ladder, StepError, write
from regions import RegionError, parse
from tables import folder_table, table

SHOWN = re.compile(r"^\s*[`:]{3,}\{(region|pyobject|wholefile|solution)\}[ \t]+(\S+)[ \t]*(.*?)\s*$", re.M)
TABLE = re.compile(r"(?<=<!-- table start -->\n).*?(?=<!-- table end -->)", re.S)


def check_regions(ladder: Ladder) -> Iterator[str]:
    """Markers are sound, few and used, and a chapter shows only what its step has."""
    home, marks, total = {}, 0, 0
    for path, source in {path: source for tree in ladder.trees for path, source in tree.items()}.items():
        lines = parse(source.read_text(), path)
        if path.startswith("openreg/"):
            marks, total = marks + sum(bool(line.mark) for line in lines), total + len(lines)
        for name in {name for line in lines for name in line.regions}:
            if home.setdefault(name, path) != path:
                yield f"{path}: region {name!r} is also in {home[name]}"
    if marks and marks * 20 >= total:
        yield f"openreg: {marks} of {total} lines are markers, and it must be less than 5 %"
    grown = Counter(name for step in ladder.steps for name in step.grows)
    for name, times in grown.items():
        if name not in home or times > 1:
            yield f"step.toml: region {name!r} is {'grown by two steps' if name in home else 'in no file'}"
    shown, chapters = set(), {step.chapter: index for index, step in enumerate(ladder.steps)}
    for page in sorted(ladder.root.glob("docs/**/*.md")):
        at = chapters.get(page.stem, len(ladder.steps) - 1)
        for kind, path, name in SHOWN.findall(page.read_text()):
            where, lacks = f"{page.relative_to(ladder.root)}: shows {path} {name}".rstrip(), ladder.steps[at].name
            shown.add(name)
            if path in ladder.trees[at]:
                text = ladder.text(at, path, keep_markers=True)
            elif path in ladder.known or not (ladder.root / path).is_file():
                yield f"{where}, a file that step {lacks} lacks"
                continue
            else:  # a program beside the ladder
                text = (ladder.root / path).read_text()
            if kind == "region" and name not in {name for line in parse(text, path) for name in line.regions}:
                yield f"{where}, a region that step {lacks} lacks"
            if kind == "pyobject" and not re.search(rf"\b(def|class) {name.split('.')[-1]}\b|^{name}\b", text, re.M):
                yield f"{where}, an object that step {lacks} lacks"
    for name in sorted(home.keys() - shown - grown.keys()):
        yield f"{home[name]}: no chapter shows region {name!r} and no step grows it"


def check_whole(ladder: Ladder) -> Iterator[str]:
    """The last step is the complete backend, file by file; to a compiler, byte by byte."""
    last, at = ladder.trees[-1], len(ladder.steps) - 1
    disk = [path for path in ladder.root.glob("openreg/**/*") if path.is_file() and not ladder.ignores(path)]
    for path in sorted({path.relative_to(ladder.root).as_posix() for path in disk} - last.keys()):
        yield f"{path}: {'a step replaces it' if path in ladder.known else 'no step adds it'}"
    for path, source in last.items():
        lines = [line.text for line in parse(source.read_text(), path) if line.text.strip() and not line.mark]
        if source != ladder.root / path or lines != [x for x in ladder.text(at, path).splitlines() if x.strip()]:
            yield f"{path}: differs between the last step and the complete tree"
        elif path.endswith((".cpp", ".h")) and ladder.text(at, path, keep_markers=True) != source.read_text():
            # The compiler cache would have nothing for the steps of what includes it.
            yield f"{path}: an empty line too many beside a marker, which no step has"


def check_tables(ladder: Ladder, fix: bool) -> Iterator[str]:
    """The tables are up to date, and each file says what it is for."""
    for index, step in enumerate(ladder.steps):
        readme, rows = step.folder / "README.md", folder_table(ladder, index)
        if fix:
            write(readme, TABLE.sub(lambda _, rows=rows: rows, readme.read_text()))
        if TABLE.findall(readme.read_text()) != [rows]:
            yield f"steps/{step.name}/README.md: the table is not up to date; run: python steps/check.py --fix"
        for file in re.findall(r"\[(.*)\].*\|  \|\n", table(ladder, index)):
            yield f"{file}: begins with no comment that says why"


def problems(root: Path = ROOT, fix: bool = False) -> list[str]:
    """Return everything that is wrong with the steps, regions and chapters of a repository."""
    try:
        if not (ladder := Ladder(root)).steps:
            return ["there are no steps"]
        return [*check_regions(ladder), *check_whole(ladder), *check_tables(ladder, fix)]
    except (StepError, RegionError) as error:
        return [str(error)]


if __name__ == "__main__":
    found = problems(fix="--fix" in sys.argv)
    sys.exit("\n".join(found) if found else 0)
