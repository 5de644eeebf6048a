"""All kernels, compiled for the GPU that there is. The parts behind this one find them in the cache."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from gpu_figures import Miss, Reason

from .limited import run as run_program
from .machine import library
from .result import Asked, Result

PROGRAM = Path(__file__).with_name("kernels_program.py")
# What the driver says of a kernel that has no form for a GPU: it is no failure here.
NO_FORM = "expected a kernel of the module"


def run(env: dict[str, str], asked: Asked, explained: list[Reason]) -> Result:
    """Compiles them, each process a share."""
    del explained
    start = time.monotonic()
    command = [sys.executable, PROGRAM, library()]
    with ThreadPoolExecutor(asked.workers) as pool:
        shares = list(
            pool.map(
                lambda share: run_program([*command, str(share), str(asked.workers)], asked.left, **env),
                range(asked.workers),
            )
        )
    lines = [line for share in shares for line in share.lines()]
    result = Result()
    if not lines:
        result.said.append(f"nothing was compiled: {shares[0].last_words}")
        return result
    failed = [it for it in lines if it["error"] and NO_FORM not in it["error"]]
    there = [it for it in lines if not it["error"]]
    result.figure("kernels that are there", len(there))
    result.figure("kernels that do not compile", len(failed), most=0)
    result.figure("kernels of the host only", len(lines) - len(there) - len(failed))
    result.figure("seconds, with all processes", time.monotonic() - start, "s")
    result.figure("seconds of one kernel, mean", sum(it["seconds"] for it in there) / max(len(there), 1), "s")
    result.misses = [Miss(it["kernel"], it["error"][:300]) for it in failed]
    if any(share.status is None for share in shares):
        result.said.append(f"stopped when its time was over: {len(lines)} kernels had been asked for")
    for share in shares:
        if share.status not in (None, 0):
            result.said.append(f"a process that compiles ended with status {share.status}: {share.last_words[-200:]}")
    return result
