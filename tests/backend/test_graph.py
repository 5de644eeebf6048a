"""Graphs: capture and replay, private memory, random numbers that move on, autograd, and what can't be captured."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch_openreg  # noqa: F401
from contract.harness import Call
from torch import nn

from .conftest import GateFunction, ProgramFunction
from .simulator import sim
from .test_fork import with_fork

openreg = torch.openreg
Graph = torch.accelerator.Graph
KIB, MIB = 1 << 10, 1 << 20

pytestmark = pytest.mark.kernels


def index_of(device: str) -> int:
    """The number in a device's name."""
    return torch.device(device).index


def captured(function: Callable[[], Any], **options: Any) -> tuple[Any, Any]:
    """Captures a function on the current stream. Returns the graph and what the function returned."""
    graph = Graph(**options)
    with graph:
        result = function()
    return graph, result


def replayed(graph: Any, *tensors: torch.Tensor) -> list[list[float]]:
    """What tensors hold after a replay."""
    graph.replay()
    return [it.tolist() for it in tensors]


def reserved(device: str) -> int:
    """Bytes that the allocator has from the driver."""
    return openreg.memory_stats(device)["reserved_bytes.all.current"]


@pytest.fixture
def on_stream(device: str) -> Iterator[torch.Stream]:
    """A stream of the device, which is current, as is its device."""
    with openreg.Stream(device) as stream:
        yield stream
        openreg.synchronize(device)


# ------------------------------------------------------------------------------------------------------------ replay


def test_nothing_is_executed_while_a_graph_is_captured(on_stream: torch.Stream) -> None:
    x = torch.zeros(4, device=on_stream.device)
    graph, _ = captured(lambda: x.add_(1))
    assert x.tolist() == [0.0] * 4
    assert replayed(graph, x) == [[1.0] * 4]
    assert replayed(graph, x) == [[2.0] * 4]


def test_a_replay_reads_what_its_inputs_hold_by_then(on_stream: torch.Stream) -> None:
    x, w = torch.zeros(8, 8, device=on_stream.device), torch.randn(8, 8, generator=torch.Generator().manual_seed(0))
    there = w.to(on_stream.device)
    graph, y = captured(lambda: (x @ there).relu().sum(1))
    for seed in range(3):
        given = torch.randn(8, 8, generator=torch.Generator().manual_seed(seed))
        x.copy_(given)
        graph.replay()
        torch.testing.assert_close(y.cpu(), (given @ w).relu().sum(1))


def test_a_replay_is_queued_and_the_host_does_not_wait(on_stream: torch.Stream, gate: GateFunction) -> None:
    x = torch.zeros(2, device=on_stream.device)
    graph, _ = captured(lambda: x.add_(1))
    closed = gate(on_stream)
    for _ in range(3):
        graph.replay()
    assert closed.waiting == 1
    closed.open()
    assert x.tolist() == [3.0, 3.0]


def test_a_replay_runs_on_the_stream_that_is_current_then(on_stream: torch.Stream, gate: GateFunction) -> None:
    x = torch.zeros(2, device=on_stream.device)
    graph, _ = captured(lambda: x.add_(1))
    gate(on_stream)
    with openreg.Stream(on_stream.device):
        assert replayed(graph, x) == [[1.0, 1.0]]


def test_the_default_stream_can_be_captured(device: str) -> None:
    with openreg.device(device):
        x = torch.ones(2, device=device)
        graph, y = captured(lambda: x * 3)
        assert replayed(graph, y) == [[3.0, 3.0]]


def test_side_streams_are_captured_with_their_order(on_stream: torch.Stream) -> None:
    x = torch.arange(4.0).to(on_stream.device)
    sides = [openreg.Stream(on_stream.device) for _ in range(2)]

    def fork_and_join() -> torch.Tensor:
        y = x + 1
        parts = []
        for factor, side in enumerate(sides, 2):
            side.wait_stream(on_stream)
            with side:
                parts.append(y * factor)
            y.record_stream(side)
        for side in sides:
            on_stream.wait_stream(side)
        return parts[0] - parts[1]

    graph, y = captured(fork_and_join)
    x.fill_(9)
    assert replayed(graph, y) == [[-10.0] * 4]
    assert not any(side.is_capturing() for side in sides)


def test_a_stream_says_whether_it_captures(on_stream: torch.Stream) -> None:
    graph, other = Graph(), openreg.Stream(on_stream.device)
    assert not openreg.is_current_stream_capturing()
    with graph:
        assert (on_stream.is_capturing(), other.is_capturing()) == (True, False)
        assert openreg.is_current_stream_capturing()
        other.wait_stream(on_stream)
        assert other.is_capturing()
    assert (on_stream.is_capturing(), other.is_capturing()) == (False, False)


def test_a_graph_that_was_reset_captures_something_else(on_stream: torch.Stream) -> None:
    x = torch.ones(2, device=on_stream.device)
    graph, _ = captured(lambda: x + 1)
    graph.reset()
    with graph:
        y = x + 2
    assert replayed(graph, y) == [[3.0, 3.0]]


def test_a_kept_graph_is_instantiated_by_the_first_replay_or_by_hand(on_stream: torch.Stream) -> None:
    x = torch.zeros(2, device=on_stream.device)
    graph, _ = captured(lambda: x.add_(1), keep_graph=True)
    assert replayed(graph, x) == [[1.0, 1.0]]
    graph.instantiate()
    assert replayed(graph, x) == [[2.0, 2.0]]


def test_another_thread_works_on_while_one_captures(on_stream: torch.Stream, other_device: str) -> None:
    x = torch.ones(4, device=on_stream.device)
    graph = Graph()
    with graph:
        y = x + 1

        def work() -> list[float]:
            results = []
            for device in (on_stream.device, other_device):
                own = torch.arange(3.0).to(device)  # allocates, copies, waits for a stream that executes
                results += (own * 2).tolist()
                del own
            return results

        assert Call(work).result() == [0.0, 2.0, 4.0] * 2
        z = y * 2
    assert replayed(graph, z) == [[4.0] * 4]


def test_threads_capture_at_the_same_time(device: str) -> None:
    together = threading.Barrier(2)

    def capture(value: float) -> list[list[float]]:
        with openreg.Stream(device):
            x = torch.full((1000,), value, device=device)
            graph = Graph(capture_error_mode="thread_local")
            openreg.synchronize(device)
            together.wait(30)
            graph.capture_begin()
            together.wait(30)
            y = x * 2
            z = y + 1
            together.wait(30)
            graph.capture_end()
            together.wait(30)
            return replayed(graph, z)

    calls = [Call(lambda value=value: capture(value)) for value in (1.0, 2.0)]
    assert [call.result() for call in calls] == [[[3.0] * 1000], [[5.0] * 1000]]


# ------------------------------------------------------------------------------------------------------------ memory


def test_memory_of_a_graph_is_nobody_elses_while_it_lives(on_stream: torch.Stream) -> None:
    x = torch.ones(MIB, dtype=torch.uint8, device=on_stream.device)

    def compute() -> tuple[int, torch.Tensor]:
        between = x + 1  # dies here; each replay writes it again
        return between.data_ptr(), between * 2

    graph, (place, y) = captured(compute)
    others = [torch.zeros(MIB, dtype=torch.uint8, device=on_stream.device) for _ in range(40)]
    assert all(it.data_ptr() not in (place, y.data_ptr()) for it in others)
    graph.replay()
    assert y.eq(4).all().item()
    assert not any(it.any().item() for it in others)


def test_memory_of_a_graph_goes_back_when_the_graph_is_gone(on_stream: torch.Stream, no_collection: None) -> None:
    device = str(on_stream.device)
    openreg.empty_cache()
    before = reserved(device)
    graph, y = captured(lambda: torch.empty(64 * MIB, dtype=torch.uint8, device=device).add_(1))
    del y
    openreg.empty_cache()
    assert reserved(device) >= before + 64 * MIB
    graph.reset()
    openreg.empty_cache()
    assert reserved(device) == before


def test_a_tensor_outlives_its_graph(on_stream: torch.Stream, no_collection: None) -> None:
    device = str(on_stream.device)
    openreg.empty_cache()
    before = reserved(device)
    graph, y = captured(lambda: torch.ones(4 * MIB, device=device))
    graph.replay()
    del graph
    openreg.empty_cache()
    assert y.sum().item() == 4 * MIB
    del y
    openreg.empty_cache()
    assert reserved(device) == before


def test_memory_that_is_freed_in_a_capture_is_used_again_in_it(on_stream: torch.Stream) -> None:
    def compute() -> list[int]:
        places = []
        for _ in range(3):
            x = torch.empty(8 * MIB, dtype=torch.uint8, device=on_stream.device)
            places.append(x.data_ptr())
            del x
        return places

    _, places = captured(compute)
    assert len(set(places)) == 1


def test_graphs_share_a_pool(on_stream: torch.Stream, no_collection: None) -> None:
    device, pool = str(on_stream.device), openreg.graph_pool_handle()
    x = torch.ones(16 * MIB, dtype=torch.uint8, device=device)
    first, (place, sum_of_first) = captured(lambda: ((y := x + 1).data_ptr(), y.sum()), pool=pool)
    alone = reserved(device)
    second, (again, sum_of_second) = captured(lambda: ((y := x + 2).data_ptr(), y.sum()), pool=pool)
    assert (again, reserved(device)) == (place, alone)
    assert first.pool() == second.pool() == pool
    for value in (1, 5):
        x.fill_(value)
        first.replay()
        second.replay()
        assert sum_of_first.item() == (value + 1) * 16 * MIB
        assert sum_of_second.item() == (value + 2) * 16 * MIB
    first.reset()
    openreg.empty_cache()
    second.replay()  # the pool is still there
    assert sum_of_second.item() == 7 * 16 * MIB


def test_graphs_of_their_own_have_pools_of_their_own(on_stream: torch.Stream) -> None:
    graphs = [captured(lambda: torch.zeros(4, device=on_stream.device)) for _ in range(2)]
    pools = [graph.pool() for graph, _ in graphs]
    assert len({*pools, openreg.graph_pool_handle(), openreg.graph_pool_handle()}) == 4
    assert graphs[0][1].data_ptr() != graphs[1][1].data_ptr()


def test_statistics_stay_exact(on_stream: torch.Stream, no_collection: None) -> None:
    device = str(on_stream.device)
    openreg.empty_cache()
    names = ["allocation", "allocated_bytes", "active", "active_bytes", "segment", "reserved_bytes", "requested_bytes"]

    def now() -> list[int]:
        stats = openreg.memory_stats(device)
        return [stats[f"{name}.all.current"] for name in names]

    before = now()
    graph, y = captured(lambda: torch.ones(1000, device=device) + 1)
    assert now()[:4] == [before[0] + 1, before[1] + 4096, before[2] + 1, before[3] + 4096]
    graph.replay()
    del y
    graph.reset()
    openreg.empty_cache()
    assert now() == before


def test_what_is_freed_in_a_capture_while_other_streams_use_it_waits_for_the_end(on_stream: torch.Stream) -> None:
    x, side = torch.ones(MIB, device=on_stream.device), openreg.Stream(on_stream.device)
    graph = Graph()
    with graph:
        y = x + 1
        place = y.data_ptr()
        side.wait_stream(on_stream)
        with side:
            z = y * 2
        y.record_stream(side)
        del y
        other = torch.empty(MIB, device=on_stream.device)
        assert other.data_ptr() != place
        on_stream.wait_stream(side)
    x.fill_(4)
    graph.replay()
    assert z.eq(10).all().item()


def test_what_existed_before_can_die_in_a_capture(on_stream: torch.Stream, gate: GateFunction) -> None:
    side = openreg.Stream(on_stream.device)
    x = torch.ones(MIB, device=on_stream.device)
    gate(side)
    with side:
        x.mul_(2)
    x.record_stream(side)
    place = x.data_ptr()
    graph = Graph()
    graph.capture_begin()  # Graph's context would wait for the gate
    del x
    y = torch.zeros(2, device=on_stream.device)
    graph.capture_end()
    assert torch.empty(MIB, device=on_stream.device).data_ptr() != place, "the side stream is still at work on it"
    assert replayed(graph, y) == [[0.0, 0.0]]


def test_running_out_of_memory_in_a_capture_leaves_all_usable(on_stream: torch.Stream, no_collection: None) -> None:
    device = str(on_stream.device)
    openreg.empty_cache()
    before, x = reserved(device), torch.ones(2, device=device)
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate"):
        captured(lambda: (x + 1, torch.empty(1 << 50, dtype=torch.uint8, device=device)))
    assert not on_stream.is_capturing()
    gc.collect()
    graph, y = captured(lambda: x + 1)
    assert replayed(graph, y) == [[2.0, 2.0]]
    del graph, y
    x = x.cpu()
    openreg.empty_cache()
    assert reserved(device) == before


def test_memory_is_made_in_a_capture_by_giving_cached_memory_back(on_stream: torch.Stream, no_collection: None) -> None:
    device = str(on_stream.device)
    openreg.empty_cache()
    total = openreg.mem_get_info(device)[1]
    openreg.set_per_process_memory_fraction((reserved(device) + 96 * MIB) / total, device)
    try:
        graph = Graph()
        with graph:
            kept = torch.empty(40 * MIB, dtype=torch.uint8, device=device)
            # Of another stream, cached, and of no use for the one that captures.
            with openreg.Stream(device):
                del (other := [torch.empty(40 * MIB, dtype=torch.uint8, device=device)])[:]
            more = torch.empty(50 * MIB, dtype=torch.uint8, device=device)
            assert not other
        assert kept.data_ptr() != more.data_ptr()
    finally:
        openreg.set_per_process_memory_fraction(1.0, device)


def test_running_out_of_memory_that_graphs_keep_says_so(on_stream: torch.Stream, no_collection: None) -> None:
    device = str(on_stream.device)
    openreg.empty_cache()
    graph, _ = captured(lambda: torch.empty(64 * MIB, dtype=torch.uint8, device=device).data_ptr())
    openreg.set_per_process_memory_fraction(reserved(device) / openreg.mem_get_info(device)[1], device)
    try:
        with pytest.raises(torch.OutOfMemoryError, match=r"kept by graphs, for their replays\. Call reset\(\)"):
            torch.empty(48 * MIB, dtype=torch.uint8, device=device)
        graph.reset()
        torch.empty(48 * MIB, dtype=torch.uint8, device=device)
    finally:
        openreg.set_per_process_memory_fraction(1.0, device)


def test_a_snapshot_says_which_segments_are_of_a_pool(on_stream: torch.Stream) -> None:
    graph, y = captured(lambda: torch.zeros(4, device=on_stream.device))
    segments = openreg.memory_snapshot()
    (own,) = [it for it in segments if it["address"] <= y.data_ptr() < it["address"] + it["total_size"]]
    assert tuple(own["segment_pool_id"]) == graph.pool()


# ---------------------------------------------------------------------------------------------------- random numbers


def test_each_replay_draws_other_numbers(on_stream: torch.Stream) -> None:
    graph, (x, y) = captured(
        lambda: (torch.rand(100, device=on_stream.device), torch.randn(5, device=on_stream.device))
    )
    seen = [tuple(map(tuple, replayed(graph, x, y))) for _ in range(4)]
    assert len(set(seen)) == 4


def draws(weights: torch.Tensor) -> list[torch.Tensor]:
    """Of every kind of random kernel."""
    device = weights.device
    rows = torch.empty(2, 1, 8, 4, device=device).fill_(1)
    return [
        torch.rand(1001, device=device),
        torch.rand(7, device=device, dtype=torch.float64),
        torch.randn(33, device=device),
        torch.randint(1000, (9,), device=device),
        torch.empty(12, device=device).exponential_(),
        torch.empty(12, device=device).bernoulli_(0.3),
        weights.div(10).bernoulli(),
        nn.functional.dropout(torch.empty(64, device=device).fill_(1), 0.5),
        torch.randperm(20, device=device),
        weights.multinomial(3),
        nn.functional.scaled_dot_product_attention(rows, rows, rows, dropout_p=0.5),
    ]


def test_a_replay_draws_what_eager_code_would_draw_now(on_stream: torch.Stream) -> None:
    device = on_stream.device
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0]).to(device)
    torch.manual_seed(5)
    expected = [[it.tolist() for it in draws(weights)] for _ in range(3)]
    then = openreg.get_rng_state(device)
    graph, results = captured(lambda: draws(weights))
    torch.manual_seed(5)
    assert [replayed(graph, *results) for _ in range(3)] == expected
    assert torch.equal(openreg.get_rng_state(device), then)


def test_a_capture_takes_no_numbers(on_stream: torch.Stream) -> None:
    before = openreg.get_rng_state(on_stream.device)
    captured(lambda: torch.rand(4, device=on_stream.device))
    assert torch.equal(openreg.get_rng_state(on_stream.device), before)


def test_a_graph_draws_from_several_generators(on_stream: torch.Stream) -> None:
    device = on_stream.device
    own = torch.Generator(device).manual_seed(1)
    graph, (x, y) = captured(lambda: (torch.rand(4, device=device, generator=own), torch.rand(4, device=device)))
    own.manual_seed(7)
    torch.manual_seed(8)
    got = replayed(graph, x, y)
    assert got[0] == torch.rand(4, device=device, generator=torch.Generator(device).manual_seed(7)).tolist()
    assert got[1] == torch.rand(4, device=device, generator=torch.Generator(device).manual_seed(8)).tolist()


def test_a_generator_can_die_before_its_graph(on_stream: torch.Stream) -> None:
    device = on_stream.device
    own = [torch.Generator(device).manual_seed(1)]
    graph, x = captured(lambda: torch.rand(4, device=device, generator=own.pop()))
    assert replayed(graph, x)[0] != replayed(graph, x)[0]


# --------------------------------------------------------------------------------------------------- pinned memory


def test_copies_from_and_to_pinned_memory_are_captured(on_stream: torch.Stream) -> None:
    source, target = torch.ones(4).pin_memory(), torch.zeros(4).pin_memory()
    x = torch.zeros(4, device=on_stream.device)

    def compute() -> None:
        x.copy_(source, non_blocking=True)
        target.copy_(x * 2, non_blocking=True)

    graph, _ = captured(compute)
    for value in (3.0, 5.0):
        source.fill_(value)
        graph.replay()
        on_stream.synchronize()
        assert target.tolist() == [2 * value] * 4


@pytest.mark.parametrize("made_in_the_capture", [False, True])
def test_pinned_memory_of_a_graph_is_not_used_again_while_it_lives(
    on_stream: torch.Stream, made_in_the_capture: bool
) -> None:
    x = torch.zeros(MIB, dtype=torch.uint8, device=on_stream.device)

    def pinned() -> torch.Tensor:
        return torch.full((MIB,), 7, dtype=torch.uint8, pin_memory=True)

    given = [] if made_in_the_capture else [pinned()]

    def compute() -> int:
        source = given.pop() if given else pinned()
        x.copy_(source, non_blocking=True)
        return source.data_ptr()

    graph, place = captured(compute)
    others = [torch.empty(MIB, dtype=torch.uint8, pin_memory=True).fill_(1) for _ in range(3)]
    assert all(it.data_ptr() != place for it in others)
    graph.replay()
    assert x.eq(7).all().item()
    graph.reset()
    openreg.synchronize(on_stream.device)
    assert place in [it.data_ptr() for it in [torch.empty(MIB, dtype=torch.uint8, pin_memory=True) for _ in range(4)]]


def test_pinned_memory_waits_for_the_replays_of_a_graph_that_is_gone(
    on_stream: torch.Stream, gate: GateFunction
) -> None:
    x, source = torch.zeros(4, device=on_stream.device), [torch.ones(4).pin_memory()]
    place = source[0].data_ptr()
    graph, _ = captured(lambda: x.copy_(source.pop(), non_blocking=True))
    side = openreg.Stream(on_stream.device)
    closed = gate(side)
    with side:
        graph.replay()
    del graph
    others = [torch.zeros(4).pin_memory() for _ in range(3)]
    assert all(it.data_ptr() != place for it in others)
    closed.open()
    side.synchronize()
    assert x.tolist() == [1.0] * 4


# ---------------------------------------------------------------------------------------------------------- training


def network(device: torch.device, dropout: float = 0.0) -> nn.Module:
    """Layers with weights that are always the same."""
    torch.manual_seed(0)
    made = nn.Sequential(nn.Linear(8, 32), nn.LayerNorm(32), nn.GELU(), nn.Dropout(dropout), nn.Linear(32, 3))
    return made.to(device)


def batches(count: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Rows and classes on the CPU."""
    generator = torch.Generator().manual_seed(1)
    return [
        (torch.randn(16, 8, generator=generator), torch.randint(3, (16,), generator=generator)) for _ in range(count)
    ]


OPTIMIZERS = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, capturable=True),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_whole_training_step_in_a_graph_equals_eager_steps(on_stream: torch.Stream, name: str) -> None:
    device, data = on_stream.device, batches(8)

    def trained(graphed: bool) -> tuple[list[float], list[torch.Tensor]]:
        model = network(device, dropout=0.2)
        optimizer = OPTIMIZERS[name](model.parameters())
        rows, classes = torch.empty(16, 8, device=device), torch.empty(16, dtype=torch.int64, device=device)

        def step() -> torch.Tensor:
            optimizer.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(model(rows), classes)
            loss.backward()
            optimizer.step()
            return loss.detach()

        torch.manual_seed(2)
        losses = []
        graph: Any = None
        for number, (given, labels) in enumerate(data):
            rows.copy_(given)
            classes.copy_(labels)
            if graphed and number == 3:  # after a warm-up, as PyTorch says
                graph, loss = captured(step)
            if graph is not None:
                graph.replay()
            else:
                loss = step()
            losses.append(loss.item())
        return losses, [it.detach().cpu() for it in model.parameters()]

    eager, replays = trained(False), trained(True)
    assert replays[0] == eager[0]
    assert all(torch.equal(a, b) for a, b in zip(replays[1], eager[1], strict=True))


def test_an_optimizer_that_counts_its_steps_on_the_host_goes_wrong_in_a_graph(on_stream: torch.Stream) -> None:
    """PyTorch refuses it for CUDA alone. It is the reason for `capturable=True`."""

    def trained(capturable: bool, graphed: bool) -> torch.Tensor:
        weight = nn.Parameter(torch.ones(3, device=on_stream.device))
        optimizer = torch.optim.Adam([weight], lr=0.1, capturable=capturable)

        def step() -> None:
            optimizer.zero_grad()
            weight.square().sum().backward()
            optimizer.step()

        step()
        repeat = captured(step)[0].replay if graphed else step
        for _ in range(3):
            repeat()
        return weight.detach().cpu()

    assert torch.equal(trained(capturable=True, graphed=True), trained(capturable=True, graphed=False))
    assert not torch.allclose(trained(capturable=False, graphed=True), trained(capturable=False, graphed=False))


def test_autograd_names_a_node_that_belongs_to_another_stream(on_stream: torch.Stream) -> None:
    weight = nn.Parameter(torch.ones(3, device=on_stream.device))
    with openreg.stream(openreg.default_stream(on_stream.device)):
        kept = (weight * 2).sum()  # keeps the node that accumulates the gradient, with its stream
        kept.backward()
    with pytest.raises(RuntimeError, match="AccumulateGrad' has a stale reference to the default stream"):
        captured(lambda: (weight * 2).sum().backward())
    assert not on_stream.is_capturing()


def test_graphed_callables_equal_eager_ones(on_stream: torch.Stream) -> None:
    device = on_stream.device
    results = []
    for graphed in (False, True):
        model = network(device)
        rows = torch.randn(16, 8, generator=torch.Generator().manual_seed(3)).to(device).requires_grad_()
        if graphed:
            assert openreg.make_graphed_callables(model, (torch.zeros_like(rows).requires_grad_(),)) is model
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        seen = []
        for given, labels in batches(4):
            optimizer.zero_grad()
            with torch.no_grad():
                rows.copy_(given)
            rows.grad = None
            loss = nn.functional.cross_entropy(model(rows), labels.to(device))
            loss.backward()
            seen += [loss.detach().cpu(), rows.grad.cpu(), *(it.grad.cpu() for it in model.parameters())]
            optimizer.step()
        results.append(seen)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


def test_graphed_callables_of_several_functions_share_memory_and_nest(on_stream: torch.Stream) -> None:
    device = on_stream.device

    def first(x: torch.Tensor, scale: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"product": x * scale, "sum": x.sum()}

    def second(x: torch.Tensor) -> torch.Tensor:
        return x.exp()

    sample = torch.zeros(3, device=device, requires_grad=True)
    made = openreg.make_graphed_callables((first, second), ((sample, torch.ones(3, device=device)), (sample,)))
    x = torch.tensor([1.0, 2.0, 3.0]).to(device).requires_grad_()
    got = made[0](x, torch.full((3,), 2.0, device=device))
    (made[1](got["product"]).sum() + got["sum"]).backward()
    expected = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    ((expected * 2).exp().sum() + expected.sum()).backward()
    torch.testing.assert_close(x.grad.cpu(), expected.grad)


def test_a_graphed_module_is_eager_in_the_other_mode(on_stream: torch.Stream) -> None:
    model = network(on_stream.device, dropout=0.5)
    rows = torch.ones(16, 8, device=on_stream.device)
    openreg.make_graphed_callables(model, (rows,))
    assert not torch.equal(model(rows).clone(), model(rows))
    model.eval()
    assert torch.equal(model(rows).clone(), model(rows))
    assert model(rows[:3]).shape == (3, 3)


# ------------------------------------------------------------------------------------------------------------ picture


@pytest.mark.parametrize("keep", [False, True])
def test_a_graph_is_dumped_as_a_picture_with_its_kernels(on_stream: torch.Stream, tmp_path: Path, keep: bool) -> None:
    x = torch.ones(4, device=on_stream.device)
    graph = Graph(keep_graph=keep)
    if not keep:
        graph.enable_debug_mode()
    with graph:
        x.exp().neg()
    file = tmp_path / "graph.dot"
    graph.debug_dump(str(file))
    text = file.read_text()
    assert text.startswith("digraph") and "exp.float" in text and "neg.float" in text and "n0 -> n1" in text


# -------------------------------------------------------------------------------------------- what can't be captured

UNSUPPORTED: dict[str, Callable[[torch.Tensor], Any]] = {
    "item": lambda x: x.sum().item(),
    "print": lambda x: str(x),
    "cpu": lambda x: x.cpu(),
    "nonzero": lambda x: x.nonzero(),
    "mask": lambda x: x[x > 0],
    "from_host": lambda x: torch.tensor([1.0, 2.0], device=x.device),
    "if": lambda x: bool(x.sum() > 0),
    "synchronize": lambda x: openreg.synchronize(x.device),
    "accelerator": lambda x: torch.accelerator.synchronize(),
    "stream": lambda x: openreg.current_stream().synchronize(),
    "query": lambda x: openreg.current_stream().query(),
    "blocking_copy": lambda x: x.copy_(torch.ones(4).pin_memory()),
    "reset_device": lambda x: openreg.reset_device(x.device),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_what_waits_for_the_device_is_refused_with_advice(on_stream: torch.Stream, name: str) -> None:
    x = torch.ones(4, device=on_stream.device)
    with pytest.raises(torch.AcceleratorError, match="A graph records work without running it, so inside a capture"):
        captured(lambda: UNSUPPORTED[name](x))
    assert not on_stream.is_capturing()
    assert (x + 1).tolist() == [2.0] * 4


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: x.copy_(torch.ones(4), non_blocking=True), "copy from the host: .* each replay would copy"),
        (
            lambda x: x.copy_(torch.tensor(1.0)),
            "Copy before the capture, or from a tensor in pinned memory without gaps, of the same type, with "
            "non_blocking=True",
        ),
        (lambda x: openreg.empty_cache(), "empty_cache: .* empty the cache before the capture, or after it"),
        (lambda x: torch.manual_seed(1), "manual_seed: .* Call it before a replay"),
        (lambda x: openreg.set_rng_state(openreg.get_rng_state()), "set_rng_state: .* Call it before a replay"),
    ],
)
def test_what_a_graph_could_not_repeat_is_refused(
    on_stream: torch.Stream, call: Callable[[torch.Tensor], Any], text: str
) -> None:
    x = torch.ones(4, device=on_stream.device)
    with pytest.raises(RuntimeError, match=text):
        captured(lambda: call(x))
    assert not on_stream.is_capturing()


def test_an_exception_in_a_capture_ends_it_and_comes_through(on_stream: torch.Stream, no_collection: None) -> None:
    device = str(on_stream.device)
    openreg.empty_cache()
    before = reserved(device)
    graph, side = Graph(), openreg.Stream(device)

    def fail() -> None:
        x = torch.ones(16 * MIB, device=device)
        side.wait_stream(on_stream)
        with side:
            x.add_(1)  # never joined, which would be an error of its own
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught, graph:
        fail()
    assert caught.value.__context__ is None
    assert not on_stream.is_capturing() and not side.is_capturing()
    with pytest.raises(
        RuntimeError, match=r"Graph\.replay: nothing is captured, as an exception has ended the capture"
    ):
        graph.replay()
    del caught  # its traceback holds x
    openreg.empty_cache()
    assert reserved(device) == before
    with graph:
        y = torch.ones(2, device=device)
    assert replayed(graph, y) == [[1.0, 1.0]]


def test_an_error_that_was_caught_in_the_capture_comes_up_at_its_end(on_stream: torch.Stream) -> None:
    x, graph = torch.ones(4, device=on_stream.device), Graph()
    graph.capture_begin()
    with pytest.raises(torch.AcceleratorError):
        x.sum().item()
    with pytest.raises(torch.AcceleratorError, match=r"an earlier call has made the capture invalid.*begin it anew"):
        graph.capture_end()
    assert not on_stream.is_capturing()
    with pytest.raises(RuntimeError, match=r"Graph\.replay: nothing is captured, as the capture has failed"):
        graph.replay()


def test_a_capture_in_the_handling_of_an_exception_is_like_any_other(on_stream: torch.Stream) -> None:
    x = torch.ones(2, device=on_stream.device)
    try:
        raise KeyError
    except KeyError:
        graph, y = captured(lambda: x + 1)
    assert replayed(graph, y) == [[2.0, 2.0]]


def test_a_stream_that_was_not_joined_is_named(on_stream: torch.Stream) -> None:
    x, side = torch.ones(4, device=on_stream.device), openreg.Stream(on_stream.device)
    graph = Graph()
    graph.capture_begin()
    side.wait_stream(on_stream)
    with side:
        x.add_(1)
    with pytest.raises(torch.AcceleratorError, match=r"not joined.*stream\.wait_stream\(other\)"):
        graph.capture_end()
    assert not side.is_capturing()


def test_work_from_outside_cannot_be_waited_for(on_stream: torch.Stream, gate: GateFunction) -> None:
    side = openreg.Stream(on_stream.device)
    gate(side)
    done = side.record_event()
    graph = Graph()
    graph.capture_begin()
    with pytest.raises(torch.AcceleratorError, match="Let a stream of the device join the capture first"):
        on_stream.wait_event(done)
    with pytest.raises(torch.AcceleratorError, match="made the capture invalid"):
        graph.capture_end()


def test_a_copy_to_another_device_is_refused(on_stream: torch.Stream, other_device: str) -> None:
    x, graph = torch.ones(4, device=on_stream.device), Graph()
    text = "A graph is of one device: copy to and from others before the capture, or after a replay"
    for copy in (lambda: x.to(other_device), lambda: torch.ones(4, device=other_device).to(on_stream.device)):
        with pytest.raises(torch.AcceleratorError, match=text), graph:
            copy()
        assert not on_stream.is_capturing()
    with graph:
        y = x + 1
    graph.replay()
    assert y.to(other_device).tolist() == [2.0] * 4


def test_another_thread_cannot_end_a_capture_which_goes_on(on_stream: torch.Stream) -> None:
    x, graph = torch.ones(4, device=on_stream.device), Graph()
    graph.capture_begin()
    with pytest.raises(torch.AcceleratorError, match=r"begun by another thread.*capture_error_mode='relaxed'"):
        Call(graph.capture_end).result()
    y = x + 1
    graph.capture_end()
    assert replayed(graph, y) == [[2.0] * 4]


def test_another_thread_can_end_a_relaxed_capture(on_stream: torch.Stream) -> None:
    x, graph = torch.ones(4, device=on_stream.device), Graph(capture_error_mode="relaxed")
    graph.capture_begin()
    y = x + 1
    Call(graph.capture_end).result()
    assert replayed(graph, y) == [[2.0] * 4]


def test_misuse_is_told_apart(on_stream: torch.Stream, other_device: str) -> None:
    device, graph = str(on_stream.device), Graph()
    x = torch.ones(4, device=device)
    for name in ("replay", "instantiate", "pool"):
        with pytest.raises(RuntimeError, match=rf"Graph\.{name}: .*capture something"):
            getattr(graph, name)()
    with pytest.raises(RuntimeError, match=r"Graph\.debug_dump: nothing is captured; capture something first"):
        graph.debug_dump("/nowhere")
    with pytest.raises(RuntimeError, match=r"Graph\.capture_end: this graph is not capturing; call capture_begin\(\)"):
        graph.capture_end()
    graph.reset()
    graph.capture_begin()
    x.add_(1)
    for name, text in (
        ("capture_begin", "is capturing already; call capture_end"),
        ("replay", "nothing is captured yet; call capture_end"),
        ("reset", "the graph is capturing; call capture_end"),
    ):
        with pytest.raises(RuntimeError, match=rf"Graph\.{name}: .*{text}"):
            getattr(graph, name)()
    with pytest.raises(RuntimeError, match=r"Graph\.capture_begin: the current stream of .* is capturing a graph; end"):
        Graph().capture_begin()
    graph.capture_end()
    with pytest.raises(RuntimeError, match=r"Graph\.capture_begin: this graph has captured something; call reset\(\)"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match=r"Graph\.instantiate: .* expected a graph made with keep_graph=True"):
        graph.instantiate()
    with pytest.raises(RuntimeError, match=r"Graph\.debug_dump: the graph was not kept; call enable_debug_mode\(\)"):
        graph.debug_dump("/nowhere")
    with (
        openreg.Stream(other_device),
        pytest.raises(RuntimeError, match=rf"Graph\.replay: the graph is of {device}, but the current device is"),
    ):
        graph.replay()
    second = Graph()
    second.capture_begin()
    with pytest.raises(RuntimeError, match=r"Graph\.replay: .* a graph can't be part of another"):
        graph.replay()
    second.capture_end()
    assert replayed(graph, x) == [[2.0] * 4]


def test_a_dump_into_a_folder_that_is_not_there_says_so(on_stream: torch.Stream, tmp_path: Path) -> None:
    graph, _ = captured(lambda: torch.zeros(1, device=on_stream.device), keep_graph=True)
    with pytest.raises(torch.AcceleratorError, match="cannot be written: No such file or directory"):
        graph.debug_dump(str(tmp_path / "nowhere" / "graph.dot"))


@pytest.mark.parametrize(
    ("args", "kind", "text"),
    [
        (((torch.ones(2),),), TypeError, "a tensor on cpu; expected tensors on the device"),
        (((3,),), TypeError, "number 0, 3; expected tensors on the device"),
    ],
)
def test_graphed_callables_say_what_they_expect(args: tuple[Any, ...], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        openreg.make_graphed_callables(lambda x: x, *args)


def test_graphed_callables_check_their_arguments(on_stream: torch.Stream) -> None:
    x = torch.ones(2, device=on_stream.device)
    with pytest.raises(ValueError, match="has 1 tuples; expected 2, one for each of 'callables'"):
        openreg.make_graphed_callables((torch.neg, torch.exp), ((x,),))
    hooked = nn.Linear(2, 2).to(on_stream.device)
    hooked.register_forward_hook(lambda *_: None)
    with pytest.raises(RuntimeError, match="a module with hooks"):
        openreg.make_graphed_callables(hooked, (x,))
    made = openreg.make_graphed_callables(torch.neg, (x,))
    with pytest.raises(ValueError, match="an argument of shape") as refused:
        made(torch.ones(3, device=on_stream.device))
    assert str(refused.value) == (
        "make_graphed_callables: the call has an argument of shape (3,) and torch.float32; expected (2,) and "
        "torch.float32, those of the capture"
    )
    with pytest.raises(TypeError, match="has arguments of the form"):
        made(x, x)


# ------------------------------------------------------------------------------------------------------------ the end


def test_a_graph_that_dies_while_it_captures_ends_the_capture(on_stream: torch.Stream) -> None:
    graph = Graph()
    graph.capture_begin()
    torch.ones(4, device=on_stream.device)
    del graph
    assert not on_stream.is_capturing()
    assert torch.ones(2, device=on_stream.device).tolist() == [1.0, 1.0]


def test_a_graph_from_before_a_reset_of_the_device_says_so(program: ProgramFunction) -> None:
    print_ = program("""
        x = torch.ones(4, device="openreg")
        graph = torch.accelerator.Graph()
        with graph:
            y = torch.rand(4, device="openreg") + x
        graph.replay()
        torch.openreg.reset_device(0)
        try:
            graph.replay()
        except RuntimeError as error:
            print(error)
        graph.reset()
        x = torch.ones(4, device="openreg")
        with graph:
            z = x + 1
        graph.replay()
        print(z.tolist())
        other = torch.accelerator.Graph()
        with other:
            z = x + 1
        torch.openreg.reset_device(0)
        del other, graph
    """)
    assert "Graph.replay: the graph was captured before reset_device(0)" in print_
    assert "[2.0, 2.0, 2.0, 2.0]" in print_


def test_a_forked_child_leaves_the_parents_graphs_alone(program: ProgramFunction) -> None:
    printed = program(
        with_fork("""
        x = torch.ones(4, device="openreg")
        pinned = torch.ones(4).pin_memory()
        graphs = [torch.accelerator.Graph() for _ in range(2)]
        with graphs[0]:
            x.copy_(pinned, non_blocking=True)
            y = torch.rand(4, device="openreg") + x
        graphs[0].replay()
        in_child(lambda: graphs[0].replay())
        in_child(lambda: torch.accelerator.Graph().capture_begin())
        def drop():
            graphs.clear()
            return "dropped"
        in_child(drop)
        graphs[1].capture_begin()
        in_child(drop)
        z = x + 1
        graphs[1].capture_end()
        graphs[1].replay()
        print(z.tolist())
        """)
    )
    assert printed.count("dropped") == 2
    assert printed.count("child: 0") == 4
    assert printed.count("this process was forked from one that had used the device") == 2
    assert "[2.0, 2.0, 2.0, 2.0]" in printed


def test_a_process_ends_with_graphs_and_in_the_middle_of_a_capture(program: ProgramFunction) -> None:
    program("""
        x = torch.ones(4, device="openreg")
        graph = torch.accelerator.Graph()
        with graph:
            y = torch.rand(4, device="openreg") + x
        graph.replay()
        other = torch.accelerator.Graph()
        other.capture_begin()
        z = x + 1
    """)


def test_poisoned_memory_does_not_get_into_a_graph(program: ProgramFunction) -> None:
    printed = program(
        """
        x = torch.ones(1 << 20, device="openreg")
        victim = torch.zeros(1 << 20, device="openreg")
        graph = torch.accelerator.Graph()
        with graph:
            y = x + 1
            z = y * 2
            del y, victim
        others = [torch.zeros(1 << 20, device="openreg") for _ in range(4)]
        graph.replay()
        print(z.eq(4).all().item(), [it.any().item() for it in others])
        """,
        PYTORCH_ALLOC_CONF="poison:True",
    )
    assert "True [False, False, False, False]" in printed


@pytest.mark.parametrize("entry", ["orStreamBeginCapture", "orGraphInstantiate"])
def test_a_capture_that_the_driver_refuses_leaves_all_usable(
    on_stream: torch.Stream, no_collection: None, entry: str
) -> None:
    device = str(on_stream.device)
    openreg.empty_cache()
    before, graph = reserved(device), Graph()
    sim.lib.orSimFailCall(entry.encode(), 1, sim.errors["orErrorNotImplemented"])
    with pytest.raises(NotImplementedError, match=entry), graph:
        torch.ones(16 * MIB, device=device)
    assert not on_stream.is_capturing()
    openreg.empty_cache()
    assert reserved(device) == before
    with graph:
        x = torch.ones(2, device=device)
    assert replayed(graph, x) == [[1.0, 1.0]]


def test_a_replay_that_the_driver_refuses_can_be_repeated(on_stream: torch.Stream) -> None:
    x = torch.zeros(2, device=on_stream.device)
    graph, _ = captured(lambda: x.add_(1))
    sim.lib.orSimFailCall(b"orGraphLaunch", 1, sim.errors["orErrorLaunchFailure"])
    with pytest.raises(torch.AcceleratorError, match="orGraphLaunch"):
        graph.replay()
    assert replayed(graph, x) == [[1.0, 1.0]]
