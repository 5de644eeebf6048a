"""Figures of collectives of two ranks: directly from device to device, through the host, and Gloo on the CPU's tensors.

All three are measured in turns by the same two processes, each with one thread for the CPU's operators, as `torchrun`
has it.
"""

import multiprocessing
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

import torch
import torch.distributed as dist
from measure import report, seconds

RANKS = 2
ROUNDS = 15
SIZES = {"1 KiB": 1 << 10, "1 MiB": 1 << 20, "64 MiB": 1 << 26}  # bytes
TIMES_GLOO = 1 / 3  # how much of Gloo's time the direct way may take for the largest


def measure_rank(rank: int, file: Path) -> None:
    """Measures as one of the ranks; the first reports."""
    torch.set_num_threads(1)
    device = torch.device("openreg", rank)
    torch.openreg.set_device(device)
    os.environ["OCCL_TRANSPORT"] = "direct"
    dist.init_process_group(
        "cpu:gloo,openreg:occl", store=dist.FileStore(str(file), RANKS), rank=rank, world_size=RANKS, device_id=device
    )
    os.environ["OCCL_TRANSPORT"] = "staged"
    staged = dist.new_group(backend="cpu:gloo,openreg:occl", device_id=device)
    for name, size in SIZES.items():
        there, here = torch.ones(size // 4), torch.ones(size // 4, device=device)
        bodies: list[Callable[[], object]] = [
            lambda: dist.all_reduce(here),  # noqa: B023
            lambda: dist.all_reduce(here, group=staged),  # noqa: B023
            lambda: dist.all_reduce(there),  # noqa: B023
        ]
        calls = 3 if size == max(SIZES.values()) else 30
        taken: list[list[float]] = [[], [], []]
        for turn in range(ROUNDS + 1):
            for body, times in zip(bodies, taken, strict=True):
                dist.barrier()
                times += [seconds(body, calls)] * (turn > 0)  # the first doesn't count
        direct, through, gloo = map(median, taken)
        if rank == 0:
            most = {"times": TIMES_GLOO, "cores": float(RANKS)} if size == max(SIZES.values()) else {}
            report(f"all_reduce of {name}, direct", direct * 1e3, "ms", cpu=gloo * 1e3, **most)
            report(f"all_reduce of {name}, staged", through * 1e3, "ms", cpu=gloo * 1e3)
    dist.destroy_process_group()


def main() -> None:
    """Starts the ranks."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    processes = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        ranks = [processes.Process(target=measure_rank, args=(rank, Path(folder) / "group")) for rank in range(RANKS)]
        for rank in ranks:
            rank.start()
        for rank in ranks:
            rank.join()
    if any(rank.exitcode for rank in ranks):
        raise SystemExit("a rank has failed")


if __name__ == "__main__":
    main()
