"""Step 18: two processes, each with a device of its own, train one network."""

import os
import subprocess
import sys
import tempfile

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.functional import mse_loss


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2))


def train(model: nn.Module, rows: torch.Tensor, wanted: torch.Tensor) -> list[float]:
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
    for _ in range(3):
        optimizer.zero_grad()
        loss = mse_loss(model(rows), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses


def run(rank: int, folder: str) -> None:
    device = torch.device("openreg", rank)
    torch.openreg.set_device(rank)
    dist.init_process_group(init_method=f"file://{folder}/meet", rank=rank, world_size=2, device_id=device)
    tell = print if rank == 0 else lambda *_: None
    x = torch.full((3,), rank + 1.0, device=device)
    dist.all_reduce(x)
    tell("backend:", dist.get_backend(), "- all_reduce of 1 and 2:", x.tolist())

    generator = torch.Generator().manual_seed(1)
    rows, wanted = torch.randn(16, 8, generator=generator), torch.randn(16, 2, generator=generator)
    alone = torch.stack(train(network(), rows, wanted))
    mine = slice(8 * rank, 8 * rank + 8)
    replicated = nn.parallel.DistributedDataParallel(network().to(device), device_ids=[device])
    sharded = network().to(device)
    for part in (*sharded, sharded):
        fully_shard(part, mesh=init_device_mesh("openreg", (2,)))
    for name, model in (("DDP", replicated), ("FSDP", sharded)):
        losses = torch.stack(train(model, rows[mine].to(device), wanted[mine].to(device)))
        dist.all_reduce(losses, dist.ReduceOp.AVG)
        tell(f"{name} trains like one process: {torch.allclose(losses.cpu(), alone, atol=1e-6)}")

    for transport in ("direct", "staged"):
        os.environ["OCCL_TRANSPORT"] = transport
        group = dist.new_group()
        y = torch.full((1 << 20,), rank + 1.0, device=device)
        dist.all_reduce(y, group=group)
        tell(f"{torch.openreg.collective_transport(group)[0]}: right {bool((y == 3).all())}")

    dist.barrier()
    if rank == 1:
        os._exit(1)  # as if it were killed
    x = torch.ones(3, device=device)
    dist.all_reduce(x, group=group)
    tell("with a rank that is gone:", x.tolist())
    try:
        dist.all_reduce(x, group=group)
    except dist.DistBackendError as error:
        tell(str(error).partition("used any more")[0] + "used any more")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(1, sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            other = subprocess.Popen([sys.executable, __file__, folder], stderr=subprocess.DEVNULL)
            try:
                run(0, folder)
            finally:
                other.kill()
                other.wait()
