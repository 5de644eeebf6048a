"""torch.compile with operators of one's own, with the fallback, with export; and what it refuses."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401
from torch import nn

from .compile_checks import Source, close, compiled, error, kernels_of, numbers, on
from .conftest import ProgramFunction
from .test_custom_ops import composed

pytestmark = [pytest.mark.kernels, pytest.mark.timeout(300)]  # a busy machine compiles for minutes


# --------------------------------------------------------------------------------------------- operators of one's own


def test_an_operator_from_c_plus_plus_is_one_node_between_fused_kernels() -> None:
    def function(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return torch.ops.openreg.rms_norm(x.relu() + 1, weight, 1e-5) * 2

    def exactly(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        return composed(x.relu() + 1, weight) * 2

    x, weight = numbers(30, 40), numbers(40)
    there = [it.to("openreg").requires_grad_() for it in (x, weight)]
    here = [it.double().requires_grad_() for it in (x, weight)]
    run = compiled(function, fullgraph=True)
    with torch.openreg.no_fallback():
        result = run(*there)
        result.square().sum().backward()
    exactly(*here).square().sum().backward()
    assert error(result.detach(), exactly(*here).detach()) < 1e-5
    for mine, theirs in zip(there, here, strict=True):
        assert mine.grad is not None and theirs.grad is not None
        assert error(mine.grad, theirs.grad) < 1e-5
    with torch.no_grad():
        plain = on("openreg", (x, weight))
        run(*plain)
        names = kernels_of(lambda: run(*plain))
    assert len(names) == 3 and names[0].startswith("openreg_fused_") and names[2].startswith("openreg_fused_")
    assert "rms_norm" in names[1] and not names[1].startswith("openreg_fused_")


@pytest.fixture
def doubled() -> Iterator[Callable[[torch.Tensor], torch.Tensor]]:
    """An operator from Python."""

    @torch.library.custom_op("compile_tests::doubled", mutates_args=())
    def operator(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    operator.register_fake(torch.empty_like)
    operator.register_autograd(lambda context, grad: grad * 2)
    yield operator
    operator._lib._destroy()


def test_an_operator_from_python_is_one_node(doubled: Callable[[torch.Tensor], torch.Tensor]) -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return doubled(x.relu() + 1) - 3

    x = numbers(64)
    source = Source(function, x.to("openreg"))
    assert "torch.ops.compile_tests.doubled.default(" in source.text
    close(source.result, (x.relu() + 1) * 2 - 3)
    there = x.to("openreg").requires_grad_()
    compiled(function, fullgraph=True)(there).sum().backward()
    assert there.grad is not None and torch.equal(there.grad.cpu(), 2.0 * (x > 0))


def test_what_is_left_to_the_cpu_is_counted_as_in_eager_and_can_be_refused() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.inv(x + 1) * 2

    x = (torch.eye(5) + numbers(5, 5).abs() / 10).to("openreg")
    torch.openreg.reset_fallbacks()
    eager = function(x)
    counts = torch.openreg.fallbacks()
    torch.openreg.reset_fallbacks()
    run = compiled(function, fullgraph=True)
    close(run(x), eager.cpu(), 1e-5)
    assert torch.openreg.fallbacks() == counts != {}
    torch.openreg.reset_fallbacks()
    with torch.openreg.no_fallback(), pytest.raises(RuntimeError, match="linalg_inv"):
        run(x)


def test_an_operator_that_cannot_be_traced_is_named() -> None:
    library = torch.library.Library("compile_tests", "FRAGMENT")
    try:
        library.define("opaque(Tensor x) -> Tensor")
        library.impl("opaque", lambda x: x.clone(), "PrivateUse1")
        x = torch.ones(3, device="openreg")
        with pytest.raises(torch._dynamo.exc.Unsupported, match=r"operator: compile_tests\.opaque\.default"):
            compiled(lambda x: torch.ops.compile_tests.opaque(x) + 1, fullgraph=True)(x)
    finally:
        library._destroy()


# -------------------------------------------------------------------------------------------------------------- export


class Network(nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 16), nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x))).softmax(-1)


def test_what_was_exported_is_saved_loaded_run_and_compiled(device: str) -> None:
    torch.manual_seed(0)
    network = Network()
    x, other = numbers(2, 8), numbers(7, 8)
    expected = network(other).detach()
    rows = torch.export.Dim("rows")
    exported = torch.export.export(network.to(device), (x.to(device),), dynamic_shapes=({0: rows},))
    file = io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    loaded = torch.export.load(file).module()
    with torch.no_grad(), torch.openreg.no_fallback():
        for run in (exported.module(), loaded, compiled(loaded)):
            result = run(other.to(device))
            assert str(result.device) == device
            close(result, expected, 1e-5)


def test_ahead_of_time_compilation_says_that_it_does_not_know_the_device(
    program: ProgramFunction, tmp_path: Path
) -> None:
    # In a process of its own: PyTorch keeps what it has exported for a compilation, and so the device's memory.
    said = program(
        f"""
        network = torch.nn.Linear(8, 16).to("openreg")
        exported = torch.export.export(network, (torch.ones(2, 8, device="openreg"),))
        try:
            torch._inductor.aoti_compile_and_package(exported, package_path={str(tmp_path / "network.pt2")!r})
        except Exception as error:
            print(error)
        """,
        timeout=300,
    )
    assert "AssertionError: Device openreg not supported" in said


def test_a_wrapper_in_c_plus_plus_says_that_it_does_not_know_the_device() -> None:
    with (
        torch._inductor.config.patch(cpp_wrapper=True),
        pytest.raises(torch._inductor.exc.InductorError, match=r"^AssertionError: Device openreg not supported"),
    ):
        compiled(lambda x: torch.relu(x) + 5)(torch.ones(50, device="openreg"))
