"""The fallback: who serves operators without a kernel, what it has served, and what it may serve."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from torch_openreg import _C

__all__ = ["block_fallback", "fallbacks", "no_fallback", "reset_fallbacks", "set_fallback"]


def fallbacks() -> dict[str, int]:
    """How often each operator without a kernel was served by the fallback since the start or :func:`reset_fallbacks`.

    Returns:
        Calls by operator name, such as ``{"aten::sin.out": 2}``, the most frequent first. Counts of all threads.
    """
    return dict(sorted(_C._fallback_counts().items(), key=lambda item: (-item[1], item[0])))


def reset_fallbacks() -> None:
    """Sets all counts of :func:`fallbacks` to zero."""
    _C._reset_fallback_counts()


def set_fallback(mode: str) -> str:
    """Says what happens to an operator without a kernel, in all threads.

    Args:
        mode: ``"cpu"`` serves it on the CPU, ``"raise"`` raises NotImplementedError with its name. Another mode has a
            library of its own, ``lib/libfallback_MODE.so`` in the package, which this loads.

    Returns:
        The mode before.

    Raises:
        ValueError: If there is no such mode. The text lists those there are, and names the library.
    """
    library = Path(_C.__file__).parent / "lib" / f"libfallback_{mode}.so"
    if library.is_file():
        torch.ops.load_library(library)
    try:
        return _C._set_fallback_mode(mode)
    except ValueError as error:
        raise ValueError(f"{error}, or a mode with a library of its own, {library}") from None


@contextmanager
def no_fallback() -> Iterator[None]:
    """Context in which an operator without a kernel raises NotImplementedError, in all threads.

    Contexts nest and overlap, in one thread and in several: fallbacks are served again when the last has ended. The
    mode of :func:`set_fallback` is another setting, which this leaves alone.
    """
    _C._begin_no_fallback()
    try:
        yield
    finally:
        _C._end_no_fallback()


def block_fallback(op: str, block: bool = True) -> None:
    """Refuses the fallback to one operator, in all threads.

    Args:
        op: Name as :func:`fallbacks` gives it, such as ``"aten::sin.out"``.
        block: False serves it again.

    Raises:
        RuntimeError: If the name has no namespace.
    """
    _C._block_fallback(op, block)
