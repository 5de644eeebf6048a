"""How this device serves PyTorch's operators, read from the dispatcher's own tables."""

from __future__ import annotations

import re

import torch

__all__ = ["operator_coverage"]

# Keys whose kernels PyTorch has for every backend, in the order in which it looks when a backend has none of its own.
_COMPOSITE_KEYS = (
    "CompositeExplicitAutogradNonFunctional",
    "CompositeExplicitAutograd",
    "CompositeImplicitAutograd",
)
# Some kernels are registered for this device only to do on the CPU what the general fallback cannot.
_ON_THE_CPU = re.compile(r"^PrivateUse1: registered at \S*/csrc/fallback/", re.MULTILINE)


def _how(operator: str) -> str:
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    if has_kernel(operator, "PrivateUse1"):
        return "fallback" if _ON_THE_CPU.search(torch._C._dispatch_dump(operator)) else "native"
    if any(has_kernel(operator, key) for key in _COMPOSITE_KEYS):
        return "composite"
    return "fallback" if has_kernel(operator, "CPU") else "none"


def operator_coverage(namespace: str = "aten") -> dict[str, str]:
    """How each operator of a namespace is served on this device, as the dispatcher would find it now.

    Args:
        namespace: Whose operators.

    Returns:
        Name with overload, such as ``"aten::add.Tensor"`` -> ``"native"`` (a kernel of this backend), ``"composite"``
        (PyTorch's own kernel for all backends, which calls other operators), ``"fallback"`` (the CPU's kernel, see
        :func:`torch.openreg.fallbacks`) or ``"none"`` (no kernel for this device's tensors, nor for the CPU's).

    Raises:
        ValueError: If no operator has that namespace.
    """
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith(f"{namespace}::")]
    if not names:
        raise ValueError(f"operator_coverage: argument 'namespace' is {namespace!r}, and no operator is in it")
    return {name: _how(name) for name in sorted(names)}
