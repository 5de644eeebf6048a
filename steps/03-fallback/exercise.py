"""Who serves an operator? Asks the dispatcher, and compares its answer with what the fallback has counted."""

import torch
import torch_openreg  # noqa: F401
from torch.utils._python_dispatch import TorchDispatchMode

KERNEL = "a kernel of openreg"
FALLBACK = "the CPU fallback"
EXPLICIT = "PyTorch, below autograd"
IMPLICIT = "PyTorch, above autograd"

# How a line of the dispatch table ends, and what that means for this backend. The last two are functions of PyTorch in
# terms of other operators: the first kind has a derivative, the second is taken apart before autograd sees it.
KINDS = {
    "[kernel]": KERNEL,
    "[backend fallback]": FALLBACK,
    "[default backend kernel]": EXPLICIT,
    "[math kernel]": IMPLICIT,
}


def served_by(op: str) -> str:
    """Who serves an operator such as ``aten::sin.out`` on openreg."""
    lines = torch._C._dispatch_dump_table(op).splitlines()
    line = next(line for line in lines if line.startswith("PrivateUse1:"))
    return next(kind for end, kind in KINDS.items() if line.endswith(end))


class Recorder(TorchDispatchMode):
    """Writes down the operators that reach the backend."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        """Called for each operator, after autograd and before the backend's kernel."""
        self.names.append(function.name())
        return function(*args, **(kwargs or {}))


if __name__ == "__main__":
    assert served_by("aten::empty.memory_format") == KERNEL
    assert served_by("aten::special_airy_ai.out") == FALLBACK
    assert served_by("aten::special_airy_ai") == EXPLICIT
    assert served_by("aten::square") == IMPLICIT

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.RReLU(), torch.nn.Linear(16, 1)).to("openreg")
    inputs = torch.randn(32, 8).to("openreg")
    torch.openreg.reset_fallbacks()
    with Recorder() as recorder, torch.no_grad():
        torch.nn.functional.mse_loss(model(inputs), inputs.sum(1, keepdim=True))
    counts = torch.openreg.fallbacks()

    print(f"{'called':24}{'served by':30}")
    for name in dict.fromkeys(recorder.names):
        print(f"{name:24}{served_by(name):30}")
    print(f"\n{'fell back':24}{'served by':30}times")
    for name, count in counts.items():
        print(f"{name:24}{served_by(name):30}{count}")

    # What was counted either had no kernel, or has one that hands the operator to the fallback.
    assert all(served_by(name) in (FALLBACK, KERNEL) for name in counts)
    # What is taken apart above autograd never reaches a backend.
    assert all(served_by(name) != IMPLICIT for name in recorder.names)
