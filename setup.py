"""Builds the C++ side with CMake and Ninja and packs it with the Python package.

PyTorch is no build requirement in pyproject.toml on purpose: the libraries must be built against the torch they will
run with, the one that is installed. Hence ``pip install --no-build-isolation .`` (or ``-e .``). What CMAKE_ARGS in the
environment holds is passed on to CMake.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parent


def check_torch() -> None:
    """Stops with a sentence if the installed torch is not the one that pyproject.toml names."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = next(item for item in project["dependencies"] if item.startswith("torch=="))
    try:
        installed = metadata.version("torch").split("+")[0]
    except metadata.PackageNotFoundError:
        installed = "none"
    if wanted != f"torch=={installed}":
        raise SystemExit(
            f"setup.py: needs {wanted}, but the installed torch is {installed}; run: pip install {wanted}\n"
            "then: pip install --no-build-isolation ."
        )


class CMakeBuild(build_ext):
    """Configures, builds and installs the libraries into the package."""

    def run(self) -> None:
        """Builds into build/cmake, which stays, so that the next build compiles only what has changed."""
        check_torch()
        build = ROOT / "build" / "cmake"
        package = ROOT / "openreg" if self.inplace or self.editable_mode else Path(self.build_lib).resolve()
        configure = ["cmake", "-S", str(ROOT), "-B", str(build), f"-DPython_EXECUTABLE={sys.executable}"]
        configure += shlex.split(os.environ.get("CMAKE_ARGS", ""))
        if shutil.which("ninja"):
            configure += ["-G", "Ninja"]
        subprocess.run(configure, check=True)
        subprocess.run(["cmake", "--build", str(build), "--parallel"], check=True)
        install = ["cmake", "--install", str(build), "--component", "lib", "--prefix", str(package)]
        subprocess.run(install, check=True)

    def get_outputs(self) -> list[str]:
        """Files that belong into the wheel: the libraries, and the program that is a device in a process of its own."""
        built = Path(self.build_lib)
        return [str(path) for pattern in ("*.so", "openreg_executor") for path in built.rglob(pattern)]


setup(
    ext_modules=[Extension("torch_openreg._C", sources=[])],
    cmdclass={"build_ext": CMakeBuild},
    packages=["torch_openreg", "torch_openreg.openreg"],
    package_dir={"": "openreg"},
    package_data={"torch_openreg": ["py.typed", "*.pyi"]},
)
