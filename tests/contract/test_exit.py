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
    link = [f"-L{library.parent}", "-lopenreg", f"-Wl,-rpath,{library.parent}"]
    run(["cc", f"-I{header.INCLUDE}", source, "-o", program, *link])
    run([program], env={**os.environ, **driver_environment(driver)}, timeout=20)
