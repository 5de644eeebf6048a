"""Reads a list of operators, and says of what is wrong in it where, what came and what was expected."""

from __future__ import annotations

import ast
import contextlib
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import torch

KEYS = {"kernel": str, "forms": list, "derivative": dict, "reference": str}
FORMS = ("functional", "inplace", "out")
TYPES = ("Tensor", "float", "int", "bool", "number")  # the last is a schema's Scalar


class ListError(Exception):
    """Names file, line and entry."""


@dataclass
class Call:
    """A kernel, the tensors that it reads, and its parameters as they stand there: ``huber(input, target, delta)``."""

    kernel: str
    tensors: list[str]
    parameters: list[str]

    def names(self) -> list[str]:
        """The arguments in it, in the kernel's order."""
        words = re.findall(r"[A-Za-z_]\w*", " ".join(self.parameters))
        return list(dict.fromkeys([*self.tensors, *words]))


@dataclass
class Operator:
    """An entry of the list; or one of its derivatives, which are operators, too."""

    namespace: str
    name: str  # without overload: "huber_backward"
    overload: str
    arguments: dict[str, tuple[str, str]]  # name -> type, and as in the schema: {"delta": ("float", "float delta=1.0")}
    call: Call
    forms: dict[str, str]  # form -> name with overload: {"out": "gate.out"}
    reference: str
    derivative: dict[str, Operator]  # argument -> what computes its gradient

    def tensors(self) -> list[str]:
        """The arguments that are tensors."""
        return [name for name, (kind, _) in self.arguments.items() if kind == "Tensor"]


class Reader:
    """Reads one list: ``Reader(path).read()``."""

    def __init__(self, path: Path) -> None:
        self.path, self.text, self.entry = path, path.read_text(encoding="utf-8"), ""

    def fail(self, what: str) -> NoReturn:
        """Raises, with the place in front."""
        line = next(
            number for number, line in enumerate([*self.text.splitlines(), self.entry], 1) if self.entry in line
        )
        raise ListError(": ".join([f"{self.path.name}:{line}", *filter(None, [self.entry.partition("(")[0]]), what]))

    def read(self) -> tuple[str, list[Operator]]:
        """Returns the namespace of the list's own operators, and all operators."""
        try:
            tables = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise ListError(f"{self.path.name}: {error}") from None
        own = [name for name, table in tables.items() if name != "aten" and isinstance(table, dict)]
        if len(own) != 1 or len(tables) > 1 + ("aten" in tables):
            self.fail(f"has {', '.join(tables) or 'nothing'}; expected a table of one namespace, and [aten] if need be")
        return own[0], [self.read_entry(own[0], space, *it) for space in tables for it in tables[space].items()]

    def read_entry(self, own: str, namespace: str, text: str, entry: dict[str, Any]) -> Operator:
        """Reads and checks an entry."""
        self.entry = text
        for key, value in entry.items() if isinstance(entry, dict) else [("nothing", entry)]:
            if not isinstance(value, KEYS.get(key, ())):
                self.fail(f"has {key} = {value!r}; expected " + ", ".join(f"{it} = {KEYS[it].__name__}" for it in KEYS))
        if left := {"kernel", "forms", *(["reference"] if namespace == own else [])} - entry.keys():
            self.fail(f"has no {min(left)}; expected {', '.join(sorted(left))}")
        try:
            schema = torch._C.parse_schema(f"{namespace}::{text}")
        except RuntimeError as error:
            self.fail(f"is {text}; expected a schema: {str(error).strip().splitlines()[0]}")
        if [str(it.type) for it in schema.returns] != ["Tensor"] or schema.is_mutable or "*" in text:
            self.fail(f"is {text}; expected the functional form, of one Tensor, with arguments that go by place")
        words = re.findall(r"[^(,]+?(?= *[,)])", text.partition("->")[0])
        arguments = {it.name: (str(it.type), word.strip()) for it, word in zip(schema.arguments, words, strict=True)}
        for name, (kind, word) in arguments.items():
            if kind not in TYPES:
                self.fail(f"argument {name} is {word!r}; expected a Tensor, float, int, bool or Scalar")
        if next(iter(arguments.values()), ("",))[0] != "Tensor":
            self.fail(f"has the arguments {', '.join(arguments) or 'none'}; expected a Tensor first")
        call = self.read_call("kernel", entry["kernel"], arguments)
        name = schema.name.partition("::")[2]
        reference = entry.get("reference", f"torch.ops.aten.{name}({', '.join(arguments)})")
        made = Operator(namespace, name, schema.overload_name, arguments, call, {}, reference, {})
        if left := [it for it in made.tensors() if it not in call.tensors]:
            self.fail(
                f"kernel is {entry['kernel']!r}, without {left[0]}; expected all tensors: {', '.join(made.tensors())}"
            )
        if "functional" not in entry["forms"] or not set(entry["forms"]) <= set(FORMS):
            self.fail(f"forms is {entry['forms']}; expected functional, and of inplace and out those that it has")
        made.forms = {form: self.name_of(made, form) for form in entry["forms"]}
        derivatives = entry.get("derivative", {})
        if derivatives and set(derivatives) != set(made.tensors()):
            self.fail(
                f"derivative is of {', '.join(derivatives)}; expected one of each tensor: {', '.join(made.tensors())}"
            )
        known = {**arguments, "grad": ("Tensor", "Tensor grad"), "result": ("Tensor", "Tensor result")}
        for argument, it in derivatives.items():
            call = self.read_call(f"derivative of {argument}", it, known)
            used = {it: (known[it][0], known[it][1].partition("=")[0]) for it in call.names()}
            forms = {"functional": f"{name}_backward.{argument}"}
            made.derivative[argument] = Operator(own, f"{name}_backward", argument, used, call, forms, "", {})
        return made

    def read_call(self, what: str, text: str, known: dict[str, tuple[str, str]]) -> Call:
        """Reads ``kernel(tensors, parameters)``."""
        match, words = re.fullmatch(r"(\w+)\((.*)\)", text), []
        with contextlib.suppress(SyntaxError):
            words = [ast.unparse(it) for it in ast.parse(f"f({match[2]})", mode="eval").body.args] if match else []
        call = Call(match[1] if match else "", [it for it in words if known.get(it, [""])[0] == "Tensor"], [])
        call.parameters = words[len(call.tensors) :]
        names = re.findall(r"[A-Za-z_]\w*", " ".join(words))
        if left := [it for it in names if it not in known]:
            self.fail(f"{what} is {text!r}, with {left[0]}; expected of {', '.join(known)}")
        if not call.tensors or words[: len(call.tensors)] != call.tensors:
            self.fail(f"{what} is {text!r}; expected a kernel with tensors and then parameters: elu(self, alpha, 1, 1)")
        return call

    def name_of(self, made: Operator, form: str) -> str:
        """The name of a form. PyTorch's operators have names already, and arguments."""
        name, dot = f"{made.name}_" if form == "inplace" else made.name, f".{made.overload}" if made.overload else ""
        if made.namespace != "aten":
            return f"{name}{'.out' if form == 'out' else dot}"
        there = torch._C._jit_get_schemas_for_operator(f"aten::{name}")
        wanted = [(it, kind) for it, (kind, _) in made.arguments.items()] + [("out", "Tensor")] * (form == "out")
        fits = [it for it in there if [(word.name, str(word.type)) for word in it.arguments] == wanted]
        if not fits:
            has = "; ".join(map(str, there)) or f"no aten::{name}"
            self.fail(f"PyTorch {torch.__version__} has {has}; expected these arguments, for the form {form}")
        return f"{name}.{fits[0].overload_name}".rstrip(".")
