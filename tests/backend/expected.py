"""Lists of known differences from the CPU, some of which are those of a release of PyTorch."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).resolve().parent


def release(version: str) -> tuple[int, ...]:
    """For comparing: 2.14 of 2.14.1+cpu, and of 2.14.0.dev20261123."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def is_there(row: dict[str, Any], version: str = torch.__version__) -> bool:
    """Whether a row is about a release: it may say `since` or `until`, the first or the last that has it."""
    here = release(version)
    return release(row.get("since", "0.0")) <= here <= release(row.get("until", "99.0"))


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row without the releases that it is about."""
    return {key: value for key, value in row.items() if key not in ("since", "until")}


def rows_of(name: str) -> Any:
    """The rows of a list that are about the PyTorch that is installed, by name or, where they have none, in order."""
    rows = tomllib.loads((HERE / f"{name}_expected.toml").read_text())
    if isinstance(rows.get("difference"), list):
        return [plain(row) for row in rows["difference"] if is_there(row)]
    return {key: plain(row) for key, row in rows.items() if is_there(row)}
