"""What must hold from step 18 on: processes compute and train together, and none waits for a dead one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

pytestmark = pytest.mark.kernels

START = """
import os, signal, sys
import torch, torch_openreg
import torch.distributed as dist
from torch import nn
rank, folder = int(sys.argv[1]), sys.argv[2]
device = torch.device("openreg", rank)
torch.openreg.set_device(rank)
dist.init_process_group(init_method=f"file://{folder}/meet", rank=rank, world_size=2, device_id=device)
"""


def run_pair(code: str, folder: Path, transport: str, status: tuple[int, int] = (0, 0)) -> list[str]:
    """Runs a program as two ranks; what each has printed."""
    env = os.environ | {"OCCL_TRANSPORT": transport, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    started = [
        subprocess.Popen([sys.executable, "-c", START + code, str(rank), str(folder)], env=env, **pipe)
        for rank in range(2)
    ]
    try:
        said = [it.communicate(timeout=100) for it in started]
    finally:
        for it in started:
            it.kill()
    assert tuple(it.returncode for it in started) == status, said
    return [out for out, _ in said]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("transport", ["staged", "direct"])
def test_two_processes_compute_together(tmp_path: Path, transport: str) -> None:
    code = """
assert dist.get_backend() == "occl"
assert torch.openreg.collective_transport()[0] == os.environ["OCCL_TRANSPORT"]
x = torch.full((1000,), rank + 1.0, device=device)
work = dist.all_reduce(x, async_op=True)
work.wait()
assert x.tolist() == [3.0] * 1000
y = torch.empty(4, device=device)
dist.all_gather_single(y, torch.full((2,), float(rank), device=device))
assert y.tolist() == [0.0, 0.0, 1.0, 1.0]
if rank == 0:
    dist.send(y, 1)
else:
    dist.recv(y.zero_(), 0)
    assert y.tolist() == [0.0, 0.0, 1.0, 1.0]
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Linear(3, 1).to(device))
model(torch.full((2, 3), rank + 1.0, device=device)).sum().backward()
assert model.module.weight.grad.tolist() == [[3.0] * 3]
dist.destroy_process_group()
"""
    run_pair(code, tmp_path, transport)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("transport", ["staged", "direct"])
def test_a_killed_rank_is_an_error_and_no_wrong_number(tmp_path: Path, transport: str) -> None:
    code = """
x = torch.ones(3, device=device)
dist.all_reduce(x)
x.cpu()
if rank == 1:
    os.kill(os.getpid(), signal.SIGKILL)
dist.all_reduce(x, async_op=True)
torch.openreg.synchronize()
print(x.tolist())
try:
    dist.all_reduce(x)
except dist.DistBackendError as error:
    print(error)
"""
    said = run_pair(code, tmp_path, transport, (0, -9))[0]
    assert said.startswith("[nan, nan, nan]\n")
    assert "the group can't be used any more" in said


@pytest.mark.timeout(120)
def test_the_exercise_runs() -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "exercise.py")],
        env=os.environ | {"GLOO_SOCKET_IFNAME": "lo"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "of each rank: [[1.0, 1.0], [2.0, 2.0, 2.0, 2.0, 2.0]]\n"
