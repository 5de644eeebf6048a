"""Which operator autocast runs in which type, on three devices: found by calling each operator that has a rule.

A rule is a function, and says nothing about itself. So each operator is called with tensors that are not there, in
float and in half, and what is cast tells the list. The call ends at the first operator behind the casts. A test records
the result, and the page reads that.

    python docs/_ext/autocast_tables.py     print it
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

KEYS = {"openreg": "AutocastPrivateUse1", "cuda": "AutocastCUDA", "cpu": "AutocastCPU"}
RECORD = Path("tests/recorded/autocast.json")
REASONS = Path("docs/autocast_reasons.toml")

# Has its rule in the library that only builds for CUDA have. What is recorded is the same with all builds of a release.
_OF_CUDA_BUILDS = {"_cudnn_rnn"}

LOWER, FLOAT, WIDEST, REFUSED = "half", "float", "widest", "refused"
_HALF = torch.bfloat16
_VALUES: dict[str, Any] = {"int": 1, "float": 1.0, "number": 1, "Scalar": 1, "bool": False, "str": "mean"}


class Difference(NamedTuple):
    """A rule that this device and another have not in common."""

    name: str
    here: str | None
    there: str | None


class _Stopped(Exception):
    """What came behind the rule is not run."""


class _Casts(TorchDispatchMode):
    """Notes to which types tensors are cast, and stops at the first operator that is not a rule's own call."""

    def __init__(self) -> None:
        super().__init__()
        self.types: set[Any] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        self.types |= {value for value in (*args, *kwargs.values()) if isinstance(value, torch.dtype)}
        if func in (torch.ops.prim.device.default, torch.ops.aten._to_copy.default):
            return func(*args, **kwargs)
        raise _Stopped


def _argument(kind: Any, tensors: Iterator[torch.Tensor]) -> Any:
    """A value of an argument's type; None where that is allowed, except for tensors."""
    if kind.kind() == "TensorType":
        return next(tensors)
    if kind.kind() in ("OptionalType", "ListType"):
        inner = kind.getElementType()
        if kind.kind() == "ListType":
            return [_argument(inner, tensors), _argument(inner, tensors)]
        return next(tensors) if inner.kind() == "TensorType" else None
    return _VALUES[str(kind)]


def _casts(op: torch._ops.OpOverload, device: str, types: tuple[torch.dtype, ...]) -> set[Any]:
    """To which types tensors are cast before the operator runs; `REFUSED` is among them if it is refused."""
    tensors = (torch.empty((2, 2), dtype=dtype, device=device) for dtype in cycle(types))
    arguments = [_argument(argument.type, tensors) for argument in op._schema.arguments if not argument.kwarg_only]
    with _Casts() as casts:
        try:
            op(*arguments)
        except _Stopped:
            pass
        except Exception as error:
            if "unsafe to autocast" in str(error):
                return {REFUSED}
    return casts.types


def _rule(op: torch._ops.OpOverload, device: str) -> str:
    """In which of the lists an operator is that has a rule for a device."""
    float_only, half_only, both = (
        _casts(op, device, types) for types in ((torch.float32,), (_HALF,), (torch.float32, _HALF))
    )
    if REFUSED in both:
        return REFUSED
    if _HALF in float_only:
        return LOWER
    # An operator that has an argument for its result's type is asked for float, and casts by itself.
    if torch.float32 in half_only or any(argument.name == "dtype" for argument in op._schema.arguments):
        return FLOAT
    if torch.float32 in both:
        return WIDEST
    raise RuntimeError(f"{op}: has a rule for autocast on {device}, and it casts nothing")


def _operator(name: str) -> torch._ops.OpOverload:
    packet, _, overload = name.partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def rules(device: str) -> dict[str, str]:
    """Name with overload, without "aten::", of each operator that has a rule -> the list.

    Args:
        device: One of `KEYS`; it need not be there.
    """
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    names = [name.removeprefix("aten::") for name in names if has_kernel(name, KEYS[device])]
    names = sorted(name for name in names if name not in _OF_CUDA_BUILDS)
    was, dtype = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    torch.set_autocast_enabled(device, True)
    torch.set_autocast_dtype(device, _HALF)
    try:
        with FakeTensorMode():
            return {name: _rule(_operator(name), device) for name in names}
    finally:
        torch.set_autocast_enabled(device, was)
        torch.set_autocast_dtype(device, dtype)


def differences(here: dict[str, str], there: dict[str, str]) -> list[Difference]:
    """Operators that two devices don't have in the same list, by name."""
    names = sorted(here.keys() | there.keys())
    return [Difference(name, here.get(name), there.get(name)) for name in names if here.get(name) != there.get(name)]


class Reason(NamedTuple):
    """Why some operators are in another list here than on another device."""

    device: str
    title: str
    text: str
    operators: tuple[str, ...]


def reasons(root: Path) -> list[Reason]:
    """All of them.

    Args:
        root: The repository.
    """
    entries = tomllib.loads((root / REASONS).read_text(encoding="utf-8"))["reason"]
    return [Reason(**{**entry, "operators": tuple(entry["operators"])}) for entry in entries]


def recorded(root: Path) -> tuple[str, dict[str, dict[str, str]]]:
    """The version of PyTorch that the lists are of, and for each device what `rules` found.

    Args:
        root: The repository.
    """
    found = json.loads((root / RECORD).read_text(encoding="utf-8"))
    return found.pop("torch"), found


if __name__ == "__main__":
    found = {"torch": torch.__version__.partition("+")[0], **{device: rules(device) for device in KEYS}}
    print(json.dumps(found, indent=1))
