"""The calls of openreg's own operators that an entry of PyTorch's operator database ends in, and variants of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import torch
from comparison import DEVICE
from opinfo_worker import SEED, backward, forward
from siblings import Siblings, arguments_of, copy
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

Run = tuple[Any, dict[str, Any]]  # results, and arguments

SAMPLES = 6  # of an entry: enough to meet optional arguments, given and not
LARGE = 10_000  # elements; a call with fewer shows as much


class Call(NamedTuple):
    """An operator, and all its arguments by name."""

    operator: torch._ops.OpOverload
    arguments: dict[str, Any]

    @property
    def key(self) -> str:
        """The operator, and which of its arguments are tensors."""
        return " ".join([self.operator.name(), *(where for where, _ in self.tensors())])

    @property
    def size(self) -> int:
        """Elements of all tensors."""
        return sum(tensor.numel() for _, tensor in self.tensors())

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        """The tensors among the arguments and what they are called; of a list, the first and the last."""
        for name, value in self.arguments.items():
            if isinstance(value, torch.Tensor):
                yield name, value
            elif isinstance(value, (list, tuple)):
                for index in sorted({0, len(value) - 1}):
                    if value and isinstance(value[index], torch.Tensor):
                        yield f"{name}[{index}]", value[index]

    def with_type(self, where: str, dtype: torch.dtype) -> Call:
        """The call with one of its tensors in another data type."""
        name, _, index = where.rstrip("]").partition("[")
        value = self.arguments[name]
        if index:
            value = list(value)
            value[int(index)] = value[int(index)].to(dtype)
        else:
            value = value.to(dtype)
        return Call(self.operator, self.arguments | {name: value})

    def on(self, device: torch.device) -> Call:
        """A copy of the call with all that is on openreg on another device."""

        def move(leaf: Any) -> Any:
            if isinstance(leaf, torch.Tensor):
                return leaf.detach().to(device if leaf.device == DEVICE else leaf.device, copy=True)
            return device if isinstance(leaf, torch.device) and leaf.type == DEVICE.type else leaf

        return Call(self.operator, tree_map(move, self.arguments))

    def is_plain(self) -> bool:
        """Whether it can be made again elsewhere: no storage, stream or generator, no sparse tensor."""
        strange = (torch.UntypedStorage, torch.Stream, torch.Generator)
        return not any(
            isinstance(leaf, strange) or (isinstance(leaf, torch.Tensor) and leaf.layout is not torch.strided)
            for leaf in tree_leaves(self.arguments)
        )

    def is_here(self) -> bool:
        """Whether it has to do with openreg, and not with the CPU only."""
        return any(getattr(leaf, "device", leaf) == DEVICE for leaf in tree_leaves(self.arguments))


class NativeCalls(TorchDispatchMode):
    """Notes a call of each native operator with each set of tensors among its arguments: the one with most elements."""

    def __init__(self, native: set[str]) -> None:
        super().__init__()
        self._native = native
        self.calls: dict[str, tuple[Call, tuple[Any, dict[str, Any]]]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Calls the operator."""
        kwargs = kwargs or {}
        if func.name() in self._native:
            names = [argument.name for argument in func._schema.arguments]
            call = Call(func, dict(zip(names, args, strict=False)) | kwargs)
            known = self.calls.get(call.key)
            if (known is None or known[0].size < call.size <= LARGE) and call.is_plain() and call.is_here():
                call = Call(func, copy(call.arguments))
                self.calls[call.key] = call, (copy(args), copy(kwargs))
        return func(*args, **kwargs)


def chosen(op: OpInfo, dtype: torch.dtype) -> list[SampleInput]:
    """Samples of an entry on openreg, spread over those that there are."""
    grad = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    torch.manual_seed(SEED)
    made = list(itertools.islice(op.sample_inputs(DEVICE, dtype, requires_grad=grad), 8 * SAMPLES))
    return made[:: -(-len(made) // SAMPLES) or 1]


def run_samples(op: OpInfo, dtype: torch.dtype) -> None:
    """Runs samples of an entry on openreg, forward and backward."""
    for sample in chosen(op, dtype):
        with suppress(Exception):  # a sample that does not run has no calls
            backward(sample, forward(op, sample))


def native_calls(program: Callable[[], None], native: set[str], siblings: Siblings) -> Iterator[Call]:
    """Runs a program, and yields the calls of native operators within.

    And those of the operators' other forms: in place, and into outputs that are given.
    """
    with NativeCalls(native) as mode:
        program()
    for call, (args, kwargs) in mode.calls.values():
        yield call
        for form in siblings.forms(call.operator):
            with suppress(Exception):  # a form that does not take these
                named = arguments_of(form, call.operator, copy(args), copy(kwargs))
                names = [argument.name for argument in form._schema.arguments]
                other = Call(form, dict(zip(names, copy(args), strict=False)) | named)
                if other.key not in mode.calls:
                    yield other


def run(call: Call) -> tuple[Run, Exception | None]:
    """Makes a call.

    Returns:
        The results, with the arguments, which the operator may have written to; and what it raised.
    """
    try:
        return (call.operator(**call.arguments), call.arguments), None
    except Exception as error:
        return (None, call.arguments), error
