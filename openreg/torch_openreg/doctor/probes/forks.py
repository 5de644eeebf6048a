"""A fork of a process that has used the device."""

from __future__ import annotations

import torch

from ..backend import Backend
from ..processes import Child
from ..registry import Section, Wrong

section = Section("forked processes", step=2, chapter="01-device", needs=("import", "tensors"))


@section.probe("fork", write="pthread_atfork; _is_in_bad_fork in the device's module, and a check in _lazy_init")
def fork(backend: Backend) -> str:
    """Uses the device, forks, and uses it in the child, which must compute or say that it can't."""
    here, there = backend.numbers(5)
    torch.accelerator.synchronize()

    def use() -> list[str]:
        try:
            if not torch.equal((there.cpu() + torch.ones(5).to(backend.device()).cpu()), here + 1):
                return ["other numbers", ""]
        except RuntimeError as error:
            return ["error", str(error)]
        return ["computes", ""]

    ended = Child(use, backend.patience, group=False).wait()
    if ended.status != 0:
        raise Wrong(f"a forked child that uses the device {ended.how}: {ended.printed}")
    said, error = ended.said
    if said == "other numbers":
        raise Wrong("a forked child computes other numbers")
    if said == "error" and "fork" not in error:
        raise Wrong(f"a forked child has an error that doesn't name the fork: {error}")
    return "the child computes too" if said == "computes" else "the child has an error that names the fork"
