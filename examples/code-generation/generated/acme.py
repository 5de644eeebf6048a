"""The operators of acme. Written by generate.py from operators.toml."""

from pathlib import Path
from typing import Any

import torch
import torch_openreg  # noqa: F401

torch.ops.load_library(Path(__file__).with_name("libacme.so"))


def __getattr__(name: str) -> Any:
    return getattr(torch.ops.acme, name)
