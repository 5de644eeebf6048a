"""Programs that run as several ranks: each in a fork of a process that has imported PyTorch and this backend."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PRELUDE = """
import os, signal, sys, threading, time
import torch, torch_openreg
import torch.distributed as dist
from torch import nn
from contract.harness import wait_until
from backend.distributed_rank import *
"""


class Ranks:
    """Runs a program as the ranks of one group, on this machine, over loopback.

    Args:
        folder: Where the programs, what they print, and the files in which they meet lie.
        env: Environment in which a process finds the package under test and the tests.
    """

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self._folder = folder
        self._env = env | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}
        self._runs = 0
        self._servers: list[subprocess.Popen[str]] = []

    def _server(self, number: int) -> subprocess.Popen[str]:
        while len(self._servers) <= number:
            self._servers.append(
                subprocess.Popen(
                    [sys.executable, "-m", "backend.server"],
                    env=self._env,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        return self._servers[number]

    def __call__(
        self,
        code: str,
        *,
        size: int = 2,
        status: int | list[int | None] = 0,
        timeout: float = 60,
        transport: str = "staged",
        **env: str,
    ) -> list[str]:
        """Runs the code in each rank, and returns what each has printed, errors too.

        Args:
            code: The program; what stands before it is `PRELUDE`.
            size: How many ranks.
            status: What each rank ends with, or one number for all; None: it doesn't matter.
            timeout: Seconds that a rank may take; it is killed then.
            transport: Which way the group's values are to go.
            env: Environment.
        """
        self._runs += 1
        folder = self._folder / str(self._runs)
        folder.mkdir()
        (folder / "program").write_text(PRELUDE + textwrap.dedent(code))
        expected = status if isinstance(status, list) else [status] * size
        for rank in range(size):
            self._server(rank)

        def run(rank: int) -> int | None:
            ours = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "FOLDER": folder, "OCCL_TRANSPORT": transport}
            files = {"program": folder / "program", "stdout": folder / f"{rank}.out", "stderr": folder / f"{rank}.err"}
            request = {name: str(path) for name, path in files.items()}
            request |= {"env": {name: str(value) for name, value in ours.items()} | env, "timeout": timeout}
            server = self._servers[rank]
            assert server.stdin and server.stdout
            server.stdin.write(json.dumps(request) + "\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        with ThreadPoolExecutor(size) as pool:
            got = list(pool.map(run, range(size)))
        said = [(folder / f"{it}.out").read_text() + (folder / f"{it}.err").read_text() for it in range(size)]
        wrong = [it for it in range(size) if got[it] is None or expected[it] not in (None, got[it])]
        assert not wrong, f"the ranks ended with {got}, expected {expected}; they printed:\n" + "\n---\n".join(said)
        return said

    def close(self) -> None:
        """Ends the processes that programs are forked from."""
        for server in self._servers:
            server.kill()
            server.communicate(timeout=10)
