"""What all tests share: the first lines of a run say what is tested."""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "tools"))
import compiler_cache  # noqa: E402
import remembered  # noqa: E402

os.environ |= compiler_cache.environment(ROOT)
# For torch.compile, here and in the programs that tests run. Each run generates its code, and finds compiled what
# another has generated alike for such a processor. It starts no processes that compile: each of pytest's would,
# beside those that the processors are busy with.
INDUCTOR = remembered.CACHE / "inductor" / hashlib.sha256(remembered.processor().encode()).hexdigest()[:16]
remembered.forget_old(INDUCTOR.parent)
os.environ |= {
    "TORCHINDUCTOR_CACHE_DIR": str(INDUCTOR),
    "TORCHINDUCTOR_FX_GRAPH_CACHE_DEFAULT": "0",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
}


def pytest_configure(config: pytest.Config) -> None:
    """Names the marker that several folders use."""
    config.addinivalue_line("markers", "sanitizer: builds and runs a program under a sanitizer, which takes its time")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the switch of `make test-all`."""
    parser.addoption("--all-samples", action="store_true", help="run operators with all their samples and data types")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Runs the files first whose tests ask for the most time: at the end, no worker waits for one that began late."""
    longest: dict[Path, float] = {}
    for item in items:
        marker = item.get_closest_marker("timeout")
        seconds = float(marker.args[0]) if marker and marker.args else 0.0
        longest[item.path] = max(longest.get(item.path, 0.0), seconds)
    items.sort(key=lambda item: -longest[item.path])


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Names the package under test and the driver."""
    found = importlib.util.find_spec("torch_openreg")
    where = Path(found.origin).parent if found and found.origin else "not installed: only tests/contract can pass"
    torch = importlib.metadata.version("torch") if importlib.util.find_spec("torch") else "none"
    return [f"torch_openreg: {where} (torch {torch}, driver {os.environ.get('OPENREG_DRIVER') or 'sim'})"]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Stops a run whose groups are torn apart: each process would make what the tests of a group are to share."""
    if not session.config.getoption("loadgroup", default=False):
        return  # not a process of pytest-xdist, or one that is to know no groups
    for item in session.items:
        marker = item.get_closest_marker("xdist_group")
        if marker and not item.nodeid.endswith(f"@{marker.args[0]}"):
            said = f"pytest-xdist tears the group {marker.args[0]!r} apart: {item.nodeid}"
            os.write(2, f"{said}\n".encode())  # of an exception here, the first process shows that there was one only
            raise pytest.UsageError(said)
