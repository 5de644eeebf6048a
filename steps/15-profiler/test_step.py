"""What must hold from step 15 on: a recording has what devices have done, and for which operator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401
from torch.profiler import DeviceType, ProfilerActivity, profile, record_function

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]
BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]


@pytest.mark.kernels
@pytest.mark.parametrize("device", DEVICES)
def test_work_stands_on_the_stream_that_ran_it(device: str) -> None:
    x, side = torch.ones(4, device=device), torch.Stream(device)
    with profile(activities=BOTH) as recording:
        x.neg()
        with side:
            x.exp()
    work = [it for it in recording.events() if it.device_type != DeviceType.CPU]
    index = x.device.index
    assert {(it.name, it.device_index, it.device_resource_id) for it in work} == {
        ("neg.float", index, 0),
        ("exp.float", index, side.stream_id),
    }
    assert all(it.time_range.end >= it.time_range.start for it in work)


@pytest.mark.kernels
@pytest.mark.parametrize("device", DEVICES)
def test_an_operator_has_the_time_of_its_kernels(device: str) -> None:
    x = torch.ones(64, 64, device=device)
    with profile(activities=BOTH) as recording:
        for _ in range(3):
            x @ x
    kernels = [it for it in recording.events() if it.name == "gemm.float"]
    row = next(row for row in recording.key_averages() if row.key == "aten::mm")
    assert row.count == 3 and len(kernels) == 3
    assert row.self_device_time_total == pytest.approx(sum(it.time_range.elapsed_us() for it in kernels), abs=0.1)


def test_a_trace_says_what_was_copied_and_draws_an_arrow(tmp_path: Path) -> None:
    x = torch.ones(1000)
    with profile(activities=BOTH) as recording:
        x.to("openreg:1")
    recording.export_chrome_trace(str(tmp_path / "trace.json"))
    trace = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    (copied,) = (it for it in trace if it.get("cat") == "gpu_memcpy")
    assert copied["name"] == "Memcpy HtoD (Pageable -> Device)"
    assert (copied["args"]["bytes"], copied["args"]["device"], copied["args"]["stream"]) == (4000, 1, 0)
    arrows = {it["ph"]: it for it in trace if it.get("cat") == "ac2g" and it["id"] == copied["args"]["correlation"]}
    assert set(arrows) == {"s", "f"} and arrows["f"]["pid"] == copied["pid"]


@pytest.mark.parametrize("device", DEVICES)
def test_a_name_given_by_the_program_stands_on_the_stream(device: str) -> None:
    x = torch.ones(4, device=device)
    with profile(activities=BOTH) as recording, record_function("mine"):
        x.neg()
    mine = [it for it in recording.events() if it.name == "mine"]
    assert [it.device_type != DeviceType.CPU for it in mine].count(True) == 1


def test_only_who_asks_for_the_device_records_it() -> None:
    x = torch.ones(4, device="openreg")
    with profile(activities=[ProfilerActivity.CPU]) as recording:
        x.neg()
    assert all(it.device_type == DeviceType.CPU for it in recording.events())


def test_the_exercise_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "exercise.py")],
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("read the next batch\n")
