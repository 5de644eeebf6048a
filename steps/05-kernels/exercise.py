"""nextafter on the CPU today, and what would make it native: asked of dispatcher, headers and counter."""

from pathlib import Path

import torch
import torch_openreg  # noqa: F401

HEADERS = Path(torch.__file__).parent / "include" / "ATen"


def kernels_for(operator: str) -> list[str]:
    """The dispatcher's keys that have a kernel for an operator of their own."""
    keys = ("PrivateUse1", "CompositeExplicitAutogradNonFunctional", "CompositeImplicitAutograd", "CPU")
    return [key for key in keys if torch._C._dispatch_has_kernel_for_dispatch_key(operator, key)]


# 1. Who serves it? The functional form is PyTorch's glue over .out, and .out has nothing for us.
print("aten::nextafter      ", *kernels_for("aten::nextafter"))
print("aten::nextafter.out  ", *kernels_for("aten::nextafter.out"))

# 2. Which way fits? There is a structured class whose impl is the wheel's, and a stub: the first way.
#        implForms<Structured<at::native::structured_nextafter_out>>(m, "nextafter");
#        REGISTER_PRIVATEUSE1_DISPATCH(nextafter_stub, &elementwiseStub<"nextafter">)
native = (HEADERS / "ops" / "nextafter_native.h").read_text()
binary = (HEADERS / "native" / "BinaryOps.h").read_text()
print("structured class:     ", "structured_nextafter_out" in native)
print("stub:                 ", "nextafter_stub" in binary)

# 3. What does it cost today? One fallback for each call, on which the host waits.
x = torch.tensor([3.0, 5.0]).to("openreg")
torch.openreg.reset_fallbacks()
y = x.nextafter(torch.zeros(2).to("openreg"))
served = torch.openreg.fallbacks()
print("fallbacks:            ", served)
assert y.tolist() == torch.tensor([3.0, 5.0]).nextafter(torch.zeros(2)).tolist()
