"""Makes docs/_static/training_memory.svg: the memory of two training steps, by what it is for.

    python tools/memory_picture.py                                  (make memory-picture)

A small network is trained on the device while the history of its memory is recorded. Each block of the history is a
parameter, a gradient or a state of the optimizer if such a tensor has it when a step is over; all else is called an
activation. (An address says nothing by itself: the allocator uses it again.) Time is counted in actions of the
allocator, as in PyTorch's own viewer.
"""

from pathlib import Path

import torch
import torch_openreg  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "_static" / "training_memory.svg"
COLOURS = {"parameters": "#4e79a7", "optimizer state": "#76b7b2", "gradients": "#f28e2c", "activations": "#e15759"}
STEPS, WIDTH, HEIGHT, LEFT, BOTTOM = 2, 640, 260, 80, 60


def kinds(optimizer: torch.optim.Optimizer) -> dict[int, str]:
    """What lies at the addresses of tensors that outlive a step."""
    found = {}
    for parameter, state in optimizer.state.items():
        found |= {parameter.data_ptr(): "parameters", parameter.grad.data_ptr(): "gradients"}
        found |= {value.data_ptr(): "optimizer state" for value in state.values() if value.device.type == "openreg"}
    return found


def train() -> tuple[list[dict], list[tuple[int, dict[int, str]]]]:
    """Trains; returns the history, and for the end of each step the entries so far and what lies where."""
    history = torch.openreg.memory
    torch.manual_seed(0)
    history._record_memory_history(context=None)
    layers = [torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU()]
    model = torch.nn.Sequential(*layers, torch.nn.Linear(256, 10)).to("openreg")
    optimizer = torch.optim.Adam(model.parameters())
    x = torch.randn(512, 256).to("openreg")
    target = torch.randint(0, 10, (512,)).to("openreg")
    ends = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), target).backward()
        optimizer.step()
        ends.append((len(history._snapshot()["device_traces"][0]), kinds(optimizer)))
    entries = history._snapshot()["device_traces"][0]
    history._record_memory_history(None)
    return entries, ends


def bytes_by_kind(entries: list[dict], ends: list[tuple[int, dict[int, str]]]) -> list[dict[str, int]]:
    """What is in use of each kind after each action."""
    kind_of = {}  # by the entry that allocated the block
    allocated: dict[int, int] = {}
    for number, entry in enumerate(entries):
        for found in (found for end, found in ends if end == number):
            kind_of |= {allocated[address]: kind for address, kind in found.items()}
        if entry["action"] == "alloc":
            allocated[entry["addr"]] = number
    held: dict[int, tuple[str, int]] = {}
    rows = []
    for number, entry in enumerate(entries):
        if entry["action"] == "alloc":
            held[entry["addr"]] = (kind_of.get(number, "activations"), entry["size"])
        elif entry["action"] == "free_completed":
            held.pop(entry["addr"])
        else:
            continue
        rows.append({kind: sum(size for of, size in held.values() if of == kind) for kind in COLOURS})
    return rows


def picture(rows: list[dict[str, int]]) -> str:
    """Returns the SVG: areas on top of each other, a scale in KiB, and a legend."""
    most = max(sum(row.values()) for row in rows)
    wide, high = WIDTH / len(rows), HEIGHT / most
    parts, below = [], [0] * len(rows)
    for kind, colour in COLOURS.items():
        above = [base + row[kind] for base, row in zip(below, rows, strict=True)]
        edge = [(LEFT + (i + side) * wide, value) for i, value in enumerate(above) for side in (0, 1)]
        edge += [(LEFT + (i + side) * wide, below[i]) for i in reversed(range(len(rows))) for side in (1, 0)]
        points = " ".join(f"{x:.1f},{10 + HEIGHT - value * high:.1f}" for x, value in edge)
        parts.append(f'  <polygon points="{points}" fill="{colour}"><title>{kind}</title></polygon>')
        below = above
    for share in (0, 0.5, 1):
        y = 10 + HEIGHT * (1 - share)
        parts.append(f'  <line x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y}" y2="{y}" stroke="#8888" />')
        parts.append(f'  <text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{most * share / 1024:.0f} KiB</text>')
    parts.append(f'  <text x="{LEFT}" y="{HEIGHT + 28}">actions of the allocator: {len(rows)}, {STEPS} steps</text>')
    for i, (kind, colour) in enumerate(COLOURS.items()):
        x, y = LEFT + i * 160, HEIGHT + BOTTOM - 12
        parts.append(f'  <rect x="{x}" y="{y - 11}" width="12" height="12" fill="{colour}"/>')
        parts.append(f'  <text x="{x + 18}" y="{y}">{kind}</text>')
    size = f'width="{WIDTH + LEFT + 10}" height="{HEIGHT + BOTTOM}" viewBox="0 0 {WIDTH + LEFT + 10} {HEIGHT + BOTTOM}"'
    style = "  <style>text { font: 13px sans-serif; fill: #888; }</style>"
    title = "  <title>Memory of a device in two training steps, by what it is for</title>"
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', title, style, *parts, "</svg>\n"])


if __name__ == "__main__":
    FILE.write_text(picture(bytes_by_kind(*train())))
    print(f"memory-picture: {FILE.relative_to(ROOT)}")
