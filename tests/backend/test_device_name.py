"""The device's name stands in one header and in one Python module; all else takes it from there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "openreg"
# Not "openreg::rms_norm", an operator's namespace; not "torch_openreg", the package; not "torch.openreg.device", which
# is in code that Inductor writes, as `torch.openreg.device` is in code of ours.
NAME = re.compile(r"(?<!torch\.)\bopenreg\b(?!::)")
LITERAL = re.compile(r'"(?:[^"\\\n]|\\.)*"')


def of_cpp() -> Iterator[str]:
    """The literals with the name above the contract, with their files."""
    for folder in ("csrc", "bindings"):
        for file in sorted((ROOT / folder).rglob("*.[ch]*")):
            for line in file.read_text(encoding="utf-8").splitlines():
                if not line.lstrip().startswith(("//", "*", "/*", "#include")):
                    code = line.partition(" // ")[0].partition(" ///< ")[0]
                    yield from (f"{file.relative_to(ROOT)}: {it}" for it in LITERAL.findall(code) if NAME.search(it))


def of_python() -> Iterator[str]:
    """The same of the package, without docstrings. The doctor examines any backend, and has a default of its own."""
    package = ROOT / "torch_openreg"
    for file in sorted(package.rglob("*.py")):
        if file.relative_to(package).parts[0] in ("doctor", "lib"):
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"))
        statements = {id(it.value) for it in ast.walk(tree) if isinstance(it, ast.Expr)}
        for it in ast.walk(tree):
            is_text = isinstance(it, ast.Constant) and isinstance(it.value, str) and id(it) not in statements
            if is_text and NAME.search(it.value):
                yield f"{file.relative_to(ROOT)}: {it.value!r}"


def test_cpp_has_the_name_in_one_header_and_the_drivers_module_in_one_place():
    assert list(of_cpp()) == ['csrc/device/device_name.h: "openreg"', 'csrc/ops/launch/kernel.cpp: "openreg"']


def test_python_has_the_name_in_one_module():
    assert list(of_python()) == ["torch_openreg/_name.py: 'openreg'"]
