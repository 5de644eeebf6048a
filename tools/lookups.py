"""Finds which names PyTorch's Python looks up in the module of a device, `torch.<name>`, and in which functions.

python tools/lookups.py     prints them for the installed PyTorch, of which only the files are read
"""

from __future__ import annotations

import ast
import importlib.util
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

# Not about devices from outside: other devices' own modules, tests, and Inductor, which has registrations of its own.
_OTHERS = re.compile(r"^(testing|include|_inductor|cuda|xpu|mtia|mps|_vendor|utils/(benchmark|hipify))/")
_FINDERS = ("get_device_module", "_get_device_module")
_ANY_DEVICE = re.compile(r"device|backend")  # in what chooses the module: getattr(torch, device_type)
_INTERESTING = re.compile(r"get_device_module|getattr\(\s*torch,")


class _Lookups(ast.NodeVisitor):
    """Walks a file and collects names, each with the function that looks it up."""

    def __init__(self, tree: ast.Module) -> None:
        self.found: list[tuple[str, str]] = []
        self._inside: list[str] = []
        self._modules: set[str] = set()  # variables that hold the module of a device
        self._texts: dict[str, set[str]] = defaultdict(set)  # variables that hold a text, or a list of them
        for node in ast.walk(tree):
            self._assignment(node)
        for node in ast.walk(tree):
            if isinstance(node, ast.For) and isinstance(node.iter, ast.Name):
                self._texts[ast.unparse(node.target)] |= self._texts[node.iter.id]
        self.visit(tree)

    def _assignment(self, node: ast.AST) -> None:
        if isinstance(node, ast.NamedExpr | ast.AnnAssign):
            targets, value = [node.target], node.value
        elif isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        else:
            return
        for target in map(ast.unparse, targets):
            if value is not None and self._is_module(value):
                self._modules.add(target)
            parts = value.elts if isinstance(value, ast.List) else [value]
            self._texts[target] |= {it.value for it in parts if isinstance(it, ast.Constant) and type(it.value) is str}

    def _is_module(self, node: ast.expr) -> bool:
        """Whether an expression is the module of a device that isn't known when the file is written."""
        if not isinstance(node, ast.Call):
            return ast.unparse(node) in self._modules
        function = ast.unparse(node.func)
        if function == "getattr" and ast.unparse(node.args[0]) == "torch":
            chosen = node.args[1]
            return not isinstance(chosen, ast.Constant) and bool(_ANY_DEVICE.search(ast.unparse(chosen)))
        return function.rpartition(".")[2] in _FINDERS

    def _visit_named(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        self._inside.append(node.name)
        self.generic_visit(node)
        self._inside.pop()

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _visit_named  # noqa: N815 - ast's names

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """`module.name`."""
        if self._is_module(node.value):
            self._add(node.attr)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """`getattr(module, "name")` and `hasattr(module, "name")`."""
        if ast.unparse(node.func) in ("getattr", "hasattr") and self._is_module(node.args[0]):
            name = node.args[1]
            for text in [name.value] if isinstance(name, ast.Constant) else self._texts[ast.unparse(name)]:
                self._add(text)
        self.generic_visit(node)

    def _add(self, name: str) -> None:
        if not name.startswith("__"):
            self.found.append((name, ".".join(self._inside) or "the module itself"))


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if not _OTHERS.search(name) and _INTERESTING.search(text := path.read_text(encoding="utf-8")):
            yield name, text


def lookups(folder: Path) -> dict[str, list[str]]:
    """Name -> the places that look it up, as `torch/random.py: fork_rng`.

    Args:
        folder: The package torch.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for file, text in _files(folder):
        for name, function in _Lookups(ast.parse(text)).found:
            found[name].add(f"torch/{file}: {function}")
    return {name: sorted(found[name]) for name in sorted(found)}


def installed() -> Path:
    """The package torch, which isn't imported."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise SystemExit("lookups: PyTorch isn't installed")
    return Path(spec.origin).parent


if __name__ == "__main__":
    for it, places in lookups(installed()).items():
        print(f"{it}: {', '.join(places)}")
