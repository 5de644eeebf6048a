"""Files, pickles and copies of tensors, storages and models; sparse tensors; files for machines without the device."""

from __future__ import annotations

import copy
import io
import os
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors
import safetensors.torch
import torch
from torch.utils.serialization import config

from .conftest import ProgramFunction

openreg = torch.openreg


def numbers(device: str) -> torch.Tensor:
    """A view with an offset and gaps."""
    return torch.arange(12.0, device=device).view(3, 4)[:, 1:3]


@pytest.fixture
def file(tmp_path: Path, device: str) -> str:
    """A file with `numbers`."""
    name = str(tmp_path / "x.pt")
    torch.save(numbers(device), name)
    return name


def equal(actual: torch.Tensor, device: str) -> None:
    """It is what was saved, on that device."""
    assert str(actual.device) == device
    assert torch.equal(actual.cpu(), numbers("cpu"))


# ----------------------------------------------------------------------- saving and loading


@pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("weights_only", [True, False])
def test_a_tensor_comes_back_to_its_device(device: str, new: bool, weights_only: bool) -> None:
    buffer = io.BytesIO()
    torch.save(numbers(device), buffer, _use_new_zipfile_serialization=new)
    buffer.seek(0)
    loaded = torch.load(buffer, weights_only=weights_only)
    equal(loaded, device)
    assert (loaded.stride(), loaded.storage_offset()) == ((4, 1), 1)


@pytest.mark.parametrize("mmap", [False, True])
def test_map_location_says_where_to(file: str, device: str, other_device: str, mmap: bool) -> None:
    places: dict[str, Any] = {
        "cpu": "cpu",
        "device": other_device,
        "object": torch.device(other_device),
        "dict": {device: other_device},
        "function": lambda storage, location: storage.to(device=other_device),
        "none": lambda storage, location: None,
    }
    loaded = {name: torch.load(file, map_location=place, mmap=mmap) for name, place in places.items()}
    for name, x in loaded.items():
        equal(x, {"cpu": "cpu", "none": device}.get(name, other_device))
    with torch.openreg.device(other_device):
        equal(torch.load(file, map_location="openreg", mmap=mmap), other_device)


def test_views_of_one_storage_are_one_storage_again(device: str) -> None:
    x = torch.zeros(6, device=device)
    buffer = io.BytesIO()
    torch.save([x, x[2:], x.view(2, 3)], buffer)
    buffer.seek(0)
    first, second, third = torch.load(buffer)
    second.fill_(1)
    assert torch.equal(first.cpu(), torch.tensor([0.0, 0, 1, 1, 1, 1]))
    assert third.untyped_storage().data_ptr() == first.untyped_storage().data_ptr()


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.bfloat16, torch.cdouble, torch.float8_e4m3fn])
def test_each_type_comes_back(device: str, dtype: torch.dtype) -> None:
    x = torch.arange(5, device=device).to(dtype)
    buffer = io.BytesIO()
    torch.save(x, buffer)
    buffer.seek(0)
    assert torch.equal(torch.load(buffer).cpu().view(torch.uint8), x.cpu().view(torch.uint8))


def test_a_model_and_its_optimizer_come_back_to_train_on(device: str) -> None:
    def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad()
        model(torch.ones(2, 3, device=device)).square().sum().backward()
        optimizer.step()

    model = torch.nn.Linear(3, 2, device=device)
    optimizer = torch.optim.Adam(model.parameters())
    train(model, optimizer)
    buffer = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, buffer)
    buffer.seek(0)
    state = torch.load(buffer)
    other = torch.nn.Linear(3, 2, device=device)
    other.load_state_dict(state["model"])
    other_optimizer = torch.optim.Adam(other.parameters())
    other_optimizer.load_state_dict(state["optimizer"])
    train(model, optimizer)
    train(other, other_optimizer)
    assert torch.equal(model.weight.cpu(), other.weight.cpu())


def test_a_file_without_numbers_has_their_place(device: str, tmp_path: Path) -> None:
    with torch.serialization.skip_data():
        torch.save(numbers(device), tmp_path / "x.pt")
    loaded = torch.load(tmp_path / "x.pt")
    assert (str(loaded.device), loaded.shape, loaded.stride()) == (device, (3, 2), (4, 1))


def test_settings_of_saving_and_loading_hold(device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config.save, "use_pinned_memory_for_d2h", True)
    monkeypatch.setattr(config.load, "mmap", True)
    torch.save(numbers(device), tmp_path / "x.pt")
    equal(torch.load(tmp_path / "x.pt"), device)


def test_a_file_is_written_after_what_is_queued(device: str) -> None:
    side = torch.Stream(device)
    x = torch.zeros(100_000, device=device)
    openreg.synchronize(device)
    buffer = io.BytesIO()
    with side:
        for _ in range(20):
            x += 1
        torch.save(x, buffer)
    buffer.seek(0)
    assert torch.equal(torch.load(buffer, map_location="cpu"), torch.full((100_000,), 20.0))


# ----------------------------------------------------------------------- where to, by name


def test_a_storage_says_where_it_is(device: str) -> None:
    storage = torch.UntypedStorage(4, device=torch.device(device))
    assert torch.serialization.location_tag(storage) == device
    with torch.openreg.device(device):
        assert torch.serialization.location_tag(torch.UntypedStorage(4, device=torch.device("openreg"))) == device


def test_a_storage_of_the_cpu_is_restored_to_the_device(device: str) -> None:
    storage = torch.arange(3, dtype=torch.uint8).untyped_storage()
    there = torch.serialization.default_restore_location(storage, device)
    assert there.is_openreg and str(there.device) == device
    assert there.tolist() == [0, 1, 2]


# ----------------------------------------------------------------------- other copies


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies_of_tensors_parameters_and_models(device: str, copied: Callable[[Any], Any]) -> None:
    equal(copied(numbers(device)), device)
    parameter = torch.nn.Parameter(torch.ones(2, device=device))
    other = copied(parameter)
    assert type(other) is torch.nn.Parameter and other.requires_grad and str(other.device) == device
    model = torch.nn.Linear(3, 2, device=device)
    assert torch.equal(copied(model).weight.cpu(), model.weight.cpu())
    assert copied(model).weight.data_ptr() != model.weight.data_ptr()


@pytest.mark.filterwarnings("ignore:TypedStorage")
def test_a_storage_is_copied_saved_and_cloned(device: str) -> None:
    storage = torch.arange(4, dtype=torch.uint8, device=device).untyped_storage()
    buffer = io.BytesIO()
    torch.save(storage, buffer)
    buffer.seek(0)
    for other in (torch.load(buffer, weights_only=False), copy.deepcopy(storage), storage.clone(), storage.cpu()):
        assert other.tolist() == [0, 1, 2, 3] and other.data_ptr() != storage.data_ptr()


@pytest.mark.parametrize("place", ["cpu", "openreg"])
def test_pickling_a_storage_alone_fails_in_pytorch_on_every_device(place: str) -> None:
    storage = torch.UntypedStorage(4, device=torch.device(place))
    words = "type object 'torch.storage.UntypedStorage' has no attribute 'dtype'"
    with pytest.raises(AttributeError, match=re.escape(words)):
        pickle.loads(pickle.dumps(storage))


def test_tensors_are_swapped_with_what_they_carry(device: str, other_device: str) -> None:
    x, y = torch.zeros(2, device=device), torch.ones(3, device=other_device)
    openreg.set_scale(x, 0.5)
    torch.utils.swap_tensors(x, y)
    assert (str(x.device), str(y.device)) == (other_device, device)
    assert (openreg.get_scale(x), openreg.get_scale(y)) == (None, 0.5)


def test_a_model_moves_by_swapping(device: str) -> None:
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        model = torch.nn.Linear(3, 2)
        weight, expected = model.weight, model.weight.detach().clone()
        model.to(device)
        assert model.weight is weight and str(weight.device) == device
        assert torch.equal(weight.cpu(), expected)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)


# ----------------------------------------------------------------------- safetensors


def test_safetensors_saves_the_device_and_loads_to_the_cpu(device: str, tmp_path: Path) -> None:
    name = str(tmp_path / "x.safetensors")
    safetensors.torch.save_file({"x": numbers(device).contiguous()}, name)
    equal(safetensors.torch.load_file(name)["x"].to(device), device)
    with pytest.raises(safetensors.SafetensorError, match=f"device {device} is invalid"):
        safetensors.torch.load_file(name, device=device)


def test_safetensors_loads_into_a_model_on_the_device(device: str, tmp_path: Path) -> None:
    name = str(tmp_path / "model.safetensors")
    model, other = (torch.nn.Linear(3, 2, device=device) for _ in range(2))
    safetensors.torch.save_model(model, name)
    assert safetensors.torch.load_model(other, name) == (set(), [])
    assert str(other.weight.device) == device and torch.equal(other.weight.cpu(), model.weight.cpu())


# ----------------------------------------------------------------------- sparse tensors

LAYOUTS = [torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc]
DENSE = torch.tensor([[0.0, 1.0, 0, 2], [3, 0, 0, 0]])


def sparse(layout: torch.layout) -> torch.Tensor:
    """On the CPU."""
    return DENSE.to_sparse(layout=layout, blocksize=(1, 2) if layout in LAYOUTS[3:] else None)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_sparse_tensor_is_moved_saved_copied_and_printed(device: str, layout: torch.layout) -> None:
    x = sparse(layout).to(device)
    buffer = io.BytesIO()
    torch.save(x, buffer)
    buffer.seek(0)
    copies = [x, torch.load(buffer), pickle.loads(pickle.dumps(x)), copy.deepcopy(x), x.clone(), x.to(x.device)]
    for other in copies:
        assert (str(other.device), other.layout, other.shape) == (device, layout, x.shape)
        assert str(other.values().device) == device
        assert torch.equal(other.cpu().to_dense(), DENSE)
    assert f"device='{device}', size=(2, 4)" in repr(x)
    assert torch.openreg.current_device() == 0


@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_sparse_tensor_is_made_on_the_device(device: str) -> None:
    indices = torch.tensor([[0, 0, 1], [1, 3, 0]], device=device)
    values = torch.tensor([1.0, 2.0, 3.0], device=device)
    x = torch.sparse_coo_tensor(indices, values, (2, 4))
    assert (x.sparse_dim(), x.dense_dim(), x._nnz(), x.is_coalesced()) == (2, 0, 3, False)
    assert torch.equal(x.cpu().to_dense(), DENSE)
    other = torch.sparse_csr_tensor(torch.tensor([0, 2, 3]), torch.tensor([1, 3, 0]), values.cpu()).to(device)
    assert torch.equal(other.crow_indices().cpu(), torch.tensor([0, 2, 3]))
    assert torch.equal(DENSE.to(device).to_sparse().cpu().to_dense(), DENSE)
    empty = torch.empty(2, 4, layout=torch.sparse_coo, device=device)
    assert str(empty.device) == device and empty._nnz() == 0


def test_a_sparse_tensor_is_copied_into_another(device: str) -> None:
    x = torch.empty(2, 4, layout=torch.sparse_coo, device=device)
    x.copy_(sparse(torch.sparse_coo))
    assert torch.equal(x.cpu().to_dense(), DENSE)
    other = torch.empty(2, 4, layout=torch.sparse_coo).copy_(x)
    assert other.device.type == "cpu" and torch.equal(other.to_dense(), DENSE)


def test_arithmetic_of_sparse_tensors_is_for_the_cpu(device: str) -> None:
    x = sparse(torch.sparse_coo).to(device)
    words = "Could not run 'aten::add.Tensor' with arguments from the 'Sparseopenreg' backend."
    with pytest.raises(NotImplementedError, match=re.escape(words)):
        x + x
    assert torch.equal((x.cpu() + x.cpu()).to_dense(), DENSE + DENSE)


# ----------------------------------------------------------------------- elsewhere


def test_a_machine_without_the_backend_says_so_and_loads_to_the_cpu(tmp_path: Path) -> None:
    name = str(tmp_path / "x.pt")
    x = torch.tensor([1.0, -0.5], device="openreg:1")
    torch.save(openreg.quantize(x), name)
    code = f"""
import torch
x = torch.load({name!r}, map_location="cpu")
print(x.tolist(), torch._utils.get_tensor_metadata(x))
torch.load({name!r})
"""
    env = os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "[127, -64] {}\n"  # the scale is lost there, and the file has it still
    words = "don't know how to restore data location of torch.storage.UntypedStorage (tagged with openreg:1)"
    assert words in done.stderr
    assert openreg.get_scale(torch.load(name)) == 1 / 127


def test_a_driver_without_devices_says_so(tmp_path: Path, program: ProgramFunction) -> None:
    name = str(tmp_path / "x.pt")
    torch.save(numbers("openreg:0"), name)
    said = program(f"torch.load({name!r})", status=1, OPENREG_DRIVER="fake")
    assert "Attempting to deserialize object on a OPENREG device but torch.openreg.is_available() is False." in said
    assert "use torch.load with map_location=torch.device('cpu')" in said


def test_a_machine_with_fewer_devices_says_so(tmp_path: Path, program: ProgramFunction) -> None:
    name = str(tmp_path / "x.pt")
    torch.save(numbers("openreg:1"), name)
    code = f"print(torch.load({name!r}, map_location='openreg:0').device)\ntorch.load({name!r})"
    said = program(code, status=1, OPENREG_SIM="devices=1")
    assert said.startswith("openreg:0\n")
    assert "Attempting to deserialize object on OPENREG device 1 but torch.openreg.device_count() is 1." in said
