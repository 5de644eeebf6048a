"""Streams and events: objects, the current stream, order between streams, late errors, and how it all ends."""

from __future__ import annotations

import contextlib
import ctypes
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_openreg  # noqa: F401
from contract.harness import Call, wait_until

from .conftest import GateFunction, ProgramFunction
from .probe import built
from .simulator import handle, sim

openreg = torch.openreg
STREAMS = 32  # of each device and priority
PRIVATEUSE1 = 20  # PyTorch's number of the device type


def index_of(device: str) -> int:
    """The number in a device's name."""
    return torch.device(device).index


def settled(*values: float, device: str) -> torch.Tensor:
    """A tensor whose values are there, whatever stream is current."""
    x = torch.tensor(values, dtype=torch.float32).to(device)
    openreg.synchronize(device)
    return x


def asked(entry: str, stream: torch.Stream) -> int:
    """What the driver says about a stream."""
    answer = sim.ffi.new("int*")
    sim.ok(sim.call(entry, handle(stream), answer))
    return answer[0]


# ----------------------------------------------------------------------- objects


@pytest.mark.usefixtures("puts_back")
def test_a_stream_without_an_index_is_of_the_current_device(device: str) -> None:
    openreg.set_device(device)
    for stream in (torch.Stream("openreg"), torch.Stream(), openreg.Stream(), openreg.Stream("openreg")):
        assert str(stream.device) == device
        with stream:
            assert openreg.current_stream() == stream
        assert asked("orStreamGetDevice", stream) == index_of(device)


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("give", [str, torch.device, index_of])
def test_a_stream_takes_a_device_in_any_form(
    device: str, other_device: str, give: Callable[[str], str | torch.device | int]
) -> None:
    openreg.set_device(other_device)
    assert str(openreg.Stream(give(device)).device) == device
    assert openreg.current_device() == index_of(other_device)


def test_a_stream_of_numbers_is_the_stream_that_has_them(device: str) -> None:
    stream = openreg.Stream(device)
    numbers = {"stream_id": stream.stream_id, "device_index": stream.device_index, "device_type": PRIVATEUSE1}
    for same in (openreg.Stream(**numbers), torch.Stream(**numbers)):
        assert (same, hash(same), same.native_handle) == (stream, hash(stream), stream.native_handle)
    assert isinstance(openreg.Stream(**numbers), openreg.Stream)
    assert isinstance(stream, torch.Stream)


def test_the_33rd_stream_is_the_first_again(device: str) -> None:
    made = [torch.Stream(device) for _ in range(2 * STREAMS)]
    assert made[STREAMS:] == made[:STREAMS]
    assert len({stream.native_handle for stream in made}) == STREAMS
    assert openreg.default_stream(device) not in made


def test_devices_and_priorities_have_streams_of_their_own() -> None:
    handles = {
        openreg.Stream(index, priority).native_handle
        for index in (0, 1)
        for priority in (0, -1)
        for _ in range(2 * STREAMS)
    }
    assert len(handles) == 4 * STREAMS


def test_a_priority_is_put_into_the_devices_range(device: str) -> None:
    least, greatest = openreg.Stream.priority_range(device)
    assert (least, greatest) == (0, -1)
    for asked_for, got in ((0, 0), (-1, -1), (-100, greatest), (100, least)):
        for stream in (openreg.Stream(device, asked_for), torch.Stream(device, priority=asked_for)):
            assert asked("orStreamGetPriority", stream) == got
    assert openreg.Stream(device, -1).priority == -1
    assert openreg.default_stream(device).priority == 0


def test_threads_that_make_streams_at_once_get_each_stream_once(program: ProgramFunction) -> None:
    said = program("""
        barrier, made = threading.Barrier(8), []
        def work():
            barrier.wait()
            made.extend(torch.Stream("openreg:1") for _ in range(8))
        threads = [threading.Thread(target=work) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        print(len(made), len({s.stream_id for s in made}), len({s.native_handle for s in made}))
    """)
    assert said == "64 32 32\n"


def test_making_a_stream_starts_no_thread(program: ProgramFunction) -> None:
    said = program("""
        streams = [torch.Stream("openreg") for _ in range(32)]
        print(sim.get("orSimThreadCount"))
        with streams[3]:
            x = torch.empty(3, device="openreg")
            x.copy_(x.clone())
            torch.openreg.synchronize()
        print(sim.get("orSimThreadCount"))
    """)
    assert said.splitlines() == ["0", "1"]


def test_a_stream_that_cannot_be_made_is_an_error_and_the_next_one_works(program: ProgramFunction) -> None:
    said = program("""
        sim.lib.orSimFailCall(b"orStreamCreateWithPriority", 1, sim.errors["orErrorMemoryAllocation"])
        try:
            torch.Stream("openreg:1")
        except torch.OutOfMemoryError as error:
            print(error)
        print(torch.openreg.current_device(), torch.Stream("openreg:1").query())
    """)
    assert said.startswith("openreg: orStreamCreateWithPriority: ")
    assert said.endswith("\n0 True\n")


@pytest.mark.parametrize("wrong", ["cpu", "openreg:2", 7, -1, 2.5, True])
def test_a_device_that_is_none_is_refused(wrong: Any) -> None:
    for function in (openreg.Stream, openreg.current_stream, openreg.default_stream, openreg.Event):
        with pytest.raises((ValueError, TypeError), match=rf"^{function.__name__}: argument 'device' "):
            function(wrong)


def test_a_device_that_is_not_there_is_refused_by_pytorchs_own_class() -> None:
    with pytest.raises(RuntimeError, match="openreg: The device index is out of range: expected 0 to 1, but got 2"):
        torch.Stream("openreg:2")


@pytest.mark.parametrize("number", [-1, 128, 129, 1 << 40, -(1 << 40)])
def test_a_number_that_is_no_streams_is_refused(device: str, number: int) -> None:
    wrong = torch.Stream(stream_id=number, device_index=index_of(device), device_type=PRIVATEUSE1)
    before = openreg.current_stream(device)
    text = (
        rf"openreg: device {device} has no stream {number}; expected 0, its default stream, or the number of a stream "
        "that torch.Stream has made"
    )
    for use in (
        lambda: openreg.set_stream(wrong),
        lambda: wrong.native_handle,
        wrong.query,
        wrong.synchronize,
        wrong.record_event,
        lambda: openreg.current_stream(device).wait_stream(wrong),
        lambda: openreg.stream(wrong).__enter__(),
    ):
        with pytest.raises(RuntimeError, match=text):
            use()
        assert openreg.current_device() == 0
    assert openreg.current_stream(device) == before


def test_a_number_that_has_not_been_given_out_is_refused(program: ProgramFunction) -> None:
    said = program("""
        for number in (1, 2, 33):
            try:
                torch.openreg.set_stream(torch.Stream(stream_id=number, device_index=0, device_type=20))
            except RuntimeError as error:
                print(str(error).split(";")[0])
        torch.Stream("openreg:0")
        torch.openreg.set_stream(torch.Stream(stream_id=1, device_index=0, device_type=20))
    """)
    assert said.splitlines() == [f"openreg: device openreg:0 has no stream {number}" for number in (1, 2, 33)]


def test_streams_of_other_types_are_refused() -> None:
    for use in (openreg.set_stream, lambda stream: openreg.stream(stream).__enter__()):
        text = r"(stream's device type CPU|cpu) doesn't match the current accelerator (OPENREG|openreg)"
        with pytest.raises((RuntimeError, ValueError), match=text):
            use(torch.Stream("cpu"))


# ------------------------------------------------------------- the current stream


@pytest.mark.usefixtures("puts_back")
def test_each_device_has_a_current_stream(device: str, other_device: str) -> None:
    stream = torch.Stream(device)
    openreg.set_stream(stream)
    assert openreg.current_stream(device) == stream
    assert openreg.current_stream(other_device) == openreg.default_stream(other_device)
    assert torch.accelerator.current_stream(device) == stream
    assert isinstance(openreg.current_stream(device), openreg.Stream)


@pytest.mark.usefixtures("puts_back")
def test_setting_a_stream_makes_its_device_current(device: str, other_device: str) -> None:
    for set_stream in (openreg.set_stream, torch.accelerator.set_stream):
        openreg.set_device(other_device)
        set_stream(torch.Stream(device))
        assert openreg.current_device() == index_of(device)


def test_setting_none_changes_nothing() -> None:
    before = openreg.current_stream()
    openreg.set_stream(None)
    with openreg.stream(None) as entered:
        assert (entered, openreg.current_stream()) == (None, before)


@pytest.mark.usefixtures("puts_back")
def test_each_thread_has_its_own_current_stream(device: str) -> None:
    mine, theirs = torch.Stream(device), torch.Stream(device)
    openreg.set_stream(mine)

    def other() -> list[torch.Stream]:
        first = openreg.current_stream(device)
        openreg.set_stream(theirs)
        return [first, openreg.current_stream(device)]

    assert Call(other).result() == [openreg.default_stream(device), theirs]
    assert openreg.current_stream(device) == mine


CONTEXTS: dict[str, Callable[[torch.Stream], Any]] = {"torch.openreg.stream": openreg.stream, "itself": lambda it: it}


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("name", CONTEXTS)
def test_a_context_puts_back_stream_and_device(device: str, other_device: str, name: str) -> None:
    context = CONTEXTS[name]
    before, there, inside = torch.Stream(device), torch.Stream(other_device), torch.Stream(device)
    openreg.set_stream(before)
    openreg.set_stream(there)
    with context(inside) as entered:
        assert entered is inside
        assert openreg.current_stream() == inside
        assert openreg.current_device() == index_of(device)
        assert openreg.current_stream(other_device) == there
    assert openreg.current_stream(device) == before
    assert openreg.current_stream() == there
    assert openreg.current_device() == index_of(other_device)


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("name", CONTEXTS)
def test_a_context_puts_back_stream_and_device_after_an_exception(device: str, other_device: str, name: str) -> None:
    openreg.set_device(other_device)
    with pytest.raises(ZeroDivisionError), CONTEXTS[name](torch.Stream(device)):
        raise ZeroDivisionError
    assert openreg.current_stream(device) == openreg.default_stream(device)
    assert openreg.current_device() == index_of(other_device)


@pytest.mark.parametrize("name", CONTEXTS)
def test_contexts_nest_also_those_of_the_same_stream(device: str, other_device: str, name: str) -> None:
    context = CONTEXTS[name]
    first, second = torch.Stream(device), torch.Stream(other_device)
    with context(first), context(second), context(first), context(first):
        assert (openreg.current_stream(device), openreg.current_stream(other_device)) == (first, second)
        openreg.set_stream(torch.Stream(device))  # the context doesn't mind what happens inside
    assert openreg.current_stream(device) == openreg.default_stream(device)
    assert openreg.current_stream(other_device) == openreg.default_stream(other_device)
    assert openreg.current_device() == 0


# One object that is entered again before it is left: a context, or a stream of ours, which is a context itself.
REENTERED: dict[str, Callable[[str], Any]] = {
    "torch.openreg.stream": lambda device: openreg.stream(torch.Stream(device)),
    "torch.openreg.Stream": openreg.Stream,
}


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("name", REENTERED)
def test_one_object_can_be_entered_while_it_is_entered(device: str, other_device: str, name: str) -> None:
    before = torch.Stream(device)
    openreg.set_stream(before)
    openreg.set_device(other_device)
    context = REENTERED[name](device)
    with context as inside, openreg.stream(before), context:
        with context:
            assert openreg.current_stream() == inside
        assert openreg.current_stream() == inside
    assert openreg.current_stream(device) == before
    assert openreg.current_device() == index_of(other_device)


def put_back_after_two_threads(shared: Any, device: str) -> list[bool]:
    """Whether each of two threads, of which the first to enter `shared` is the first to leave, has its own stream."""
    inside, left = [threading.Event(), threading.Event()], threading.Event()

    def work(me: int, wait_for: threading.Event) -> bool:
        mine = torch.Stream(device)
        openreg.set_stream(mine)
        if me == 1:
            inside[0].wait(30)
        with shared:
            inside[me].set()
            wait_for.wait(30)  # the first in is the first out
        left.set()
        return openreg.current_stream(device) == mine

    calls = [Call(lambda: work(0, inside[1])), Call(lambda: work(1, left))]
    return [call.result() for call in calls]


@pytest.mark.parametrize("name", REENTERED)
def test_one_object_in_two_threads_puts_back_each_threads_own(device: str, name: str) -> None:
    assert put_back_after_two_threads(REENTERED[name](device), device) == [True, True]


def test_the_context_of_pytorchs_own_stream_mixes_threads_up(device: str) -> None:
    assert put_back_after_two_threads(torch.Stream(device), device) == [False, False]


@pytest.mark.parametrize("name", REENTERED)
def test_an_object_that_could_not_be_entered_puts_nothing_back(device: str, name: str) -> None:
    number = {"stream_id": 99, "device_index": index_of(device), "device_type": PRIVATEUSE1}
    wrong = openreg.Stream(**number)
    context = wrong if name == "torch.openreg.Stream" else openreg.stream(wrong)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="has no stream 99"), context:
            raise AssertionError
    assert openreg.current_stream(device) == openreg.default_stream(device)
    assert openreg.current_device() == 0


@pytest.mark.usefixtures("puts_back")
def test_the_context_makes_a_device_current_whose_stream_was_so_already(device: str, other_device: str) -> None:
    openreg.set_device(other_device)
    with openreg.stream(openreg.current_stream(device)):
        assert openreg.current_device() == index_of(device)
    assert openreg.current_device() == index_of(other_device)


@pytest.mark.usefixtures("puts_back")
def test_a_streams_own_context_leaves_the_device_where_the_stream_was_current(device: str, other_device: str) -> None:
    # PyTorch's: torch.Stream.__enter__ does nothing if the stream is its device's current one, for any accelerator.
    openreg.set_device(other_device)
    with torch.accelerator.current_stream(device):
        assert openreg.current_device() == index_of(other_device)


def test_two_threads_may_be_in_the_context_of_one_stream(device: str) -> None:
    shared, entered, leave = torch.Stream(device), threading.Barrier(2), threading.Event()

    def work() -> list[torch.Stream]:
        mine = torch.Stream(device)
        openreg.set_stream(mine)
        with openreg.stream(shared):
            entered.wait(30)
            leave.wait(30)
            inside = openreg.current_stream(device)
        return [inside, openreg.current_stream(device) == mine]

    calls = [Call(work), Call(work)]
    leave.set()
    assert [call.result() for call in calls] == [[shared, True]] * 2


def test_a_stream_that_ends_with_its_thread_can_be_used_by_others(device: str) -> None:
    x = settled(1, 2, device=device)

    def work() -> torch.Tensor:
        openreg.set_stream(torch.Stream(device))
        return x.clone()

    for _ in range(3 * STREAMS):
        assert Call(work).result().shape == (2,)
    openreg.synchronize(device)
    with torch.Stream(device):
        assert x.clone().tolist() == [1, 2]


# ------------------------------------------------------------ what C++ asks the guard


@pytest.fixture(scope="module")
def guard(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """Functions of the guard that Python doesn't reach."""
    probe = ctypes.CDLL(str(built("guard_probe", tmp_path_factory.mktemp("guard"))))
    probe.from_pool.restype = probe.exchange.restype = ctypes.c_int64
    return probe


@pytest.mark.usefixtures("puts_back")
def test_the_global_pool_is_the_same_pool(device: str, other_device: str, guard: ctypes.CDLL) -> None:
    openreg.set_device(other_device)
    for high, priority in ((False, 0), (True, -1)):
        index = ctypes.c_int(index_of(device))
        number = guard.from_pool(ctypes.byref(index), ctypes.c_bool(high))
        stream = openreg.Stream(stream_id=number, device_index=index.value, device_type=PRIVATEUSE1)
        assert (str(stream.device), stream.priority) == (device, priority)
        with stream:
            assert (torch.ones(2, device=device) * 2).tolist() == [2, 2]
        assert stream in {torch.Stream(device, priority=priority) for _ in range(STREAMS)}
    index = ctypes.c_int(-1)
    guard.from_pool(ctypes.byref(index), ctypes.c_bool(False))
    assert index.value == index_of(other_device)


@pytest.mark.usefixtures("puts_back")
def test_a_guard_in_cpp_puts_back_stream_and_device(device: str, other_device: str, guard: ctypes.CDLL) -> None:
    before, inside = torch.Stream(device), torch.Stream(device)
    openreg.set_stream(before)
    openreg.set_device(other_device)
    current_device, current_stream = ctypes.c_int(), ctypes.c_int64()
    number = ctypes.c_int64(inside.stream_id)
    guard.inside_guard(index_of(device), number, ctypes.byref(current_device), ctypes.byref(current_stream))
    assert (current_device.value, current_stream.value) == (index_of(device), inside.stream_id)
    assert (openreg.current_stream(device), openreg.current_device()) == (before, index_of(other_device))


@pytest.mark.usefixtures("puts_back")
def test_exchanging_the_stream_leaves_the_current_device_alone(
    device: str, other_device: str, guard: ctypes.CDLL
) -> None:
    stream = torch.Stream(device)
    openreg.set_device(other_device)
    assert guard.exchange(index_of(device), ctypes.c_int64(stream.stream_id)) == 0
    assert openreg.current_device() == index_of(other_device)
    assert openreg.current_stream(device) == stream


# ------------------------------------------------------------------------- order


def test_what_another_stream_has_not_written_yet_is_seen_stale(device: str, gate: GateFunction) -> None:
    x, ones, side = settled(0, 0, device=device), settled(1, 1, device=device), torch.Stream(device)
    closed = gate(side)
    with side:
        x.copy_(ones)
    assert x.tolist() == [0, 0], "nothing orders the two streams"
    closed.open()
    side.synchronize()
    assert x.tolist() == [1, 1]


def wait_event(waiter: torch.Stream, other: torch.Stream) -> None:
    waiter.wait_event(other.record_event())


def event_wait(waiter: torch.Stream, other: torch.Stream) -> None:
    event = openreg.Event()
    event.record(other)
    event.wait(waiter)


def waits_in_its_context(waiter: torch.Stream, other: torch.Stream) -> None:
    event = torch.Event("openreg")
    with openreg.stream(other):
        event.record()
    with openreg.stream(waiter):
        event.wait()


def wait_stream(waiter: torch.Stream, other: torch.Stream) -> None:
    waiter.wait_stream(other)


WAITS = [wait_stream, wait_event, event_wait, waits_in_its_context]


@pytest.mark.parametrize("wait", WAITS)
def test_with_a_wait_the_data_is_right_and_the_host_goes_on(
    device: str, gate: GateFunction, wait: Callable[[torch.Stream, torch.Stream], None]
) -> None:
    x, ones = settled(0, 0, device=device), settled(1, 1, device=device)
    writer, reader = openreg.Stream(device), openreg.Stream(device)
    closed = gate(writer)
    with writer:
        x.copy_(ones)
    wait(reader, writer)
    with reader:
        y = x.clone()
    assert not reader.query(), "the reader's work waits on the device; the host is here"
    closed.open()
    with reader:
        assert y.tolist() == [1, 1]


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("wait", WAITS)
def test_a_stream_may_wait_for_one_of_another_device(
    device: str, other_device: str, gate: GateFunction, wait: Callable[[torch.Stream, torch.Stream], None]
) -> None:
    writer, reader = openreg.Stream(other_device), openreg.Stream(device)
    x = settled(1, 2, device=device)
    closed = gate(writer)
    openreg.set_device(other_device)
    wait(reader, writer)
    with reader:
        y = x.clone()
    assert not reader.query()
    assert openreg.default_stream(device).query()
    closed.open()
    with reader:
        assert y.tolist() == [1, 2]
    assert openreg.current_device() == index_of(other_device)


def test_a_wait_concerns_only_what_comes_after_it(device: str, gate: GateFunction) -> None:
    slow, quick = torch.Stream(device), torch.Stream(device)
    x = settled(1, 2, device=device)
    closed = gate(slow)
    with quick:
        before = x.clone()
        event = quick.record_event()
    quick.wait_stream(slow)
    event.synchronize()
    assert not quick.query()
    with torch.Stream(device):
        assert before.tolist() == [1, 2]
    closed.open()


def test_a_stream_does_not_wait_for_what_is_queued_after_the_event(device: str, gate: GateFunction) -> None:
    first, second = torch.Stream(device), torch.Stream(device)
    event = first.record_event()
    gate(first)
    second.wait_event(event)
    second.synchronize()
    assert event.query()
    assert not first.query()


def test_streams_of_two_threads_are_ordered_by_an_event(device: str, gate: GateFunction) -> None:
    x, ones, event = settled(0, 0, device=device), settled(1, 1, device=device), torch.Event(device)
    closed, recorded = gate(writer := torch.Stream(device)), threading.Event()

    def write() -> None:
        with openreg.stream(writer):
            x.copy_(ones)
            event.record()
        recorded.set()

    def read() -> list[float]:
        with openreg.stream(torch.Stream(device)) as reader:
            recorded.wait(30)
            reader.wait_event(event)
            return x.tolist()

    reading = Call(read)
    Call(write).result()
    assert reading.blocks()
    closed.open()
    assert reading.result() == [1, 1]


# ------------------------------------------------------------- what the host asks


def test_query_and_synchronize_of_a_stream_see_that_stream_only(device: str, gate: GateFunction) -> None:
    busy, idle = torch.Stream(device), torch.Stream(device)
    closed = gate(busy)
    assert not busy.query()
    assert idle.query()
    idle.synchronize()
    waiting = Call(busy.synchronize)
    assert waiting.blocks()
    closed.open()
    waiting.result()
    assert busy.query()


def test_a_synchronize_of_the_device_waits_for_all_its_streams(
    device: str, other_device: str, gate: GateFunction
) -> None:
    closed = gate(torch.Stream(device))
    openreg.synchronize(other_device)
    waiting = Call(lambda: openreg.synchronize(device))
    assert waiting.blocks()
    closed.open()
    waiting.result()


def test_the_default_stream_waits_for_nobody(device: str, gate: GateFunction) -> None:
    closed = gate(torch.Stream(device))
    x = torch.tensor([5.0]).to(device)
    y = x.clone()
    assert x.tolist() == y.tolist() == [5]
    assert openreg.default_stream(device).query()
    closed.open()


def test_an_event_completes_with_the_work_before_it(device: str, gate: GateFunction) -> None:
    stream, event = torch.Stream(device), torch.Event(device)
    closed = gate(stream)
    event.record(stream)
    assert not event.query()
    waiting = Call(event.synchronize)
    assert waiting.blocks()
    closed.open()
    waiting.result()
    assert event.query()


def test_an_event_that_was_never_recorded_makes_nobody_wait(device: str, gate: GateFunction) -> None:
    stream = torch.Stream(device)
    gate(other := torch.Stream(device))
    for event in (torch.Event(device), openreg.Event(device)):
        assert event.query()
        event.synchronize()
        stream.wait_event(event)
        stream.synchronize()
    assert not other.query()


def test_recording_again_makes_a_new_version_and_leaves_earlier_waiters_alone(device: str, gate: GateFunction) -> None:
    first, second, waiter = (torch.Stream(device) for _ in range(3))
    event = torch.Event(device)
    early, late = gate(first), gate(second)
    event.record(first)
    waiter.wait_event(event)  # for the version of the first stream
    event.record(second)
    assert not waiter.query()
    early.open()
    waiter.synchronize()
    assert not event.query(), "its latest version is the second stream's"
    waiting = Call(event.synchronize)
    assert waiting.blocks()
    late.open()
    waiting.result()


def test_a_waiter_of_the_new_version_waits_for_it(device: str, gate: GateFunction) -> None:
    first, second, waiter = (torch.Stream(device) for _ in range(3))
    event = torch.Event(device)
    event.record(first)
    late = gate(second)
    event.record(second)
    waiter.wait_event(event)
    assert not waiter.query()
    late.open()
    waiter.synchronize()


def test_a_destroyed_event_still_orders_those_who_wait(device: str, gate: GateFunction) -> None:
    writer, waiter = torch.Stream(device), torch.Stream(device)
    closed = gate(writer)
    event = writer.record_event()
    waiter.wait_event(event)
    gone = weakref.ref(event)
    del event
    assert gone() is None
    assert not waiter.query()
    closed.open()
    waiter.synchronize()


@pytest.mark.usefixtures("puts_back")
def test_an_event_is_of_the_device_of_its_first_record(device: str, other_device: str) -> None:
    openreg.set_device(other_device)
    event = openreg.Event()
    event.record(torch.Stream(device))
    assert str(event.device) == device
    event.record(openreg.current_stream(device))
    event.synchronize()


def test_an_event_that_dies_gives_the_drivers_event_back(device: str) -> None:
    event = torch.Event(device)
    event.record(torch.Stream(device))
    event.synchronize()
    mine = sim.ffi.cast("orEvent_t", event.event_id)
    sim.ok(sim.lib.orEventQuery(mine))
    del event
    sim.check(sim.lib.orEventQuery(mine), "orErrorInvalidHandle")
    sim.lib.orGetLastError()


def test_an_event_cannot_be_recorded_on_another_device() -> None:
    event = torch.Stream("openreg:0").record_event()
    with pytest.raises(RuntimeError, match=r"^record: event of openreg:0 cannot be recorded on openreg:1"):
        event.record(torch.Stream("openreg:1"))
    event.synchronize()


@pytest.mark.usefixtures("puts_back")
def test_an_event_is_recorded_on_the_current_stream_of_the_current_device(device: str, gate: GateFunction) -> None:
    side, event = torch.Stream(device), openreg.Event()
    gate(side)
    openreg.set_device(device)
    with side:
        event.record()
    assert not event.query()
    assert str(event.device) == device


def test_record_event_returns_the_event(device: str) -> None:
    stream, mine = openreg.Stream(device), torch.Event(device)
    assert stream.record_event(mine) is mine
    ours = stream.record_event()
    assert isinstance(ours, openreg.Event)
    assert stream.record_event(ours) is ours
    assert isinstance(torch.Stream(device).record_event(), torch.Event)


def test_pytorchs_own_methods_take_pytorchs_own_events_only() -> None:
    ours, theirs = openreg.Event(enable_timing=True), torch.Event("openreg", enable_timing=True)
    with pytest.raises(RuntimeError, match=r"^expected event to be a torch\.Event object"):
        torch.Stream("openreg").record_event(ours)
    with pytest.raises(RuntimeError, match=r"^expected other to be a torch\.Event object"):
        theirs.elapsed_time(ours)


def test_a_stream_without_a_handle_says_so() -> None:
    with pytest.raises(RuntimeError, match=r"^Backend doesn't support getting stream native handle\."):
        torch.Stream("cpu").native_handle  # noqa: B018 - a property


@pytest.mark.parametrize("make", [torch.Event, openreg.Event])
def test_elapsed_time_is_that_of_the_device(device: str, make: type[torch.Event]) -> None:
    x = settled(1, 2, device=device)
    start, end = (make(device, enable_timing=True) for _ in range(2))
    stream = torch.Stream(device)
    sim.ok(sim.lib.orSimSetDelay(index_of(device), 20_000, 20_000))
    try:
        with stream:
            start.record()
            x.clone()
            end.record()
        end.synchronize()
    finally:
        sim.ok(sim.lib.orSimSetDelay(index_of(device), 0, 0))
    assert 20 <= start.elapsed_time(end) < 20_000
    assert end.elapsed_time(start) == -start.elapsed_time(end)


@pytest.mark.parametrize("make", [torch.Event, openreg.Event])
def test_elapsed_time_refuses_events_that_cannot_tell(
    device: str, other_device: str, gate: GateFunction, make: type[torch.Event]
) -> None:
    stream = torch.Stream(device)
    timed, untimed, never = (make(device, enable_timing=enable) for enable in (True, False, True))
    timed.record(stream)
    untimed.record(stream)
    with pytest.raises(ValueError, match=r"^Both events must be created with argument 'enable_timing=True'"):
        timed.elapsed_time(untimed)
    with pytest.raises(ValueError, match=r"^Both events must be recorded before calculating elapsed time"):
        timed.elapsed_time(never)
    elsewhere = make(other_device, enable_timing=True)
    elsewhere.record(torch.Stream(other_device))
    elsewhere.synchronize()
    timed.synchronize()
    with pytest.raises(torch.AcceleratorError, match=r"orEventElapsedTime: argument 'end' is an event of device"):
        timed.elapsed_time(elsewhere)
    gate(stream)
    late = make(device, enable_timing=True)
    late.record(stream)
    with pytest.raises(RuntimeError, match=r"^Both events must be completed before calculating elapsed time\."):
        timed.elapsed_time(late)


def test_elapsed_time_takes_events_of_either_class_and_nothing_else(device: str) -> None:
    ours, theirs = openreg.Event(device, enable_timing=True), torch.Event(device, enable_timing=True)
    for event in (ours, theirs):
        event.record(torch.Stream(device))
        event.synchronize()
    assert isinstance(ours.elapsed_time(theirs), float)
    with pytest.raises(TypeError, match=r"elapsed_time: argument 'end_event' is of type int; expected a torch\.Event"):
        ours.elapsed_time(3)


# ------------------------------------------------ everything runs on the current stream

# Each reads x, which is written on the current stream just before: on any other stream it would see zeros.
WORK: dict[str, Callable[[torch.Tensor], Any]] = {
    "copy to the host": lambda x: x.cpu(),
    "copy of a part to the host": lambda x: x[:, 1].cpu(),
    "clone": lambda x: x.clone(),
    "strided copy": lambda x: x.t().contiguous(),
    "cast": lambda x: x.to(torch.float64),
    "cast to the host": lambda x: x.to("cpu", torch.int64),
    "copy to the other device": lambda x: x.to(f"openreg:{1 - x.device.index}"),
    "item": lambda x: x[1, 1].item(),
    "an operator": lambda x: x + x,
    "an operator in place": lambda x: x.clone().mul_(3),
    "an operator with out": lambda x: torch.exp(x, out=torch.empty_like(x)),
    "a fallback": lambda x: torch.special.erfcx(x),
    "a fallback of a view": lambda x: torch.special.erfcx(x.t()),
    "a reduction": lambda x: x.sum(1),
    "a product": lambda x: x @ x,
    "a comparison": lambda x: torch.equal(x, x.clone()),
    "resize": lambda x: x.clone().resize_(4, 2)[:2],
    "a convolution": lambda x: torch.nn.functional.conv1d(x[None], torch.ones(1, 2, 2, device=x.device)),
    "to the host without blocking": lambda x: torch.empty(2, 2).copy_(x, non_blocking=True),
    "print": str,
}


def test_work_goes_to_the_stream_that_was_set_last(device: str, gate: GateFunction) -> None:
    x, ones = settled(0, 0, device=device), settled(1, 1, device=device)  # the default stream has been used already
    side = torch.Stream(device)
    closed = gate(side)
    with side:
        x.copy_(ones)
    assert x.tolist() == [0, 0], "the default stream has not been given it"
    closed.open()
    side.synchronize()
    assert x.tolist() == [1, 1]


@pytest.mark.parametrize("name", WORK)
def test_work_is_done_on_the_current_stream_behind_what_is_queued_there(
    device: str, gate: GateFunction, name: str
) -> None:
    work = WORK[name]
    values = settled(*range(1, 5), device=device).view(2, 2)
    expected = work(values)
    expected = expected.cpu() if isinstance(expected, torch.Tensor) else expected
    openreg.synchronize(0), openreg.synchronize(1)
    x, side = torch.zeros(2, 2, device=device), torch.Stream(device)
    openreg.synchronize(device)
    closed = gate(side)

    def run() -> Any:
        with openreg.stream(side):
            x.copy_(values)
            result = work(x)
            side.synchronize()
            return result.cpu() if isinstance(result, torch.Tensor) else result

    call = Call(run)
    assert call.blocks()
    closed.open()
    result = call.result()
    if isinstance(result, torch.Tensor):
        torch.testing.assert_close(result, expected)
    else:
        assert result == expected


def test_values_from_the_host_arrive_on_the_current_stream(device: str, gate: GateFunction) -> None:
    x, side = settled(0, 0, device=device), torch.Stream(device)
    closed = gate(side)

    def write() -> None:
        with openreg.stream(side):
            x.copy_(torch.tensor([1.0, 2.0]))

    call = Call(write)
    assert call.blocks(), "pageable memory: the copy is synchronous, on its stream"
    assert x.tolist() == [0, 0]
    closed.open()
    call.result()
    assert x.tolist() == [1, 2]


@pytest.mark.usefixtures("puts_back")
def test_a_copy_between_devices_waits_for_the_current_streams_of_both(
    device: str, other_device: str, gate: GateFunction
) -> None:
    x, ones = settled(0, 0, device=device), settled(1, 1, device=device)
    y = settled(5, 5, device=other_device)
    here, there = torch.Stream(device), torch.Stream(other_device)
    openreg.set_stream(there)
    openreg.set_stream(here)
    gates = [gate(here), gate(there)]
    x.copy_(ones)
    before = y.clone()  # reads y before the copy overwrites it
    y.copy_(x)
    after = y.clone()
    gates[0].open()
    assert not here.query(), "the copy waits for the stream that still uses its target"
    gates[1].open()
    assert (before.tolist(), after.tolist()) == ([5, 5], [1, 1])


@pytest.mark.usefixtures("puts_back")
def test_the_stream_is_that_of_the_tensors_device_not_of_the_current_one(
    device: str, other_device: str, gate: GateFunction
) -> None:
    x, ones, side = settled(0, 0, device=device), settled(1, 1, device=device), torch.Stream(device)
    openreg.set_stream(side)
    openreg.set_device(other_device)
    closed = gate(side)
    x.copy_(ones)
    assert not side.query()
    assert openreg.default_stream(device).query()
    closed.open()
    assert x.tolist() == [1, 1]


def test_threads_with_streams_of_their_own_do_not_disturb_each_other() -> None:
    def work(seed: int) -> None:
        device = f"openreg:{seed % 2}"
        with openreg.stream(torch.Stream(device)):
            x = torch.full((64,), float(seed)).to(device)
            y = torch.empty_like(x)
            for _ in range(50):
                y.copy_(x)
                x.copy_(y)
            assert (x + y).tolist() == [2.0 * seed] * 64
            assert openreg.current_stream(device).stream_id != 0

    for call in [Call(lambda seed=seed: work(seed)) for seed in range(8)]:
        call.result()


def test_the_native_handle_is_the_drivers(device: str, other_device: str, gate: GateFunction) -> None:
    x, ones, side = settled(0, 0, device=device), settled(1, 1, device=device), torch.Stream(device)
    closed = gate(index_of(other_device))
    side.wait_event(openreg.default_stream(other_device).record_event())  # a gate would have to be told side's handle
    with side:
        x.copy_(ones)
        sim.ok(sim.lib.orMemsetAsync(sim.pointer(x.data_ptr()), 0x40, 4, handle(side)))  # the first element only
        y = x.clone()
    openreg.default_stream(device).synchronize()  # had the handle been this stream's, the fill would be over now
    closed.open()
    with side:
        assert y.tolist() == [3.0039215087890625, 1]
    assert openreg.default_stream(device).native_handle == sim.address(sim.default_stream(index_of(device)))


# ----------------------------------------------------------------------- backward


def test_backward_runs_on_the_streams_of_the_forward(device: str) -> None:
    seen: list[tuple[str, int, int]] = []

    def note(name: str) -> Callable[[torch.Tensor], None]:
        def hook(grad: torch.Tensor) -> None:
            seen.append((name, openreg.current_stream(device).stream_id, openreg.current_device()))

        return hook

    side = torch.Stream(device)
    x = settled(1, 2, device=device).requires_grad_()
    y = x * 2
    side.wait_stream(openreg.current_stream(device))
    with side:
        z = y.exp()
    openreg.current_stream(device).wait_stream(side)
    loss = (z * 3).sum()
    for name, tensor in (("y", y), ("z", z)):
        tensor.grad_fn.register_prehook(lambda grads, name=name: note(name)(grads[0]))
    loss.backward()
    assert seen == [("z", side.stream_id, index_of(device)), ("y", 0, index_of(device))]
    torch.testing.assert_close(x.grad.cpu(), 6 * torch.tensor([2.0, 4.0]).exp())
    assert openreg.current_stream(device) == openreg.default_stream(device)


def test_after_backward_the_callers_stream_sees_the_gradients(device: str, gate: GateFunction) -> None:
    side, caller = torch.Stream(device), torch.Stream(device)
    x = settled(1, 2, device=device).requires_grad_()
    gates: list[Any] = []
    with side:
        y = x.clone()
        y.grad_fn.register_prehook(lambda grads: gates.append(gate(side)))  # the gradient of x will be late
        loss = y.sum()
    side.synchronize()

    def backward() -> list[float]:
        with openreg.stream(caller):
            loss.backward()
            return x.grad.tolist()

    call = Call(backward)
    wait_until(lambda: bool(gates), "backward has reached the gate")
    assert call.blocks()
    gates[0].open()
    assert call.result() == [1, 1]


@pytest.mark.usefixtures("puts_back")
def test_a_network_with_its_layers_on_streams_learns_what_it_learns_on_the_cpu() -> None:
    def losses(device: str, streams: list[torch.Stream]) -> list[float]:
        torch.manual_seed(0)
        layers = [torch.nn.Linear(6, 8).to(device), torch.nn.Linear(8, 8).to(device), torch.nn.Linear(8, 1).to(device)]
        parameters = [parameter for layer in layers for parameter in layer.parameters()]
        optimizer = torch.optim.SGD(parameters, lr=0.1, momentum=0.9)
        rows = torch.sin(torch.arange(96.0)).view(16, 6).to(device)
        found = []
        for _ in range(5):
            x = rows
            for layer, stream in zip(layers, streams or [None] * 3, strict=True):
                before = openreg.current_stream() if stream else None
                with openreg.stream(stream):
                    if before:
                        stream.wait_stream(before)
                    x = layer(x).tanh()
                if before:
                    before.wait_stream(stream)
            loss = (x - 0.5).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    expected = losses("cpu", [])
    for device in ("openreg:0", "openreg:1"):
        openreg.set_device(device)
        assert losses(device, [torch.Stream(device) for _ in range(3)]) == pytest.approx(expected, rel=1e-4)


# ------------------------------------------------------------------- late errors

FAIL = """
def fail(stream):
    sim.fail_on_kernel(handle(stream), stream.device_index)
def said(call):
    try:
        call()
    except torch.AcceleratorError as error:
        return f"{error.error_code} {str(error).splitlines()[0]}"
    return "no error"
"""


def failing(code: str) -> str:
    """A program with `fail(stream)` and `said(call)`."""
    return FAIL + "\n".join(line[8:] for line in code.splitlines())


def test_a_query_of_a_stream_that_has_failed_raises(program: ProgramFunction) -> None:
    said = program(
        failing("""
        stream = torch.Stream("openreg:1")
        fail(stream)
        sim.lib.orStreamSynchronize(handle(stream))
        print(said(stream.query))
        """)
    )
    assert said.startswith("6 openreg: orStreamQuery: kernel 'copy' on device 1: ")


SYNCHRONISES = {
    "stream.synchronize()": "orStreamSynchronize",
    "stream.query()": "orStreamQuery",
    "event.synchronize()": "orEventSynchronize",
    "event.query()": "orEventQuery",
    "torch.openreg.synchronize(1)": "orDeviceSynchronize",
    "x.cpu()": "orMemcpyWithStream",
    "x[0].item()": "orMemcpyWithStream",
}


@pytest.mark.parametrize("call", SYNCHRONISES)
def test_a_kernel_that_fails_is_named_by_the_next_call_that_synchronises(program: ProgramFunction, call: str) -> None:
    said = program(
        failing(f"""
        x, stream = torch.ones(3).to("openreg:1"), torch.Stream("openreg:1")
        torch.openreg.set_stream(stream)
        gate = sim.gate(handle(stream)).wait_for(1)
        fail(stream)
        event = stream.record_event()
        y = x.clone()
        print(stream.query(), event.query())
        sim._gates[0].open()
        wait_until(lambda: said(lambda: {call}) != "no error", "the failure surfaces")
        for _ in range(2):
            print(said(lambda: {call}))
        print(said(lambda: x.clone()).split(": ", 2)[2][:30])
        print(torch.ones(2).to("openreg:0").tolist(), torch.openreg.current_device())
        """)
    ).splitlines()
    assert said[0] == "False False", "the launch itself was no error"
    assert said[1] == said[2], "the error stays"
    assert said[1] == "6 " + (
        f"openreg: {SYNCHRONISES[call]}: kernel 'copy' on device 1: the pointer at argument byte 0 is 0x8 and is used "
        "from byte 0 on for 8 bytes; expected these to lie in one live allocation of device 1 or of a peer it has "
        "access to (it is host memory) [orErrorIllegalAddress]"
    )
    assert said[3:] == ["kernel 'copy' on device 1: the", "[1.0, 1.0] 1"]


def test_work_behind_the_failure_is_dropped_and_nobody_waits_for_ever(program: ProgramFunction) -> None:
    said = program(
        failing("""
        x, stream, other = torch.ones(3).to("openreg"), torch.Stream("openreg"), torch.Stream("openreg")
        far = torch.Stream("openreg:1")
        fail(stream)
        for _ in range(100):
            other.wait_stream(stream)
            far.wait_stream(stream)
            with stream:
                x = x.clone()
            stream.wait_stream(other)
        print(said(other.synchronize)[:1], said(stream.synchronize)[:1], said(far.synchronize))
        """)
    )
    assert said == "6 6 no error\n"


def test_tensors_and_events_die_in_peace_on_a_failed_device(program: ProgramFunction) -> None:
    said = program(
        failing("""
        def work():
            tensors = [torch.ones(3).to("openreg") for _ in range(10)]
            with torch.openreg.stream(torch.Stream("openreg")) as stream:
                events = [stream.record_event() for _ in range(10)]
                fail(stream)
                tensors.append(tensors[0].clone())
                stream.synchronize()
        print(said(work)[:1])
        print(torch.openreg.current_stream().stream_id, torch.openreg.current_device())
        """)
    )
    assert said.splitlines() == ["6", "0 0"]


def test_an_error_in_backward_reaches_the_caller(program: ProgramFunction) -> None:
    said = program(
        failing("""
        x = torch.ones(3).to("openreg:1").requires_grad_()
        y = x.clone()
        y.register_hook(lambda grad: fail(torch.openreg.current_stream()))
        print(said(lambda: (y.sum().backward(), x.grad.cpu())))
        """)
    )
    assert "kernel 'copy' on device 1" in said


LAUNCH_BLOCKING = """
        x, stream = torch.ones(3).to("openreg:1"), torch.Stream("openreg:1")
        torch.openreg.set_stream(stream)
        z = torch.empty(3, device="openreg:1")
        sim.ok(sim.lib.orFree(sim.pointer(z.data_ptr())))  # the kernel's pointer leads nowhere
        print(said(lambda: x.add_(z)))
        print(said(stream.synchronize))
        sys.stdout.flush()
        os._exit(0)  # what was freed cannot be freed again
"""


def test_with_launch_blocking_the_call_that_is_to_blame_raises(program: ProgramFunction) -> None:
    late, later = program(failing(LAUNCH_BLOCKING)).splitlines()
    assert late == "no error"
    assert later.startswith("6 openreg: orStreamSynchronize: ")
    now, later = program(failing(LAUNCH_BLOCKING), OPENREG_LAUNCH_BLOCKING="1").splitlines()
    assert now.startswith("6 openreg: orLaunchKernel: ") and "kernel 'add.float' on device 1" in now
    assert later.startswith("6 openreg: orStreamSynchronize: ")


def test_with_launch_blocking_everything_still_works(program: ProgramFunction) -> None:
    said = program(
        """
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 2).to("openreg:1")
        with torch.openreg.stream(torch.Stream("openreg:1")):
            x = torch.ones(3, 4).to("openreg:0").to("openreg:1")
            model(x).sum().backward()
            print(model.weight.grad.tolist())
        """,
        OPENREG_LAUNCH_BLOCKING="1",
    )
    assert said == f"{[[3.0] * 4] * 2}\n"


def test_a_forked_child_gets_a_clear_error(program: ProgramFunction) -> None:
    said = program("""
        stream = torch.Stream("openreg")
        event = stream.record_event()
        torch.openreg.set_stream(stream)
        sys.stdout.flush()
        child = os.fork()
        if child:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            stream.synchronize()
        else:
            for call in (lambda: torch.Stream("openreg"), stream.synchronize, stream.query, event.synchronize,
                         event.query, stream.record_event, lambda: stream.wait_event(event), torch.openreg.Stream,
                         lambda: torch.openreg.set_stream(stream), torch.openreg.current_stream):
                try:
                    call()
                    print("no error")
                except RuntimeError as error:
                    print("forked" in str(error))
    """)
    assert said.splitlines() == ["True"] * 10 + ["0"]


# ------------------------------------------------------------------------ the end

ENDS = {
    "with work in flight": """
        x, streams = torch.ones(1 << 20).to("openreg"), [torch.Stream("openreg") for _ in range(8)]
        for stream in streams:
            with stream:
                for _ in range(50):
                    x.copy_(x.clone())
    """,
    "with a stream that stands at a gate": """
        stream = torch.Stream("openreg")
        sim.gate(handle(stream), deadline=600).wait_for(1)
        torch.openreg.set_stream(stream)
        event, other = stream.record_event(), torch.Stream("openreg:1")
        other.wait_event(event)
    """,
    "while a daemon thread waits for a stream": """
        stream = torch.Stream("openreg")
        sim.gate(handle(stream), deadline=600).wait_for(1)
        assert Call(stream.synchronize).blocks()
    """,
    "with a failed kernel that nobody has asked about": """
        import struct
        stream = torch.Stream("openreg")
        kernel = sim.kernel("copy", 0, "openreg")
        sim.ok(sim.launch(kernel, struct.pack("<Q4088x", 8), [(0, 1, 0, 8)], handle(stream)))
    """,
    "in a side stream's context, by an exception": """
        sys.excepthook = lambda *_: None
        with torch.Stream("openreg"):
            x = torch.ones(9, device="openreg", requires_grad=True)
            x.exp().sum().backward()
            raise KeyboardInterrupt
    """,
    "with events and streams in global variables": """
        stream, event = torch.openreg.Stream(1), torch.openreg.Event(enable_timing=True)
        event.record(stream)
        import builtins
        builtins.kept = stream, event, torch.ones(3, device="openreg")
    """,
}


@pytest.mark.parametrize("name", ENDS)
def test_a_process_may_end(program: ProgramFunction, name: str) -> None:
    interrupted = 130 if "exception" in name else 0
    said = program(ENDS[name], status=None if interrupted else 0, timeout=60)
    assert said == ""


# Six at a time on a machine of two cores. Each runs its first backward pass on side streams of both devices, and ends.
EXITS = """
def work(device):
    stream = torch.Stream(device)
    with torch.openreg.stream(stream):
        x = torch.ones(32, 32, device=device, requires_grad=True)
        (x @ x).sum().backward()

def child():
    # After a fork PyTorch renews its CPU thread pool and its autograd engine, which two threads must not do at once.
    torch.set_num_threads(1)
    torch.autograd.Variable._execution_engine.is_checkpoint_valid()
    threads = [threading.Thread(target=work, args=(f"openreg:{index}",)) for index in (0, 1)]
    [thread.start() for thread in threads]
    work("openreg:1")

parent, running, codes = os.getpid(), [], []
while parent == os.getpid() and len(codes) < 60:
    while len(running) < 6 and len(running) + len(codes) < 60:
        running.append(os.fork())
        if running[-1] == 0:
            break
    else:
        codes.append(os.waitstatus_to_exitcode(os.waitpid(running.pop(0), 0)[1]))
if parent == os.getpid():
    print(codes.count(0), len(codes))
else:
    child()
"""


@pytest.mark.timeout(300)
def test_sixty_processes_in_a_row_end_right_after_a_first_backward_under_load(program: ProgramFunction) -> None:
    assert program(EXITS, timeout=280) == "60 60\n"


def test_threads_that_end_with_work_in_flight_leave_nothing_behind(device: str) -> None:
    x = settled(*range(64), device=device)
    results: list[torch.Tensor] = []

    def work() -> None:
        with contextlib.suppress(ZeroDivisionError), openreg.stream(torch.Stream(device)):
            results.append(x.clone())
            raise ZeroDivisionError

    for _ in range(8):
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    openreg.synchronize(device)
    assert all(torch.equal(result.cpu(), x.cpu()) for result in results)
    assert len(results) == 64
