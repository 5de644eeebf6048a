"""What must hold from step 02 on: tensors live on the device, views share memory, copies are right in every way."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]


@pytest.mark.parametrize("device", DEVICES)
def test_a_tensor_is_made_where_it_is_asked_for(device: str) -> None:
    x = torch.empty(2, 3, device=device)
    assert (str(x.device), x.shape, x.stride(), x.is_openreg) == (device, (2, 3), (3, 1), True)
    assert torch.openreg.current_device() == 0


@pytest.mark.parametrize("source", ["cpu", *DEVICES])
@pytest.mark.parametrize("target", ["cpu", *DEVICES])
def test_values_survive_every_way(source: str, target: str) -> None:
    x = torch.arange(24.0).view(2, 3, 4)
    views = (lambda t: t, lambda t: t.transpose(0, 2), lambda t: t[:, ::2, 1:], lambda t: t[:, :1].expand(2, 3, 4))
    for change in views:
        assert torch.equal(change(x.to(source)).to(target).cpu(), change(x))


@pytest.mark.parametrize("device", DEVICES)
def test_a_copy_into_a_view_leaves_the_gaps_alone(device: str) -> None:
    x = torch.zeros(4, 6)
    y = x.to(device)
    for tensor in (x, y):
        tensor[::2, 1:5:3].copy_(torch.ones(2, 2, dtype=torch.int64))
    assert torch.equal(y.cpu(), x)


def test_a_copy_casts() -> None:
    x = torch.tensor([0.0, 1.5, -2.5])
    for dtype in (torch.float64, torch.bfloat16, torch.int32, torch.bool, torch.complex64):
        assert torch.equal(x.to("openreg").to(dtype).cpu(), x.to(dtype))
        assert torch.equal(x.to("openreg:1", dtype).cpu(), x.to(dtype))


def test_a_conjugated_tensor_can_be_copied() -> None:
    x = torch.tensor([1 + 2j, 3 - 4j])
    assert torch.equal(x.to("openreg").conj().cpu(), x.conj())
    assert torch.equal(x.to("openreg").conj().imag.cpu(), x.conj().imag)


def test_a_view_shares_the_memory_of_its_base() -> None:
    x = torch.arange(6.0).to("openreg")
    x.view(2, 3).t()[2].copy_(torch.tensor([7.0, 8.0]))
    assert x.cpu().tolist() == [0, 1, 7, 3, 4, 8]


def test_a_number_comes_back() -> None:
    x = torch.tensor([1.5, 0.0]).to("openreg:1")
    assert x[0].item() == 1.5
    assert x.tolist() == [1.5, 0.0]
    assert not x[1]


def test_resize_keeps_the_contents() -> None:
    x = torch.arange(4.0).to("openreg").resize_(50)
    assert x[:4].cpu().tolist() == [0, 1, 2, 3]


def test_set_shares_a_storage() -> None:
    x = torch.arange(4.0).to("openreg")
    y = torch.empty(0, device="openreg").set_(x.untyped_storage(), 1, (2,), (2,))
    assert y.cpu().tolist() == [1, 3]


def test_memory_comes_back_when_the_tensor_dies() -> None:
    empty_cache = getattr(torch.openreg, "empty_cache", lambda: None)  # from step 07 on, memory goes to a cache first
    empty_cache()
    free = torch.openreg.mem_get_info(1)[0]
    x = torch.empty(1 << 25, dtype=torch.uint8, device="openreg:1")
    assert free - torch.openreg.mem_get_info(1)[0] == x.nbytes
    del x
    empty_cache()
    assert torch.openreg.mem_get_info(1)[0] == free


def test_out_of_memory_is_an_error_and_nothing_worse() -> None:
    with pytest.raises(torch.OutOfMemoryError) as caught:
        torch.empty(1 << 40, device="openreg")
    # The driver's words; step 07 has its own.
    direct = (
        r"openreg: orMalloc: argument 'size' is 4398046511104 bytes; device 0 has \d+ bytes free of \d+ in total "
        r"\[orErrorMemoryAllocation\]"
    )
    assert re.search(direct, str(caught.value)) or "Tried to allocate 4096.00 GiB" in str(caught.value)
    assert torch.ones(3).to("openreg").cpu().tolist() == [1, 1, 1]


def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(RuntimeError, match="openreg: The device index is out of range: expected 0 to 1, but got 2"):
        torch.empty(1, device="openreg:2")


def test_the_exercise_has_a_solution() -> None:
    solution = [sys.executable, str(HERE / "exercise.py")]
    done = subprocess.run(solution, env=os.environ, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert "the base is gone, the view holds its memory: 1048576 bytes" in said
    assert said[-1] == "after the exception: 0 bytes"
