"""Backward passes: numbers, threads, devices, hooks, modes, checkpoints, optimisers, and how all that ends."""

from __future__ import annotations

import copy
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch_openreg  # noqa: F401
from torch.utils.checkpoint import checkpoint

from backend.conftest import ProgramFunction

CPU_AND_DEVICES = ["cpu", "openreg:0", "openreg:1"]


def numbers(*sizes: int) -> torch.Tensor:
    """Numbers without a pattern, the same each time."""
    count = torch.Size(sizes).numel()
    return torch.sin(torch.arange(float(count)) * 1.7).view(sizes)


def mlp() -> torch.nn.Module:
    """A small network of linear layers, the same each time."""
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))


def cnn() -> torch.nn.Module:
    """A small convolutional network with what such networks have, the same each time."""
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3, padding=1),
        torch.nn.BatchNorm2d(4),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Conv2d(4, 6, 3, stride=2, groups=2),
        torch.nn.AdaptiveAvgPool2d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(6, 3),
    )


def gradients(model: torch.nn.Module, x: torch.Tensor, device: str) -> list[torch.Tensor]:
    """Loss, the gradient of the input and those of all parameters, made on a device, on the CPU."""
    model = copy.deepcopy(model).to(device)
    x = x.to(device).requires_grad_()
    target = torch.tensor([0, 2, 1, 0], device=device)
    loss = torch.nn.functional.cross_entropy(model(x), target)
    loss.backward()
    found = [x.grad, *(parameter.grad for parameter in model.parameters())]
    assert {str(grad.device) for grad in found} == {device}
    return [loss.detach().cpu(), *(grad.cpu() for grad in found)]


@pytest.mark.parametrize(("make", "sizes"), [(mlp, (4, 8)), (cnn, (4, 2, 9, 9))])
def test_gradients_equal_the_cpus(device: str, make: Callable[[], torch.nn.Module], sizes: tuple[int, ...]) -> None:
    x = numbers(*sizes)
    torch.testing.assert_close(gradients(make(), x, device), gradients(make(), x, "cpu"))


@pytest.mark.usefixtures("puts_back")
def test_gradients_do_not_depend_on_the_current_device(device: str, other_device: str) -> None:
    x = numbers(4, 8)
    torch.openreg.set_device(other_device)
    torch.testing.assert_close(gradients(mlp(), x, device), gradients(mlp(), x, "cpu"))
    assert torch.openreg.current_device() == int(other_device[-1])


# ---------------------------------------------------------- threads and devices

THREADS = """
def names():
    return {Path(f).read_text().strip() for f in glob.glob("/proc/self/task/*/comm")}

import glob
from pathlib import Path

def backward(device):
    seen = []
    x = torch.ones(3, device=device, requires_grad=True)
    y = x * 2
    y.register_hook(lambda grad: seen.append((threading.get_native_id(), torch.openreg.current_device())))
    y.sum().backward()
    return seen[0]

assert not {name for name in names() if name.startswith("pt_autograd")}
first, second, again = backward("openreg:0"), backward("openreg:1"), backward("openreg:0")
print(sorted(name for name in names() if name.startswith("pt_autograd")))
print(first[0] == again[0], first[0] != second[0], threading.get_native_id() not in (first[0], second[0]))
print(first[1], second[1])
"""


def test_each_device_has_one_worker_thread_in_which_it_is_current(program: ProgramFunction) -> None:
    assert program(THREADS).splitlines() == ["['pt_autograd_0', 'pt_autograd_1']", "True True True", "0 1"]


def test_a_graph_may_cross_devices() -> None:
    def run(first: str, second: str) -> list[torch.Tensor]:
        x = numbers(4, 8).to(first).requires_grad_()
        model = mlp()
        front, middle, back = model[0].to(first), model[2].to(second), torch.nn.Linear(3, 1).to(first)
        with torch.no_grad():
            back.weight.fill_(0.5)
            back.bias.fill_(0.1)
        y = back(torch.tanh(middle(front(x).to(second))).to(first)).square().mean()
        y.backward()
        assert str(middle.weight.grad.device) == second
        assert str(x.grad.device) == first
        return [t.detach().cpu() for t in (y, x.grad, front.weight.grad, middle.weight.grad, back.weight.grad)]

    expected = run("cpu", "cpu")
    torch.testing.assert_close(run("openreg:0", "openreg:1"), expected)
    torch.testing.assert_close(run("openreg:1", "openreg:0"), expected)
    torch.testing.assert_close(run("cpu", "openreg:1"), expected)
    assert torch.openreg.current_device() == 0


def test_gradients_that_meet_from_two_devices_are_added() -> None:
    x = numbers(5).requires_grad_()
    total = sum((x.to(device) * factor).sum().cpu() for factor, device in enumerate(CPU_AND_DEVICES, start=1))
    total.backward()
    assert x.grad.tolist() == [6.0] * 5


def test_several_host_threads_may_run_backward_at_once() -> None:
    expected = gradients(mlp(), numbers(4, 8), "cpu")
    model, failures = mlp(), []

    def work(device: str) -> None:
        try:
            for _ in range(10):
                torch.testing.assert_close(gradients(model, numbers(4, 8), device), expected)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(f"openreg:{number % 2}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.usefixtures("puts_back")
def test_the_worker_thread_leaves_the_callers_current_device_alone(device: str, other_device: str) -> None:
    torch.openreg.set_device(other_device)
    torch.ones(3, device=device, requires_grad=True).sum().backward()
    assert torch.openreg.current_device() == int(other_device[-1])


# ----------------------------------------------------------------------- graphs


def test_gradients_accumulate_until_they_are_reset(device: str) -> None:
    x = numbers(3).to(device).requires_grad_()
    for _ in range(3):
        (x * 2).sum().backward()
    assert x.grad.tolist() == [6.0] * 3
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 3


def test_a_graph_runs_backward_twice_only_if_it_is_retained(device: str) -> None:
    x = numbers(3).to(device).requires_grad_()
    y = x.square().sum()
    y.backward(retain_graph=True)
    y.backward()
    torch.testing.assert_close(x.grad.cpu(), 4 * numbers(3))
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_second_derivatives_equal_the_cpus() -> None:
    def run(device: str) -> list[torch.Tensor]:
        x = numbers(4).to(device).requires_grad_()
        y = (x.tanh() * x.square()).sum()
        (first,) = torch.autograd.grad(y, x, create_graph=True)
        (second,) = torch.autograd.grad(first.square().sum(), x, create_graph=True)
        (third,) = torch.autograd.grad(second.sum(), x)
        return [t.detach().cpu() for t in (first, second, third)]

    expected = run("cpu")
    for device in CPU_AND_DEVICES[1:]:
        torch.testing.assert_close(run(device), expected)


def test_second_derivatives_of_a_convolution_equal_the_cpus(device: str) -> None:
    def run(place: str) -> list[torch.Tensor]:
        x = numbers(1, 2, 6).to(place).requires_grad_()
        weight = numbers(3, 2, 3).to(place).requires_grad_()
        y = torch.nn.functional.conv1d(x, weight).tanh().sum()
        first = torch.autograd.grad(y, (x, weight), create_graph=True)
        sum(grad.square().sum() for grad in first).backward()
        return [x.grad.cpu(), weight.grad.cpu()]

    torch.testing.assert_close(run(device), run("cpu"))


def test_gradients_agree_with_differences(device: str) -> None:
    x = numbers(3, 2).double().to(device).requires_grad_()
    weight = numbers(2, 2).double().to(device).requires_grad_()

    def function(t: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.logsumexp(torch.tanh(t @ w), 1)

    assert torch.autograd.gradcheck(function, (x, weight))
    assert torch.autograd.gradgradcheck(function, (x, weight))


@pytest.mark.parametrize("cell", [torch.ops.aten._thnn_fused_lstm_cell, torch.ops.aten._thnn_fused_gru_cell])
def test_gradients_of_the_fused_cells_agree_with_differences(device: str, cell: Any) -> None:
    width = 4 if cell is torch.ops.aten._thnn_fused_lstm_cell else 3
    shapes = [(2, width * 2), (2, width * 2), (2, 2), (width * 2,), (width * 2,)]
    arguments = [numbers(*shape).double().to(device).requires_grad_() for shape in shapes]
    assert torch.autograd.gradcheck(lambda *given: cell(*given)[:-1], arguments)


class Double(torch.autograd.Function):
    """Twice its argument, with a gradient of its own so that one sees that it is used."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, factor: float) -> torch.Tensor:
        """Keeps x for the backward pass."""
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, None]:
        """Not the true gradient."""
        (x,) = ctx.saved_tensors
        return grad * ctx.factor + x * 0, None


def test_a_custom_function_is_used_and_sees_device_tensors(device: str) -> None:
    x = numbers(3).to(device).requires_grad_()
    y = Double.apply(x, 5.0)
    torch.testing.assert_close(y.detach().cpu(), numbers(3) * 2)
    y.sum().backward()
    assert x.grad.tolist() == [5.0] * 3
    assert str(x.grad.device) == device


# ------------------------------------------------------------------------ modes


def test_no_grad_records_nothing(device: str) -> None:
    x = numbers(3).to(device).requires_grad_()
    with torch.no_grad():
        y = x * 2
        with torch.enable_grad():
            z = x * 2
    assert (y.requires_grad, z.requires_grad) == (False, True)


def test_inference_tensors_stay_out_of_backward(device: str) -> None:
    x = numbers(3).to(device).requires_grad_()
    with torch.inference_mode():
        y = x.exp()
        z = torch.ones(3, device=device)
    assert y.is_inference()
    assert not torch._C._dispatch_keys(y).has(torch._C.DispatchKey.AutogradPrivateUse1)
    torch.testing.assert_close(y.cpu(), numbers(3).exp())
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        x * z


def test_anomaly_mode_names_the_function_that_made_nan(device: str) -> None:
    x = torch.zeros(2, device=device, requires_grad=True)
    with torch.autograd.set_detect_anomaly(True):
        y = (torch.sqrt(x) * 0).sum()
        with (
            pytest.warns(UserWarning, match="Error detected in SqrtBackward0"),
            pytest.raises(RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output"),
        ):
            y.backward()


# ------------------------------------------------------------------------ hooks


def test_tensor_hooks_see_and_change_gradients_on_the_device(device: str) -> None:
    x = numbers(3).to(device).requires_grad_()
    seen = []
    x.register_hook(lambda grad: (seen.append((str(grad.device), grad.tolist())), grad * 10)[1])
    x.register_post_accumulate_grad_hook(lambda t: seen.append((str(t.grad.device), t.grad.tolist())))
    (x * 2).sum().backward()
    assert seen == [(device, [2.0] * 3), (device, [20.0] * 3)]


def test_module_hooks_see_device_tensors(device: str) -> None:
    model, seen = mlp().to(device), []
    model[0].register_forward_pre_hook(lambda _, inputs: seen.append(("pre", str(inputs[0].device))))
    model[0].register_forward_hook(lambda _, inputs, output: seen.append(("forward", str(output.device))))
    model[0].register_full_backward_hook(lambda _, into, out: seen.append(("backward", str(out[0].device))))
    model(numbers(4, 8).to(device).requires_grad_()).sum().backward()
    assert seen == [("pre", device), ("forward", device), ("backward", device)]


def test_saved_tensor_hooks_may_keep_tensors_on_the_cpu(device: str) -> None:
    x = numbers(3).to(device).requires_grad_()
    packed = []

    def pack(t: torch.Tensor) -> torch.Tensor:
        packed.append(str(t.device))
        return t.cpu()

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t.to(device)):
        y = x.exp().sum()
    y.backward()
    assert packed == [device]
    torch.testing.assert_close(x.grad.cpu(), numbers(3).exp())


@pytest.mark.usefixtures("puts_back")
def test_an_exception_in_a_hook_reaches_the_caller_and_leaves_all_usable(device: str, other_device: str) -> None:
    def fail(grad: torch.Tensor) -> None:
        raise KeyError("from the hook")

    torch.openreg.set_device(other_device)
    x = numbers(3).to(device).requires_grad_()
    y = x * 2
    y.register_hook(fail)
    with pytest.raises(KeyError, match="from the hook"):
        y.sum().backward()
    assert torch.openreg.current_device() == int(other_device[-1])
    torch.testing.assert_close(gradients(mlp(), numbers(4, 8), device), gradients(mlp(), numbers(4, 8), "cpu"))


def test_an_error_of_a_kernel_in_backward_reaches_the_caller(device: str) -> None:
    def loss(x: torch.Tensor) -> torch.Tensor:
        return torch.segment_reduce(x, "max", lengths=torch.tensor([2, 4], device=x.device)).sum()

    expected, x = numbers(6).requires_grad_(), numbers(6).to(device).requires_grad_()
    loss(expected).backward()
    y = loss(x)
    torch.openreg.block_fallback("aten::_segment_reduce_backward")
    try:
        with pytest.raises(NotImplementedError, match=r"'aten::_segment_reduce_backward'"):
            y.backward(retain_graph=True)
    finally:
        torch.openreg.block_fallback("aten::_segment_reduce_backward", block=False)
    y.backward()
    torch.testing.assert_close(x.grad.cpu(), expected.grad)


# ------------------------------------------------------------------ checkpoints


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_change_nothing_not_even_dropout(device: str, reentrant: bool) -> None:
    model = torch.nn.Sequential(mlp(), torch.nn.Dropout(0.5)).to(device)

    def run(call: Callable[[torch.Tensor], torch.Tensor]) -> list[torch.Tensor]:
        model.zero_grad()
        x = numbers(4, 8).to(device).requires_grad_()
        torch.manual_seed(7)
        y = call(x)
        y.square().sum().backward()
        return [y.detach().cpu(), x.grad.cpu(), *(parameter.grad.cpu() for parameter in model.parameters())]

    expected, calls = run(model), []
    model.register_forward_pre_hook(lambda *_: calls.append("forward"))
    actual = run(lambda x: checkpoint(model, x, use_reentrant=reentrant))
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    assert len(calls) == 2  # once forward, once more backward


# ------------------------------------------------------------------- optimisers

OPTIMIZERS: dict[str, Callable[[Any], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.05),
    "adam, fused": lambda parameters: torch.optim.Adam(parameters, lr=0.05, fused=True),
    "adam, one by one": lambda parameters: torch.optim.Adam(parameters, lr=0.05, foreach=False),
    "adamw, amsgrad": lambda parameters: torch.optim.AdamW(parameters, lr=0.05, amsgrad=True),
    "rmsprop": lambda parameters: torch.optim.RMSprop(parameters, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_follow_the_cpus_losses(device: str, name: str) -> None:
    def losses(place: str) -> list[float]:
        model = mlp().to(place)
        optimizer = OPTIMIZERS[name](model.parameters())
        x, target = numbers(16, 8).to(place), numbers(16, 3).to(place)
        found = []
        for _ in range(8):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), target)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            found.append(loss.item())
        return found

    expected = losses("cpu")
    assert expected[-1] < expected[0]
    assert losses(device) == pytest.approx(expected, rel=1e-4)


def test_an_optimizers_state_is_on_the_device_of_its_parameters(device: str) -> None:
    model = mlp().to(device)
    optimizer = torch.optim.Adam(model.parameters())
    model(numbers(4, 8).to(device)).sum().backward()
    optimizer.step()
    for state in optimizer.state.values():
        assert str(state["exp_avg"].device) == device


# ---------------------------------------------------------------------- the end

EXIT = """
import threading
import torch
import torch_openreg

def work(device):
    x = torch.ones(64, 64, device=device, requires_grad=True)
    (x @ x).sum().backward()

# No daemons: Python ends those in the middle of a call, and so aborts with CPU tensors too.
for device in ("openreg:0", "openreg:1"):
    threading.Thread(target=work, args=(device,)).start()
work("openreg:1")
"""


def test_a_process_with_backward_passes_on_both_devices_exits_cleanly(program: ProgramFunction) -> None:
    for _ in range(20):
        assert program(EXIT) == ""


def test_a_fresh_process_exits_cleanly_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EXIT], capture_output=True, text=True, cwd=tmp_path, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
