"""Two loggers of one program: a boxed kernel in C++, and its twin in Python. LOGGER names liblogger.so."""

import os

import torch
import torch_openreg  # noqa: F401
from torch.utils._python_dispatch import TorchDispatchMode


class Logger(TorchDispatchMode):
    """Sees what arrives below autograd, where a composite is its parts already."""

    def __torch_dispatch__(
        self, func: torch._ops.OpOverload, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        """Prints, and lets the call go on."""
        print(func.name())
        return func(*args, **(kwargs or {}))


def program() -> None:
    """A composite operator, and its gradient."""
    x = torch.ones(2, device="openreg", requires_grad=True)
    torch.nn.functional.logsigmoid(x).sum().backward()


print("-- Python")
with Logger():
    program()
print("-- C++", flush=True)
torch.ops.load_library(os.environ["LOGGER"])
torch.ops.logger.watch(True)
program()
torch.ops.logger.watch(False)
