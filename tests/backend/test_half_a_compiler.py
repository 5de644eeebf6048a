"""torch.compile on a backend that has only a part of what it needs: what it says then, as the chapter quotes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch_openreg  # noqa: F401
from torch import nn

from .compile_checks import compiled

pytestmark = [pytest.mark.kernels, pytest.mark.timeout(300)]  # a busy machine compiles for minutes

Patch = Callable[[pytest.MonkeyPatch], None]


@pytest.fixture(autouse=True)
def _without_caches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compiles anew, and forgets what half a backend has compiled."""
    import torch_openreg.inductor  # noqa: F401 - registers what is taken away below

    with torch._inductor.config.patch(force_disable_caches=True):
        yield
    torch._dynamo.reset()


def no_backend(patch: pytest.MonkeyPatch) -> None:
    """The pieces of Python are registered, and what compiles is not."""
    from torch._inductor.codegen import common

    patch.setattr(
        common, "device_codegens", {it: made for it, made in common.device_codegens.items() if it != "openreg"}
    )


def no_capability(patch: pytest.MonkeyPatch) -> None:
    """The interface lacks what PyTorch's own leaves to be written."""
    from torch._inductor.runtime.hints import DeviceProperties
    from torch_openreg.inductor.interface import Interface

    patch.delattr(Interface, "get_compute_capability")
    DeviceProperties.create.cache_clear()


def not_as_a_cpu(patch: pytest.MonkeyPatch) -> None:
    """The generator of C++ runs while the device is current."""
    from torch._inductor.codegen.cpp import CppScheduling
    from torch_openreg.inductor import Scheduling

    patch.setattr(Scheduling, "codegen_node", CppScheduling.codegen_node)


def loops_rewritten(patch: pytest.MonkeyPatch) -> None:
    """The scheduler rewrites loops as for Triton."""
    from torch._inductor.codegen.cpp import CppScheduling
    from torch_openreg.inductor import Scheduling

    patch.setattr(Scheduling, "__init__", CppScheduling.__init__)


def no_guard(patch: pytest.MonkeyPatch) -> None:
    """The device is not one of those that need a guard."""
    import torch_openreg.inductor as ours
    from torch._inductor import scheduler

    patch.setattr(scheduler, "device_need_guard", ours._needs_guard)


def called_a_gpu(patch: pytest.MonkeyPatch) -> None:
    """The device stands in Inductor's list of GPUs."""
    from torch._inductor import utils

    patch.setattr(utils, "GPU_TYPES", [*utils.GPU_TYPES, "openreg"])


def called_as_a_device(patch: pytest.MonkeyPatch) -> None:
    """The call of a kernel is written for the device that it is on."""
    from torch_openreg.inductor.kernel import Kernel

    def call_kernel(self: Kernel, wrapper: Any, name: str) -> None:
        _, arguments, types = self.args.cpp_argdefs()
        wrapper.generate_kernel_call(name, arguments, triton=False, arg_types=types)

    patch.setattr(Kernel, "call_kernel", call_kernel)


def fused_without_limit(patch: pytest.MonkeyPatch) -> None:
    """Nobody counts the tensors of a kernel."""
    from torch_openreg.inductor import scheduling

    patch.setattr(scheduling, "_fit", lambda *nodes: True)


def on_a_stream(x: torch.Tensor) -> torch.Tensor:
    """Enters a stream inside the graph."""
    with torch.Stream("openreg"):
        return x + 1


def sum_of_all(*xs: torch.Tensor) -> torch.Tensor:
    """The sum of many tensors."""
    return sum(x.relu() for x in xs)


ONE = torch.ones(8, 8)
MANY = [torch.ones(64)] * 100
# What a backend lacks, the function, its arguments, on which device; and what comes of it.
CASES: list[tuple[Patch, Callable[..., Any], list[torch.Tensor], str, str]] = [
    (
        no_backend,
        lambda x: x.relu().sum(),
        [ONE],
        "openreg:0",
        "LoweringException: AssertionError: \n  target: aten.sum.default"
        "|AssertionError: no scheduling registered for device openreg\n  target: aten.sum.default",
    ),
    (
        no_capability,
        lambda x: x.relu().sum(),
        [ONE],
        "openreg:0",
        "LoweringException: NotImplementedError: \n  target: aten.sum.default",
    ),
    (
        not_as_a_cpu,
        lambda x: nn.functional.pad(x, (1, 1)),
        [ONE],
        "openreg:0",
        r"AttributeError: 'str' object has no attribute 'dtype'",
    ),
    (
        loops_rewritten,
        lambda x: torch.softmax(x, -1),
        [ONE],
        "openreg:0",
        r"TypeError: can't multiply sequence by non-int of type 'tuple'",
    ),
    (
        no_guard,
        lambda x: x.relu() + 1,
        [ONE],
        "openreg:1",
        r"kernel 'openreg_fused_add_relu_0': argument 1 is a tensor on openreg:0; those before it are on device 1",
    ),
    (no_guard, on_a_stream, [ONE], "openreg:0", r"name 'stream\d+' is not defined"),
    (
        called_a_gpu,
        lambda x: x.relu() + 1,
        [ONE],
        "openreg:0",
        r"TritonMissing: Cannot find a working triton installation.",
    ),
    (called_as_a_device, lambda x: x.relu() + 1, [ONE], "openreg:0", r"RuntimeError: device openreg nyi"),
    (
        fused_without_limit,
        sum_of_all,
        MANY,
        "openreg:0",
        r"kernel 'openreg_fused_add_relu_0' was given more than 64 tensors",
    ),
]


@pytest.mark.parametrize(
    ("patch", "function", "arguments", "device", "says"), CASES, ids=[f"{case[0].__name__} {case[3]}" for case in CASES]
)
def test_what_is_missing_shows_by_its_error(
    monkeypatch: pytest.MonkeyPatch,
    patch: Patch,
    function: Callable[..., Any],
    arguments: list[torch.Tensor],
    device: str,
    says: str,
) -> None:
    patch(monkeypatch)
    with pytest.raises(Exception, match=says):
        compiled(function, fullgraph=True)(*[it.to(device) for it in arguments])


def test_the_backends_own_stream_context_cannot_be_in_a_whole_graph() -> None:
    def own(x: torch.Tensor) -> torch.Tensor:
        with torch.openreg.stream(torch.openreg.current_stream()):
            return x + 1

    with pytest.raises(torch._dynamo.exc.Unsupported, match=r"^Attempted to call function marked as skipped"):
        compiled(own, fullgraph=True)(torch.ones(4, device="openreg"))
