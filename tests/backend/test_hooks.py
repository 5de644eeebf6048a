"""Guard and hooks as PyTorch's own C++ asks them, each function by itself."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
import torch

from .conftest import GateFunction, ProgramFunction
from .probe import built

REFUSED = -2
openreg = torch.openreg


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The functions of hooks_probe.cpp."""
    return built("hooks_probe", tmp_path_factory.mktemp("hooks"))


@pytest.fixture(scope="module")
def probe(library: Path) -> ctypes.CDLL:
    """The same, loaded."""
    loaded = ctypes.CDLL(str(library))
    loaded.guard_default_stream.restype = ctypes.c_int64
    return loaded


def current() -> int:
    return openreg.current_device()


# ----------------------------------------------------------------------------------------------------------- the guard


def test_the_guard_says_type_and_number_of_the_devices(probe: ctypes.CDLL) -> None:
    assert probe.guard_has_our_type() == 1
    assert probe.guard_device_count() == 2


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("index", [0, 1])
def test_the_guard_knows_and_sets_the_current_device(probe: ctypes.CDLL, index: int) -> None:
    openreg.set_device(1 - index)
    assert probe.guard_get_device() == 1 - index
    assert probe.guard_set_device(index) == 0
    assert (probe.guard_get_device(), current()) == (index, index)
    assert probe.guard_set_device(2) == REFUSED
    assert current() == index


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("index", [0, 1])
def test_the_guard_exchanges_the_device_for_the_one_before(probe: ctypes.CDLL, index: int) -> None:
    openreg.set_device(1 - index)
    assert probe.guard_exchange_device(index) == 1 - index
    assert probe.guard_exchange_device(index) == current() == index
    assert probe.guard_exchange_device(2) == REFUSED
    assert current() == index


@pytest.mark.usefixtures("puts_back")
def test_what_destructors_call_puts_the_device_back_and_never_throws(probe: ctypes.CDLL) -> None:
    assert probe.guard_unchecked_set_device(1) == 0
    assert current() == 1
    assert probe.guard_unchecked_set_device(7) == 0
    assert current() == 1


def test_the_default_stream_is_the_default_stream_whatever_is_current(device: str, probe: ctypes.CDLL) -> None:
    with torch.Stream(device):
        assert probe.guard_default_stream(torch.device(device).index) == 0


def test_no_event_makes_nobody_wait(device: str, probe: ctypes.CDLL, gate: GateFunction) -> None:
    index = torch.device(device).index
    gate(index)
    assert probe.guard_takes_no_event(index) == 1


@pytest.mark.usefixtures("puts_back")
def test_memory_that_a_stream_was_recorded_for_waits_for_it(
    device: str, probe: ctypes.CDLL, gate: GateFunction
) -> None:
    openreg.set_device(device)
    side = torch.Stream(device)
    call = (torch.device(device).index, ctypes.c_int64(side.stream_id), ctypes.c_size_t(3 << 20))
    closed = gate(side)
    assert probe.guard_reuses_recorded_memory(*call) == 0
    closed.open()
    side.synchronize()
    assert probe.guard_reuses_recorded_memory(*call) == 1


# ----------------------------------------------------------------------------------------------------------- the hooks


def test_the_hooks_say_that_there_is_a_backend_and_how_many_devices(probe: ctypes.CDLL) -> None:
    assert probe.hooks_is_built() == 1
    assert probe.hooks_is_available() == 1
    assert probe.hooks_device_count() == 2
    assert probe.hooks_init() == 0


def test_without_devices_the_hooks_say_so_and_cannot_be_initialised(program: ProgramFunction, library: Path) -> None:
    said = program(
        f"""
        import ctypes
        probe = ctypes.CDLL({str(library)!r})
        print(probe.hooks_is_built(), probe.hooks_is_available(), probe.hooks_device_count(), probe.hooks_init())
        """,
        OPENREG_SIM="devices=0",
    )
    assert said == f"1 0 0 {REFUSED}\n"


def test_asking_the_hooks_wakes_no_device(program: ProgramFunction, library: Path) -> None:
    """A device has a context when it has been used, and the autograd engine leaves the others alone."""
    said = program(
        f"""
        import ctypes
        probe = ctypes.CDLL({str(library)!r})
        probe.hooks_is_built(), probe.hooks_is_available(), probe.hooks_device_count(), probe.hooks_init()
        print(*(probe.hooks_has_primary_context(index) for index in (0, 1, 2)))
        x = torch.ones(1, device="openreg:1")
        print(*(probe.hooks_has_primary_context(index) for index in (0, 1, 2)))
        """
    )
    assert said == "0 0 0\n0 1 0\n"


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("index", [0, 1])
def test_the_hooks_know_set_and_exchange_the_current_device(probe: ctypes.CDLL, index: int) -> None:
    openreg.set_device(1 - index)
    assert probe.hooks_get_current_device() == 1 - index
    assert probe.hooks_set_current_device(index) == 0
    assert (probe.hooks_get_current_device(), current()) == (index, index)
    assert probe.hooks_exchange_device(1 - index) == index
    assert current() == 1 - index
    for call in (probe.hooks_set_current_device, probe.hooks_exchange_device):
        assert call(2) == REFUSED
    assert current() == 1 - index


@pytest.mark.usefixtures("puts_back")
def test_exchanging_for_a_device_that_may_be_missing_is_no_error(probe: ctypes.CDLL) -> None:
    assert probe.hooks_maybe_exchange_device(1) == 0
    assert current() == 1
    for missing in (-1, 2, 100):
        assert probe.hooks_maybe_exchange_device(missing) == 1
        assert current() == 1


@pytest.mark.usefixtures("puts_back")
def test_a_pointer_tells_its_device_whatever_is_current(device: str, other_device: str, probe: ctypes.CDLL) -> None:
    x, host = torch.zeros(8, device=device), torch.zeros(8)
    openreg.set_device(other_device)
    for offset in (0, 20):
        place = ctypes.c_void_p(x.data_ptr() + offset)
        assert probe.hooks_device_from_pointer(place) == torch.device(device).index
    assert probe.hooks_device_from_pointer(ctypes.c_void_p(host.data_ptr())) == REFUSED


@pytest.mark.usefixtures("puts_back")
def test_each_device_has_its_default_generator(probe: ctypes.CDLL) -> None:
    openreg.set_device(1)
    assert [probe.hooks_default_generator_device(index) for index in (0, 1)] == [0, 1]
    assert probe.hooks_default_generator_device(-1) == 1
    assert probe.hooks_default_generator_device(2) == REFUSED
