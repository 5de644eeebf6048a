"""What the direct way between ranks is for: values go from device to device, and none through the host's memory."""

from __future__ import annotations

import json

import pytest

from .distributed_ranks import Ranks

pytestmark = [pytest.mark.kernels, pytest.mark.xdist_group("distributed"), pytest.mark.timeout(240)]

# How many bytes each collective copies between the host and the device, on this rank.
THROUGH_THE_HOST = """
    import json
    join(device_id=device)
    x = torch.ones(SIZE << 16, device=device)
    part, whole = torch.empty(1 << 16, device=device), torch.empty(SIZE, SIZE << 16, device=device)
    collectives = {
        "all_reduce": lambda: dist.all_reduce(x),
        "broadcast": lambda: dist.broadcast(x, 0),
        "reduce": lambda: dist.reduce(x, 0),
        "all_gather": lambda: dist.all_gather(list(whole), x),
        "all_gather_into_tensor": lambda: dist.all_gather_into_tensor(whole, x),
        "reduce_scatter_tensor": lambda: dist.reduce_scatter_tensor(part, x),
    }
    for name, call in collectives.items():
        call()
        torch.openreg.synchronize()
        with torch.profiler.profile() as profiler:
            call()
            torch.openreg.synchronize()
        profiler.export_chrome_trace(f"{FOLDER}/{RANK}.json")
        with open(f"{FOLDER}/{RANK}.json") as file:
            events = json.load(file)["traceEvents"]
        copies = [it for it in events if it["name"].startswith(("Memcpy HtoD", "Memcpy DtoH"))]
        print("copied", json.dumps([name, sum(it["args"]["bytes"] for it in copies)]))
    dist.destroy_process_group()
"""


def test_a_direct_collective_moves_no_values_through_the_host(ranks: Ranks, transport: str) -> None:
    for said in ranks(THROUGH_THE_HOST, transport=transport, timeout=120):
        copied = dict(json.loads(line[7:]) for line in said.splitlines() if line.startswith("copied "))
        assert len(copied) == 6
        for name, count in copied.items():
            if transport == "direct":  # a byte for each piece says whether the ranks have agreed
                assert 0 < count <= 64, name
            else:
                assert count >= 4 << 16, name
