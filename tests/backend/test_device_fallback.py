"""The fallback "device": the device computes what has no kernel, where it can; and what is said where it cannot."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from .conftest import TESTS, ProgramFunction

COMPUTES = {"OPENREG_DRIVER": "process", "OPENREG_PROCESS": f"executor=python,python={sys.executable}"}


@pytest.mark.parametrize("file", ["test_fallback.py", "device_fallback_cases.py"])
def test_on_a_device_that_computes_operators(file: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(TESTS / "backend" / file)]
    environment = os.environ | COMPUTES | {"OPENREG_TEST_FALLBACK": "device"}
    done = subprocess.run(command, env=environment, cwd=TESTS.parent, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_a_driver_that_cannot_is_named_with_what_is_missing(program: ProgramFunction) -> None:
    said = program(
        """
        torch.openreg.set_fallback("device")
        x = torch.rand(3, device="openreg")
        try:
            torch.special.airy_ai(x)
        except NotImplementedError as error:
            print(str(error).splitlines()[0])
        torch.openreg.set_fallback("cpu")
        print(torch.special.airy_ai(x).shape)
        """,
        OPENREG_DRIVER="sim",
    )
    assert said.splitlines() == [
        "openreg: 'aten::special_airy_ai.out' has no kernel for openreg, and the fallback 'device' cannot serve it: "
        "driver 'sim' has no kernel 'run_op', which computes operators by name",
        "torch.Size([3])",
    ]


def test_the_mode_is_returned_and_restored() -> None:
    assert torch.openreg.set_fallback("device") == "cpu"
    try:
        with torch.openreg.no_fallback():
            assert torch.openreg.set_fallback("device") == "device"
        assert torch.openreg.set_fallback("device") == "device"
    finally:
        torch.openreg.set_fallback("cpu")
