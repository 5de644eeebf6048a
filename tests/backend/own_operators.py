"""Operators that only the CPU can compute, and of which nothing is known beforehand: there are no meta functions.

Imported by tests and, where the device computes what has no kernel, by its process.
"""

from __future__ import annotations

import torch

library = torch.library.Library("test_fallback", "DEF")
operators = torch.ops.test_fallback
_runs = 0


def define(schema: str, function: object) -> None:
    """An operator with a CPU kernel only."""
    library.define(schema)
    library.impl(schema.split("(")[0], function, "CPU")


def positive(x: torch.Tensor) -> torch.Tensor:
    """How many there are depends on the numbers."""
    global _runs
    _runs += 1
    return x[x > 0]


def layout(x: torch.Tensor) -> list[int]:
    """What the kernel sees of its argument: offset and bytes of storage, element size, sizes, strides."""
    return [x.storage_offset(), x.untyped_storage().nbytes(), x.element_size(), *x.shape, *x.stride()]


def grow(x: torch.Tensor, size: int, out: torch.Tensor) -> torch.Tensor:
    """An out= operator that resizes."""
    return out.resize_(size).copy_(x.flatten()[:size])


def fail(x: torch.Tensor, kind: str) -> torch.Tensor:
    """Raises what it is asked to."""
    errors = {"index": IndexError, "value": ValueError, "type": TypeError, "none": NotImplementedError}
    raise errors.get(kind, RuntimeError)(f"no luck with {list(x.shape)}")


define(
    "pick(Tensor self, Tensor?[] indices) -> Tensor",
    lambda x, indices: x[tuple(slice(None) if i is None else i for i in indices)].clone(),
)
define(
    "cast(Tensor self, Scalar factor, *, ScalarType? dtype, Device? device) -> Tensor",
    lambda x, factor, *, dtype, device: (x * factor).to(device=device, dtype=dtype),
)
define("positive(Tensor self) -> Tensor", positive)
define("runs(Tensor self) -> int", lambda x: _runs)
define("layout(Tensor self) -> int[]", layout)
define("dtype_of(Tensor self) -> str", lambda x: str(x.dtype))
define("grow(Tensor self, int size, *, Tensor(a!) out) -> Tensor(a!)", lambda x, size, *, out: grow(x, size, out))
define("increment_(Tensor(a!) self) -> Tensor(a!)", lambda x: x.add_(1))
define("half(Tensor(a) self) -> Tensor(a)", lambda x: x[: x.shape[0] // 2])
define(
    "restride(Tensor(a) self, int[] sizes, int[] strides, int offset) -> Tensor(a)",
    lambda x, sizes, strides, offset: x.as_strided(sizes, strides, offset),
)
define("total(Tensor[] tensors) -> Tensor", lambda tensors: torch.stack(tensors).sum(0))
define("pieces(Tensor self) -> Tensor[]", lambda x: [it.clone() for it in x.unbind()])
define("fail(Tensor self, str kind) -> Tensor", fail)
define(
    "kinds(Tensor self, bool flag, int? number, float[] floats, str? text, bool[2] flags, Tensor? other) "
    "-> (bool, int, float, Tensor, Tensor[])",
    lambda x, flag, number, floats, text, flags, other: (
        not flag,
        -1 if number is None else number + len(text or ""),
        sum(floats),
        x * flags[0] if other is None else other + flags[1],
        [x + 1, x.new_zeros(0)],
    ),
)
