"""Solution: all_gather of tensors with different sizes, which no rank knows of the others."""

import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist


def all_gather_uneven(mine: torch.Tensor) -> list[torch.Tensor]:
    """The one-dimensional tensors of all ranks. The host waits once: sizes of tensors are numbers of the host."""
    size = torch.tensor([len(mine)], device=mine.device)
    sizes = torch.empty(dist.get_world_size(), dtype=torch.long, device=mine.device)
    dist.all_gather_single(sizes, size)
    counts = sizes.tolist()
    padded = mine.new_zeros(max(counts))
    padded[: len(mine)] = mine
    every = mine.new_empty(len(counts) * max(counts))
    dist.all_gather_single(every, padded)
    return [part[:count] for part, count in zip(every.chunk(len(counts)), counts, strict=True)]


def run(rank: int, folder: str) -> None:
    device = torch.device("openreg", rank)
    torch.openreg.set_device(rank)
    dist.init_process_group(init_method=f"file://{folder}/meet", rank=rank, world_size=2, device_id=device)
    every = all_gather_uneven(torch.full((2 + 3 * rank,), rank + 1.0, device=device))
    if rank == 0:
        print("of each rank:", [it.tolist() for it in every])
    dist.destroy_process_group()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(1, sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            other = subprocess.Popen([sys.executable, __file__, folder])
            run(0, folder)
            sys.exit(other.wait())
