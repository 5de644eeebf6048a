"""A process ends cleanly and soon, whatever its devices are doing."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from . import header
from .conftest import block, run
from .processes import driver_environment

STATES = {
    "unused": "",
    "counted": "api.device_count",
    "memory not freed": "api.malloc(1 << 20); api.malloc_host(1 << 20)",
    "idle stream": "stream = api.stream(); api.host_function(stream, lambda: None); api.synchronize(stream)",
    "work in flight": """
        log, stream = api.log(), api.stream()
        for value in range(100):
            api.append(log, value, stream)
    """,
    "slow work in flight": """
        api.ok(lib.orSimSetDelay(0, 3_600_000_000, 0))
        api.ok(api.launch(api.kernel("nothing"), b"", [], api.stream()))
    """,
    "gate closed": "gate = api.gate(api.stream()); gate.wait_for(1)",
    "gate closed with work behind it": """
        log, stream = api.log(), api.stream()
        gate = api.gate(stream)
        api.append(log, 1, stream)
        gate.wait_for(1)
    """,
    "waiting for an event": """
        first, second = api.stream(), api.stream(1)
        gate = api.gate(first)
        api.ok(lib.orStreamWaitEvent(second, api.record(first), 0))
        gate.wait_for(1)
    """,
    "threads blocked": """
        import threading
        stream = api.stream()
        gate = api.gate(stream)
        event, memory = api.record(stream), api.malloc(8)
        calls = [
            Call(lambda: lib.orDeviceSynchronize(0)),
            Call(lambda: lib.orStreamSynchronize(stream)),
            Call(lambda: lib.orEventSynchronize(event)),
            Call(lambda: lib.orFree(api.pointer(memory))),
        ]
        assert all(call.blocks() for call in calls)
    """,
    "threads submitting": """
        kernel = api.kernel("nothing")
        def submit():
            stream = api.stream()
            while True:
                api.launch(kernel, b"", [], stream)
        calls = [Call(submit) for _ in range(3)]
        assert all(call.blocks() for call in calls)
    """,
    "device failed": "api.fail_on_device(api.default_stream()); lib.orDeviceSynchronize(0)",
    "device lost": "api.malloc(8); api.ok(lib.orSimLoseDevice(0))",
    "after a reset": "api.malloc(8); api.gate(api.stream()); api.forget(0)",
    "queue full": """
        stream, kernel = api.stream(), api.kernel("nothing")
        gate = api.gate(stream)
        def submit():
            while True:
                api.launch(kernel, b"", [], stream)
        assert Call(submit).blocks()
    """,
}

# Device work of each kind, one piece of which is done when `work` returns and many of which are still to come.
IN_FLIGHT = {
    "matrix product": """
        n = 1024
        a, b, c = (api.malloc(4 * n * n) for _ in range(3))
        one, zero = struct.pack("<f12x", 1.0), bytes(16)
        matrices = b"".join(struct.pack("<Qqqq", matrix, n, 1, 0) for matrix in (c, a, b))
        args = matrices + struct.pack("<4qi4x", 1, n, n, n, 7) + one + zero
        pointers = [(0, WRITE, 0, 4 * n * n), (32, READ, 0, 4 * n * n), (64, READ, 0, 4 * n * n)]
        launch("gemm.float", args, pointers)
    """,
    "convolution": """
        images, size = 4, 4 * 32 * 64 * 64
        image, result, weight = api.malloc(images * size), api.malloc(images * size), api.malloc(4 * 32 * 32 * 9)
        window = struct.pack("<18q", 1, 64, 64, 1, 64, 64, 1, 3, 3, 1, 1, 1, 0, 1, 1, 1, 1, 1)
        args = struct.pack("<4Q4q", image, weight, result, 0, images, 1, 32, 32) + window
        pointers = [(0, READ, 0, images * size), (8, READ, 0, 4 * 32 * 32 * 9), (16, WRITE, 0, images * size)]
        launch("convolution.float", args, pointers)
    """,
    "sort": """
        rows, size = 64, 4096
        bytes_ = 4 * rows * size
        values, indices, source = api.malloc(bytes_), api.malloc(2 * bytes_), api.malloc(bytes_)
        args = struct.pack("<3Q4q4i", values, indices, source, rows, size, size, 1, 7, 0, 0, 1)
        launch("sort", args, [(0, WRITE, 0, bytes_), (8, WRITE, 0, 2 * bytes_), (16, READ, 0, bytes_)])
    """,
    "copy": """
        bytes_ = 16 << 20
        device, host = api.pointer(api.malloc(bytes_)), api.pointer(api.malloc_host(bytes_))
        work(lambda stream: lib.orMemcpyAsync(device, host, bytes_, lib.orMemcpyDefault, stream))
    """,
    "host function": """
        import threading
        called, never = threading.Event(), threading.Event()
        def function():
            called.set()
            never.wait()
        for stream in streams:
            api.host_function(stream, function)
        called.wait()
    """,
}

WORK = """
    import struct
    streams = [api.stream() for _ in range(3)]
    def work(submit):
        for number in range(100):
            for stream in streams:
                api.ok(submit(stream))
            if number == 0:
                events = [api.record(stream) for stream in streams]
        for event in events:
            api.ok(lib.orEventSynchronize(event))
    def launch(name, args, pointers):
        kernel = api.kernel(name, module="openreg")
        work(lambda stream: api.launch(kernel, args, pointers, stream))
"""

ENDS = {
    "end of the program": ("", 0),
    "sys.exit": ("sys.exit(3)", 3),
    "os._exit": ("import os; os._exit(4)", 4),
    "exception": ("raise SystemExit(5)", 5),
}


# Every state at the ordinary end, the hardest ones at the others too.
COMBINATIONS = [
    (state, end)
    for state in STATES
    for end in ENDS
    if end in ("end of the program", "sys.exit") or state in ("gate closed", "threads blocked")
]


@pytest.mark.parametrize(("state", "end"), COMBINATIONS)
def test_a_process_ends_in_every_state(run_child: Any, state: str, end: str) -> None:
    code, status = ENDS[end]
    start = time.monotonic()
    done = run_child(block(STATES[state]) + code, code_expected=status, timeout=20)
    assert done.stderr == ""
    assert time.monotonic() - start < 15, "it waited for a gate's deadline or for the delay"


@pytest.fixture(scope="session")
def lingering(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that holds up the end of the process, so that whoever goes on until then is seen."""
    folder = tmp_path_factory.mktemp("lingering")
    source, library = folder / "lingering.c", folder / "lingering.so"
    source.write_text(
        "#define _GNU_SOURCE\n#include <unistd.h>\n"
        "__attribute__((destructor)) static void linger(void) { usleep(300000); }\n"
    )
    run(["cc", "-shared", "-fPIC", source, "-o", library])
    return library


@pytest.mark.parametrize("kind", IN_FLIGHT)
def test_a_process_ends_with_each_kind_of_work_in_flight(run_child: Any, lingering: Path, kind: str) -> None:
    """A library that kernels call cleans up after itself then, which must not be under a kernel's hands.

    The destructors of what is opened last run last: there one lingers, so that a kernel that goes on is seen to crash.
    """
    lingers = f'import ctypes; ctypes.CDLL("{lingering}")'
    assert run_child(block(WORK) + block(IN_FLIGHT[kind]) + lingers, timeout=60).stderr == ""


@pytest.mark.parametrize("state", ["work in flight", "gate closed", "threads blocked"])
def test_parent_and_child_end_after_a_fork(run_child: Any, state: str) -> None:
    done = run_child(
        block(STATES[state])
        + block("""
        import os
        pid = os.fork()
        if pid == 0:
            sys.exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        """),
        timeout=20,
    )
    assert done.stderr == ""


def test_a_library_user_without_python_ends_too(tmp_path: Path, library: Path, driver: str) -> None:
    """A plain C program that returns from main with a stream at work, as a static destructor meets it."""
    source = tmp_path / "main.c"
    source.write_text(
        '#include <stdio.h>\n#include "openreg.h"\n'
        "static int fail(int status) { fputs(orGetLastErrorMessage(), stderr); return status; }\n"
        "int main(void) {\n"
        "  void* memory;\n"
        "  orStream_t stream;\n"
        "  if (orMalloc(&memory, 1 << 20) || orStreamCreate(&stream)) return fail(1);\n"
        "  for (int i = 0; i < 1000; ++i)\n"
        "    if (orMemsetAsync(memory, i, 1 << 20, stream)) return fail(2);\n"
        "  return 0;\n"
        "}\n"
    )
    program = tmp_path / "main"
    link = [library, f"-Wl,-rpath,{library.parent}"]
    run(["cc", f"-I{header.INCLUDE}", source, "-o", program, *link])
    run([program], env={**os.environ, **driver_environment(driver)}, timeout=20)
