"""Random numbers: the default generator of each device, its seed and its state.

A generator lives on the host. Nothing here initialises a device, waits for one, or changes what has been queued.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import torch

from torch_openreg import _C

from .device import _device_index, device_count

__all__ = [
    "default_generators",
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


# LITERALINCLUDE START: DEFAULT GENERATORS PYTHON
class _DefaultGenerators(Sequence[torch.Generator]):
    """The default generators, by device index; each is made when it is first asked for."""

    def __len__(self) -> int:
        return device_count()

    @overload
    def __getitem__(self, index: int) -> torch.Generator: ...
    @overload
    def __getitem__(self, index: slice) -> list[torch.Generator]: ...

    def __getitem__(self, index: int | slice) -> torch.Generator | list[torch.Generator]:
        if isinstance(index, slice):
            return [_C._default_generator(one) for one in range(len(self))[index]]
        return _C._default_generator(range(len(self))[index])

    def __repr__(self) -> str:
        return repr(tuple(self))


default_generators = _DefaultGenerators()
# LITERALINCLUDE END: DEFAULT GENERATORS PYTHON


def manual_seed(seed: int) -> None:
    """Seeds the default generator of the current device.

    Args:
        seed: Any integer of 64 bits, with or without sign.
    """
    default_generators[_device_index(None, "manual_seed")].manual_seed(seed)


# LITERALINCLUDE START: MANUAL SEED ALL
def manual_seed_all(seed: int) -> None:
    """Seeds the default generators of all devices. :func:`torch.manual_seed` calls it; no device is initialised.

    Args:
        seed: Any integer of 64 bits, with or without sign.
    """
    for generator in default_generators:
        generator.manual_seed(seed)


# LITERALINCLUDE END: MANUAL SEED ALL


def seed() -> None:
    """Seeds the default generator of the current device with an unpredictable number."""
    default_generators[_device_index(None, "seed")].seed()


def seed_all() -> None:
    """Seeds the default generators of all devices with one unpredictable number."""
    if default_generators:
        manual_seed_all(default_generators[0].seed())


def initial_seed() -> int:
    """The seed of the current device's default generator."""
    return default_generators[_device_index(None, "initial_seed")].initial_seed()


# LITERALINCLUDE START: RNG STATE
def get_rng_state(device: torch.device | str | int | None = None) -> torch.Tensor:
    """State of a device's default generator: seed and offset. Checkpointing and ``fork_rng`` ask for it.

    Args:
        device: Which one; the current device if None.

    Returns:
        16 bytes, on the CPU.
    """
    return default_generators[_device_index(device, "get_rng_state")].get_state()


def set_rng_state(new_state: torch.Tensor, device: torch.device | str | int | None = None) -> None:
    """Puts a state of :func:`get_rng_state` back. It may come from another device.

    Args:
        new_state: The state.
        device: Which device; the current one if None.

    Raises:
        RuntimeError: If it is not such a state.
        TypeError: If it is not a tensor of bytes on the CPU.
    """
    default_generators[_device_index(device, "set_rng_state")].set_state(new_state)


# LITERALINCLUDE END: RNG STATE


def get_rng_state_all() -> list[torch.Tensor]:
    """States of all devices' default generators, by device index."""
    return [generator.get_state() for generator in default_generators]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Puts the states of :func:`get_rng_state_all` back.

    Args:
        new_states: A state for each device, from device 0 on.

    Raises:
        RuntimeError: If one is not such a state.
        ValueError: If there are not as many as devices.
    """
    states = list(new_states)
    if len(states) != len(default_generators):
        raise ValueError(
            f"set_rng_state_all: argument 'new_states' has {len(states)} states; expected {len(default_generators)}, "
            "one for each device"
        )
    for generator, state in zip(default_generators, states, strict=True):
        generator.set_state(state)
