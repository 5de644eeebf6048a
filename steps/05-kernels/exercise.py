"""hypot on the CPU today, and what would make it native: asked of the dispatcher, of the headers and of the counter."""

from pathlib import Path

import torch
import torch_openreg  # noqa: F401

HEADERS = Path(torch.__file__).parent / "include" / "ATen"


def kernels_for(operator: str) -> list[str]:
    """The dispatcher's keys that have a kernel for an operator of their own."""
    keys = ("PrivateUse1", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd", "CPU")
    return [key for key in keys if torch._C._dispatch_has_kernel_for_dispatch_key(operator, key)]


# 1. Who serves it? The functional form is PyTorch's glue over .out, and .out has nothing for us.
print("aten::hypot      ", *kernels_for("aten::hypot"))
print("aten::hypot.out  ", *kernels_for("aten::hypot.out"))

# 2. Which way fits? There is a structured class whose impl is the wheel's, and a stub: the first way.
#        using Hypot = Structured<at::native::structured_hypot_out>;
#        m.impl("hypot", Hypot::functional);  m.impl("hypot_", Hypot::inplace);  m.impl("hypot.out", Hypot::out);
#        REGISTER_PRIVATEUSE1_DISPATCH(hypot_stub, &hypotKernel)
native = (HEADERS / "ops" / "hypot_native.h").read_text()
binary = (HEADERS / "native" / "BinaryOps.h").read_text()
print("structured class: ", "structured_hypot_out" in native)
print("stub:             ", "hypot_stub" in binary)

# 3. What does it cost today? One fallback for each call, on which the host waits.
x = torch.tensor([3.0, 5.0]).to("openreg")
torch.openreg.reset_fallbacks()
y = x.hypot(torch.tensor([4.0, 12.0]).to("openreg"))
served = torch.openreg.fallbacks()
print("fallbacks:        ", served)
assert y.tolist() == [5.0, 13.0]
