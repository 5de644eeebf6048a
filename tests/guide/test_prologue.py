"""The backend in Python alone (examples/prologue): its numbers are the CPU's, and what the chapter says it can't do."""

from __future__ import annotations

import shlex
import sys
import textwrap

from .conftest import ROOT
from .test_extras import run

FOLDER = ROOT / "examples" / "prologue"
START = """
import mychip, torch
from torch import nn
def raises(error, text, call):
    try:
        call()
    except error as caught:
        assert text in str(caught), str(caught)
    else:
        raise AssertionError(f"no error; expected {text}")
x = torch.arange(6.0).reshape(2, 3).to("mychip")
"""
# Right after a backward, a thread of PyTorch's engine may still hold Python objects, and what ends the interpreter then
# ends the process with SIGABRT now and then. Nothing in Python can wait for it; chapter 04 does in C++.
END = """
import os
os._exit(0)
"""


def on_mychip(code: str) -> None:
    """Runs code in a process of its own: a process has one backend."""
    status, output = run(shlex.join([sys.executable, "-c", START + textwrap.dedent(code) + END]), FOLDER)
    assert status == 0, output


# One for each kernel.
EXPRESSIONS = {
    "detach": "a.detach()",
    "view": "a.view(3, 2)",
    "t": "a.t()",
    "expand": "c.expand(4, 3)",
    "ones_like": "torch.ones_like(a)",
    "add.Tensor": "torch.add(a, b, alpha=3) + 1",
    "sub.Tensor": "torch.sub(a, b, alpha=3) - 1",
    "mul.Tensor": "a * b * 2",
    "div.Scalar": "torch.ops.aten.div.Scalar(a, 3)",
    "pow.Tensor_Scalar": "a ** 3",
    "mm": "a.t() @ b",
    "addmm": "torch.addmm(c, a.t(), b, beta=2, alpha=3)",
    "sum.dim_IntList": "a.sum((0,), True)",
    "mean": "a.mean()",
    "relu": "a.relu()",
    "threshold_backward": "torch.ops.aten.threshold_backward(a, b, 0.1)",
    "leaky_relu": "nn.functional.leaky_relu(a, 0.2)",
    "leaky_relu_backward": "torch.ops.aten.leaky_relu_backward(a, b, 0.2, False)",
    "add_.Tensor": "a.add_(b, alpha=2)",
    "empty.memory_format": "torch.empty(2, device=device).shape",
    "empty_strided": "torch.empty_strided((2, 3), (1, 2), device=device).shape",
    "_copy_from": "a.copy_(b)",
}


def test_each_kernel_gives_the_numbers_and_the_type_of_the_cpu() -> None:
    on_mychip(f"""
        def on(device, expression):
            torch.manual_seed(0)
            a, b, c = (torch.randn(*size).to(device) for size in ((2, 3), (2, 3), (3,)))
            return eval(expression)
        expressions = {EXPRESSIONS!r}
        assert expressions.keys() == mychip.KERNELS.keys()
        for name, expression in expressions.items():
            ours, theirs = on("mychip", expression), on("cpu", expression)
            if isinstance(theirs, torch.Tensor):
                assert ours.device.type == "mychip" and (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), name
                ours = ours.cpu()
            torch.testing.assert_close(ours, theirs, msg=lambda text: f"{{name}}: {{text}}")
    """)


def test_it_adds_in_place_and_views_share_memory() -> None:
    on_mychip("""
        view = x.view(3, 2).t()
        x.add_(torch.ones(3).to("mychip"), alpha=2)
        assert view.cpu().tolist() == [[2.0, 4.0, 6.0], [3.0, 5.0, 7.0]]
    """)


def test_a_network_gets_the_gradients_of_the_cpu() -> None:
    on_mychip("""
        def gradients(device):
            torch.manual_seed(0)
            model = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(), nn.Linear(8, 1)).to(device)
            model(torch.arange(6.0).reshape(2, 3).to(device)).mean().backward()
            return [parameter.grad.cpu() for parameter in model.parameters()]
        torch.testing.assert_close(gradients("mychip"), gradients("cpu"))
    """)


def test_there_is_one_device_and_whoever_asks_for_another_gets_it_all_the_same() -> None:
    on_mychip("""
        assert torch.accelerator.device_count() == 1
        assert torch.ones(2).to("mychip:1").device == torch.device("mychip:0")
        torch.accelerator.set_device_index(1)
        assert torch.accelerator.current_device_index() == 0
    """)


def test_there_are_no_streams_and_no_times() -> None:
    on_mychip("""
        assert torch.Stream("mychip") == torch.Stream("mychip")
        raises(RuntimeError, "Backend doesn't support synchronizing all streams on device.",
               torch.accelerator.synchronize)
        start, end = (torch.Event("mychip", enable_timing=True) for _ in range(2))
        start.record(), end.record()
        assert end.query()
        raises(RuntimeError, "Backend doesn't support elapsedTime.", lambda: start.elapsed_time(end))
    """)


def test_nothing_runs_later_a_kernel_has_run_when_its_operator_returns() -> None:
    on_mychip("""
        done = []
        torch.library.impl("aten::abs", "PrivateUse1", lambda x: (done.append(1), mychip.wrap(abs(x.array)))[1])
        x.abs()
        assert done == [1]
    """)


def test_hooks_that_need_c_plus_plus_are_missing() -> None:
    on_mychip("""
        for entry, call in {
            "getPinnedMemoryAllocator": lambda: torch.ones(2).pin_memory(),
            "getNewGenerator": lambda: torch.Generator("mychip"),
            "resizePrivateUse1Bytes": lambda: x.untyped_storage().resize_(4),
        }.items():
            raises(NotImplementedError, f"implement `{entry}` at the same time for PrivateUse1.", call)
        raises(RuntimeError, "Allocator for mychip is not a DeviceAllocator.", torch.accelerator.memory_allocated)
    """)


def test_a_tensor_that_pytorch_copies_in_c_plus_plus_has_lost_its_numbers() -> None:
    on_mychip("""
        text = "'Tensor' object has no attribute 'array'"
        raises(AttributeError, text, lambda: x.data.cpu())
        w = torch.ones(3, 2).to("mychip").requires_grad_()
        raises(AttributeError, text, torch.relu(x @ w).mean().backward)
    """)


def test_c_plus_plus_finds_no_memory() -> None:
    on_mychip("""
        assert x.data_ptr() == 0 and x.untyped_storage().nbytes() == 0
    """)


def test_strides_are_not_those_of_the_numbers() -> None:
    on_mychip("""
        y = x.t()
        assert y.array.strides == (4, 12) and y.stride() == (2, 1) and y.is_contiguous()
        assert torch.arange(6.0).reshape(2, 3).t().stride() == (1, 3)
        raises(NotImplementedError, "Could not run 'aten::as_strided' with arguments from the 'mychip' backend.",
               lambda: x[0])
    """)


def test_an_operator_that_nobody_has_written_is_an_error() -> None:
    on_mychip("""
        raises(NotImplementedError, "Could not run 'aten::sin.out' with arguments from the 'mychip' backend.", x.sin)
    """)


def test_a_kernel_for_out_serves_all_forms_of_a_structured_operator() -> None:
    on_mychip("""
        import numpy
        def sin_out(x, *, out):
            numpy.sin(mychip.memory(x), out=mychip.memory(out))
            return out
        torch.library.impl("aten::sin.out", "PrivateUse1", sin_out)
        expected = torch.arange(6.0).reshape(2, 3).sin()
        out = torch.empty(2, 3, device="mychip")
        torch.testing.assert_close(x.sin().cpu(), expected)
        torch.testing.assert_close(torch.sin(x, out=out).cpu(), expected)
        torch.testing.assert_close(x.sin_().cpu(), expected)
    """)


def test_a_parameter_needs_a_class_of_our_own() -> None:
    on_mychip("""
        mychip.ChipTensor = torch.Tensor
        text = ("Creating a new Tensor subclass Parameter but the raw Tensor object is already associated to a python "
                "object of type Tensor")
        raises(RuntimeError, text, lambda: nn.Parameter(torch.ones(2).to("mychip")))
    """)


def test_a_process_has_one_backend() -> None:
    on_mychip("""
        raises(RuntimeError, "torch.register_privateuse1_backend() has already been set",
               lambda: torch.utils.rename_privateuse1_backend("another"))
    """)


def test_it_has_eighty_lines() -> None:
    lines = (FOLDER / "mychip.py").read_text().splitlines()
    assert sum(bool(line.strip()) and not line.startswith("# LITERAL") for line in lines) <= 80
