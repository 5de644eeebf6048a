"""Lazy initialisation, forked and spawned processes, and the end of a process in every state."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from .conftest import PRELUDE, ProgramFunction, child_environment

# The text that users of CUDA know, and search for.
FORKED = (
    "Cannot re-initialize openreg in forked subprocess. To use openreg with multiprocessing, you must use the 'spawn' "
    "start method"
)

# Runs `body()` in a forked child; passes on what it printed and how it ended.
FORK = """
def in_child(body):
    sys.stdout.flush()
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print("child:", status, flush=True)
        return
    try:
        print(body(), flush=True)
    except Exception as error:
        print(type(error).__name__, error, flush=True)
    sys.exit()  # the ordinary end: destructors and all
"""


def with_fork(code: str) -> str:
    """A program that can call `in_child`."""
    return FORK + textwrap.dedent(code)


def fresh(code: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs code in a process that is no fork of anybody."""
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=child_environment(**env), capture_output=True, text=True, timeout=60, check=False
    )


# -------------------------------------------------------------------------------------------------------- lazy start


def test_import_and_counting_start_no_thread_and_no_device() -> None:
    done = fresh(
        """
import os
tasks = lambda: len(os.listdir("/proc/self/task"))
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch
before = tasks()
import torch_openreg
assert tasks() == before, "import torch_openreg started a thread"
"""
        + PRELUDE
        + """
assert torch.openreg.device_count() == 2 and torch.openreg.is_available() and torch.accelerator.device_count() == 2
assert not torch.openreg.is_initialized()
torch.manual_seed(0)
torch.openreg.init()
assert torch.openreg.is_initialized()
torch.openreg.set_device(1)
torch.openreg.get_device_properties(0)
assert tasks() == before and sim.get("orSimThreadCount") == 0, "asking about devices started a thread"
assert [sim.get("orDeviceGetState", i) for i in (0, 1)] == [0, 0], "asking about devices initialised one"
x = torch.ones(3).to("openreg:1")
assert [sim.get("orDeviceGetState", i) for i in (0, 1)] == [0, 1], "a tensor initialises its own device only"
print("done")
"""
    )
    assert done.stdout == "done\n", done.stderr


def test_the_first_tensor_initialises(program: ProgramFunction) -> None:
    assert program("""
        print(torch.openreg.is_initialized(), torch.openreg._is_in_bad_fork())
        torch.empty(1, device="openreg")
        print(torch.openreg.is_initialized(), torch.openreg._is_in_bad_fork())
    """).splitlines() == ["False False", "True False"]


def test_init_can_be_called_again(program: ProgramFunction) -> None:
    program("torch.openreg.init(); torch.openreg.init(); torch.empty(1, device='openreg'); torch.openreg.init()")


# --------------------------------------------------------------------------------------------------------------- fork


@pytest.mark.parametrize(
    "call",
    [
        "torch.empty(1, device='openreg')",
        "torch.empty_strided((1,), (1,), device='openreg:1')",
        "torch.ones(1).to('openreg')",
        "torch.tensor([1.0], device='openreg')",
        "torch.ones(1).openreg()",
        "torch.openreg.init()",
        "torch.openreg.synchronize()",
        "torch.openreg.set_device(1)",
        "torch.openreg.current_device()",
        "torch.openreg.mem_get_info()",
        "torch.openreg.get_device_properties(0)",
        "torch.openreg.device(1).__enter__()",
    ],
)
def test_a_forked_child_is_told_to_spawn(program: ProgramFunction, call: str) -> None:
    said = program(
        with_fork(f"""
        torch.ones(1).to("openreg")
        in_child(lambda: {call})
    """)
    )
    assert said.splitlines() == [
        "RuntimeError Cannot re-initialize openreg in forked subprocess. To use openreg with multiprocessing, you must "
        "use the 'spawn' start method",
        "child: 0",
    ]


@pytest.mark.parametrize("call", ["x.item()", "x.cpu()", "x.clone()", "x.resize_(9)", "x.copy_(x.cpu())"])
def test_a_forked_child_cannot_use_an_inherited_tensor(program: ProgramFunction, call: str) -> None:
    said = program(
        with_fork(f"""
        x = torch.ones(1).to("openreg")
        in_child(lambda: {call})
        assert x.item() == 1
    """)
    )
    error, child = said.splitlines()
    assert error.startswith("AcceleratorError openreg: ") and error.endswith("[orErrorForked]")
    assert child == "child: 0"


def test_a_forked_child_may_ask_about_the_device_and_seed(program: ProgramFunction) -> None:
    said = program(
        with_fork("""
        import warnings
        x = torch.ones(1).to("openreg")
        def ask():
            warnings.simplefilter("ignore")
            torch.manual_seed(1)
            return (torch.openreg.is_available(), torch.openreg.device_count(), torch.openreg.is_initialized(),
                    torch.openreg._is_in_bad_fork(), x.device, tuple(x.shape), x.t().is_contiguous())
        in_child(ask)
        print(torch.openreg.is_initialized(), torch.openreg._is_in_bad_fork())
    """)
    )
    assert said.splitlines() == [
        "(False, 0, False, True, device(type='openreg', index=0), (1,), True)",
        "child: 0",
        "True False",
    ]


def test_a_forked_child_that_asks_for_a_device_is_told_why_there_is_none(program: ProgramFunction) -> None:
    said = program(
        with_fork("""
        torch.ones(1).to("openreg")
        in_child(torch.openreg.is_available)
    """)
    )
    assert said.startswith("False\nchild: 0\n")
    assert said.count("UserWarning: openreg: no device is available: orGetDeviceCount: this process was forked") == 1


def test_inherited_tensors_die_in_the_child_without_harm(program: ProgramFunction) -> None:
    said = program(
        with_fork("""
        tensors = [torch.full((1000,), float(i)).to(f"openreg:{i % 2}") for i in range(10)]
        used = [torch.openreg.mem_get_info(i)[0] for i in (0, 1)]
        in_child(lambda: tensors.clear() or "freed")
        assert [torch.openreg.mem_get_info(i)[0] for i in (0, 1)] == used, "the child freed the parent's memory"
        assert all(tensor[7].item() == i for i, tensor in enumerate(tensors))
    """)
    )
    assert said.splitlines() == ["freed", "child: 0"]


# What leaves something behind in the parent that the end of a process would ask the device about.
USES = {
    "backward": "torch.ones(3, device='openreg:1', requires_grad=True).exp().sum().backward()",
    "pinned-memory": "keep = torch.ones(9).pin_memory()",
    "generator": "keep = torch.rand(3, device='openreg:1')",
    "stream-and-event": "keep = torch.openreg.Stream(); keep = keep, keep.record_event()",
    "work-on-a-stream": "with torch.openreg.Stream(): keep = torch.ones(9, device='openreg').exp()",
}


@pytest.mark.parametrize("use", USES)
def test_a_forked_child_that_only_ends_says_nothing(program: ProgramFunction, use: str) -> None:
    said = program(with_fork(f"{USES[use]}\nin_child(lambda: 'asked nothing')"), PYTHONWARNINGS="always")
    assert said.splitlines() == ["asked nothing", "child: 0"]


def test_a_fork_while_the_device_is_busy_does_not_hang_the_child(program: ProgramFunction) -> None:
    said = program(
        with_fork("""
        x = torch.ones(1000).to("openreg")
        gate = sim.gate(sim.default_stream(0))
        gate.wait_for(1)
        y = x.clone()
        in_child(lambda: torch.openreg.synchronize())
        gate.open()
        assert y.sum().item() == 1000
    """)
    )
    assert said.splitlines() == [f"RuntimeError {FORKED}", "child: 0"]


@pytest.mark.parametrize(
    "before", ["", "torch.openreg.init()", "torch.openreg.set_device(0)", "torch.openreg.device_count()"]
)
def test_a_fork_before_the_first_use_works(program: ProgramFunction, before: str) -> None:
    said = program(
        with_fork(f"""
        {before}
        in_child(lambda: (torch.arange(3.0).to("openreg:1").clone().cpu().tolist(), torch.openreg.is_initialized()))
        print(torch.ones(1).to("openreg").item())
    """)
    )
    assert said.splitlines() == ["([0.0, 1.0, 2.0], True)", "child: 0", "1.0"]


def test_a_fork_of_a_fork_works_if_nobody_used_the_device(program: ProgramFunction) -> None:
    said = program(
        with_fork("""
        in_child(lambda: in_child(lambda: torch.ones(1).to("openreg").item()))
    """)
    )
    assert said.splitlines() == ["1.0", "child: 0", "None", "child: 0"]


def test_a_spawned_process_works(tmp_path: Path) -> None:
    file = tmp_path / "spawning.py"
    file.write_text(
        """
import multiprocessing
import torch, torch_openreg

def work(index, answers):
    answers.put(torch.full((3,), float(index)).to(f"openreg:{index}").clone().cpu().tolist())

if __name__ == "__main__":
    torch.ones(1).to("openreg")  # used in the parent, which a forked child would not survive
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=work, args=(1, answers))
    child.start()
    print(answers.get(timeout=50))
    child.join()
    print(child.exitcode)
"""
    )
    done = subprocess.run(
        [sys.executable, str(file)], env=child_environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "[1.0, 1.0, 1.0]\n0\n", done.stderr


# ------------------------------------------------------------------------------------------------- the end of a process

# Tensors that die at the end wait for the device, as orFree does. Nobody opens the gate: its deadline releases them.
BUSY = """
x = torch.ones(1 << 20).to("openreg")
gate = sim.gate(*(sim.default_stream(i) for i in (0, 1)), deadline=1)
gate.wait_for(2)
ys = [x.clone() for _ in range(20)]
"""


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("torch.empty(1, device='openreg')", 0),
        ("x = torch.ones(3).to('openreg'); y = x.clone(); keep = sys.modules.setdefault('keep', [x, y])", 0),
        ("x = torch.ones(1 << 24).to('openreg'); ys = [x.clone() for _ in range(5)]", 0),
        ("x = torch.ones(3).to('openreg'); sys.exit(7)", 7),
        ("x = torch.ones(3).to('openreg'); raise KeyError('mine')", 1),
        ("x = torch.ones(3).to('openreg'); os._exit(5)", 5),
        (BUSY + "os._exit(5)", 5),
        (BUSY + "gate.open(); raise KeyError('mine')", 1),
        (BUSY + "sim._gates.clear(); torch._keep = [x, *ys]; del x, ys, gate", 0),
        ("threading.Thread(target=lambda: torch.ones(3).to('openreg').clone()).start()", 0),
        ("t = threading.Thread(target=lambda: sys.exit(3)); x = torch.ones(3).to('openreg'); t.start()", 0),
        (
            "torch.openreg.synchronize(0)\n"
            "sim.gate(sim.default_stream(0), deadline=600).wait_for(1)\n"
            "threading.Thread(target=torch.openreg.synchronize, args=(0,), daemon=True).start()",
            0,
        ),
        ("x = torch.ones(3).to('openreg:1'); sim.lib.orSimLoseDevice(1)", 0),
        ("import signal; x = torch.ones(3).to('openreg'); os.kill(os.getpid(), signal.SIGTERM); time.sleep(50)", -15),
    ],
    ids=[
        "idle",
        "tensors in a module",
        "work in flight",
        "sys.exit",
        "exception",
        "os._exit",
        "os._exit at a closed gate",
        "exception while work is queued",
        "closed gate, tensors alive",
        "used in another thread only",
        "another thread exits",
        "a thread waits at a closed gate",
        "lost device",
        "signal",
    ],
)
def test_a_process_ends_promptly_with_its_own_status(program: ProgramFunction, code: str, status: int) -> None:
    start = time.monotonic()
    said = program(code, status=status, timeout=60)
    assert time.monotonic() - start < 30, "it waited for a gate's deadline, or for a thread that never comes"
    assert "terminate called" not in said and "Fatal" not in said


# A graph holds a Python object, and a thread of the engine destroys it: it waits inside the destructor for a byte, and
# then takes a second, which is far longer than whoever doesn't wait for it needs. `Last` writes the byte when Python
# clears `sys`: from then on Python ends every other thread that wants to run.
IN_A_DESTRUCTOR = """
import atexit, os, sys, threading, time, torch, torch_openreg

wake, inside, over = os.pipe(), threading.Event(), threading.Event()

class Held:
    def __init__(self, tensor):
        self.tensor = tensor
    def __del__(self):
        inside.set()
        os.read(wake[0], 1)
        time.sleep(1)
        over.set()

class Last:
    def __del__(self, write=os.write, read=os.read, wake=wake[1], never=os.pipe()[0]):
        write(wake, b"x")
        read(never, 1)

def work():
    x = torch.ones(2, device="openreg", requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(Held, lambda held: held.tensor):
        y = x.exp().sum()
    y.backward()

worker = threading.Thread(target=work, daemon=True)
worker.start()
inside.wait()
"""

# Registered before the package is imported, so called after the package has waited. The caller of backward() would
# abort the process just as the engine's thread, if it came back from there too late: that is Python's matter, not ours.
AFTER_THE_WAIT = """
import atexit
atexit.register(lambda: (print(over.is_set()), worker.join()))
"""


def test_at_exit_the_package_waits_for_a_graph_that_is_being_destroyed() -> None:
    done = fresh(AFTER_THE_WAIT + IN_A_DESTRUCTOR + "atexit.register(os.write, wake[1], b'x')")
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python lets such threads hang from 3.14 on")
def test_without_the_wait_at_exit_an_engines_thread_aborts_the_process() -> None:
    done = fresh(
        IN_A_DESTRUCTOR + "atexit.unregister(torch_openreg._C._wait_for_idle_engine)\nsys.last_object = Last()"
    )
    assert (done.returncode, done.stderr.strip()) == (-6, "terminate called without an active exception")


def test_a_fresh_process_ends_in_the_same_way(program: ProgramFunction) -> None:
    done = fresh(PRELUDE + BUSY + "torch._keep = [x, *ys]\nraise SystemExit(4)")
    # Until a busy machine has ended the process, the gate's deadline may pass, which it says.
    said = [line for line in done.stderr.splitlines() if not line.startswith("gate ")]
    assert (done.returncode, said) == (4, [])
