"""Calls of native operators in forks: a call may kill its process, or fail its device for as long as the process lives.

The calls are those in which the entries of PyTorch's operator database, and the programs of composites.py, end. Each
kind of call is made once, whichever entry it comes from.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import partial

import torch
from comparison import DEVICE
from composites import PROGRAMS
from native_calls import Call, native_calls, run_samples
from opinfo_worker import answers, entry_name, first_dtype
from siblings import Siblings
from torch.testing._internal.common_methods_invocations import op_db

Report = Callable[[str, str, str], None]  # a call, how it went, and more about that
# Makes those of the calls that are not done. It reports each as a "crash" first, and then how it went. It may stop
# after one that it reports as "late", and is started again for the rest.
MakeCalls = Callable[[Iterator[Call], set[str], Report], None]


def run_fork(make_calls: Callable[[Report], None]) -> tuple[dict[str, tuple[str, str]], int]:
    """What the calls of one fork have reported, and its exit status."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            make_calls(lambda *row: bool(os.write(writing, f"{json.dumps(row)}\n".encode())))
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = {name: (outcome, detail) for name, outcome, detail in map(json.loads, pipe)}
    return found, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run_entry(make_calls: MakeCalls, calls: Callable[[], Iterator[Call]], done: set[str]) -> dict[str, object]:
    """The answer about an entry: what became of each of its calls; of those that kill their process, too."""
    cases: dict[str, tuple[str, str]] = {}
    while True:
        found, status = run_fork(lambda report: make_calls(calls(), done, report))
        done.update(found)
        cases |= found
        if status > 0 or (status and not found):
            return {"outcome": "fails", "detail": f"between its calls, with status {status}"}
        if not status and not (found and list(found.values())[-1][0] == "late"):
            return {"outcome": "run", "detail": "", "more": cases}


def serve(make_calls: MakeCalls) -> None:
    """Answers one entry a line of standard input, with the protocol of workers.py."""
    native = {name for name, how in torch.openreg.operator_coverage().items() if how == "native"}
    siblings = Siblings(native)
    done: set[str] = set()
    entries = {entry_name(op): partial(run_samples, op, first_dtype(op)) for op in op_db}
    entries |= {name: partial(exec, program, {"torch": torch, "d": DEVICE}) for name, program in PROGRAMS.items()}
    with answers() as answer:
        answer(list(entries))
        for line in sys.stdin:
            answer(run_entry(make_calls, partial(native_calls, entries[line.strip()], native, siblings), done))
