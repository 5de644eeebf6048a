"""The steps, built; and a small repository of three steps, in which everything that can happen to a file happens."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "steps"))

import check  # noqa: E402
import regions  # noqa: E402
from assemble import Ladder  # noqa: E402
from step import Workshop  # noqa: E402
from workers import locked, run_folder  # noqa: E402

FILES = {
    "LICENSE": "Do what you like.\n",
    "pyproject.toml": '[build-system]\nrequires = ["toymaker>=7"]\n[dependency-groups]\nrun = ["thing==1.0"]\n',
    "CMakeLists.txt": """\
# Builds the toy.
cmake_minimum_required(VERSION 3.18)
project(toy CXX)
file(GLOB sources CONFIGURE_DEPENDS openreg/csrc/*/*.cpp)
add_library(toy OBJECT ${sources})
target_include_directories(toy PRIVATE openreg/csrc)
target_compile_options(toy PRIVATE -Wall -Wextra $<$<BOOL:${OPENREG_WERROR}>:-Werror>)
install(DIRECTORY openreg/torch_openreg DESTINATION . PATTERN __pycache__ EXCLUDE)
""",
    "openreg/csrc/device/guard.h": """\
// The guard: which device is current.
#pragma once

#include "device/device.h"
#include "stream/stream.h"

#include <string>

namespace toy {

// LITERALINCLUDE START: GUARD
struct Guard {
  int device() const {
    return check(current_);
  }

  // LITERALINCLUDE START: GUARD STREAM
  int stream() const {
    return streamOf(current_);
  }
  // LITERALINCLUDE END: GUARD STREAM

  std::string name() const;

 private:
  static constexpr int kNone = -1;
  static int check(int device) {
    return device == kNone ? 0 : device;
  }
  int current_ = 0;
};
// LITERALINCLUDE END: GUARD

int deviceOfGuard();

} // namespace toy
""",
    "openreg/csrc/device/guard.cpp": """\
/**
 * @file guard.cpp
 * @brief The one guard that
 * there is. And more.
 */
#include "guard.h"

namespace toy {

std::string Guard::name() const {
  return "toy";
}

namespace {
Guard guard;
} // namespace

int deviceOfGuard() {
  return guard.name().empty() ? deviceOfGuard() : guard.device();
}

} // namespace toy
""",
    "openreg/csrc/device/device.h": """\
// Numbers of devices.
#pragma once
""",
    "openreg/csrc/stream/stream.h": """\
// Streams: an order of work.
#pragma once
namespace toy {
int streamOf(int device);
} // namespace toy
""",
    "openreg/csrc/stream/stream.cpp": """\
// Streams, for all devices.
#include "stream.h"
#include "device/guard.h"
namespace toy {
int streamOf(int device) {
  return device + 1;
}
static Guard all;
int first = all.stream() + first;
} // namespace toy
""",
    "openreg/csrc/memory/caching.cpp": """\
// Memory that is kept for later.
namespace toy {
// LITERALINCLUDE START: CACHING
int kept = kept;
// LITERALINCLUDE END: CACHING
} // namespace toy
""",
    "openreg/torch_openreg/__init__.py": '''\
"""The package. It has a second sentence."""

from .device import count
from .memory import memory
from .stream import stream
''',
    "openreg/torch_openreg/device.py": '''\
"""Counts devices."""


def count() -> int:
    """Counts."""
    return 2
''',
    "openreg/torch_openreg/stream.py": '''\
"""Names a stream."""


def stream() -> str:
    """Names."""
    return "default"
''',
    "openreg/torch_openreg/memory.py": '''\
"""Says where memory is."""


def memory() -> str:
    """Says."""
    return "far"
''',
    "steps/01-device/step.toml": """\
title = "A device"
chapter = "01-device"
adds = ["LICENSE", "CMakeLists.txt", "openreg/csrc/device/**", "openreg/torch_openreg/__init__.py",
        "openreg/torch_openreg/device.py"]
""",
    "steps/01-device/demo.py": "import torch_openreg\n\nprint(torch_openreg.count(), 'devices')\n",
    "steps/01-device/before.txt": """\
$ python demo.py
Traceback (most recent call last):
  ...
ModuleNotFoundError: No module named 'torch_openreg'
""",
    "steps/01-device/after.txt": "$ python demo.py\n2 devices\n",
    "steps/02-stream/step.toml": """\
title = "A stream"
chapter = "02-stream"
adds = ["openreg/csrc/stream/*", "openreg/torch_openreg/stream.py"]
grows = ["GUARD STREAM"]
own = { "direct.cpp" = "openreg/csrc/memory/direct.cpp" }
""",
    "steps/02-stream/direct.cpp": "// Memory that goes back at once.\nint used = used;\n",
    "steps/02-stream/demo.py": "import torch_openreg\n\nprint(torch_openreg.stream())\n",
    "steps/02-stream/before.txt": """\
$ python demo.py
Traceback (most recent call last):
  ...
AttributeError: module 'torch_openreg' has no attribute 'stream'
""",
    "steps/02-stream/after.txt": "$ python demo.py\ndefault\n",
    "steps/03-memory/step.toml": """\
title = "Memory"
chapter = "03-memory"
adds = ["openreg/csrc/memory/**", "openreg/torch_openreg/memory.py"]
replaces = ["openreg/csrc/memory/direct.cpp"]
""",
    "steps/03-memory/demo.py": "import torch_openreg\n\nprint(torch_openreg.memory())\n",
    "steps/03-memory/before.txt": """\
$ python demo.py
Traceback (most recent call last):
  ...
AttributeError: module 'torch_openreg' has no attribute 'memory'
""",
    "steps/03-memory/after.txt": "$ python demo.py\nfar\n",
    "docs/guide/01-device.md": "# Device\n\n```{region} openreg/csrc/device/guard.h GUARD\n```\n",
    "docs/guide/02-stream.md": "# Stream\n\n```{pyobject} openreg/torch_openreg/stream.py stream\n```\n",
    "docs/guide/03-memory.md": "# Memory\n\n:::{region} openreg/csrc/memory/caching.cpp CACHING\n:::\n",
}
TEST_STEP = "import torch_openreg\n\n\ndef test_it_counts():\n    assert torch_openreg.count() == 2\n"
README = "# {0}\n\nSee [the chapter](../../docs/guide/{0}.md).\n\n<!-- table start -->\n<!-- table end -->\n"


class Toy:
    """The small repository, and ways to do damage to it."""

    def __init__(self, root: Path) -> None:
        """Writes the files and makes the tables."""
        self.root = root
        for path, text in FILES.items():
            self.write(path, text)
        for name in ("01-device", "02-stream", "03-memory"):
            self.write(f"steps/{name}/README.md", README.format(name))
            self.write(f"steps/{name}/test_step.py", TEST_STEP)
            self.write(f"steps/{name}/CMakeLists.txt", (REPOSITORY / "steps/01-device/CMakeLists.txt").read_text())
        for tool in ("regions.py", "assemble.py", "step.py", "step.cmake"):
            self.write(f"steps/{tool}", (REPOSITORY / "steps" / tool).read_text())
        for name in ("compiler_cache.py", "progress.py"):
            self.write(f"tools/{name}", (REPOSITORY / "tools" / name).read_text())
        # Markers may be 5 % of the lines at most, so there is one file that has many lines and none of them.
        self.write("openreg/csrc/device/filler.cpp", "// Fills.\n" * 200)
        check.problems(root, fix=True)

    def write(self, path: str, text: str) -> None:
        """Writes a file."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def read(self, path: str) -> str:
        """Reads a file."""
        return (self.root / path).read_text()

    def edit(self, path: str, old: str, new: str) -> None:
        """Replaces text in a file, which must have it."""
        text = self.read(path)
        assert old in text
        self.write(path, text.replace(old, new))

    @property
    def ladder(self) -> Ladder:
        """The steps as they are now."""
        return Ladder(self.root)

    def problems(self) -> str:
        """What the checker finds now, a line each."""
        return "\n".join(check.problems(self.root))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the switch of `make test-all`."""
    parser.addoption("--all-projects", action="store_true", help="build whole projects under other names, too")


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    """All steps, built: with -Werror, as `make step` does. Processes of one run share them."""
    shop, built = Workshop(), run_folder(tmp_path_factory) / "steps-are-built"
    with locked(built):
        if not built.exists():
            for index in range(-1, len(shop.ladder.steps)):
                shop.build(index)
            built.touch()
    return shop


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    """A small repository of one's own."""
    return Toy(tmp_path / "toy")


@pytest.fixture
def lines() -> Callable[[str], list[str]]:
    """Cuts a text as a step without LATER would have it, and returns its lines."""

    def cut(text: str, *later: str, keep_markers: bool = False) -> list[str]:
        return regions.cut(
            text, "x.h", later or ("LATER",), keep_markers, lambda line: "missing.h" in line
        ).splitlines()

    return cut
