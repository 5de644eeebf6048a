"""Solution: a compiled network, captured: a request is a copy and one launch."""

import os
from collections.abc import Callable

import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


class Answers:
    """What torch.compile makes of a network, in a graph: what mode="reduce-overhead" does on CUDA."""

    def __init__(self, model: nn.Module, rows: torch.Tensor) -> None:
        """Compiles for requests of the shape of `rows`, and captures."""
        compiled, self.graph = torch.compile(model, dynamic=False), torch.accelerator.Graph()
        stream = torch.Stream(rows.device)
        with torch.no_grad(), stream:
            self.rows = torch.zeros_like(rows)
            compiled(self.rows)  # compiles and loads, which cannot be captured
            with self.graph:
                self.answer = compiled(self.rows)
        stream.synchronize()  # the first call has read its rows

    def __call__(self, request: torch.Tensor) -> torch.Tensor:
        """Answer a request; the answer is the caller's own."""
        self.rows.copy_(request)
        self.graph.replay()
        return self.answer.clone()


def launches(function: Callable[..., object], *arguments: torch.Tensor) -> int:
    """How often the host calls the driver to launch something."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recording:
        function(*arguments)
    return sum(it.name in ("orLaunchKernel", "orGraphLaunch") for it in recording.events())


os.environ["KINETO_LOG_LEVEL"] = "6"  # else PyTorch logs that a recording starts and ends
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 2)).to("openreg").eval()
answers, rows = Answers(model, torch.zeros(16, 8, device="openreg")), torch.randn(3, 16, 8, device="openreg")
with torch.no_grad():
    for request in rows:
        torch.testing.assert_close(answers(request), model(request))
    print("launches of a request, eager:", launches(model, rows[0]))
    print("compiled:", launches(torch.compile(model, dynamic=False), rows[0]))
    print("captured:", launches(answers.graph.replay))
