"""The fallback "device": the device computes what has no kernel, where it can; and what is said where it cannot."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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


def test_its_library_is_loaded_when_the_mode_is_asked_for(program: ProgramFunction) -> None:
    said = program("""
        loaded = lambda: "libfallback_device.so" in open("/proc/self/maps").read()
        before = loaded()
        torch.openreg.set_fallback("raise")
        print(before, loaded(), torch.openreg.set_fallback("device"), loaded())
    """)
    assert said.split() == ["False", "False", "raise", "True"]


def test_a_mode_without_its_library_is_refused_with_the_modes_there_are(
    program: ProgramFunction, tmp_path: Path
) -> None:
    library = tmp_path / "lib" / "libfallback_device.so"
    library.parent.mkdir()
    library.with_name("libfallback_broken.so").write_text("no library")
    said = program(f"""
        torch_openreg._C.__file__ = {str(tmp_path / "_C.so")!r}
        for mode in ("device", "broken"):
            try:
                torch.openreg.set_fallback(mode)
            except (OSError, ValueError) as error:
                print(f"{{type(error).__name__}}: {{error}}")
        print(torch.openreg.set_fallback("raise"))
    """)
    missing, broken, mode = said.splitlines()
    assert missing == "ValueError: " + (
        "set_fallback: argument 'mode' is 'device'; expected one of 'cpu', 'raise', or a mode with a library "
        f"of its own, {library}"
    )
    assert broken == f"OSError: Could not load this library: {library.with_name('libfallback_broken.so')}"
    assert mode == "cpu"


def test_the_mode_is_returned_and_restored() -> None:
    assert torch.openreg.set_fallback("device") == "cpu"
    try:
        with torch.openreg.no_fallback():
            assert torch.openreg.set_fallback("device") == "device"
        assert torch.openreg.set_fallback("device") == "device"
    finally:
        torch.openreg.set_fallback("cpu")
