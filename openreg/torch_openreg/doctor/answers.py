"""Turns what a probe returns or raises into a verdict."""

from __future__ import annotations

import re
import warnings

from .backend import Backend
from .registry import Answer, Finding, Missing, NotApplicable, Probe, Word, Wrong

# What PyTorch says where a backend has registered nothing. Any other error is a fault of what is there.
ABSENT = re.compile(
    r"Could not run '\w+::"  # no kernel
    r"|Backend doesn't support|Please register PrivateUse1HooksInterface|You should register `PrivateUse1Hooks"
    r"|is not a DeviceAllocator|the backend has not registered a module|module '[\w.]+' has no attribute"
    r"|PyTorch is not linked with support for"
    r"|is not supported on device type|_share_fd_: only available on CPU|which communication backend to use"
    r"|not implemented: |Operator 'aten::[\w.]+' is not implemented for|is not implemented for this allocator"
    r"|Expected a 'cpu' device type for generator"  # the operator is the CPU's
)
ASSERTED = re.compile(r"\S+ INTERNAL ASSERT FAILED at .*?, please report a bug to PyTorch\. ")
LONGEST = 200  # characters of a symptom: errors of PyTorch's bring along a page


def shorten(text: str) -> str:
    """The beginning of an error's text, on one line."""
    line = ASSERTED.sub("INTERNAL ASSERT FAILED: ", " ".join(text.split()))
    cut = re.split(r"(?<=[^.][.?!;]) (?=[A-Z])|(?<=with arguments from)", line, maxsplit=1)[0]
    cut = re.sub(r",? with arguments from$", "", cut)
    return cut if len(cut) <= LONGEST else cut[: LONGEST - 1] + "…"


def ask(probe: Probe, backend: Backend) -> Finding | None:
    """Runs a probe in this process.

    Returns:
        The verdict, or None where the probe doesn't apply.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a verdict rests on effects
        try:
            return Finding(Word.WORKS, probe.run(backend) or "")
        except NotApplicable:
            return None
        except Answer as answer:
            return Finding(answer.word, shorten(str(answer)))
        except Exception as error:
            kind = Missing if ABSENT.search(str(error)) else Wrong
            return Finding(kind.word, shorten(f"{type(error).__name__}: {error}"))
