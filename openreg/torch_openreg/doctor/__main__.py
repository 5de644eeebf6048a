"""Runs the doctor as a module of the package, or as a folder on its own with any backend."""

import importlib
import importlib.util
import os
import sys
from pathlib import Path


def without_backend() -> None:
    """Imports PyTorch without what it loads by itself, which may crash: the examination does that in a process."""
    before = os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1")
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    importlib.import_module("torch")
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = before


def find_command() -> object:
    """The module ``command``, also where this folder was started by its path and is no part of a package yet."""
    if __package__:
        return importlib.import_module(".command", __package__)
    without_backend()
    here = Path(__file__).resolve().parent
    sys.path.remove(sys.path[0])  # this folder: its modules are not to be found under their bare names
    where = {"submodule_search_locations": [str(here)]}
    spec = importlib.util.spec_from_file_location("doctor", here / "__init__.py", **where)
    assert spec and spec.loader
    sys.modules["doctor"] = importlib.util.module_from_spec(spec)
    return importlib.import_module("doctor.command")


if __name__ == "__main__":
    sys.exit(find_command().main())
