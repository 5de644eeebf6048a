"""An executor that lies: the one in Python, which does its work well, with other answers."""

from __future__ import annotations

import importlib.util
import os
import random
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# What is written in the place of a number: what programs mistake for another thing, and anything at all.
NUMBERS = [0, 1, 2, 5, 8, 24, 25, 99, 511, 513, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 512, 2**64 - 1]


def number(rng: random.Random) -> int:
    """A number that a lie may put anywhere."""
    return rng.choice([*NUMBERS, rng.getrandbits(64), rng.getrandbits(20)])


def run(lie: Callable[[Any, Any], None] = lambda *_: None, **methods: Callable[[Any], Any]) -> None:
    """Serves as the executor does; `lie(executor, frame)` may change each answer before the host sees it.

    Each of `methods` gets the executor's method of that name, and gives another: `record` records work, `serve` does
    what a frame asks for.
    """
    folder = Path(os.environ["OPENREG_TEST_LIBRARY"]).parent / "executor_python"
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("executor", folder / "__main__.py")
    assert spec is not None and spec.loader is not None
    executor: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(executor)
    honest = executor.Executor.answer

    def answer(self: Any, frame: Any) -> None:
        said = self.channel.advance
        self.channel.advance = lambda fence, value: None  # not yet
        honest(self, frame)
        self.channel.advance = said
        lie(self, frame)
        said(executor.wire.ANSWERED, frame.number)

    executor.Executor.answer = answer
    for name, change in methods.items():
        setattr(executor.Executor, name, change(getattr(executor.Executor, name)))
    executor.main()


def payload(executor: Any, form: str, *values: int) -> None:
    """Replaces the payload of the answer, from its start."""
    at = sys.modules["wire"].ANSWER_AT + 24
    struct.pack_into(form, executor.channel.bytes, at, *values)


def run_wildly(seed: int, share: float = 0.15) -> None:
    """Lies in some of its answers, in any of their fields."""
    rng = random.Random(seed)

    def lie(executor: Any, frame: Any) -> None:
        if frame.kind == "ping" or rng.random() > share:
            return
        wire = sys.modules["wire"]
        offset, form = rng.choice([(0, "<I"), (4, "<I"), (8, "<Q"), (16, "<I"), (24, "<Q"), (24, "<Q"), (32, "<Q")])
        value = number(rng) & (2 ** (8 * struct.calcsize(form)) - 1)
        struct.pack_into(form, executor.channel.bytes, wire.ANSWER_AT + offset, value)

    run(lie)
