"""A driver that lacks entries: importing works, and what needs an entry says which."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import SITE, ProgramFunction, child_environment

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = SITE / "torch_openreg" / "lib" / "libopenreg.so"

# What a program does, and the entry it needs first, on a driver without any.
NEED_DEVICES = [
    "torch.empty(2, device='openreg')",
    "torch.zeros(2).to('openreg')",
    "torch.openreg.init()",
    "torch.openreg.synchronize(0)",
    "torch.openreg.current_device()",
    "torch.openreg.set_device(0)",
    "torch.openreg.get_device_properties(0)",
    "torch.openreg.mem_get_info()",
    "torch.openreg.memory_allocated()",
    "torch.openreg.get_rng_state()",
    "torch.Stream('openreg')",
    "torch.Event('openreg').record()",
    "torch.openreg.manual_seed(0)",
]
# The same on the toy driver of the guide, which has devices, memory and copies.
NEED_MORE = {
    "torch.zeros(2).pin_memory()": "orMallocHost",
    "torch.zeros(2).to('openreg').to('cpu', non_blocking=True)": "orMallocHost",
    "torch.Stream('openreg')": "orDeviceGetStreamPriorityRange",
    "torch.Event('openreg', enable_timing=True).record()": "orEventCreateWithFlags",
    "torch.openreg.mem_get_info()": "orMemGetInfo",
}
NEED_OPTIONAL = {
    "torch.openreg.reset_device(0)": "orDeviceReset (optional: devices that are reset, step 01)",
    "__import__('multiprocessing.reduction').reduction.ForkingPickler.dumps(torch.zeros(2).to('openreg'))": (
        "orIpcGetMemHandle (optional: memory shared between processes, step 13)"
    ),
}
PRINT_THE_ERROR = """
try:
    {code}
except NotImplementedError as error:
    print("NotImplementedError:", error)
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The toy driver, built against the library of the package under test."""
    folder = tmp_path_factory.mktemp("toy")
    command = [sys.executable, str(ROOT / "tools" / "toy_driver.py"), str(folder)]
    done = subprocess.run(
        command, env=os.environ | {"OPENREG_LIBRARY": str(LIBRARY)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_on_an_empty_table_the_package_imports_and_there_is_no_device() -> None:
    code = """
import torch, torch_openreg
assert torch.openreg.is_available() is False
assert torch.openreg.device_count() == 0
assert torch.accelerator.is_available() is False
assert torch.accelerator.device_count() == 0
torch.manual_seed(0)
assert torch.ones(2).sum().item() == 2
assert not torch.openreg.is_initialized()
"""
    env = child_environment(OPENREG_DRIVER="fake")
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    warning, _ = done.stderr.splitlines()  # and the line of Python that asked
    assert "UserWarning: openreg: no device is available: not implemented: orGetDeviceCount" in warning


@pytest.mark.parametrize("code", NEED_DEVICES)
def test_on_an_empty_table_each_call_names_the_first_entry_it_needs(program: ProgramFunction, code: str) -> None:
    said = program(PRINT_THE_ERROR.format(code=code), OPENREG_DRIVER="fake")
    assert said == (
        "NotImplementedError: openreg: not implemented: orGetDeviceCount (level 'devices', from step 01 on) "
        "[orErrorNotImplemented]\n"
    )


@pytest.mark.parametrize("code", NEED_MORE)
def test_on_the_toy_driver_each_call_names_the_entry_that_is_missing(
    program: ProgramFunction, toy: str, code: str
) -> None:
    said = program(PRINT_THE_ERROR.format(code=code), OPENREG_DRIVER=toy)
    assert said.startswith("NotImplementedError: ")
    assert f"not implemented: {NEED_MORE[code]} (level '" in said


@pytest.mark.parametrize("code", NEED_OPTIONAL)
def test_what_one_call_alone_needs_is_called_optional(program: ProgramFunction, toy: str, code: str) -> None:
    said = program(PRINT_THE_ERROR.format(code=code), OPENREG_DRIVER=toy)
    assert said == f"NotImplementedError: openreg: not implemented: {NEED_OPTIONAL[code]} [orErrorNotImplemented]\n"


def test_where_fallbacks_are_refused_an_operator_says_what_the_driver_lacks(program: ProgramFunction, toy: str) -> None:
    refuse = "with torch.openreg.no_fallback(): "
    said = program(PRINT_THE_ERROR.format(code=f"{refuse}torch.zeros(2).to('openreg') + 1"), OPENREG_DRIVER=toy)
    assert said == "NotImplementedError: \"add\" not implemented for 'Float': not implemented: orModuleLoad\n"
    said = program(PRINT_THE_ERROR.format(code=f"{refuse}torch.ones(2, device='openreg')"), OPENREG_DRIVER=toy)
    assert "openreg: the driver of device 0 has no kernel 'fill': not implemented: orModuleLoad" in said
    code = f"x = torch.zeros(2).to('openreg')\n    {refuse}torch._foreach_add_([x], 1)"
    said = program(PRINT_THE_ERROR.format(code=code), OPENREG_DRIVER=toy)
    assert said == "NotImplementedError: \"add\" not implemented for 'Float': not implemented: orModuleLoad\n"


def test_without_kernels_attention_takes_the_math_path_and_the_cpu_computes(program: ProgramFunction, toy: str) -> None:
    program(
        """
        torch.manual_seed(0)
        heads = torch.randn(1, 2, 3, 4)
        x = heads.to("openreg")
        assert torch._fused_sdp_choice(x, x, x) == 0
        attention = torch.nn.functional.scaled_dot_product_attention
        torch.testing.assert_close(attention(x, x, x).cpu(), attention(heads, heads, heads))
        assert torch.ones(2, device="openreg").tolist() == [1, 1]
        torch._foreach_add_([x], 1)
        torch.testing.assert_close(x.cpu(), heads + 1)
        assert torch.openreg.fallbacks()
        """,
        OPENREG_DRIVER=toy,
    )


def test_what_a_driver_lacks_that_has_nothing_to_wait_for_is_done_without(program: ProgramFunction, toy: str) -> None:
    program(
        """
        x = torch.arange(6.0).view(2, 3)
        assert torch.equal(x.to("openreg", non_blocking=True).cpu(), x)  # without pinned memory, a blocking copy
        y = x.to("openreg:0").requires_grad_()
        for here in (y, y.t(), y[:, ::2], y.detach().double()):
            assert torch.equal(here.to("openreg:1").cpu(), here.cpu())  # without peer copies, through the host
        y.to("openreg:1").square().sum().backward()  # without events, the host waits where one would be recorded
        torch.testing.assert_close(y.grad.cpu(), 2 * x)
        event = torch.Event("openreg")
        event.record()
        assert event.query()
        event.synchronize()
        event.wait()
        before = torch.openreg.memory_allocated()
        y.record_stream(torch.openreg.default_stream(1))  # whose work the host waits for when y is freed
        del y, here
        assert torch.openreg.memory_allocated() < before
        batch, = torch.utils.data.DataLoader(torch.arange(4), batch_size=4)
        assert batch.to("openreg", non_blocking=True).tolist() == [0, 1, 2, 3]
        """,
        OPENREG_DRIVER=toy,
    )


def test_tensors_travel_on_the_toy_driver(program: ProgramFunction, toy: str) -> None:
    program(
        """
        x = torch.arange(6.0).view(2, 3)
        for device in ("openreg:0", "openreg:1"):
            y = x.to(device)
            assert y.device == torch.device(device)
            assert torch.equal(y.cpu(), x)
            assert torch.equal(y.t().contiguous().cpu(), x.t())
            assert torch.equal(y.double().cpu(), x.double())
            assert y[1, 2].item() == 5
        assert torch.openreg.get_device_properties(1).name == "Toy"
        torch.openreg.synchronize()
        """,
        OPENREG_DRIVER=toy,
    )


def test_a_driver_of_a_newer_contract_is_no_device_and_its_refusal_is_the_error(
    program: ProgramFunction, tmp_path: Path, toy: str
) -> None:
    source = ROOT / "tests" / "contract" / "drivers" / "some.c"
    newer = tmp_path / "newer.so"
    options = ["-shared", "-fPIC", f'-DOTHER="{toy}"', "-DENTRIES=FILL(GetDeviceCount)", "-DVERSION=99"]
    include = ROOT / "openreg" / "driver" / "include"
    subprocess.run(["cc", *options, f"-I{include}", str(source), "-o", str(newer)], check=True)
    said = program(
        """
        assert not torch.openreg.is_available()
        try:
            torch.empty(1, device="openreg")
        except RuntimeError as error:
            print(error)
        """,
        OPENREG_DRIVER=str(newer),
    )
    assert f"the driver '{newer}' has version 99 of the contract; expected 1: it is newer than this library" in said
