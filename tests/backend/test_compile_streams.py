"""torch.compile: kernels are queued on the current stream, streams and events inside graphs, captures, threads."""

from __future__ import annotations

import threading

import pytest
import torch
import torch_openreg  # noqa: F401
from contract.harness import Call

from .compile_checks import close, compiled, numbers
from .conftest import GateFunction

pytestmark = [pytest.mark.kernels, pytest.mark.timeout(300)]  # a busy machine compiles for minutes


def double_relu(x: torch.Tensor) -> torch.Tensor:
    """What most tests of this file compile."""
    return torch.relu(x) * 2 + 1


def test_a_call_queues_its_kernels_and_does_not_wait(device: str, gate: GateFunction) -> None:
    run, x, index = compiled(double_relu), torch.ones(1 << 16, device=device), int(device[-1])
    run(x)
    closed = gate(index)
    y = run(x)
    stream = torch.openreg.default_stream(index)
    assert not stream.query()
    closed.open()
    assert y.eq(3).all().item() and stream.query()


def test_compiling_waits_for_no_work_either(gate: GateFunction) -> None:
    x = torch.ones(300, device="openreg")
    closed = gate(0)
    y = compiled(lambda x: (double_relu(x).sum(), torch.rand_like(x)))(x)
    assert closed.waiting == 1 and not torch.openreg.default_stream(0).query()
    closed.open()
    assert y[0].item() == 900


def test_work_goes_to_the_side_stream_that_is_current(device: str, gate: GateFunction) -> None:
    run, x, index = compiled(double_relu), torch.ones(100, device=device), int(device[-1])
    run(x)
    torch.openreg.synchronize(device)
    side = torch.openreg.Stream(device)
    gate(index)
    with torch.openreg.stream(side):
        y = run(x)
    side.synchronize()  # although the default stream stands
    with torch.openreg.stream(side):
        assert y.tolist() == [3.0] * 100


def test_a_side_stream_that_stands_holds_its_work_back_and_nobody_elses(gate: GateFunction) -> None:
    run, x = compiled(double_relu), torch.ones(100, device="openreg")
    run(x)
    side = torch.openreg.Stream()
    closed = gate(side)
    with side:
        y = run(x)
        assert not side.query()
    z = run(x + 1)
    torch.openreg.default_stream(0).synchronize()
    assert z.tolist() == [5.0] * 100 and closed.waiting == 1
    closed.open()
    side.synchronize()
    assert y.tolist() == [3.0] * 100


def test_streams_and_events_inside_a_whole_graph_order_its_kernels(gate: GateFunction) -> None:
    side = torch.Stream("openreg")

    def fork_and_join(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        event, joined = torch.Event("openreg"), torch.Event("openreg")
        event.record()
        with side:
            event.wait()
            z = y + 1
            joined.record()
        joined.wait()
        return z * 3

    x = torch.ones(100, device="openreg")
    run = compiled(fork_and_join, fullgraph=True)
    assert run(x).tolist() == [9.0] * 100
    closed = gate(side)  # what comes behind it waits, on both streams
    y = run(x)
    assert not torch.openreg.default_stream(0).query()
    closed.open()
    assert y.tolist() == [9.0] * 100


def test_the_backends_own_stream_context_inside_breaks_the_graph_and_is_right(gate: GateFunction) -> None:
    side = torch.openreg.Stream()

    def on_side(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        side.wait_stream(torch.openreg.current_stream())
        with torch.openreg.stream(side):
            z = y + 1
        torch.openreg.current_stream().wait_stream(side)
        return z * 3

    x = torch.ones(100, device="openreg")
    run = compiled(on_side)
    assert run(x).tolist() == [9.0] * 100
    closed = gate(side)
    y = run(x)
    assert not torch.openreg.default_stream(0).query()
    closed.open()
    assert y.tolist() == [9.0] * 100
    with pytest.raises(torch._dynamo.exc.Unsupported):
        compiled(on_side, fullgraph=True)(x)


def test_a_backward_pass_runs_on_the_stream_of_its_forward_pass(gate: GateFunction) -> None:
    run, x = compiled(lambda x: (x.sin() * x).sum()), torch.ones(100, device="openreg", requires_grad=True)
    run(x).backward()
    torch.openreg.synchronize()
    side = torch.openreg.Stream()
    gate(0)
    with side:
        x = torch.full((100,), 2.0, device="openreg", requires_grad=True)
        run(x).backward()
        assert x.grad is not None
        torch.testing.assert_close(x.grad.cpu(), torch.full((100,), 2.0).cos() * 2 + torch.tensor(2.0).sin())


def test_a_captured_call_replays_with_what_its_input_holds_by_then(device: str) -> None:
    run = compiled(lambda x, w: torch.softmax(x @ w, -1).sum(0) + torch.rand(8, device=x.device) * 0)
    x, w = numbers(16, 32).to(device), numbers(32, 8).to(device)
    run(x, w)  # compiles, and loads the modules
    with torch.openreg.Stream(device):
        graph = torch.accelerator.Graph()
        with graph:
            y = run(x, w)
        for seed in range(3):
            given = numbers(16, 32, seed=seed)
            x.copy_(given)
            graph.replay()
            close(y, torch.softmax(given @ w.cpu(), -1).sum(0), 1e-5)


def test_a_captured_training_step_replays_with_other_random_numbers() -> None:
    def step(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x * w, 0.5).sum(0)

    run = compiled(step)
    x, w = torch.ones(300, 8, device="openreg"), torch.ones(8, device="openreg", requires_grad=True)
    run(x, w).sum().backward()
    w.grad = None
    with torch.openreg.Stream():
        graph = torch.accelerator.Graph()
        with graph:
            y = run(x, w)
            y.sum().backward()
        seen = set()
        for _ in range(3):
            graph.replay()
            assert w.grad is not None
            assert torch.equal(y, w.grad)  # the same places are dropped forward and backward
            seen.add(tuple(y.tolist()))
            w.grad.zero_()
    assert len(seen) == 3


def test_a_thread_compiles_forward_and_backward() -> None:
    def work() -> None:
        network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.GELU())
        x, exact = numbers(4, 8), network
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.copy_(numbers(*parameter.shape))
        expected = exact(x).sum()
        expected.backward()
        grads = [it.grad for it in network.parameters()]
        network.zero_grad()
        network.to("openreg")
        y = compiled(network)(x.to("openreg")).sum()
        y.backward()
        close([y, *(it.grad for it in network.parameters())], [expected, *grads], 1e-4)

    Call(work).result(60)


def test_threads_that_call_a_function_first_at_the_same_time_all_get_its_numbers() -> None:
    run, together = compiled(double_relu), threading.Barrier(6)

    def work(number: int) -> list[float]:
        x = torch.full((100,), float(number), device="openreg:1")
        together.wait(30)
        return run(x).tolist()

    calls = [Call(lambda number=number: work(number)) for number in range(6)]
    assert [it.result(60) for it in calls] == [[2.0 * number + 1] * 100 for number in range(6)]
