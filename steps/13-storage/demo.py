"""Step 13: what a tensor carries beside its numbers is still there after it was saved."""

import io

import torch

weight = torch.linspace(-1, 1, 65).view(5, 13).to("openreg")
small = (weight * 127).round().to(torch.int8)  # a quarter of the memory; one step stands for 1/127
scale = {f"openreg.scale={(1 / 127).hex()}": True}
torch._utils.set_tensor_metadata(small, scale)

file = io.BytesIO()
torch.save(small, file)
file.seek(0)
loaded = torch.load(file)
carried = torch._utils.get_tensor_metadata(loaded)
print("beside the numbers, the file has:", carried)
assert carried == scale, "metadata lost on save"
print("its scale:", round(torch.openreg.get_scale(loaded), 5))
print("its error is below half a step:", bool((torch.openreg.dequantize(loaded) - weight).abs().max() < 0.5001 / 127))

with torch.openreg.memory_label("weights"):
    model = torch.nn.Linear(13, 5, device="openreg")
print("bytes by label:", torch.openreg.memory_by_label())

shared = torch.from_dlpack(weight)
shared.zero_()
print("one memory:", bool((weight == 0).all()))
