"""What must hold from step 04 on: backward passes on any device and across them, and torch.accelerator."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401
from torch.utils.checkpoint import checkpoint

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]


@pytest.fixture(autouse=True)
def first_device() -> None:
    """Every test starts on device 0."""
    torch.openreg.set_device(0)


def gradients(device: str, reentrant: bool | None = None) -> list[torch.Tensor]:
    """Gradients of a small network, made on a device, with or without a checkpoint."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 2)).to(device)
    x = torch.linspace(-1, 1, 12).view(3, 4).to(device).requires_grad_()
    y = model(x) if reentrant is None else checkpoint(model, x, use_reentrant=reentrant)
    y.square().sum().backward()
    found = [x.grad, *(parameter.grad for parameter in model.parameters())]
    assert {str(grad.device) for grad in found} == {device}
    return [grad.cpu() for grad in found]


@pytest.mark.parametrize("device", DEVICES)
def test_gradients_equal_the_cpus(device: str) -> None:
    torch.testing.assert_close(gradients(device), gradients("cpu"))
    assert torch.openreg.current_device() == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_changes_nothing(device: str, reentrant: bool) -> None:
    torch.testing.assert_close(gradients(device, reentrant), gradients(device))


def test_backward_runs_in_a_thread_of_the_tensors_device() -> None:
    for device in DEVICES:
        seen = []
        x = torch.ones(3, device=device, requires_grad=True)
        x.register_hook(lambda grad, seen=seen: seen.append((str(grad.device), torch.openreg.current_device())))
        (x * 2).sum().backward()
        assert seen == [(device, int(device[-1]))]
    names = {file.read_text().strip() for file in Path("/proc/self/task").glob("*/comm")}
    assert {"pt_autograd_0", "pt_autograd_1"} <= names


def test_a_graph_may_cross_devices() -> None:
    x = torch.ones(3, device="openreg:0", requires_grad=True)
    y = (x * 2).to("openreg:1")
    ((y * 3).to("openreg:0") + x + x.cpu().to("openreg:0")).sum().backward()
    assert x.grad.tolist() == [8.0] * 3
    assert x.grad.device.index == 0


def test_second_derivatives_are_right() -> None:
    x = torch.tensor([1.0, 2.0], device="openreg:1", requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    assert (first.tolist(), second.tolist()) == ([3, 12], [6, 12])


def test_no_grad_and_inference_mode_record_nothing() -> None:
    x = torch.ones(2, device="openreg", requires_grad=True)
    with torch.no_grad():
        assert not (x * 2).requires_grad
    with torch.inference_mode():
        assert (x * 2).is_inference()


def test_an_exception_in_backward_arrives_and_leaves_the_device_usable() -> None:
    def fail(grad: torch.Tensor) -> None:
        raise KeyError("hook")

    x = torch.ones(2, device="openreg:1", requires_grad=True)
    x.register_hook(fail)
    with pytest.raises(KeyError, match="hook"):
        (x * 2).sum().backward()
    assert torch.openreg.current_device() == 0
    torch.testing.assert_close(gradients("openreg:1"), gradients("cpu"))


def test_a_model_that_moves_keeps_its_parameters() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 4, bias=False), torch.nn.Tanh(), torch.nn.Linear(4, 4, bias=False))
    model[2].weight = model[0].weight
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    model.to("openreg:1")
    assert model[2].weight is model[0].weight is optimizer.param_groups[0]["params"][0]
    model(torch.ones(2, 4, device="openreg:1")).square().sum().backward()
    optimizer.step()
    assert all((was != now.detach().cpu()).any() for was, now in zip(before, model.cpu().parameters(), strict=True))


def test_openreg_is_the_accelerator() -> None:
    assert torch.accelerator.current_accelerator() == torch.device("openreg")
    assert torch.accelerator.device_count() == torch.openreg.device_count()
    with torch.accelerator.device_index(1):
        assert torch.openreg.current_device() == torch.accelerator.current_device_index() == 1
    torch.accelerator.synchronize(1)


@pytest.mark.skipif(hasattr(torch.openreg, "Stream"), reason="step 06 has brought the rest")
def test_of_streams_and_events_there_is_so_far_what_backward_needs() -> None:
    stream, event = torch.accelerator.current_stream(), torch.Event("openreg")
    event.record()
    for call, text in (
        (event.query, "Backend doesn't support events."),
        (stream.query, "Backend doesn't support querying streams."),
        (stream.synchronize, "Backend doesn't support synchronizing streams."),
    ):
        with pytest.raises(RuntimeError, match=text):
            call()


def test_a_storage_can_be_resized() -> None:
    storage = torch.arange(4.0).to("openreg:1").untyped_storage()
    storage.resize_(32)
    assert storage.nbytes() == 32
    x = torch.empty(0, device="openreg:1").set_(storage, 0, (4,))
    assert x.tolist() == [0, 1, 2, 3]


def test_a_process_ends_cleanly_right_after_backward() -> None:
    code = "import torch, torch_openreg; torch.ones(9, device='openreg:1', requires_grad=True).exp().sum().backward()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_the_exercise_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "exercise.py")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("equal\n")
