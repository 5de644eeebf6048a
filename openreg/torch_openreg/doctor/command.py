"""The command line: which probes, how the table is written, and the exit status."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterable
from pathlib import Path

from .examination import examine
from .html import as_html
from .registry import PROBES, Row, Word
from .report import as_json, as_text

EPILOG = """\
The exit status is 0 if nothing is wrong and nothing silently does nothing, and 1 otherwise. What is missing or not
seen is no failure. --require makes it one for the rows that it names; --allow takes rows out. With --step N, what steps
up to N have must work, and what later ones bring is not looked at.
"""


def failures(rows: Iterable[Row], require: Iterable[str], step: int | None, allow: Iterable[str]) -> list[str]:
    """Sentences on what makes the exit status 1.

    Args:
        rows: The table.
        require: Names of probes or sections that must work.
        step: The step up to which all must work, or None.
        allow: Names of probes or sections that need not.
    """
    said = []
    for row in rows:
        names = {row.name, row.section}
        if row.word == Word.WORKS or names & set(allow):
            continue
        if row.name == "import":
            said.append(f"{row.name}: {row.word}, so nothing else was asked")
        elif names & set(require):
            said.append(f"{row.name}: {row.word}, and --require names it")
        elif row.word == Word.NOT_SEEN:
            continue
        elif step is not None and row.step is not None:
            if row.step <= step:
                said.append(f"{row.name}: {row.word}, and it works from step {row.step:02} on")
        elif row.word != Word.MISSING:
            said.append(f"{row.name}: {row.word}")
    return said


def read_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Reads the command line, and refuses names that don't exist."""
    known = {*PROBES, *(probe.section for probe in PROBES.values())}
    parser = argparse.ArgumentParser(
        prog="doctor", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.description = "Says of each mechanism of a PyTorch backend whether it works."
    parser.add_argument("--device", help="its name; the registered one, or else openreg")
    parser.add_argument("--module", help="the Python package that registers it; torch_DEVICE")
    names = {"nargs": "+", "default": [], "metavar": "NAME"}
    parser.add_argument("--only", **names, help="ask these alone: rows, or sections")
    parser.add_argument("--require", **names, help="these must work")
    parser.add_argument("--allow", **names, help="these need not work")
    parser.add_argument("--step", type=int, metavar="N", help="all that step N of the guide has must work")
    parser.add_argument("--deadline", type=float, default=10.0, metavar="SECONDS", help="for a probe; some have longer")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the table as a page")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the table for programs")
    given = parser.parse_args(arguments)
    for name in (*given.only, *given.require, *given.allow):
        if name not in known:
            parser.error(f"there is no row and no section {name!r}; there are {', '.join(PROBES)}")
    return given


def main(arguments: list[str] | None = None) -> int:
    """Examines a backend and prints the table.

    Args:
        arguments: The command line; None for the program's.

    Returns:
        The exit status.
    """
    given = read_arguments(arguments)
    only = set(given.only) | set(given.require if given.only else ())
    chosen = [it for it, probe in PROBES.items() if not only or {it, probe.section} & only]
    needed = {need for it in chosen for need in PROBES[it].needs} - set(chosen)
    device, rows = examine(given.device, given.module, [*chosen, *needed], given.deadline)
    rows = [row for row in rows if row.name in chosen]
    print(as_text(device, rows, shutil.get_terminal_size((120, 24)).columns))
    if given.html:
        given.html.write_text(as_html(device, rows), encoding="utf-8")
    if given.json:
        given.json.write_text(as_json(device, rows), encoding="utf-8")
    failed = failures(rows, given.require, given.step, given.allow)
    print(*(f"fails: {sentence}" for sentence in failed), sep="\n", end="\n" * bool(failed))
    return 1 if failed else 0
