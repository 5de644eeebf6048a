"""Makes the virtual environment .venv with the packages that pyproject.toml names; quick if it is there already.

Uses the standard library only: it runs before anything is installed.
"""

import json
import subprocess
import sys
import time
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
INSTALLED = VENV / "installed.json"  # what was installed here, by which Python, at which path


def requirements() -> list[str]:
    """Returns PyTorch in the one version that the project names, and the tools."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    return [*groups["run"], *groups["dev"]]


def works() -> bool:
    """Tells whether .venv has a Python that runs; a moved folder or an updated system breaks it."""
    try:
        return subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def main() -> None:
    """Creates, fills and stamps the environment."""
    wanted = requirements()
    state = {"python": sys.version, "path": str(VENV), "packages": wanted}
    if INSTALLED.is_file() and json.loads(INSTALLED.read_text()) == state and works():
        return
    start = time.monotonic()
    if not works():
        print("setup: making .venv", flush=True)
        venv.create(VENV, clear=True, with_pip=True)
    print(f"setup: installing {len(wanted)} Python packages into .venv; PyTorch is large", flush=True)
    # Python compiles a module when it is first imported: of these packages, most never are.
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", *wanted]
    if subprocess.run(pip, check=False).returncode:
        sys.exit(f"setup: pip failed; what it ran was\n\n    {' '.join(pip)}\n")
    INSTALLED.write_text(json.dumps(state))
    print(f"setup: done in {time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
