"""What must hold from step 08 on: pinned memory, copies that don't wait, blocks that are safe while they are used."""

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch_openreg
from torch.utils.data import DataLoader

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]

DRIVER = ctypes.CDLL(str(Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"))


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each device in turn, the current one, with copies that take 50 ms: long enough to be seen queued."""
    index = int(request.param[-1])
    torch.openreg.set_device(index)
    torch.empty(0, device=request.param)
    assert DRIVER.orSimSetDelay(index, ctypes.c_int64(0), ctypes.c_int64(50_000)) == 0
    yield request.param
    assert DRIVER.orSimSetDelay(index, ctypes.c_int64(0), ctypes.c_int64(0)) == 0
    torch.openreg.synchronize(index)
    torch.openreg.set_device(0)


def idle() -> bool:
    """Whether the current stream has done all its work."""
    return torch.accelerator.current_stream().query()


def test_pinned_tensors_say_so() -> None:
    x = torch.arange(6.0).view(2, 3).pin_memory()
    assert x.is_pinned() and x[1:].is_pinned() and torch.empty(3, pin_memory=True).is_pinned()
    assert not torch.ones(3).is_pinned() and torch.equal(x, torch.arange(6.0).view(2, 3))


def test_a_copy_to_the_device_is_queued(device: str) -> None:
    x, y = torch.arange(1000.0).pin_memory(), torch.zeros(1000).to(device)
    y.copy_(x, non_blocking=True)
    assert not idle()
    assert torch.equal(y.cpu(), x) and idle()


def test_a_copy_to_the_host_is_queued_and_stale_before_it_is_done(device: str) -> None:
    x, host = torch.arange(1000.0).to(device), torch.full((1000,), -1.0, pin_memory=True)
    host.copy_(x, non_blocking=True)
    assert not idle() and torch.equal(host, torch.full((1000,), -1.0))
    torch.accelerator.synchronize()
    assert torch.equal(host, torch.arange(1000.0))
    assert x.to("cpu", non_blocking=True).is_pinned() and not idle()


def test_pageable_memory_may_be_changed_at_once(device: str) -> None:
    x, y = torch.ones(1000), torch.zeros(1000).to(device)
    y.copy_(x, non_blocking=True)
    assert not idle()
    x.zero_()
    assert torch.equal(y.cpu(), torch.ones(1000))


def test_a_block_is_not_used_again_before_its_copy_is_done(device: str) -> None:
    x, y = torch.arange(1000.0).pin_memory(), torch.zeros(1000).to(device)
    where = x.data_ptr()
    y.copy_(x, non_blocking=True)
    del x
    other = torch.full((1000,), -1.0, pin_memory=True)
    assert other.data_ptr() != where
    assert torch.equal(y.cpu(), torch.arange(1000.0))
    assert torch.empty(1000, pin_memory=True).data_ptr() == where


def test_a_cast_on_the_way_is_right() -> None:
    x = torch.arange(12.0).view(3, 4).t().pin_memory()
    for device in DEVICES:
        y = x.to(device, torch.int32, non_blocking=True)
        back = y.t().to("cpu", torch.float64, non_blocking=True)
        torch.openreg.synchronize(device)
        assert torch.equal(y.cpu(), x.int()) and torch.equal(back, x.t().double())


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_pins_its_batches(workers: int) -> None:
    rows = torch.arange(24.0).view(8, 3)
    batches = list(DataLoader(rows, batch_size=4, pin_memory=True, num_workers=workers))
    assert all(batch.is_pinned() for batch in batches) and torch.equal(torch.cat(batches), rows)


def test_the_cache_can_be_emptied_and_is_counted() -> None:
    torch.empty(0, device="openreg")
    torch.empty(1000, pin_memory=True)
    assert torch.openreg.host_memory_stats()["allocated_bytes.current"] >= 4096
    torch.accelerator.empty_host_cache()
    assert torch.openreg.host_memory_stats()["active_bytes.current"] == 0
    assert torch.openreg.host_memory_stats()["allocated_bytes.current"] == 0


def test_the_exercise_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "exercise.py")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("equal\n")
