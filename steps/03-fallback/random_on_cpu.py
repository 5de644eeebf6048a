"""Random numbers. The device has no generator yet: its random operators run on the CPU and draw from the CPU's."""

from __future__ import annotations

import torch

from .device import _device_index

__all__ = ["get_rng_state", "manual_seed_all", "set_rng_state"]


# LITERALINCLUDE START: RANDOM FALLBACK
def manual_seed_all(seed: int) -> None:
    """Called by :func:`torch.manual_seed`, which has just seeded the generator that this device draws from.

    Args:
        seed: Ignored for that reason.
    """


def get_rng_state(device: torch.device | str | int | None = None) -> torch.Tensor:
    """State of the generator that a device draws from: the CPU's. Checkpointing and ``fork_rng`` ask for it.

    Args:
        device: Which one; the current device if None.
    """
    _device_index(device, "get_rng_state")
    return torch.get_rng_state()


def set_rng_state(new_state: torch.Tensor, device: torch.device | str | int | None = None) -> None:
    """Puts a state of :func:`get_rng_state` back.

    Args:
        new_state: The state.
        device: Which device; the current one if None.
    """
    _device_index(device, "set_rng_state")
    torch.set_rng_state(new_state)


# LITERALINCLUDE END: RANDOM FALLBACK
