"""Small C++ libraries that call what Python doesn't reach."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import torch


def built(name: str, folder: Path) -> Path:
    """Compiles a source file beside this one.

    Args:
        name: Of the file, without its ending: ``"hooks_probe"``.
        folder: Where the library goes.

    Returns:
        The library, which links PyTorch's.
    """
    torch_folder = Path(torch.__file__).parent
    source, made, library = Path(__file__).with_name(f"{name}.cpp"), folder / f"{name}.o", folder / f"{name}.so"
    compiler = os.environ.get("CXX", "c++")
    cache = [found] if (found := shutil.which("ccache")) else []
    options = ["-std=c++20", "-O1", "-fPIC", "-Wall", "-Wextra", "-Werror", "-isystem", str(torch_folder / "include")]
    subprocess.run([*cache, compiler, *options, "-c", str(source), "-o", str(made)], check=True)
    link = [compiler, "-shared", str(made), f"-L{torch_folder / 'lib'}", "-ltorch_cpu", "-lc10"]
    subprocess.run([*link, "-o", str(library)], check=True)
    return library
