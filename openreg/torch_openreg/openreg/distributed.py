"""The c10d backend ``occl``: what ``torch.distributed`` does with tensors of this device.

Importing this is all: ``init_process_group()`` finds the backend by the device, and so does
``init_process_group("cpu:gloo,openreg:occl")``, which carries tensors of the CPU as well.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from torch_openreg import _C
from torch_openreg._name import NAME

__all__ = ["collective_transport"]


# LITERALINCLUDE START: REGISTER BACKEND
def _create(options: Any, own: Any) -> Any:
    """Makes the backend of one process group. ``options`` is torch.distributed's, ``own`` what the caller has given."""
    own = own or _C.ProcessGroupOCCL.Options()
    own._timeout = options.timeout
    own.group_name = options.group_id
    own.global_ranks_in_group = options.global_ranks_in_group
    return _C.ProcessGroupOCCL(options.store, options.group_rank, options.group_size, own)


if dist.is_available():
    dist.Backend.register_backend("occl", _create, extended_api=True, devices=[NAME])
# LITERALINCLUDE END: REGISTER BACKEND


def collective_transport(group: Any = None) -> tuple[str, str]:
    """Tell which way the collectives of a group go. Does not block.

    Args:
        group: A process group of this process; None: the default one.

    Returns:
        "direct" and an empty text, or "staged" and why not directly.
    """
    backend = (group or dist.group.WORLD)._get_backend(torch.device(NAME))
    return backend.transport, backend.transport_reason
