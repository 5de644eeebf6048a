"""The caching allocator against a plain model of what it may do, under random operations with streams held at gates."""

from __future__ import annotations

import gc
from dataclasses import dataclass, field

import torch
import torch_openreg  # noqa: F401
from contract.harness import Gate
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from .simulator import handle, sim

openreg = torch.openreg
DEVICES = (0, 1)
STREAMS_OF_A_DEVICE = 3
KIB, MIB = 1 << 10, 1 << 20
# Both pools, sizes that fit into each other's gaps, and one of the largest class.
SIZES = (1, 512, 700, 5 * KIB, 300 * KIB, MIB, MIB + 1, 3 * MIB, 9 * MIB, 12 * MIB)


def rounded(size: int) -> int:
    """Bytes of the smallest block for a size."""
    return -(-size // 512) * 512


@dataclass(eq=False)
class Live:
    """A tensor, and what the model knows about its memory."""

    tensor: torch.Tensor
    stream: torch.Stream
    recorded: set[torch.Stream] = field(default_factory=set)

    @property
    def span(self) -> tuple[int, int]:
        """First address and end."""
        return self.tensor.data_ptr(), self.tensor.data_ptr() + self.tensor.nbytes

    @property
    def device(self) -> int:
        """Index of the device."""
        assert self.tensor.device.index is not None
        return self.tensor.device.index


@dataclass(eq=False)
class Dead:
    """Memory whose tensor has died while other streams were to be waited for."""

    span: tuple[int, int]
    device: int
    size: int
    waits_for: set[Gate]


def overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    """Tells whether two spans have a byte in common."""
    return a[0] < b[1] and b[0] < a[1]


class Model(RuleBasedStateMachine):
    """Allocates, frees and records on streams, some of which stand at gates, and compares after each step."""

    tensors: Bundle[Live] = Bundle("tensors")

    @initialize()
    def start(self) -> None:
        """Empties the cache and notes what others have."""
        gc.collect()
        openreg.empty_cache()
        self.streams = [
            stream
            for device in DEVICES
            for stream in (
                openreg.default_stream(device),
                *(openreg.Stream(device) for _ in range(STREAMS_OF_A_DEVICE - 1)),
            )
        ]
        self.gates: dict[torch.Stream, Gate] = {}
        self.live: list[Live] = []
        self.dead: list[Dead] = []
        self.freed: list[tuple[tuple[int, int], torch.Stream]] = []  # in the cache: whose it is
        self.before = []
        self.peak = [0, 0]
        self.allocations = [0, 0]
        self.frees = [0, 0]
        for device in DEVICES:
            torch.empty(1, device=f"openreg:{device}")
        openreg.empty_cache()
        for device in DEVICES:
            openreg.reset_peak_memory_stats(device)
            openreg.reset_accumulated_memory_stats(device)
            self.note_peak(device)
            self.before.append(self.stats(device) | {"free": openreg.mem_get_info(device)[0]})

    @staticmethod
    def stats(device: int) -> dict[str, int]:
        """What the allocator says."""
        return dict(openreg.memory_stats(device))

    # ------------------------------------------------------------------------------------------------------- rules

    @rule(target=tensors, stream=st.integers(0, 5), size=st.sampled_from(SIZES), current=st.sampled_from(DEVICES))
    def allocate(self, stream: int, size: int, current: int) -> Live:
        """A new tensor overlaps nothing that is in use, and takes nothing from another stream's cache."""
        on = self.streams[stream]
        device = on.device.index
        given_back = self.stats(device)["num_device_free"]
        with on:
            openreg.set_device(current)  # which device is current plays no part
            made = Live(torch.empty(size, dtype=torch.uint8, device=f"openreg:{device}"), on)
        openreg.set_device(0)
        self.dead = [it for it in self.dead if it.device != device or it.waits_for]
        assert self.stats(device)["num_device_free"] == given_back, "nothing made it empty the cache"
        assert not [it for it in self.live if overlap(it.span, made.span)]
        assert not [it for it in self.dead if overlap(it.span, made.span)], "used again before a stream has passed"
        assert not [span for span, owner in self.freed if overlap(span, made.span) and owner != on]
        self.live.append(made)
        self.allocations[device] += 1
        self.note_peak(device)
        return made

    @rule(it=consumes(tensors), current=st.sampled_from(DEVICES), stream=st.integers(0, 5))
    def free(self, it: Live, current: int, stream: int) -> None:
        """Frees, with any device and stream current."""
        span, device, size = it.span, it.device, it.tensor.nbytes
        others = it.recorded - {it.stream}
        with self.streams[stream]:
            openreg.set_device(current)
            self.live.remove(it)
            del it.tensor
        openreg.set_device(0)
        self.frees[device] += 1
        if others:
            self.dead.append(Dead(span, device, size, {self.gates[s] for s in others if s in self.gates}))
        self.freed.append((span, it.stream))

    @rule(target=tensors, it=consumes(tensors), stream=st.integers(0, 5))
    def record(self, it: Live, stream: int) -> Live:
        """Another stream, perhaps of the other device, works on a tensor."""
        it.tensor.record_stream(self.streams[stream])
        it.recorded.add(self.streams[stream])
        return it

    @rule(stream=st.integers(0, 5))
    def hold(self, stream: int) -> None:
        """A stream stops at a gate."""
        if (on := self.streams[stream]) not in self.gates:
            self.gates[on] = Gate(sim, "model", 30.0).close(handle(on))

    @rule(stream=st.integers(0, 5))
    def release(self, stream: int) -> None:
        """A stream goes on."""
        if gate := self.gates.pop(self.streams[stream], None):
            gate.destroy()
            self.streams[stream].synchronize()
            for it in self.dead:
                it.waits_for.discard(gate)

    @rule(stream=st.integers(0, 5), size=st.sampled_from([MIB, 30 * MIB]))
    def fail(self, stream: int, size: int) -> None:
        """The driver refuses: nothing changes. If the cache has the memory, the driver is not asked."""
        on = self.streams[stream]
        sim.ok(sim.lib.orSimFailCall(b"orMalloc", 1, sim.errors["orErrorTimedOut"]))
        try:
            with on:
                made = torch.empty(size, dtype=torch.uint8, device=on.device)
            self.allocations[on.device.index] += 1
            self.frees[on.device.index] += 1
            self.note_peak(on.device.index)
            del made
        except torch.AcceleratorError:
            pass
        finally:
            sim.ok(sim.lib.orSimFailCall(b"orMalloc", 0, 0))
        self.dead = [it for it in self.dead if it.device != on.device.index or it.waits_for]

    @rule(device=st.sampled_from(DEVICES))
    def reach_the_limit(self, device: int) -> None:
        """With all that is reserved as the limit, a tensor that the cache does not have is refused."""
        self.open_all()
        total = openreg.mem_get_info(device)[1]
        openreg.set_per_process_memory_fraction(openreg.memory_reserved(device) / total, device)
        try:
            torch.empty(100 * MIB, dtype=torch.uint8, device=f"openreg:{device}")
        except torch.OutOfMemoryError:
            pass
        else:
            raise AssertionError("there was no error")
        finally:
            openreg.set_per_process_memory_fraction(1.0, device)
        self.everything_returned(device)

    @rule()
    def empty_cache(self) -> None:
        """What stays reserved is what shares a segment with tensors."""
        self.open_all()
        openreg.empty_cache()
        for device in DEVICES:
            self.everything_returned(device)

    # ------------------------------------------------------------------------------------------------------ checks

    def open_all(self) -> None:
        """Lets all streams go on, so that nothing waits for long."""
        for index in range(len(self.streams)):
            self.release(index)

    def everything_returned(self, device: int) -> None:
        """After the cache of a device was emptied, only pieces of segments that are in use are in it."""
        self.dead = [it for it in self.dead if it.device != device]
        self.freed = [(span, owner) for span, owner in self.freed if owner.device.index != device]
        stats = self.stats(device)
        pieces = stats["reserved_bytes.all.current"] - stats["active_bytes.all.current"]
        assert pieces == stats["inactive_split_bytes.all.current"]

    def note_peak(self, device: int) -> None:
        """To be called where there may be more than ever."""
        self.peak[device] = max(self.peak[device], self.stats(device)["allocated_bytes.all.current"])

    def allocated(self, device: int) -> int:
        """Bytes that live tensors need."""
        return sum(rounded(it.tensor.nbytes) for it in self.live if it.device == device)

    @invariant()
    def statistics_are_right(self) -> None:
        """Compares everything that can be known from outside."""
        if not hasattr(self, "before"):
            return
        for device in DEVICES:
            stats, before = self.stats(device), self.before[device]

            def change(name: str, stats: dict[str, int] = stats, before: dict[str, int] = before) -> int:
                return stats[name] - before[name]

            live = [it for it in self.live if it.device == device]
            dead = [it for it in self.dead if it.device == device]
            assert change("allocation.all.current") == len(live)
            assert change("allocation.all.allocated") == self.allocations[device]
            assert change("allocation.all.freed") == self.frees[device]
            assert change("active.all.current") == len(live) + len(dead)
            wanted = sum(it.tensor.nbytes for it in live) + sum(it.size for it in dead)
            assert change("requested_bytes.all.current") == wanted
            # A block may be larger than needed by what is not worth a block of its own: only large ones are.
            assert change("allocated_bytes.small_pool.current") == sum(
                rounded(it.tensor.nbytes) for it in live if rounded(it.tensor.nbytes) <= MIB
            )
            slack = change("allocated_bytes.all.current") - self.allocated(device)
            assert 0 <= slack <= MIB * sum(rounded(it.tensor.nbytes) > MIB for it in live)
            assert stats["allocated_bytes.all.peak"] == self.peak[device]
            reserved = change("reserved_bytes.all.current")
            assert reserved == before["free"] - openreg.mem_get_info(device)[0], "the driver says something else"
            assert change("segment.all.current") == change("num_device_alloc") - change("num_device_free")
            assert change("inactive_split_bytes.all.current") <= reserved - change("active_bytes.all.current")
            for name in ("allocated_bytes", "active_bytes", "reserved_bytes", "inactive_split_bytes", "segment"):
                for what in ("current", "peak"):
                    small, large = (stats[f"{name}.{pool}.{what}"] for pool in ("small_pool", "large_pool"))
                    together = stats[f"{name}.all.{what}"]
                    assert together == small + large if what == "current" else together <= small + large

    def teardown(self) -> None:
        """Everything returns at the end."""
        if not hasattr(self, "before"):
            return
        self.open_all()
        for it in self.live:
            del it.tensor
        openreg.empty_cache()
        for device in DEVICES:
            stats = self.stats(device)
            assert {k: v for k, v in stats.items() if k.endswith("current") and v != self.before[device][k]} == {}
            assert openreg.mem_get_info(device)[0] == self.before[device]["free"]


Model.TestCase.settings = settings(
    max_examples=30,
    stateful_step_count=40,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestTheAllocatorAgreesWithTheModel = Model.TestCase
