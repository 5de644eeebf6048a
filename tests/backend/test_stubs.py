"""The stub file says what the extension module really exports."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import torch_openreg
from torch_openreg import _C

STUBS = ast.parse((Path(torch_openreg.__file__).parent / "_C.pyi").read_text())


def of_type(kind: type[ast.stmt], body: list[ast.stmt]) -> dict[str, ast.stmt]:
    return {node.name: node for node in body if isinstance(node, kind)}


def exported(owner: object) -> set[str]:
    return {name for name in vars(owner) if not name.startswith("__")}


def test_the_stubs_name_everything_that_the_module_exports_and_nothing_else() -> None:
    assert exported(_C) == of_type(ast.FunctionDef, STUBS.body).keys() | of_type(ast.ClassDef, STUBS.body).keys()


def test_the_stubs_of_a_class_name_its_members() -> None:
    for name, stub in of_type(ast.ClassDef, STUBS.body).items():
        members = {member for member in exported(getattr(_C, name)) if not member.startswith("_pybind11")}
        named = of_type(ast.FunctionDef, stub.body).keys() | of_type(ast.ClassDef, stub.body).keys()
        named |= {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
        assert members == {it for it in named if not it.startswith("__")}, name


def test_the_stubs_have_the_functions_own_parameters_and_results() -> None:
    for name, stub in of_type(ast.FunctionDef, STUBS.body).items():
        # pybind11 writes the signature into the first line of the docstring.
        signature = getattr(_C, name).__doc__.splitlines()[0]
        parameters, result = re.fullmatch(rf"{name}\((.*)\) -> (.*)", signature).groups()
        given = [parameter.split(":")[0] for parameter in parameters.split(", ") if parameter]
        assert given == [argument.arg for argument in stub.args.args], signature
        assert result.rpartition(".")[2] == ast.unparse(stub.returns), signature
