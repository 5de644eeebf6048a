"""What must hold from step 06 on: streams, events, the order between them, and errors that arrive late."""

import ctypes
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
import torch_openreg

HERE = Path(__file__).resolve().parent
DEVICES = ["openreg:0", "openreg:1"]
LIBC = ctypes.CDLL(None)
GATES = []  # all that there ever were: the stream's thread may still be leaving one
LIBRARY = ctypes.CDLL(str(Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"))


@pytest.fixture(autouse=True)
def default_streams() -> Iterator[None]:
    """Every test starts on device 0 and its default stream."""
    yield
    for index in (1, 0):
        torch.openreg.set_stream(torch.openreg.default_stream(index))


@contextmanager
def closed(stream: torch.Stream) -> Iterator[None]:
    """What is queued on the stream inside runs when the block ends."""
    gate = ctypes.create_string_buffer(64)  # a semaphore of the C library, at which the stream waits
    GATES.append(gate)
    LIBC.sem_init(gate, 0, 0)
    assert LIBRARY.orLaunchHostFunc(ctypes.c_void_p(stream.native_handle), LIBC.sem_wait, gate) == 0
    deadline = threading.Timer(30, LIBC.sem_post, [gate])  # so that a fault cannot hang the test
    deadline.start()
    try:
        yield
    finally:
        deadline.cancel()
        LIBC.sem_post(gate)


def settled(*values: float, device: str) -> torch.Tensor:
    """A tensor whose values are there, whatever stream is current."""
    x = torch.tensor(values, dtype=torch.float32).to(device)
    torch.openreg.synchronize(device)
    return x


@pytest.mark.parametrize("device", DEVICES)
def test_without_a_wait_another_stream_reads_stale_data_and_with_one_it_does_not(device: str) -> None:
    x, ones, side = settled(0, 0, device=device), settled(1, 1, device=device), torch.Stream(device)
    with closed(side):
        with side:
            x.copy_(ones)
        assert x.tolist() == [0, 0]
        torch.openreg.current_stream(device).wait_stream(side)
        y = x.clone()
    assert y.tolist() == [1, 1]


@pytest.mark.parametrize("device", DEVICES)
def test_an_event_recorded_again_is_a_new_version(device: str) -> None:
    first, second, waiter = (torch.Stream(device) for _ in range(3))
    event = torch.Event(device)
    with closed(second):
        with closed(first):
            event.record(first)
            waiter.wait_event(event)
            event.record(second)
            assert not waiter.query()
        waiter.synchronize()
        assert not event.query()
    event.synchronize()
    assert event.query()


def test_a_stream_may_wait_for_one_of_another_device() -> None:
    here, there, x = torch.Stream("openreg:0"), torch.Stream("openreg:1"), settled(1, 2, device="openreg:0")
    with closed(there):
        here.wait_stream(there)
        with here:
            y = x.clone()
        assert not here.query()
        torch.openreg.default_stream(0).synchronize()
    with here:
        assert y.tolist() == [1, 2]


def test_the_pool_has_32_streams_for_each_device_and_priority() -> None:
    assert [torch.Stream("openreg").stream_id for _ in range(64)].count(5) == 2
    assert len({torch.Stream(device, priority=p) for device in DEVICES for p in (0, -1) for _ in range(40)}) == 4 * 32
    assert torch.openreg.Stream.priority_range() == (0, -1)


@pytest.mark.parametrize("device", DEVICES)
def test_each_thread_has_its_own_current_stream_and_contexts_put_it_back(device: str) -> None:
    side, seen = torch.Stream(device), []

    def fail() -> None:
        assert (torch.openreg.current_stream(), torch.openreg.current_device()) == (side, int(device[-1]))
        thread = threading.Thread(target=lambda: seen.append(torch.openreg.current_stream(device)))
        thread.start()
        thread.join()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), torch.openreg.stream(side):
        fail()
    assert seen == [torch.openreg.default_stream(device)]
    assert (torch.openreg.current_stream(device).stream_id, torch.openreg.current_device()) == (0, 0)


def test_a_number_that_is_no_streams_is_refused() -> None:
    with pytest.raises(RuntimeError, match="device openreg:0 has no stream 99; expected 0, its default stream"):
        torch.openreg.set_stream(torch.Stream(stream_id=99, device_index=0, device_type=20))


WORK: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a copy": lambda x: x.clone(),
    "an operator": lambda x: x * 3,
    "a fallback": torch.special.erfcx,
    "a copy to the host": lambda x: x.cpu(),
    "a copy to the other device": lambda x: x.to(f"openreg:{1 - x.device.index}"),
}


@pytest.mark.parametrize("name", WORK)
def test_work_runs_on_the_current_stream(name: str) -> None:
    x, values, side, found = settled(0, 0, device="openreg"), settled(1, 2, device="openreg"), torch.Stream(), []

    def run() -> None:
        with torch.openreg.stream(side):
            x.copy_(values)
            found.append(WORK[name](x).cpu())

    thread = threading.Thread(target=run)
    with closed(side):
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
    thread.join()
    torch.testing.assert_close(found[0], WORK[name](values).cpu())


def test_backward_runs_on_the_streams_of_the_forward() -> None:
    side, seen = torch.Stream("openreg"), []
    x = settled(1, 2, device="openreg").requires_grad_()
    with side:
        y = x * 2
    torch.openreg.current_stream().wait_stream(side)
    z = y.exp()
    for tensor in (y, z):
        tensor.grad_fn.register_prehook(lambda _: seen.append(torch.openreg.current_stream(0).stream_id))
    z.sum().backward()
    assert seen == [0, side.stream_id]
    torch.testing.assert_close(x.grad.cpu(), 2 * torch.tensor([2.0, 4.0]).exp())


LATE = """
import ctypes, os, pathlib, sys, torch, torch_openreg
lib = ctypes.CDLL(str(pathlib.Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"))
x, stream = torch.ones(2).to("openreg:1"), torch.Stream("openreg:1")
y = x.clone()
torch.openreg.synchronize(1)
torch.openreg.set_stream(stream)
z = torch.empty(2, device="openreg:1")
lib.orFree(ctypes.c_void_p(z.data_ptr()))
for call in (lambda: y.add_(z), stream.synchronize, stream.synchronize, lambda: y.copy_(x)):
    try:
        call()
        print("no error")
    except torch.AcceleratorError as error:
        print(str(error).split(": ")[1])
sys.stdout.flush()
os._exit(0)  # what was freed cannot be freed again
"""


def run(code: str, **env: str) -> list[str]:
    """The lines that a program prints in a process of its own, which must end well."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=os.environ | env)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.splitlines()


@pytest.mark.kernels
def test_an_asynchronous_error_arrives_late_and_stays() -> None:
    assert run(LATE) == ["no error", "orStreamSynchronize", "orStreamSynchronize", "orMemcpyAsync"]


@pytest.mark.kernels
def test_with_launch_blocking_it_arrives_at_the_call() -> None:
    said = run(LATE, OPENREG_LAUNCH_BLOCKING="1")
    assert said == ["orLaunchKernel", "orStreamSynchronize", "orStreamSynchronize", "orMemcpyAsync"]


@pytest.mark.skipif(hasattr(torch.openreg, "empty_cache"), reason="step 07 has brought it")
def test_there_is_no_record_stream_yet() -> None:
    text = "Could not run 'aten::record_stream' with arguments from the 'CPU' backend."
    with pytest.raises(NotImplementedError, match=text):
        torch.ones(2, device="openreg").record_stream(torch.openreg.current_stream())


def test_a_process_ends_with_work_in_flight() -> None:
    code = """
import torch, torch_openreg
x = torch.ones(1 << 20, device="openreg", requires_grad=True)
for _ in range(4):
    with torch.Stream("openreg"):
        x.clone().sum().backward()
"""
    assert run(code) == []


@pytest.mark.simulator
@pytest.mark.parametrize("delays", ["", "copy_delay=2ms", "kernel_delay=2ms"])
def test_the_exercise_runs(delays: str) -> None:
    env = os.environ | {"OPENREG_SIM": delays}
    command = [sys.executable, str(HERE / "exercise.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=env)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("found    [190.0]\n")
