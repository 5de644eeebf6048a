"""Figures of the driver "process", a device in a process of its own.

Beside them stands what the plain way would cost: a pair of queues of `multiprocessing`, one for requests and one for
answers. A driver is chosen once in a process, so the training step runs in two, in turns.
"""

import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from measure import report

ROOT = Path(__file__).resolve().parent.parent
ROUNDS = 9
STEPS = 20

# Makes a step, then measures as often as a line comes in. `calls` steps make a turn.
TRAINER = """
import sys
import models
from measure import seconds
step, calls = models.mlp("openreg:0"), int(sys.argv[1])
seconds(step, calls)
for _ in sys.stdin:
    seconds(step, 3)
    print(seconds(step, calls), flush=True)
"""


class Trainer:
    """A process that trains with one driver when it is told to."""

    def __init__(self, driver: str) -> None:
        """Starts the process."""
        self.process = subprocess.Popen(
            [sys.executable, "-c", TRAINER, str(STEPS)],
            cwd=Path(__file__).parent,
            env={**os.environ, "OPENREG_DRIVER": driver},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def step(self) -> float:
        """Returns the seconds that a step takes now."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin and stdout
        stdin.write("\n")
        stdin.flush()
        return float(stdout.readline())

    def end(self) -> None:
        """Lets the process end."""
        self.process.communicate()


def answer(requests: multiprocessing.Queue, answers: multiprocessing.Queue) -> None:
    """Sends back what comes, until None comes."""
    while (request := requests.get()) is not None:
        answers.put(request)


def queue_pair() -> None:
    """A request and its answer over queues of multiprocessing."""
    context = multiprocessing.get_context("spawn")
    requests, answers = context.Queue(), context.Queue()
    process = context.Process(target=answer, args=(requests, answers))
    process.start()
    taken = []
    for _ in range(2000):
        start = time.perf_counter()
        requests.put(1)
        answers.get()
        taken.append(time.perf_counter() - start)
    requests.put(None)
    process.join()
    report("round trip of a pair of multiprocessing queues", median(taken) * 1e6, "µs")


def training() -> None:
    """A step of the MLP, beside the one with the device in this process."""
    trainers = [Trainer("process"), Trainer("sim")]
    taken = [[trainer.step() for trainer in trainers] for _ in range(ROUNDS)]
    for trainer in trainers:
        trainer.end()
    own, same = (median(column) for column in zip(*taken, strict=True))
    report("training step, MLP", own * 1e3, "ms")
    report("training step, MLP, × the in-process driver's", own / same, "", most=2)


if __name__ == "__main__":
    program = sys.argv[1]
    done = subprocess.run(
        [program], env={**os.environ, "OPENREG_DRIVER": "process"}, stdout=subprocess.PIPE, text=True, check=True
    )
    print(done.stdout, end="", flush=True)
    queue_pair()
    training()
