"""Step 03: every operator works, and you can see which ones ran on the CPU."""

import torch
import torch_openreg  # noqa: F401

x = torch.arange(6.0).view(2, 3).to("openreg")
print(x)
print("x @ x.t():", (x @ x.t()).cpu().tolist())

torch.openreg.reset_fallbacks()
y = (x + 1).sin().sum()
print("sum of sin(x + 1):", round(y.item(), 4))
print(torch.openreg.fallbacks())

with torch.openreg.no_fallback():
    try:
        x.exp()
    except NotImplementedError as error:
        print("NotImplementedError:", error)
