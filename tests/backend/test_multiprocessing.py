"""Tensors that two processes share, through torch.multiprocessing."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.multiprocessing as mp
from contract.harness import Call, wait_until
from contract.processes import shared_memory
from torch_openreg import _C
from torch_openreg.openreg import multiprocessing as ours

from .conftest import GateFunction, ProgramFunction, child_environment
from .sharing_worker import serve

ROOT = Path(__file__).resolve().parents[2]
SPAWN = mp.get_context("spawn")


class Other:
    """A process that is told what to do with tensors that it is sent."""

    def __init__(self, *given: Any) -> None:
        self.inbox, self.outbox = SPAWN.Queue(), SPAWN.Queue()
        self.process = SPAWN.Process(target=serve, args=(self.inbox, self.outbox, *given), daemon=True)
        self.process.start()

    def does(self, code: str, *tensors: Any) -> Any:
        """Has it run code on tensors; what the code has assigned to `out`."""
        self.inbox.put((textwrap.dedent(code), tensors))
        out, error = self.outbox.get(timeout=60)
        assert error is None, error
        return out

    def end(self) -> None:
        """Kills it."""
        self.process.kill()
        self.process.join()


@pytest.fixture(scope="module")
def long_lived() -> Iterator[Other]:
    """One process for all tests that don't kill it."""
    it = Other()
    yield it
    it.end()


@pytest.fixture
def other(long_lived: Other) -> Iterator[Other]:
    """That process, holding nothing of the tests before."""
    yield long_lived
    long_lived.does("forget")


@pytest.fixture
def another() -> Iterator[Callable[..., Other]]:
    """Starts processes that a test may kill."""
    started: list[Other] = []

    def start(*given: Any) -> Other:
        started.append(Other(*given))
        return started[-1]

    yield start
    for one in started:
        one.end()


@pytest.fixture(autouse=True)
def nothing_stays_sent() -> Iterator[None]:
    """After each test nobody has anything of it any more, and the sender knows."""
    yield
    gc.collect()
    wait_until(lambda: ours.ipc_collect() or not ours._sent, "all that was sent has been let go of")


# --------------------------------------------------------------------------------------------------------------- bytes


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64])
def test_both_see_the_same_numbers(other: Other, device: str, dtype: torch.dtype) -> None:
    want = torch.arange(12).to(dtype).view(3, 4)
    x = want.to(device)
    got = other.does("x = sent[0]; out = x.cpu(), str(x.device), x.dtype", x)
    assert torch.equal(got[0], want) and got[1:] == (device, dtype)
    other.does("x.copy_(x.flip(0)); torch.openreg.synchronize(x.device)")
    assert torch.equal(x.cpu(), want.flip(0))
    x.zero_()
    torch.openreg.synchronize(device)
    assert not other.does("out = x.cpu()").any()


def test_views_keep_their_shape_and_their_common_memory(other: Other) -> None:
    base = torch.zeros(4, 6, device="openreg")
    got = other.does(
        """
        a, b = sent
        b.fill_(5)
        torch.openreg.synchronize()
        out = a.stride(), a.storage_offset(), a.shape, a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
        """,
        base[1:, ::2],
        base.t(),
    )
    assert got == ((6, 2), 6, torch.Size([3, 3]), True)
    assert torch.equal(base.cpu(), torch.full((4, 6), 5.0))


def test_the_same_tensor_sent_twice_is_one_storage(other: Other) -> None:
    x = torch.ones(3, device="openreg")
    other.does("a = sent[0]", x)
    assert other.does("b = sent[0]; b += 1; torch.openreg.synchronize(); out = a.cpu()", x).tolist() == [2, 2, 2]


def test_a_large_tensor_and_small_ones_of_one_segment(other: Other) -> None:
    large, small = (
        torch.randn(3 << 20, device="openreg"),
        [torch.full((5,), float(i), device="openreg") for i in range(6)],
    )
    got = other.does("x = sent; out = [it.cpu() for it in sent]", large, *small)
    assert all(torch.equal(a, b.cpu()) for a, b in zip(got, [large, *small], strict=True))


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
def test_an_empty_tensor_arrives(other: Other, device: str, shape: tuple[int, ...]) -> None:
    x = torch.empty(shape, device=device)
    assert other.does("out = str(sent[0].device), tuple(sent[0].shape)", x) == (device, shape)


def test_what_is_put_on_a_queue_here_and_taken_from_it_here_is_the_same_memory() -> None:
    queue, x = SPAWN.Queue(), torch.ones(3, device="openreg")
    queue.put(x)
    assert queue.get(timeout=30).data_ptr() == x.data_ptr()


def test_a_pipe_carries_tensors(another: Callable[..., Other]) -> None:
    here, there = SPAWN.Pipe()
    second, x = another(there), torch.arange(3.0, device="openreg")
    here.send(x)
    assert second.does("x = given[0].recv(); x *= 2; torch.openreg.synchronize(); out = x.cpu()").tolist() == [0, 2, 4]
    assert x.tolist() == [0, 2, 4]
    second.does("del x")


def test_a_network_that_a_spawned_process_is_given_is_trained_there_for_both(another: Callable[..., Other]) -> None:
    model = torch.nn.Linear(3, 1).to("openreg")
    before = [it.detach().cpu() for it in model.parameters()]
    second = another(model)
    loss = """
model = given[0]
assert all(isinstance(it, torch.nn.Parameter) and it.requires_grad for it in model.parameters())
model(torch.ones(2, 3, device="openreg")).sum().backward()
torch.optim.SGD(model.parameters(), lr=0.5).step()
torch.openreg.synchronize()
"""
    second.does(loss)
    after = [it.detach().cpu() for it in model.parameters()]
    assert torch.equal(after[0], before[0] - 1.0) and torch.equal(after[1], before[1] - 1.0)
    second.end()


def test_share_memory_needs_to_do_nothing(other: Other) -> None:
    x = torch.ones(2, device="openreg")
    pointer = x.data_ptr()
    assert x.share_memory_() is x and x.is_shared() and x.data_ptr() == pointer
    other.does("sent[0].add_(1); torch.openreg.synchronize()", x)
    assert x.tolist() == [2, 2]


def test_tensors_of_the_cpu_travel_as_before(other: Other) -> None:
    x = torch.ones(3)
    other.does("sent[0].add_(1)", x)
    assert x.tolist() == [2, 2, 2]


# --------------------------------------------------------------------------------------------------------------- order


def test_sending_waits_for_work_on_any_stream(other: Other, gate: GateFunction) -> None:
    x, stream = torch.zeros(4, device="openreg"), torch.Stream("openreg")
    closed = gate(stream)
    with stream:
        x.fill_(7)
    sending = Call(lambda: ours._reduce_storage(x.untyped_storage()))
    assert sending.blocks()
    closed.open()
    rebuild, arguments = sending.result()
    assert rebuild(*arguments).data_ptr() == x.data_ptr()
    assert other.does("out = sent[0].cpu()", x).tolist() == [7, 7, 7, 7]


def test_a_receiver_lets_go_only_when_its_queued_work_is_done(other: Other) -> None:
    x, y = torch.zeros(4, device="openreg"), torch.zeros(4, device="openreg")
    code = """
from contract.harness import Gate
from backend.simulator import handle, sim
stream = torch.Stream("openreg")
x, y = sent  # Of one allocation, which stays open with y.
held = Gate(sim, "test", 30.0).close(handle(stream))
with stream:
    x.fill_(3)
del sent
"""
    other.does(code, x, y)
    other.does("del x")
    told = Call(lambda: wait_until(lambda: ours.ipc_collect() or len(ours._sent) == 1, "the sender hears of it"))
    assert all(told.blocks() for _ in range(5))  # Their thread has time to be too early.
    other.does("held.destroy()")
    told.result()
    assert x.tolist() == [3, 3, 3, 3]


# --------------------------------------------------------------------------------------------------------------- lives


@pytest.mark.usefixtures("no_collection")
def test_memory_that_a_receiver_has_is_kept_until_it_lets_go(other: Other) -> None:
    torch.openreg.synchronize()
    before = torch.openreg.memory_allocated()
    x = torch.full((1000,), 3.0, device="openreg")
    other.does("x = sent[0]", x)
    del x
    rest = [torch.zeros(1000, device="openreg") for _ in range(8)]  # They would take its place.
    assert torch.openreg.memory_allocated() >= before + 9 * 4000
    assert other.does("out = x.cpu()").eq(3).all()
    other.does("del x")
    del rest
    wait_until(lambda: torch.openreg.ipc_collect() or not ours._sent, "it has been let go of")
    assert torch.openreg.memory_allocated() == before


@pytest.mark.usefixtures("no_collection")
def test_memory_of_a_receiver_that_was_killed_comes_back(another: Callable[..., Other]) -> None:
    second, before = another(), torch.openreg.memory_allocated()
    second.does("x = sent[0]", torch.ones(1000, device="openreg"))
    torch.openreg.ipc_collect()
    assert torch.openreg.memory_allocated() > before
    second.end()
    wait_until(lambda: torch.openreg.ipc_collect() or not ours._sent, "it has been let go of")
    assert torch.openreg.memory_allocated() == before


def test_a_receiver_outlives_its_sender(another: Callable[..., Other], other: Other) -> None:
    first = another()
    x = first.does("x = torch.arange(4.0, device='openreg'); out = x")
    first.end()
    assert x.tolist() == [0, 1, 2, 3]
    x += 1
    assert x.tolist() == [1, 2, 3, 4]


def test_a_tensor_that_was_not_received_when_its_sender_ended_says_so(another: Callable[..., Other]) -> None:
    first = another()
    here, there = SPAWN.Pipe()
    second = another(there)
    second.does("given[0].send(torch.ones(3, device='openreg')); out = None")
    second.end()
    said = "the process that sent this tensor has ended; expected it to live until the tensor is received"
    with pytest.raises(RuntimeError, match=said):
        here.recv()
    first.end()


def test_nothing_is_left_behind(other: Other) -> None:
    names = shared_memory()

    def once() -> int:
        x = torch.ones(100, device="openreg")
        other.does("out = float(sent[0].sum())", x)
        wait_until(lambda: torch.openreg.ipc_collect() or not ours._sent, "it has been let go of")
        return len(os.listdir("/proc/self/fd"))

    first = [once() for _ in range(3)][-1]
    assert [once() for _ in range(20)][-1] == first
    assert shared_memory() == names


# ------------------------------------------------------------------------------------------------------------- refusals


def test_what_was_received_is_not_sent_on(other: Other) -> None:
    code = """
from torch_openreg.openreg.multiprocessing import _reduce_storage
try:
    _reduce_storage(sent[0].untyped_storage())
except RuntimeError as error:
    out = str(error).splitlines()[0]
"""
    said = other.does(code, torch.ones(3, device="openreg"))
    assert said == (
        "share: argument 'storage' lies in memory that another process shares with this one, and whose life this one "
        "cannot answer for; expected memory of this process: send a clone()"
    )


def test_a_received_tensor_is_not_resized(other: Other) -> None:
    code = """
try:
    sent[0].resize_(1000)
except RuntimeError as error:
    out = str(error).splitlines()[0]
"""
    assert "not resizable" in other.does(code, torch.ones(3, device="openreg"))


def test_a_storage_must_fit_into_what_its_handle_names(other: Other) -> None:
    code = """
from torch_openreg import _C
handle, offset = sent
out = []
for size, at in ((1 << 40, 0), (8, 1 << 40), (2**63, 2**63)):
    try:
        _C._open_storage(handle, at, size, 0, -1)
    except RuntimeError as error:
        out.append(str(error).splitlines()[0])
"""
    x = torch.ones(3, device="openreg")
    said = other.does(code, *_C._share_storage(x.untyped_storage()))
    assert [text.partition(" does not fit into the ")[0] for text in said] == [
        "open: a storage of 1099511627776 bytes at offset 0",
        "open: a storage of 8 bytes at offset 1099511627776",
        "open: a storage of 9223372036854775808 bytes at offset 9223372036854775808",
    ]


def test_only_storages_of_the_device_can_be_shared() -> None:
    with pytest.raises(RuntimeError, match="'storage' is on cpu; expected a device of openreg"):
        _C._share_storage(torch.ones(2).untyped_storage())
    with pytest.raises(TypeError, match="'storage' is a Tensor; expected an UntypedStorage"):
        _C._share_storage(torch.ones(2, device="openreg"))
    with pytest.raises(RuntimeError, match="'handle' has 3 bytes; expected the 64 of"):
        _C._open_storage(b"abc", 0, 8, 0, -1)


def test_a_tensor_with_a_history_is_refused_by_pytorch() -> None:
    x = torch.ones(2, device="openreg", requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        ForkingPickler.dumps(x)


def test_a_driver_that_cannot_share_memory_says_so(program: ProgramFunction) -> None:
    said = program(
        """
        from multiprocessing.reduction import ForkingPickler
        x = torch.ones(2, device="openreg")
        sim.ok(sim.lib.orSimFailCall(b"orIpcGetMemHandle", 1, sim.errors["orErrorNotImplemented"]))
        try:
            ForkingPickler.dumps(x)
        except NotImplementedError as error:
            print(error)
        """
    )
    assert "orIpcGetMemHandle" in said


def test_a_producer_and_a_consumer_share_buffers() -> None:
    """The guide shows what this run prints."""
    record = ROOT / "tests" / "recorded" / "producer_consumer.txt"
    command = [sys.executable, str(ROOT / "examples" / "producer_consumer.py")]
    done = subprocess.run(command, env=child_environment(), capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    printed = f"$ python producer_consumer.py\n{done.stdout}"
    if os.environ.get("OPENREG_RECORD"):
        record.write_text(printed)
    assert printed == record.read_text()


# -------------------------------------------------------------------------------------------------------------- events


def shared_event(device: str = "openreg") -> torch.Event:
    return torch.openreg.Event(device, interprocess=True)


def test_streams_of_two_processes_wait_for_each_other_and_no_host_does(
    other: Other, device: str, gate: GateFunction
) -> None:
    x = torch.zeros(5, device=device)
    there, back = shared_event(device), shared_event(device)
    other.does("x = sent[0]", x)
    writing, reading = (torch.openreg.Stream(device) for _ in range(2))
    closed = gate(writing)
    with torch.openreg.stream(writing):
        x.fill_(5)
    there.record(writing)
    done = other.does(
        """
        there, back = sent
        stream = torch.openreg.Stream(x.device)
        stream.wait_event(there)
        with torch.openreg.stream(stream):
            x.add_(1)
        back.record(stream)
        out = there.query(), back.query(), stream.query()
        """,
        there,
        back,
    )
    assert done == (False, False, False)
    back.wait(reading)
    with torch.openreg.stream(reading):
        x.mul_(10)
    assert not reading.query() and not back.query()
    closed.open()
    reading.synchronize()
    assert back.query() and there.query()
    assert torch.equal(x.cpu(), torch.full((5,), 60.0))


def test_whoever_records_last_is_waited_for(other: Other, gate: GateFunction) -> None:
    event, before = shared_event(), shared_event()
    event.record()
    event.synchronize()
    stream = torch.openreg.Stream()
    closed = gate(stream)
    before.record(stream)
    other.does("event, before = sent; s = torch.openreg.Stream(); s.wait_event(before); event.record(s)", event, before)
    assert not event.query()
    waiting = Call(event.synchronize)
    assert waiting.blocks()
    closed.open()
    waiting.result()
    assert event.query()


def test_an_event_that_was_never_recorded_is_complete_on_both_sides(other: Other) -> None:
    event = shared_event()
    assert event.query()
    event.synchronize()
    assert other.does("event = sent[0]; event.synchronize(); event.wait(); out = event.query()", event)


def test_an_event_is_of_its_device_and_leaves_the_current_one(other: Other) -> None:
    event = shared_event("openreg:1")
    assert str(event.device) == "openreg:1" and torch.openreg.current_device() == 0
    event.record(torch.openreg.default_stream(1))
    with pytest.raises(RuntimeError, match="event of openreg:1 cannot be recorded on openreg:0"):
        event.record(torch.openreg.default_stream(0))
    got = other.does("event = sent[0]; out = str(event.device), torch.openreg.current_device()", event)
    assert got == ("openreg:1", 0)
    handle = event.ipc_handle()
    got = other.does("out = str(torch.openreg.Event.from_ipc_handle('openreg:0', sent[0]).device)", handle)
    assert got == "openreg:0"


def test_an_event_of_one_process_has_no_handle(other: Other) -> None:
    shared = shared_event()
    event = torch.openreg.Event()
    with pytest.raises(ValueError, match="made without interprocess=True; expected one made with it"):
        event.ipc_handle()
    event.record()
    with pytest.raises(RuntimeError, match="was created without orEventInterprocess"):
        event.ipc_handle()
    assert len(shared.ipc_handle()) == 64
    with pytest.raises(ValueError, match="both 'enable_timing' and 'interprocess' are True; expected one of them"):
        torch.openreg.Event(enable_timing=True, interprocess=True)
    assert "share: argument 'event' is a int; expected a torch.Event" in other.does(
        """
        from torch_openreg import _C
        try:
            _C._shared_event_handle(3)
        except TypeError as error:
            out = str(error)
        """
    )


@pytest.mark.parametrize(
    ("device", "handle", "error", "text"),
    [
        (None, b"short", ValueError, "argument 'handle' has 5 bytes; expected the 64 of ipc_handle()"),
        (None, bytes(64), RuntimeError, "orIpcOpenEventHandle: argument 'handle'"),
        ("openreg:7", bytes(64), ValueError, "from_ipc_handle: argument 'device' has index 7; there are 2"),
        ("cpu", bytes(64), ValueError, "from_ipc_handle: argument 'device'"),
    ],
)
def test_what_is_no_handle_is_refused_and_later_events_are_their_own(
    device: str | None, handle: bytes, error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as said:
        torch.openreg.Event.from_ipc_handle(device, handle)
    assert text in str(said.value)
    event = torch.openreg.Event()
    event.record()
    with pytest.raises(RuntimeError, match="was created without orEventInterprocess"):
        event.ipc_handle()


def test_an_event_that_its_process_has_dropped_cannot_be_opened(other: Other) -> None:
    event = shared_event()
    handle = event.ipc_handle()
    del event
    said = other.does(
        """
        try:
            torch.openreg.Event.from_ipc_handle(None, sent[0])
        except RuntimeError as error:
            out = str(error)
        """,
        handle,
    )
    assert "orIpcOpenEventHandle: argument 'handle'" in said


def test_events_that_are_shared_and_dropped_leave_nothing(other: Other) -> None:
    other.does("torch.openreg.synchronize()")
    torch.openreg.synchronize()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        event = shared_event()
        other.does("event = sent[0]; event.record(); del event", event)
        del event
    assert len(os.listdir("/proc/self/fd")) <= before + 2
