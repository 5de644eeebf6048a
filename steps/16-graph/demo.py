"""Step 16: the work of many launches, captured once and launched as one."""

import tempfile
from pathlib import Path

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2)).to("openreg")
rows, calls = torch.zeros(4, 8, device="openreg"), torch.zeros(1, device="openreg")
stream, graph = torch.Stream("openreg"), torch.accelerator.Graph()
graph.enable_debug_mode()

with torch.no_grad(), stream:
    model(rows)  # what is only done the first time
    with graph:
        scores = model(rows)
        calls += 1
        draw = torch.rand(1, device="openreg")
    print("executed during the capture:", calls.item())

    for number in (1, 2):
        given = torch.randn(4, 8, generator=torch.Generator().manual_seed(number))
        rows.copy_(given)
        graph.replay()
        print(f"replay {number}: calls {calls.item()}, as eager code: {torch.equal(scores, model(rows))}")

    drawn = []
    for seed in (7, None, 7):
        if seed is not None:
            torch.manual_seed(seed)
        graph.replay()
        drawn.append(draw.item())
    print("other numbers:", drawn[0] != drawn[1], "- the same seed, the same numbers:", drawn[0] == drawn[2])

    others = [torch.zeros(4, 2, device="openreg") for _ in range(100)]
    graph.replay()
    print("nobody else's memory was written:", not any(it.any().item() for it in others))

    with tempfile.TemporaryDirectory() as folder:
        graph.debug_dump(f"{folder}/graph.dot")
        print("nodes:", Path(folder, "graph.dot").read_text().count("label="))

    try:
        graph.reset()
        with graph:
            print(scores.sum().item())
    except RuntimeError as error:
        print(error)
    print("capturing:", stream.is_capturing())
