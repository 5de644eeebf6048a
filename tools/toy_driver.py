"""Builds the toy driver of the guide as its author would: outside the tree, against installed headers.

    python tools/toy_driver.py [DIR]          prints the path of the library; DIR is build/toy by default

The device library is that of build/driver, where the contract tests build it, or the one that OPENREG_LIBRARY names.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import compiler_cache

ROOT = Path(__file__).resolve().parent.parent
DRIVER = ROOT / "build" / "driver"
LOCK = DRIVER.with_name("driver.lock")  # The contract tests hold it, too: two CMakes in one folder break its files.


def call(*command: str | Path) -> None:
    """Runs a command; its output is shown if it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [str(part) for part in command],
        env=os.environ | {"PATH": path} | compiler_cache.environment(ROOT),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"toy: {' '.join(map(str, command))}\n{done.stdout}")


def build(folder: Path = ROOT / "build" / "toy") -> Path:
    """Builds the device library if need be, installs it, and builds the driver; returns the driver's path."""
    installed, source = folder / "openreg", folder / "source"
    shutil.rmtree(installed, ignore_errors=True)
    if library := os.environ.get("OPENREG_LIBRARY"):
        shutil.copytree(ROOT / "openreg" / "driver" / "include", installed / "include")
        (installed / "lib").mkdir()
        shutil.copy(library, installed / "lib")
    else:
        LOCK.parent.mkdir(exist_ok=True)
        with LOCK.open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            call("cmake", "-S", ROOT / "openreg" / "driver", "-B", DRIVER, "-GNinja", "-DOPENREG_WERROR=ON")
            call("cmake", "--build", DRIVER)
            call("cmake", "--install", DRIVER, "--component", "driver", "--prefix", installed)
    shutil.copytree(ROOT / "examples" / "toy_driver", source, dirs_exist_ok=True)
    options = [f"-DCMAKE_PREFIX_PATH={installed}", "-DCMAKE_CXX_FLAGS=-Werror"]
    call("cmake", "-S", source, "-B", folder / "build", "-GNinja", *options)
    call("cmake", "--build", folder / "build")
    return folder / "build" / "libtoy.so"


if __name__ == "__main__":
    print(build(*(Path(argument).resolve() for argument in sys.argv[1:])))
