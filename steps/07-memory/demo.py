"""Step 07: memory is used again: at once on its own stream, on others not too early."""

import os
import time

os.environ["OPENREG_SIM"] = "copy_delay=100ms"  # a slow device, so that one can watch

import torch
import torch_openreg  # noqa: F401

x = torch.zeros(1 << 20).to("openreg")

copied = x.clone()  # queued: the device takes its time
start = time.perf_counter()
del copied
print("freeing waited for the device:", time.perf_counter() - start > 0.05)

print("tensors have", torch.accelerator.memory_allocated() >> 20, "MiB")

side = torch.Stream("openreg")
with side:
    copied = x.clone()  # another stream reads x
x.record_stream(side)
address = x.data_ptr()
del x
early = torch.empty(1 << 20, device="openreg")
print("its memory was given away while the other stream read it:", early.data_ptr() == address)

side.synchronize()
late = torch.empty(1 << 20, device="openreg")
print("its memory was given away afterwards:", late.data_ptr() == address)

try:
    torch.empty(1 << 40, device="openreg")
except torch.OutOfMemoryError as error:
    print(error)
