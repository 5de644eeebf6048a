"""What must hold of each operator of the list, whatever is in it: numbers, gradients, Meta, compile, stubs, rows.

PYTHONPATH=DIR pytest test_operators.py        DIR is where `cmake --install` has put the library
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401
from operator_list import Operator, Reader

NAMESPACE, OPERATORS = Reader(Path(__file__).with_name("operators.toml")).read()
DIRECTORY = Path(importlib.import_module(NAMESPACE).__file__).parent
EACH = [pytest.param(op, id=f"{op.namespace}::{op.name}") for op in OPERATORS]
FORMS = [pytest.param(op, it, id=f"{op.namespace}::{op.forms[it]}") for op in OPERATORS for it in op.forms]
SCALARS = {"float": 0.75, "number": 0.75, "int": 2, "bool": True}
SHAPES = {"same": [(3, 4)], "broadcast": [(3, 1), (4,), (2, 1, 1)], "number": [(), (3,)], "empty": [(0, 2)]}
TYPES = [torch.float32, torch.float64, torch.float16, torch.int64]


def overload(op: Operator, form: str = "functional") -> torch._ops.OpOverload:
    """A form of an operator, as torch.ops has it."""
    name, _, kind = op.forms[form].partition(".")
    return getattr(getattr(getattr(torch.ops, op.namespace), name), kind or "default")


def arguments(op: Operator, shapes: list[tuple[int, ...]], dtype: torch.dtype = torch.float32) -> dict[str, object]:
    """Arguments on the CPU; the shapes go round among the tensors."""
    torch.manual_seed(1)
    values: dict[str, object] = {name: SCALARS.get(kind) for name, (kind, _) in op.arguments.items()}
    for index, name in enumerate(op.tensors()):
        values[name] = (3 * torch.randn(shapes[index % len(shapes)])).to(dtype)
    return values


def on_device(values: dict[str, object], device: str = "openreg") -> list[object]:
    """The same arguments there."""
    return [it.to(device) if isinstance(it, torch.Tensor) else it for it in values.values()]


def reference(op: Operator, values: dict[str, object]) -> torch.Tensor:
    """What the list says that the operator computes."""
    return eval(op.reference, {"torch": torch}, values)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("op", "form"), FORMS)
def test_a_form_computes_what_the_reference_computes_on_the_cpu(op, form, shapes, dtype):
    values = arguments(op, shapes, dtype)
    try:
        expected = reference(op, values)
    except RuntimeError:  # celu of integers
        pytest.skip("the reference does not compute this type")
    given, out = on_device(values), []
    if form == "inplace" and (expected.shape != given[0].shape or expected.dtype != dtype):
        with pytest.raises(RuntimeError, match=r"doesn't match the broadcast shape|can't be cast"):
            overload(op, form)(*given)
        return
    with torch.openreg.no_fallback():
        if form == "out":
            out = [torch.empty(0, dtype=expected.dtype, device="openreg")]
            given_out = {"out": out[0]}
            result = overload(op, form)(*given, **given_out)
        else:
            result = overload(op, form)(*given)
    assert result is (out[0] if out else given[0] if form == "inplace" else result)
    torch.testing.assert_close(result.cpu(), expected, equal_nan=True)


@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(("op", "form"), [it for it in FORMS if it.values[1] != "out"])
def test_its_gradient_is_that_of_the_reference(op, form, shapes):
    values = arguments(op, shapes)
    names, leaves = op.tensors(), [values[name].requires_grad_() for name in op.tensors()]
    there = on_device({name: it.detach() if name in names else it for name, it in values.items()})
    remote = [it.requires_grad_() for it in there if isinstance(it, torch.Tensor)]
    if form == "inplace":
        if reference(op, values).shape != leaves[0].shape:
            return
        there[0] = there[0] * 1  # a leaf cannot be overwritten
    result = overload(op, form)(*there)
    if not op.derivative and op.namespace != "aten":
        with pytest.raises(RuntimeError, match=f"derivative for {NAMESPACE}::{op.name} is not implemented"):
            result.sum().backward()
        return
    expected = torch.autograd.grad(reference(op, values).square().sum(), leaves)
    for gradient, same in zip(torch.autograd.grad(result.square().sum(), remote), expected, strict=True):
        torch.testing.assert_close(gradient.cpu(), same)


@pytest.mark.parametrize("op", [it for it in EACH if it.values[0].derivative])
def test_each_tensor_may_be_the_only_one_that_wants_a_gradient(op):
    for name in op.tensors():
        values = arguments(op, [(3,)])
        values[name].requires_grad_()
        there = dict(
            zip(values, on_device({it: at.detach() if it == name else at for it, at in values.items()}), strict=True)
        )
        there[name].requires_grad_()
        (expected,) = torch.autograd.grad(reference(op, values).sum(), values[name])
        (gradient,) = torch.autograd.grad(overload(op)(*there.values()).sum(), there[name])
        torch.testing.assert_close(gradient.cpu(), expected)


@pytest.mark.parametrize("op", [it for it in EACH if it.values[0].derivative])
def test_a_second_derivative_is_refused_and_not_wrong(op):
    given = on_device(arguments(op, [(3,)]))
    given[0].requires_grad_()
    (first,) = torch.autograd.grad(overload(op)(*given).square().sum(), given[0], create_graph=True)
    with pytest.raises(RuntimeError, match=rf"derivative for {NAMESPACE}::{op.name}_backward is not implemented"):
        first.sum().backward()


@pytest.mark.parametrize("turned", ["none", "the first", "all"])  # tensors whose last dimension is not the dense one
@pytest.mark.parametrize("shapes", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("op", EACH)
def test_on_meta_it_has_the_sizes_strides_and_type_that_it_has_on_the_device(op, shapes, turned):
    for dtype in (torch.float32, torch.float16):
        values = arguments(op, shapes, dtype)
        for name in {"none": [], "the first": op.tensors()[:1], "all": op.tensors()}[turned]:
            order = range(values[name].dim())[::-1]
            values[name] = values[name].permute(list(order)).contiguous().permute(list(order))
        real, fake = overload(op)(*on_device(values)), overload(op)(*on_device(values, "meta"))
        assert (fake.shape, fake.stride(), fake.dtype) == (real.shape, real.stride(), real.dtype)


@pytest.mark.parametrize("op", [it for it in EACH if it.values[0].namespace != "aten"])
def test_opcheck_finds_nothing(op):
    given = on_device(arguments(op, [(3, 4)]))
    for it in given if op.derivative else []:
        if isinstance(it, torch.Tensor):
            it.requires_grad_()
    tests = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")  # the fourth knows no device of ours
    torch.library.opcheck(overload(op), given, test_utils=tests)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("op", "form"), FORMS)
def test_it_compiles_as_a_whole_and_computes_the_same(op, form, dynamic):
    def call(*given):
        if form == "out":
            return overload(op, form)(*given, out=torch.empty_like(given[0])) * 2
        return overload(op, form)(given[0] * 2, *given[1:]) * 2

    given, again = on_device(arguments(op, [(3, 4)])), on_device(arguments(op, [(3, 4)]))
    torch._dynamo.reset()
    compiled = torch.compile(call, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    differentiable = form != "out" and (op.derivative or op.namespace == "aten")
    for it in (given[0], again[0]) if differentiable else ():
        it.requires_grad_()
    result, expected = compiled(*given), call(*again)
    torch.testing.assert_close(result, expected)
    if differentiable:
        result.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(given[0].grad, again[0].grad)


def test_the_stubs_are_what_python_meets():
    tree = ast.parse((DIRECTORY / f"{NAMESPACE}.pyi").read_text())
    stubs = {it.name: it.args for it in tree.body if isinstance(it, ast.FunctionDef)}
    own = [op for op in OPERATORS if op.namespace == NAMESPACE]
    assert stubs.keys() == {op.forms[it] for op in own for it in op.forms if it != "out"}
    for op in own:
        for form in set(op.forms) - {"out"}:
            args = stubs[op.forms[form]]
            assert [it.arg for it in args.args] == [it.name for it in overload(op, form)._schema.arguments]
            assert len(args.defaults) == sum(it.has_default_value() for it in overload(op, form)._schema.arguments)
            assert [it.arg for it in args.kwonlyargs] == ["out"] * (form == "functional" and "out" in op.forms)


def test_each_operator_has_a_row_and_each_form_a_kernel_of_its_own():
    rows = (Path(__file__).parent / "generated" / "operators.md").read_text().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == [f"{op.namespace}::{op.name}" for op in OPERATORS]
    served = torch.openreg.operator_coverage(NAMESPACE) | torch.openreg.operator_coverage()
    forms = [f"{op.namespace}::{name}" for op in OPERATORS for name in op.forms.values()]
    assert {name: served[name] for name in forms} == dict.fromkeys(forms, "native")
