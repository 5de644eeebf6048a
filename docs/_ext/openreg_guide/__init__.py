"""The directives of this guide: everything it shows is read from the live files when the site is built.

A module for each concern:
    code        regions, Python objects, whole files, and a page for each file they come from
    transcript  recorded output
    errors      "error text, cause, fix", in the chapters and collected on one page
    exercise    exercises, with the solution live from a file that a test runs
    steps       a page, a difference and a zip for each step; the ladder
    files       in a chapter: the files of its step, what each is for, and what one copies
    pictures    Graphviz and hand-made SVG, inline, so that they follow the page's colours
    stubs       the stubs that PyTorch ships
    timeline    what ran when, drawn from the file that a measurement wrote
    describe    what search engines show of a page
    coverage    how each operator is served, from the dispatcher's tables
    speed       how fast each operator is, from the file that the sweep wrote
    bench       all else that is measured
    gpu         what a GPU has said
    autocast    in which type autocast runs each operator, and what half precision takes
    versions    what changes from one release of PyTorch to the next
    wire        the wire of the driver `process`, from its headers
    order       previous and next, without the pages beside the ladder
    mutants     the seeded bugs, and the test that finds each
    whitespace  code without markup around its spaces
    reference   Doxygen, and the pages made from its output
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from . import (
    autocast,
    bench,
    code,
    coverage,
    describe,
    errors,
    exercise,
    files,
    gpu,
    mutants,
    order,
    pictures,
    reference,
    speed,
    steps,
    stubs,
    timeline,
    transcript,
    versions,
    whitespace,
    wire,
)

_REPOSITORY = Path(__file__).resolve().parents[3]


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the directives, roles and build hooks with Sphinx."""
    # Paths in directives start here. The tests of the directives set it to a small tree of their own.
    app.add_config_value("openreg_root", str(_REPOSITORY), "env", types=frozenset({str}))
    # 0 builds without Doxygen and without importing torch_openreg: for someone who writes a chapter.
    app.add_config_value("openreg_reference", True, "env", types=frozenset({bool}))
    shown = (code, transcript, errors, exercise, steps, stubs, files, mutants, pictures, timeline, coverage, speed)
    for module in (*shown, bench, gpu, autocast, versions, wire, reference, order, describe, whitespace):
        module.setup(app)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
