"""The backend under examination, seen through PyTorch's public interfaces."""

from __future__ import annotations

import importlib
import importlib.util
import time
from contextlib import suppress
from functools import cache
from types import ModuleType
from typing import Any

import torch

from .registry import Missing, Wrong

UNNAMED = "privateuseone"  # PyTorch's own name for the device, until a backend gives it one
SIZE = 384  # of matrices whose products take a while
COPIED, COPIES = 64 << 20, 8  # bytes, so often: they take a while as well


class Backend:
    """A device type of PyTorch's that comes from outside its tree.

    Attributes:
        name: As in ``torch.device(name)``.
        package: The Python package that registers it, or None where PyTorch knew the device by itself.
        patience: Seconds that a probe gives to a process of its own.
    """

    def __init__(self, name: str, package: ModuleType | None) -> None:
        self.name = name
        self.package = package
        self.patience = 8.0
        self._work: tuple[torch.Tensor, ...] = ()

    @property
    def module(self) -> Any:
        """``torch.<name>``.

        Raises:
            Missing: If there is none.
        """
        module = getattr(torch, self.name, None)
        if module is None:
            raise Missing(f"there is no torch.{self.name}")
        return module

    @property
    def count(self) -> int:
        """The number of devices."""
        return torch.accelerator.device_count()

    @property
    def last(self) -> int:
        """The index of the last device: another than the current one, if there are several."""
        return max(self.count - 1, 0)

    def device(self, index: int = 0) -> torch.device:
        """A device."""
        return torch.device(self.name, index)

    def numbers(self, *shape: int, index: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
        """The same numbers on the CPU and on a device. They were made on the CPU."""
        generator = torch.Generator().manual_seed(sum(shape))
        here = torch.randn(*shape, generator=generator)
        return here, here.to(self.device(index))

    def long_work(self, times: int = 12) -> torch.Tensor:
        """Queues matrix products on the current stream, and waits for none of them.

        Nothing is freed before the next call: without a caching allocator, whoever frees memory waits for its work.
        """
        self._work = ()
        factor = _factor().to(self.device())
        product, free = torch.empty_like(factor), torch.empty_like(factor)
        torch.mm(factor, factor, out=product)
        for _ in range(times - 1):
            torch.mm(product, factor, out=free)
            product, free = free, product
        self._work = (factor, product, free)
        self._queue_copies()
        return product

    def _queue_copies(self) -> None:
        """Queues copies where products leave nothing to wait for: without that kernel the CPU multiplies."""
        with suppress(Exception):  # the backend has no streams yet, or no pinned memory
            if torch.accelerator.current_stream().query():
                source = torch.empty(COPIED, dtype=torch.uint8, pin_memory=True)
                target = torch.empty(COPIED, dtype=torch.uint8, device=self.device())
                for _ in range(COPIES):
                    target.copy_(source, non_blocking=True)
                self._work += (source, target)

    def long_work_here(self, times: int = 12) -> torch.Tensor:
        """What comes out of it, from the CPU."""
        return torch.linalg.matrix_power(_factor(), times + 1)

    def check(self, actual: torch.Tensor, expected: torch.Tensor, what: str) -> None:
        """Compares with the CPU's numbers.

        Raises:
            Wrong: If they differ by more than rounding.
        """
        got = actual.detach().cpu()
        if got.shape != expected.shape or got.dtype != expected.dtype:
            raise Wrong(
                f"{what}: {tuple(got.shape)} of {got.dtype}; on the CPU {tuple(expected.shape)} of {expected.dtype}"
            )
        if not torch.allclose(got.double(), expected.double(), rtol=1e-3, atol=1e-3, equal_nan=True):
            raise Wrong(f"{what}: other numbers than on the CPU")


@cache
def _factor() -> torch.Tensor:
    """A matrix whose powers neither grow nor shrink."""
    return torch.linalg.qr(torch.randn(SIZE, SIZE, generator=torch.Generator().manual_seed(1))).Q


def import_backend(name: str | None, package: str | None) -> Backend:
    """Imports what registers a device, unless that has happened.

    Args:
        name: The device's name; None for the one that PyTorch loads by itself, or else this guide's.
        package: The Python package; None for ``torch_<name>``, or what PyTorch loads by itself.

    Raises:
        Missing: If there is no such device afterwards.
    """
    registered = torch._C._get_privateuse1_backend_name
    found = importlib.util.find_spec(package or f"torch_{name or 'openreg'}")
    if package is None and registered() == UNNAMED and (name is None or found is None):
        torch._import_device_backends()
    name = name or (registered() if registered() != UNNAMED else "openreg")
    package = package or f"torch_{name}"
    try:
        module = importlib.import_module(package)
    except ModuleNotFoundError as error:
        if registered() != name:
            raise Missing(f"{error}; name the package with --module") from error
        module = None
    if registered() != name:
        raise Missing(f"{package} was imported, and the device from outside PyTorch's tree is called {registered()!r}")
    return Backend(name, module)


def timed(function: Any) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start
