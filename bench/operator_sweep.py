"""Every native operator with one element and with a million, beside the CPU, and writes docs/speed.json.

    python bench/operator_sweep.py              all, a few minutes
    python bench/operator_sweep.py sort cat.out these: shown, and renewed in the file

An operator is called as torch.ops has it, without the Python around it. Many calls in a row, at the end of which the
host waits for the device, so that host and device work at the same time. With a million elements an operator that
writes to its arguments has new ones in each call. Both devices in turns; of each the least of several rounds, as others
may want the cores, too.
"""

import json
import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import torch
from measure import DEVICE, REST, report
from operator_calls import Call, Calls, Operator, Unmade, native

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "speed.json"
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
from operator_speed import BARS, above, reasons  # noqa: E402

ROUNDS, FEW, SLOW = 5, 3, 0.05  # few rounds of what takes so many seconds
AGAIN = 4  # times that an operator above its bar is measured anew
TURN = {"one": 1e-3, "million": 2e-3}  # seconds of a device in a round
MOST_CALLS = {"one": 500, "million": 20}

Figures = dict[str, Any]


def turn(call: Call, count: int) -> float:
    """Seconds of a call, of several in a row."""
    bodies = list(islice(cycle(call.bodies), count))
    start = time.perf_counter()
    for body in bodies:
        body()
    torch.accelerator.synchronize()
    return (time.perf_counter() - start) / count


def measured(size: str, calls: Calls) -> list[float | None]:
    """The microseconds of the CPU, if it has the operator, and of openreg."""
    several = [calls.cpu, calls.device] if calls.cpu else [calls.device]
    once = [turn(call, 1) for call in several]
    quick = [min(turn(call, 1) for _ in range(FEW)) for call in several]  # the first may wake the device's thread
    counts = [max(1, min(MOST_CALLS[size], int(TURN[size] / it))) for it in quick]
    if size != "one" and calls.device.written:  # what exp_ makes of its own result soon has nothing of numbers
        counts = [len(call.bodies) for call in several]
    taken = []
    for _ in range(FEW if max(once) > SLOW else ROUNDS):
        row = []
        for call, count in zip(several, counts, strict=True):
            if size != "one":
                time.sleep(REST)  # the other's threads stop spinning
            if max(once) < SLOW:
                turn(call, 1)  # doesn't count
            call.restore()
            torch.accelerator.synchronize()
            row.append(turn(call, count))
        taken.append(row)
    figures: list[float | None] = [float(f"{min(column) * 1e6:.3g}") for column in zip(*taken, strict=True)]
    return figures if calls.cpu else [None, *figures]


@contextmanager
def quiet() -> Iterator[None]:
    """Nothing on standard error: some of the CPU's operators warn at each call of what they do themselves."""
    sys.stderr.flush()
    kept, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nothing)


def swept(operator: Operator) -> Figures:
    """The figures of an operator; what cannot be called at a size, with what was tried and refused."""
    found: Figures = {}
    for size in ("one",) if operator.is_single else ("one", "million"):
        try:
            with quiet():
                calls = operator.calls(size != "one", DEVICE)
                found |= {"shape": calls.shape, size: measured(size, calls)}
        except Unmade as error:
            found["unmade"] = f"{size}: {error}"
    return found


def least(one: Figures, other: Figures) -> Figures:
    """The lesser times of two measurements of an operator."""
    both = {
        size: [it and min(it, also) for it, also in zip(one[size], other[size], strict=True)]
        for size in BARS
        if size in one
    }
    return one | both


def table(operators: list[Operator], shown: bool) -> dict[str, Figures]:
    """The figures of operators by name; tells on standard error how far it is, or shows them.

    What is above its bar is measured again after all the others: whoever wanted the cores then, may have gone.
    """
    found: dict[str, Figures] = {}
    for number, operator in enumerate(operators):
        if number % 100 == 0 and not shown:
            print(f"bench: {number} of {len(operators)} operators", file=sys.stderr, flush=True)
        found[operator.name] = swept(operator)
    for _ in range(AGAIN):
        for operator in operators:
            if any(above(found[operator.name], size) for size in BARS):
                found[operator.name] = least(found[operator.name], swept(operator))
    named = {name.removeprefix("aten::"): figures for name, figures in found.items()}
    if not shown:
        return named
    for name, figures in named.items():
        times = [f"{size} {figures[size]}" for size in BARS if size in figures]
        print(name, figures.get("shape", ""), *times, figures.get("unmade", ""), file=sys.stderr, flush=True)
    return named


def write(figures: dict[str, Figures]) -> None:
    """Writes the file, an operator a line, so that a difference shows what has changed."""
    lines = [f"{json.dumps(name)}: {json.dumps(figures[name], ensure_ascii=False)}" for name in sorted(figures)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main(names: list[str]) -> None:
    """Measures, writes, and says how many are too slow without a reason."""
    warnings.simplefilter("ignore")
    operators = native()
    known = json.loads(FILE.read_text(encoding="utf-8")) if names and FILE.exists() else {}
    if names:
        wanted = [it for it in operators if {it.name[6:], it.name[6:].partition(".")[0]} & set(names)]
    figures = known | table(wanted if names else operators, bool(names))
    write(figures)
    explained = reasons(ROOT)
    for size, bar in BARS.items():
        slow = [name for name, it in figures.items() if above(it, size)]
        unexplained = [name for name in slow if not explained.of(name, size, figures[name])]
        report(f"operators above {bar} × the CPU, {size}", len(slow), "")
        print(f"{size}, without a reason: {' '.join(unexplained)}", file=sys.stderr)
        report(f"operators above {bar} × the CPU, {size}, without a reason", len(unexplained), "", most=0)


if __name__ == "__main__":
    with torch.no_grad():
        main(sys.argv[1:])
