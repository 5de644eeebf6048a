"""All samples and all wrong inputs of PyTorch's operator database for native operators, on openreg and on the CPU."""

from __future__ import annotations

import os
import warnings
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import ErrorInput, OpInfo, SampleInput
from torch.utils._pytree import tree_map

from .opinfo_worker import DEVICE, Difference, all_samples, compare, entry_name, run, tensors_of, tolerance

# Entries whose operators are native: for every sample, forward and backward, nothing may fall back to the CPU but the
# operators named here.
NATIVE: dict[str, set[str]] = {
    "add": set(),
    "sub": set(),
    "neg": set(),
    "mul": set(),
    "div.no_rounding_mode": set(),
    "true_divide": set(),
    "eq": set(),
    "argmax": set(),
    "sum": {"aten::zeros.out"},
    "mean": set(),
    "mm": set(),
    "addmm": set(),
    "bmm": set(),
    "baddbmm": set(),
    "nn.functional.relu": set(),
    "nn.functional.threshold": set(),
    "log_softmax": set(),
    "log_softmax.with_dtype": set(),
    "nn.functional.mse_loss": set(),
    "nn.functional.nll_loss": {"aten::nll_loss2d_forward", "aten::nll_loss2d_backward"},
    "fill": set(),
    "zero_": set(),
}
# Where large products cancel out, and what is left of them is smaller than what the type can tell apart.
LIMITS = {"baddbmm": {torch.complex64: {"rtol": 1e-5, "atol": 2e-4}}}
ENTRIES = {entry_name(op): op for op in op_db}

# One type of each kind; all of them if asked.
SOME = (torch.bool, torch.uint8, torch.int64, torch.float16, torch.float32, torch.complex64)
HALVES = (torch.float16, torch.bfloat16)


def types(op: OpInfo) -> list[torch.dtype]:
    """The types to run an entry with."""
    supported = op.supported_dtypes("cpu")
    chosen = supported if os.environ.get("OPENREG_TEST_ALL") else supported & set(SOME)
    return sorted(chosen, key=str)


def exact(sample: SampleInput) -> SampleInput:
    """The sample with halves as doubles."""

    def widen(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.dtype in HALVES:
            return leaf.detach().double().requires_grad_(leaf.requires_grad)
        return leaf

    first, args, kwargs = tree_map(widen, (sample.input, sample.args, sample.kwargs))
    return SampleInput(first, args=args, kwargs=kwargs, output_process_fn_grad=sample.output_process_fn_grad)


def narrow(value: Any, dtype: torch.dtype) -> Any:
    """Results with doubles as halves again."""
    return tree_map(
        lambda leaf: leaf.to(dtype) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() else leaf, value
    )


def check(op: OpInfo, dtype: torch.dtype, cpu: SampleInput, device: SampleInput) -> None:
    """Runs a sample on both, forward and backward, and compares."""
    actual, actual_grads = run(op, device)
    expected, expected_grads = run(op, cpu)
    limits = LIMITS.get(entry_name(op), {}).get(dtype) or tolerance(op, dtype)
    try:
        compare("result", expected, actual, True, limits)
        compare("gradient", expected_grads, actual_grads, True, limits)
    except Difference:
        if dtype not in HALVES:
            raise
        # The CPU rounds intermediate results to halves. Then ours must be as good as exact ones that are rounded once.
        exact_result, exact_grads = run(op, exact(cpu))
        limits = {"rtol": 1e-2, "atol": 1e-2}
        compare("result", narrow(exact_result, dtype), actual, True, limits)
        compare("gradient", narrow(exact_grads, dtype), actual_grads, True, limits)


@pytest.mark.parametrize("entry", NATIVE)
def test_every_sample_equals_the_cpus(entry: str) -> None:
    op = ENTRIES[entry]
    assert types(op)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in types(op):
            for number, (cpu, device) in enumerate(all_samples(op, dtype)):
                torch.openreg.reset_fallbacks()
                try:
                    check(op, dtype, cpu, device)
                except Exception as error:
                    raise AssertionError(f"{entry}, {dtype}, sample {number}: {cpu}") from error
                assert set(torch.openreg.fallbacks()) <= NATIVE[entry], f"{dtype}, sample {number}: {cpu}"


def raised(op: OpInfo, sample: SampleInput) -> Exception | None:
    """What an operator raises, if anything."""
    try:
        results = op(sample.input, *sample.args, **sample.kwargs)
        for tensor in tensors_of(results):
            tensor.cpu()
    except Exception as error:
        return error
    return None


WITH_ERRORS = [entry for entry in NATIVE if ENTRIES[entry].error_inputs_func]


@pytest.mark.parametrize("entry", WITH_ERRORS)
def test_every_wrong_input_is_the_cpus_error(entry: str) -> None:
    op = ENTRIES[entry]

    def inputs(device: str) -> list[ErrorInput]:
        torch.manual_seed(0)
        return list(op.error_inputs(device))

    for cpu, device in zip(inputs("cpu"), inputs(str(DEVICE)), strict=True):
        expected, actual = raised(op, cpu.sample_input), raised(op, device.sample_input)
        assert type(actual) is type(expected), f"{cpu.sample_input}: {expected!r} on the CPU, here {actual!r}"
