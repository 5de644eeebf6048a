"""Builds the libraries and installs the package torch_openreg into .venv, editable: Python runs from the sources.

The first time pip does it; after that only the libraries are brought up to date, by the same setup.py.
"""

import os
import re
import sys
import time
from importlib import metadata
from pathlib import Path

import compiler_cache
from progress import watch

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ("pyproject.toml", "setup.py")  # what pip's installation depends on
INSTALLED = ROOT / "build" / "stamps" / "installed"


def installed() -> bool:
    """Tells whether pip has installed the package from here since its settings changed."""
    try:
        metadata.version("torch_openreg")
    except metadata.PackageNotFoundError:
        return False
    return INSTALLED.is_file() and all((ROOT / name).stat().st_mtime < INSTALLED.stat().st_mtime for name in SETTINGS)


def main() -> None:
    """Builds, with a compiler cache where there is one."""
    start = time.monotonic()
    env = dict(os.environ, PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    # The steps are built so, too, and what differs in one option is compiled twice.
    env["CMAKE_ARGS"] = f"-DOPENREG_WERROR=ON {env.get('CMAKE_ARGS', '')}"
    env |= compiler_cache.environment(ROOT)
    if installed():
        command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    else:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--verbose"]
        command = [*pip, "--no-build-isolation", "--no-deps", "--editable", "."]
    log = ROOT / "build" / "build.log"
    log.parent.mkdir(exist_ok=True)
    print("build: the libraries and the package (a few minutes the first time)", flush=True)
    failed, output = watch(command, "build", ROOT, env)
    log.write_text(output)
    if failed:
        # What the compiler or CMake complained of first; pip and ninja say a lot around it.
        lines = output.splitlines()
        first = next((i for i, line in enumerate(lines) if re.search(r"FAILED:|CMake Error|error:", line)), -40)
        print("\n".join(lines[first:][:40]))
        sys.exit(f"build: failed; all of the output is in {log.relative_to(ROOT)}")
    INSTALLED.parent.mkdir(exist_ok=True)
    INSTALLED.touch()
    print(f"build: done in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
