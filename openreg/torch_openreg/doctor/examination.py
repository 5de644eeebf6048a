"""Examines a backend: imports it in a process of its own, from which the process of each probe is forked."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from . import probes  # noqa: F401 - registers them
from .processes import Child, Ended, run_all
from .registry import PROBES, Finding, Probe, Row, Word

IMPORT_SECONDS = 60  # of a cold disk, too
LIMIT_OF_ALL = 600


def _judge(ended: Ended, seconds: float) -> Finding:
    """The verdict on a probe whose process has given none."""
    detail = f"the process {ended.how}" + (
        f" (after {seconds:g} s; --deadline gives it longer)" if ended.status is None else ""
    )
    return Finding(Word.WRONG, f"{detail}: {ended.printed}" if ended.printed else detail)


def _answer(probe: Probe, backend: Any, deadline: float) -> list[str] | None:
    """What the process of a probe sends back."""
    from .answers import ask

    backend.patience = 0.8 * deadline  # so that it is the probe that answers
    finding = ask(probe, backend)
    return None if finding is None else [finding.word, finding.detail]


def _ask_all(asked: list[Probe], backend: Any, deadline: float) -> dict[str, list[Any]]:
    """Forks a process for each probe. Returns verdict, detail and seconds of those that apply."""
    gc.freeze()  # what is imported: else each process that ends would go through all of it, and copy it
    limits = {it.name: max(it.seconds, deadline) for it in asked}
    jobs = [(it.name, partial(_answer, it, backend, limits[it.name]), limits[it.name]) for it in asked]
    findings = {}
    for name, ended, seconds in run_all(jobs, len(os.sched_getaffinity(0))):
        if ended.status == 0 and ended.said is None:
            continue  # it doesn't apply
        judged = _judge(ended, limits[name])
        findings[name] = [*(ended.said or [judged.word, judged.detail]), seconds]
    return findings


def _ask_heavy(asked: list[Probe], backend: Any, deadline: float) -> dict[str, list[Any]]:
    """The same for those that optimizers, profiles and compilers need seconds of imports for: they share them."""
    import torch._dynamo  # noqa: F401 - starts nothing

    return _ask_all(asked, backend, deadline)


def _serve(name: str | None, package: str | None, asked: list[Probe], deadline: float) -> dict[str, Any]:
    """Imports the backend, touches no device, and forks. Returns what goes through JSON to the first process."""
    from .backend import import_backend

    signal.alarm(IMPORT_SECONDS)  # ends this process
    try:
        backend = import_backend(name, package)
    except Exception as error:
        absent = isinstance(error, ImportError) or hasattr(error, "word")
        text = str(error) if hasattr(error, "word") else f"{type(error).__name__}: {error}"
        return {"import": [Word.MISSING if absent else Word.WRONG, text]}
    finally:
        signal.alarm(0)
    heavy = [probe for probe in asked if probe.heavy]
    beside = Child(partial(_ask_heavy, heavy, backend, deadline), LIMIT_OF_ALL, group=False) if heavy else None
    if beside:
        os.nice(5)  # the heavy ones take longest: the others leave them a core
    findings = _ask_all([probe for probe in asked if not probe.heavy], backend, deadline)
    if beside:
        ended = beside.wait()
        judged = _judge(ended, LIMIT_OF_ALL)
        findings |= ended.said or {probe.name: [judged.word, judged.detail, 0.0] for probe in heavy}
    return {"device": backend.name, "import": [Word.WORKS, ""], "findings": findings}


def _ask_without(name: str, asked: list[Probe], deadline: float) -> dict[str, list[Any]]:
    """Asks what can be asked where the import failed."""
    from .backend import Backend

    return _ask_all([probe for probe in asked if "import" not in probe.needs], Backend(name, None), deadline)


def examine(name: str | None, package: str | None, chosen: Iterable[str], deadline: float) -> tuple[str, list[Row]]:
    """Asks the probes.

    Args:
        name: The device's name; None for the one that is registered.
        package: The Python package that registers it; None for ``torch_<name>``.
        chosen: Names of the probes.
        deadline: Seconds that a probe may take; some may take longer.

    Returns:
        The device's name, and the rows in the order of the probes.
    """
    chosen = [it for it in PROBES if it in set(chosen)]
    asked = [PROBES[it] for it in chosen if it != "import"]
    ended = Child(partial(_serve, name, package, asked, deadline), IMPORT_SECONDS + LIMIT_OF_ALL).wait()
    said = ended.said
    if said is None:
        late = ended.status == -signal.SIGALRM
        judged = _judge(replace(ended, status=None) if late else ended, IMPORT_SECONDS)
        said = {"import": [judged.word, judged.detail]}
    if "findings" not in said:
        said["device"] = name or "openreg"
        said["findings"] = Child(partial(_ask_without, said["device"], asked, deadline), LIMIT_OF_ALL).wait().said
    found = {it: Finding(Word(word), detail) for it, (word, detail, _) in said["findings"].items()}
    seconds = {it: taken for it, (_, _, taken) in said["findings"].items()}
    found["import"] = Finding(Word(said["import"][0]), said["import"][1])
    if found["import"].word != Word.WORKS:
        found |= {it: Finding(Word.MISSING) for it in chosen if it not in found and PROBES[it].section != "driver"}
    return said["device"], [_row(PROBES[it], found, seconds.get(it, 0.0)) for it in chosen if it in found]


def _row(probe: Probe, found: dict[str, Finding], seconds: float) -> Row:
    """The row of a probe; where something that it needs doesn't work and it doesn't either, only that."""
    finding = found[probe.name]
    absent = {it for it, other in found.items() if other.word == Word.MISSING}
    if found["import"].word != Word.WORKS:
        absent.add("import")
    lacks = tuple(it for it in probe.needs if it in absent)
    if finding.word in (Word.WORKS, Word.NOT_SEEN) or not lacks:
        return replace(probe.row(finding), seconds=seconds)
    return replace(probe.row(Finding(Word.MISSING, f"needs {', '.join(lacks)}")), seconds=seconds, lacks=lacks)
