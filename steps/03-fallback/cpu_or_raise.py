"""The CPU fallback: what it has served, and what it may serve."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch_openreg import _C

__all__ = ["block_fallback", "fallbacks", "no_fallback", "reset_fallbacks", "set_fallback"]


def fallbacks() -> dict[str, int]:
    """How often each operator without a kernel was served by the CPU since the start or :func:`reset_fallbacks`.

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
        mode: ``"cpu"`` serves it on the CPU, ``"raise"`` raises NotImplementedError with its name.

    Returns:
        The mode before.

    Raises:
        ValueError: If it is neither.
    """
    if mode not in ("cpu", "raise"):
        raise ValueError(f"set_fallback: argument 'mode' is {mode!r}; expected 'cpu' or 'raise'")
    return _C._set_fallback_mode(mode)


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
