"""Step 17: torch.compile: what was several launches is one kernel, compiled when the program runs."""

import copy
import os

import torch
from torch import nn
from torch._dynamo.utils import counters
from torch.profiler import DeviceType, ProfilerActivity, profile

os.environ["KINETO_LOG_LEVEL"] = "6"  # else PyTorch logs that a recording starts and ends
torch.manual_seed(0)


def chain(x, y):
    return torch.relu(x * 2 + y) - y


def kernels(function, *arguments):
    """What the device runs for a call."""
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recording:
        function(*arguments)
    return ", ".join(it.name for it in recording.events() if it.device_type != DeviceType.CPU)


x, y = torch.randn(64, 64, device="openreg"), torch.randn(64, 64, device="openreg")
compiled = torch.compile(chain)
print("as eager code:", torch.allclose(compiled(x, y), chain(x, y)))
print("eager:", kernels(chain, x, y))
print("compiled:", kernels(compiled, x, y))

model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 2)).to("openreg")
twin, rows = copy.deepcopy(model), torch.randn(16, 8, device="openreg")
for network in (model, torch.compile(twin)):
    network(rows).square().mean().backward()
pairs = zip(model.parameters(), twin.parameters(), strict=True)
print("gradients as eager code's:", all(torch.allclose(a.grad, b.grad, atol=1e-6) for a, b in pairs))

counters.clear()
softmax = torch.compile(lambda x: torch.softmax(x, -1) * x.shape[0], dynamic=True)
for number in (3, 5, 100):
    part = torch.randn(number, 7, device="openreg")
    assert torch.allclose(softmax(part), torch.softmax(part, -1) * number)
print("graphs for three shapes:", counters["stats"]["unique_graphs"])

stream = torch.Stream("openreg")
stream.wait_stream(torch.accelerator.current_stream())
with stream:
    beside = compiled(x, y)
    print("on a stream of its own:", torch.equal(beside, chain(x, y)))
print("left to the CPU:", torch.openreg.fallbacks())

try:
    torch.compile(lambda table, row: table[row] + 1)(x, torch.tensor([64], device="openreg"))
    torch.openreg.synchronize()
except torch.AcceleratorError as error:
    print(str(error).splitlines()[0])
