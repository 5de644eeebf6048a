"""The driver, where it has the contract of this guide, openreg.h; other backends have no such rows."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import torch

from ..backend import Backend
from ..registry import Missing, NotApplicable, Section, Wrong
from .entries import LEVELS, missing_entries

section = Section("driver", step=1, chapter="drivers")

LISTED = re.compile(r"^\s*(?:(\S+) => )?(not found|/\S+)", re.MULTILINE)  # what ldd says of a library
SYSTEM = re.compile(r"ld-linux|linux-vdso|lib(c|dl|gcc_s|gomp|m|mvec|pthread|rt|stdc\+\+|asan|tsan|ubsan)\.so")


@cache
def library(package_file: str) -> ctypes.CDLL:
    """The library with the contract's functions, among those that the package has loaded."""
    folder = Path(package_file).resolve().parents[1]
    loaded = {line.split(maxsplit=5)[5] for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
    for path in sorted(map(str.strip, loaded)):
        if Path(path).is_relative_to(folder):
            found = ctypes.CDLL(path)
            if hasattr(found, "orGetDriverName"):
                found.orGetLastErrorMessage.restype = ctypes.c_char_p
                return found
    raise NotApplicable


def library_of(backend: Backend) -> ctypes.CDLL:
    """The library of a backend."""
    if backend.package is None or not backend.package.__file__:
        raise NotApplicable
    return library(backend.package.__file__)


@section.probe("library", write="a driver of your own: OPENREG_DRIVER=path/to/driver.so")
def name(backend: Backend) -> str:
    """Asks the library for the driver's name."""
    found, driver = library_of(backend), ctypes.c_char_p()
    if found.orGetDriverName(ctypes.byref(driver)):
        raise Wrong(found.orGetLastErrorMessage().decode())
    kind = {
        b"sim": "; warning: a simulator, no chip",
        b"process": "; warning: simulated, in a process",
        b"fake": "; no chip",
    }
    chosen = os.environ.get("OPENREG_DRIVER", "")
    file = f" of {chosen}" if "/" in chosen else kind.get(driver.value or b"", "")
    return f"{Path(found._name).name}, driver '{(driver.value or b'').decode()}'{file}"


def driver_files(backend: Backend) -> Iterator[Path]:
    """The file of the driver that was chosen, or those of the package; nothing has to be loaded for that."""
    if "/" in (chosen := os.environ.get("OPENREG_DRIVER", "")):
        yield Path(chosen)
    elif (found := importlib.util.find_spec(f"torch_{backend.name}")) and found.origin:
        yield from sorted((Path(found.origin).parent / "lib").glob("*.so"))


@section.probe("vendor libraries", write="where the linker finds them: an rpath, or LD_LIBRARY_PATH", needs=())
def vendors(backend: Backend) -> str:
    """Looks for the libraries that the driver needs beside those of the system."""
    if shutil.which("ldd") is None:
        raise NotApplicable
    there = {}
    for file in driver_files(backend):
        said = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
        listed = {Path(name or place).name: place for name, place in LISTED.findall(said)}
        if "libc10.so" in listed:
            continue  # the PyTorch side
        for name, place in listed.items():
            if place == "not found":
                raise Missing(f"{file.name} needs {name}, which is not found")
            if not SYSTEM.match(name) and Path(place).parent.resolve() != file.parent.resolve():
                there[name] = place
    if not there:
        raise NotApplicable
    return ", ".join(f"{name} ({Path(place).parent})" for name, place in there.items())


@section.probe("entries", write="the functions named, in the table OrDriver of your driver")
def entries(backend: Backend) -> str:
    """Calls each function that the steps need, with arguments that change nothing."""
    found = library_of(backend)
    lacking, asked = missing_entries(found)
    if lacking:
        raise Missing(f"{len(lacking)} of {asked} not implemented: {', '.join(lacking)}")
    return f"all {asked} that the steps need"


@section.probe("level", write="the entries of the next level, in the table OrDriver of your driver")
def level(backend: Backend) -> str:
    """Says up to which step the driver carries."""
    lacking, reached = missing_entries(library_of(backend))[0], ""
    for steps, names in LEVELS:
        if next_ones := [it for it in names if it in lacking]:
            more = "operators on the device need" if names == LEVELS[-1][1] else f"step {steps} needs"
            raise Missing(f"{f'steps {reached}' if reached else 'no step'}; {more} {', '.join(next_ones)}")
        reached = f"01-{steps[-2:]}"
    return f"steps {reached}"


@section.probe("devices of the driver", write="orGetDeviceCount, orGetDeviceProperties")
def driver_devices(backend: Backend) -> str:
    """Compares the driver's number of devices with PyTorch's."""
    found, count = library_of(backend), ctypes.c_int()
    if found.orGetDeviceCount(ctypes.byref(count)):
        raise Wrong(found.orGetLastErrorMessage().decode())
    if count.value != torch.accelerator.device_count():
        raise Wrong(f"the driver has {count.value} devices, torch.accelerator {torch.accelerator.device_count()}")
    if not count.value:
        raise Missing("the driver has no device")
    return f"{count.value}"
