"""torch.profiler: what of the device is in a trace, whose it is, how long it took, and other ways of ending."""

from __future__ import annotations

import itertools
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.autograd import DeviceType
from torch.autograd.profiler import profile as autograd_profile
from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler

from .conftest import GateFunction, ProgramFunction
from .simulator import sim
from .test_missing_entries import toy as toy

CPU, DEVICE = ProfilerActivity.CPU, ProfilerActivity.PrivateUse1
WORK = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_sync")

Event = dict[str, Any]


def profiled(**options: Any) -> profile:
    """A profiler of both."""
    return profile(activities=[CPU, DEVICE], **options)


def trace_of(profiler: Any, folder: Path) -> list[Event]:
    """The events of the trace, in order of time."""
    file = folder / "trace.json"
    profiler.export_chrome_trace(str(file))
    return sorted(json.loads(file.read_text())["traceEvents"], key=lambda it: float(it.get("ts", 0)))


def of(events: list[Event], *categories: str, name: str = "") -> list[Event]:
    """Those of these categories, but for arrows."""
    return [it for it in events if it["ph"] == "X" and it.get("cat") in categories and it["name"].startswith(name)]


def places(events: list[Event]) -> list[tuple[str, int, int]]:
    """Names, devices and streams."""
    return [(it["name"], it["pid"], it["tid"]) for it in events]


def ready(device: str) -> torch.Tensor:
    """A tensor, and all kernels that tests of one number use, loaded."""
    x = torch.ones(64, device=device)
    x + x, x * x, x.cpu()
    torch.openreg.synchronize(device)
    return x


# -------------------------------------------------------------------------------------------------- what is recorded


def test_kernels_are_on_their_devices_and_streams(device: str, other_device: str, tmp_path: Path) -> None:
    x, y, side = ready(device), ready(other_device), torch.Stream(device)
    with profiled() as profiler:
        x + x
        with side:
            x * x
        y + y
    events = trace_of(profiler, tmp_path)
    index, other = int(device[-1]), int(other_device[-1])
    kernels = of(events, "kernel")
    expected = [("add.float", index, 0), ("add.float", other, 0), ("mul.float", index, side.stream_id)]
    assert sorted(places(kernels)) == sorted(expected)
    assert all((it["args"]["device"], it["args"]["stream"]) == (it["pid"], it["tid"]) for it in kernels)


def test_streams_of_the_pool_have_tracks_of_their_own(device: str, tmp_path: Path) -> None:
    x, streams = ready(device), [torch.Stream(device, priority=priority) for priority in (0, 0, -1)]
    with profiled() as profiler:
        for stream in streams:
            with stream:
                x + x
    numbers = {it["tid"] for it in of(trace_of(profiler, tmp_path), "kernel")}
    assert numbers == {it.stream_id for it in streams} and len(numbers) == 3


def test_devices_and_streams_have_names(device: str, tmp_path: Path) -> None:
    x, side = ready(device), torch.Stream(device)
    with profiled() as profiler:
        x + x
        with side:
            x * x
    events = trace_of(profiler, tmp_path)
    index = int(device[-1])
    names = {it["args"]["name"] for it in events if it["name"] == "process_name" and it["pid"] == index}
    labels = {it["args"]["labels"] for it in events if it["name"] == "process_labels" and it["pid"] == index}
    assert names == labels == {device}
    streams = {it["tid"]: it["args"]["name"] for it in events if it["name"] == "thread_name" and it["pid"] == index}
    assert streams == {0: "stream 0", side.stream_id: f"stream {side.stream_id}"}


def test_arrows_lead_from_a_call_to_its_work_and_both_name_the_operator(device: str, tmp_path: Path) -> None:
    x = ready(device)
    with profiled() as profiler:
        x + x
    events = trace_of(profiler, tmp_path)
    (kernel,), (operator,) = of(events, "kernel"), of(events, "cpu_op", name="aten::add")
    (call,) = of(events, "privateuse1_runtime", name="orLaunchKernel")
    number = kernel["args"]["correlation"]
    assert call["args"]["correlation"] == number
    assert call["args"]["External id"] == kernel["args"]["External id"] == operator["args"]["External id"]
    arrows = {it["ph"]: it for it in events if it["name"] == "ac2g" and it["id"] == number}
    assert set(arrows) == {"s", "f"}
    assert [(arrows[it]["pid"], arrows[it]["tid"], arrows[it]["ts"]) for it in "sf"] == [
        (os.getpid(), threading.get_native_id(), call["ts"]),
        (int(device[-1]), 0, kernel["ts"]),
    ]


def test_calls_without_work_have_no_arrow(tmp_path: Path) -> None:
    x = ready("openreg:0")
    with profiled() as profiler:
        x + x
        torch.openreg.synchronize(0)
    events = trace_of(profiler, tmp_path)
    starts = {it["id"] for it in events if it["name"] == "ac2g" and it["ph"] == "s"}
    ends = {it["id"] for it in events if it["name"] == "ac2g" and it["ph"] == "f"}
    waits = {it["args"]["correlation"] for it in of(events, "privateuse1_runtime", name="orDeviceSynchronize")}
    assert starts == ends and waits and not waits & starts


def test_an_event_of_the_cpu_knows_its_kernels(device: str) -> None:
    x = ready(device)
    with profiled() as profiler:
        (x + x) * x
    found = {it.name: it.kernels for it in profiler.events() if it.kernels}
    assert {name: [(it.name, it.device) for it in kernels] for name, kernels in found.items()} == {
        "aten::add": [("add.float", int(device[-1]))],
        "aten::mul": [("mul.float", int(device[-1]))],
    }


def test_copies_say_where_from_where_to_and_how_much(device: str, other_device: str, tmp_path: Path) -> None:
    plain, x, y = torch.ones(100), torch.ones(100, device=device), torch.ones(100, device=other_device)
    pinned = torch.ones(100).pin_memory()
    copies = {
        "Memcpy HtoD (Pageable -> Device)": lambda: x.copy_(plain),
        "Memcpy DtoH (Device -> Pageable)": lambda: plain.copy_(x),
        "Memcpy HtoD (Pinned -> Device)": lambda: x.copy_(pinned, non_blocking=True),
        "Memcpy DtoH (Device -> Pinned)": lambda: pinned.copy_(x, non_blocking=True),
        "Memcpy DtoD (Device -> Device)": x.clone,
        "Memcpy PtoP (Device -> Device)": lambda: x.copy_(y),
    }
    for name, copy in copies.items():
        torch.openreg.synchronize(device)
        with profiled() as profiler:
            copy()
        (event,) = of(trace_of(profiler, tmp_path), "gpu_memcpy")
        assert (event["name"], event["args"]["bytes"]) == (name, 400)


def test_fills_of_bytes_are_memsets(device: str, tmp_path: Path) -> None:
    buffer = torch.ones(256, dtype=torch.uint8, device=device)
    torch.openreg.synchronize(device)
    with profiled() as profiler:
        torch.openreg.set_device(device)
        sim.ok(sim.lib.orMemset(sim.ffi.cast("void*", buffer.data_ptr()), 3, 256))
        torch.openreg.set_device(0)
    (event,) = of(trace_of(profiler, tmp_path), "gpu_memset")
    assert (event["name"], event["pid"], event["args"]["bytes"]) == ("Memset (Device)", int(device[-1]), 256)
    assert buffer.tolist() == [3] * 256


def test_a_stream_that_stands_is_in_the_trace_and_is_no_operators_time(gate: GateFunction, tmp_path: Path) -> None:
    x, side = ready("openreg:0"), torch.Stream("openreg:0")
    with profiled() as profiler:
        closed = gate(0)
        with record_function("work"):
            side.wait_event(torch.openreg.default_stream(0).record_event())
            with side:
                x + x
        closed.open()
    events = trace_of(profiler, tmp_path)
    stood = {it["name"]: it for it in of(events, "cuda_sync")}
    (kernel,) = of(events, "kernel")
    assert places(list(stood.values())) == [("host function", 0, 0), ("wait", 0, side.stream_id)]
    assert kernel["ts"] >= stood["wait"]["ts"] + stood["wait"]["dur"]
    assert stood["wait"]["args"].get("External id", 0) == 0
    row = next(it for it in profiler.key_averages() if it.key == "work" and it.device_type == DeviceType.CPU)
    assert row.device_time_total == pytest.approx(kernel["dur"], abs=0.01)


def test_a_copy_between_devices_does_not_count_what_it_waits_for(gate: GateFunction) -> None:
    x, y = ready("openreg:0"), ready("openreg:1")
    with profiled() as profiler:
        closed = gate(1)
        x.copy_(y)
        closed.open()
    counted = {kernel.name for it in profiler.events() for kernel in it.kernels}
    assert counted == {"Memcpy PtoP (Device -> Device)"}
    assert any(it.name == "wait" for it in profiler.events())


def test_annotations_are_drawn_on_the_devices_tracks_one_inside_the_other(device: str, tmp_path: Path) -> None:
    x, side = ready(device), torch.Stream(device)
    with profiled() as profiler, record_function("outer"):
        with record_function("inner"):
            x + x
            with side:
                x + x
        x * x
    events = trace_of(profiler, tmp_path)
    index = int(device[-1])
    drawn = {(it["name"], it["tid"]): it for it in of(events, "gpu_user_annotation")}
    assert set(drawn) == {("outer", 0), ("inner", 0), ("outer", side.stream_id), ("inner", side.stream_id)}
    assert {it["pid"] for it in drawn.values()} == {index}
    first, last = sorted((it for it in of(events, "kernel") if it["tid"] == 0), key=lambda it: it["ts"])
    assert [first["name"], last["name"]] == ["add.float", "mul.float"]
    for name, end in (("outer", last), ("inner", first)):
        it = drawn[name, 0]
        assert it["ts"] == pytest.approx(first["ts"], abs=0.01)
        assert it["ts"] + it["dur"] == pytest.approx(end["ts"] + end["dur"], abs=0.01)


def test_the_time_of_an_annotation_is_that_of_its_kernels(device: str) -> None:
    x = ready(device)
    with profiled() as profiler, record_function("outer"), record_function("inner"):
        x + x
        x * x
    rows = {it.key: it for it in profiler.key_averages() if it.device_type == DeviceType.CPU}
    kernels = sum(it.time_range.elapsed_us() for it in profiler.events() if it.name in ("add.float", "mul.float"))
    assert kernels > 0
    for name in ("outer", "inner"):
        assert rows[name].device_time_total == pytest.approx(kernels)
        assert rows[name].self_device_time_total == 0


# ------------------------------------------------------------------------------------------------------- how long


def test_an_operators_time_is_the_sum_of_its_kernels_and_the_table_has_columns_of_the_device(device: str) -> None:
    x = ready(device)
    with profiled() as profiler:
        for _ in range(5):
            x + x
        x * x
    rows = {it.key: it for it in profiler.key_averages()}
    spent = {"add.float": 0.0, "mul.float": 0.0}
    for it in profiler.events():
        if it.name in spent:
            assert (it.device_type, it.device_index) == (DeviceType.PrivateUse1, int(device[-1]))
            spent[it.name] += it.time_range.elapsed_us()
    for operator, kernel, count in (("aten::add", "add.float", 5), ("aten::mul", "mul.float", 1)):
        assert spent[kernel] > 0 and rows[operator].count == rows[kernel].count == count
        assert rows[operator].self_device_time_total == pytest.approx(spent[kernel])
        assert rows[operator].device_time_total == rows[kernel].self_device_time_total == pytest.approx(spent[kernel])
    table = profiler.key_averages().table(sort_by="self_device_time_total")
    for words in ("Self OPENREG", "Self OPENREG %", "OPENREG total", "OPENREG time avg", "Self OPENREG time total"):
        assert words in table
    with pytest.raises(AttributeError, match="no attribute 'self_openreg_time_total'"):
        profiler.key_averages().table(sort_by="self_openreg_time_total")  # PyTorch knows the names of CUDA and XPU


def test_calls_outside_of_operators_have_no_kernels() -> None:
    x = ready("openreg:0")
    with profiled() as profiler:
        for _ in range(300):
            torch.openreg.default_stream(0).record_event()
            x + x
    assert {it.name for it in profiler.events() if it.kernels} == {"aten::add"}
    assert sum(len(it.kernels) for it in profiler.events()) == 300


def test_time_stands_at_the_innermost_operator(device: str) -> None:
    x = ready(device)
    with profiled() as profiler:
        x.cpu()
    rows = {it.key: it for it in profiler.key_averages() if it.device_type == DeviceType.CPU}
    copy = rows["aten::_copy_from"].self_device_time_total
    assert copy > 0 and rows["aten::to"].self_device_time_total == 0
    assert rows["aten::to"].device_time_total == pytest.approx(copy)


def test_the_profile_says_whose_memory_was_taken(device: str) -> None:
    ready(device)
    with profiled(profile_memory=True) as profiler:
        x = torch.empty(1 << 20, device=device)
        del x
    rows = {it.key: it for it in profiler.key_averages()}
    assert rows["aten::empty"].self_device_memory_usage == 4 << 20
    assert rows["[memory]"].self_device_memory_usage == -(4 << 20)
    table = profiler.key_averages().table()
    assert "OPENREG Mem" in table and "Self OPENREG Mem" in table


def test_the_order_of_time_holds(device: str, tmp_path: Path) -> None:
    x, side = ready(device), torch.Stream(device)
    with profiled() as profiler:
        for i in range(200):
            with side if i % 3 else torch.openreg.default_stream(device):
                x + x
    events = trace_of(profiler, tmp_path)
    (window,) = [it for it in events if it.get("cat") == "Trace" and it["name"].startswith("PyTorch Profiler")]
    calls = {it["args"]["correlation"]: it for it in of(events, "privateuse1_runtime")}
    kernels = of(events, "kernel")
    assert len(kernels) == 200
    for stream in (0, side.stream_id):
        mine = [it for it in kernels if it["tid"] == stream]
        assert mine and [it["args"]["correlation"] for it in mine] == sorted(it["args"]["correlation"] for it in mine)
        for before, after in itertools.pairwise(mine):
            assert before["ts"] + before["dur"] <= after["ts"] + 0.01
    for it in kernels:
        assert window["ts"] - 1000 <= calls[it["args"]["correlation"]]["ts"] <= it["ts"] + 0.01
        assert it["dur"] >= 0


def test_the_profiler_without_kineto_measures_with_events(device: str) -> None:
    torch.openreg.set_device(device)
    x = torch.ones(300, 300, device=device)
    x @ x
    with autograd_profile(use_device="openreg", use_kineto=False) as profiler:
        x @ x
        torch.openreg.synchronize(device)
    torch.openreg.set_device(0)
    rows = {it.key: it for it in profiler.key_averages()}
    assert 0 < rows["aten::mm"].device_time_total <= rows["aten::matmul"].device_time_total < 10e6
    assert "OPENREG total" in profiler.key_averages().table(sort_by="self_device_time_total")


def test_events_of_the_profiler_without_kineto_stand_on_the_stream(device: str) -> None:
    x, side = ready(device), torch.Stream(device)
    torch.openreg.set_device(device)
    sim.ok(sim.lib.orSimSetDelay(int(device[-1]), 20_000, 0))  # on another stream, events would pass in the meantime
    try:
        with autograd_profile(use_device="openreg", use_kineto=False) as profiler, side:
            x + x
    finally:
        sim.ok(sim.lib.orSimSetDelay(int(device[-1]), 0, 0))
        torch.openreg.set_device(0)
    (row,) = [it for it in profiler.function_events if it.name == "aten::add"]
    assert [it.name for it in row.kernels] == ["aten::add"]
    assert 20_000 <= row.device_time_total < 10e6


# ------------------------------------------------------------------------------------------------------- from when on


def test_nothing_of_the_device_is_recorded_nor_waited_for_unless_it_is_asked_for(
    gate: GateFunction, tmp_path: Path
) -> None:
    x = ready("openreg:0")
    with profiled():
        x + x
    closed = gate(0)
    with profile(activities=[CPU]) as profiler:
        x + x
    assert closed.waiting == 1
    closed.open()
    events = trace_of(profiler, tmp_path)
    assert of(events, "cpu_op", name="aten::add")
    assert not of(events, *WORK, "privateuse1_runtime", "gpu_user_annotation")


def test_only_the_kinds_that_are_asked_for_are_in_the_trace(tmp_path: Path) -> None:
    x = ready("openreg:0")
    with profile(activities=[CPU, {DEVICE: ["GPU_MEMCPY"]}]) as profiler, record_function("mine"):
        x + x
        x.cpu()
    events = trace_of(profiler, tmp_path)
    assert [it["name"] for it in of(events, *WORK, "gpu_user_annotation")] == ["Memcpy DtoH (Device -> Pageable)"]


def test_one_profiler_after_another_has_its_own_work_only(tmp_path: Path) -> None:
    x = ready("openreg:0")
    with profiled() as first:
        x + x
    with profiled() as second:
        x * x
    assert [it["name"] for it in of(trace_of(first, tmp_path), *WORK)] == ["add.float"]
    assert [it["name"] for it in of(trace_of(second, tmp_path), *WORK)] == ["mul.float"]


def test_work_that_was_queued_before_is_left_out_and_what_is_queued_at_the_end_is_waited_for(
    gate: GateFunction, tmp_path: Path
) -> None:
    x, side = ready("openreg:0"), torch.Stream("openreg:0")
    closed = gate(side)
    with side:
        x * x
        with profiled() as profiler:
            x + x
            opener = threading.Timer(0.05, closed.open)
            opener.start()
    opener.join()
    assert [it["name"] for it in of(trace_of(profiler, tmp_path), "kernel")] == ["add.float"]


def test_a_schedule_records_the_steps_that_it_says(tmp_path: Path) -> None:
    x = ready("openreg:0")
    seen: list[int] = []

    def keep(profiler: profile) -> None:
        seen.append(len(of(trace_of(profiler, tmp_path), "kernel")))

    steps = schedule(wait=1, warmup=1, active=2, repeat=2)
    with profiled(schedule=steps, on_trace_ready=keep) as profiler:
        for _ in range(10):
            x + x
            profiler.step()
    assert seen == [2, 2]


def test_a_trace_for_tensorboard_is_written(tmp_path: Path) -> None:
    x = ready("openreg:0")
    with profiled(on_trace_ready=tensorboard_trace_handler(str(tmp_path)), with_stack=True, record_shapes=True):
        x + x
    (file,) = tmp_path.glob("*.pt.trace.json")
    events = json.loads(file.read_text())["traceEvents"]
    assert [it["name"] for it in of(events, "kernel")] == ["add.float"]
    (operator,) = of(events, "cpu_op", name="aten::add")
    assert operator["args"]["Input Dims"][:2] == [[64], [64]]
    assert of(events, "python_function")


# ------------------------------------------------------------------------------------------------- threads, operators


def test_kernels_of_backward_belong_to_operators_of_its_thread(device: str, tmp_path: Path) -> None:
    x = torch.ones(8, 8, device=device, requires_grad=True)
    (x * x).sum().backward()
    with profiled() as profiler:
        (x * x).sum().backward()
    events = trace_of(profiler, tmp_path)
    operators = {it["args"]["External id"]: it for it in of(events, "cpu_op")}
    kernels = of(events, "kernel")
    threads = {operators[it["args"]["External id"]]["tid"] for it in kernels}
    assert len(kernels) >= 4 and len(threads) == 2 and threading.get_native_id() in threads


def test_work_of_threads_that_are_not_profiled_is_in_the_trace_without_an_operator(tmp_path: Path) -> None:
    x = ready("openreg:0")
    numbers: list[int] = []

    def work() -> None:
        numbers.append(threading.get_native_id())
        for _ in range(20):
            x * x

    with profiled() as profiler:
        others = [threading.Thread(target=work) for _ in range(3)]
        for other in others:
            other.start()
        for _ in range(20):
            x + x
        for other in others:
            other.join()
    events = trace_of(profiler, tmp_path)
    mine, theirs = of(events, "kernel", name="add"), of(events, "kernel", name="mul")
    assert (len(mine), len(theirs)) == (20, 60)
    assert all("External id" in it["args"] for it in mine)
    assert not any("External id" in it["args"] for it in theirs)
    calls = {it["args"]["correlation"]: it["tid"] for it in of(events, "privateuse1_runtime")}
    assert {calls[it["args"]["correlation"]] for it in theirs} == set(numbers)


def test_the_copies_of_an_operator_on_the_cpu_are_its(device: str, tmp_path: Path) -> None:
    x = torch.eye(3, device=device)
    torch.linalg.inv(x)
    with profiled() as profiler:
        torch.linalg.inv(x)
    copies = {it["name"] for it in of(trace_of(profiler, tmp_path), "gpu_memcpy")}
    assert copies >= {"Memcpy DtoH (Device -> Pageable)", "Memcpy HtoD (Pageable -> Device)"}
    row = next(it for it in profiler.key_averages() if it.key == "aten::linalg_inv")
    assert row.device_time_total > 0


# ------------------------------------------------------------------------------------------- other ways of ending

START = """
import json, tempfile, warnings
from torch.profiler import ProfilerActivity, profile
from backend.test_profiler import CPU, DEVICE, WORK, of, places, profiled, ready, trace_of
from pathlib import Path
folder = Path(tempfile.mkdtemp())
"""


@pytest.fixture(params=["sim", "process"])
def driver(request: pytest.FixtureRequest) -> str:
    """Each driver in turn."""
    return request.param


def test_a_profile_whose_device_is_lost_ends_with_the_error_and_can_be_stopped_after_a_reset(
    program: ProgramFunction, driver: str
) -> None:
    said = program(
        START
        + """
x = ready("openreg:0")
profiler = profiled()
try:
    with profiler:
        x + x
        torch.openreg.synchronize(0)
        sim.lib.orSimLoseDevice(0)
except torch.AcceleratorError as error:
    print(error)
torch.openreg.reset_device(0)
profiler.stop()
print("before:", places(of(trace_of(profiler, folder), "kernel")))
with profiled() as profiler:
    x = torch.ones(3, device="openreg:0") + 1
print(x.tolist(), places(of(trace_of(profiler, folder), "kernel", name="add")))
""",
        timeout=60,
        OPENREG_DRIVER=driver,
    )
    assert "openreg: orDeviceSynchronize: device 0 was lost" in said
    assert "before: [('add.float', 0, 0)]\n" in said
    assert "[2.0, 2.0, 2.0] [('add.float', 0, 0)]\n" in said


def test_a_device_that_fails_beside_the_current_one_is_warned_of(program: ProgramFunction, driver: str) -> None:
    said = program(
        START
        + """
x, y = ready("openreg:0"), ready("openreg:1")
with profiled() as profiler:
    x + x
    y + y
    torch.openreg.synchronize(1)
    sim.lib.orSimLoseDevice(1)
print(sorted(places(of(trace_of(profiler, folder), "kernel"))))
""",
        timeout=60,
        OPENREG_DRIVER=driver,
    )
    warned = "Warning: openreg: the profile lacks what has happened on the device: "
    assert warned + "orDeviceSynchronize: device 1 was lost" in said
    assert "[('add.float', 0, 0), ('add.float', 1, 0)]\n" in said


def test_both_drivers_record_kernels_copies_and_annotations(program: ProgramFunction, driver: str) -> None:
    said = program(
        START
        + """
x, side = ready("openreg:1"), torch.Stream("openreg:1")
with profiled() as profiler, torch.profiler.record_function("mine"):
    x + x
    side.wait_stream(torch.openreg.default_stream(1)) if hasattr(side, "wait_stream") else None
    with side:
        y = (x * x).cpu()
assert y.tolist() == [1.0] * 64
events = trace_of(profiler, folder)
print(places(of(events, "kernel", "gpu_memcpy")), {it["name"] for it in of(events, "gpu_user_annotation")})
calls = {it["args"]["correlation"]: it for it in of(events, "privateuse1_runtime")}
assert all(calls[it["args"]["correlation"]]["ts"] <= it["ts"] + 0.01 for it in of(events, *WORK))
""",
        timeout=60,
        OPENREG_DRIVER=driver,
    )
    assert "('add.float', 1, 0)" in said and "('mul.float', 1, 1)" in said
    assert "('Memcpy DtoH (Device -> Pageable)', 1, 1)" in said and "{'mine'}" in said


def test_a_driver_without_records_leaves_the_cpus_events_and_a_warning(program: ProgramFunction, toy: str) -> None:
    said = program(
        START
        + """
with profiled() as profiler:
    x = torch.ones(3).to("openreg")
    assert x.cpu().tolist() == [1, 1, 1]
events = trace_of(profiler, folder)
print(len(of(events, "cpu_op", name="aten::_to_copy")), of(events, *WORK, "privateuse1_runtime"))
""",
        OPENREG_DRIVER=toy,
    )
    text = "Warning: openreg: the profile lacks what has happened on the device: not implemented: orActivitySubscribe"
    assert text in said and "\n2 []\n" in f"\n{said}"


def test_a_forked_child_profiles_the_cpu_and_the_parents_profile_goes_on(program: ProgramFunction) -> None:
    said = program(
        START
        + """
x = ready("openreg:0")
with profiled() as profiler:
    x + x
    child = os.fork()
    if child == 0:
        try:
            profiler.stop()
        except RuntimeError as error:
            print(error)
        with profile(activities=[CPU]) as own:
            torch.ones(3) + 1
        print(any(it.name == "aten::add" for it in own.events()), flush=True)
        os._exit(0)
    print("child:", os.waitpid(child, 0)[1], flush=True)
    x * x
print(places(of(trace_of(profiler, folder), "kernel")))
"""
    )
    assert "Cannot re-initialize openreg in forked subprocess." in said
    assert "True\nchild: 0\n" in said
    assert "[('add.float', 0, 0), ('mul.float', 0, 0)]\n" in said


def test_a_profile_that_an_exception_ends_is_complete(tmp_path: Path) -> None:
    x = ready("openreg:0")

    def fail() -> None:
        x + x
        raise KeyError("mine")

    profiler = profiled()
    with pytest.raises(KeyError), profiler:
        fail()
    assert places(of(trace_of(profiler, tmp_path), "kernel")) == [("add.float", 0, 0)]


@pytest.mark.parametrize("without", [{"OPENREG_SIM": "devices=0"}, {"OPENREG_DRIVER": "nonesuch"}])
def test_a_program_of_the_cpu_is_profiled_where_there_is_no_device(program: ProgramFunction, without: dict) -> None:
    said = program(
        """
import torch
from torch.profiler import profile
with profile() as recording:  # Of all activities, so also ours.
    torch.ones(3) + 1
print([event.name for event in recording.events() if event.name == "aten::add"])
""",
        **without,
    )
    assert "['aten::add']" in said
