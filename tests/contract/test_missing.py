"""missing.py: which failures of a driver that isn't complete are skipped, and what a project may say about its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from . import missing
from .harness import NO_SECOND, NotOfThisDriver

SayFunction = Callable[[str], None]


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[SayFunction]:
    """Writes the settings of a project whose tests these would be."""
    monkeypatch.setattr(missing, "ROOT", tmp_path)
    missing.expected.cache_clear()

    def say(device: str) -> None:
        (tmp_path / "pyproject.toml").write_text(f"[tool.openreg.device]\n{device}\n")

    say("")
    yield say
    missing.expected.cache_clear()


@pytest.mark.parametrize(
    ("said", "lacking"),
    [
        ("NotOfThisDriver: there is no device 1", NO_SECOND),
        ("Failure: device is 1; expected a device index in [0, 1)", NO_SECOND),
        ("RuntimeError: The device index is out of range: expected 0 to 0, but got 1", NO_SECOND),
        ("RuntimeError: The device index is out of range: expected 0 to 1, but got 10", None),
        ("Failure: orMallocHost: not implemented: orMallocHost", "not implemented: orMallocHost"),
        ("NotOfThisDriver: orGetDeviceCount: TODO: GetDeviceCount, in driver.cpp", "not implemented: orGetDeviceCount"),
        ("NotOfThisDriver: copies are synchronous", "copies are synchronous"),
        ("Failure: orErrorNotFound: orModuleLoad: argument 'name' is '/tmp/probe.so'", missing.OWN_KERNELS),
        ("Failure: orErrorNotFound: orModuleGetKernel: argument 'name' is 'fill'", missing.OWN_KERNELS),
        ("AssertionError: assert 3 == 4", None),
    ],
)
def test_a_failure_says_what_a_driver_lacks(say: SayFunction, said: str, lacking: str | None) -> None:
    assert missing.lacks([said, ""]) == lacking


def test_the_first_text_that_says_something_decides(say: SayFunction) -> None:
    say('entries = ["MallocHost"]')
    assert missing.lacks(["AssertionError", "not implemented: orFree"]) == "not implemented: orFree"
    assert missing.lacks(["not implemented: orMallocHost", "not implemented: orFree"]) is None


def test_what_a_driver_must_have_is_no_excuse(say: SayFunction) -> None:
    say('count = 2\nentries = ["MallocHost"]')
    assert missing.lacks(["NotOfThisDriver: there is no device 1"]) is None
    assert missing.lacks(["NotOfThisDriver: TODO: MallocHost, in memory.cpp"]) is None
    assert missing.lacks(["not implemented: orMalloc"]) == "not implemented: orMalloc"


def test_who_loads_modules_must_load_those_of_the_tests(say: SayFunction) -> None:
    say('entries = ["ModuleLoad"]')
    assert missing.lacks(["Failure: orErrorNotFound: orModuleLoad: argument 'name' is '/tmp/probe.so'"]) is None


def test_what_a_test_holds_that_was_stopped_in_the_middle_is_no_leak(
    say: SayFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = SimpleNamespace(was_stopped=False, message=lambda: "")
    monkeypatch.setattr(missing, "is_complete", lambda: False)
    test = missing._skip(cast(pytest.Item, SimpleNamespace(funcargs={"session_api": api})))
    next(test)
    with pytest.raises(pytest.skip.Exception, match="there is no device 1"):
        test.throw(NotOfThisDriver(NO_SECOND))
    assert api.was_stopped


@pytest.mark.parametrize(
    ("device", "text"),
    [
        ("count = 0", "count of [tool.openreg.device] is 0; expected the number of devices"),
        ('count = "two"', "count of [tool.openreg.device] is 'two'; expected the number of devices"),
        ("count = true", "count of [tool.openreg.device] is True; expected the number of devices"),
        ('entries = "Malloc"', "entries of [tool.openreg.device] is 'Malloc'; expected a list of entries"),
        ('entries = ["Teleport"]', "entries of [tool.openreg.device] is 'Teleport'; expected entries of"),
        ('entries = ["orMalloc"]', "entries of [tool.openreg.device] is 'orMalloc'; expected entries of"),
        ("devices = 2", "devices of [tool.openreg.device] is 2; expected count and entries, and nothing else"),
    ],
)
def test_what_makes_no_sense_is_refused(say: SayFunction, device: str, text: str) -> None:
    say(device)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        missing.expected()
    assert text in str(error.value)
