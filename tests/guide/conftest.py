"""The site, built once for all tests, and a tiny project for trying the directives."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from sphinx.cmd.build import build_main
from workers import locked, run_folder

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Chapters beside the ladder: docs/guide/NAME.md, with its programs in examples/NAME.
EXTRAS = sorted(path.parent.name for path in ROOT.glob("examples/*/demo.py"))


def pages() -> list[Path]:
    """The Markdown files of the guide that are written by hand."""
    generated = DOCS / "steps"
    return [path for path in sorted(DOCS.rglob("*.md")) if path.parent != generated or path.name == "index.md"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives the first test the time to build the guide, and other processes what needs no guide meanwhile."""
    needing = [item for item in items if "site" in getattr(item, "fixturenames", ())]
    for item in needing:
        item.add_marker(pytest.mark.timeout(900))
    items[:] = [*needing[:1], *(item for item in items if item not in needing), *needing[1:]]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The HTML of the guide, from nothing, warnings being errors. Processes of one run share it."""
    shared = run_folder(tmp_path_factory)
    html, log = shared / "guide-html", shared / "guide.log"
    with locked(log):
        if not log.exists():
            options = ["-q", "-W", "--keep-going", "-n", "-b", "html"]
            command = [sys.executable, "-m", "sphinx", *options, str(DOCS), str(html)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
            log.write_text(f"{done.returncode}\n{done.stdout}\n{done.stderr}")
    code, _, output = log.read_text().partition("\n")
    assert code == "0", f"the guide does not build:\n{output}"
    return html


class Outcome(NamedTuple):
    """How the build of a tiny project went."""

    code: int
    messages: str
    html: Path

    def page(self, name: str = "guide/02-second") -> str:
        """The HTML of a page."""
        return (self.html / f"{name}.html").read_text(encoding="utf-8")


class Project:
    """A repository of two steps and a few pages, in which a test makes one thing wrong."""

    def __init__(self, root: Path, capture: Callable[[], str]) -> None:
        """Writes the files."""
        self.root, self._capture = root, capture
        self.write("openreg/device.h", _HEADER)
        self.write("openreg/later.h", "int later();\n")
        self.write("openreg/tool.py", _PYTHON)
        for name, adds, grows in (
            ("01-first", '["openreg/device.h", "openreg/tool.py"]', "[]"),
            ("02-second", '["openreg/later.h"]', '["LATER"]'),
        ):
            toml = f'title = "Title of {name}"\nchapter = "{name}"\nadds = {adds}\ngrows = {grows}\n'
            self.write(f"steps/{name}/step.toml", toml)
            self.write(f"steps/{name}/demo.py", "print('demo')\n")
            self.write(f"steps/{name}/before.txt", "$ python demo.py\nRuntimeError: it  failed\n")
            self.write(f"steps/{name}/after.txt", "$ python demo.py\ndemo\n")
            self.write(f"steps/{name}/README.md", _README)
        self.write("tests/test_it.py", _TEST)
        self.write("docs/conf.py", _CONF.format(extension=DOCS / "_ext", root=root))
        self.write("docs/index.md", "# Start\n\n```{toctree}\n:glob:\n\nguide/*\nsteps/*\n```\n")
        self.write("docs/guide/01-first.md", "# 01 First\n")
        self.write("docs/guide/02-second.md", "# 02 Second\n")

    def write(self, path: str, text: str) -> None:
        """Writes a file of the project."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def replace(self, path: str, old: str, new: str) -> None:
        """Changes a file of the project."""
        text = (self.root / path).read_text(encoding="utf-8")
        assert old in text
        self.write(path, text.replace(old, new))

    def build(self, text: str = "", page: str = "guide/02-second") -> Outcome:
        """Builds the project with `text` at the end of a page."""
        title = {"guide/01-first": "01 First", "guide/02-second": "02 Second"}.get(page, "Page")
        self.write(f"docs/{page}.md", f"# {title}\n\n{text}\n")
        html = self.root / "html"
        arguments = ["-q", "-E", "-W", "--keep-going", "-n", "-b", "html", str(self.root / "docs"), str(html)]
        self._capture()
        code = build_main(arguments)
        return Outcome(code, self._capture(), html)


@pytest.fixture
def project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Project:
    """The tiny project."""

    def capture() -> str:
        out = capsys.readouterr()
        return out.out + out.err

    return Project(tmp_path, capture)


_CONF = """
import sys
sys.path.insert(0, "{extension}")
extensions = ["myst_parser", "openreg_guide"]
openreg_root = "{root}"
openreg_reference = False
html_theme = "basic"
highlight_language = "none"
"""

_HEADER = """\
// The device.
#include "later.h"

namespace openreg {

// LITERALINCLUDE START: GUARD
struct Guard {
  int type();

  // LITERALINCLUDE START: LATER
  int stream();
  // LITERALINCLUDE END: LATER
};
// LITERALINCLUDE END: GUARD

// LITERALINCLUDE START: GUARD EXTRA
int extra();
// LITERALINCLUDE END: GUARD EXTRA

// LITERALINCLUDE START: PARTS
int first_part();
// LITERALINCLUDE END: PARTS
int between();
// LITERALINCLUDE START: PARTS
int second_part();
// LITERALINCLUDE END: PARTS

} // namespace openreg
"""

_PYTHON = '''\
"""A tool."""


def one() -> int:
    """Returns one."""
    return 1


class Two:
    """Has a method."""

    @property
    def three(self) -> int:
        """Returns three."""
        return 3
'''

_README = """\
# A step

| file | lines | why |
|---|---|---|
| [openreg/device.h](../../openreg/device.h) | 20 | the device |
"""

_TEST = """\
import pytest


def test_fails():
    with pytest.raises(RuntimeError, match=r"openreg:7 \\(there are 2\\)" " of them"):
        raise RuntimeError("openreg:7 (there are 2) of them")
"""
