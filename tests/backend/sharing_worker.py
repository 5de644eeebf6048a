"""The other process of test_multiprocessing.py: it does what it is told, and answers."""

from __future__ import annotations

import traceback
from multiprocessing.queues import Queue
from typing import Any

import torch


def serve(inbox: Queue, outbox: Queue, *given: Any) -> None:
    """Runs pieces of code, each with the tensors that came with it in `sent`; what it leaves in `out` is the answer.

    Args:
        inbox: Pairs of code and tensors; "forget" drops what earlier code has kept. None ends the process.
        outbox: Pairs of the answer and, where the code has raised, the error.
        given: What was given when the process was started; the code finds it under this name.
    """
    names: dict[str, Any] = {"torch": torch, "given": given, "forget": None}
    while True:
        out = error = None
        try:
            task = inbox.get()
            if task is None:
                return
            code, names["sent"] = task
            del task
            exec(code, names)
            out = names.pop("out", None)
            names.pop("sent", None)
            if code == "forget":
                names = {"torch": torch, "given": given, "forget": None}
        except Exception:
            error = traceback.format_exc()
        outbox.put((out, error))
        del out
