"""Exercise of step 01: the current device belongs to the thread."""

import threading

import torch
import torch_openreg  # noqa: F401

entered, looked = threading.Event(), threading.Event()
seen = {}


def stay() -> None:
    """Makes device 1 current, and stays there until the main thread has looked."""
    torch.openreg.set_device(1)
    entered.set()
    looked.wait()
    seen["the other thread"] = torch.openreg.current_device()


thread = threading.Thread(target=stay)
thread.start()
entered.wait()
# The other thread is on device 1 now. No sleep is needed to know that: it has said so.
seen["the main thread"] = torch.openreg.current_device()
looked.set()
thread.join()
for who, device in seen.items():
    print(f"{who} is on device {device}")
assert seen == {"the main thread": 0, "the other thread": 1}

# The context puts back what was current in its own thread, also when an exception passes.
try:
    with torch.openreg.device(1):
        raise KeyError("inside")
except KeyError:
    print("after an exception:", torch.openreg.current_device())
assert torch.openreg.current_device() == 0
