"""Step 09: the device draws its own random numbers."""

import torch
import torch_openreg  # noqa: F401

generator = torch.Generator("openreg").manual_seed(7)
x = torch.randn(2, 3, device="openreg", generator=generator)
print(x)
print("blocks given away:", generator.get_offset())

# The same numbers: on the other device, and into memory of other strides.
generator = torch.Generator("openreg:1").manual_seed(7)
y = torch.empty(3, 2, device="openreg:1").t().normal_(generator=generator)
print("equal:", torch.equal(x.cpu(), y.cpu()))

torch.manual_seed(2)  # all devices
state = torch.openreg.get_rng_state()
kept = torch.nn.functional.dropout(torch.ones(8, device="openreg"), 0.5)
torch.openreg.set_rng_state(state)
again = torch.nn.functional.dropout(torch.ones(8, device="openreg"), 0.5)
print("dropout:", kept.tolist(), kept.tolist() == again.tolist())

with torch.openreg.no_fallback():
    print("randperm:", torch.randperm(8, device="openreg").tolist())
    weights = torch.tensor([1.0, 2.0, 3.0, 0.0, 4.0]).to("openreg")
    print("multinomial:", weights.multinomial(3).tolist())
