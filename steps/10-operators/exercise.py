"""What a program of yours still leaves to the CPU, and whether that matters: the counter, the tables and the clock."""

import time
from collections.abc import Callable

import torch
import torch_openreg  # noqa: F401

coverage = torch.openreg.operator_coverage()


def left_to_the_cpu(program: Callable[[], object]) -> dict[str, int]:
    """Fallbacks of a program, by operator."""
    torch.openreg.reset_fallbacks()
    program()
    return torch.openreg.fallbacks()


def milliseconds(program: Callable[[], object]) -> float:
    """The shortest of ten runs, to its end on the device."""
    times = []
    for _ in range(10):
        start = time.perf_counter()
        program()
        torch.openreg.synchronize()
        times.append(1000 * (time.perf_counter() - start))
    return min(times)


x = torch.rand(200, 200, device="openreg")
programs = {
    "a layer": lambda: torch.nn.functional.layer_norm(x @ x, (200,)).softmax(-1),
    "singular values": lambda: torch.linalg.svdvals(x),
    "a Bessel function": lambda: torch.special.bessel_j0(x).sum(),
}
for name, program in programs.items():
    fallbacks = left_to_the_cpu(program)
    print(f"{name}: {milliseconds(program):.2f} ms,", "left to the CPU:", ", ".join(fallbacks) or "nothing")
    assert all(coverage[operator] == "fallback" for operator in fallbacks)
