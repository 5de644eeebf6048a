"""The GPU's form of kernels, run by the host: the driver "cuda" over libraries that stand in for NVIDIA's.

The driver finds the sources, puts the GPU's loops in, compiles and launches as on a GPU; the processor then runs thread
after thread of each block. So what is tested is the code, and not how a GPU orders what its threads do.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from contract.cuda.stub import environment

WORKER = Path(__file__).with_name("cuda_kernels_worker.py")
DRIVERS = ("OPENREG_DRIVER", "OPENREG_SIM", "OPENREG_PROCESS")


@pytest.fixture(scope="session")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that has such a GPU."""
    return environment(tmp_path_factory.mktemp("gpu"))


def work(env: dict[str, str], *arguments: str | Path) -> None:
    """Runs the worker, which must succeed."""
    others = {name: value for name, value in os.environ.items() if name not in DRIVERS}
    command = [sys.executable, WORKER, *arguments]
    done = subprocess.run(command, env=others | env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]


@pytest.mark.skipif(not shutil.which("ccache"), reason="needs ccache")
def test_what_one_run_has_compiled_another_finds(gpu: dict[str, str], tmp_path: Path) -> None:
    compiler = tmp_path / "compiler"
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        folders = {"TMPDIR": str(tmp_path / name), "XDG_CACHE_HOME": str(tmp_path / name)}
        done = subprocess.run(
            [sys.executable, "-c", "import torch, torch_openreg; print(torch.ones(3, device='openreg').exp().cpu())"],
            env=os.environ | gpu | folders | {"CCACHE_DIR": str(compiler)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "tensor([2.7183, 2.7183, 2.7183])\n"
    env = os.environ | {"CCACHE_DIR": str(compiler)}
    printed = subprocess.check_output(["ccache", "--print-stats"], env=env, text=True)
    counts = dict(line.split("\t") for line in printed.splitlines())
    assert int(counts["cache_miss"]) == int(counts["direct_cache_hit"]) > 0


@pytest.mark.parametrize(
    "group",
    [
        "elementwise",
        "reductions",
        "loops",
        "rows",
        "normalizations",
        "lookups",
        "arrivals",
        "scans",
        "sorts",
        "cells",
        "images",
        "products",
        "trains",
        "errors",
    ],
)
def test_kernels_of_a_gpu_give_what_the_cpu_gives(group: str, gpu: dict[str, str]) -> None:
    """Bit for bit, but where a function is computed in another way."""
    work(gpu, group)


def test_a_gpu_draws_the_random_numbers_that_the_simulator_draws(gpu: dict[str, str], tmp_path: Path) -> None:
    """A seed means the same numbers on each driver."""
    drawn = tmp_path / "drawn.pt"
    work({}, "draws", drawn)
    assert drawn.exists()
    work(gpu, "draws", drawn)
