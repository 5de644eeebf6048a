"""How the benchmarks measure, and how they report: figures as JSON lines {name, value, unit, …}.

Each figure has what it is to reach: `most`, `least`, or `times`, how many times the CPU's value it may be. Figures that
say `cores` tell something only where that many are really free. Device and CPU are measured in turns in one process, so
that both meet the same machine; before its turn each gets a rest, in which the other's threads stop spinning, and a
turn that doesn't count. Medians throughout.
"""

import json
import time
from collections.abc import Callable, Sequence
from statistics import median

import torch
import torch_openreg  # noqa: F401 (registers the device)

DEVICE = torch.device("openreg:0")
ROUNDS = 15
REST = 0.01  # seconds; OpenMP's threads spin for some milliseconds after the CPU's last operator

Body = Callable[[], object]


def report(name: str, value: float, unit: str, **more: float | None) -> None:
    """Prints one figure."""
    print(json.dumps({"name": name, "value": value, "unit": unit, **more}), flush=True)


def seconds(body: Body, calls: int = 1) -> float:
    """Returns the seconds that one call takes, the device's work included."""
    start = time.perf_counter()
    for _ in range(calls):
        body()
    torch.accelerator.synchronize()
    return (time.perf_counter() - start) / calls


def in_turns(bodies: Sequence[Body], calls: int, rounds: int = ROUNDS) -> list[float]:
    """Measures all in turns and returns the median seconds of a call of each."""

    def turn(body: Body) -> float:
        time.sleep(REST)
        seconds(body, calls)
        return seconds(body, calls)

    taken = [[turn(body) for body in bodies] for _ in range(rounds)]
    return [median(column) for column in zip(*taken, strict=True)]


def per_call(body: Body, calls: int) -> float:
    """Returns the seconds that one of many calls in a row takes."""
    return in_turns([body], calls)[0]


def compare(
    name: str, device: Body, cpu: Body, calls: int, unit: str = "µs", times: float | None = None, rounds: int = ROUNDS
) -> None:
    """Reports both, and how many times the CPU's figure the device's may be."""
    scale = {"µs": 1e6, "ms": 1e3}[unit]
    here, there = in_turns((device, cpu), calls, rounds)
    report(name, here * scale, unit, cpu=there * scale, times=times)


def host_returns(name: str, body: Body, warm: Body, most: float | None = None) -> None:
    """Reports how soon the host goes on from a call that keeps the device busy for long, after calls that don't."""
    taken = []
    for _ in range(ROUNDS):
        for _ in range(20):
            warm()
        torch.accelerator.synchronize()
        start = time.perf_counter()
        body()
        taken.append(time.perf_counter() - start)
        torch.accelerator.synchronize()
    report(f"host returns from {name}", median(taken) * 1e6, "µs", most=most)


def hidden(name: str, queue: Body) -> None:
    """Reports which share of the shorter of host and device work vanishes behind the longer one.

    Of each the shortest time of several rounds, as others want the cores too.
    """
    device = min(seconds(queue) for _ in range(ROUNDS))
    start, loops = time.thread_time(), 0
    while time.thread_time() - start < device:  # the host's work: as long as the device's
        _work(1000)
        loops += 1000
    host = min(seconds(lambda: _work(loops)) for _ in range(ROUNDS))
    both = min(seconds(lambda: (queue(), _work(loops))) for _ in range(ROUNDS))
    report(
        f"share of host work hidden behind {name}", (host + device - both) / min(host, device), "", least=0.95, cores=2
    )


def _work(loops: int) -> None:
    """Something for the host to do."""
    for _ in range(loops):
        time.perf_counter()
