"""Makes pictures in docs/_static of traces: those of examples/slow_loop.py and examples/transformer/train.py.

    python tools/trace_picture.py                                   (make traces)

Each picture of the loop has a row for the host, with its operators and the times in which it waits, and one for each
kind of work of the device. Both have one scale, so that they can be compared. The picture of the transformer has a row
for each stream of the device, and the last step that was recorded.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from torch_openreg.openreg.explanation import WAITS

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "docs" / "_static"
EXAMPLE = ROOT / "examples" / "slow_loop.py"
RANKS = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
RANKS += [str(ROOT / "examples" / "transformer" / "train.py")]
PICTURES = {"slow_loop.svg": [], "mended_loop.svg": ["--mended"]}
# The rows from top to bottom. The class tints, and the guide's legend says what a tint means.
ROWS = {"host": "python", "copies": "driver", "kernels": "device"}
STREAMS = {"compute": "device", "reduce": "driver"}
LEFT, WIDTH, ROW, BOX = 72, 640, 44, 30
Event = dict[str, Any]


class Span(NamedTuple):
    """A box of the picture: times in microseconds since the first recorded step began."""

    row: str
    name: str
    start: float
    end: float
    waits: bool = False


def spans_of(events: list[Event]) -> list[Span]:
    """Returns what the recorded steps did. What the host does after the last one is the profiler's own."""
    whole = [event for event in events if event.get("ph") == "X"]
    steps = [event for event in whole if event["name"] == "training step" and event["cat"] == "user_annotation"]
    begin, end = min(event["ts"] for event in steps), max(event["ts"] + event["dur"] for event in steps)

    def span(row: str, event: Event, name: str, *, waits: bool = False) -> Span:
        return Span(row, name, event["ts"] - begin, event["ts"] + event["dur"] - begin, waits)

    found, last = [], begin
    operators = [event for event in whole if event["cat"] == "cpu_op" and begin <= event["ts"] < end]
    # Around each operator is the mark that `explain` makes, with the line of the program: "/home/me/train.py:12".
    operators = [event for event in operators if not re.search(r":\d+$", event["name"])]
    for event in sorted(operators, key=lambda event: event["ts"]):
        if event["ts"] >= last:  # else it is inside of the one before
            last = event["ts"] + event["dur"]
            found.append(span("host", event, event["name"].removeprefix("aten::")))
    outermost = list(found)
    for event in whole:
        if event["cat"] == "privateuse1_runtime" and event["name"] in WAITS and begin <= event["ts"] < end:
            at = event["ts"] - begin
            inside = [it.name for it in outermost if it.start <= at < it.end]
            found.append(span("host", event, inside[0] if inside else event["name"], waits=True))
        elif event["cat"] in ("kernel", "gpu_memcpy"):
            found.append(span("kernels" if event["cat"] == "kernel" else "copies", event, event["name"]))
    return found


def streams_of(events: list[Event]) -> list[Span]:
    """Returns what the device did in the last training step of a rank: its own work, and that of the collectives."""
    whole = [event for event in events if event.get("ph") == "X"]
    marks = [event for event in whole if event["cat"] == "gpu_user_annotation"]
    forward = max((it for it in marks if it["name"].endswith(".forward")), key=lambda it: it["ts"])
    begin = forward["ts"]
    end = max(it["ts"] + it["dur"] for it in marks if it["name"].startswith("Optimizer.step"))
    return [
        Span(
            "compute" if event["tid"] == forward["tid"] else "reduce",
            event["name"],
            event["ts"] - begin,
            event["ts"] + event["dur"] - begin,
        )
        for event in whole
        if event["cat"] in ("kernel", "gpu_memcpy") and begin <= event["ts"] < end
    ]


def picture(spans: list[Span], longest: float, rows: dict[str, str] = ROWS) -> str:
    """Returns the SVG; `longest` microseconds fill its width."""
    scale, parts = WIDTH / longest, []
    for row, (lane, tint) in enumerate(rows.items()):
        top = 8 + row * ROW
        middle, base = top + BOX // 2, top + BOX // 2 + 4
        parts.append(f'<text x="{LEFT - 12}" y="{base}" text-anchor="end">{lane}</text>')
        parts.append(f'<path d="M{LEFT} {middle}H{LEFT + WIDTH}" stroke="black" stroke-dasharray="2 4"/>')
        for it in (it for it in spans if it.row == lane):
            x, width = LEFT + it.start * scale, max((it.end - it.start) * scale, 1)
            shape = f'x="{x:.1f}" y="{top}" width="{width:.1f}" height="{BOX}"'
            box = f'<rect {shape} fill="white" stroke="black" stroke-width="0.5"/>'
            if it.waits and width > 8 * len(it.name) + 4:
                box += f'<text x="{x + width / 2:.1f}" y="{base}" text-anchor="middle">{escape(it.name)}</text>'
            parts.append(f'<g class="{"hot" if it.waits else tint}">{box}</g>')
    axis = 8 + len(rows) * ROW
    parts.append(f'<path d="M{LEFT} {axis}H{LEFT + WIDTH}" stroke="black"/>')
    parts.append(f'<text x="{LEFT - 12}" y="{axis + 19}" text-anchor="end" font-size="11">ms</text>')
    for tick in range(0, int(longest / 1000) + 1, 2):
        x = LEFT + tick * 1000 * scale
        parts.append(f'<path d="M{x:.1f} {axis}v5" stroke="black"/>')
        parts.append(f'<text x="{x:.1f}" y="{axis + 19}" text-anchor="middle" font-size="11">{tick}</text>')
    size = f'viewBox="0 0 {LEFT + WIDTH + 8} {axis + 26}" width="{LEFT + WIDTH + 8}"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-size="13">', *parts, "</svg>\n"])


def main() -> None:
    """Records what is to be seen, and draws it."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, options in PICTURES.items():
            trace = Path(folder) / f"{name}.json"
            subprocess.run([sys.executable, EXAMPLE, *options, "--trace", trace], check=True, stdout=subprocess.DEVNULL)
            found[name] = spans_of(json.loads(trace.read_text())["traceEvents"])
        trace = Path(folder) / "transformer.json"
        alone = {**os.environ, "OMP_NUM_THREADS": "1"}
        subprocess.run([*RANKS, trace], check=True, env=alone, stdout=subprocess.DEVNULL)
        streams = streams_of(json.loads(trace.read_text())["traceEvents"])
    longest = max(it.end for spans in found.values() for it in spans)
    for name, spans in found.items():
        (STATIC / name).write_text(picture(spans, longest))
        print(f"traces: docs/_static/{name}")
    (STATIC / "overlap.svg").write_text(picture(streams, max(it.end for it in streams), STREAMS))
    print("traces: docs/_static/overlap.svg")


if __name__ == "__main__":
    main()
