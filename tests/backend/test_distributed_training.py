"""What PyTorch builds on collectives: DDP, FSDP2, DTensor, pipelines, checkpoints; each against one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from .conftest import child_environment
from .distributed_ranks import Ranks
from .expected import release

pytestmark = [pytest.mark.kernels, pytest.mark.xdist_group("distributed"), pytest.mark.timeout(240)]

CASES = """
    from backend import distributed_training
    join("cpu:gloo,openreg:occl")
    run_cases(distributed_training)
    dist.destroy_process_group()
"""


@pytest.mark.parametrize(("transport", "size"), [("staged", 2), ("direct", 2), ("direct", 4)])
def test_several_ranks_train_like_one_process(ranks: Ranks, transport: str, size: int) -> None:
    some = ', "mesh_of_two_dimensions", "ddp", "dtensor"' if size == 4 else ""
    code = CASES.replace("(distributed_training)", f"(distributed_training{some})")
    for said in ranks(code, size=size, transport=transport, timeout=200):
        line = next(line for line in said.splitlines() if line.startswith("results "))
        failed = {name: error for name, error in json.loads(line[8:]).items() if error}
        assert not failed, "\n".join(f"{name}: {error}" for name, error in failed.items())


REFUSED = {
    "SyncBatchNorm": "batch_norm_stats",
    "bf16_compress_hook": "BF16 all reduce communication hook required CUDA 11+ and NCCL 2.10+ or XPU and XCCL",
    "monitored_barrier": "monitored_barrier is only implemented for GLOO backend.",
}
if release(torch.__version__) >= (2, 14):
    REFUSED |= {"bf16_compress_hook": "works", "monitored_barrier": "a group with a CPU-capable backend (e.g. GLOO)"}


def test_what_pytorch_refuses_to_other_devices(ranks: Ranks) -> None:
    code = """
        from backend.distributed_training import what_pytorch_refuses
        import json
        join()
        print("refused", json.dumps(what_pytorch_refuses()))
    """
    for said in ranks(code):
        told = json.loads(next(line for line in said.splitlines() if line.startswith("refused "))[8:])
        wrong = {name: text for name, text in REFUSED.items() if text not in told[name]}
        assert not wrong, told


ELASTIC = """
import os, signal, sys
import torch, torch_openreg
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoints
from datetime import timedelta
from pathlib import Path
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

rank, attempt, folder = int(os.environ["RANK"]), int(os.environ["TORCHELASTIC_RESTART_COUNT"]), sys.argv[1]


def say(text):  # in one write: print makes two if nothing is buffered, and the other rank's line may come between
    os.write(sys.stdout.fileno(), f"rank {rank} {text}\\n".encode())


device = torch.device("openreg", rank)
torch.openreg.set_device(rank)
dist.init_process_group(device_id=device, timeout=timedelta(seconds=20))
torch.manual_seed(0)
model = torch.nn.Linear(8, 8).to(device)
fully_shard(model, mesh=init_device_mesh("openreg", (2,)))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
state, first = {"model": model.state_dict(), "step": torch.tensor(0)}, 0
if Path(folder, ".metadata").exists():
    checkpoints.load(state, checkpoint_id=folder)
    model.load_state_dict(state["model"])
    first = int(state["step"])
say(f"attempt {attempt} from step {first}")
for step in range(first, 4):
    model(torch.ones(4, 8, device=device)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    checkpoints.save({"model": model.state_dict(), "step": torch.tensor(step + 1)}, checkpoint_id=folder)
    if attempt == 0 and step == 1 and rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
say(f"weight {model.weight.full_tensor().sum().item():.5f}")
dist.destroy_process_group()
"""


def test_torchrun_restarts_after_a_kill_and_training_goes_on(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(ELASTIC)
    run = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--max-restarts=1"]
    where = ["--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0", "--local-addr=127.0.0.1"]
    # Each way on one of the drivers, so that the two runs of this test see both.
    transport = "direct" if os.environ.get("OPENREG_DRIVER") == "process" else "staged"
    env = child_environment(OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo", OCCL_TRANSPORT=transport)
    done = subprocess.run(
        [*run, *where, str(tmp_path / "train.py"), str(tmp_path / "saved")],
        env=env,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    said = sorted(line for line in done.stdout.splitlines() if line.startswith("rank "))
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 8)
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    for _ in range(4):
        optimizer.zero_grad()
        model(torch.ones(4, 8)).sum().backward()
        optimizer.step()
    began = [f"rank {rank} attempt {attempt} from step {2 * attempt}" for rank in range(2) for attempt in range(2)]
    weights = [float(line.rpartition(" ")[2]) for line in said if "weight" in line]
    assert [line for line in said if "attempt" in line] == began
    assert weights == pytest.approx([model.weight.sum().item()] * 2, abs=1e-3)
