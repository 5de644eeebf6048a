"""examples/transformer/train.py: compiled, in half precision, by two processes; and the answers of a captured graph.

OPENREG_RECORD=1 writes what it prints to tests/recorded, from which the guide has it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, NamedTuple

import pytest
from contract.processes import shared_memory

from .conftest import TESTS, child_environment

PROGRAM = TESTS.parent / "examples" / "transformer" / "train.py"
RECORDED = TESTS / "recorded" / "transformer.txt"
COMMAND = "$ torchrun --nproc-per-node 2 train.py\n"

pytestmark = [pytest.mark.kernels, pytest.mark.xdist_group("distributed"), pytest.mark.timeout(400)]


class Run(NamedTuple):
    """What came of a run."""

    printed: str
    events: list[dict[str, Any]]
    left: set[str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of two ranks, with the trace of the first one."""
    trace = tmp_path_factory.mktemp("transformer") / "trace.json"
    before = shared_memory()
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", str(PROGRAM), str(trace)],
        env=child_environment(OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo"),
        capture_output=True,
        text=True,
        timeout=380,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return Run(done.stdout, json.loads(trace.read_text())["traceEvents"], shared_memory() - before)


def test_it_learns_without_the_cpu_and_the_graph_answers(run: Run) -> None:
    if os.environ.get("OPENREG_RECORD"):
        RECORDED.write_text(COMMAND + run.printed)
    assert COMMAND + run.printed == RECORDED.read_text()
    assert run.printed.endswith("right after training: 100%; left to the CPU: {}\n")


def test_the_last_gradients_are_reduced_while_the_first_are_computed(run: Run) -> None:
    """The order in which the host queues it, which is the same on each machine."""
    calls = sorted((it["ts"], it["name"]) for it in run.events if it.get("cat") == "cpu_op")
    names = [name for _, name in calls]
    last_step = names[len(names) - names[::-1].index("aten::log_softmax") :]
    assert last_step.index("c10d::allreduce_") < last_step.index("aten::embedding_dense_backward")


def test_compiled_kernels_run_beside_those_of_operators(run: Run) -> None:
    kernels = {it["name"] for it in run.events if it.get("cat") == "kernel"}
    assert {"gemm.float", "attention.float", "attention_backward.float"} <= kernels
    assert any(name.startswith("openreg_fused") and "gelu_backward" in name for name in kernels)


def test_nothing_is_left_behind(run: Run) -> None:
    assert run.left == set()
