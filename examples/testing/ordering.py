"""A test of ordering with a gate: what is held still can't be finished by luck."""

import ctypes
import threading
from pathlib import Path

import torch
import torch_openreg

library = ctypes.CDLL(str(Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"))
gate = threading.Event()


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def wait_at_the_gate(_: int | None) -> None:
    gate.wait()


first, second = torch.openreg.Stream(), torch.openreg.Stream()
x = torch.zeros(4, device="openreg")
torch.openreg.synchronize()

# Two streams work on one tensor, and nothing says in which order.
library.orLaunchHostFunc(ctypes.c_void_p(first.native_handle), wait_at_the_gate, None)
with first:
    x += 1
with second:
    y = x * 10
second.synchronize()
print("without an event, the second stream saw", y.cpu().tolist())
gate.set()
first.synchronize()

# The same with an event between them.
gate.clear()
library.orLaunchHostFunc(ctypes.c_void_p(first.native_handle), wait_at_the_gate, None)
with first:
    x += 1
    done = first.record_event()
with second:
    second.wait_event(done)
    y = x * 10
print("while the gate is shut, the second stream is done:", second.query())
gate.set()
second.synchronize()
print("with an event, it saw", y.cpu().tolist())
