"""What must hold from step 16 on: work is captured once, and replayed with the inputs and random numbers of then."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401
from torch import nn

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize("device", DEVICES)
def test_a_replay_reads_its_inputs_anew(device: str) -> None:
    with torch.openreg.Stream(device):
        x, graph = torch.zeros(4, device=device), torch.accelerator.Graph()
        with graph:
            y = x * 2 + 1
        for value in (3.0, 5.0):
            x.fill_(value)
            graph.replay()
            assert y.tolist() == [2 * value + 1] * 4


@pytest.mark.parametrize("device", DEVICES)
def test_random_numbers_move_on_and_are_those_of_eager_code(device: str) -> None:
    with torch.openreg.Stream(device):
        graph = torch.accelerator.Graph()
        with graph:
            x = torch.randn(5, device=device)
        torch.manual_seed(3)
        expected = [torch.randn(5, device=device).tolist() for _ in range(3)]
        torch.manual_seed(3)
        got = []
        for _ in range(3):
            graph.replay()
            got.append(x.tolist())
    assert got == expected


def test_memory_of_a_graph_is_nobody_elses_until_it_is_gone() -> None:
    torch.accelerator.empty_cache()
    before = torch.accelerator.memory_reserved()
    with torch.openreg.Stream():
        graph = torch.accelerator.Graph()
        with graph:
            place = torch.ones(1 << 22, device="openreg").data_ptr()
        torch.accelerator.empty_cache()
        assert torch.empty(1 << 22, device="openreg").data_ptr() != place
    graph.reset()
    torch.accelerator.empty_cache()
    assert torch.accelerator.memory_reserved() == before


def test_gradients_are_captured() -> None:
    model, made = nn.Linear(4, 4), []
    for graphed in (False, True):
        ours = nn.Linear(4, 4)
        ours.load_state_dict(model.state_dict())
        ours.to("openreg")
        x = torch.arange(8.0).view(2, 4).to("openreg")
        if graphed:
            torch.openreg.make_graphed_callables(ours, (torch.zeros_like(x),))
        ours(x).square().sum().backward()
        made.append([it.grad.cpu() for it in ours.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*made, strict=True))


def test_what_waits_for_the_device_ends_the_capture_with_advice() -> None:
    x = torch.ones(4, device="openreg")
    stream, graph = torch.openreg.Stream(), torch.accelerator.Graph()
    with pytest.raises(torch.AcceleratorError, match="inside a capture the program cannot wait"), stream, graph:
        x.sum().item()
    assert not stream.is_capturing()
    assert (x + 1).tolist() == [2.0] * 4


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
    assert done.stdout.endswith("without more memory: True\n")
