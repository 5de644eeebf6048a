"""What must hold from step 13 on: what a tensor and its memory carry survives, and memory is shared in order."""

import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]


def saved(x: torch.Tensor, **options: object) -> torch.Tensor:
    """Through a file."""
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, **options)


def pickled(x: torch.Tensor) -> torch.Tensor:
    return pickle.loads(pickle.dumps(x))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("copied", [saved, pickled, torch.Tensor.clone])
def test_a_scale_and_a_label_survive(device: str, copied: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.linspace(-3, 3, 50).to(device)
    small = torch.openreg.quantize(x)
    torch.openreg.set_memory_label(small, "weights")
    other = copied(small)
    assert other.device == small.device
    assert torch.openreg.get_scale(other) == torch.openreg.get_scale(small)
    assert torch.openreg.get_memory_label(other) == "weights"
    torch.testing.assert_close(torch.openreg.dequantize(other), x, rtol=0, atol=3 / 127 / 2 + 1e-6)


@pytest.mark.parametrize("device", DEVICES)
def test_metadata_of_others_survives_and_goes_nowhere_on_the_cpu(device: str) -> None:
    x, metadata = torch.ones(3, device=device), {"version_number": True, "format_number": True}
    assert torch._utils.get_tensor_metadata(x) == {}
    torch._utils.set_tensor_metadata(x, metadata)
    assert torch._utils.get_tensor_metadata(saved(x)) == metadata
    assert torch._utils.get_tensor_metadata(saved(x, map_location="cpu")) == {}


@pytest.mark.parametrize("device", DEVICES)
def test_memory_is_counted_under_its_label(device: str) -> None:
    with torch.openreg.memory_label("step 13"):
        x = torch.ones(100, device=device)
    view = x[50:]
    assert torch.openreg.memory_by_label(device)["step 13"] == 400
    view.resize_(150)
    assert torch.openreg.memory_by_label(device)["step 13"] == 800
    del x, view
    assert "step 13" not in torch.openreg.memory_by_label(device)


@pytest.mark.parametrize("device", DEVICES)
def test_memory_is_shared_by_dlpack(device: str) -> None:
    x = torch.arange(6.0, device=device).view(2, 3)
    assert x.__dlpack_device__() == (12, x.device.index)
    for take in (torch.from_dlpack, torch.openreg.from_dlpack):
        same = take(x)
        assert (same.device, same.data_ptr()) == (x.device, x.data_ptr())
        same += 1
    assert torch.equal(x.cpu(), torch.arange(6.0).view(2, 3) + 2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_sparse_tensor_is_moved_saved_and_loaded(device: str) -> None:
    dense = torch.tensor([[0.0, 1.0], [2.0, 0.0]])
    for layout in (torch.sparse_coo, torch.sparse_csr):
        loaded = saved(dense.to_sparse(layout=layout).to(device))
        assert str(loaded.device) == device and loaded.layout == layout
        assert torch.equal(loaded.cpu().to_dense(), dense)


def test_the_exercise_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "exercise.py")],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "current: 0 loaded on: openreg:0\ncurrent: 1 loaded on: openreg:1\n"
