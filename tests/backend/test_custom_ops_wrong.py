"""Registrations that are wrong: what each of them says, when, and what finds those that say nothing."""

from __future__ import annotations

import ctypes
import re
import warnings
from collections.abc import Callable, Iterator

import pytest
import torch
from torch.library import opcheck
from torch.testing._internal.optests import OpCheckError

from .probe import built

Operator = Callable[[torch.Tensor], torch.Tensor]


@pytest.fixture
def library() -> Iterator[torch.library.Library]:
    """A namespace for one test."""
    with torch.library._scoped_library("wrong", "DEF") as made:
        yield made


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Calls a function of wrong_ops_probe.cpp and returns the error's text."""
    loaded = ctypes.CDLL(str(built("wrong_ops_probe", tmp_path_factory.mktemp("wrong"))))

    def call(name: str) -> str:
        text = ctypes.create_string_buffer(4096)
        assert getattr(loaded, name)(text, ctypes.c_size_t(len(text))) == 1
        return text.value.decode()

    return call


def registered(
    library: torch.library.Library, name: str, kernel: Operator, meta: Operator = torch.empty_like
) -> torch._ops.OpOverload:
    """An operator of one tensor with a kernel for the device and what its results look like."""
    library.define(f"{name}(Tensor x) -> Tensor")
    library.impl(name, kernel, "PrivateUse1")
    library.impl(name, meta, "Meta")
    return getattr(torch.ops.wrong, name).default


def found(operator: torch._ops.OpOverload, x: torch.Tensor) -> str:
    """What opcheck says."""
    with pytest.raises(OpCheckError) as caught:
        opcheck(operator, (x,))
    return str(caught.value)


# Said when the library is loaded


def test_a_function_that_does_not_fit_its_schema_is_refused_when_it_is_registered(probe: Callable[[str], str]) -> None:
    said = probe("other_arguments")
    assert "Inferred operator schema for a C++ kernel function doesn't match the expected function schema." in said
    assert "operator: wrong_cpp::one" in said
    assert "reason: The number of arguments is different. 1 vs 2." in said


def test_a_namespace_is_claimed_once_and_then_added_to(probe: Callable[[str], str]) -> None:
    said = probe("namespace_twice")
    assert said.startswith(
        "Only a single TORCH_LIBRARY can be used to register the namespace openreg; please put all of your definitions "
        "in a single TORCH_LIBRARY block."
    )
    assert "csrc/custom_ops/schemas.cpp" in said


def test_an_operator_is_defined_once() -> None:
    with (
        torch.library._scoped_library("openreg", "FRAGMENT") as fragment,
        pytest.raises(
            RuntimeError, match=r"Tried to register an operator \(openreg::rms_norm\(Tensor x\) -> Tensor\) with"
        ),
    ):
        fragment.define("rms_norm(Tensor x) -> Tensor")


# Said at the call


def test_a_function_of_python_is_compared_with_the_schema_when_it_is_called(
    library: torch.library.Library, device: str
) -> None:
    library.define("two(Tensor x, Tensor y) -> Tensor")
    library.impl("two", lambda x: x.clone(), "PrivateUse1")
    x = torch.ones(2, device=device)
    with pytest.raises(TypeError, match="takes 1 positional argument but 2 were given"):
        torch.ops.wrong.two(x, x)


def test_without_a_meta_there_is_no_graph(library: torch.library.Library, device: str) -> None:
    library.define("bare(Tensor x) -> Tensor")
    library.impl("bare", lambda x: x.clone(), "PrivateUse1")
    torch._dynamo.reset()
    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"unsupported operator: wrong\.bare\.default"):
        torch.compile(torch.ops.wrong.bare, fullgraph=True, backend="aot_eager")(torch.ones(2, device=device))


# Said by opcheck alone


def test_a_meta_that_lies_about_strides_is_found_by_opcheck_and_else_by_a_view_that_fails_in_graphs_only(
    library: torch.library.Library, device: str
) -> None:
    operator = registered(library, "turned", lambda x: x.t().contiguous(), lambda x: torch.empty_like(x.t()))
    x = torch.randn(4, 3, device=device)
    assert found(operator, x) == (
        "opcheck(op, ...): test_faketensor failed with When comparing the output of wrong.turned.default on FakeTensor "
        "and concrete Tensors, found mismatched tensor metadata: Stride mismatch! Strides are (4, 1) and (1, 3) "
        "(mismatched at 0)! (scroll up for stack trace)"
    )
    torch._dynamo.reset()

    def flat(x: torch.Tensor) -> torch.Tensor:
        return operator(x).view(-1)

    assert flat(x).shape == (12,)
    with pytest.raises(RuntimeError, match="Cannot view a tensor with shape"):
        torch.compile(flat, fullgraph=True, backend="aot_eager")(x)


def test_a_kernel_that_returns_what_it_was_given_is_found_by_opcheck(
    library: torch.library.Library, device: str
) -> None:
    operator = registered(library, "same", lambda x: x)
    x = torch.randn(3, device=device)
    assert found(operator, x) == (
        "opcheck(op, ...): test_schema failed with Argument x is not defined to alias output but was aliasing (scroll "
        "up for stack trace)"
    )
    torch._dynamo.reset()

    def change(x: torch.Tensor) -> torch.Tensor:
        operator(x).add_(1)
        return x * 1

    eager, graph = x.clone(), x.clone()
    change(eager)
    torch.compile(change, fullgraph=True, backend="aot_eager")(graph)
    assert torch.equal(eager, x + 1)  # the argument has changed, which the schema denies


def test_a_kernel_that_changes_its_argument_is_found_by_opcheck(library: torch.library.Library, device: str) -> None:
    operator = registered(library, "sly", lambda x: x.add_(1).clone())
    assert found(operator, torch.randn(3, device=device)) == (
        "opcheck(op, ...): test_schema failed with Argument x is not defined as mutable but was mutated (scroll up for "
        "stack trace)"
    )


def test_from_python_an_alias_is_refused_at_the_call(device: str) -> None:
    operator = torch.library.custom_op("wrong_alias::same", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError) as caught:
        operator(torch.ones(2, device=device))
    said = (
        "The output of this custom operator (1) must not also be an input to this custom operator and (2) may not "
        "alias any inputs to this custom operator or other returns."
    )
    assert said in str(caught.value)


# Said by nobody


def normalize(x: torch.Tensor) -> torch.Tensor:
    """A kernel whose work autograd doesn't see."""
    return torch.ops.openreg.rms_norm(x.detach(), torch.ones(3, device=x.device, dtype=x.dtype))


def test_without_a_derivative_a_gradient_is_missing_and_a_warning_is_all(
    library: torch.library.Library, device: str
) -> None:
    operator = registered(library, "blind", normalize)
    x = torch.randn(2, 3, device=device, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = operator(x)
        assert out.requires_grad  # it looks well
        (out.sum() + x.sum()).backward()
        doubles = torch.randn(2, 3, device=device, dtype=torch.float64, requires_grad=True)
        assert not torch.autograd.gradcheck(operator, (doubles,), raise_exception=False)
    assert torch.equal(x.grad, torch.ones_like(x))  # of the sum that goes round it
    said = (
        "wrong::blind: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop "
        "through it. This may lead to silently incorrect behavior."
    )
    assert any(said in str(warning.message) for warning in caught)


def test_with_the_fallback_off_there_is_not_even_a_warning(library: torch.library.Library, device: str) -> None:
    operator = registered(library, "mute", normalize)
    torch._C._set_autograd_fallback_mode("nothing")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert not operator(torch.randn(2, 3, device=device, requires_grad=True)).requires_grad
    finally:
        torch._C._set_autograd_fallback_mode("warn")


def test_from_python_a_missing_derivative_is_an_error_of_the_backward_pass(device: str) -> None:
    operator = torch.library.custom_op(
        "wrong_python::blind", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    x = torch.randn(2, 3, device=device, requires_grad=True)
    said = (
        "Trying to backward through wrong_python.blind.default but no autograd formula was registered. Please use "
        "register_autograd to add one."
    )
    with pytest.raises(RuntimeError, match=re.escape(said)):
        operator(x).sum().backward()


def test_a_function_of_c_plus_plus_is_refused_by_torch_func(device: str) -> None:
    x = torch.randn(2, 3, device=device)
    said = r"cannot use C\+\+ torch::autograd::Function with functorch transforms \(vmap, grad, vjp, etc\)"
    with pytest.raises(RuntimeError, match=said):
        torch.func.grad(lambda x: torch.ops.openreg.custom_autograd_fn_returns_self(x).sum())(x)


def test_a_result_that_has_an_alias_annotation_has_no_place_in_a_graph(
    library: torch.library.Library, device: str
) -> None:
    library.define("into(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("into", lambda x, out: out.copy_(x), "PrivateUse1")
    library.impl("into", lambda x, out: out, "Meta")
    x = torch.ones(2, device=device)
    with pytest.raises(OpCheckError) as caught:
        opcheck(torch.ops.wrong.into.default, (x,), {"out": torch.empty_like(x)}, test_utils="test_aot_dispatch_static")
    said = (
        "Found a custom (non-ATen) operator whose output has alias annotations: wrong::into(Tensor x, *, Tensor(a!) "
        "out) -> Tensor(a!)."
    )
    assert said in str(caught.value)
