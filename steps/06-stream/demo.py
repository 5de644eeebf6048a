"""Step 06: two streams, and an event that orders them."""

import torch
import torch_openreg  # noqa: F401

x = torch.zeros(1000, device="openreg")
torch.openreg.synchronize()

side = torch.Stream("openreg")
print(side)

with side:
    y = x + 1  # queued on the side stream
    written = side.record_event()

main = torch.accelerator.current_stream()
main.wait_event(written)  # the device waits; the host goes on
print("sum:", y.sum().item())

start, end = (torch.Event("openreg", enable_timing=True) for _ in range(2))
start.record()
z = y.clone()
end.record()
end.synchronize()
print("the copy took time on the device:", start.elapsed_time(end) > 0)
