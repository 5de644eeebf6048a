"""How each operator of PyTorch is served: the dispatcher's live tables and the recorded composites, put together."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import NamedTuple

COMPOSITES = Path("tests/recorded/composites.json")
CORE_EXCEPTIONS = Path("tests/backend/core_exceptions.toml")


class Operator(NamedTuple):
    """An operator, and what serves it here."""

    name: str  # with overload, without "aten::"
    how: str  # as torch.openreg.operator_coverage() has it
    core: bool  # PyTorch tags it so
    over: tuple[str, ...] | None = None  # what a composite one ends in; None if no recorded run has met it
    on_cpu: tuple[str, ...] = ()  # those of `over` that the fallback serves

    @property
    def served(self) -> str:
        """`how`, with composite told apart: `composite`, `mixed` (needs the fallback), `unseen`."""
        if self.how != "composite":
            return self.how
        return "unseen" if self.over is None else "mixed" if self.on_cpu else "composite"

    @property
    def is_native(self) -> bool:
        """Whether it leaves nothing to the CPU."""
        return self.served in ("native", "composite")


def _short(name: str) -> str:
    return name.removeprefix("aten::")


def _is_core(name: str) -> bool:
    import torch

    packet, _, overload = _short(name).partition(".")
    return torch.Tag.core in getattr(getattr(torch.ops.aten, packet), overload or "default").tags


def operators(root: Path) -> list[Operator]:
    """All operators of the namespace aten, by name."""
    import torch
    import torch_openreg  # noqa: F401

    coverage = torch.openreg.operator_coverage()
    composites = json.loads((root / COMPOSITES).read_text(encoding="utf-8"))
    found = []
    for name, how in coverage.items():
        over = composites.get(name) if how == "composite" else None
        on_cpu = [kernel for kernel in over or () if coverage[kernel] == "fallback"]
        shortened = None if over is None else tuple(map(_short, over))
        found.append(Operator(_short(name), how, _is_core(name), shortened, tuple(map(_short, on_cpu))))
    return found


def core_exceptions(root: Path) -> dict[str, str]:
    """Operators of the core set that may be left to the CPU, each with the reason."""
    text = (root / CORE_EXCEPTIONS).read_text(encoding="utf-8")
    return {_short(name): entry["reason"] for name, entry in tomllib.loads(text).items()}
