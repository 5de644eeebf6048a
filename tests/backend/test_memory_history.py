"""The history of device memory: what PyTorch's visualiser is given, beside what was done."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch_openreg  # noqa: F401
from torch.cuda import _memory_viz

from .conftest import GateFunction, ProgramFunction

openreg = torch.openreg
history = torch.openreg.memory
KIB, MIB = 1 << 10, 1 << 20


def index_of(device: str) -> int:
    """The number in a device's name."""
    return torch.device(device).index


def memory(size: int, device: str) -> torch.Tensor:
    """A tensor of so many bytes, with whatever they hold."""
    return torch.empty(size, dtype=torch.uint8, device=device)


def trace(device: str) -> list[dict[str, Any]]:
    """What was recorded of a device, but for the snapshots."""
    return [entry for entry in history._snapshot()["device_traces"][index_of(device)] if entry["action"] != "snapshot"]


def actions(device: str) -> list[tuple[str, int]]:
    """The action and the size of each entry."""
    return [(entry["action"], entry["size"]) for entry in trace(device)]


def segments(device: str) -> list[dict[str, Any]]:
    """The segments of a device."""
    return [segment for segment in openreg.memory_snapshot() if segment["device"] == index_of(device)]


def blocks(device: str) -> list[tuple[int, int, str]]:
    """Size, size asked for and state of each block of a device."""
    return [(b["size"], b["requested_size"], b["state"]) for segment in segments(device) for b in segment["blocks"]]


@pytest.fixture(autouse=True)
def recording(no_collection: None) -> Iterator[None]:
    """Every test begins with nothing in the cache, and with the recording on."""
    for index in range(openreg.device_count()):
        torch.accelerator.synchronize(index)  # what an earlier test's stream has not passed yet stays in the cache
    openreg.empty_cache()
    assert openreg.memory_snapshot() == [], "an earlier test has left memory in use"
    history._record_memory_history(clear_history=True)
    yield
    history._record_memory_history(None)


# ---------------------------------------------------------------------------------------------------------- the trace


def test_each_action_is_recorded_in_its_order_with_its_size_and_address(device: str, other_device: str) -> None:
    x = memory(1000, device)
    where = x.data_ptr()
    del x
    openreg.empty_cache()
    entries = trace(device)
    assert [(e["action"], e["size"], e["addr"] - where, e["stream"]) for e in entries] == [
        ("segment_alloc", 2 * MIB, 0, 0),
        ("alloc", 1000, 0, 0),
        ("free_requested", 1000, 0, 0),
        ("free_completed", 1000, 0, 0),
        ("segment_free", 2 * MIB, 0, 0),
    ]
    assert trace(other_device) == []
    times = [e["time_us"] for e in entries]
    assert times == sorted(times) and times[0] > 1_600_000_000_000_000  # since 1970


def test_an_entry_names_the_stream_that_the_memory_is_for(device: str) -> None:
    side = torch.Stream(device)
    with side:
        kept = memory(100, device)
    assert {entry["stream"] for entry in trace(device)} == {side.native_handle}
    assert [segment["stream"] for segment in segments(device)] == [side.native_handle]
    del kept


def test_memory_that_another_stream_reads_is_free_when_that_stream_has_passed(device: str, gate: GateFunction) -> None:
    side = torch.Stream(device)
    x = memory(1000, device)
    x.record_stream(side)
    closed = gate(side)
    del x
    assert actions(device)[-1] == ("free_requested", 1000)
    assert blocks(device)[0] == (1024, 1000, "active_pending_free")
    assert (segments(device)[0]["allocated_size"], segments(device)[0]["active_size"]) == (0, 1024)
    closed.open()
    side.synchronize()
    y = memory(3000, device)  # who allocates next looks what has passed
    assert actions(device)[-2:] == [("free_completed", 1000), ("alloc", 3000)]
    del y


def test_a_snapshot_is_an_entry_of_the_next_one(device: str) -> None:
    kept = memory(1000, device)
    history._snapshot()
    assert history._snapshot()["device_traces"][index_of(device)][-1]["action"] == "snapshot"
    del kept


def test_only_the_last_entries_are_kept(device: str) -> None:
    history._record_memory_history(max_entries=3)
    for size in range(1, 6):
        memory(size, device)
    assert actions(device) == [("free_completed", 4), ("alloc", 5), ("free_requested", 5), ("free_completed", 5)][-3:]


def test_the_end_of_the_recording_forgets_and_nothing_is_recorded_any_more(device: str) -> None:
    memory(1000, device)
    history._record_memory_history(None)
    kept = memory(1000, device)
    assert history._snapshot()["device_traces"] == [[]] * openreg.device_count()
    assert blocks(device)[0] == (1024, 1000, "active_allocated")
    assert segments(device)[0]["blocks"][0]["frames"] == []
    history._record_memory_history()
    del kept  # allocated while nothing was recorded
    assert [(e["action"], bool(e["frames"])) for e in trace(device)] == [
        ("free_requested", True),
        ("free_completed", True),
    ]


def test_state_keeps_where_memory_was_allocated_and_no_history(device: str) -> None:
    history._record_memory_history("state", "state")
    kept = memory(1000, device)
    assert actions(device) == []
    assert segments(device)[0]["blocks"][0]["frames"][0]["name"] == "memory"
    del kept


@pytest.mark.parametrize("arguments", [{"enabled": "on"}, {"enabled": True}, {"context": "free"}, {"stacks": "cpp"}])
def test_an_argument_that_is_none_of_those_expected_is_named(arguments: dict[str, Any]) -> None:
    ((name, value),) = arguments.items()
    with pytest.raises(ValueError, match=f"^_record_memory_history: argument '{name}' is {value!r}; expected one of "):
        history._record_memory_history(**arguments)


def test_a_history_of_no_entries_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^_record_memory_history: argument 'max_entries' is 0; expected 1 or more$"):
        history._record_memory_history(max_entries=0)


# ------------------------------------------------------------------------------------------------------------- frames


def allocate_here(device: str) -> torch.Tensor:
    return memory(1000, device)


def free_here(held: list[torch.Tensor]) -> None:
    held.clear()


@pytest.mark.parametrize(
    ("context", "freed"), [("all", "free_here"), ("alloc", "allocate_here"), ("state", ""), (None, "")]
)
def test_frames_name_the_lines_of_python(device: str, context: Any, freed: str) -> None:
    history._record_memory_history(context=context)
    held = [allocate_here(device)]
    in_use = segments(device)[0]["blocks"][0]["frames"]
    assert [f["name"] for f in in_use[:2]] == (["memory", "allocate_here"] if context else [])
    free_here(held)
    found = {entry["action"]: [f["name"] for f in entry["frames"]] for entry in trace(device)}
    assert ("allocate_here" in found["alloc"]) == (context in ("all", "alloc"))
    assert (freed in found["free_requested"]) if freed else found["free_requested"] == []
    if in_use:
        first = allocate_here.__code__.co_firstlineno
        assert (in_use[1]["filename"], in_use[1]["line"]) == (__file__, first + 1)


def test_frames_of_cpp_are_there_if_they_are_asked_for(device: str) -> None:
    history._record_memory_history(stacks="all")
    kept = memory(1000, device)
    names = [frame["name"] for frame in segments(device)[0]["blocks"][0]["frames"]]
    assert any("DeviceMemory::allocate" in name for name in names) and "memory" in names
    del kept


# ------------------------------------------------------------------------------------------------------------- blocks


def test_blocks_are_cut_and_joined_in_the_snapshot_as_in_the_segment(device: str) -> None:
    a, b, c = (memory(4 * MIB, device) for _ in range(3))
    in_use = (4 * MIB, 4 * MIB, "active_allocated")
    assert blocks(device)[:3] == [in_use] * 3
    total = sum(segment["total_size"] for segment in segments(device))
    del a
    del b  # joined with the one before it, which is the first of its segment
    found = blocks(device)
    assert found[0] == (8 * MIB, 0, "inactive") and found[1] == in_use
    del c
    assert {state for _, _, state in blocks(device)} == {"inactive"}
    assert sum(size for size, _, _ in blocks(device)) == total
    openreg.empty_cache()
    assert segments(device) == []


def test_the_totals_are_those_of_the_statistics(device: str) -> None:
    side = torch.Stream(device)
    kept = [memory(size, device) for size in (1, 1000, 3 * MIB, 20 * MIB)]
    with side:
        kept += [memory(size, device) for size in (5, 700 * KIB)]
    del kept[1]
    stats = openreg.memory_stats(device)
    found = segments(device)

    def total(key: str) -> int:
        return sum(segment[key] for segment in found)

    names = ("reserved", "allocated", "active", "requested")
    assert [stats[f"{name}_bytes.all.current"] for name in names] == [
        total(key) for key in ("total_size", "allocated_size", "active_size", "requested_size")
    ]
    assert stats["segment.all.current"] == len(found)
    assert [segment["address"] for segment in found] == sorted(segment["address"] for segment in found)
    for segment in found:
        where = segment["address"]
        for block in segment["blocks"]:
            assert block["address"] == where
            where += block["size"]
        assert where == segment["address"] + segment["total_size"]


def test_the_history_leads_to_the_snapshot(device: str) -> None:
    kept = [memory(size * KIB, device) for size in range(1, 40)]
    del kept[::3]
    in_use: dict[int, int] = {}
    for entry in trace(device):
        if entry["action"] == "alloc":
            assert entry["addr"] not in in_use
            in_use[entry["addr"]] = entry["size"]
        elif entry["action"] == "free_completed":
            assert in_use.pop(entry["addr"]) == entry["size"]
    found = [block for segment in segments(device) for block in segment["blocks"]]
    assert in_use == {b["address"]: b["requested_size"] for b in found if b["state"] == "active_allocated"}


def test_a_reset_begins_a_new_history(program: ProgramFunction) -> None:
    said = program("""
        history = torch.openreg.memory
        history._record_memory_history()
        x = torch.empty(1000, device="openreg:0")
        torch.openreg.reset_device(0)
        del x
        y = torch.empty(10, device="openreg:0")
        print([(e["action"], e["size"]) for e in history._snapshot()["device_traces"][0]])
    """)
    assert said.splitlines()[-1] == "[('segment_alloc', 2097152), ('alloc', 40)]"


# --------------------------------------------------------------------------------------------------- the visualiser


def test_the_visualiser_takes_the_file(device: str, tmp_path: Path) -> None:
    kept = allocate_here(device)
    history._dump_snapshot(tmp_path / "snapshot.pickle")
    taken = pickle.loads((tmp_path / "snapshot.pickle").read_bytes())
    assert f"Device {index_of(device)} -------" in (said := _memory_viz.trace(taken)) and "a[0:1000.0B]" in said
    assert "total_reserved: 2.0MiB\ntotal_allocated: 1000.0B" in _memory_viz.segsum(taken)
    assert ":allocate_here;test_memory_history.py:" in _memory_viz.memory(taken, lambda lines: lines)
    assert "<html>" in _memory_viz.trace_plot(taken) and "<html>" in _memory_viz.segment_plot(taken)
    assert f"seg_{kept.data_ptr()}" in _memory_viz.segments(taken, lambda lines: lines)
    _memory_viz.trace_plot(taken, filter_freed=True)


# -------------------------------------------------------------------------------------------------------- no memory


def test_running_out_is_recorded_and_its_observers_are_called(program: ProgramFunction) -> None:
    said = program("""
        history = torch.openreg.memory
        history._record_memory_history()
        calls = []
        def observe(*numbers):
            calls.append(numbers)
            torch.empty(10, device="openreg:1")  # may allocate
            torch.empty(1 << 40, dtype=torch.uint8, device="openreg:1")  # and is not called for its own error
        history._attach_out_of_memory_observer(observe)
        history._attach_out_of_memory_observer(lambda *numbers: calls.append("second"))
        for _ in range(2):
            try:
                torch.empty(1 << 41, dtype=torch.uint8, device="openreg:1")
            except torch.OutOfMemoryError as error:
                print("raised", "Tried to allocate 2048.00 GiB on openreg:1" in str(error))
        free, total = torch.openreg.mem_get_info(1)
        assert calls[1] == "second" and len(calls) == 4, calls
        assert calls[0][:3] == (1, 1 << 41, total), calls
        assert calls[2] == (1, 1 << 41, total, free), calls
        oom = [e for e in history._snapshot()["device_traces"][1] if e["action"] == "oom"]
        print([(e["size"] >> 40, "addr" in e, e["frames"][0]["name"]) for e in oom])
        assert oom[-1]["device_free"] == free
    """)
    assert said.count("raised True") == 2
    assert said.count("Exception ignored in: <function observe") == 2
    assert str([(2, False, "<module>"), (1, False, "observe")] * 2) in said.splitlines()


def test_an_observer_must_be_a_function() -> None:
    expected = r"^_attach_out_of_memory_observer: argument 'observer' is of type int; expected a function$"
    with pytest.raises(TypeError, match=expected):
        history._attach_out_of_memory_observer(1)


# ---------------------------------------------------------------------------------------------------------- threads


def test_threads_allocate_free_and_ask_at_a_time(device: str) -> None:
    history._record_memory_history(max_entries=100)

    def work() -> None:
        for size in range(1, 200):
            memory(size * 100, device)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert len(history._snapshot()["device_traces"][index_of(device)]) <= 100
    for thread in threads:
        thread.join()
    assert {state for _, _, state in blocks(device)} == {"inactive"}


def test_a_backward_pass_frees_on_its_own_thread(device: str) -> None:
    weight = torch.ones(64, 64, device=device, requires_grad=True)
    (weight @ weight).exp().sum().backward()
    openreg.synchronize(device)
    entries = trace(device)
    freed = [entry["addr"] for entry in entries if entry["action"] == "free_requested"]
    assert freed and {entry["addr"] for entry in entries if entry["action"] == "free_completed"} == set(freed)
    weight.grad = None


def test_a_process_ends_while_its_history_is_recorded(program: ProgramFunction) -> None:
    said = program("""
        torch.openreg.memory._record_memory_history(stacks="all")
        kept = torch.ones(10, device="openreg:0", requires_grad=True)
        kept.exp().sum().backward()
        torch.cycle = [kept]
        torch.cycle.append(torch.cycle)
        print("end")
    """)
    assert said == "end\n"


def test_a_forked_child_ends_without_a_word(program: ProgramFunction) -> None:
    said = program("""
        torch.openreg.memory._record_memory_history()
        kept = torch.ones(10, device="openreg:0")
        child = os.fork()
        if not child:
            del kept
            sys.exit(0)
        print(os.waitpid(child, 0)[1])
    """)
    assert said == "0\n"
