"""Builds the C++ side with CMake and Ninja and packs it with the Python package.

The libraries run with the version of PyTorch that they are built against. ``pip install --no-build-isolation .`` (or
``-e .``) takes the one that is installed. Without that option pip installs PyTorch once more, to an environment that it
makes for the build and then removes. What CMAKE_ARGS in the environment holds is passed on to CMake.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import NoReturn

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent
PACKAGES = "openreg/torch_openreg/**/__init__.py"  # a step may have more of them than the one before
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def need(package: str) -> str:
    """What the build needs of a package, as pyproject.toml says: "setuptools>=77"."""
    return next(item for item in PROJECT["build-system"]["requires"] if item.startswith(package))


def installed(package: str) -> str:
    """The version of a package without the name of its build, or "none"."""
    try:
        return metadata.version(package).split("+")[0]
    except metadata.PackageNotFoundError:
        return "none"


def setuptools_is_old() -> bool:
    """Whether it would refuse pyproject.toml, with a sentence about licenses."""
    major = installed("setuptools").split(".")[0]
    return major.isdigit() and int(major) < int(need("setuptools").partition(">=")[2])


def missing() -> list[str]:
    """What the build needs and doesn't find, with what there is. --no-build-isolation means that pip doesn't look."""
    found = [f"{need('setuptools')}, not {installed('setuptools')}"] if setuptools_is_old() else []
    if shutil.which("cmake") is None:
        found.append(f"{need('cmake')}, not none")
    if not fits(need("torch"), installed("torch")):
        found.append(f"{need('torch')}, not {installed('torch')}")
    return found


# LITERALINCLUDE START: RANGE
def numbers(version: str) -> list[int]:
    """The release of a version, for comparing: [2, 14, 1], also of 2.14.1.dev20261123."""
    return [int(number) for number in re.findall(r"\d+", re.match(r"[\d.]*", version)[0])]


def fits(wanted: str, version: str) -> bool:
    """Whether a version is one of "torch>=2.13,<2.15", or is the one of "torch==2.14.1"."""
    if "==" in wanted:
        return wanted.partition("==")[2] == version
    first, end = (numbers(limit) for limit in re.findall(r"[>=<]+([\d.]+)", wanted))
    return first <= numbers(version) < end


def dependencies() -> list[str]:
    """What the package runs with: the PyTorch that it is built for, and no other. The sources run with all of them."""
    for_torch = f"torch=={installed('torch')}"
    if "sdist" in sys.argv or installed("torch") == "none":
        for_torch = need("torch")
    others = [item for item in PROJECT["dependency-groups"]["run"] if not item.startswith("torch==")]
    return [for_torch, *others]


# LITERALINCLUDE END: RANGE


def stop(lacking: list[str]) -> NoReturn:
    """Ends with a sentence that says what to do."""
    packages = " ".join(shlex.quote(item.partition(", not ")[0]) for item in lacking)
    raise SystemExit(
        f"setup.py: the build needs {'; '.join(lacking)}\n"
        f"run: pip install {packages}\nthen: pip install --no-build-isolation ."
    )


def jobs() -> list[str]:
    """How many compilers CMake may start at once. Make, which it takes where there is no Ninja, would start all."""
    return [] if "CMAKE_BUILD_PARALLEL_LEVEL" in os.environ else ["--parallel", str(len(os.sched_getaffinity(0)))]


class CMakeBuild(build_ext):
    """Configures, builds and installs the libraries into the package."""

    def run(self) -> None:
        """Builds into a folder of build, which stays, so that the next build compiles only what has changed."""
        if lacking := missing():
            stop(lacking)
        here = self.inplace or self.editable_mode
        build = ROOT / "build" / ("cmake" if here else "cmake-wheel")
        package = ROOT / "openreg" if here else Path(self.build_lib).resolve()
        configure = ["cmake", "-S", str(ROOT), "-B", str(build), f"-DPython_EXECUTABLE={sys.executable}"]
        configure.append(f"-DOPENREG_WHEEL={'OFF' if here else 'ON'}")
        configure += shlex.split(os.environ.get("CMAKE_ARGS", ""))
        if shutil.which("ninja"):
            configure += ["-G", "Ninja"]
        subprocess.run(configure, check=True)
        subprocess.run(["cmake", "--build", str(build), *jobs()], check=True)
        for stale in package.glob("torch_openreg/_C.*.so"):
            stale.unlink()  # of two that fit, Python would load the one whose name says more
        install = ["cmake", "--install", str(build), "--component", "lib", "--prefix", str(package)]
        subprocess.run(install, check=True)

    def get_outputs(self) -> list[str]:
        """Files that belong into the wheel: the libraries, and the program that is a device in a process of its own."""
        built = Path(self.build_lib)
        return [str(path) for pattern in ("*.so", "openreg_executor") for path in built.rglob(pattern)]


if setuptools_is_old():
    stop(missing())
setup(
    ext_modules=[Extension("torch_openreg._C", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
    install_requires=dependencies(),
    packages=[".".join(it.relative_to(ROOT / "openreg").parent.parts) for it in sorted(ROOT.glob(PACKAGES))],
    py_modules=[path.stem for path in sorted((ROOT / "openreg").glob("*.py"))],
    package_dir={"": "openreg"},
    package_data={"torch_openreg": ["py.typed", "*.pyi"]},
)
