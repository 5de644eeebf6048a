"""Resetting a device: it works again, what is from before says so, and nobody else notices.

Each test is a program in a process of its own, on both drivers that there are.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable

import pytest

from backend.conftest import ProgramFunction

Run = Callable[..., str]

START = """
import gc, re

FROM_BEFORE = "before (its reset|reset_device|its device was reset)"

def raises(text, call, kind=Exception):
    try:
        call()
    except kind as caught:
        assert re.search(text, str(caught)), f"expected {text!r}, but got: {caught}"
        return
    raise AssertionError(f"no error; expected {text!r}")

def works(device):
    '''Kernels, copies and a backward pass, against the CPU.'''
    x = torch.arange(12.0).view(3, 4)
    y = x.to(device).requires_grad_()
    z = x.clone().requires_grad_()
    for it in (y, z):
        (it @ it.t()).relu().sum().backward()
    assert str(y.grad.device) == device
    torch.testing.assert_close(y.grad.cpu(), z.grad)
    assert torch.arange(5, device=device)[torch.tensor([4, 0], device=device)].tolist() == [4, 0]
    torch.openreg.synchronize(device)

def fail(device):
    '''Makes the device fail for good.'''
    torch.ones(2, dtype=torch.long, device=device) // torch.zeros(2, dtype=torch.long, device=device)
    raises("divided by 0", lambda: torch.openreg.synchronize(device))
"""


@pytest.fixture(params=["sim", "process"])
def run(request: pytest.FixtureRequest, program: ProgramFunction) -> Run:
    """Runs a program on each driver in turn; `D` in it is a device and `O` the other one."""

    def run(code: str, device: int = 1, **env: str) -> str:
        names = f"D, O = 'openreg:{device}', 'openreg:{1 - device}'\n"
        return program(START + names + textwrap.dedent(code), timeout=60, OPENREG_DRIVER=request.param, **env)

    return run


# ---------------------------------------------------------------------------- what it is for

CAUSES = {
    "division by zero": "torch.ones(3, dtype=torch.int, device=D) // torch.zeros(3, dtype=torch.int, device=D)",
    "index out of range": "torch.arange(3, device=D)[torch.tensor([7], device=D)]",
    "embedding": "torch.nn.functional.embedding(torch.tensor([9], device=D), torch.ones(3, 2, device=D))",
    "assertion": "torch._assert_async(torch.zeros(1, device=D))",
    "loss of the device": "sim.lib.orSimLoseDevice(int(D[-1]))",
}


@pytest.mark.parametrize("device", [0, 1])
@pytest.mark.parametrize("cause", CAUSES)
def test_after_an_error_that_stays_a_reset_makes_the_device_work_again(run: Run, cause: str, device: int) -> None:
    run(
        f"""
        works(D)
        {CAUSES[cause]}
        for _ in range(2):
            raises("device {device}", lambda: torch.openreg.synchronize(D), torch.AcceleratorError)
            raises("device {device}", lambda: torch.ones(2, device=D) + 1, torch.AcceleratorError)
        works(O)
        torch.openreg.reset_device(D)
        works(D)
        works(O)
        """,
        device,
    )


def test_training_after_a_reset_gives_the_numbers_of_a_process_without_one(run: Run) -> None:
    said = run("""
        def train(device):
            torch.manual_seed(0)
            model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.2), torch.nn.ReLU(),
                                        torch.nn.Linear(16, 1)).to(device)
            x = torch.randn(32, 8).to(device)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
            losses = []
            for _ in range(20):
                loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            return losses

        expected = train(D)
        fail(D)
        torch.openreg.reset_device(D)
        assert train(D) == expected
        print(expected[-1] < expected[0])
    """)
    assert said.split() == ["True"]


def test_a_device_that_is_well_or_asleep_can_be_reset_too(run: Run) -> None:
    run("""
        def awake():
            it = sim.ffi.new("int*")
            assert sim.lib.orDeviceGetState(it, int(D[-1])) == 0
            return it[0]

        torch.openreg.reset_device(D)
        assert not awake()
        for _ in range(2):
            works(D)
            assert awake()
            torch.openreg.reset_device(D)
            torch.openreg.reset_device(torch.device(D))
            torch.openreg.reset_device(int(D[-1]))
            assert not awake()
        works(D)
    """)


def test_only_a_device_that_is_there_can_be_reset(run: Run) -> None:
    run("""
        raises("reset_device: argument 'device' has index 2; there are 2", lambda: torch.openreg.reset_device(2))
        raises("reset_device: argument 'device' has index -1", lambda: torch.openreg.reset_device(-1))
        raises("reset_device: argument 'device' is 'cpu'", lambda: torch.openreg.reset_device("cpu"), ValueError)
        raises("reset_device: argument 'device' is None", lambda: torch.openreg.reset_device(None), TypeError)
        raises("reset_device: argument 'device' is 1.5", lambda: torch.openreg.reset_device(1.5), TypeError)
        works(D)
    """)


# ---------------------------------------------------------------------------- what is from before

USES = {
    "a kernel": "old + 1",
    "a kernel that writes": "old.add_(1)",
    "a kernel of two": "torch.ones(8, 8, device=D) * old",
    "a product": "old @ torch.ones(8, 8, device=D)",
    "a reduction": "old.sum()",
    "a fill": "old.fill_(3)",
    "zero_": "old.zero_()",
    "an index": "torch.ones(8, device=D)[index]",
    "a view": "old.t()[2:, ::2] * 2",
    "a copy to the host": "old.cpu()",
    "a strided copy to the host": "old[:, 3].cpu()",
    "one number": "old[1, 1].item()",
    "printing": "str(old)",
    "a copy from the host": "old.copy_(torch.ones(8, 8))",
    "a copy from pinned memory": "old.copy_(torch.ones(8, 8).pin_memory(), non_blocking=True)",
    "a copy to pinned memory": "torch.ones(8, 8).pin_memory().copy_(old, non_blocking=True)",
    "a copy within": "torch.empty(8, 8, device=D).copy_(old)",
    "a clone": "old.clone()",
    "a cast": "old.half()",
    "a copy to the other device": "old.to(O)",
    "a copy from the other device": "old.copy_(torch.ones(8, 8, device=O))",
    "resize_": "old.resize_(1000)",
    "record_stream": "old.record_stream(torch.Stream(D))",
    "the fallback": "torch.linalg.inv(old)",
    "random numbers": "old.normal_()",
    "out=": "torch.add(torch.ones(8, 8, device=D), 1, out=old)",
    "a backward pass": "loss.backward()",
    "a gradient from before": "parameter.sum().backward()",
}


@pytest.mark.parametrize("device", [0, 1])
def test_every_use_of_a_tensor_from_before_says_so_and_does_no_harm(run: Run, device: int) -> None:
    run(
        f"""
        uses = {USES!r}
        old, index = torch.ones(8, 8, device=D), torch.tensor([1], device=D)
        parameter = torch.nn.Parameter(torch.ones(8, 8, device=D))
        loss = (parameter * old).square().sum()
        torch.openreg.reset_device(D)
        for name, use in uses.items():
            try:
                eval(use)
            except Exception as caught:
                assert "from before" in str(caught) and "reset" in str(caught), f"{{name}}: {{caught}}"
            else:
                raise AssertionError(f"{{name}}: no error")
            torch.openreg.synchronize(D)
        works(D)
        works(O)
        assert tuple(old.shape) == (8, 8) and old.t().stride() == (1, 8)  # what needs no memory
        """,
        device,
    )


def test_an_old_address_is_never_anothers(run: Run) -> None:
    run("""
        old = []
        for _ in range(5):
            old += [torch.full((1000,), 7.0, device=D) for _ in range(20)]
            torch.openreg.reset_device(D)
        new = [torch.full((1000,), float(i), device=D) for i in range(100)]
        assert not {x.data_ptr() for x in old} & {x.data_ptr() for x in new}
        text = ("openreg: orLaunchKernel: argument 'pointers' is {place:#x}, which is memory of device {device} from "
                "before its reset; expected memory that was allocated after it [orErrorInvalidValue]")
        for x in old:
            raises(re.escape(text.format(place=x.data_ptr(), device=D[-1])), lambda: x.fill_(9))
        del old, x
        gc.collect()
        more = [torch.full((1000,), 100.0 + i, device=D) for i in range(100)]
        assert [x[-1].item() for x in new + more] == list(range(200))
    """)


def test_letting_go_of_what_is_from_before_is_no_error_and_frees_nothing_else(run: Run) -> None:
    run("""
        side = torch.Stream(D)
        old = [torch.ones(n, device=D) for n in (10, 1000, 1 << 20)]
        for x in old:
            x.record_stream(side)
        storage = old[0].untyped_storage()
        events = [torch.Event(D), torch.Event(D)]
        for event in events:
            event.record(torch.accelerator.current_stream(D))
        torch.openreg.reset_device(D)
        assert torch.openreg.memory_allocated(D) == torch.openreg.memory_reserved(D) == 0
        new = [torch.full((n,), 5.0, device=D) for n in (10, 1000, 1 << 20)]
        counted = torch.accelerator.memory_stats(D)
        del old, x, storage, events, event
        gc.collect()
        now = torch.accelerator.memory_stats(D)
        assert {k: v for k, v in now.items() if "current" in k} == {k: v for k, v in counted.items() if "current" in k}
        del new
        torch.openreg.empty_cache()
        assert torch.openreg.memory_allocated(D) == torch.openreg.memory_reserved(D) == 0
        free, total = torch.openreg.mem_get_info(D)
        assert free == total
        works(D)
    """)


def test_streams_and_events_from_before_say_so(run: Run) -> None:
    run("""
        default, side, high = torch.accelerator.current_stream(D), torch.Stream(D), torch.openreg.Stream(D, priority=-1)
        event = torch.openreg.Event(enable_timing=True)
        event.record(side)
        torch.openreg.reset_device(D)
        again = torch.openreg.Event()
        again.record(torch.accelerator.current_stream(D))
        text = ("openreg: stream {0} of device openreg:{1} is from before reset_device({1}); expected "
                "one that was made after it")
        for old in (side, high):
            for use in (old.synchronize, old.query, lambda: old.record_event(torch.Event(D)),
                        lambda: old.wait_stream(torch.Stream(D)), lambda: torch.Stream(D).wait_stream(old),
                        lambda: old.native_handle, lambda: again.wait(old), lambda: again.record(old)):
                raises(re.escape(text.format(old.stream_id, D[-1])), use)
        raises(FROM_BEFORE, lambda: high.priority)
        for use in (event.query, event.synchronize, lambda: event.wait(torch.Stream(D)),
                    lambda: event.record(torch.Stream(D)), lambda: event.elapsed_time(event)):
            raises(FROM_BEFORE, use)
        x = torch.ones(3, device=D)
        for context in (side, torch.openreg.stream(high)):
            with context:
                raises(f"is from before reset_device.{D[-1]}.", lambda: x + 1)
        assert torch.accelerator.current_stream(D) == default  # the default stream is there as ever
        default.synchronize()
        assert default.query()
        assert not {torch.Stream(D).stream_id for _ in range(40)} & {side.stream_id, high.stream_id}
        raises("has no stream 100000", torch.Stream(stream_id=100000, device_index=int(D[-1]),
               device_type=default.device_type).query)
        works(D)
    """)


def test_new_streams_and_events_work_after_a_reset(run: Run) -> None:
    run("""
        for _ in range(3):
            side = torch.openreg.Stream(D, priority=-1)
            assert side.priority == -1
            start, end = (torch.openreg.Event(enable_timing=True) for _ in range(2))
            gate = sim.gate(handle(side))
            with torch.openreg.stream(side):
                start.record()
                x = torch.ones(1000, device=D) * 3
                end.record()
            assert not side.query() and not end.query()
            torch.accelerator.current_stream(D).wait_event(end)
            y = x + 1
            gate.open()
            assert y.sum().item() == 4000
            assert start.elapsed_time(end) >= 0
            torch.openreg.reset_device(D)
    """)


def test_every_thread_is_on_the_default_stream_again(run: Run) -> None:
    run("""
        side, ready, go, seen = torch.Stream(D), threading.Event(), threading.Event(), []

        def work():
            torch.accelerator.set_stream(side)
            torch.ones(3, device=D).add_(1)
            ready.set()
            go.wait()
            seen.append(torch.accelerator.current_stream(D).stream_id)
            seen.append((torch.ones(3, device=D) + 1).sum().item())

        other = threading.Thread(target=work)
        other.start()
        ready.wait()
        torch.openreg.reset_device(D)
        go.set()
        other.join()
        assert seen == [0, 6.0], seen
    """)


# ---------------------------------------------------------------------------- what stays


def test_the_other_device_goes_on(run: Run) -> None:
    run("""
        kept, side = torch.arange(1000.0, device=O), torch.Stream(O)
        event = torch.Event(O)
        stop, rounds, failures = threading.Event(), [0, 0], []

        def work(number):
            try:
                with torch.Stream(O):
                    x = torch.ones(50, 50, device=O)
                    while not stop.is_set():
                        assert ((x @ x).sum().item(), kept.sum().item()) == (125000, 499500)
                        works(O)
                        rounds[number] += 1
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for _ in range(10):
            works(D)
            torch.openreg.reset_device(D)
            before = list(rounds)
            wait_until(lambda: failures or all(now > then for now, then in zip(rounds, before)), 'a round of each')
        stop.set()
        for thread in threads:
            thread.join()
        assert not failures, failures
        assert kept.tolist() == list(range(1000))
        with side:
            event.record(side)
            assert (kept + 1)[-1].item() == 1000
        event.synchronize()
    """)


def test_a_stream_of_the_other_device_that_waits_for_this_one_goes_on(run: Run) -> None:
    run("""
        here, there, event = torch.accelerator.current_stream(D), torch.accelerator.current_stream(O), torch.Event(D)
        gate = sim.gate(handle(here))
        event.record(here)
        there.wait_event(event)
        x = torch.ones(3, device=O) + 1
        assert not there.query()
        with sim.letting_go(torch.device(D).index):
            torch.openreg.reset_device(D)
        assert x.tolist() == [2.0] * 3
    """)


def test_queued_work_is_dropped_and_those_who_wait_for_it_are_let_go(run: Run) -> None:
    run("""
        host = torch.zeros(8).pin_memory()
        streams = [torch.accelerator.current_stream(D), torch.Stream(D)]
        gate = sim.gate(*(handle(stream) for stream in streams))
        for stream in streams:
            with stream:
                x = torch.ones(8, device=D)
                for _ in range(50):
                    x = x + 1
                host.copy_(x, non_blocking=True)
        def wait(call):
            try:
                call()
            except torch.AcceleratorError as error:
                return str(error)  # that the device was reset meanwhile, or its stream

        calls = [Call(lambda: wait(lambda: torch.openreg.synchronize(D))), Call(lambda: wait(streams[1].synchronize))]
        assert all(call.blocks() for call in calls)
        with sim.letting_go(torch.device(D).index):
            torch.openreg.reset_device(D)
        for call in calls:
            call.result()
        assert host.tolist() == [0.0] * 8
        works(D)
        assert host.tolist() == [0.0] * 8
    """)


def test_pinned_memory_stays(run: Run) -> None:
    run("""
        host = torch.arange(1000.0).pin_memory()
        x = host.to(D, non_blocking=True)
        block = torch.zeros(1 << 20).pin_memory()
        gate = sim.gate(handle(torch.accelerator.current_stream(D)))
        y = block.to(D, non_blocking=True)
        address = block.data_ptr()
        del block  # goes to the cache when its copy is done, which is never
        with sim.letting_go(torch.device(D).index):
            torch.openreg.reset_device(D)
        assert host.is_pinned() and host.tolist() == list(range(1000))
        assert host.to(D, non_blocking=True).sum().item() == 499500
        back = torch.empty(1000).pin_memory().copy_(host.to(D), non_blocking=True)
        torch.openreg.synchronize(D)
        assert back.tolist() == list(range(1000))
        assert torch.zeros(1 << 20).pin_memory().data_ptr() == address
    """)


def test_pinned_memory_that_an_old_stream_used_can_be_let_go(run: Run) -> None:
    run("""
        side = torch.Stream(D)
        host = torch.ones(1 << 20).pin_memory()
        with side:
            x = host.to(D, non_blocking=True)
        torch.openreg.reset_device(D)
        address = host.data_ptr()
        del host
        assert torch.ones(1 << 20).pin_memory().data_ptr() == address
        works(D)
    """)


def test_random_generators_stay(run: Run) -> None:
    run("""
        own = {device: torch.Generator(device).manual_seed(5) for device in (D, O)}
        def draw(device):
            with torch.device(device):
                return [*torch.rand(5).tolist(), *torch.randn(5, generator=own[device], device=device).tolist()]

        torch.manual_seed(3)
        first = draw(D)
        state = torch.openreg.get_rng_state(D)
        torch.openreg.reset_device(D)
        assert torch.equal(torch.openreg.get_rng_state(D), state)
        second = draw(D)
        assert [draw(O), draw(O)] == [first, second]
    """)


def test_the_limit_of_memory_and_the_counters_fallbacks_stay(run: Run) -> None:
    run("""
        torch.openreg.set_per_process_memory_fraction(0.25, D)
        torch.linalg.inv(torch.eye(3, device=D))
        counts = torch.openreg.fallbacks()
        torch.openreg.reset_device(D)
        assert torch.openreg.get_per_process_memory_fraction(D) == 0.25
        assert torch.openreg.fallbacks() == counts != {}
    """)


# ---------------------------------------------------------------------------- many, and at the same time


def test_a_hundred_resets_use_nothing_up(run: Run) -> None:
    said = run("""
        from pathlib import Path

        def bytes_used():
            text = Path("/proc/self/smaps_rollup").read_text()
            return 1024 * sum(int(line.split()[1]) for line in text.splitlines() if line.startswith("Private_Dirty"))

        def counts():
            return len(os.listdir("/proc/self/task")), len(os.listdir("/proc/self/fd"))

        def life():
            side = torch.Stream(D)
            kept = [torch.ones(1 << n, device=D) for n in range(0, 20, 3)]
            with side:
                kept.append(torch.ones(1000, device=D) * 2)
            kept[0].record_stream(side)
            torch.Event(D).record(side)
            (torch.ones(20, 20, device=D, requires_grad=True) @ torch.ones(20, 20, device=D)).sum().backward()
            torch.openreg.synchronize(D)
            torch.openreg.reset_device(D)
            return kept  # dies after the reset

        for _ in range(20):
            life()
        gc.collect()
        before, had = bytes_used(), counts()
        for _ in range(100):
            life()
        gc.collect()
        assert torch.openreg.memory_allocated(D) == 0
        assert torch.openreg.mem_get_info(D)[0] == torch.openreg.mem_get_info(D)[1]
        grown, has = bytes_used() - before, counts()
        print(grown, had, has)
        assert grown < 2 << 20, grown
        # What the last life had may still be on its way out; a hundred lives have left nothing.
        assert all(now < then + 20 for now, then in zip(has, had)), (had, has)
    """)
    assert said


def test_resets_beside_threads_that_use_the_device_break_nothing_for_good(run: Run) -> None:
    run("""
        stop, rounds = threading.Event(), [0] * 3

        def work(number):
            while not stop.is_set():
                try:
                    with torch.Stream(D) if number else torch.accelerator.current_stream(D):
                        x = torch.ones(100, device=D, requires_grad=True)
                        x.pin = torch.ones(100).pin_memory().to(D, non_blocking=True)
                        (x * 2 + x.pin).sum().backward()
                        x.grad.cpu()
                except Exception as error:
                    if not any(word in str(error) for word in ("reset", "orErrorInvalidHandle", "no stream")):
                        print(type(error).__name__, error)
                rounds[number] += 1

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(60):
            before = list(rounds)
            torch.openreg.reset_device(D)
            wait_until(lambda: all(now > then for now, then in zip(rounds, before)), 'a round of each')
        resets = [threading.Thread(target=torch.openreg.reset_device, args=(D,)) for _ in range(4)]
        for thread in resets:
            thread.start()
        for thread in resets:
            thread.join()
        stop.set()
        for thread in threads:
            thread.join()
        for _ in range(3):
            works(D)
            streams = [torch.Stream(D) for _ in range(70)]
            for stream in streams:
                with stream:
                    assert (torch.ones(3, device=D) + 1).sum().item() == 6
        torch.openreg.empty_cache()
        assert torch.openreg.memory_allocated(D) == 0
        works(O)
    """)


def test_a_forked_child_cannot_reset(run: Run) -> None:
    said = run("""
        works(D)
        sys.stdout.flush()
        child = os.fork()
        if not child:
            try:
                torch.openreg.reset_device(D)
            except RuntimeError as error:
                print(error)
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
        works(D)
    """)
    assert "Cannot re-initialize openreg in forked subprocess" in said
