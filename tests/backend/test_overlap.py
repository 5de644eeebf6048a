"""Copies beside computing: the example measures what the guide says, and the recorded picture is such a measurement.

OPENREG_RECORD=1 writes the measurement to tests/recorded/overlap.json, from which the guide draws its picture.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from .conftest import TESTS, child_environment

PROGRAM = TESTS.parent / "examples" / "overlap.py"
RECORDED = TESTS / "recorded" / "overlap.json"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A measurement of now."""
    file = tmp_path_factory.mktemp("overlap") / "overlap.json"
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(file)],
        env=child_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["blocking", "queued"]
    if os.environ.get("OPENREG_RECORD"):
        RECORDED.write_text(file.read_text())
    return json.loads(file.read_text())


@pytest.fixture(params=["fresh", "recorded"])
def measured(request: pytest.FixtureRequest, fresh: dict[str, Any]) -> dict[str, Any]:
    """The measurement of now, and the one that the guide draws."""
    return fresh if request.param == "fresh" else json.loads(RECORDED.read_text())


def lane(measured: dict[str, Any], way: str, name: str) -> list[dict[str, Any]]:
    """What ran in a lane, batch by batch."""
    return sorted((span for span in measured[way]["spans"] if span["lane"] == name), key=lambda span: span["batch"])


@pytest.mark.parametrize("way", ["blocking", "queued"])
def test_every_batch_is_copied_and_then_computed_with(way: str, measured: dict[str, Any]) -> None:
    copies, kernels = lane(measured, way, "copies"), lane(measured, way, "kernels")
    assert [span["batch"] for span in copies] == [span["batch"] for span in kernels] == [0, 1, 2, 3, 4, 5]
    for copy, kernel in zip(copies, kernels, strict=True):
        assert copy["end"] - copy["start"] >= measured["copy_ms"]
        assert kernel["end"] - kernel["start"] >= measured["kernel_ms"]
        assert kernel["end"] - copy["end"] >= measured["kernel_ms"], "no kernel begins before its batch is there"
    assert measured[way]["total"] == max(span["end"] for span in measured[way]["spans"])


def test_blocking_copies_take_turns_with_the_kernels_and_hold_the_host_up(measured: dict[str, Any]) -> None:
    copies, kernels = lane(measured, "blocking", "copies"), lane(measured, "blocking", "kernels")
    for kernel, copy in zip(kernels, copies[1:], strict=False):
        assert copy["end"] - kernel["end"] >= measured["copy_ms"]
    assert lane(measured, "blocking", "host")[-1]["end"] >= kernels[-2]["end"]


def test_queued_copies_run_beside_the_kernels(measured: dict[str, Any]) -> None:
    copies, kernels = lane(measured, "queued", "copies"), lane(measured, "queued", "kernels")
    beside = [copy["start"] < kernel["end"] for kernel, copy in zip(kernels, copies[1:], strict=False)]
    assert sum(beside) >= len(beside) - 1


def test_in_the_recorded_measurement_that_takes_less_time_and_the_host_goes_on() -> None:
    """How long each takes on a busy machine is a matter of chance."""
    recorded = json.loads(RECORDED.read_text())
    assert recorded["queued"]["total"] < recorded["blocking"]["total"]
    assert lane(recorded, "queued", "host")[-1]["end"] < recorded["queued"]["total"] / 2


def test_the_recorded_measurement_says_how_it_was_made(measured: dict[str, Any]) -> None:
    assert measured["command"] == "python examples/overlap.py"
    assert 0 < measured["effective_cores"] <= measured["cores"]
