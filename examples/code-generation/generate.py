"""Writes all that operators need, from a list with an entry for each.

python generate.py operators.toml generated            writes the folder
python generate.py operators.toml generated --check    writes nothing, and names the files that differ
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from operator_list import FORMS, ListError, Operator, Reader

CPP = {"Tensor": "const Tensor&", "float": "double", "int": "int64_t", "bool": "bool", "number": "const at::Scalar&"}
RETURNS = {"functional": "Tensor", "inplace": "Tensor&", "out": "Tensor&"}
KEPT = {"float": "toDouble", "int": "toInt", "bool": "toBool", "number": "toScalar"}
ROWS = "| operator | forms | kernel | gradient | in Python |\n|---|---|---|---|---|\n"
HEAD = """// {what} Written by generate.py from {file}.
// clang-format off: a line is as long as its entry makes it
{includes}
namespace {namespace} {{
{text}
}} // namespace {namespace}
"""
CLASS = """
// {schema}
struct {title} : openreg::Elementwise {{
  void meta({meta}) {{
    iterate({{{tensors}}});
  }}
  void impl({impl}, const Tensor&) {{
    launchElementwise(openreg::kernelFamily<"{kernel}">, *this{parameters});
  }}
}};
"""
CALL = """
{returns} {function}({parameters}) {{
  return openreg::callOperator<"{space}::{name}", "{overload}">({function}, {names});
}}
"""
GRADIENT = """
struct {title}Gradient : torch::autograd::Function<{title}Gradient> {{
  static Tensor forward(AutogradContext* ctx, {parameters}) {{
    const at::AutoDispatchBelowADInplaceOrView guard;
    auto result = {function}({names});
    ctx->save_for_backward({{{saved}}});{kept}
    return result;
  }}
  static variable_list backward(AutogradContext* ctx, const variable_list& grads) {{
    const auto saved = ctx->get_saved_variables();
    return {{{gradients}}};
  }}
}};
"""
MODULE = '''"""The operators of {namespace}. Written by generate.py from {file}."""

from pathlib import Path
from typing import Any

import torch
import torch_openreg  # noqa: F401

torch.ops.load_library(Path(__file__).with_name("lib{namespace}.so"))


def __getattr__(name: str) -> Any:
    return getattr(torch.ops.{namespace}, name)
'''


def parameters(op: Operator, form: str = "", named: Iterable[str] | None = None) -> str:
    """Parameters in C++; of those that nobody reads, the type alone."""
    named = op.arguments if named is None else named
    words = [f"{CPP[kind]} {name if name in named else ''}".rstrip() for name, (kind, _) in op.arguments.items()]
    words[0] = words[0].removeprefix("const ") if form == "inplace" else words[0]
    return ", ".join(words + ["Tensor& out"] * (form == "out"))


def schema(op: Operator, form: str) -> str:
    """The schema of a form."""
    words = [word for _, word in op.arguments.values()]
    words[0] = words[0].replace("Tensor", "Tensor(a!)") if form == "inplace" else words[0]
    words += ["*", "Tensor(a!) out"] * (form == "out")
    return f"{op.forms[form]}({', '.join(words)}) -> Tensor{'(a!)' * (form != 'functional')}"


def function(op: Operator, form: str = "functional") -> str:
    """What a form is called in C++: ``gate``, ``gate_``, ``gate_out``, ``gate_backward_a``."""
    name, _, overload = op.forms[form].partition(".")
    return f"{name}_{overload}" if overload else name


def title(op: Operator) -> str:
    """The name of its class."""
    return "".join(word.capitalize() for word in f"{op.name}_{op.overload}".split("_"))


def kernel_class(op: Operator) -> str:
    """The structured class: what inputs there are, and the kernel."""
    casts = {"number": "{}.toDouble()", "int": "static_cast<double>({})"}  # its parameters are in floating point
    kinds = {name: casts.get(kind, "{}") for name, (kind, _) in op.arguments.items()}
    given = ", ".join(re.sub(r"[A-Za-z_]\w*", lambda it: kinds[it[0]].format(it[0]), w) for w in op.call.parameters)
    return CLASS.format(
        schema=schema(op, "functional"),
        title=title(op),
        meta=parameters(op, named=op.tensors()),
        tensors=", ".join(op.call.tensors),
        impl=parameters(op, named=set(op.call.names()) - set(op.tensors())),
        kernel=op.call.kernel,
        parameters=f", {{{given}}}" * bool(given),
    )


def caller(op: Operator, form: str) -> str:
    """What C++ calls: it goes through the dispatcher, to everyone who wants to see the call."""
    name, _, overload = op.forms[form].partition(".")
    names, words = ", ".join([*op.arguments, *["out"] * (form == "out")]), parameters(op, form)
    it = {"returns": RETURNS[form], "function": function(op, form), "parameters": words, "names": names}
    return CALL.format(**it, space=op.namespace, name=name, overload=overload)


def gradient_class(op: Operator) -> str:
    """The autograd function: what the forward pass keeps, and an operator for each gradient."""
    used = {name for it in op.derivative.values() for name in it.arguments}
    saved = [name for name in [*op.tensors(), "result"] if name in used]
    kept = [name for name in op.arguments if name in used and name not in saved]
    values = {"grad": "grads[0]"} | {name: f"saved[{index}]" for index, name in enumerate(saved)}
    values |= {name: f'ctx->saved_data["{name}"].{KEPT[op.arguments[name][0]]}()' for name in kept}
    gradients = []
    for name in op.arguments:
        gradient = "Tensor()"
        if it := op.derivative.get(name):
            call = f"{function(it)}({', '.join(values[used] for used in it.arguments)})"
            gradient = (
                f"ctx->needs_input_grad({op.tensors().index(name)})\n            ? {call}\n            : {gradient}"
            )
        gradients.append(gradient)
    return GRADIENT.format(
        title=title(op),
        parameters=parameters(op),
        function=function(op),
        names=", ".join(op.arguments),
        saved=", ".join(saved),
        kept="".join(f'\n    ctx->saved_data["{it}"] = {it};' for it in kept),
        gradients=",".join(f"\n        {it}" for it in gradients),
    )


def registrations(space: str, key: str, ops: list[Operator], what: str, forms: Iterable[str] = FORMS) -> str:
    """A block for a dispatch key: ``m.impl("gate.out", openreg::Structured<Gate>::out);``."""
    lines = []
    for op in (op for op in ops if op.namespace == space):
        for form in (form for form in forms if form in op.forms):
            names = {"title": title(op), "functional": function(op), "this": function(op, form), "form": form}
            lines.append(f'  m.impl("{op.forms[form]}", {what.format(**names)});\n')
    return f"\nTORCH_LIBRARY_IMPL({space}, {key}, m) {{\n{''.join(lines)}}}\n" * bool(lines)


def stub(op: Operator, form: str) -> str:
    """A line of the stubs."""
    kinds = {"Tensor": "Tensor", "number": "float"}
    words = [f"{name}: {kinds.get(it, it)}" + " = ..." * ("=" in word) for name, (it, word) in op.arguments.items()]
    words += ["*", "out: Tensor = ..."] * (form == "functional" and "out" in op.forms)
    return f"def {function(op, form)}({', '.join(words)}) -> Tensor: ...\n"


def row(op: Operator) -> str:
    """A row of the documentation."""
    gradients = ", ".join(dict.fromkeys(f"`{it.call.kernel}`" for it in op.derivative.values()))
    gradients = gradients or ("PyTorch's" if op.namespace == "aten" else "none: an error")
    name, forms = f"`{op.namespace}::{op.name}`", ", ".join(op.forms)
    return f"| {name} | {forms} | `{op.call.kernel}` | {gradients} | `{op.reference}` |\n"


def kernels(namespace: str, ops: list[Operator]) -> str:
    """The operators: classes, calls, schemas, kernels, and what they return without memory."""
    calls = "".join(caller(op, form) for op in ops for form in op.forms)
    own = [op for op in ops if op.namespace != "aten"]
    schemas = "".join(f'  m.def("{schema(op, form)}");\n' for op in own for form in op.forms)
    text = "namespace {\n" + "".join(map(kernel_class, ops)) + "\n} // namespace\n" + calls
    text += f"\nTORCH_LIBRARY({namespace}, m) {{\n{schemas}}}\n"
    for space in (namespace, "aten"):
        text += registrations(space, "PrivateUse1", ops, "openreg::Structured<{title}>::{form}")
    text += registrations(namespace, "Meta", ops, "openreg::OnMeta<{title}>::{form}")
    return text + registrations(namespace, "Functionalize", ops, "openreg::Assigned<{functional}>::{form}", FORMS[1:])


def gradients(namespace: str, ops: list[Operator]) -> str:
    """The gradients. Of what has none, a wish for one is an error and not silence."""
    some, none = [op for op in ops if op.derivative], [op for op in ops if not op.derivative]
    using = "\nusing torch::autograd::AutogradContext;\nusing torch::autograd::variable_list;\n"
    text = using + "\nnamespace {\n" + "".join(map(gradient_class, some))
    for space, key in ((namespace, "Autograd"), ("aten", "AutogradPrivateUse1")):
        text += registrations(space, key, some, "openreg::Differentiable<{title}Gradient, {this}>::{form}", FORMS[:2])
        text += registrations(space, key, some, "torch::autograd::autogradNotImplementedFallback()", FORMS[2:])
    text += registrations(namespace, "Autograd", none, "torch::autograd::autogradNotImplementedFallback()")
    what = "torch::autograd::autogradNotImplementedInplaceOrViewFallback()"
    return text + registrations(namespace, "ADInplaceOrView", ops, what, FORMS[1:]) + "\n} // namespace\n"


def files(namespace: str, listed: list[Operator], source: str) -> dict[str, str]:
    """All files, by name."""
    ops = [*listed, *(it for op in listed for it in op.derivative.values())]
    names = {"namespace": namespace, "file": source}

    def cpp(what: str, head: str, text: str) -> str:
        return HEAD.format(what=what, includes=head, text=text, **names)

    declared = ""
    for op in ops:
        lines = [f"C10_EXPORT {RETURNS[form]} {function(op, form)}({parameters(op, form)});" for form in op.forms]
        declared += "\n".join(["", f"/// {op.reference or 'A gradient.'}", *lines, ""])
    stubs = "".join(stub(op, form) for op in listed for form in op.forms if op.namespace != "aten" and form != "out")
    once = "#pragma once\n\n#include <ATen/core/Tensor.h>\n"
    includes = '#include "operators.h"\n\n#include "{}.h"\n'
    return {
        "operators.h": cpp("Calls.", once, f"\nusing at::Tensor;\n{declared}"),
        "operators.cpp": cpp("Kernels.", includes.format("elementwise"), kernels(namespace, ops)),
        "gradients.cpp": cpp("Gradients.", includes.format("differentiable"), gradients(namespace, ops)),
        f"{namespace}.py": MODULE.format(**names),
        f"{namespace}.pyi": f"{MODULE.format(**names).splitlines()[0]}\n\nfrom torch import Tensor\n\n{stubs}",
        "operators.md": ROWS + "".join(map(row, listed)),
    }


def main() -> str | None:
    """Writes the folder; returns what there is to complain of."""
    paths = [Path(it) for it in sys.argv[1:] if it != "--check"]
    if len(paths) != 2:
        return "generate.py: expected a list and a folder: python generate.py operators.toml generated"
    try:
        made = files(*Reader(paths[0]).read(), paths[0].name)
    except ListError as error:
        return str(error)
    have = {it.name: it.read_text(encoding="utf-8") for it in paths[1].glob("*.*") if it.suffix != ".so"}
    if "--check" in sys.argv:
        differ = ", ".join(it for it in made if made[it] != have.get(it))
        return f"{differ}: not what {paths[0].name} says; run generate.py without --check" if differ else None
    paths[1].mkdir(parents=True, exist_ok=True)
    for name, text in made.items():
        (paths[1] / name).write_text(text, encoding="utf-8")
    return None


if __name__ == "__main__":
    sys.exit(main())
