"""One operator of PyTorch's replaced while a program runs, and put back; and what happens with two."""

import warnings

import torch
import torch_openreg  # noqa: F401
from torch.library import _scoped_library

x = torch.tensor([1.0, -2.0], device="openreg")


def show(what: str) -> None:
    """What abs is, and what one would think of with it."""
    norm = torch.linalg.vector_norm(x, 1).item()
    print(f"{what:20} abs {torch.abs(x).tolist()}  abs_ {x.clone().abs_().tolist()}  norm {norm}")


show("as it is:")
with _scoped_library("aten", "IMPL") as library, warnings.catch_warnings(record=True) as warned:
    warnings.simplefilter("always")
    library.impl("abs", lambda x: x * 2, "PrivateUse1")
    print("warnings:", len(warned))
    show("replaced:")
    print("compiled:            abs", torch.compile(torch.abs, backend="aot_eager")(x).tolist())
    with _scoped_library("aten", "IMPL") as second:
        try:
            second.impl("abs", lambda x: x * 3, "PrivateUse1", allow_override=False)
        except RuntimeError as error:
            print("refused:", str(error).split(". ")[0])
        second.impl("abs", lambda x: x * 3, "PrivateUse1")
        show("a second one:")
        print("warnings:", len(warned))
    show("without the second:")
show("put back:")
