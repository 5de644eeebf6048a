"""torch.accelerator on openreg: what works, and the exact words of what waits for a later step."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_openreg  # noqa: F401

from backend.conftest import ProgramFunction

accelerator = torch.accelerator


def index_of(device: str) -> int:
    """The number in a device's name."""
    return torch.device(device).index


# ---------------------------------------------------------------------- devices


def test_openreg_is_the_accelerator() -> None:
    assert accelerator.is_available()
    assert accelerator.current_accelerator() == torch.device("openreg")
    assert accelerator.current_accelerator(check_available=True) == torch.device("openreg")
    assert accelerator.device_count() == torch.openreg.device_count() == 2


def test_asking_for_the_accelerator_starts_nothing(program: ProgramFunction) -> None:
    code = """
    accelerator = torch.accelerator
    before = len(os.listdir("/proc/self/task"))
    print(accelerator.current_accelerator(), accelerator.current_accelerator(check_available=True))
    print(accelerator.is_available(), accelerator.device_count(), torch.openreg.is_initialized())
    print(len(os.listdir("/proc/self/task")) == before)
    """
    assert program(code).splitlines() == ["openreg openreg", "True 2 False", "True"]


@pytest.mark.usefixtures("puts_back")
def test_the_current_device_is_that_of_torch_openreg(device: str) -> None:
    accelerator.set_device_index(index_of(device))
    assert accelerator.current_device_index() == torch.openreg.current_device() == index_of(device)
    torch.openreg.set_device(1 - index_of(device))
    assert accelerator.current_device_index() == 1 - index_of(device)
    accelerator.set_device_index(device)
    assert str(torch.empty(1, device="openreg").device) == device


@pytest.mark.usefixtures("puts_back")
def test_the_context_makes_a_device_current_and_puts_the_other_back(device: str, other_device: str) -> None:
    accelerator.set_device_index(other_device)
    with accelerator.device_index(index_of(device)):
        assert accelerator.current_device_index() == index_of(device)
        assert str(torch.empty(1, device="openreg").device) == device
    assert accelerator.current_device_index() == index_of(other_device)
    with accelerator.device_index(None):
        assert accelerator.current_device_index() == index_of(other_device)


@pytest.mark.usefixtures("puts_back")
def test_the_context_puts_the_device_back_after_an_exception(device: str, other_device: str) -> None:
    accelerator.set_device_index(other_device)
    with pytest.raises(ZeroDivisionError), accelerator.device_index(index_of(device)):
        raise ZeroDivisionError
    assert accelerator.current_device_index() == index_of(other_device)


OUT_OF_RANGE: dict[str, Callable[[], Any]] = {
    "set_device_index": lambda: accelerator.set_device_index(9),
    "device_index": lambda: accelerator.device_index(9).__enter__(),
    "current_stream": lambda: accelerator.current_stream(9),
    "get_device_capability": lambda: accelerator.get_device_capability(9),
}


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_a_device_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"^openreg: The device index is out of range: expected 0 to 1, but got 9"):
        OUT_OF_RANGE[name]()
    assert accelerator.current_device_index() == 0


def test_synchronising_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(torch.AcceleratorError, match="orDeviceSynchronize: argument 'device' is 9") as caught:
        accelerator.synchronize(9)
    assert caught.value.error_code == 3


def test_devices_of_other_types_are_refused() -> None:
    for function in (accelerator.set_device_index, accelerator.synchronize, accelerator.current_stream):
        with pytest.raises(ValueError, match=r"^cpu doesn't match the current accelerator openreg\.$"):
            function("cpu")


def test_synchronize_returns_when_the_work_is_done(device: str) -> None:
    x = torch.full((1000,), 3.0).to(device)
    y = torch.empty(1000, device=device)
    y.copy_(x)
    accelerator.synchronize(device)
    accelerator.synchronize(index_of(device))
    accelerator.synchronize()
    assert y.tolist() == [3.0] * 1000


def zeros_and_ones(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    """A tensor of the CPU, of any type, whose bytes are 0 or 1: they mean something in all of them."""
    x = torch.empty(shape, dtype=dtype)
    bits = torch.arange(x.untyped_storage().nbytes(), dtype=torch.uint8) % 3 % 2
    x.untyped_storage().copy_(bits.untyped_storage())
    return x


def has_tensors_of(device: str, other_device: str, dtype: torch.dtype) -> bool:
    """Whether the device stores elements of a type and copies them: as they lie, with strides, there and back."""
    x = zeros_and_ones(dtype, 3, 5)
    here = torch.empty(3, 5, dtype=dtype, device=device)
    turned = torch.empty(5, 3, dtype=dtype, device=device).t()
    there = torch.empty(3, 5, dtype=dtype, device=other_device)
    there.copy_(turned.copy_(here.copy_(x)))
    assert there.device == torch.device(other_device) and there.dtype == dtype
    return all(bytes(it.cpu().contiguous().untyped_storage()) == bytes(x.untyped_storage()) for it in (turned, there))


@pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental", "ignore:torch.quantize")
def test_capability_lists_the_types_that_tensors_can_have_and_no_other(device: str, other_device: str) -> None:
    claimed = accelerator.get_device_capability(device)["supported_dtypes"]
    possible = set()
    for dtype in {it for it in vars(torch).values() if isinstance(it, torch.dtype)}:
        with contextlib.suppress(RuntimeError):
            if has_tensors_of(device, other_device, dtype):
                possible.add(dtype)
    assert claimed == possible
    assert {torch.float32, torch.bfloat16, torch.int64, torch.uint32, torch.complex32, torch.bool} <= claimed


# ---------------------------------------------------------------------- streams


@pytest.mark.usefixtures("puts_back")
def test_the_current_stream_is_the_default_stream(device: str) -> None:
    stream = accelerator.current_stream(device)
    assert (stream.stream_id, str(stream.device)) == (0, device)
    assert isinstance(stream, torch.Stream)
    accelerator.set_device_index(device)
    assert accelerator.current_stream() == stream


@pytest.mark.usefixtures("puts_back")
def test_setting_a_default_stream_makes_its_device_current(device: str, other_device: str) -> None:
    accelerator.set_device_index(other_device)
    accelerator.set_stream(accelerator.current_stream(device))
    assert accelerator.current_device_index() == index_of(device)
    assert accelerator.current_stream().stream_id == 0
    assert str(torch.empty(1, device="openreg").device) == device


# ---------------------------------------------------------------------- not yet

WORKS = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]
GRAPHS = ["Graph"]


def test_every_public_function_is_in_one_of_these_tests() -> None:
    modules = {"accelerator", "cache", "graphs", "memory", "torch"}
    public = {
        name
        for name in dir(accelerator)
        if not name.startswith("_")
        and not inspect.ismodule(getattr(accelerator, name))
        and getattr(getattr(accelerator, name), "__module__", "").startswith("torch.")
    }
    assert public - modules == {*WORKS, *GRAPHS}


@pytest.mark.usefixtures("puts_back")
def test_the_old_names_still_work_and_warn() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        accelerator.set_device_idx(1)
        assert accelerator.current_device_idx() == 1
    assert [warning.category for warning in caught] == [FutureWarning] * 2
