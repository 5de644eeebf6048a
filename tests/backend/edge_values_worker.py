"""Runs operators on NaN, infinities, zeros of both signs, denormals and extremes, on the CPU and on openreg.

A program, started by test_edge_values.py, with the protocol of workers.py. An entry is one of PyTorch's operator
database. ``--all`` takes several samples in each round.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
import torch_openreg  # noqa: F401
from comparison import DEVICE, WIDE, Difference, compare, copied, copy_values, tensors_of
from edge_values import Round, changed, compare_edges, draws_for, has_edges, lay_out, put_in, rounds
from opinfo_worker import (
    UNINITIALIZED,
    Run,
    answers,
    backward,
    describe,
    entry_name,
    forward,
    is_drawn,
    place_of,
    samples,
    seed_like,
)
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import BinaryUfuncInfo, OpInfo, SampleInput, UnaryUfuncInfo

DTYPE = torch.float32
SAMPLES = 12  # of an entry; each round takes another one of them
AT_MOST = 4  # a round, if all
LARGEST = 4096  # elements of a sample
# Their derivatives on the CPU read beyond their images, and crash, where a grid has a NaN.
FORWARD_ONLY = ("nn.functional.grid_sample", "grid_sampler_2d")


def has_room(sample: SampleInput) -> bool:
    """Whether a sample has places for numbers at the edge, and is small."""
    tensors = tensors_of((sample.input, sample.args, sample.kwargs))
    return any(has_edges(it) and it.numel() > 2 for it in tensors) and sum(it.numel() for it in tensors) < LARGEST


def seed_for(what: Round) -> Callable[[torch.Tensor], torch.Tensor]:
    """What makes the gradient of a result in a round."""

    def seed(output: torch.Tensor) -> torch.Tensor:
        made = seed_like(output).cpu().to(torch.complex64 if output.is_complex() else DTYPE).contiguous()
        if what.place != "inputs":
            made = put_in(made, what.kind, draws_for(what, list(output.shape)))
        return lay_out(made.to(output), what.layout)

    return seed


def gradients(op: OpInfo, sample: SampleInput, results: Any, what: Round) -> list[torch.Tensor | None]:
    """The inputs' gradients, unless the CPU crashes."""
    return [] if op.name in FORWARD_ONLY else backward(sample, results, seed_for(what))


def run(op: OpInfo, sample: SampleInput, what: Round) -> Run:
    """Forward and backward."""
    results = forward(op, sample)
    return results, gradients(op, sample, results, what)


def run_exactly(op: OpInfo, sample: SampleInput, what: Round) -> Run | None:
    """In double precision, if that works."""
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        return run(op, sample, what)
    except Exception:
        return None
    finally:
        torch.set_default_dtype(usual)


def differences(
    expected: Run, actual: Run, exact: Callable[[], Run | None], place: torch.device, overflows: bool
) -> dict[str, str]:
    """How two runs differ, each difference with where it is seen first."""
    found: dict[str, str] = {}
    for part, (name, where) in enumerate((("result", place), ("gradient", DEVICE))):
        compare(name, expected[part], actual[part], False, {}, where)
        leaves = [tensors_of(it[part]) for it in (expected, actual)]
        for index, (want, got) in enumerate(zip(*leaves, strict=True)):
            if compare_edges("", want, got, None, False):
                true = exact()
                wide = tensors_of(true[part]) if true else []
                other = wide[index] if index < len(wide) else None
                found |= compare_edges(f"{name} {index}", want, got, other, overflows)
    return found


def check_round(op: OpInfo, cpu: SampleInput, device: SampleInput, number: int, what: Round) -> dict[str, str] | str:
    """Compares one round.

    Args:
        op: The entry.
        cpu: A sample on the CPU.
        device: The same on openreg.
        number: Of the sample.
        what: What is put in.

    Returns:
        The differences; ``unusable`` if the CPU refuses such numbers, ``fallback`` if the forward pass needs the CPU's
        kernels.
    """
    cpu = changed(cpu, number, what)
    device = copy_values(cpu, device)
    wide = copied(cpu, WIDE)
    try:
        expected = run(op, cpu, what)
    except Exception:
        return "unusable"
    try:
        torch.openreg.reset_fallbacks()
        results = forward(op, device)
        if torch.openreg.fallbacks():
            return "fallback"
        actual = results, gradients(op, device, results, what)
        exact = cache(lambda: run_exactly(op, wide, what))
        return differences(expected, actual, exact, place_of(device), what.overflows)
    except Difference as error:
        return {str(error): ""}
    except Exception as error:
        torch.openreg.synchronize()  # if the device has failed, this process is of no more use, and dies
        return {describe(error): ""}


def usable_samples(op: OpInfo) -> list[tuple[int, tuple[SampleInput, SampleInput]]]:
    """Samples on both devices, numbered, that the CPU can run, and whose results are not drawn."""
    if op.name in UNINITIALIZED:
        return []
    try:
        made = samples(op, DTYPE, SAMPLES)
    except ValueError:  # of another structure on each device, but for the first
        made = samples(op, DTYPE)
    return [(number, pair) for number, pair in enumerate(made) if has_room(pair[0]) and repeats_itself(op, pair[0])]


def repeats_itself(op: OpInfo, sample: SampleInput) -> bool:
    """Whether the CPU can run a sample, and makes the same of it with every seed."""
    try:
        return not is_drawn(op, sample, forward(op, copied(sample)))
    except Exception:
        return False


def check(op: OpInfo, everything: bool) -> tuple[str, dict[str, str], int]:
    """Runs an entry.

    Returns:
        ``run``, ``unusable`` or ``fallback``; the differences; and how many rounds were compared.
    """
    usable = usable_samples(op)
    found: dict[str, str] = {}
    count = 0
    elementwise = isinstance(op, (UnaryUfuncInfo, BinaryUfuncInfo))
    for turn, what in enumerate(rounds(elementwise) if usable else ()):
        for i in range(min(len(usable), AT_MOST if everything else 1)):
            number, pair = usable[(turn + i) % len(usable)]
            outcome = check_round(op, *pair, number, what)
            if outcome == "fallback":
                return "fallback", {}, 0
            if outcome == "unusable":
                continue
            count += 1
            for text, where in outcome.items():
                found.setdefault(text, f"sample {number}, {' '.join(what)} {where}")
    return ("run" if count else "unusable"), found, count


def main() -> None:
    """Answers one entry a line of standard input."""
    everything = "--all" in sys.argv
    entries = {entry_name(op): op for op in op_db if DTYPE in op.supported_dtypes("cpu")}
    with answers() as answer:
        answer(list(entries))
        for line in sys.stdin:
            outcome, found, count = check(entries[line.strip()], everything)
            answer({"outcome": outcome, "detail": "", "more": {"rounds": count, "differences": found}})


if __name__ == "__main__":
    main()
