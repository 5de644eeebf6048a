"""torch.openreg.explain: what a function made the device do, where it made the host wait, and the lines of both."""

from __future__ import annotations

import inspect
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.profiler import ProfilerActivity, profile
from torch_openreg.openreg import explanation

from .conftest import ProgramFunction, child_environment
from .test_missing_entries import toy as toy

HERE = Path(__file__).name


def explained(program: Callable[..., Any], *args: Any) -> Any:
    """An explanation of the second call: by then all kernels are loaded."""
    program(*args)
    return torch.openreg.explain(program)(*args)


def lines_of(program: Callable[..., Any], *texts: str) -> list[str]:
    """The lines of a function that have these texts, as an explanation names them."""
    source, first = inspect.getsourcelines(program)
    return [f"{HERE}:{first + next(i for i, line in enumerate(source) if text in line)}" for text in texts]


def named(findings: list[Any]) -> list[tuple[str, str | None, int]]:
    return [(it.operator, it.line and Path(it.line).name, it.count) for it in findings]


def test_kernels_and_copies_are_counted(device: str) -> None:
    x, host = torch.ones(8, device=device), torch.ones(8)

    def program() -> None:
        y = x * 2 + x
        y.mul_(3)
        host.to(device)

    found = explained(program)
    assert found.launches == {"mul.float": 2, "add.float": 1}
    assert found.copies == {"Memcpy HtoD (Pageable -> Device)": 1}
    assert named(found.waits) == [("aten::to", *lines_of(program, ".to("), 1)]


def test_each_wait_has_its_operator_and_line(device: str) -> None:
    x = torch.ones(3, device=device)

    def program() -> None:
        for _ in range(2):
            x.sum().item()
        if x[0] > 3:
            raise AssertionError
        float(x[1])
        (x * 2).tolist()

    (item, branch, number, listed) = lines_of(program, ".item()", "if ", "float(", "tolist")
    assert named(explained(program).waits) == [
        ("aten::item", item, 2),
        ("aten::is_nonzero", branch, 1),
        ("aten::item", number, 1),
        ("aten::to", listed, 1),
    ]


def test_a_wait_inside_of_pytorchs_python_is_at_the_programs_line(device: str) -> None:
    x = torch.ones(3, device=device)

    def program() -> str:
        return repr(x)

    (line,) = lines_of(program, "repr(")
    assert {it.line and Path(it.line).name for it in explained(program).waits} == {line}


def test_a_wait_that_the_program_asks_for_has_the_name_of_the_drivers_entry(device: str) -> None:
    def program() -> None:
        torch.openreg.current_stream(device).synchronize()
        torch.openreg.synchronize(device)

    assert named(explained(program).waits) == [("orStreamSynchronize", None, 1), ("orDeviceSynchronize", None, 1)]


def test_a_fallback_has_its_line_and_takes_longer_than_its_waits(device: str) -> None:
    x = torch.ones(4, device=device)

    def program() -> None:
        torch.histogram(x, bins=2, range=(0.0, 2.0))
        x + x

    found = explained(program)
    (line,) = lines_of(program, "histogram(")
    assert named(found.fallbacks) == [("aten::histogram", line, 1)]
    assert named(found.waits) == [("aten::histogram", line, found.waits[0].count)]
    assert found.fallbacks[0].microseconds > found.waits[0].microseconds > 0


def test_a_wait_in_a_gradient_is_at_the_line_of_its_operator(device: str) -> None:
    x = torch.ones(4, device=device, requires_grad=True)

    def program() -> None:
        x.detach() + 1
        y = x.prod()
        y.detach() + 1
        y = y * 2
        y.backward()

    (line,) = lines_of(program, "prod()")
    waits = explained(program).waits
    assert waits and {(operator, at) for operator, at, _ in named(waits)} == {("ProdBackward0", line)}


def test_another_threads_waits_have_no_line(device: str) -> None:
    x = torch.ones(4, device=device)

    def program() -> None:
        thread = threading.Thread(target=lambda: x.sum().item())
        thread.start()
        thread.join()

    waits = named(explained(program).waits)
    assert [(line, count) for _, line, count in waits] == [(None, 1)]


def test_what_was_queued_before_and_what_comes_after_is_not_counted(device: str) -> None:
    x = torch.ones(4, device=device)
    x + x
    with torch.device(device):
        x * 2
        found = torch.openreg.explain(lambda: None)()
    x * 2
    assert (found.launches, found.copies, found.waits, found.device_us) == ({}, {}, [], 0)


def test_a_function_is_called_once_with_its_arguments(device: str) -> None:
    calls = []
    torch.openreg.explain(lambda *args, **kwargs: calls.append((args, kwargs)))(1, device, third=3)
    assert calls == [((1, device), {"third": 3})]


def test_what_a_function_raises_the_caller_gets_and_the_next_is_explained(device: str) -> None:
    x = torch.ones(4, device=device)

    def program() -> None:
        x + x
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        torch.openreg.explain(program)()
    assert torch.openreg.explain(lambda: x + x)().launches == {"add.float": 1}


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(TypeError, match=r"explain: argument 'fn' is 3; expected a function"):
        torch.openreg.explain(3)  # type: ignore[arg-type]


def test_a_profile_that_is_being_recorded_is_left_alone() -> None:
    """PyTorch would end it without a word, and record nothing of it."""
    called = []
    with profile(activities=[ProfilerActivity.CPU]) as recording:
        with pytest.raises(RuntimeError, match=r"explain: a profile is being recorded already; expected none"):
            torch.openreg.explain(lambda: called.append(1))()
        torch.ones(3) + 1
    assert not called
    assert "aten::add" in {event.name for event in recording.events()}


def test_the_text_has_a_row_for_each_and_without_times_it_stays_the_same(device: str) -> None:
    x = torch.ones(4, device=device)

    def program() -> None:
        (x * 2).sum().item()

    first, second = explained(program), explained(program)
    (line,) = lines_of(program, ".item()")
    assert first.text(times=False) == second.text(times=False)
    assert first.text(times=False).splitlines() == [
        "launches       2  of 2 kernels",
        "copies         1  Memcpy DtoH (Device -> Pageable)",
        "fallbacks      0",
        f"waits          1  aten::item                        {line}",
    ]
    assert str(first).splitlines()[-1] == (
        f"The host took {first.host_us / 1e3:.2f} ms and waited for {first.waiting_us / 1e3:.2f} ms of it. "
        f"The device worked for {first.device_us / 1e3:.2f} ms."
    )
    assert f"{first.waits[0].microseconds / 1e3:.2f} ms" in str(first)
    assert 0 < first.waiting_us < first.host_us


def test_work_of_two_streams_at_one_time_counts_once() -> None:
    spans = [(10, 20), (0, 5), (12, 15), (18, 30), (40, 41)]
    events: Any = [SimpleNamespace(time_range=SimpleNamespace(start=start, end=end)) for start, end in spans]
    assert explanation._covered_us(events) == 5 + 20 + 1
    assert explanation._covered_us([]) == 0


def test_on_a_driver_without_records_the_fallbacks_are_found_and_a_warning_names_what_is_not(
    program: ProgramFunction, toy: str
) -> None:
    said = program(
        """
import torch
x = torch.ones(4).to("openreg")
found = torch.openreg.explain(lambda: torch.histogram(x, bins=2, range=(0.0, 2.0)))()
print([it.operator for it in found.fallbacks], found.launches, found.waits)
""",
        OPENREG_DRIVER=toy,
    )
    text = "Warning: openreg: the profile lacks what has happened on the device: not implemented: orActivitySubscribe"
    assert text in said and "\n['aten::histogram'] Counter() []\n" in f"\n{said}"


# Reads the system's clock for the library, and is put aside before and after most readings, as on a busy machine.
SLOW_CLOCK = """
#include <time.h>
#include <unistd.h>
int pauses = 0;
long now(void) __asm__("_ZNSt6chrono3_V212system_clock3nowEv");
long now(void) {
  static __thread int calls;
  const int pause = pauses && ++calls % 4;
  if (pause) usleep(3000);
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  if (pause) usleep(3000);
  return time.tv_sec * 1000000000L + time.tv_nsec;
}
"""
COPIES = """
import ctypes
import torch
x = torch.ones(8)
def program():
    x.to("openreg")
program()
pauses = ctypes.c_int.in_dll(ctypes.CDLL(None), "pauses")
for _ in range(5):
    pauses.value = 1
    found = torch.openreg.explain(program)()
    pauses.value = 0
    print([wait.operator for wait in found.waits])
    if [wait.operator for wait in found.waits] == ["aten::to"]:
        break  # twenty seconds each
"""


def test_a_thread_that_stands_still_between_two_clocks_moves_no_event(tmp_path: Path) -> None:
    (tmp_path / "clock.c").write_text(SLOW_CLOCK)
    library = tmp_path / "clock.so"
    subprocess.run(["gcc", "-shared", "-fPIC", str(tmp_path / "clock.c"), "-o", str(library)], check=True)
    env = child_environment(LD_PRELOAD=str(library))
    done = subprocess.run([sys.executable, "-c", COPIES], env=env, capture_output=True, text=True, check=True)
    # PyTorch reads two clocks as well, for its own events: one of five explanations is enough.
    assert "['aten::to']" in done.stdout, done.stdout
