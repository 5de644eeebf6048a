"""What the chapter of the isolated device says of errors, as a program with PyTorch meets them."""

from __future__ import annotations

import shlex
import sys
import textwrap

from .conftest import ROOT
from .test_extras import run

START = """
import ctypes, os, re, signal, torch, torch_openreg
from pathlib import Path
driver = ctypes.CDLL(str(Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"))
def raises(text, call):
    try:
        call()
    except Exception as caught:
        assert text in str(caught), str(caught)
        return str(caught)
    else:
        raise AssertionError(f"no error; expected {text}")
def children():
    return [int(pid) for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()]
"""


def on_process(code: str, settings: str = "deadline=10s") -> None:
    """Runs code in a process of its own with this driver."""
    command = [f"OPENREG_PROCESS={settings}", "OPENREG_DRIVER=process", sys.executable, "-c"]
    status, output = run(shlex.join([*command, START + textwrap.dedent(code)]), ROOT)
    assert status == 0, output


def test_a_device_that_hangs_is_named_with_the_request_that_it_owes() -> None:
    on_process(
        r"""
        x = torch.ones(4).to("openreg:1").add_(1)
        (pid,) = children()
        os.kill(pid, signal.SIGSTOP)
        x.add_(1)
        said = raises("has not answered", lambda: torch.openreg.synchronize(1))
        number = re.search(r"request (\d+)", said)[1]
        assert said.startswith(
            f"openreg: orDeviceSynchronize: device 1 was lost: its executor (process {pid}) has not answered request "
            f"{number} (Ping) within its deadline of 0.3 s; expected it to answer until "
            "orDeviceReset [orErrorTimedOut]")
        raises(f"device 1 was lost: its executor (process {pid})", lambda: x.cpu())
        """,
        "deadline=300ms",
    )


def test_pytorchs_side_does_not_survive_a_reset() -> None:
    on_process("""
        x = torch.ones(4).to("openreg:1") + 1
        del x
        torch.openreg.empty_cache()
        stream = torch.openreg.default_stream(1).native_handle
        assert driver.orDeviceReset(1) == 0
        text = (f"openreg: orMemcpyWithStream: argument 'stream' is {stream:#x}, which was destroyed, or made before "
                "its device was reset; expected a stream [orErrorInvalidHandle]")
        raises(text, lambda: torch.ones(4).to("openreg:1") + 1)
        assert (torch.ones(4).to("openreg:0") + 1).tolist() == [2.0] * 4
    """)


def test_a_program_that_is_not_there_is_named() -> None:
    on_process(
        """
        assert torch.openreg.device_count() == 2
        text = ("openreg: orMalloc: device 0 cannot be used: its executor '/no/such/program' cannot be started: "
                "No such file or directory [orErrorDriver]")
        raises(text, lambda: torch.ones(4).to("openreg"))
        """,
        "executor=/no/such/program",
    )


def test_the_host_has_no_bytes_of_the_device_and_the_device_no_pytorch() -> None:
    on_process("""
        x = torch.arange(4.0).to("openreg")
        (pid,) = children()
        assert "libtorch" not in Path(f"/proc/{pid}/maps").read_text()
        lines = Path("/proc/self/maps").read_text().splitlines()
        ranges = [(*(int(end, 16) for end in line.split()[0].split("-")), line.split()[1]) for line in lines]
        assert [rights for low, high, rights in ranges if low <= x.data_ptr() < high] == ["---p"]
    """)
