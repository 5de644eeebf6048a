"""A thread that leaves another's core: it may run where it was told to, by whoever said so last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from . import header
from .conftest import run

COMMON = header.ROOT / "openreg" / "driver" / "common"
# The program's own sched_setaffinity comes before the C library's. On the first call, which takes the thread away from
# its core, another thread can have its say before the call returns.
PROGRAM = """
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "placement.h"

namespace {

int calls = 0;
bool interferes = false;
cpu_set_t before; // where this thread may run at first
cpu_set_t said;   // and where somebody else has said in the meantime: on the core that it leaves, and on no other

void require(bool holds, int line) {
  if (!holds) {
    _exit(line);
  }
}
#define REQUIRE(condition) require(condition, __LINE__ % 200 + 1)

cpu_set_t now() {
  cpu_set_t set;
  REQUIRE(sched_getaffinity(0, sizeof(set), &set) == 0);
  return set;
}

} // namespace

extern "C" int sched_setaffinity(pid_t thread, size_t size, const cpu_set_t* set) noexcept {
  const long error = syscall(SYS_sched_setaffinity, thread, size, set);
  if (++calls == 1 && interferes) {
    CPU_XOR(&said, &before, set);
    syscall(SYS_sched_setaffinity, 0, sizeof(said), &said);
  }
  return error < 0 ? -1 : 0;
}

int main(int, char** arguments) {
  before = now();
  interferes = std::strcmp(arguments[1], "interfered") == 0;
  openreg::Whereabouts other;
  // The kernel may move this thread between the two lines: then it is on another core already.
  for (int attempt = 0; calls == 0 && attempt < 1000; ++attempt) {
    other.note();
    other.leave();
  }
  const cpu_set_t after = now();
  REQUIRE(calls == (interferes ? 1 : 2));
  REQUIRE(CPU_EQUAL(&after, interferes ? &said : &before));
}
"""


@pytest.mark.parametrize("how", ["alone", "interfered"])
def test_a_thread_that_leaves_a_core_may_run_where_it_was_told_to(tmp_path: Path, how: str) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("there is no other core to go to")
    source, program = tmp_path / "leave.cpp", tmp_path / "leave"
    source.write_text(PROGRAM)
    compiler = os.environ.get("CXX", "c++")
    system = COMMON / "system"
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{system}", "-pthread"]
    run([compiler, *flags, source, system / "placement.cpp", system / "platform.cpp", "-o", program])
    run([program, how])
