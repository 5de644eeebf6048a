"""Exercise of step 02: watch the memory come back."""

import torch
import torch_openreg  # noqa: F401


def used() -> int:
    """Bytes in use on the first device."""
    if hasattr(torch.openreg, "memory_allocated"):  # from chapter 07 on: the driver's figure includes a cache
        return torch.openreg.memory_allocated(0)
    free, total = torch.openreg.mem_get_info(0)
    return total - free


def show(what: str, expected: int) -> None:
    """Prints how much is in use, and checks it."""
    print(f"{what}: {used()} bytes")
    assert used() == expected


size = 1 << 20
show("at first", 0)

base = torch.empty(256, size // 256, dtype=torch.uint8, device="openreg")
show("a tensor of a mebibyte", size)

row = base[7]
show("and a view of it", size)

del base
show("the base is gone, the view holds its memory", size)

copied = row.clone()
del row
show("a copy of the view holds only itself", copied.nbytes)

del copied
show("all are gone", 0)


def fail() -> None:
    """Makes a tensor and fails with it in hand."""
    held = torch.empty(size, dtype=torch.uint8, device="openreg")
    show("inside a function", size)
    torch.empty_like(held).resize_(1 << 50)


try:
    fail()
except torch.OutOfMemoryError as error:
    print("OutOfMemoryError, and while it is handled its traceback holds the function's tensor:", used(), "bytes")
    assert used() >= size
    print(str(error).rpartition(" ")[2])
show("after the exception", 0)
