"""What changes for backends from one release of PyTorch to the next, from the file that tools/interfaces.py writes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .repository import repository

FILE = "docs/interfaces.json"
_BASES = re.compile(r"\b(?:class|struct)\s[^{;:]*:\s*(?:public\s+)?([\w:]+)")
# Their functions are overridden by classes that derive from these, too.
_DERIVED = {
    "AcceleratorHooksInterface": "PrivateUse1HooksInterface",
    "Allocator": "DeviceAllocator",
    "HostAllocator": "CachingHostAllocatorImpl",
}
_OVERRIDES = re.compile(r"(\w+)\([^;{}]*\)\s*(?:const\s*)?(?:noexcept\s*)?(?:override|final)\b")
_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)  # may have parentheses, and so hide what stands behind it


def overrides(text: str) -> Iterator[tuple[str, str]]:
    """The functions that classes of a C++ file override: each class that one derives from, with each function's name.

    Args:
        text: Of the file.
    """
    code = _COMMENT.sub("", text)
    for base in _BASES.findall(code):
        for name in _OVERRIDES.findall(code):
            yield base.rpartition(":")[2], name


def overridden(root: Path) -> dict[tuple[str, str], str]:
    """Class and name of each function of PyTorch's that this backend overrides -> the file that does.

    Args:
        root: The repository.
    """
    files = sorted(path for path in (root / "openreg" / "csrc").rglob("*") if path.suffix in (".h", ".cpp"))
    return {
        function: file.relative_to(root).as_posix()
        for file in files
        for function in overrides(file.read_text(encoding="utf-8"))
    }


def bases(interface: str) -> set[str]:
    """The classes that a backend derives from to override an interface's functions.

    Args:
        interface: A class of PyTorch's, without its namespace.
    """
    return {interface, _DERIVED.get(interface, interface)}


def function_name(declaration: str) -> str:
    """The name of a function: `Device getDevice() const` is `getDevice`; of a class, its own."""
    return re.split(r"\(", declaration, maxsplit=1)[0].split()[-1].lstrip("*&")


def changes(before: list[str], after: list[str]) -> Iterator[tuple[str, str]]:
    """What became of a list of declarations: new, gone or changed, and the declaration, the new one if there are two.

    Args:
        before: Declarations of a class or a module.
        after: The same, of a later version.
    """
    gone = [line for line in before if line not in after]
    new = [line for line in after if line not in before]
    names = {function_name(line) for line in gone} & {function_name(line) for line in new}
    for line in new:
        yield "changed" if function_name(line) in names else "new", line
    for line in gone:
        if function_name(line) not in names:
            yield "gone", line


def _interface_rows(
    before: dict[str, list[str]], after: dict[str, list[str]], here: dict[tuple[str, str], str]
) -> list[str]:
    rows = []
    for of in after:
        for kind, line in changes(before.get(of, []), after[of]):
            places = (here.get((base, function_name(line))) for base in bases(of.rpartition(":")[2]))
            file = min(filter(None, places), default="")
            what = of if "::" in of else of.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            rows.append(f"| `{what}` | {kind} | `{line}` | {f'{{source}}`{file}`' if file else ''} |")
    return rows


def _operator_rows(operators: dict[str, Any]) -> list[str]:
    rows = [f"| `{name}` | new | `{schema}` |" for name, schema in operators["added"].items()]
    rows += [f"| `{name}` | changed | `{schemas[1]}` |" for name, schemas in operators["changed"].items()]
    return rows + [f"| `{name}` | gone | |" for name in operators["removed"]]


def page(known: dict[str, Any], here: dict[tuple[str, str], str]) -> list[str]:
    """The Markdown of all changes, the newest first.

    Args:
        known: What the file has.
        here: What this backend overrides.
    """
    text = []
    for before, after in reversed(list(pairwise(known["interfaces"]))):
        text += [f"**From {before} to {after}**", ""]
        rows = _interface_rows(known["interfaces"][before], known["interfaces"][after], here)
        text += ["| class or module | | function | overridden here |", "|---|---|---|---|", *rows, ""] if rows else []
        operators = known["operators"].get(after, {})
        if operators.get("since") == before and (rows := _operator_rows(operators)):
            text += ["| operator | | schema |", "|---|---|---|", *rows, ""]
    return text


class InterfaceChanges(SphinxDirective):
    """For each two releases that are known: which functions and operators are new, gone or changed."""

    def run(self) -> list[nodes.Node]:
        """Returns the tables."""
        repo = repository(self.env)
        known = json.loads(repo.read(FILE))
        self.env.note_dependency(str(repo.root / FILE))
        box = nodes.container(classes=["versions"])
        box += self.parse_text_to_nodes("\n".join(page(known, overridden(repo.root))))
        return [box]


def setup(app: Sphinx) -> None:
    """Registers the directive."""
    app.add_directive("interfacechanges", InterfaceChanges)
