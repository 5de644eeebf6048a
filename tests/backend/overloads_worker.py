"""Runs overloads on openreg and on the CPU: each with arguments made from its schema, in a process that may die.

A program, started by test_overloads.py, with the protocol of workers.py. It has imported PyTorch and used no device; a
child that it forks runs overloads until one kills it, or leaves an error on the device. So a death costs milliseconds.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import torch
import torch_openreg  # noqa: F401
from opinfo_worker import answers
from overload_runs import Outcome, Overload, check, text_of
from siblings import Signature, overload, signature

SECONDS = 40  # that an overload may take
DEADLY = 12  # so many candidates may kill the CPU's process
SAID = 400  # bytes of what a child printed before its death


class Child:
    """A forked process that runs overloads.

    Args:
        serve: What it does with one: takes the request, and returns the answer and whether the device is of use still.
    """

    def __init__(self, serve: Callable[[Any, Callable[..., None]], tuple[Outcome, bool]]) -> None:
        self.place = mmap.mmap(-1, 1024)
        self.errors = os.memfd_create("errors")
        requests, answers = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(self.errors, 2)
            os.close(requests[1])  # or it would never see the end of the requests
            os.close(answers[0])
            self._run(serve, os.fdopen(requests[0]), os.fdopen(answers[1], "w", buffering=1))
        os.close(requests[0])
        os.close(answers[1])
        self.requests, self.answers = os.fdopen(requests[1], "w", buffering=1), os.fdopen(answers[0])

    def _run(self, serve: Any, requests: Any, answers: Any) -> None:
        for line in requests:
            signal.alarm(SECONDS)
            outcome, usable = serve(json.loads(line), self.note)
            signal.alarm(0)
            answers.write(json.dumps([*outcome, usable]) + "\n")
            if not usable:
                break
        os._exit(0)

    def note(self, *place: Any) -> None:
        """Says where it is, to be read after its death."""
        text = json.dumps(place).encode()
        self.place[: len(text) + 1] = text + b"\0"

    def ask(self, request: Any) -> Any:
        """Its answer; None if it died."""
        self.requests.write(json.dumps(request) + "\n")
        line = self.answers.readline()
        return json.loads(line) if line else None

    def died(self) -> tuple[list[Any], str]:
        """Where, and how."""
        _, status = os.waitpid(self.pid, 0)
        place = json.loads(self.place[:].split(b"\0")[0] or b"[]")
        size = os.fstat(self.errors).st_size
        said = os.pread(self.errors, SAID, max(size - SAID, 0)).decode(errors="replace")
        self.close()
        return place, f"status {os.waitstatus_to_exitcode(status)}: {' '.join(said.split())}"

    def close(self) -> None:
        """Gives back what belongs to it."""
        self.requests.close()
        self.answers.close()
        os.close(self.errors)


class Server:
    """Runs overloads in children."""

    def __init__(self, everything: bool) -> None:
        self.coverage = torch.openreg.operator_coverage()
        self.everything = everything
        self.forms: dict[Signature, list[torch._ops.OpOverload]] = {}
        for name in self.coverage:
            operator = overload(name)
            self.forms.setdefault(signature(operator), []).append(operator)
        self.child: Child | None = None

    def serve(self, request: Any, note: Callable[..., None]) -> tuple[Outcome, bool]:
        """In a child: one overload, in all variants: what went wrong, or the best that went well."""
        name, deadly = request
        it = Overload(name, self.forms)
        best = Outcome("refused")
        for variant in it.variants if self.everything else it.variants[:2]:
            numbers = {number for which, number in deadly if which == variant}
            try:
                for outcome in check(it, variant, numbers, self.coverage[name] == "native", note):
                    if outcome.outcome in ("different", "raises", "nonsense"):
                        text = f"with {variant}: {outcome.detail}"
                        return outcome._replace(detail=text), usable()
                    best = outcome if best.outcome in ("refused", "deadly") else best
            except NotImplementedError as error:
                return Outcome("unmade", text_of(error)), usable()
        return best, usable()

    def run(self, name: str) -> Outcome:
        """One overload."""
        deadly: list[list[Any]] = []
        while len(deadly) < DEADLY:
            self.child = self.child or Child(self.serve)
            answer = self.child.ask([name, deadly])
            if answer is None:
                (variant, number, device), how = self.child.died()
                self.child = None
                if device != "CPU":
                    return Outcome("crash", f"with {variant}, {device}: {how}")
                deadly.append([variant, number])
                continue
            outcome, detail, still = answer
            if not still:
                self.child.died()
                self.child = None
            return Outcome(outcome, detail)
        return Outcome("deadly", "the CPU dies of all candidates")


def usable() -> bool:
    """Whether the device has no error that stays."""
    try:
        torch.accelerator.synchronize()
    except Exception:
        return False
    return True


def main() -> None:
    """Answers one overload a line of standard input."""
    server = Server("--all" in sys.argv)
    with answers() as answer:
        answer(list(server.coverage))
        for line in sys.stdin:
            outcome = server.run(line.strip())
            answer({"outcome": outcome.outcome, "detail": outcome.detail})


if __name__ == "__main__":
    main()
