"""Makes docs/_static/recording.svg: what `make step N=02` prints, line after line, as it is printed.

    python tools/recording.py                                       (make recording)

The command is run. Its lines appear in the picture in their order and at their time. A pause is cut to a second and a
half, and one before a new part lasts a second at least. Lines are cut to the width of the picture. It plays once and
stays. Whoever asked their system for less motion sees the end at once.
"""

import html
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "_static" / "recording.svg"
COMMAND = "make step N=02"
COLUMNS, TYPING = 88, 0.07  # characters, seconds a character
PART, PAUSE = 1.0, 1.5  # seconds: the shortest pause before a part, the longest of all
# What a first run installs on which machine, and how far a build is: on a terminal, a bar that goes away.
LEFT_OUT = re.compile(r"setup:|step \d+: \d+ of \d+ files")
CHARACTER, LINE, MARGIN = 8.4, 20, 18  # pixels, of 14 px monospace

STYLE = """\
    .recording { background: #10161d; border-radius: 8px; }
    svg.recording text.said { fill: #d5dde5; white-space: pre; animation: said 0s linear both;
      font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
    svg.recording text.typed { font-weight: 600; fill: #fff; }
    svg.recording text.red { fill: #ff8a80; }
    svg.recording text.green { fill: #6fdd8b; }
    @keyframes said { from { opacity: 0; } }
    @media print { svg.recording text.said { animation: none; } }
    @media (prefers-reduced-motion: reduce) { svg.recording text.said { animation: none; } }
"""


def run(command: str) -> list[tuple[float, str]]:
    """Runs a command that must succeed; returns each line that it prints and the pause before it, in seconds."""
    lines, last = [], time.monotonic()
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command.split(), cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as program:
        for line in program.stdout:
            now = time.monotonic()
            if not LEFT_OUT.match(line):
                lines.append((now - last, line.rstrip("\n")))
            last = now
    if program.returncode:
        sys.exit("\n".join([*(line for _, line in lines), f"recording: {command} failed; the picture is as it was"]))
    return lines


def picture(command: str, lines: list[tuple[float, str]]) -> str:
    """Returns the SVG. What a step prints before it is built is red, what it prints afterwards green."""
    at = len(command) * TYPING
    rows = [("typed", 0.0, f"$ {command}")]
    colour = ""
    for pause, line in lines:
        part = line.startswith(("On ", "building", "next:"))
        at += min(max(pause, PART if part else 0), PAUSE)
        if line.startswith("On "):
            colour = "green" if line.startswith("On this step") else "red"
        elif line.startswith(("building", "next:")):
            colour = ""
        shown = line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…"
        rows.append((colour, at, shown))
    width, height = round(COLUMNS * CHARACTER + 2 * MARGIN), len(rows) * LINE + 2 * MARGIN
    texts = [
        f'  <text class="{f"said {kind}".strip()}" style="animation-delay: {begin:.2f}s"'
        f' x="{MARGIN}" y="{MARGIN + LINE * row + 14}">{html.escape(text, quote=False)}</text>'
        for row, (kind, begin, text) in enumerate(rows)
        if text
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" class="recording" width="{width}" height="{height}"'
    return "\n".join(
        [
            f'{head} viewBox="0 0 {width} {height}" role="img">',
            f"  <title>{command}: the program fails, the step is built, the program works, its tests pass.</title>",
            f"  <style>\n{STYLE}  </style>",
            f'  <rect width="{width}" height="{height}" rx="8" fill="#10161d"/>',
            *texts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    FILE.write_text(picture(COMMAND, run(COMMAND)))
    print(f"recording: {FILE.relative_to(ROOT)}")
