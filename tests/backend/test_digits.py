"""The example examples/digits.py: a network trains on the device as it does on the CPU."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest
import torch
from loading import load_module

from .conftest import ProgramFunction

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits.py"


@pytest.fixture(scope="module")
def digits() -> ModuleType:
    """The example as a module."""
    return load_module(EXAMPLE)


def test_the_network_reads_more_than_95_percent_of_the_held_out_digits(digits, tmp_path, capsys):
    numbers = digits.main(["--save", str(tmp_path / "numbers.json")])
    assert len(numbers["device"]) == len(numbers["cpu"]) == 6
    assert numbers["device"][-1].accuracy > 0.95
    assert numbers["device"][-1].loss < numbers["device"][0].loss / 10
    saved = json.loads((tmp_path / "numbers.json").read_text())
    assert saved["device"] == [list(epoch) for epoch in numbers["device"]]
    printed = capsys.readouterr().out
    assert "The losses agree." in printed
    assert f"{numbers['device'][-1].accuracy:.1%}" in printed
    assert numbers["profile"]["launches"] > 20 and numbers["profile"]["waits"] == 0
    assert f"launches {numbers['profile']['launches']} kernels, and the host waits 0 times." in printed


def test_device_and_host_time_are_measured_apart(digits, capsys):
    numbers = digits.main(["--epochs", "2"])
    assert len(numbers["seconds"]["device"]) == len(numbers["seconds"]["cpu"]) == 2
    for host, device in numbers["seconds"]["device"]:
        # The device starts with the host's first step and can't be done before the host has asked for the last.
        assert 0 < host < 1.01 * device
    assert "keep the host busy for" in capsys.readouterr().out


def test_the_second_device_gives_the_same_numbers_as_the_first(digits):
    if torch.openreg.device_count() < 2:
        pytest.skip("needs two devices")
    assert digits.Training("openreg:1").run(1) == digits.Training("openreg:0").run(1)


def test_a_device_in_a_process_of_its_own_gives_the_same_numbers_to_the_last_bit(program: ProgramFunction) -> None:
    code = f"""
        sys.path.insert(0, {str(EXAMPLE.parent)!r})
        import digits
        print(sim.ffi.string(sim.get("orGetDriverName")).decode(), digits.Training("openreg").run(2))
    """
    name, numbers = program(code, timeout=120, OPENREG_DRIVER="sim").splitlines()[0].split(" ", 1)
    said = program(code, timeout=120, OPENREG_DRIVER="process")
    other_name, other_numbers = said.splitlines()[0].split(" ", 1)
    assert (name, other_name) == ("sim", "process")
    assert "loss=" in numbers and numbers == other_numbers


def test_what_ran_where_is_told_apart(digits):
    numbers = digits.main(["--epochs", "1"])
    assert "aten::empty_strided" in numbers["native"]
    assert not set(numbers["native"]) & set(numbers["fallback"])
    assert all(calls > 0 for calls in numbers["fallback"].values())


def test_nothing_is_left_to_the_cpu(digits, capsys):
    assert digits.main(["--epochs", "1"])["fallback"] == {}
    assert "the CPU served nothing" in capsys.readouterr().out


def test_losses_that_differ_from_the_cpu_are_an_error(digits, monkeypatch):
    run = digits.Training.run

    def spoilt(self, epochs: int):
        history = run(self, epochs)
        off = 0.1 if self.pictures.is_openreg else 0.0
        return [epoch._replace(loss=epoch.loss + off) for epoch in history]

    monkeypatch.setattr(digits.Training, "run", spoilt)
    with pytest.raises(AssertionError, match="not close"):
        digits.main(["--epochs", "1"])
