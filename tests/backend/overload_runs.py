"""Runs one overload on the CPU and on openreg, and says how the two differ."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
import torch_openreg  # noqa: F401
from comparison import DEVICE, Difference, compare, tensors_of
from overload_arguments import candidates
from overload_tensors import Tensor, make
from siblings import Signature, overload, signature
from torch.utils._pytree import tree_flatten, tree_map

CPU = torch.device("cpu")
CANDIDATES = 400
OUTPUT_TYPES = (torch.float32, torch.int64, torch.bool, torch.complex64)
# Results that are on the CPU whatever the device.
ON_CPU = {("aten::_pack_padded_sequence", "out1")}
# Nonsense in place of an error that says what is wrong with the call.
NONSENSE = ("INTERNAL ASSERT", "Could not find schema", "does not have a device")
# What the CPU says of operators that it hasn't got.
NO_CPU_KERNEL = ("Could not run", "not implemented", "You are likely triggering this with tensor backend")

# Called with what is being tried and on which device: so that it is known when the process dies.
Progress = Callable[[str, int, str], None]


class Outcome(NamedTuple):
    """How an overload went: ``equal``, ``refused`` by both, ``ours`` alone; ``different``, ``raises``, ``nonsense``."""

    outcome: str
    detail: str = ""


class Run(NamedTuple):
    """What a call leaves."""

    results: Any
    written: Any
    aliases: list[tuple[int, int]]  # which tensor of the results shares memory with which of the arguments
    strides: list[tuple[int, ...]]


class Overload:
    """An overload and the ways to call it.

    Args:
        name: Such as ``aten::add.out``.
        forms: All operators, by what their forms have in common.
    """

    def __init__(self, name: str, forms: dict[Signature, list[torch._ops.OpOverload]]) -> None:
        self.operator = overload(name)
        self.schema = self.operator._schema
        self.promises_views = any(it.alias_info for it in self.schema.returns)
        self.outs = [argument for argument in self.schema.arguments if argument.is_out]
        plain = [it for it in forms[signature(self.operator)] if not it._schema.is_mutable]
        self.functional = plain[0] if self.outs and plain else None
        optional = [it.name for it in self.schema.arguments if str(it.real_type) == "Optional[Tensor]"]
        self.variants = ["none", *(["all"] if optional else []), *(optional if len(optional) > 1 else [])]

    def outputs(self, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        """What may be given for the arguments that are written to: tensors like the results, where they are known."""
        if not self.outs:
            return [{}]
        names = [argument.name for argument in self.outs]
        is_list = "List" in str(self.outs[0].real_type)
        if self.functional is None:
            empty = [Tensor((0,), dtype) for dtype in OUTPUT_TYPES]
            return [dict.fromkeys(names, [it, it] if is_list else it) for it in empty]
        results = call(self.functional, make(arguments, CPU))
        several = isinstance(results, tuple) or (isinstance(results, list) and not is_list)
        given = list(results) if several else [results]
        made = dict(zip(names, tree_map(_like, given), strict=False))
        return [
            {
                name: made[name]._replace(on_cpu=True) if (self.schema.name, name) in ON_CPU else made[name]
                for name in made
            }
        ]

    def accepted(
        self, variant: str, deadly: set[int], progress: Progress
    ) -> tuple[int, dict[str, Any], Exception | None] | None:
        """The first arguments that the CPU takes; if there are none, the first at all and the CPU's error.

        Nothing if the CPU's process dies of all of them.

        Args:
            variant: Which optional tensors are given.
            deadly: Numbers of candidates of which the CPU's process has died.
            progress: Is told what is tried.
        """
        refused: tuple[int, dict[str, Any], Exception | None] | None = None
        for number, arguments in enumerate(itertools.islice(candidates(self.schema, variant), CANDIDATES)):
            if number in deadly:
                continue
            progress(variant, number, "CPU")
            tried = arguments
            try:
                for outputs in self.outputs(arguments):
                    tried = arguments | outputs
                    call(self.operator, make(tried, CPU))
                    return number, tried, None
            except Exception as error:
                refused = refused or (number, tried, error)
        return refused


def _like(tensor: Any) -> Any:
    """A description of a tensor like another one, with numbers that show if they are read."""
    if not isinstance(tensor, torch.Tensor):
        return Tensor((0,))
    numbers = tensor.is_floating_point() or tensor.is_complex()
    return Tensor(tuple(tensor.shape), tensor.dtype, "n * float('nan')" if numbers else "n * 0 + 1")


def call(operator: torch._ops.OpOverload, arguments: dict[str, Any]) -> Any:
    """Calls an operator with arguments by name."""
    schema = operator._schema
    positional = [arguments[it.name] for it in schema.arguments if not it.kwarg_only]
    return operator(*positional, **{it.name: arguments[it.name] for it in schema.arguments if it.kwarg_only})


def run(operator: torch._ops.OpOverload, arguments: dict[str, Any], device: torch.device) -> Run:
    """Calls an operator on a device."""
    torch.manual_seed(20)
    given = make(arguments, device)
    results = call(operator, given)
    if device != CPU:
        torch.accelerator.synchronize()
    written = tensors_of(given)
    aliases = [
        (i, j)
        for (i, result), (j, argument) in itertools.product(enumerate(tensors_of(results)), enumerate(written))
        if _storage(result) is not None and _storage(result) == _storage(argument)
    ]
    return Run(results, written, aliases, [_strides(it) for it in tensors_of(results)])


def _storage(tensor: torch.Tensor) -> int | None:
    """Which memory a tensor has; none where there is no one memory."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return None


def _strides(tensor: torch.Tensor) -> tuple[int, ...]:
    """A tensor's strides, but of dimensions that have none to speak of."""
    if tensor.layout is not torch.strided or tensor.is_nested or not tensor.numel():
        return ()
    return tuple(stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size > 1)


def gradients(operator: torch._ops.OpOverload, arguments: dict[str, Any], device: torch.device) -> list[Any] | None:
    """Calls an operator, and returns the gradients of all arguments that can have one.

    None if a result is an argument itself: then its gradient says nothing of the operator.
    """
    torch.manual_seed(20)
    given = make(arguments, device)
    inputs = [it for it in tensors_of(given) if it.is_floating_point() or it.is_complex()]
    for it in inputs:
        it.requires_grad_()
    results = tensors_of(call(operator, given))
    if any(it is one for it in results for one in inputs):
        return None
    outputs = [it for it in results if it.requires_grad]
    if not inputs or not outputs:
        return []
    seeds = [make(Tensor(tuple(it.shape), it.dtype), it.device) for it in outputs]
    found = list(torch.autograd.grad(outputs, inputs, seeds, allow_unused=True))
    return found if any(it is not None for it in found) else []


def attempt(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What a function returns, or raises."""
    try:
        return function(), None
    except Exception as error:
        return None, error


def steady(first: Any, second: Any) -> bool:
    """Whether two tensors hold the same numbers, and none that fresh memory is filled with."""
    if not isinstance(first, torch.Tensor):
        return True
    try:
        torch.testing.assert_close(first, second, rtol=0, atol=0, equal_nan=False)
    except Exception:
        return False
    whole = first.layout is torch.strided and not (first.is_floating_point() or first.is_complex())
    return not (whole and first.dtype is not torch.bool and bool((first == torch.iinfo(first.dtype).max).any()))


def compare_values(what: str, expected: Any, again: Any, actual: Any) -> None:
    """Raises Difference unless openreg's results are the CPU's.

    What the CPU computes otherwise the second time, with another seed and with fresh memory filled, is random or not
    computed at all: there all but the numbers is compared.
    """
    wanted, got = tree_flatten(expected)[0], tree_flatten(actual)[0]
    if len(wanted) != len(got):
        raise Difference(f"{what}: {len(got)}, expected {len(wanted)}")
    for number, (want, repeated, have) in enumerate(zip(wanted, tree_flatten(again)[0], got, strict=True)):
        place = CPU if isinstance(have, torch.Tensor) and have.device == CPU else DEVICE
        if isinstance(want, torch.device):
            continue
        compare(f"{what} {number}", want, have, steady(want, repeated), {}, place)


def compare_errors(what: str, expected: Exception, actual: Exception | None, native: bool) -> Outcome:
    """Compares the CPU's error with openreg's."""
    if actual is None:
        absent = native and any(text in str(expected) for text in NO_CPU_KERNEL)
        ours = absent or any(text in str(expected) for text in NONSENSE)
        return Outcome("ours") if ours else Outcome("different", f"{what}: no error; the CPU's is {text_of(expected)}")
    if any(text in str(actual) and text not in str(expected) for text in NONSENSE):
        return Outcome("nonsense", f"{what}: {text_of(actual)}; the CPU's is {text_of(expected)}")
    return Outcome("refused", text_of(expected))


def text_of(error: Exception) -> str:
    """Type and first line of an exception."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:200]}"


def again_on_the_cpu(function: Callable[[], Any]) -> Any:
    """Runs something with another seed, and with memory that is fresh filled with NaN and the like."""
    seed = torch.manual_seed
    torch.manual_seed = lambda number: seed(number + 1)
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        return function()
    finally:
        torch.manual_seed = seed
        torch.use_deterministic_algorithms(False)


def check_call(it: Overload, arguments: dict[str, Any], native: bool) -> Outcome:
    """Compares a call that the CPU takes."""
    expected = run(it.operator, arguments, CPU)
    again, error = attempt(lambda: again_on_the_cpu(lambda: run(it.operator, arguments, CPU)))
    again = expected if error else again
    actual, error = attempt(lambda: run(it.operator, arguments, DEVICE))
    if error:
        return Outcome("raises", text_of(error))
    compare_values("result", expected.results, again.results, actual.results)
    compare_values("argument", expected.written, again.written, actual.written)
    if (it.promises_views and expected.aliases != actual.aliases) or set(actual.aliases) - set(expected.aliases):
        raise Difference(f"shares memory with arguments {actual.aliases}, expected {expected.aliases}")
    if expected.strides != actual.strides:
        raise Difference(f"strides {actual.strides}, expected {expected.strides}")
    return Outcome("equal")


def check_gradients(it: Overload, arguments: dict[str, Any], native: bool) -> Outcome:
    """Compares the gradients of a call that the CPU takes."""
    expected, refused = attempt(lambda: gradients(it.operator, arguments, CPU))
    actual, error = attempt(lambda: gradients(it.operator, arguments, DEVICE))
    if refused:
        return compare_errors("backward", refused, error, native)
    if expected is None or (not expected and "derivative" in str(error)):
        return Outcome("equal")  # neither has a gradient, whether it says so or not
    if error:
        return Outcome("raises", f"backward: {text_of(error)}")
    again, error = attempt(lambda: again_on_the_cpu(lambda: gradients(it.operator, arguments, CPU)))
    compare_values("gradient", expected, expected if error else again, actual)
    return Outcome("equal")


def check(it: Overload, variant: str, deadly: set[int], native: bool, progress: Progress) -> Iterator[Outcome]:
    """Runs an overload with one choice of optional tensors: the call, then its gradients."""
    found = it.accepted(variant, deadly, progress)
    if found is None:
        yield Outcome("deadly", "the CPU's process dies")
        return
    number, arguments, refused = found
    if refused:
        progress(variant, number, "openreg")
        _, error = attempt(lambda: run(it.operator, arguments, DEVICE))
        yield compare_errors("call", refused, error, native)
        return
    for part in (check_call, *([] if it.schema.is_mutable else [check_gradients])):
        progress(variant, number, "openreg" + (" backward" if part is check_gradients else ""))
        try:
            yield part(it, arguments, native)
        except Difference as difference:
            yield Outcome("different", str(difference))
        except Exception as error:  # what openreg has given cannot even be looked at
            yield Outcome("raises", f"comparison: {text_of(error)}")
