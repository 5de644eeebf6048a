"""The driver "process" when things go wrong: executors that are killed, hang or never start, and parents that die."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from ..conftest import PRELUDE, CompileFunction, block
from ..harness import wait_until
from ..processes import PYTHON, executors, is_alive, shared_memory
from .conftest import PROCESSES, StartFunction

# --------------------------------------------------------------------------------------------------------------- start


def test_an_executor_is_started_at_first_use_and_one_a_device(run_process: Any) -> None:
    run_process(
        """
        assert executors() == {}
        api.get("orGetDeviceProperties", 1)
        stream = api.stream(1)
        assert executors() == {}
        api.malloc(8, 1)
        assert set(executors()) == {1}
        first = executors()[1]
        api.malloc(8, 1)
        api.malloc(8, 0)
        assert set(executors()) == {0, 1} and executors()[1] == first
        with open(f"/proc/{first}/maps") as file:
            assert "libtorch" not in file.read()
        """
    )


def test_a_program_that_is_missing_is_named_by_every_call_that_needs_it(run_process: Any) -> None:
    run_process(
        """
        assert api.device_count == 2
        for _ in range(2):
            error = lib.orMalloc(ffi.new("void**"), 8)
            api.check(error, "orErrorDriver", "^orMalloc: ", "device 0", "'/no/such/program'", "No such file")
        """,
        "executor=/no/such/program",
    )


@pytest.mark.parametrize(
    ("settings", "culprit"),
    [("nonsense=1", "nonsense"), ("executor=", "executor"), ("deadline=5", "deadline=5"), ("deadline=0s", "0s")],
)
def test_a_setting_that_is_not_understood_is_named(run_process: Any, settings: str, culprit: str) -> None:
    run_process(
        f"""
        error = lib.orGetDeviceCount(ffi.new("int*"))
        api.check(error, "orErrorInvalidValue", "^orGetDeviceCount: OPENREG_PROCESS", {culprit!r}, "expected")
        """,
        settings,
    )


# --------------------------------------------------------------------------------------------------- the one in Python


def test_the_executor_in_python_is_chosen_by_name_and_does_not_import_torch_for_that(run_process: Any) -> None:
    run_process(
        """
        log, stream = api.log(), api.stream()
        api.append(log, 5, stream)
        api.synchronize(stream)
        assert api.read_log(log) == [5]
        with open(f"/proc/{executors()[0]}/cmdline") as file:
            assert "executor_python" in file.read()
        with open(f"/proc/{executors()[0]}/maps") as file:
            assert "libtorch" not in file.read()
        """,
        PYTHON,
    )


def test_an_interpreter_that_is_missing_is_named(run_process: Any) -> None:
    run_process(
        """
        error = lib.orMalloc(ffi.new("void**"), 8)
        api.check(error, "orErrorDriver", "device 0", "'/no/such/python'", "No such file")
        """,
        "executor=python,python=/no/such/python",
    )


def test_the_executor_in_python_can_be_killed_and_replaced_like_any_other(run_process: Any) -> None:
    run_process(
        """
        stream = api.stream()
        gate = api.gate(stream)
        gate.wait_for(1)
        call = Call(lambda: (lib.orStreamSynchronize(stream), api.message()))
        assert call.blocks()
        pid = kill(0)
        error, text = call.result()
        assert api.name(error) == "orErrorDeviceLost" and f"process {pid}" in text, text
        api.write(api.malloc(8, 1), b"12345678")
        api.forget(0)
        api.write(api.malloc(8), b"12345678")
        assert executors()[0] != pid
        """,
        PYTHON,
    )


def test_the_executor_in_python_ends_with_its_parent(start_process: StartFunction) -> None:
    parent = start_process("api.malloc(8), api.malloc(8, 1)", PYTHON)
    mine = executors(parent.pid)
    assert set(mine) == {0, 1}
    parent.kill()
    parent.wait()
    wait_until(lambda: not any(is_alive(pid) for pid in mine.values()), "they have ended")


# ------------------------------------------------------------------------------------------------------------- killed


WAITERS = """
    stream, other = api.stream(), api.stream(1)
    buffer, host, there = api.malloc(64), api.host(64), api.log(1)
    gate = api.gate(stream)
    event = api.record(stream)
    api.ok(lib.orStreamWaitEvent(other, event, 0))
    api.append(there, 1, other, 1)
    gate.wait_for(1)
    def message(error):
        return error, api.message()
    calls = {
        "orStreamSynchronize": Call(lambda: message(lib.orStreamSynchronize(stream))),
        "orDeviceSynchronize": Call(lambda: message(lib.orDeviceSynchronize(0))),
        "orEventSynchronize": Call(lambda: message(lib.orEventSynchronize(event))),
        "orMemcpyWithStream": Call(
            lambda: message(lib.orMemcpyWithStream(api.pointer(buffer), host, 64, lib.orMemcpyDefault, stream))),
    }
    free = Call(lambda: api.free(buffer))
    kernel = api.kernel("nothing")
    def fill():
        while True:
            error = api.launch(kernel, b"", [], stream)
            if error:
                return message(error)
    calls["orLaunchKernel"] = Call(fill)
    assert all(call.blocks() for call in (*calls.values(), free))
"""


def test_a_killed_executor_is_a_lost_device_for_everybody_who_waits_within_a_second(run_process: Any) -> None:
    run_process(
        block(WAITERS)
        + block("""
        start = time.monotonic()
        pid = kill(0)
        results = {entry: call.result() for entry, call in calls.items()}
        assert free.result() == 0
        assert time.monotonic() - start < 1
        for entry, (error, text) in results.items():
            assert api.name(error) == "orErrorDeviceLost", (entry, api.name(error), text)
            assert text.startswith(f"{entry}: ") and "device 0" in text and f"process {pid}" in text, text
            assert "signal 9" in text and "orDeviceReset" in text, text
        api.check(lib.orMalloc(ffi.new("void**"), 8), "orErrorDeviceLost", "^orMalloc: ", f"process {pid}")
        """)
    )


def test_other_devices_go_on_also_behind_an_event_of_the_lost_one(run_process: Any) -> None:
    run_process(
        block(WAITERS)
        + block("""
        kill(0)
        api.check(calls["orStreamSynchronize"].result()[0], "orErrorDeviceLost")
        api.synchronize(other)
        assert api.read_log(there) == [1]
        api.ok(lib.orDeviceSynchronize(1))
        """)
    )


@pytest.mark.parametrize("device", [0, 1])
def test_a_reset_starts_a_new_executor(run_process: Any, device: int) -> None:
    run_process(
        f"""
        old = api.malloc(8, {device})
        pid = kill({device})
        wait_until(lambda: lib.orDeviceSynchronize({device}) != 0, "the loss is known")
        api.forget({device})
        assert executors() == {{}}
        log, stream = api.log({device}), api.stream({device})
        api.append(log, 3, stream, {device})
        api.synchronize(stream)
        assert api.read_log(log) == [3]
        assert executors()[{device}] != pid
        api.ok(lib.orFree(api.pointer(old)))
        """
    )


def test_a_loss_during_a_request_is_told_to_the_one_who_waits_for_the_answer(run_process: Any) -> None:
    run_process(
        """
        api.malloc(8)
        stop(0)
        calls = [Call(lambda: (lib.orMalloc(ffi.new("void**"), 8), api.message())) for _ in range(3)]
        assert all(call.blocks() for call in calls)
        start = time.monotonic()
        kill(0)
        for call in calls:
            error, text = call.result()
            assert api.name(error) == "orErrorDeviceLost" and "signal 9" in text, text
        assert time.monotonic() - start < 1
        """
    )


def test_a_loss_that_nobody_waited_for_is_found_by_the_next_call(run_process: Any) -> None:
    run_process(
        """
        stream, log = api.stream(), api.log()
        pid = kill(0)
        wait_until(lambda: not is_alive(pid), "it is dead")
        error = api.launch(api.kernel("nothing", 1), b"", [], api.stream(1))
        api.ok(error)
        wait_until(lambda: lib.orStreamQuery(stream) != 0, "the loss is known")
        api.check(lib.orStreamQuery(stream), "orErrorDeviceLost", f"process {pid}")
        """
    )


CRASH = """
#include "openreg_kernel.h"
static void crash(const void* args, orKernelContext* context) { (void)args, (void)context; *(volatile int*)8 = 1; }
static const orKernelEntry entries[] = {{"crash", crash, 0}};
const orKernelEntry* orGetKernels(size_t* count) { *count = 1; return entries; }
"""


def test_a_kernel_that_crashes_takes_its_device_down_and_not_the_program(
    run_process: Any, compile_library: CompileFunction, tmp_path: Path
) -> None:
    source = tmp_path / "crash.c"
    source.write_text(CRASH)
    run_process(
        f"""
        stream = api.stream()
        api.ok(api.launch(api.kernel("crash", module={str(compile_library(source))!r}), b"", [], stream))
        api.check(lib.orStreamSynchronize(stream), "orErrorDeviceLost", "device 0", "signal 11")
        api.write(api.malloc(8, 1), b"12345678")
        api.forget(0)
        api.write(api.malloc(8), b"12345678")
        """
    )


# --------------------------------------------------------------------------------------------------------------- hung


def test_a_hung_executor_is_ended_when_a_requests_deadline_passes(run_process: Any) -> None:
    run_process(
        """
        api.malloc(8), api.malloc(8, 1)
        pid = stop(0)
        error = lib.orMalloc(ffi.new("void**"), 8)
        text = ("^orMalloc: ", "device 0", f"process {pid}", r"request \\d+ \\(Malloc\\)", r"deadline of 0\\.3 s")
        api.check(error, "orErrorTimedOut", *text)
        wait_until(lambda: not is_alive(pid), "it has been ended")
        api.check(lib.orDeviceSynchronize(0), "orErrorTimedOut", "Malloc")
        api.write(api.malloc(8, 1), b"12345678")
        api.forget(0)
        api.write(api.malloc(8), b"12345678")
        """,
        "deadline=300ms",
    )


@pytest.mark.parametrize("entry", ["orStreamSynchronize", "orDeviceReset"])
def test_who_waits_for_a_hung_executor_without_a_request_does_not_wait_for_ever(run_process: Any, entry: str) -> None:
    run_process(
        f"""
        stream = api.stream()
        api.append(api.log(), 1, stream)
        api.synchronize(stream)
        pid = stop(0)
        api.append(api.malloc_host(8), 1, stream)
        if {entry!r} == "orDeviceReset":
            api.ok(Call(lambda: lib.orDeviceReset(0)).result())
            api.forget(0)
            api.write(api.malloc(8), b"12345678")
        else:
            error, text = Call(lambda: (lib.orStreamSynchronize(stream), api.message())).result()
            assert api.name(error) == "orErrorTimedOut" and "Ping" in text, text
        wait_until(lambda: not is_alive(pid), "it has been ended")
        """,
        "deadline=300ms",
    )


def test_time_in_which_the_whole_machine_stood_still_does_not_count_to_the_deadline(run_process: Any) -> None:
    """As after Ctrl-Z: both processes are stopped for longer than the deadline, and go on, the executor last."""
    run_process(
        """
        import os, subprocess
        api.malloc(8)
        pid = stop(0)
        memory = ffi.new("void**")
        call = Call(lambda: (lib.orMalloc(memory, 8), api.message()))
        assert call.blocks()
        us = os.getpid()
        subprocess.run(f"kill -STOP {us}; sleep 1.5; kill -CONT {us}; sleep 0.1; kill -CONT {pid}", shell=True)
        error, text = call.result()
        api.ok(error)
        api.write(int(ffi.cast("intptr_t", memory[0])), b"12345678")
        """,
        "deadline=1s",
    )


def test_a_kernel_may_run_for_longer_than_the_deadline(run_process: Any) -> None:
    run_process(
        """
        import struct
        api.ok(lib.orDeviceEnablePeerAccess(0, 1))
        flags, stream = api.malloc(16, device=1), api.stream()
        api.write_words(flags, 0, 0)
        args = struct.pack("<QQ", flags, flags + 8)
        api.ok(api.launch(api.kernel("block"), args, [(0, WRITE, 0, 8), (8, READ, 0, 8)], stream))
        call = Call(lambda: lib.orStreamSynchronize(stream))
        call._thread.join(0.5)  # several deadlines
        assert call.blocks()
        api.write_words(flags + 8, 1)
        api.ok(call.result())
        """,
        "deadline=100ms",
    )


SLOW = """
#include <unistd.h>
#include "openreg_kernel.h"
static void nothing(const void* args, orKernelContext* context) { (void)args, (void)context; }
static const orKernelEntry entries[] = {{"nothing", nothing, 0}};
const orKernelEntry* orGetKernels(size_t* count) { *count = 1; return entries; }
__attribute__((constructor)) static void load(void) { while (access(GO, F_OK) != 0) usleep(1000); }
"""


@pytest.fixture
def slow_module(compile_library: CompileFunction, tmp_path: Path) -> tuple[Path, Path]:
    """A module that loads for as long as a file does not exist; that file."""
    source, go = tmp_path / "slow.c", tmp_path / "go"
    source.write_text(f'#define _GNU_SOURCE\n#define GO "{go}"\n' + SLOW)
    return compile_library(source), go


@pytest.mark.parametrize("executor", ["C++", "Python"])
def test_a_module_may_take_longer_to_load_than_the_deadline_and_the_device_works_meanwhile(
    run_process: Any, slow_module: tuple[Path, Path], executor: str
) -> None:
    module, go = slow_module
    run_process(
        f"""
        stream, log = api.stream(), api.log()
        api.append(log, 1, stream)
        out = ffi.new("orModule_t*")
        load = Call(lambda: (lib.orModuleLoad(out, {str(module)!r}.encode()), api.message()))
        load._thread.join(3)  # several deadlines
        assert load.blocks()
        api.append(log, 2, stream)
        api.synchronize(stream)
        assert api.read_log(log) == [1, 2]
        open({str(go)!r}, "w").close()
        error, text = load.result()
        assert error == 0, text
        """,
        f"deadline=1s,{PYTHON}" if executor == "Python" else "deadline=1s",
    )


def test_an_executor_that_hangs_while_a_module_loads_is_ended(run_process: Any, slow_module: tuple[Path, Path]) -> None:
    run_process(
        f"""
        api.malloc(8)
        path = {str(slow_module[0])!r}.encode()
        load = Call(lambda: (lib.orModuleLoad(ffi.new("orModule_t*"), path), api.message()))
        assert load.blocks()
        stop(0)
        error, text = load.result()
        assert api.name(error) == "orErrorTimedOut" and "(ModuleLoad)" in text, text
        """,
        "deadline=300ms",
    )


SIGNALS = """
#define _GNU_SOURCE
#include <signal.h>
#include "openreg_kernel.h"
static void ignore(int number) { (void)number; }
static void handle(const void* args, orKernelContext* context) { (void)args, (void)context; signal(SIGUSR1, ignore); }
static const orKernelEntry entries[] = {{"handle", handle, 0}};
const orKernelEntry* orGetKernels(size_t* count) { *count = 1; return entries; }
"""


def test_a_signal_that_an_executor_handles_is_not_taken_for_a_message(
    run_process: Any, compile_library: CompileFunction, tmp_path: Path
) -> None:
    """An executor that naps is not rung for. If a signal made it wait for a message, nothing would be done any more."""
    source = tmp_path / "signals.c"
    source.write_text(SIGNALS)
    run_process(
        f"""
        stream, log = api.stream(), api.log()
        api.ok(api.launch(api.kernel("handle", module={str(compile_library(source))!r}), b"", [], stream))
        api.append(log, -1, stream)
        api.synchronize(stream)
        pid, values = executors()[0], list(range(200))
        for value in values:
            for _ in range(5):
                os.kill(pid, signal.SIGUSR1)
            api.append(log, value, stream)
            wait_until(lambda: api.is_done(stream), "it is done, although nobody has rung", 5)
        assert api.read_log(log) == [-1, *values]
        """
    )


# ------------------------------------------------------------------------------------------------------ the parent dies


STATES = {
    "idle": "api.malloc(8), api.malloc(8, 1)",
    "working": """
        api.malloc(8, 1)
        api.ok(lib.orSimSetDelay(0, 3_600_000_000, 0))
        api.ok(api.launch(api.kernel("nothing"), b"", [], api.stream()))
    """,
    "at a gate": "api.malloc(8, 1); gate = api.gate(api.stream()); gate.wait_for(1)",
    "with a forked child that holds the socket": """
        api.malloc(8), api.malloc(8, 1)
        child = os.fork()
        if child == 0:
            signal.pause()
    """,
    "started by a thread that has ended": "Call(lambda: (api.malloc(8), api.malloc(8, 1))).result()",
}


@pytest.mark.parametrize("state", STATES)
def test_no_executor_and_no_shared_memory_outlives_a_parent_that_is_killed(
    state: str, start_process: StartFunction
) -> None:
    before = shared_memory()
    parent = start_process(STATES[state])
    children: list[int] = []
    try:
        mine = executors(parent.pid)
        assert set(mine) == {0, 1}
        assert shared_memory() <= before
        listed = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
        children = [int(pid) for pid in listed if int(pid) not in mine.values()]
        parent.kill()
        start = time.monotonic()
        wait_until(lambda: not any(map(is_alive, mine.values())), "the executors have ended")
        assert time.monotonic() - start < 1
        assert shared_memory() <= before
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)


def test_an_executor_outlives_the_thread_that_was_the_first_to_use_it(run_process: Any) -> None:
    """The kernel would tell it that its parent has died: a thread counts as one."""
    run_process(
        """
        buffer = Call(lambda: api.malloc(8)).result()
        pid = executors()[0]
        api.write(buffer, b"12345678")
        assert api.read(buffer, 8) == b"12345678" and executors()[0] == pid
        """
    )


def test_an_interrupt_from_the_terminal_is_for_the_program_alone(run_process: Any) -> None:
    run_process(
        """
        buffer = api.malloc(8)
        api.write(buffer, b"12345678")
        os.kill(executors()[0], signal.SIGINT)
        assert api.read(buffer, 8) == b"12345678"
        """
    )


def test_streams_destroyed_in_the_middle_of_a_synchronous_copy_are_given_back(run_process: Any) -> None:
    """More than a device can have at a time. Each copy ends as if its stream were still there."""
    run_process(
        """
        size = 3 << 20
        buffer, data = api.malloc(size), bytes(range(256)) * (size // 256)
        host = api.host(data)
        for number in range(1200):
            stream = api.stream()
            if number % 100:  # of these, the executor is never told
                api.ok(lib.orStreamDestroy(stream))
                continue
            with api.gate(stream) as gate:
                gate.wait_for(1)
                ends = (api.pointer(buffer), host)
                copy = Call(lambda: lib.orMemcpyWithStream(*ends, size, lib.orMemcpyDefault, stream))
                assert copy.blocks()
                api.ok(lib.orStreamDestroy(stream))
            api.ok(copy.result())
            assert api.read(buffer, size) == data
            api.ok(lib.orMemset(api.pointer(buffer), 0, size))
        streams = [api.stream() for _ in range(100)]
        for stream in streams:
            api.ok(lib.orMemcpyWithStream(api.pointer(buffer), host, 8, lib.orMemcpyDefault, stream))
        """
    )


def test_a_reset_waits_for_a_running_function_of_the_host(run_process: Any) -> None:
    run_process(
        """
        import threading
        entered, leave, calls = threading.Event(), threading.Event(), []
        def function():
            entered.set()
            leave.wait(30)
            calls.append("returned")
        stream = api.stream()
        api.host_function(stream, function)
        api.host_function(stream, lambda: calls.append("not called any more"))
        assert entered.wait(30)
        reset = Call(lambda: lib.orDeviceReset(0))
        wait_until(lambda: executors() == {}, "the executor has gone, which a reset waits for anyway")
        assert reset.blocks()
        leave.set()
        api.ok(reset.result())
        assert calls == ["returned"]
        """
    )


def test_a_reset_drops_what_is_queued_behind_a_function_of_the_host_that_returns_meanwhile(run_process: Any) -> None:
    """The executor hears of the reset last: so what it should drop has all the time it needs to be done instead."""
    run_process(
        """
        stream, other = api.stream(), api.stream()
        size, copies = 1 << 20, 300
        buffer, host, result = api.malloc(size), api.malloc_host(size), api.malloc_host(8)
        api.view(result, 8)[:] = b"untouched"[:8]
        gate, threads = api.gate(), api.get("orSimThreadCount")
        gate.close(stream).wait_for(1)
        ends = [api.pointer(it) for it in (result, buffer, host)]
        api.ok(lib.orMemcpyAsync(ends[0], ends[1], 8, lib.orMemcpyDeviceToHost, stream))
        pid = stop(0)
        for _ in range(copies):
            api.ok(lib.orMemcpyAsync(ends[1], ends[2], size, lib.orMemcpyHostToDevice, other))
        reset = Call(lambda: lib.orDeviceReset(0))
        wait_until(gate.is_forgotten, "the reset has begun")
        gate.open()
        wait_until(lambda: api.get("orSimThreadCount") == threads, "the function's thread has ended")
        os.kill(pid, signal.SIGCONT)
        api.ok(reset.result())
        assert api.view(result, 8)[:] == b"untouched"[:8]
        """
    )


def test_a_reset_leaves_no_process_and_no_descriptor_behind(run_process: Any) -> None:
    run_process(
        """
        def once():
            for device in (0, 1):
                api.write(api.malloc(1 << 20, device), b"x" * 1000)
                api.forget(device)
            return len(os.listdir("/proc/self/fd")), executors()
        first = once()
        for _ in range(10):
            last = once()
        assert last == first and last[1] == {}
        with open("/proc/self/task/%d/children" % os.getpid()) as file:
            assert file.read().split() == [], "zombies"
        """
    )


def test_memory_that_the_executor_in_python_frees_is_given_back_to_the_system(run_process: Any) -> None:
    run_process(
        """
        def used():
            files = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
            names = {it: os.readlink(it) for it in files if os.path.islink(it)}
            others = ("openreg-board", "openreg-channel", "openreg-pinned")
            shared = [it for it, name in names.items() if "openreg-" in name and not any(it in name for it in others)]
            return sum(os.stat(it).st_blocks * 512 for it in shared)
        api.malloc(8)
        size = 32 << 20
        buffer = api.malloc(size)
        api.ok(lib.orMemset(api.pointer(buffer), 1, size))
        assert used() >= size
        api.ok(api.free(buffer))
        api.memory()  # a request: the frames before it have been taken
        assert used() < size // 4
        """,
        PYTHON,
    )


# ------------------------------------------------------------------------------------------------- fork, spawn, threads


def test_a_loss_is_noticed_at_once_although_a_child_was_forked_while_the_executor_started(run_process: Any) -> None:
    """Such a child holds both ends of the socket, which then does not end with the executor."""
    run_process(
        """
        import threading
        def ends(pid):
            try:
                names = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
            except OSError:
                return 0
            return sum(name.startswith("socket:") for name in names) - sockets
        sockets = 0
        sockets = ends(os.getpid())
        api.device_count
        for attempt in range(60):
            children, started = [], threading.Event()
            def fork():
                while not started.is_set() and len(children) < 40:
                    pid = os.fork()
                    if pid == 0:
                        signal.pause()
                    children.append(pid)
            forker = threading.Thread(target=fork)
            forker.start()
            wait_until(lambda: children, "the first child is there")
            buffer = api.malloc(8)
            started.set()
            forker.join()
            if held := max(map(ends, children)) >= 2:
                call = Call(lambda: (kill(0), time.monotonic(), lib.orDeviceSynchronize(0)))
                _, start, _ = call.result()
                wait_until(lambda: lib.orDeviceSynchronize(0) != 0, "the loss is known")
                assert time.monotonic() - start < 1
                api.check(lib.orDeviceSynchronize(0), "orErrorDeviceLost", "signal 9")
            start = time.monotonic()
            api.forget(0)
            assert time.monotonic() - start < 5
            for pid in children:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
            if held:
                break
        assert held, "no child was forked between the making of the socket and the start of the executor"
        """
    )


def test_an_executor_that_the_program_has_reaped_itself_is_lost_like_any_other(run_process: Any) -> None:
    run_process(
        """
        stream = api.stream()
        api.malloc(8)
        pid = executors()[0]
        reaper = Call(lambda: os.waitpid(pid, 0))
        assert reaper.blocks()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: lib.orStreamQuery(stream) != 0, "the loss is known")
        api.check(lib.orStreamQuery(stream), "orErrorDeviceLost", f"process {pid}")
        api.forget(0)
        api.write(api.malloc(8), b"12345678")
        """
    )


def test_a_forked_child_leaves_the_parents_executor_alone(run_process: Any) -> None:
    run_process(
        """
        buffer = api.malloc(8)
        api.write(buffer, b"12345678")
        def child():
            api.check(lib.orMalloc(ffi.new("void**"), 8), "orErrorForked", "^orMalloc: ", "fork", "spawn")
            api.check(lib.orDeviceSynchronize(0), "orErrorForked")
            api.ok(lib.orFree(api.pointer(buffer)))
        for _ in range(3):
            in_forked_child(child)
        assert api.read(buffer, 8) == b"12345678"
        """
    )


def test_a_spawned_child_has_executors_of_its_own(run_process: Any, tmp_path: Path) -> None:
    module = tmp_path / "spawned.py"
    module.write_text(
        PRELUDE
        + PROCESSES
        + block("""
        def work(value):
            buffer = api.malloc(8)
            api.write(buffer, bytes([value]) * 8)
            return api.read(buffer, 8), executors()[0]
        """)
    )
    run_process(
        f"""
        import multiprocessing
        sys.path.insert(0, {str(tmp_path)!r})
        import spawned
        mine = spawned.work(9)
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            results = pool.map(spawned.work, range(4), chunksize=2)
        assert [data for data, _ in results] == [bytes([value]) * 8 for value in range(4)]
        assert mine[1] not in [pid for _, pid in results]
        assert spawned.work(8)[1] == mine[1]
        """
    )


def test_many_threads_with_frees_by_the_garbage_collector_find_what_they_wrote(run_process: Any) -> None:
    run_process(
        """
        import gc, random, struct
        kernels = [api.kernel("copy_word", device) for device in (0, 1)]

        class Buffer:
            def __init__(self, device):
                self.address = api.address(api.on(device, "orMalloc", 64))
                self.me = self  # a cycle: only the collector frees it, at a time of its own choice
            def __del__(self):
                api.ok(lib.orFree(api.pointer(self.address)))

        def work(seed):
            rng = random.Random(seed)
            device = seed % 2
            stream = api.stream(device)
            for step in range(1000):
                if step % 10 == 0:
                    source, target = Buffer(device), Buffer(device)
                value = struct.pack("<q", seed * 10_000 + step)
                api.ok(lib.orMemcpyWithStream(
                    api.pointer(source.address), ffi.from_buffer(value), 8, lib.orMemcpyHostToDevice, stream))
                args = struct.pack("<QQ", target.address, source.address)
                api.ok(api.launch(kernels[device], args, [(0, WRITE, 0, 8), (8, READ, 0, 8)], stream))
                if rng.random() < 0.1:
                    back = bytearray(8)
                    api.ok(lib.orMemcpyWithStream(
                        ffi.from_buffer(back), api.pointer(target.address), 8, lib.orMemcpyDeviceToHost, stream))
                    assert bytes(back) == value
            return seed

        gc.set_threshold(50)
        calls = [Call(lambda seed=seed: work(seed)) for seed in range(8)]
        assert [call.result(60) for call in calls] == list(range(8))
        gc.collect()
        assert all(api.memory(device)[0] == api.memory(device)[1] for device in (0, 1))
        """,
        timeout=90,
    )
