"""What a tensor and its memory carry: a scale on the tensor, a label on the memory, and who keeps which of them."""

from __future__ import annotations

import copy
import gc
import io
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import compiler_cache
import pytest
import torch
import torch_openreg

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "carriers"
RECORDED = ROOT / "tests" / "recorded" / "carriers.txt"
openreg = torch.openreg

NO_SCALE = "dequantize: argument 'quantized' has no scale; expected one, from quantize or set_scale"


def saved(x: torch.Tensor, **options: object) -> torch.Tensor:
    """Through a file."""
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, **options)


@pytest.fixture(autouse=True)
def no_label_is_left() -> Iterator[None]:
    yield
    gc.collect()
    assert all(openreg.memory_by_label(index) == {} for index in range(openreg.device_count()))


# ----------------------------------------------------------------------- the example


@pytest.mark.timeout(300)
def test_the_table_of_carriers_is_what_a_run_prints(tmp_path: Path) -> None:
    options = ["-GNinja", f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_CXX_FLAGS=-Werror"]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    site = str(Path(torch_openreg.__file__).resolve().parents[1])
    env = os.environ | compiler_cache.environment_of_temporary_folders()
    env |= {"PATH": path, "PYTHONPATH": site, "NOTED": str(tmp_path / "libnoted.so")}
    for command in (
        ["cmake", "-S", str(EXAMPLE), "-B", str(tmp_path), *options],
        ["cmake", "--build", str(tmp_path)],
        [sys.executable, str(EXAMPLE / "carriers.py")],
    ):
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    printed = f"$ python carriers.py\n{done.stdout}"
    if os.environ.get("OPENREG_RECORD"):
        RECORDED.write_text(printed)
    assert printed == RECORDED.read_text()


# ----------------------------------------------------------------------- a scale


def test_quantized_numbers_are_within_half_a_step(device: str) -> None:
    x = torch.randn(40, 30, generator=torch.Generator().manual_seed(0))
    small = openreg.quantize(x.to(device))
    scale = openreg.get_scale(small)
    assert scale == pytest.approx(x.abs().max().item() / 127)
    assert (small.dtype, str(small.device)) == (torch.int8, device)
    torch.testing.assert_close(openreg.dequantize(small).cpu(), x, rtol=0, atol=scale * 0.5001)
    assert torch.equal(openreg.dequantize(openreg.quantize(torch.zeros(3, device=device))).cpu(), torch.zeros(3))


@pytest.mark.parametrize("scale", [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 1.0])
def test_a_scale_comes_out_of_a_file_to_the_last_bit(device: str, scale: float) -> None:
    x = torch.ones(2, dtype=torch.int8, device=device)
    openreg.set_scale(x, scale)
    assert openreg.get_scale(saved(x)) == scale


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_a_scale_is_a_positive_number(device: str, scale: float) -> None:
    x = torch.ones(2, device=device)
    with pytest.raises(ValueError, match=r"set_scale: argument 'scale' is \S+; expected a positive number"):
        openreg.set_scale(x, scale)
    assert openreg.get_scale(x) is None


def test_a_scale_can_be_changed_and_taken_away_and_copies_keep_what_they_had(device: str) -> None:
    x = torch.ones(2, device=device)
    openreg.set_scale(x, 0.5)
    other = x.detach()
    openreg.set_scale(x, 0.25)
    assert (openreg.get_scale(x), openreg.get_scale(other)) == (0.25, 0.5)
    openreg.set_scale(x, None)
    assert (openreg.get_scale(x), openreg.get_scale(other)) == (None, 0.5)


def test_numbers_without_a_scale_are_not_guessed(device: str) -> None:
    small = openreg.quantize(torch.ones(4, device=device))
    with pytest.raises(ValueError, match=NO_SCALE):
        openreg.dequantize(small[1:])


def test_the_cpu_has_neither() -> None:
    with pytest.raises(ValueError, match="set_scale: argument 'tensor' is on cpu; expected a tensor of an openreg"):
        openreg.set_scale(torch.ones(2), 0.5)
    with pytest.raises(ValueError, match="set_memory_label: argument 'tensor' is on cpu; expected a tensor of an"):
        openreg.set_memory_label(torch.ones(2), "weights")
    assert openreg.get_scale(torch.ones(2)) is None and openreg.get_memory_label(torch.ones(2)) == ""


# ----------------------------------------------------------------------- what others write


def test_entries_of_others_are_kept_beside_ours(device: str) -> None:
    x = torch.ones(2, device=device)
    theirs = {"version_number": True, "format_number": False}
    torch._utils.set_tensor_metadata(x, theirs)
    openreg.set_scale(x, 0.5)
    metadata = torch._utils.get_tensor_metadata(saved(x))
    assert metadata == theirs | {"openreg.scale=0x1p-1": True}


def test_a_lazy_conjugate_is_saved_with_its_scale(device: str) -> None:
    x = torch.tensor([1 + 2j]).to(device).conj()
    openreg.set_scale(x, 0.5)
    loaded = saved(x)
    assert loaded.is_conj() and openreg.get_scale(loaded) == 0.5
    assert torch.equal(loaded.cpu(), x.cpu())


@pytest.mark.parametrize("text", ["", "0x1p-1 ", "nothing", "-0x1p-1", "inf", "nan", "0x0p+0"])
def test_a_file_with_a_scale_that_is_none_is_refused(device: str, text: str) -> None:
    x = torch.ones(2, device=device)
    words = f"openreg: a file's metadata has 'openreg.scale={text}'; expected a positive number behind the equals sign"
    with pytest.raises(RuntimeError, match=re.escape(words)):
        torch._utils.set_tensor_metadata(x, {f"openreg.scale={text}": True})
    assert openreg.get_scale(x) is None


# ----------------------------------------------------------------------- a label


def test_every_way_to_make_memory_gives_a_labelled_one(device: str) -> None:
    numbers, ones = torch.ones(4), torch.ones(4, device=device)
    file = io.BytesIO()
    torch.save(ones, file)
    file.seek(0)
    with openreg.memory_label("made"):
        made = {
            "empty": torch.empty(4, device=device),
            "empty_strided": torch.empty_strided((2, 2), (1, 2), device=device),
            "moved": numbers.to(device),
            "structured": ones + 1,
            "reduced": ones.sum(),
            "copied": ones.clone(),
            "set_": torch.empty(4, device=device).set_(),
            "loaded": torch.load(file),
            "untyped": torch.empty(0, device=device).set_(torch.UntypedStorage(16, device=device)),
            "fallback": torch.special.airy_ai(ones),
            "nothing": torch.empty(0, device=device),
        }
    unlabelled = [name for name, x in made.items() if openreg.get_memory_label(x) != "made"]
    assert unlabelled == []
    assert openreg.memory_by_label(device) == {"made": sum(x.untyped_storage().nbytes() for x in made.values())}


def test_a_label_is_one_of_the_memory_and_counted_once(device: str, other_device: str) -> None:
    x = torch.ones(10, device=device)
    view = x[5:]
    openreg.set_memory_label(view, "cache")
    assert openreg.get_memory_label(x) == "cache"
    openreg.set_memory_label(x, "cache")
    assert (openreg.memory_by_label(device), openreg.memory_by_label(other_device)) == ({"cache": 40}, {})
    openreg.set_memory_label(x, "weights")
    assert openreg.memory_by_label(device) == {"weights": 40}
    openreg.set_memory_label(x, "")
    assert openreg.memory_by_label(device) == {}


def test_memory_that_grows_is_counted_as_it_is_now(device: str) -> None:
    with openreg.memory_label("cache"):
        x = torch.ones(10, device=device)
    x.resize_(100)
    assert openreg.memory_by_label(device) == {"cache": 400}
    x.untyped_storage().resize_(20)
    assert openreg.memory_by_label(device) == {"cache": 20}
    assert x.untyped_storage().nbytes() == 20


def test_labels_nest_and_end_with_an_error(device: str) -> None:
    labels = []

    def make() -> None:
        labels.append(openreg.get_memory_label(torch.ones(1, device=device)))

    def fail() -> None:
        with openreg.memory_label("inner"):
            make()
            raise KeyError

    with openreg.memory_label("outer"):
        with pytest.raises(KeyError):
            fail()
        make()
        with openreg.memory_label(""):
            make()
    make()
    assert labels == ["inner", "outer", "", ""]


def test_a_label_is_the_threads_own(device: str) -> None:
    labels = []

    def make() -> None:
        labels.append(openreg.get_memory_label(torch.ones(1, device=device)))

    with openreg.memory_label("mine"):
        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        make()
    assert labels == ["", "mine"]


def test_threads_that_label_and_free_at_once_leave_nothing_counted(device: str) -> None:
    def work(name: str) -> None:
        for size in range(1, 200):
            with openreg.memory_label(name):
                x = torch.empty(size, device=device)
            openreg.set_memory_label(x, "both")

    threads = [threading.Thread(target=work, args=(name,)) for name in ("first", "second")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert openreg.memory_by_label(device) == {}


def test_a_copied_model_keeps_its_labels_and_a_copied_tensor_does_not(device: str) -> None:
    with openreg.memory_label("weights"):
        model = torch.nn.Linear(3, 2, device=device)
    assert openreg.memory_by_label(device) == {"weights": 32}
    other = copy.deepcopy(model)
    assert openreg.memory_by_label(device) == {"weights": 64}
    assert openreg.get_memory_label(copy.deepcopy(other.weight.data)) == ""


def saved_in_the_old_format(x: torch.Tensor) -> torch.Tensor:
    file = io.BytesIO()
    torch.save(x, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    return torch.load(file)


@pytest.mark.parametrize("copied", [saved, saved_in_the_old_format, torch.Tensor.clone])
def test_a_file_and_a_clone_have_what_the_original_has(
    device: str, copied: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    x = openreg.quantize(torch.ones(2, 3, device=device))
    openreg.set_memory_label(x, "weights = all")
    other = copied(x)
    assert (openreg.get_scale(other), openreg.get_memory_label(other)) == (1 / 127, "weights = all")
    openreg.set_memory_label(x, "")
    assert openreg.memory_by_label(device) == {"weights = all": 6}


def test_a_clone_in_a_label_has_that_one(device: str) -> None:
    x = torch.ones(2, device=device)
    openreg.set_memory_label(x, "weights")
    with openreg.memory_label("cache"):
        assert openreg.get_memory_label(x.clone()) == "cache"


def test_a_storage_that_only_a_weak_reference_knows_is_not_counted(device: str) -> None:
    x = torch.ones(4, device=device)
    openreg.set_memory_label(x, "weights")
    reference = torch.multiprocessing.reductions.StorageWeakRef(x.untyped_storage())
    del x
    assert openreg.memory_by_label(device) == {}
    assert reference.expired()


def test_memory_of_another_making_has_no_label(device: str) -> None:
    shared = torch.from_dlpack(torch.ones(2, device=device).__dlpack__())
    assert openreg.get_memory_label(shared) == ""
    words = (
        f"set_memory_label: argument 'tensor' has memory that this backend has not made, on {device}; "
        "expected a tensor that was made on an openreg device"
    )
    with pytest.raises(RuntimeError, match=words):
        openreg.set_memory_label(shared, "weights")


def test_upstreams_functions_are_there() -> None:
    """What `torch_openreg.openreg` of PyTorch's own project exports."""
    theirs = """amp current_device device device_count get_rng_state get_rng_state_all init initial_seed is_available
    is_initialized manual_seed manual_seed_all random seed seed_all set_device set_rng_state set_rng_state_all"""
    assert [name for name in theirs.split() if not hasattr(openreg, name)] == []
