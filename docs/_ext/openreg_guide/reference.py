"""Doxygen before Sphinx, and the page of the C++ side, which lists the headers that there are."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import pkgutil
import subprocess
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform
from sphinx.util.docutils import SphinxDirective

from .repository import repository

# Project of Breathe -> where its headers are.
PROJECTS = {"contract": "openreg/driver/include", "backend": "openreg/csrc"}


def _headers(root: Path, project: str) -> list[Path]:
    return sorted((root / PROJECTS[project]).rglob("*.h"))


def _run_doxygen(root: Path, project: str, config: Path) -> None:
    """Makes build/doxygen/PROJECT/xml, unless it is of these very headers."""
    headers = _headers(root, project)
    out = root / "build" / "doxygen" / project
    digest = hashlib.sha256(config.read_bytes())
    for header in headers:
        digest.update(str(header).encode() + header.read_bytes())
    stamp = out / "stamp"
    if stamp.is_file() and stamp.read_text() == digest.hexdigest():
        return
    out.mkdir(parents=True, exist_ok=True)
    settings = config.read_text(encoding="utf-8") + f'\nOUTPUT_DIRECTORY = "{out}"\nSTRIP_FROM_PATH = "{root}"\nINPUT ='
    settings += "".join(f' \\\n  "{header}"' for header in headers)
    try:
        done = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True, cwd=root, check=False)
    except FileNotFoundError as error:
        raise ExtensionError("the reference needs Doxygen, and there is no `doxygen`: apt install doxygen") from error
    if done.returncode or done.stderr.strip():
        stamp.unlink(missing_ok=True)
        raise ExtensionError(f"Doxygen on {PROJECTS[project]}:\n{done.stderr.strip()}")
    stamp.write_text(digest.hexdigest())


def _doxygen(app: Sphinx) -> None:
    if not app.config.openreg_reference:
        return
    try:
        import torch_openreg  # noqa: F401 (a clear error now, not one a member later)
    except ImportError as error:
        raise ExtensionError(
            f"the Python reference imports torch_openreg, which failed: {error}\n"
            "Build the backend first (`make build`), or leave the reference out with -D openreg_reference=0."
        ) from error
    root = repository(app.env).root
    for project in PROJECTS:
        _run_doxygen(root, project, Path(app.srcdir) / "Doxyfile")


def _declarations(xml: Path) -> dict[str, list[tuple[str, str]]]:
    """What each header declares, as (kind, name) for a Breathe directive, in the order of the lines.

    Breathe's own listing of a file declares the namespace anew for each file, which Sphinx refuses.
    """
    found: dict[str, list[tuple[int, str, str]]] = {}

    def note(node: ElementTree.Element, kind: str, name: str) -> None:
        location = node.find("location")
        found.setdefault(location.get("file"), []).append((int(location.get("line")), kind, name))

    for entry in ElementTree.parse(xml / "index.xml").getroot():
        kind = entry.get("kind")
        if kind not in ("class", "struct", "namespace", "file"):
            continue
        compound = ElementTree.parse(xml / f"{entry.get('refid')}.xml").getroot().find("compounddef")
        name = compound.findtext("compoundname")
        if kind in ("class", "struct"):
            note(compound, kind, name)
            continue
        for member in compound.iter("memberdef"):
            scope = f"{name}::" if kind == "namespace" else ""
            arguments = member.findtext("argsstring") if member.get("kind") == "function" else ""
            note(member, member.get("kind"), f"{scope}{member.findtext('name')}{arguments}")
    return {path: [(kind, name) for _, kind, name in sorted(set(names))] for path, names in found.items()}


class CppReference(SphinxDirective):
    """The headers of the PyTorch side, folder by folder: those in some folders of csrc, or all but those in others."""

    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar = {"without": directives.unchanged_required}

    def run(self) -> list[nodes.Node]:
        """Returns a section a folder; Breathe fills them."""
        root = repository(self.env).root
        declarations = _declarations(root / "build" / "doxygen" / "backend" / "xml")
        self.env.note_reread()  # a header may have come since
        text: list[str] = []
        folder = ""
        wanted, without = (self.arguments or ["."])[0].split(), self.options.get("without", "").split()
        for header in _headers(root, "backend"):
            path = header.relative_to(root)
            place = path.relative_to(PROJECTS["backend"])
            if any(map(place.is_relative_to, without)) or not any(map(place.is_relative_to, wanted)):
                continue
            if path.parent.name != folder:
                folder = path.parent.name
                text += [f"## {folder}", ""]
            purpose = next(iter(header.read_text(encoding="utf-8").splitlines()), "").removeprefix("//").strip()
            text += [f"{{source}}`{path.as_posix()}`", f": {purpose}", ""]
            for kind, name in declarations.get(path.as_posix(), []):
                members = [":members:", ":undoc-members:"] if kind in ("class", "struct") else []
                text += [f"```{{doxygen{kind}}} {name}", ":project: backend", *members, "```", ""]
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)


class DropAnonymous(SphinxTransform):
    """Takes enumerations without a name out of the page's table of contents, where they would be called "@0"."""

    default_priority = 800

    def apply(self, **kwargs: Any) -> None:
        """Clears the entry's name: Sphinx leaves it out."""
        for signature in self.document.findall(addnodes.desc_signature):
            if signature.get("_toc_name", "").startswith("@"):
                signature["_toc_name"] = ""


class PythonReference(SphinxDirective):
    """Every public name of `torch.openreg`, module by module."""

    def run(self) -> list[nodes.Node]:
        """Returns a section a module; autodoc fills them."""
        import torch_openreg.openreg as package

        text: list[str] = []
        for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda info: info.name):
            module = importlib.import_module(f"{package.__name__}.{info.name}")
            names = getattr(module, "__all__", [])
            if not names:
                continue
            path = f"openreg/torch_openreg/openreg/{info.name}.py"
            text += [f"## {info.name}", "", f"{{source}}`{path}`", "", "```{eval-rst}"]
            text += [inspect.cleandoc(module.__doc__ or ""), ""]
            for name in names:
                value = getattr(module, name)
                kind = "autoclass" if inspect.isclass(value) else "autofunction" if callable(value) else "autodata"
                text += [f".. {kind}:: torch.openreg.{name}"]
                text += {"autoclass": ["   :members:"], "autodata": ["   :no-value:"]}.get(kind, [])
                text += [""]
            text += ["```", ""]
        return self.parse_text_to_nodes("\n".join(text), allow_section_headings=True)


class LeftOut(SphinxDirective):
    """Stands in for the directives of the reference when it is left out."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec: ClassVar = dict.fromkeys(("project", "sections", "content-only", "without"), directives.unchanged)

    def run(self) -> list[nodes.Node]:
        """Returns nothing."""
        return []


def _leave_out(app: Sphinx, config: Config) -> None:
    """Without the reference, names that only it defines aren't looked for."""
    if not config.openreg_reference:
        config.nitpick_ignore_regex.append((r"(cpp|py):.*", r".*"))
        for name in (
            "doxygenfile",
            "doxygengroup",
            "cppreference",
            "pythonreference",
            "coveragecounts",
            "coveragecore",
            "coveragetable",
        ):
            app.add_directive(name, LeftOut, override=True)


def setup(app: Sphinx) -> None:
    """Registers the directive and runs Doxygen before anything is read."""
    app.add_directive("cppreference", CppReference)
    app.add_directive("pythonreference", PythonReference)
    app.add_transform(DropAnonymous)
    app.connect("config-inited", _leave_out)
    app.connect("builder-inited", _doxygen)
