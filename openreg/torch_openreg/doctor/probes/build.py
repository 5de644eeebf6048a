"""Before a build: what it needs on this machine."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from ..backend import Backend
from ..registry import Missing, Section, Wrong

section = Section("before a build", chapter="01-device", needs=())
OLDEST = {"g++": (12,), "cmake": (3, 18), "setuptools": (77,)}
HEADER = "c10/core/impl/DeviceGuardImplInterface.h"


def check_version(name: str, version: str) -> str:
    """Compares with the oldest that will do; returns both names."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:3])
    if numbers < OLDEST.get(name, ()):
        raise Wrong(f"{name} {version}; the build needs {'.'.join(map(str, OLDEST[name]))} or newer")
    return f"{name} {version}"


def printed(*command: str) -> str:
    """What a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout.strip()


@section.probe("compiler", write="install g++ 12 or newer, or set CXX")
def compiler(backend: Backend) -> str:
    """Asks the C++ compiler for its version."""
    command = os.environ.get("CXX") or next(filter(shutil.which, ("c++", "g++", "clang++")), None)
    if not command or not shutil.which(command.split()[0]):
        raise Missing(f"no C++ compiler{f': CXX is {command!r}' if command else ''}")
    if "clang" in printed(*command.split(), "--version"):
        return printed(*command.split(), "--version").splitlines()[0]
    return check_version("g++", printed(*command.split(), "-dumpfullversion"))


@section.probe("cmake", write="pip install cmake")
def cmake(backend: Backend) -> str:
    """Asks CMake for its version."""
    if not shutil.which("cmake"):
        raise Missing("no cmake on the PATH")
    return check_version("cmake", printed("cmake", "--version").split()[2])


@section.probe("ninja", write="pip install ninja")
def ninja(backend: Backend) -> str:
    """Asks Ninja for its version. Without it CMake takes Make, which is slower."""
    if not shutil.which("ninja"):
        raise Missing("no ninja on the PATH: CMake takes Make, which is slower")
    return check_version("ninja", printed("ninja", "--version"))


@section.probe("setuptools", write="pip install setuptools")
def setuptools(backend: Backend) -> str:
    """Looks for the version of setuptools."""
    try:
        return check_version("setuptools", metadata.version("setuptools"))
    except metadata.PackageNotFoundError:
        raise Missing("setuptools is not installed") from None


@section.probe("headers", write="pip install torch; install Python's headers (python3-dev)")
def headers(backend: Backend) -> str:
    """Looks for the headers of PyTorch and Python."""
    spec = find_spec("torch")
    torch = Path(spec.origin).parent / "include" if spec and spec.origin else Path("torch/include")
    for header in (torch / HEADER, Path(sysconfig.get_path("include")) / "Python.h"):
        if not header.is_file():
            raise Missing(f"no {header}")
    return f"torch {metadata.version('torch')}, Python {sysconfig.get_python_version()}"
