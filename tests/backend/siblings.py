"""The other forms of an operator that runs: in place and with ``out=``, called with the same arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map

Signature = tuple[str, tuple[tuple[str, str], ...]]

# Operators that have no kernel on the CPU, which devices override, and what the CPU computes in their place.
REFERENCES = {
    "aten::convolution_overrideable": torch.ops.aten.convolution.default,
    "aten::convolution_backward_overrideable": torch.ops.aten.convolution_backward.default,
}


def overload(name: str) -> torch._ops.OpOverload:
    """The operator of a name such as ``aten::add.Tensor``."""
    namespace, _, rest = name.partition("::")
    packet, _, suffix = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, namespace), packet), suffix or "default")


def signature(operator: torch._ops.OpOverload) -> Signature:
    """What the forms of an operator have in common: the name, and the arguments that are not results."""
    schema = operator._schema
    name = schema.name.removeprefix("aten::")
    in_place = name.endswith("_") and not name.endswith("__")
    arguments = tuple((argument.name, str(argument.type)) for argument in schema.arguments if not argument.is_out)
    return name[:-1] if in_place else name, arguments


class FirstCalls(TorchDispatchMode):
    """Notes the first call of each operator that reaches the device."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: dict[torch._ops.OpOverload, tuple[Any, Any]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Calls the operator."""
        self.calls.setdefault(func, (copy(args), copy(kwargs or {})))
        return func(*args, **(kwargs or {}))


def copy(value: Any) -> Any:
    """A nest of containers with copies of its tensors."""
    return tree_map(lambda leaf: leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf, value)


class Siblings:
    """Finds the other forms of operators.

    Args:
        names: Operators that may be found.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._forms: dict[Signature, list[torch._ops.OpOverload]] = {}
        for name in names:
            operator = overload(name)
            self._forms.setdefault(signature(operator), []).append(operator)

    def forms(self, operator: torch._ops.OpOverload) -> list[torch._ops.OpOverload]:
        """All forms of an operator, itself among them if it may be found."""
        return self._forms.get(signature(operator), [])

    def calls(self, run: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
        """Runs something, and yields calls of all other forms of the operators that ran, with the same arguments.

        What it raises is of no interest: the operators before have run.
        """
        with FirstCalls() as first, suppress(Exception):
            run()
        for operator, (args, kwargs) in first.calls.items():
            for form in self.forms(operator):
                if form is not operator:
                    yield lambda form=form, operator=operator, a=args, k=kwargs: call(form, operator, copy(a), copy(k))


def call(form: torch._ops.OpOverload, operator: torch._ops.OpOverload, args: Any, kwargs: Any) -> Any:
    """Calls a form with an operator's arguments; results go into empty tensors where it wants some to fill."""
    return form(*args, **arguments_of(form, operator, args, kwargs))


def arguments_of(form: torch._ops.OpOverload, operator: torch._ops.OpOverload, args: Any, kwargs: Any) -> Any:
    """An operator's keyword arguments as a form of it wants them: with empty tensors for its results."""
    outs = [argument.name for argument in form._schema.arguments if argument.is_out]
    known = {argument.name for argument in form._schema.arguments}
    kwargs = {name: value for name, value in kwargs.items() if name in known}
    if outs:
        results = tree_flatten(operator(*copy(args), **copy(kwargs)))[0]
        is_list = len(outs) == 1 and len(results) != 1
        empty = [result.new_empty(0) for result in results if isinstance(result, torch.Tensor)]
        kwargs |= {outs[0]: empty} if is_list else dict(zip(outs, empty, strict=True))
    return kwargs


class Call:
    """A call of a form of an operator.

    Args:
        form: Which.
        operator: The form that was called.
        args: What it was called with.
        kwargs: What it was called with by name.
    """

    def __init__(
        self, form: torch._ops.OpOverload, operator: torch._ops.OpOverload, args: Any, kwargs: dict[str, Any]
    ) -> None:
        named = arguments_of(form, operator, args, kwargs)
        named |= dict(zip((argument.name for argument in form._schema.arguments), args, strict=False))
        self.form = form
        #: All by name, in the schema's order.
        self.arguments = {arg.name: named[arg.name] for arg in form._schema.arguments if arg.name in named}
