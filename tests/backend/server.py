"""A process that has imported PyTorch and this backend, and runs each program it is sent in a fork of itself.

Importing takes seconds, and many tests need a process of their own. A fork is as good as a fresh process here, because
importing starts nothing; test_fork.py proves that with processes that are really fresh.

Each request is a line of JSON on standard input, each answer one on standard output.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from pathlib import Path

# One thread for operators of the CPU. torch.set_num_threads() would make a pool, and PyTorch renews a pool after a fork
# under no lock: the autograd engine's threads, which all ask for it, would die of "Invalid thread pool!".
os.environ["OMP_NUM_THREADS"] = "1"
import torch
import torch.distributed.tensor  # 500 modules, which torch.testing.assert_close asks for when first called

from . import simulator  # noqa: F401  (imports torch_openreg)


def wait(child: int, seconds: float) -> int | None:
    """The exit status as subprocess gives it; None if the time is over, and then the child is killed."""
    end = time.monotonic() + seconds
    pause = 0.001
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(pause)
        pause = min(0.02, 1.5 * pause)


def become(request: dict) -> None:
    """Turns the fork into the program's process: its environment, its outputs, nothing of the server's."""
    os.setpgid(0, 0)
    os.environ.update(request["env"])
    for name, number in (("/dev/null", 0), (request["stdout"], 1), (request["stderr"], 2)):
        file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
        os.close(file)


def serve() -> str:
    """Serves requests; returns only in a child, with its program."""
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            become(request)
            return Path(request["program"]).read_text()
        print(json.dumps(wait(child, request["timeout"])), flush=True)
    sys.exit()


# At the end of the program the child runs off the end of this file: the interpreter shuts down as for any program.
gc.freeze()  # what is imported: else each program's end would go through all of it, and copy it
_program = serve()
# PyTorch renews its autograd engine after a fork, under no lock: before a program's threads do so at once.
torch.autograd.Variable._execution_engine.is_checkpoint_valid()
sys.argv = ["program.py"]
exec(compile(_program, "program.py", "exec"), {"__name__": "__main__"})
