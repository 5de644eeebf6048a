"""Errors of compiled kernels, compiled functions after the reset of their device, and in forked children."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

from .compile_checks import close, compiled, numbers, on
from .conftest import ProgramFunction
from .test_fork import FORKED, with_fork

pytestmark = [pytest.mark.kernels, pytest.mark.timeout(300)]  # a busy machine compiles for minutes

# One process for all of it: to import the compiler takes longer than these tests.
PROGRAM = """
def said(device, call):
    try:
        call()
        torch.openreg.synchronize(device)
    except torch.AcceleratorError as error:
        return str(error).splitlines()[0]
    return "no error"

index = torch.compile(lambda x, i: x[i] * 2 + 1)
divide = torch.compile(lambda x, y: x // y + 1)
remainder = torch.compile(lambda x, y: (x % y).sum())
x, n = torch.arange(1000.0), torch.full((1000,), 3)

def works(device):
    i, numbers = torch.tensor([5, -1], device=device), n.to(device)
    assert index(x.to(device), i).tolist() == [11.0, 1999.0]
    assert divide(numbers * 4, numbers).tolist() == [5] * 1000
    assert remainder(numbers * 4 + 1, numbers).item() == 1000

def inputs(device, *indices):
    return torch.arange(1000.0, device=device), torch.tensor(indices, device=device)

for device, other in (("openreg:0", "openreg:1"), ("openreg:1", "openreg:0")):
    works(device)
    works(other)
    for name, call in {
        "index": lambda: index(*inputs(device, 1, 2000)),
        "negative index": lambda: index(*inputs(device, 1, -1001)),
        "division": lambda: divide(n.to(device), n.to(device) * 0),
        "remainder": lambda: remainder(n.to(device), n.to(device) * 0),
    }.items():
        print(device, name, said(device, call), sep=": ")
        print(device, name, "next", said(device, lambda: torch.ones(2, device=device) + 1), sep=": ")
        works(other)
        torch.openreg.reset_device(device)
        works(device)  # the same compiled functions
        print(device, name, "reset", "works", sep=": ")

in_child(lambda: remainder(n.to(device), n.to(device)))
in_child(lambda: index(x, torch.tensor([1])))
works(device)
print("the parent works")
"""


@pytest.fixture(scope="module")
def printed(program: ProgramFunction) -> list[str]:
    """The lines that the program prints."""
    return program(with_fork(PROGRAM), timeout=250).splitlines()


def line(printed: list[str], start: str) -> str:
    """What is behind the start of a line."""
    (found,) = [it.removeprefix(start) for it in printed if it.startswith(start)]
    return found


CAUSES = {
    "index": ("add_index_mul_0", r"index out of bounds: 0 <= tmp\d+ < 1000L"),
    "negative index": ("add_index_mul_0", r"index out of bounds: 0 <= tmp\d+ < 1000L"),
    "division": ("add_floor_divide_0", "ZeroDivisionError"),
    "remainder": ("remainder_sum_0", "ZeroDivisionError"),
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_next_wait_says_in_which_kernel_what_was_wrong(printed: list[str], device: str, name: str) -> None:
    kernel, cause = CAUSES[name]
    expected = rf".*kernel 'openreg_fused_{kernel}' on device {device[-1]}: {cause} \[orErrorAssert\]"
    found, *_ = [it for it in printed if it.startswith(f"{device}: {name}: ")]
    assert re.fullmatch(expected, found), found


@pytest.mark.parametrize("name", CAUSES)
def test_the_device_has_failed_until_it_is_reset(printed: list[str], device: str, name: str) -> None:
    assert "[orErrorAssert]" in line(printed, f"{device}: {name}: next: ")
    assert line(printed, f"{device}: {name}: reset: ") == "works"


def test_a_forked_child_is_told_that_it_has_no_device_and_compiles_for_the_cpu(printed: list[str]) -> None:
    start = printed.index(f"RuntimeError {FORKED}")
    assert printed[start + 1 : start + 5] == ["child: 0", "tensor([3.])", "child: 0", "the parent works"]


def test_no_error_comes_of_indices_that_are_right_and_divisors_that_are_not_zero() -> None:
    def function(x: torch.Tensor, i: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x[i] * 2, i // (i - 50), i % (i - 50), x[i - 10], x / 0

    x, i = numbers(40), torch.arange(10, 40)
    with torch.openreg.no_fallback():
        close(compiled(function, fullgraph=True)(*on("openreg", (x, i))), function(x, i))
    torch.openreg.synchronize()


def test_without_a_compiler_the_error_says_so(program: ProgramFunction, tmp_path: Path) -> None:
    code = """
import torch, torch_openreg
for _ in range(2):  # the second time, too, when the backend for Inductor has been looked for before
    try:
        torch.compile(lambda x: x.sin() + 1)(torch.ones(3, device="openreg"))
    except Exception as error:
        print(" ".join(str(error).split()))
"""
    said = program(code, CXX="/no/such/compiler", TORCHINDUCTOR_CACHE_DIR=str(tmp_path)).splitlines()
    assert len(said) == 2, said
    assert all("No working C++ compiler found" in line and "/no/such/compiler" in line for line in said), said
