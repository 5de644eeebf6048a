"""Pictures of traces: tools/trace_picture.py, the two that chapter 15 shows, and that of chapter 18."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from loading import load_module

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> Any:
    return load_module(ROOT / "tools" / "trace_picture.py")


def event(cat: str, name: str, start: float, duration: float) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "ts": start, "dur": duration}


TRACE = [
    event("user_annotation", "training step", 1000, 400),
    event("cpu_op", "/home/me/train.py:12", 1000, 101),
    event("cpu_op", "aten::to", 1000, 100),
    event("cpu_op", "aten::copy_", 1010, 80),
    event("privateuse1_runtime", "orMemcpyWithStream", 1020, 60),
    event("privateuse1_runtime", "orLaunchKernel", 1150, 1),
    event("privateuse1_runtime", "orDeviceSynchronize", 1500, 9),
    event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 1030, 40),
    event("kernel", "add.float", 1160, 300),
    {"ph": "M", "name": "process_name"},
]


def test_a_trace_becomes_spans_from_the_first_step_on(tool: Any) -> None:
    assert sorted(tool.spans_of(TRACE)) == [
        ("copies", "Memcpy HtoD (Pageable -> Device)", 30, 70, False),
        ("host", "to", 0, 100, False),
        ("host", "to", 20, 80, True),
        ("kernels", "add.float", 160, 460, False),
    ]


def test_a_span_lies_where_its_time_is(tool: Any) -> None:
    svg = tool.picture([tool.Span("kernels", "add.float", 1000, 3000)], longest=4000)
    (box,) = re.findall(r'<g class="device"><rect x="([\d.]+)" y="(\d+)" width="([\d.]+)"', svg)
    assert box == (f"{tool.LEFT + tool.WIDTH / 4:.1f}", str(8 + 2 * tool.ROW), f"{tool.WIDTH / 2:.1f}")


def test_the_slow_loop_waits_in_its_picture_and_the_mended_one_does_not(tool: Any) -> None:
    slow, mended = ((tool.STATIC / name).read_text() for name in tool.PICTURES)
    assert slow.count('class="hot"') > 0 and 'class="hot"' not in mended
    named = set(re.findall(r'class="hot">.*?<text[^>]*>(\w+)</text>', slow))
    assert named and named <= {"to", "item", "histogram"}
    ends = []
    for svg in (slow, mended):
        boxes = re.findall(r'<g class="\w+"><rect x="([\d.]+)" y="\d+" width="([\d.]+)"', svg)
        ends.append(max(float(x) + float(width) for x, width in boxes))
    assert ends[0] == pytest.approx(tool.LEFT + tool.WIDTH, abs=0.2) and ends[1] < ends[0]


RANK = [
    event("gpu_user_annotation", "DistributedDataParallel.forward", 100, 50) | {"tid": 0},
    event("gpu_user_annotation", "Optimizer.step#AdamW.step", 300, 50) | {"tid": 0},
    event("gpu_user_annotation", "DistributedDataParallel.forward", 1000, 50) | {"tid": 0},
    event("gpu_user_annotation", "Optimizer.step#AdamW.step", 1300, 50) | {"tid": 0},
    event("kernel", "add.float", 200, 10) | {"tid": 0},
    event("kernel", "gemm.float", 1010, 100) | {"tid": 0},
    event("gpu_memcpy", "Memcpy DtoD (Device -> Device)", 1050, 10) | {"tid": 33},
    event("cuda_sync", "wait", 1060, 100) | {"tid": 33},
    event("kernel", "add.float", 1400, 10) | {"tid": 0},
]


def test_the_last_step_of_a_rank_has_a_row_for_each_stream(tool: Any) -> None:
    assert tool.streams_of(RANK) == [
        ("compute", "gemm.float", 10, 110, False),
        ("reduce", "Memcpy DtoD (Device -> Device)", 50, 60, False),
    ]


def test_gradients_are_reduced_beside_backward_in_the_picture(tool: Any) -> None:
    svg = (tool.STATIC / "overlap.svg").read_text()
    compute, reduce = (
        [float(x) for x in re.findall(rf'<g class="{tint}"><rect x="([\d.]+)"', svg)] for tint in tool.STREAMS.values()
    )
    assert sum(min(reduce) < x for x in compute) > 20  # of backward; an optimizer's step is a dozen
