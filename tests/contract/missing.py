"""What the driver under test lacks. A test that fails for want of it is skipped, and the reason names it.

A complete driver lacks nothing. What any other one must have can be said in pyproject.toml: a test that needs no more
than that fails like any test.

    [tool.openreg.device]
    count = 1
    entries = ["GetDeviceCount", "Malloc"]     # entries of the contract, without "or"
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

import pytest

from .harness import NO_SECOND, is_complete
from .header import ROOT, table_fields

# What the library says when a test uses a second device, and what it or a driver says of an entry that isn't there.
_SECOND = re.compile(rf"{NO_SECOND}|is 1; expected a device index in \[0, 1\)|expected 0 to 0, but got 1\b")
_ENTRY = re.compile(r"\b(?:not implemented|TODO): (?:or)?(\w+)")
_OTHER = re.compile(r"NotOfThisDriver: (.+)")
# What a driver says that has kernels of its own, and no way to get code for others onto the device.
_CODE = re.compile(r"orErrorNotFound: orModule(Load|GetKernel): ")


OWN_KERNELS = "the driver has kernels of its own only"


class Expected(NamedTuple):
    """What a driver that isn't complete must have all the same."""

    count: int
    entries: frozenset[str]


@cache
def expected() -> Expected:
    """Reads that from pyproject.toml.

    Raises:
        ValueError: If something else stands there. The text names it and what is expected.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    given = project.get("tool", {}).get("openreg", {}).get("device", {})
    count, entries = given.get("count", 1), given.get("entries", [])

    def refuse(name: str, value: object, what: str) -> None:
        raise ValueError(f"pyproject.toml: {name} of [tool.openreg.device] is {value!r}; expected {what}")

    if type(count) is not int or count < 1:  # True is an int as well
        refuse("count", count, "the number of devices")
    if not isinstance(entries, list):
        refuse("entries", entries, "a list of entries, such as ['Malloc']")
    for entry in entries:
        if entry not in table_fields():
            refuse("entries", entry, "entries of openreg_driver.h, such as 'Malloc'")
    for name in given.keys() - {"count", "entries"}:
        refuse(name, given[name], "count and entries, and nothing else")
    return Expected(count, frozenset(entries))


def lacks(said: Iterable[str]) -> str | None:
    """What a driver lacks, by what was said when a test failed: "not implemented: orMalloc", "there is no device 1".

    The first text that says something of the kind decides. None if no text does, or if the driver must have it.
    """
    for text in said:
        if _SECOND.search(text):
            return NO_SECOND if expected().count < 2 else None
        if entry := _ENTRY.search(text):
            return f"not implemented: or{entry[1]}" if entry[1] not in expected().entries else None
        if _CODE.search(text) and "ModuleLoad" not in expected().entries:
            return OWN_KERNELS
        if other := _OTHER.search(text):
            return other[1]
    return None


def _skip(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    except (Exception, pytest.fail.Exception) as error:
        api = getattr(item, "funcargs", {}).get("session_api")
        said = [f"{type(error).__name__}: {error}", api.message() if api is not None else ""]
        lacking = None if is_complete() else lacks(said)
        if lacking is None:
            raise
        if api is not None:
            api.was_stopped = True
        pytest.skip(lacking)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """As for the call. Skips as well what is about the simulator, or about kernels that the driver need not have."""
    if not is_complete():
        if item.get_closest_marker("simulator"):
            pytest.skip("it needs the simulator")
        if item.get_closest_marker("kernels") and "LaunchKernel" not in expected().entries:
            pytest.skip("not implemented: orLaunchKernel")
    return (yield from _skip(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Skips, on a driver that is not complete, what fails for something that it lacks."""
    return (yield from _skip(item))
