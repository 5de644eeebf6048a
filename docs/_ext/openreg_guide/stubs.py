"""The stubs that the installed PyTorch ships, and the operators of the same name: read when the site is built."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from .repository import RepositoryError, repository

_DECLARED = re.compile(r"^DECLARE_DISPATCH\(\s*[^;]*?,\s*(\w+)\s*\)", re.MULTILINE)
_REGISTERED = re.compile(r"REGISTER_PRIVATEUSE1_DISPATCH\(\s*(\w+)")


def declared_stubs(include: Path) -> dict[str, str]:
    """Name of each stub -> the header under ATen/native that declares it.

    Args:
        include: PyTorch's folder of headers.
    """
    return {
        name: header.name
        for header in sorted((include / "ATen" / "native").glob("*.h"))
        for name in _DECLARED.findall(header.read_text(encoding="utf-8"))
    }


def registered_stubs(root: Path) -> dict[str, str]:
    """Name of each stub that this backend has a kernel for -> the file that registers it.

    Args:
        root: The repository.
    """
    return {
        name: file.relative_to(root).as_posix()
        for file in sorted((root / "openreg" / "csrc").rglob("*.cpp"))
        for name in _REGISTERED.findall(file.read_text(encoding="utf-8"))
    }


def operator_of(stub: str, operators: set[str]) -> str:
    """The operator that a stub is named after, or nothing: `clamp_min_scalar_stub` serves `clamp_min`.

    Args:
        stub: Name of the stub.
        operators: Names of operators, without namespace and overload.
    """
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", stub).lower()
    words = re.sub(r"_(stub|kernel)$", "", snake).split("_")
    for count in range(len(words), 0, -1):
        if (name := "_".join(words[:count])) in operators:
            return name
    return ""


class StubTable(SphinxDirective):
    """All stubs of the installed PyTorch: which operator each is named after, its header, and who registers it here."""

    def run(self) -> list[nodes.Node]:
        """Returns the count and the table."""
        spec = importlib.util.find_spec("torch")
        if spec is None or not spec.submodule_search_locations:
            raise RepositoryError("the table of stubs reads PyTorch's headers, and there is no package torch")
        import torch

        names = torch._C._dispatch_get_all_op_names()
        operators = {name[6:].partition(".")[0] for name in names if name.startswith("aten::")}
        declared = declared_stubs(Path(spec.submodule_search_locations[0]) / "include")
        here = registered_stubs(repository(self.env).root)
        self.env.note_reread()
        text = [f"{len(declared)} stubs, of which this backend registers {len(here)}.", ""]
        text += ["| stub | operator of that name | declared in `ATen/native` | registered here |", "|---|---|---|---|"]
        for stub, header in sorted(declared.items(), key=lambda item: item[0].lower()):
            operator = operator_of(stub, operators)
            text.append(
                f"| `{stub}` | {f'`{operator}`' if operator else ''} | `{header}` | "
                f"{f'{{source}}`{here[stub]}`' if stub in here else ''} |"
            )
        box = nodes.container(classes=["stubs"])
        box += self.parse_text_to_nodes("\n".join(text))
        return [box]


def setup(app: Sphinx) -> None:
    """Registers the directive."""
    app.add_directive("stubtable", StubTable)
