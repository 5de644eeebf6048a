"""What the driver costs when nobody uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .conftest import block, run

USES = {
    "streams and copies": """
        for device in (0, 1):
            for _ in range(8):
                stream, buffer = api.stream(device), api.malloc(1 << 16, device)
                api.ok(lib.orMemsetAsync(api.pointer(buffer), 1, 1 << 16, stream))
                api.append(api.log(device), 1, stream, device)
                api.synchronize(stream)
    """,
    "a thread that waits": """
        stream = api.stream()
        gate = api.gate(stream)
        event = api.record(stream)
        calls = [
            Call(lambda: lib.orStreamSynchronize(stream)),
            Call(lambda: lib.orEventSynchronize(event)),
            Call(lambda: lib.orDeviceSynchronize(0)),
        ]
        gate.wait_for(1)
    """,
    "streams that wait for an event": """
        first, second = api.stream(), api.stream(1)
        gate = api.gate(first)
        api.ok(lib.orStreamWaitEvent(second, api.record(first), 0))
        gate.wait_for(1)
    """,
    "a failed device": "api.fail_on_device(api.default_stream()); lib.orDeviceSynchronize(0)",
}


@pytest.mark.parametrize("use", USES)
def test_no_processor_time_is_used_when_idle(run_child: Any, use: str) -> None:
    run_child(
        block(USES[use])
        + block("""
        import resource, time
        def used():
            usage = resource.getrusage(resource.RUSAGE_SELF)
            return usage.ru_utime + usage.ru_stime
        time.sleep(0.05)
        before = used()
        time.sleep(0.5)
        milliseconds = 1000 * (used() - before)
        assert milliseconds <= 20, f"{milliseconds} ms"
        """)
    )


def test_reserved_addresses_cost_no_memory(run_child: Any) -> None:
    run_child(
        """
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096
        before = resident()
        buffers = [api.malloc(1 << 30, device) for device in (0, 1)]
        assert resident() - before < 64 << 20
        for buffer in buffers:
            api.ok(api.free(buffer))
        """,
        env={"OPENREG_SIM": "memory=4GiB"},
    )


def test_freed_memory_goes_back_to_the_system_after_a_reset(run_child: Any) -> None:
    run_child(
        """
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096
        api.malloc(8)
        before = resident()
        buffer = api.malloc(128 << 20)
        api.ok(lib.orMemset(api.pointer(buffer), 1, 128 << 20))
        api.forget(0)
        assert resident() - before < 64 << 20
        """
    )


def test_freed_memory_goes_back_to_the_system(run_child: Any) -> None:
    """Of neighbours too, whichever is freed first, and not what lies between them."""
    run_child(
        """
        import itertools, os
        from contract.processes import executors
        MiB = 1 << 20
        def resident():
            pages = 0
            for pid in [os.getpid(), *executors().values()]:
                with open(f"/proc/{pid}/statm") as file:
                    pages += int(file.read().split()[1])
            return pages * os.sysconf("SC_PAGESIZE")
        api.malloc(8)
        api.ok(lib.orDeviceSynchronize(0))
        before = resident()
        for order in itertools.permutations(range(3)):
            buffers, between = zip(*[(api.malloc(32 * MiB), api.malloc(MiB)) for _ in range(3)])
            for buffer in buffers:
                api.ok(lib.orMemset(api.pointer(buffer), 1, 32 * MiB))
            for number, small in enumerate(between):
                api.ok(lib.orMemset(api.pointer(small), 65 + number, MiB))
            if resident() - before < 90 * MiB:
                raise NotOfThisDriver("the device's memory is not the host's")
            for number in order:
                api.ok(api.free(buffers[number]))
            for number, small in enumerate(between):
                assert api.read(small, MiB) == bytes([65 + number]) * MiB
                api.ok(api.free(small))
            assert api.memory()[1] - api.memory()[0] == 4096
            assert resident() - before < 16 * MiB, (resident() - before) // MiB
        """,
    )


def test_nothing_but_addresses_is_used_up_by_resets(run_child: Any) -> None:
    """Old addresses are never given out again: that is how a pointer from before a reset can be told from a new one."""
    run_child(
        """
        import os
        def resident():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4096
        def once():
            for device in (0, 1):
                buffer = api.malloc(1 << 20, device)
                stream = api.stream(device)
                api.ok(lib.orMemsetAsync(api.pointer(buffer), 1, 1 << 20, stream))
                api.synchronize(stream)
                api.forget(device)
            return resident(), len(os.listdir("/proc/self/fd")), api.get("orSimThreadCount")
        for _ in range(5):
            first = once()
        for _ in range(50):
            last = once()
        assert last[0] <= first[0] + (8 << 20) and last[1:] == first[1:], (first, last)
        """
    )


@pytest.fixture(scope="session")
def stingy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library with which the host gives no thread while `no_threads` is not 0."""
    folder = tmp_path_factory.mktemp("stingy")
    source, library = folder / "stingy.c", folder / "stingy.so"
    source.write_text("""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <errno.h>
        #include <pthread.h>
        int no_threads;
        typedef int Create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
        int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* of) {
          return no_threads ? EAGAIN : ((Create*)dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, body, of);
        }
    """)
    run(["cc", "-shared", "-fPIC", source, "-o", library, "-ldl"])
    return library


def test_work_for_which_there_is_no_thread_is_refused_and_what_comes_later_is_done(
    run_child: Any, stingy: Path
) -> None:
    run_child(
        """
        import ctypes
        no_threads = ctypes.c_int.in_dll(ctypes.CDLL(None), "no_threads")
        stream, called = api.stream(), []
        refused, served = (ffi.callback("orHostFn_t", lambda _, it=it: called.append(it)) for it in ("first", "second"))
        no_threads.value = 1
        error = lib.orLaunchHostFunc(stream, refused, ffi.NULL)
        no_threads.value = 0
        assert api.name(error) == "orErrorMemoryAllocation", api.name(error)
        assert "orLaunchHostFunc: the host cannot start a thread: " in api.message()
        for _ in range(2):
            api.ok(lib.orLaunchHostFunc(stream, served, ffi.NULL))
            Call(lambda: api.synchronize(stream)).result()
        assert called == ["second", "second"]
        """,
        env={"LD_PRELOAD": str(stingy)},
    )
