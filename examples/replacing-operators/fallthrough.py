"""A fallthrough: the dispatcher skips a key. Nothing says so, least of all where the key was autograd's."""

import warnings

import torch
import torch_openreg  # noqa: F401

warnings.simplefilter("ignore")  # PyTorch warns of the first kernel that is replaced, and of no other
x = torch.ones(2, device="openreg", requires_grad=True)


def skipping(op: str, key: str) -> None:
    """What becomes of an operator without its kernel for a key."""
    calls = {"sin": lambda: torch.sin(x), "im2col": lambda: torch.nn.functional.unfold(x.view(1, 1, 1, 2), 1)}
    with torch.library._scoped_library("aten", "IMPL") as library:
        library.impl(op, torch.library.fallthrough_kernel, key)
        try:
            print(f"{op} without {key}: {calls[op]().detach().tolist()}, has a gradient: {calls[op]().requires_grad}")
        except NotImplementedError as error:
            print(f"{op} without {key}: {str(error).split('. ')[0]}")


skipping("sin", "AutogradPrivateUse1")
skipping("sin", "PrivateUse1")
skipping("im2col", "PrivateUse1")
print("and back, has a gradient:", torch.sin(x).requires_grad)
