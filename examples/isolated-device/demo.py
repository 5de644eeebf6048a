"""Trains on openreg:1, kills the process in which that device lives, and goes on with what is left."""

import copy
import ctypes
import os
import signal
from pathlib import Path

import torch
import torch_openreg
from torch import nn

driver = ctypes.CDLL(str(Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"))


def process_of(device):
    """A process that the driver has started for the device, or else this one."""
    for children in Path("/proc/self/task").glob("*/children"):
        for pid in map(int, children.read_text().split()):
            if f"--device={device}" in Path(f"/proc/{pid}/cmdline").read_text().split("\0"):
                return pid
    return os.getpid()


def train(device):
    """Trains for a while; the model is on the host before and after."""
    model.to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    x, y = inputs.to(device), inputs.square().sum(dim=1, keepdim=True).to(device)
    for _ in range(25):
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"trained on {device}, loss now {loss.item():.3f}")
    model.cpu()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
inputs = torch.randn(256, 4)

train("openreg:1")
saved = copy.deepcopy(model)
print("openreg:1 has a process of its own:", process_of(1) != os.getpid())
os.kill(process_of(1), signal.SIGKILL)
try:
    train("openreg:1")
except torch.AcceleratorError as error:
    print(f"AcceleratorError: {error}")

model = saved
train("openreg:0")

assert driver.orDeviceReset(1) == 0
memory = ctypes.c_void_p()
assert driver.orSetDevice(1) == 0
assert driver.orMalloc(ctypes.byref(memory), ctypes.c_size_t(1 << 20)) == 0
print("openreg:1 has a process again:", process_of(1) != os.getpid())
