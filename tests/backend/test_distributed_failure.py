"""What the other ranks see when one of them dies, hangs, disagrees, or loses its device."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract.harness import wait_until
from contract.processes import is_alive, shared_memory

from .distributed_ranks import Ranks

pytestmark = [pytest.mark.kernels, pytest.mark.xdist_group("distributed"), pytest.mark.timeout(120)]


def executors_without_parent() -> set[int]:
    """Device processes whose program has ended."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_text().split("\0") if entry.name.isdigit() else []
        except OSError:
            continue
        at = next((number for number, word in enumerate(words) if word.startswith("--device=")), 0)
        if at and words[at - 1].isdigit() and is_alive(int(entry.name)) and not is_alive(int(words[at - 1])):
            found.add(int(entry.name))
    return found


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """After a test there are no device processes without a program, and no files in shared memory."""
    files = shared_memory()
    yield
    assert shared_memory() <= files
    wait_until(lambda: not executors_without_parent(), "no device process is left")


SEEN = """
    def next_one_raises(*parts):
        x = torch.ones(1 << 12, device=device)
        def again():
            for _ in range(100):
                dist.all_reduce(x)
                x.cpu()
        return raises(again, "occl: ", f"failed on rank {RANK} of {SIZE}", "the group can't be used any more", *parts)
"""


def test_a_killed_rank_poisons_one_result_and_the_next_call_raises(ranks: Ranks, transport: str) -> None:
    code = (
        SEEN
        + """
    join(timeout=10)
    x = torch.ones(1 << 16, device=device)
    dist.all_reduce(x)
    x.cpu()
    if RANK == 1:
        await_key("rank 0 waits for it")
        os.kill(os.getpid(), signal.SIGKILL)
    work = dist.all_reduce(x, async_op=True)
    work.wait()
    tell("rank 0 waits for it")
    began = time.monotonic()
    assert x.isnan().all().item()
    assert time.monotonic() - began < 8
    assert not work.is_success()
    raises(lambda: dist.all_reduce(x, async_op=True), "all_reduce, operation 2 of group", DIED)  # and queues nothing
    next_one_raises("all_reduce, operation 2 of group", DIED)
    raises(lambda: dist.broadcast(x, 0), DIED)
    raises(dist.barrier, DIED)
    """
    )
    died = {"staged": "by peer", "direct": "has ended"}[transport]
    ranks(code.replace("DIED", repr(died)), transport=transport, status=[0, -signal.SIGKILL])


def test_a_rank_that_hangs_is_given_up_after_the_timeout(ranks: Ranks, transport: str) -> None:
    code = (
        SEEN
        + """
    join(timeout=1.5)
    x = torch.ones(1 << 16, device=device)
    dist.all_reduce(x)
    x.cpu()
    if RANK == 1:
        await_key("rank 0 has given up")
        os._exit(0)
    began = time.monotonic()
    dist.all_reduce(x)
    assert x.isnan().all().item()
    assert 1 < time.monotonic() - began < 5
    next_one_raises("imed out waiting 1500ms")
    tell("rank 0 has given up")
    """
    )
    ranks(code, transport=transport)


@pytest.mark.parametrize("how", ["SIGKILL", "SIGSTOP"])
def test_all_other_ranks_hear_of_one_that_is_gone(ranks: Ranks, transport: str, how: str) -> None:
    """Killed, or stopped as by a debugger: then its process is there, its sockets are open, and nothing answers."""
    code = (
        SEEN
        + f"""
    join(timeout=4)
    x = torch.ones(1 << 16, device=device)
    dist.all_reduce(x)
    x.cpu()
    tell(f"rank {{RANK}} has its first result")
    if RANK == 2:
        for other in (0, 1):  # who dies earlier may take along what is on its way to them
            await_key(f"rank {{other}} has its first result")
        with open(f"{{FOLDER}}/process", "w") as file:
            file.write(str(os.getpid()))
        tell("rank 2 goes")
        os.kill(os.getpid(), signal.{how})
    await_key("rank 2 goes")
    began = time.monotonic()
    dist.all_reduce(x, async_op=True)  # and no wait(), which raises when the failure is known by then
    torch.openreg.synchronize()
    assert x.isnan().all().item()
    assert time.monotonic() - began < 8
    next_one_raises()
    tell(f"rank {{RANK}} has heard")
    if RANK == 0 and {how == "SIGSTOP"}:
        await_key("rank 1 has heard")
        with open(f"{{FOLDER}}/process") as file:
            os.kill(int(file.read()), signal.SIGKILL)
    """
    )
    ranks(code, size=3, transport=transport, status=[0, 0, -signal.SIGKILL])


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        ("all_reduce(torch.ones(4 + RANK, device=device))", ["all_reduce (sum) of 16 bytes", "of 20 bytes of Float"]),
        ("all_reduce(torch.ones(4, device=device, dtype=[torch.int32, torch.float32][RANK]))", ["of Int", "of Float"]),
        ("all_reduce(torch.ones(4, device=device), [dist.ReduceOp.SUM, dist.ReduceOp.MAX][RANK])", ["(sum)", "(max)"]),
        ("broadcast(torch.ones(4, device=device), RANK)", ["of root 0", "of root 1"]),
        ("broadcast(torch.ones(4 + RANK, device=device), 0)", ["broadcast of root 0 of 16 bytes", "of 20 bytes"]),
        (
            "all_gather_into_tensor(torch.empty(8 + 2 * RANK, device=device), torch.ones(4 + RANK, device=device))",
            ["all_gather_into_tensor of 16 bytes", "of 20 bytes"],
        ),
        (
            "all_to_all_single(torch.ones(4, device=device), torch.ones(4).to(device), [3 - RANK, 1 + RANK], [2, 2])",
            ["all_to_all_single of 12 bytes", "all_to_all_single of 8 bytes"],
        ),
    ],
)
def test_ranks_that_disagree_all_raise_the_same(ranks: Ranks, transport: str, call: str, parts: list[str]) -> None:
    code = (
        SEEN
        + f"""
    join(timeout=10)
    def disagree():
        dist.{call}
        torch.openreg.synchronize()
        next_one_raises("the ranks disagree")
        dist.barrier()
    text = raises(disagree, "the ranks disagree: rank 0 calls", "rank 1 calls", *{parts})
    print(text[text.index("the ranks disagree"):].splitlines()[0])
    """
    )
    said = ranks(code, transport=transport)
    first = [next(line for line in it.splitlines() if line.startswith("the ranks disagree")) for it in said]
    assert first[0] == first[1]


def test_ranks_that_call_different_collectives_all_raise(ranks: Ranks, transport: str) -> None:
    code = (
        SEEN
        + """
    join(timeout=10)
    x = torch.ones(4, device=device)
    if RANK == 0:
        work = dist.all_reduce(x, async_op=True)
    else:
        work = dist.broadcast(x, 0, async_op=True)
    torch.openreg.synchronize()
    assert x.isnan().all().item()
    text = "the ranks disagree: rank 0 calls all_reduce (sum) of 16 bytes of Float, rank 1 calls broadcast of root 0"
    next_one_raises(text)
    """
    )
    ranks(code, transport=transport)


def test_a_message_of_another_size_raises_on_both_sides(ranks: Ranks, transport: str) -> None:
    code = """
    join(timeout=2)
    x = torch.ones(4 + RANK, device=device)
    if RANK == 0:
        dist.send(x, 1)
        torch.openreg.synchronize()
        def again():  # what is sent to a rank that still lives may lie in buffers of the network
            while time.monotonic() < began + 30:
                dist.send(x, 1)
                torch.openreg.synchronize()
                time.sleep(0.01)
        began = time.monotonic()
        raises(again, "send, operation", "failed on rank 0 of 2")
    else:
        dist.irecv(x, 0)  # and no wait(), which raises when the failure is known by then
        torch.openreg.synchronize()
        assert x.isnan().all().item()
        raises(lambda: dist.recv(x, 0), "the ranks disagree: rank 0 sends 16 bytes, rank 1 expects 20 bytes")
    """
    ranks(code, transport=transport)


def test_a_rank_that_loses_its_device_says_so_and_the_others_hear_of_it(ranks: Ranks, transport: str) -> None:
    code = (
        SEEN
        + """
    join(timeout=10)
    x = torch.ones(4, device=device)
    dist.all_reduce(x)
    x.cpu()
    if RANK == 0:
        work = dist.all_reduce(x, async_op=True)
        assert sim.lib.orSimLoseDevice(device.index) == 0
        raises(x.cpu, "[orErrorDeviceLost]", kind=torch.AcceleratorError)
        raises(lambda: dist.all_reduce(x), "[orErrorDeviceLost]", kind=torch.AcceleratorError)
        tell("rank 0 has lost its device")
        sys.exit(3)
    await_key("rank 0 has lost its device")
    next_one_raises()
    """
    )
    ranks(code, transport=transport, status=[3, 0])


def test_abort_releases_who_waits(ranks: Ranks, transport: str) -> None:
    code = """
    from datetime import timedelta
    join(timeout=60)
    x = torch.ones(4, device=device)
    dist.all_reduce(x)
    x.cpu()
    if RANK == 1:
        await_key("rank 0 is out")
        os._exit(0)
    backend = dist.group.WORLD._get_backend(device)
    work, other = dist.all_reduce(x, async_op=True), dist.isend(x, 1)
    raises(lambda: work.wait(timedelta(milliseconds=300)), "is not done after 300 ms")  # so it has begun
    backend.abort()
    began = time.monotonic()
    torch.openreg.synchronize()
    assert time.monotonic() - began < 5
    assert x.isnan().all().item()
    raises(work.wait, "was aborted on rank 0 of 2")
    raises(lambda: dist.all_reduce(x), "was aborted on rank 0 of 2")
    dist.destroy_process_group()
    tell("rank 0 is out")
    """
    ranks(code, transport=transport, timeout=30)


@pytest.mark.parametrize("call", ["dist.all_reduce(x, async_op=True)", "dist.isend(x, 1)", "dist.irecv(x, 1)"])
def test_a_program_ends_with_work_in_flight(ranks: Ranks, transport: str, call: str) -> None:
    code = f"""
    join(timeout=60)
    x = torch.ones(1 << 20, device=device)
    if RANK == 1:
        await_key("rank 0 ends")
        os._exit(0)
    work = {call}
    tell("rank 0 ends")
    sys.exit(0)
    """
    ranks(code, transport=transport, timeout=30)


def test_keys_of_an_earlier_generation_are_not_read(ranks: Ranks, transport: str) -> None:
    code = """
    for attempt in range(3):
        os.environ["TORCHELASTIC_RESTART_COUNT"] = str(attempt)
        join(timeout=10)
        x = torch.ones(4, device=device)
        dist.all_reduce(x)
        close(x, torch.full((4,), 2.0))
        backend = dist.group.WORLD._get_backend(device)
        if attempt == 0:
            backend.abort()  # as if it had died: nobody takes its keys back
        dist.destroy_process_group()
    """
    ranks(code, transport=transport)
