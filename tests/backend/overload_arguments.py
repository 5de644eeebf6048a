"""Makes arguments for any operator from its schema: candidates, of which the first that the CPU takes is meant.

A schema says types and names, not which shapes and numbers fit together. So there are many candidates: a rule for each
type and for names that mean the same everywhere, with several shapes and data types. What no rule finds is written
down in overload_hints.py.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from overload_hints import HINTS, Hint
from overload_tensors import Storage, Stream, Tensor

SHAPES = ((3, 3), (3,), (3, 3, 3), (2, 4, 4, 4), (2, 4, 4, 4, 4), ())
DTYPES = (torch.float32, torch.int64, torch.bool, torch.complex64, torch.float64, torch.uint8, torch.float16)
INTEGERS = (1, 2, 0)


class Profile(NamedTuple):
    """What a candidate's arguments have in common."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    integer: int
    by_name: bool  # tensors that are called indices, masks or a channel's parameters are such
    flag: bool

    @property
    def channels(self) -> int:
        """Length of a channel's parameters."""
        return self.shape[1] if len(self.shape) > 1 else self.numbers

    @property
    def numbers(self) -> int:
        """Length of a vector."""
        return self.shape[-1] if self.shape else 1


_INDICES = re.compile(
    r"ind(ex|ices)$|^(target|targets|offsets?|offset2bag|bag_size|maximum_indices|input_lengths|target_lengths|lengths"
    r"|repeats|batch_sizes|cu(m_seq|_seqlens)_[qk])$"
)
_MASKS = re.compile(r"(^|_)(mask|condition)$")
_CHANNELS = re.compile(r"^(weight|.*bias|running_mean|running_var|save_\w+|mean|invstd|scale|zero_point)$")
_VECTORS = re.compile(r"^(vec\d?|v)$")
_BATCHES = re.compile(r"^batch[12]$")
_SINGLES = re.compile(r"^(found_inf|grad_scale|inv_scale|lr|state_steps)$")

_INTEGERS: dict[str, int] = {"dim": 0, "dim0": 0, "axis": 0, "axis0": 0, "dimension": 0, "high": 5, "low": 0} | {
    "groups": 1,
    "quant_min": 0,
    "quant_max": 15,
    "zero_point": 0,
    "padding_idx": -1,
    "storage_offset": 0,
}
_FLOATS: dict[str, float] = {"eps": 1e-5, "epsilon": 1e-5, "dropout": 0.0}
_TEXTS = {"reduce": "sum", "UPLO": "L", "ord": "fro", "pad_mode": "reflect", "padding": "valid", "norm": "backward"}


def _tensor(name: str, profile: Profile) -> Tensor:
    shape, dtype = profile.shape, profile.dtype
    if _VECTORS.search(name):
        return Tensor((profile.numbers,), dtype)
    if _BATCHES.search(name):
        return Tensor((3, 3, 3), dtype)
    if _SINGLES.search(name):
        return Tensor((), torch.float32, "torch.ones(())")
    if profile.by_name and _INDICES.search(name):
        return Tensor(shape, torch.int64)
    if profile.by_name and _MASKS.search(name):
        return Tensor(shape, torch.bool)
    if profile.by_name and _CHANNELS.search(name):
        return Tensor((profile.channels,), dtype)
    return Tensor(shape, dtype)


def _integers(name: str, count: int | None, profile: Profile) -> list[int]:
    shape = profile.shape
    if name in ("size", "shape", "sizes", "self_size", "input_size", "input_sizes") and not count:
        return list(shape)
    if name == "stride" and not count:
        return list(torch.empty(shape).stride())
    if name == "dims" and not count:
        return list(range(len(shape)))
    if name == "normalized_shape":
        return list(shape[-1:])
    fixed = {"padding": 0, "output_padding": 0, "dilation": 1, "stride": 1, "kernel_size": 2, "output_size": 2}
    fixed |= {"dim": 0, "dims": 0, "pad": 1}
    return [fixed.get(name, profile.integer)] * (count or (max(len(shape) - 2, 1) if name in fixed else 1))


def value_by_rule(argument: Any, kind: str, profile: Profile) -> Any:
    """What the rules give an argument of a type, which is the argument's own or what it is a list of."""
    name = argument.name
    listed = re.fullmatch(r"List\[(.*)\]", kind)
    if listed:
        item = listed[1]
        if item in ("int", "SymInt"):
            return _integers(name, argument.N, profile)
        if item in ("Tensor", "Optional[Tensor]"):
            count = len(profile.shape) if name == "indices" else 2
            return [_tensor(name, profile)] * (1 if item != "Tensor" else count)
        return [value_by_rule(argument, item, profile)] * (argument.N or 2)
    made: dict[str, Callable[[], Any]] = {
        "Tensor": lambda: _tensor(name, profile),
        "int": lambda: _INTEGERS.get(name, profile.integer),
        "float": lambda: _FLOATS.get(name, 0.5),
        "number": lambda: 2 if not profile.dtype.is_floating_point else 0.5 if profile.flag else 2,
        "bool": lambda: profile.flag,
        "str": lambda: _TEXTS.get(name, "sum"),
        "ScalarType": lambda: profile.dtype,
        "Layout": lambda: torch.strided,
        "MemoryFormat": lambda: torch.contiguous_format,
        "Device": lambda: torch.device("cpu"),
        "Storage": lambda: Storage(9),
        "Stream": Stream,
    }
    if kind not in made:
        raise NotImplementedError(f"argument '{name}' is of type {kind}")
    return made[kind]()


def _rank_of(name: str) -> int | None:
    """The shape that an operator's name speaks of: ``max_pool2d`` wants two dimensions beside batch and channel."""
    found = re.search(r"([123])d", name)
    return int(found[1]) + 2 if found else None


def profiles(name: str) -> Iterator[Profile]:
    """The profiles of an operator's candidates, the likeliest first."""
    rank = _rank_of(name)
    shapes = sorted(SHAPES, key=lambda shape: len(shape) != rank)
    for integer, dtype, flag, shape, by_name in itertools.product(
        INTEGERS, DTYPES, (False, True), shapes, (True, False)
    ):
        yield Profile(shape, dtype, integer, by_name, flag)


def hints_of(name: str, overload: str) -> list[Hint]:
    """What is written down for an operator in all its forms; one hint that says nothing if nothing is."""
    plain = name[:-1] if name.endswith("_") and not name.endswith("__") else name
    found = HINTS.get(f"{plain}.{overload}", HINTS.get(plain, {}))
    return found if isinstance(found, list) else [found]


def candidates(schema: torch._C.FunctionSchema, optionals: str) -> Iterator[dict[str, Any]]:
    """Arguments by name, without those that results are written to.

    Args:
        schema: The operator's.
        optionals: Which optional tensors are given: ``none``, ``all``, or the name of one.
    """
    base = schema.name.removeprefix("aten::")
    given: set[str] = set()
    hints = hints_of(base, schema.overload_name)
    for profile in profiles(base):
        for hint in hints:
            made: dict[str, Any] = {}
            for argument in schema.arguments:
                if argument.is_out:
                    continue
                name, kind = argument.name, str(argument.real_type)
                inner = re.fullmatch(r"Optional\[(.*)\]", kind)
                if name in hint and (not inner or inner[1] != "Tensor" or optionals in ("all", name)):
                    made[name] = hint[name]
                elif inner and inner[1] == "Tensor":
                    made[name] = _tensor(name, profile) if optionals in ("all", name) else None
                elif kind == "Optional[Device]":
                    made[name] = torch.device("cpu")
                elif argument.has_default_value():
                    made[name] = argument.default_value
                elif inner:
                    made[name] = None
                else:
                    made[name] = value_by_rule(argument, kind, profile)
            key = repr(made)
            if key not in given:
                given.add(key)
                yield made
