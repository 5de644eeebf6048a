"""What a part says, and what it is asked."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

from gpu_figures import Miss


@dataclass
class Asked:
    """What the command line asks of each part."""

    seconds: float  # that the part may take
    workers: int = 1  # processes that may run beside each other
    pytest: list[str] = field(default_factory=list)  # further options for it
    beside: str | None = None  # a Python whose PyTorch is a CUDA build, if ours is none
    begun: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        """Seconds that are left of its time."""
        return self.begun + self.seconds - time.monotonic()


@dataclass
class Result:
    """What a part has found: figures, tests that do not hold, and sentences about the run itself."""

    figures: list[dict[str, Any]] = field(default_factory=list)
    misses: list[Miss] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def figure(self, name: str, value: float, unit: str = "", **more: Any) -> None:
        """Adds a figure, without the digits that no measurement has."""
        more = {key: four_digits(it) if isinstance(it, float) else it for key, it in more.items() if it is not None}
        self.figures.append({"name": name, "value": four_digits(value), "unit": unit, **more})

    def recorded(self) -> dict[str, Any]:
        """What is recorded of it."""
        return asdict(self)


def four_digits(value: float) -> float:
    """Returns a number with four digits; a count as it is."""
    return value if isinstance(value, int) else float(f"{value:.4g}")
