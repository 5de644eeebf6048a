"""A device whose process hangs is told from one that is busy: only the first doesn't answer Ping."""

import os
import signal
import time
from pathlib import Path

os.environ |= {"OPENREG_DRIVER": "process", "OPENREG_PROCESS": "deadline=300ms", "OPENREG_SIM": "kernel_delay=1s"}
import torch
import torch_openreg  # noqa: F401

children = Path("/proc/self/task").glob("*/children")


def wait(what: str) -> str:
    """Waits for the device; says and returns how that ends."""
    start = time.monotonic()
    try:
        torch.accelerator.synchronize()
        end = "done"
    except torch.AcceleratorError as error:
        end = str(error).split("; expected", maxsplit=1)[0]
    print(f"{what}, waited for {time.monotonic() - start:.1f} s: {end}")
    return end


x = torch.zeros(4, device="openreg")
torch.accelerator.synchronize()
x.add_(1)
assert wait("busy") == "done"  # three deadlines long

(pid,) = (int(word) for file in children for word in file.read_text().split())
os.kill(pid, signal.SIGSTOP)
x.add_(1)
assert "(Ping)" in wait("stopped")
