"""How a variance is computed. Inductor asks the device by name, and takes one that it does not know for Triton's."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from functools import wraps

import sympy
import torch
from torch._inductor import config, ir, lowering
from torch._inductor.utils import sympy_product

from torch_openreg._name import NAME

# LITERALINCLUDE START: COMPILED VARIANCE
# Of so many numbers, the mean first and then the squares are faster than Welford's algorithm, and closer to the exact
# variance, whatever the mean. Of many more, the mean is not exact enough.
MOST_OF_TWO_STEPS = 65536

_takes_two_steps, _create = lowering.use_two_step_variance, ir.WelfordReduction.create


@wraps(_takes_two_steps)
def _use_two_step_variance(x: ir.TensorBox, axis: Sequence[int], keepdim: bool, input_dtype: torch.dtype) -> bool:
    """Whether the mean comes first and then the squares."""
    if x.get_device().type != NAME:
        return _takes_two_steps(x, axis, keepdim, input_dtype)
    sizes = x.get_size()
    count = sympy_product(sizes[it] for it in lowering._validate_reduction_axis(x, axis))
    return isinstance(count, sympy.Integer) and int(count) <= MOST_OF_TWO_STEPS


@wraps(_create)
def _create_whole(device: torch.device, *args: object, **kwargs: object) -> Sequence[ir.TensorBox]:
    """Makes a reduction by Welford's algorithm, in one piece: the generator of C++ cannot join the parts of a split."""
    with config.patch(split_reductions=False) if device.type == NAME else nullcontext():
        return _create(device, *args, **kwargs)


lowering.use_two_step_variance = _use_two_step_variance
ir.WelfordReduction.create = staticmethod(_create_whole)
# LITERALINCLUDE END: COMPILED VARIANCE
