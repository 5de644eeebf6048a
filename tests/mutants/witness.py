"""A plug-in of pytest for tools/mutants.py: says which of our libraries and which package the tests have really loaded.

Without it a test that fails for any other reason would count as having found the bug, and a bug that was never loaded
would count as survived.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

LIBRARY = re.compile(r"/\S*/lib(?:torch_)?openreg\.so$", re.MULTILINE)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes one path a line to the file that the environment names."""
    package = getattr(sys.modules.get("torch_openreg"), "__file__", None)
    loaded = set(LIBRARY.findall(Path("/proc/self/maps").read_text())) | ({package} if package else set())
    Path(os.environ["OPENREG_MUTANT_WITNESS"]).write_text("".join(f"{path}\n" for path in sorted(loaded)))
