"""A composite operator replaced for one device: what eager code sees, what a compiler sees, and the gradient."""

import warnings

import torch
import torch_openreg  # noqa: F401
from torch.library import _scoped_library


def show(what: str) -> None:
    """One operator, asked for in three ways."""
    x = torch.zeros(1, device="openreg")
    compiled = torch.compile(torch.nn.functional.logsigmoid, backend="aot_eager")
    print(
        f"{what:10} eager {torch.nn.functional.logsigmoid(x).item():.2f}  compiled {compiled(x).item():.2f}", end="  "
    )
    wants = x.clone().requires_grad_()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            torch.nn.functional.logsigmoid(wants).sum().backward()
            print("gradient", wants.grad)
        except RuntimeError as error:
            print("gradient:", error)
    for warning in warned:
        print("   warned:", str(warning.message).split(". ")[0])


show("as it is:")
with _scoped_library("aten", "IMPL") as library:
    library.impl("log_sigmoid", lambda x: torch.full_like(x, 7), "PrivateUse1")
    show("replaced:")
