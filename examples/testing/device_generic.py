"""Tests in the form of PyTorch's own, which are written for any device, instantiated for this one.

python examples/testing/device_generic.py            all of them
python examples/testing/device_generic.py -k sin     those with "sin" in their names
"""

from typing import Any

import torch
import torch_openreg  # noqa: F401 (before the next import, which looks once which devices there are)
from torch.testing._internal.common_device_type import (
    OpDTypes,
    dtypes,
    instantiate_device_type_tests,
    ops,
    precisionOverride,
)
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_utils import TestCase, run_tests
from torch.testing._internal.opinfo.core import OpInfo, SampleInput
from torch.utils._pytree import tree_map

CHOSEN = [op for op in op_db if op.name in ("add", "sin", "sum", "sort", "nn.functional.conv2d", "linalg.qr")]


def call(op: OpInfo, sample: SampleInput, *, on_cpu: bool = False) -> Any:
    """The results of an operator for a sample, or for the same sample on the CPU."""
    parts = (sample.input, sample.args, sample.kwargs)
    if on_cpu:
        parts = tree_map(lambda it: it.cpu() if isinstance(it, torch.Tensor) else it, parts)
    first, args, kwargs = parts
    return op(first, *args, **kwargs)


class TestOperators(TestCase):
    """The device, and what a decorator says, come as parameters."""

    @dtypes(torch.float32, torch.bfloat16, torch.int64)
    def test_a_row_is_added_to_each_row(self, device: str, dtype: torch.dtype) -> None:
        x = torch.arange(6, device=device).to(dtype).view(2, 3)
        self.assertEqual((x + x[0]).cpu(), x.cpu() + x[0].cpu())

    @precisionOverride({torch.float32: 1e-4})  # sums of products, in another order
    @ops(CHOSEN, dtypes=OpDTypes.any_one)
    def test_an_operator_computes_what_the_cpu_computes(self, device: str, dtype: torch.dtype, op: OpInfo) -> None:
        for sample in op.sample_inputs(device, dtype):
            self.assertEqual(call(op, sample), call(op, sample, on_cpu=True), exact_device=False)

    @ops([op for op in CHOSEN if op.error_inputs_func is not None], dtypes=OpDTypes.none)
    def test_wrong_arguments_are_refused_in_pytorchs_words(self, device: str, op: OpInfo) -> None:
        for wrong in op.error_inputs(device):
            with self.assertRaisesRegex(wrong.error_type, wrong.error_regex):
                call(op, wrong.sample_input)


instantiate_device_type_tests(TestOperators, globals(), only_for="privateuse1")

if __name__ == "__main__":
    run_tests()
