"""Step 15: what a device did, on which stream, and for which operator of the program."""

import os

import torch
from torch.profiler import DeviceType, ProfilerActivity, profile, record_function

os.environ["OPENREG_SIM"] = "copy_delay=100ms"  # a slow device: the copy still runs when the other stream is to wait
os.environ["KINETO_LOG_LEVEL"] = "6"  # else PyTorch logs that a recording starts and ends
weight = torch.randn(256, 256, generator=torch.Generator().manual_seed(0)).to("openreg")
rows = torch.ones(64, 256).pin_memory()
side = torch.Stream("openreg")

with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recording:
    with side:
        batch = rows.to("openreg", non_blocking=True)
    torch.accelerator.current_stream().wait_stream(side)
    with record_function("forward"):
        hidden = (batch @ weight).relu()
    largest = hidden.max().item()

events = recording.events()
for stream in (0, 1):
    names = [it.name for it in events if it.device_type != DeviceType.CPU and it.device_resource_id == stream]
    print(f"stream {stream}: {', '.join(names)}")
for event in events:
    if event.kernels and event.name.startswith("aten::"):
        print(f"{event.name} ran {', '.join(kernel.name for kernel in event.kernels)}")
row = next(row for row in recording.key_averages() if row.key == "aten::mm")
print("the product took", "time" if row.self_device_time_total > 0 else "no time", "of the device")
