"""What must hold from step 07 on: memory is used again at once on its own stream, and never too early on another."""

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
import torch_openreg

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]
LIBC = ctypes.CDLL(None)
GATES = []  # all that there ever were: the stream's thread may still be leaving one
LIBRARY = ctypes.CDLL(str(Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"))
MIB = 1 << 20


@contextmanager
def closed(stream: torch.Stream) -> Iterator[None]:
    """What is queued on the stream inside runs when the block ends."""
    gate = ctypes.create_string_buffer(64)  # a semaphore of the C library, at which the stream waits
    GATES.append(gate)
    LIBC.sem_init(gate, 0, 0)
    assert LIBRARY.orLaunchHostFunc(ctypes.c_void_p(stream.native_handle), LIBC.sem_wait, gate) == 0
    deadline = threading.Timer(30, LIBC.sem_post, [gate])  # so that a fault cannot hang the test
    deadline.start()
    try:
        yield
    finally:
        deadline.cancel()
        LIBC.sem_post(gate)


def memory(size: int, device: str) -> torch.Tensor:
    """A tensor of so many bytes."""
    return torch.empty(size, dtype=torch.uint8, device=device)


def run(code: str, **env: str) -> str:
    """Runs code in a process of its own and returns what it printed."""
    command = [sys.executable, "-c", "import torch, torch_openreg\n" + code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=os.environ | env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("device", DEVICES)
def test_a_freed_block_is_used_again_at_once_on_its_own_stream_only(device: str) -> None:
    main, side = torch.openreg.current_stream(device), torch.Stream(device)
    with closed(main):
        x = memory(MIB, device)
        address = x.data_ptr()
        del x
        with side:
            other = memory(MIB, device)
        assert memory(MIB, device).data_ptr() == address != other.data_ptr()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("record", [True, False])
def test_record_stream_keeps_memory_from_being_used_too_early(device: str, record: bool) -> None:
    x = torch.arange(8).to(device)
    torch.openreg.synchronize(device)
    side = torch.Stream(device)
    with closed(side):
        with side:
            read = torch.empty(8, dtype=torch.int64, device=device)
            read.copy_(x)
        if record:
            x.record_stream(side)
        del x
        new = torch.full((8,), -1).to(device)
        torch.openreg.current_stream(device).synchronize()
    side.synchronize()
    assert read.tolist() == (list(range(8)) if record else [-1] * 8)
    assert new.tolist() == [-1] * 8


@pytest.mark.parametrize("device", DEVICES)
def test_statistics_count_tensors_and_what_is_reserved_for_them(device: str) -> None:
    torch.accelerator.empty_cache()
    allocated = torch.accelerator.memory_allocated(device)
    x = memory(3 * MIB, device)
    assert torch.accelerator.memory_allocated(device) == allocated + 3 * MIB
    assert torch.accelerator.memory_reserved(device) >= torch.accelerator.memory_allocated(device)
    del x
    assert torch.accelerator.memory_allocated(device) == allocated
    assert torch.accelerator.max_memory_allocated(device) >= allocated + 3 * MIB
    torch.accelerator.reset_peak_memory_stats(device)
    assert torch.accelerator.max_memory_allocated(device) == allocated


@pytest.mark.simulator
def test_a_full_device_gives_its_cache_back_and_then_says_what_it_is_full_of() -> None:
    said = run(
        """
x = torch.empty(20 << 20, dtype=torch.uint8, device="openreg")
del x
x = torch.empty(30 << 20, dtype=torch.uint8, device="openreg")
try:
    torch.empty(20 << 20, dtype=torch.uint8, device="openreg")
except torch.OutOfMemoryError as error:
    print(error)
""",
        OPENREG_SIM="memory=32MiB",
    )
    assert "openreg out of memory. Tried to allocate 20.00 MiB on openreg:0." in said
    assert "This process uses 30.00 MiB" in said


def test_poison_shows_memory_that_is_used_after_it_was_freed() -> None:
    code = """
x = torch.empty(4, dtype=torch.uint8, device="openreg")
print(x.tolist())
"""
    assert run(code, PYTORCH_ALLOC_CONF="poison:True") == "[203, 203, 203, 203]\n"


def test_the_exercise_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "exercise.py")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    recorded, waited = done.stdout.splitlines()
    assert int(recorded.split()[3]) > 2
    assert waited == "a wait: at most 1 of 10 batches in memory"
