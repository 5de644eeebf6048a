"""Makes a call of any native operator at the sizes that the sweep measures, the same one on both devices."""

from __future__ import annotations

import functools
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "backend"))
import siblings
from operator_shapes import MILLION, shapes_of
from overload_arguments import DTYPES, Profile, value_by_rule
from overload_tensors import Storage, Tensor, make
from siblings import overload, signature

CPU = torch.device("cpu")
ONE = ((1,), (1, 1), (1, 1, 1), (1, 1, 1, 1), ())
LARGE = ((1024, 1024), (MILLION,), (64, 128, 128), (8, 64, 48, 48), ())
# What the CPU calls the work of an operator that it has no kernel of its own for.
REFERENCES = siblings.REFERENCES | {
    "aten::_scaled_dot_product_fused_attention_overrideable": (
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    ),
    "aten::_scaled_dot_product_fused_attention_overrideable_backward": (
        torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default
    ),
    "aten::_copy_from": torch.ops.aten.copy_.default,
    "aten::_copy_from_and_resize": torch.ops.aten.copy_.default,
}
# Operators of other devices, that the CPU has nothing to compare with.
WITHOUT_CPU = (
    *(f"aten::_thnn_fused_{kind}" for kind in ("gru_cell", "gru_cell_backward", "lstm_cell")),
    "aten::_thnn_fused_lstm_cell_backward_impl",
    "aten::record_stream",
)
# Operators that take one element only, or look for one.
SINGLE = (
    *("_local_scalar_dense", "_assert_async", "_assert_async.msg", "_functional_assert_async.msg"),
    *("_amp_update_scale_", "bucketize.Scalar", "searchsorted.Scalar", "searchsorted.Scalar_out"),
)
COPIES = 5  # of arguments that an operator writes to, so that several calls in a row each have the numbers of the first
_RENAMED = {"aten::_copy_from": {"self": "src", "dst": "self"}}
_RENAMED["aten::_copy_from_and_resize"] = _RENAMED["aten::_copy_from"]


class Unmade(Exception):
    """No arguments that both devices take."""


class Call(NamedTuple):
    """An operator with its arguments on a device; several of it, each with its own, if it writes to them."""

    bodies: list[Callable[[], object]]
    written: list[tuple[torch.Tensor, torch.Tensor]]  # what they write to, each with the numbers it had at first

    def restore(self) -> None:
        """Gives back what was written to."""
        for tensor, before in self.written:
            if tensor.shape == before.shape:  # resize_ and set_ have made others of theirs
                tensor.copy_(before)


class Calls(NamedTuple):
    """The same call on both devices, and the shapes of its tensors."""

    device: Call
    cpu: Call | None
    shape: str


def _candidates(schema: torch._C.FunctionSchema, big: bool) -> Iterator[tuple[dict[str, Any], Profile]]:
    """Arguments by name without those that results are written to, the likeliest first."""
    name = schema.name.removeprefix("aten::")
    written = shapes_of(name, schema.overload_name, big)
    for dtype, flag, shape, by_name in itertools.product(DTYPES, (False, True), LARGE if big else ONE, (True, False)):
        profile = Profile(shape, dtype, 1, by_name, flag)
        made: dict[str, Any] = {}
        for argument in schema.arguments:
            kind = str(argument.real_type)
            inner = re.fullmatch(r"Optional\[(.*)\]", kind)
            if argument.is_out:
                continue
            if argument.name in written:
                made[argument.name] = written[argument.name]
            elif argument.name == "dim" and kind == "int":
                made[argument.name] = -1
            elif argument.name == "dim" and "List[int]" in kind and argument.N != 2:
                made[argument.name] = [-1]
            elif kind == "Optional[Device]":
                made[argument.name] = CPU
            elif argument.has_default_value():
                made[argument.name] = argument.default_value
            elif inner:
                made[argument.name] = None
            else:
                made[argument.name] = value_by_rule(argument, kind, profile)
        yield made, profile


def _numbered(value: Any, profile: Profile, big: bool) -> Any:
    """The descriptions with an expression for their numbers: between 0 and 1, or whole ones that are valid indices."""
    if isinstance(value, list):
        return [_numbered(it, profile, big) for it in value]
    if isinstance(value, Storage):
        return Storage(MILLION if big else 1)
    if not isinstance(value, Tensor) or value.fill:
        return value
    if value.dtype.is_floating_point or value.dtype.is_complex:
        return value._replace(fill="torch.rand(n.shape)")
    high = min([2 if value.dtype is torch.bool else 100 if value.dtype is torch.uint8 else 1024, *profile.shape])
    return value._replace(fill=f"torch.randint(0, {high}, n.shape)")


@functools.lru_cache(maxsize=8)
def _tensor(described: Tensor) -> torch.Tensor:
    torch.manual_seed(20)
    return make(described, CPU)


def _made(value: Any, device: torch.device) -> Any:
    """A nest of values in which descriptions have become what they describe, on a device; few are made anew."""
    if isinstance(value, Tensor):
        return _tensor(value).to(CPU if value.on_cpu else device, copy=True)
    if isinstance(value, list):
        return [_made(it, device) for it in value]
    return make(value, device)


class Operator:
    """A native operator and its functional form, of whose results the outputs of this one are made.

    Args:
        name: Such as ``aten::add.out``.
        forms: All operators, by what their forms have in common.
    """

    def __init__(self, name: str, forms: dict[Any, list[torch._ops.OpOverload]]) -> None:
        self.name = name
        self.is_single = name.removeprefix("aten::") in SINGLE
        self.operator = overload(name)
        self.schema = self.operator._schema
        self.outs = [argument for argument in self.schema.arguments if argument.is_out]
        plain = [it for it in forms[signature(self.operator)] if not it._schema.is_mutable]
        self.functional = plain[0] if self.outs and plain else None
        self._found = 0  # the number of the candidate that both devices took

    def _outputs(self, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Tensors for the results: as the functional form has them, or else empty ones of likely types."""
        names = [argument.name for argument in self.outs]
        if not names:
            yield {}
        elif self.functional is None:
            for dtype in DTYPES:  # of a form that is not to be found by its arguments, such as linspace
                yield dict.fromkeys(names, Tensor((0,), dtype))
        else:
            results = _invoke(self.functional, {name: _made(it, CPU) for name, it in arguments.items()})
            several = results if isinstance(results, (tuple, list)) else [results]
            yield {name: Tensor(tuple(it.shape), it.dtype) for name, it in zip(names, several, strict=False)}

    def _on(self, device: torch.device, arguments: dict[str, Any], big: bool) -> Call:
        """The call with arguments of its own on a device."""
        writes = any(it.alias_info and it.alias_info.is_write and not it.is_out for it in self.schema.arguments)
        several = [self._once(device, arguments) for _ in range(COPIES if big and writes else 1)]
        return Call([it for call in several for it in call.bodies], [it for call in several for it in call.written])

    def _once(self, device: torch.device, arguments: dict[str, Any]) -> Call:
        made = {name: _made(it, device) for name, it in arguments.items()}
        if device == CPU and self.name in REFERENCES:
            operator, renamed = REFERENCES[self.name], _RENAMED.get(self.name, {})
            known = {argument.name for argument in operator._schema.arguments}
            made = {renamed.get(name, name): it for name, it in made.items()}
            made |= {"bias_sizes": [it.shape[1] for name, it in made.items() if name == "grad_output"]}
            if "attention" in self.name:
                made |= {"attn_mask": made["attn_bias"]}
            made = {name: it for name, it in made.items() if name in known}
        else:
            operator = self.operator
        schema = operator._schema
        given = [made[it.name] for it in schema.arguments if not it.kwarg_only and it.name in made]
        named = {it.name: made[it.name] for it in schema.arguments if it.kwarg_only and it.name in made}
        call = operator._op
        written = [
            tensor
            for it in schema.arguments
            if it.alias_info and it.alias_info.is_write and not it.is_out
            for tensor in (made[it.name] if isinstance(made[it.name], list) else [made[it.name]])
            if isinstance(tensor, torch.Tensor)
        ]
        body = (lambda: call(*given, **named)) if named else (lambda: call(*given))
        return Call([body], [(tensor, tensor.clone()) for tensor in written])

    def calls(self, big: bool, device: torch.device) -> Calls:
        """The first call that both devices take.

        Raises:
            Unmade: There is none.
        """
        first: Exception | None = None
        tried = list(_candidates(self.schema, big))
        # What goes together for one element does for more: a million elements are made for few candidates.
        likely = sorted(range(len(tried)), key=lambda it: it != self._found)
        for number in likely[: 6 if big else None]:
            described, profile = tried[number]
            arguments = {name: _numbered(it, profile, big) for name, it in described.items()}
            try:
                for outputs in self._outputs(arguments):
                    here = self._on(device, arguments | outputs, big)
                    there = None if self.name in WITHOUT_CPU else self._on(CPU, arguments | outputs, big)
                    for call in (there, here):
                        if call:
                            call.bodies[0]()
                    torch.accelerator.synchronize()
                    self._found = number
                    return Calls(here, there, _shape(arguments))
            except torch.AcceleratorError:
                raise
            except Exception as error:
                first = first or error
        raise Unmade(str(first).partition("\n")[0])


def _invoke(operator: torch._ops.OpOverload, made: dict[str, Any]) -> Any:
    arguments = operator._schema.arguments
    given = [made[it.name] for it in arguments if not it.kwarg_only and it.name in made]
    return operator(*given, **{it.name: made[it.name] for it in arguments if it.kwarg_only and it.name in made})


def _shape(arguments: dict[str, Any]) -> str:
    """The shapes of the tensors among the arguments, or the numbers if there is none."""

    def text(value: Any) -> str:
        if isinstance(value, Tensor):
            return "×".join(map(str, value.shape)) or "()"
        if isinstance(value, Storage):
            return f"storage of {value.count}"
        if isinstance(value, list) and value and isinstance(value[0], Tensor):
            return f"{len(value)} × [{text(value[0])}]"
        return ""

    return ", ".join(filter(None, map(text, arguments.values()))) or ", ".join(
        str(it) for it in arguments.values() if isinstance(it, (int, float, list)) and not isinstance(it, bool)
    )


def native() -> list[Operator]:
    """All native operators, by name."""
    coverage = torch.openreg.operator_coverage()
    forms: dict[Any, list[torch._ops.OpOverload]] = {}
    for name in coverage:
        forms.setdefault(signature(overload(name)), []).append(overload(name))
    return [Operator(name, forms) for name, how in sorted(coverage.items()) if how == "native"]
