"""What Inductor writes for a function: the kernel in C++, and the Python that launches it."""

import re

import torch
import torch_openreg  # noqa: F401
from torch._inductor.utils import run_and_get_code


def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Four operators, each of which would be a launch."""
    return torch.relu(x * 2 + y) - y


x, y = torch.randn(64, 64, device="openreg"), torch.randn(64, 64, device="openreg")
# Without vectors, whose width is the processor's: so it is the same text everywhere.
_, (code,) = run_and_get_code(torch.compile(chain, options={"cpp.simdlen": 1}), x, y)
code = re.sub(r"(compiled_frame\.h>  // )[\w ]+", r"\1...", code)
print(re.search(r"(?ms)^openreg_fused.*?^'''\)", code)[0])
print(re.search(r"(?ms)^    def call\(.*?^        return.*?$", code)[0])
