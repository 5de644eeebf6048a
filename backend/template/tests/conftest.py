"""What needs more than the device has is skipped. What it has stands in pyproject.toml, in [tool.openreg.device]."""

from __future__ import annotations

import pytest
from contract.missing import pytest_runtest_call as pytest_runtest_call
from contract.missing import pytest_runtest_setup as pytest_runtest_setup

# The contract first, in the order in which a driver is written; and then the step, which needs it.
ORDER = [
    "@GROUPS@",
]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the tests in that order."""
    items.sort(key=lambda it: ORDER.index(it.path.stem) if it.path.stem in ORDER else len(ORDER))
