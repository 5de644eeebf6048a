"""Four places for what belongs to a tensor, and which of PyTorch's ways to make another tensor each of them survives.

NOTED names libnoted.so.
"""

import copy
import io
import os
from collections.abc import Callable

import torch
import torch_openreg  # noqa: F401

openreg = torch.openreg
torch.ops.load_library(os.environ["NOTED"])


def saved(x: torch.Tensor) -> torch.Tensor:
    """Through a file."""
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


WAYS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "x.detach()": torch.Tensor.detach,
    "x.data": lambda x: x.data,
    "Parameter(x)": lambda x: torch.nn.Parameter(x, requires_grad=False),
    "x[1:], a view": lambda x: x[1:],
    "x.resize_(9)": lambda x: x.resize_(9),
    "x.clone()": torch.Tensor.clone,
    "deepcopy(x)": copy.deepcopy,
    "save and load": saved,
    "x + 1": lambda x: x + 1,
}


def carry() -> torch.Tensor:
    """A tensor that has something in all four places."""
    x = torch.ops.carriers.with_note(torch.ones(8, dtype=torch.int8, device="openreg"), "here")
    x.attribute = "here"
    openreg.set_scale(x, 0.5)
    openreg.set_memory_label(x, "here")
    return x


PLACES: dict[str, Callable[[torch.Tensor], bool]] = {
    "attribute": lambda x: getattr(x, "attribute", None) == "here",
    "TensorImpl": lambda x: torch.ops.carriers.note_of(x) == "here",
    "BackendMeta": lambda x: openreg.get_scale(x) == 0.5,
    "StorageImpl": lambda x: openreg.get_memory_label(x) == "here",
}

print(" " * 14, *(f"{place:>12}" for place in PLACES))
for name, way in WAYS.items():
    other = way(carry())
    print(f"{name:14}", *(f"{'kept' if kept(other) else '-':>12}" for kept in PLACES.values()))
