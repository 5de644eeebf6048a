"""The levels of a driver, which say what runs on it once it has which entries, and the groups of its tests."""

import re
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parent.parent / "openreg" / "csrc" / "device" / "level.cpp"
# Of the contract's tests, those about the driver under test. The others are about the header, or a driver of our own.
GROUPS = ["device", "memory", "copy", "kernel", "stream", "event", "errors", "async_errors", "launch_blocking"]
GROUPS += ["ipc", "arguments", "fork", "exit", "resources", "activity", "graph", "simulator"]
# Of these a driver with one device has no need.
FOR_TWO_DEVICES = ("MemcpyPeerAsync",)


class Level(NamedTuple):
    """What part of the guide runs on a driver once it has some entries."""

    name: str
    steps: str
    entries: str  # without "or"

    @property
    def first(self) -> int:
        """The first of its steps."""
        return int(self.steps.split("-")[0])


def read_levels(array: str) -> list[Level]:
    """Reads them from the C++ that names them in errors."""
    text = SOURCE.read_text(encoding="utf-8").split(f"{array}[] = {{")[1].split("};")[0]
    rows = re.findall(r'\{"([^"]+)",\s*"([\d-]+)",\s*((?:"[^"]*"\s*)+)\}', text)
    return [Level(name, steps, "".join(re.findall('"([^"]*)"', texts))) for name, steps, texts in rows]


LEVELS = read_levels("kLevels")
OPTIONAL = read_levels("kOptional")  # what one thing in a step needs, while the rest of the step does without
