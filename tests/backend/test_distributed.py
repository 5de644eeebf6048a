"""Collectives of the c10d backend "occl": what they give, in which order, and what the host has to wait for."""

from __future__ import annotations

import json

import pytest

from .distributed_ranks import Ranks

pytestmark = [pytest.mark.kernels, pytest.mark.xdist_group("distributed"), pytest.mark.timeout(240)]

CASES = """
    from backend import distributed_collectives
    join("cpu:gloo,openreg:occl")
    run_cases(distributed_collectives)
    dist.destroy_process_group()
"""


@pytest.mark.parametrize("size", [2, 3])
def test_collectives_give_what_they_should(ranks: Ranks, transport: str, size: int) -> None:
    for said in ranks(CASES, size=size, transport=transport, timeout=120):
        line = next(line for line in said.splitlines() if line.startswith("results "))
        failed = {name: error for name, error in json.loads(line[8:]).items() if error}
        assert not failed, "\n".join(f"{name}: {error}" for name, error in failed.items())


@pytest.mark.parametrize("given", ["None, device_id=None", "None", "'occl'", "'cpu:gloo,openreg:occl'"])
def test_init_process_group_finds_the_backend(ranks: Ranks, transport: str, given: str) -> None:
    code = f"""
        join({given})
        x = torch.full((3,), float(RANK), device=device)
        dist.all_reduce(x)
        print(dist.get_backend(), x.tolist(), dist.group.WORLD._get_backend(device).name())
        dist.destroy_process_group()
    """
    for said in ranks(code, transport=transport):
        assert "[1.0, 1.0, 1.0] occl\n" in said


def test_neither_the_call_nor_wait_waits_for_the_other_ranks(ranks: Ranks, transport: str) -> None:
    code = """
        join()
        x = torch.full((1024,), float(RANK + 1), device=device)
        if RANK == 1:
            await_key("rank 0 has called and waited")
        work = dist.all_reduce(x, async_op=True)
        done = work.is_completed()
        work.wait()
        y = x * 2
        if RANK == 0:
            assert not done
            tell("rank 0 has called and waited")
        close(y, torch.full((1024,), 6.0))
        assert work.is_completed() and work.is_success()
        dist.destroy_process_group()
    """
    ranks(code, transport=transport)


def test_the_current_stream_goes_on_beside_a_collective(ranks: Ranks, transport: str) -> None:
    code = """
        join()
        if RANK == 1:
            await_key("computed beside it")
        x = torch.ones(1024, device=device)
        work = dist.all_reduce(x, async_op=True)
        if RANK == 0:
            close(torch.ones(8, device=device) + 1, torch.full((8,), 2.0))
            tell("computed beside it")
        work.wait()
        close(x, torch.full((1024,), 2.0))
        dist.destroy_process_group()
    """
    ranks(code, transport=transport)


def test_a_collective_comes_after_what_the_current_stream_has(ranks: Ranks, transport: str) -> None:
    code = """
        from contract.harness import Gate
        from backend.simulator import handle
        join()
        x = torch.zeros(1024, device=device)
        stream = torch.Stream(device)
        stream.wait_stream(torch.openreg.current_stream())
        with Gate(sim, "the value is not there yet", 30.0) as gate, stream:
            gate.close(handle(stream))
            x += RANK + 1
            dist.all_reduce(x)
            y = x * 2
            gate.open()
            close(y, torch.full((1024,), 6.0))
        dist.destroy_process_group()
    """
    ranks(code, transport=transport)


def test_memory_is_kept_until_the_collective_has_read_it(ranks: Ranks, transport: str) -> None:
    code = """
        join()
        for number in range(3):
            every = torch.empty(SIZE, 1 << 18, device=device)
            if RANK == 1:
                await_key(f"memory was asked for again {number}")
            held = dist.all_reduce(torch.ones(8, device=device), async_op=True)
            x = torch.full((1 << 18,), float(RANK + 1), device=device)
            work = dist.all_gather_into_tensor(every, x, async_op=True)
            del x
            new = [torch.full((1 << 18,), 99.0, device=device) for _ in range(4)]
            torch.openreg.current_stream().synchronize()
            if RANK == 0:
                tell(f"memory was asked for again {number}")
            held.wait()
            work.wait()
            close(every, torch.arange(1.0, SIZE + 1)[:, None].expand(SIZE, 1 << 18))
        dist.destroy_process_group()
    """
    ranks(code, transport=transport)


def test_nothing_of_an_operation_is_left_in_memory(ranks: Ranks, transport: str) -> None:
    code = """
        join()
        dist.all_reduce(torch.ones(8, device=device))
        torch.openreg.synchronize()
        before = torch.accelerator.memory_allocated(device)
        every = torch.empty(SIZE << 20, device=device)
        dist.all_gather_into_tensor(every, torch.ones(1 << 20, device=device))
        work = dist.all_reduce(every, async_op=True)
        work.wait()
        del every, work
        torch.openreg.synchronize()
        assert torch.accelerator.memory_allocated(device) == before
        dist.destroy_process_group()
    """
    ranks(code, transport=transport)


def test_barrier_waits_on_the_host(ranks: Ranks, transport: str) -> None:
    code = """
        join()
        if RANK == 1:
            await_key("rank 0 is about to wait")
        work = dist.barrier(async_op=True)
        if RANK == 0:
            assert not work.is_completed()
            tell("rank 0 is about to wait")
        work.wait()
        assert work.is_completed()
        dist.destroy_process_group()
    """
    ranks(code, transport=transport)


def test_wait_with_a_timeout_raises_and_can_be_repeated(ranks: Ranks, transport: str) -> None:
    code = """
        from datetime import timedelta
        join()
        if RANK == 1:
            await_key("rank 0 has given up once")
        x = torch.ones(8, device=device)
        work = dist.all_reduce(x, async_op=True)
        if RANK == 0:
            raises(lambda: work.wait(timedelta(milliseconds=100)), "all_reduce", "is not done after 100 ms")
            tell("rank 0 has given up once")
        work.wait()
        close(x, torch.full((8,), 2.0))
        dist.destroy_process_group()
    """
    ranks(code, transport=transport)


def test_nobody_spins_while_a_rank_is_late(ranks: Ranks, transport: str) -> None:
    code = """
        join()
        dist.barrier()
        used = time.process_time()
        if RANK == 1:
            time.sleep(1)  # time itself is what is measured
        x = torch.ones(8, device=device)
        dist.all_reduce(x)
        x.cpu()
        used = time.process_time() - used
        assert used < 0.3, f"{used} s of CPU time in one second of waiting"
        dist.destroy_process_group()
    """
    ranks(code, transport=transport)


def test_threads_with_groups_and_streams_of_their_own(ranks: Ranks, transport: str) -> None:
    code = """
        join()
        groups, wrong = [dist.new_group() for _ in range(3)], []
        def work(group, number):
            torch.openreg.set_device(device.index)
            torch.accelerator.set_stream(torch.Stream(device))
            for turn in range(10):
                x = torch.full((1000,), float(RANK + number), device=device)
                dist.all_reduce(x, group=group)
                if x[0].item() != 2 * number + 1:
                    wrong.append((number, turn))
        threads = [threading.Thread(target=work, args=it) for it in zip(groups, range(3))]
        for it in threads:
            it.start()
        for it in threads:
            it.join()
        assert not wrong, wrong
        dist.destroy_process_group()
    """
    ranks(code, transport=transport)


def test_groups_can_be_made_and_destroyed_again_and_again(ranks: Ranks, transport: str) -> None:
    code = """
        for _ in range(5):
            join(timeout=8)
            x = torch.ones(2, device=device)
            dist.all_reduce(x)
            close(x, torch.full((2,), 2.0))
            dist.destroy_process_group()
    """
    ranks(code, transport=transport, timeout=20)


def test_a_collective_shows_in_the_profile(ranks: Ranks) -> None:
    code = """
        join()
        x = torch.ones(8, device=device)
        dist.all_reduce(x)
        with torch.profiler.profile() as profile:
            dist.all_reduce(x)
            torch.openreg.synchronize()
        assert "c10d::allreduce_" in {it.key for it in profile.key_averages()}
        dist.destroy_process_group()
    """
    ranks(code)


def test_a_tensor_of_another_device_is_refused(ranks: Ranks) -> None:
    code = """
        join()
        own, other = torch.ones(2, device=device), torch.ones(2, device=torch.device("openreg", 1 - device.index))
        dist.all_reduce(own)
        text = (
            "occl: this group works on openreg:0, but the tensor is on openreg:1; "
            "expected one device for each process and group"
            if RANK == 0
            else "occl: this group works on openreg:1, but the tensor is on openreg:0; expected one device"
        )
        raises(lambda: dist.all_reduce(other), text, kind=ValueError)
        text = "No backend type associated with device type cpu"
        raises(lambda: dist.all_reduce(torch.ones(2)), text, kind=RuntimeError)
        dist.destroy_process_group()
    """
    ranks(code)


def test_which_way_a_group_goes_is_decided_once_and_told(ranks: Ranks) -> None:
    code = """
        ways = torch.openreg.collective_transport
        os.environ.pop("OCCL_TRANSPORT")
        join()
        assert ways() == ("direct", "")
        assert ways(dist.new_group()) == ("direct", "")
        assert ways(dist.split_group(None, [[0, 1]])) == ("direct", "")
        if RANK == 1:
            os.environ["OCCL_TRANSPORT"] = "staged"
        assert ways(dist.new_group()) == ("staged", "rank 1: OCCL_TRANSPORT is 'staged'")
        assert ways() == ("direct", "")
        os.environ.pop("OCCL_TRANSPORT", None)
        dist.destroy_process_group()
        join(file="another", device_id=None)
        assert ways() == ("staged", "the group was made without device_id")
        dist.destroy_process_group()
    """
    ranks(code)


def test_no_rank_has_a_group_before_all_are_connected(ranks: Ranks) -> None:
    """Gloo tells each rank alone; one that left then would close what the others are about to use."""
    code = """
        from datetime import timedelta

        class Unheard(dist.Store):
            def __init__(self):
                super().__init__()
                self.inner = dist.FileStore(f"{FOLDER}/group", SIZE)

            def set(self, key, value):
                if RANK == 1 and "connected" in key:
                    tell("connected")
                    raise RuntimeError("rank 1 says nothing")
                self.inner.set(key, value)

            def get(self, key):
                return self.inner.get(key)

            def add(self, key, count):
                return self.inner.add(key, count)

            def wait(self, keys, timeout=timedelta(seconds=30)):
                self.inner.wait(keys, timeout)

        store = Unheard()
        here = {"store": store, "rank": RANK, "world_size": SIZE, "timeout": timedelta(seconds=3)}
        text = "occl: rank 1 of 2 is not connected with the others, 3000 ms after rank 0 was: "
        told = text if RANK == 0 else "rank 1 says nothing"
        raises(lambda: dist.init_process_group("occl", **here), told, kind=RuntimeError)
        await_key("connected")
    """
    ranks(code)


def test_a_way_that_does_not_exist_is_refused(ranks: Ranks) -> None:
    """Before the ranks meet, so each says it, and none waits for another that has left."""
    code = """
        text = "OCCL_TRANSPORT is 'carrier pigeon'; expected 'staged' or 'direct'"
        os.environ["OCCL_TRANSPORT"] = "carrier pigeon"
        raises(join, text, kind=ValueError)
        os.environ.pop("OCCL_TRANSPORT")
        join(file="another")
        os.environ["OCCL_TRANSPORT"] = "carrier pigeon"
        raises(dist.new_group, text, kind=ValueError)
        os.environ.pop("OCCL_TRANSPORT")
        dist.destroy_process_group()
    """
    ranks(code)


def test_a_rank_that_cannot_share_memory_makes_the_group_staged(ranks: Ranks) -> None:
    code = """
        os.environ.pop("OCCL_TRANSPORT")
        torch.openreg.set_device(device.index)
        if RANK == 0:
            error = sim.errors["orErrorNotImplemented"]
            assert sim.lib.orSimFailCall(b"orIpcGetMemHandle", 1, error) == 0
        join()
        way, why = torch.openreg.collective_transport()
        assert way == "staged" and why.startswith("rank 0: ") and "orIpcGetMemHandle" in why, why
        x = torch.ones(4, device=device)
        dist.all_reduce(x)
        close(x, torch.full((4,), 2.0))
        dist.destroy_process_group()
    """
    ranks(code)


def test_a_direct_group_leaves_no_memory_behind(ranks: Ranks) -> None:
    code = """
        torch.openreg.set_device(device.index)
        torch.ones(1, device=device)
        before = torch.accelerator.memory_allocated(device)
        files = len(os.listdir("/proc/self/fd"))
        for number in range(3):
            join()
            x = torch.ones(1 << 20, device=device)
            dist.all_reduce(x)
            del x
            dist.destroy_process_group()
        wait_until(lambda: torch.accelerator.memory_allocated(device) == before, "the buffers are given back")
        wait_until(lambda: len(os.listdir("/proc/self/fd")) <= files + 4, "the files are closed")
    """
    ranks(code, transport="direct")


def test_ddp_logs_times_of_the_device(ranks: Ranks) -> None:
    code = """
        join()
        model = nn.parallel.DistributedDataParallel(nn.Linear(64, 64).to(device))
        for _ in range(12):
            model(torch.ones(4, 64, device=device)).sum().backward()
        data = model._get_ddp_logging_data()
        assert data["backward_compute_time"] > 0 and data["forward_compute_time"] > 0, data
        dist.destroy_process_group()
    """
    assert not any("Time stats are currently only collected" in said for said in ranks(code))


def test_a_collective_in_a_capture_is_refused(ranks: Ranks, transport: str) -> None:
    code = """
        join()
        x = torch.ones(4, device=device)
        with torch.openreg.Stream(device):
            graph = torch.accelerator.Graph()
            with graph:
                text = "is capturing a graph; the other ranks would not come to a replay"
                raises(lambda: dist.all_reduce(x), "occl: all_reduce: ", text, kind=RuntimeError)
                y = x + 1
            graph.replay()
            dist.all_reduce(y)
            close(y, torch.full((4,), 4.0))
        dist.destroy_process_group()
    """
    ranks(code, transport=transport)
