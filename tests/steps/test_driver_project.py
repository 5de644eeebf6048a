"""backend/driver.py: a driver alone, below our names; and the worked example, asked by the contract's tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from loading import load_module

from .vendor import VENDOR, call, git, vendors_files

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "backend"), str(ROOT / "tools")]

import driver as driver_project  # noqa: E402
import names  # noqa: E402
from levels import FOR_TWO_DEVICES, LEVELS  # noqa: E402

ENTRIES = sum(len(level.entries.split()) for level in LEVELS)  # what the doctor calls

# One project is built for many of them, by whichever comes first.
pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("driver project")]


def make(out: Path, *more: str | Path) -> subprocess.CompletedProcess[str]:
    """What the generator says."""
    line = [sys.executable, ROOT / "backend" / "driver.py", "acme", "--out", out, *more]
    return subprocess.run(list(map(str, line)), capture_output=True, text=True, check=False)


def test_a_driver_may_have_the_name_of_a_package_that_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has made a backend of that name may want its driver alone; no package is made here."""
    (tmp_path / "torch_acme").mkdir()
    (tmp_path / "torch_acme" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    done = make(tmp_path / "driver")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the vendor's library, as it was generated, and built."""
    folder = tmp_path_factory.mktemp("driver")
    done = make(folder / "acme", *vendors_files(folder))
    assert done.returncode == 0, done.stderr
    return folder / "acme"


def build(project: Path) -> Path:
    """Builds it; returns the library that its settings name."""
    call("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", "-DCMAKE_CXX_FLAGS=-Werror")
    call("cmake", "--build", project / "build")
    library = re.findall(r"^OPENREG_DRIVER=(.*)$", (project / "settings.env").read_text(), re.MULTILINE)
    assert len(library) == 1
    return Path(library[0])


def doctor(library: Path) -> str:
    """What the doctor says of a driver's entries."""
    line = [sys.executable, "-m", "torch_openreg.doctor", "--only", "entries"]
    return " ".join(call(*line, OPENREG_DRIVER=str(library), COLUMNS="999").split())


def test_the_skeleton_says_what_is_to_be_written_and_a_driver_serves_pytorch(project: Path) -> None:
    library = build(project)
    asked = f"missing entries {ENTRIES} of {ENTRIES} not implemented: GetDeviceCount, GetDeviceProperties, "
    assert asked in doctor(library)
    program = "import torch, torch_openreg; print(torch.ones(2, device='openreg') + 1)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"OPENREG_DRIVER": str(library)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "TODO: GetDeviceCount, in driver.cpp (level 'devices', from step 01 on)" in done.stderr
    shutil.copy(VENDOR / "driver.cpp", project)
    build(project)
    assert call(sys.executable, "-c", program, OPENREG_DRIVER=str(library)) == "tensor([2., 2.], device='openreg:0')\n"


def test_the_worked_example_fails_no_test_of_the_contract_and_reaches_its_level(project: Path) -> None:
    shutil.copy(VENDOR / "driver.cpp", project)
    contract: Any = load_module(ROOT / "tools" / "contract.py")
    result = contract.run(str(build(project)), ["-p", "no:xdist"])
    assert result.failures == {}
    level = contract.level_of(result)
    assert level is not None and level.name == "tensors, operators by fallback"
    assert not result.has_two_devices
    said = contract.summary([result._replace(name="acme")])
    file = ROOT / "tests" / "recorded" / "acme_contract.txt"
    text = f"$ make contract DRIVER=/tmp/acme/build/libacme_driver.so\n{said}\n"
    if os.environ.get("OPENREG_RECORD"):
        file.write_text(text)
    assert file.read_text() == text


def test_a_project_can_be_of_any_step_and_needs_no_vendor(tmp_path: Path) -> None:
    done = make(tmp_path / "acme", "--step", "07")
    assert done.stdout.startswith(f"the driver of acme, with the entries of step 07, is in {tmp_path / 'acme'}\n")
    assert (tmp_path / "acme" / "streams_and_events.cpp").exists()
    ours, theirs = (tmp_path / "acme" / "LICENSE").read_text().splitlines()[2:4]
    assert "OpenReg" in ours
    assert theirs == "Copyright (c) the acme driver authors, of what they add"
    left = {word for file in (tmp_path / "acme").glob("*.cpp") for word in names.leftovers(file.read_text())}
    header = {"OPENREG_DRIVER_VERSION", "OPENREG_MAX_ARGUMENT_BYTES", "OPENREG_MAX_POINTER_ARGS"}
    assert left <= {"openreg", "openreg_driver", *header}
    call("cmake", "-S", tmp_path / "acme", "-B", tmp_path / "build", "-DCMAKE_CXX_FLAGS=-Werror")
    call("cmake", "--build", tmp_path / "build")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--vendor-header", "none.h"], "VENDOR_HEADER and VENDOR_LIB go together; expected both or none"),
        (["--vendor-header", "none.h", "--vendor-lib", "none.so"], "VENDOR_HEADER is 'none.h', which is not a file"),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_nothing(tmp_path: Path, more: list[str], said: str) -> None:
    done = make(tmp_path / "acme", *more)
    assert done.returncode == 1 and done.stderr.startswith(f"driver: {said}")
    assert not (tmp_path / "acme").exists()


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = make(tmp_path)
    expected = "expected a new folder, or a project made by this"
    assert done.stderr == f"driver: OUT is {str(tmp_path)!r}, which is not empty; {expected}\n"


def test_a_later_step_is_a_merge_that_leaves_what_was_written(tmp_path: Path) -> None:
    out = tmp_path / "acme"
    make(out, *vendors_files(tmp_path))
    shutil.copy(VENDOR / "driver.cpp", out)
    git(out, "commit", "--quiet", "--all", "--message", "my driver")
    done = make(out, "--step", "07")
    assert done.stdout.endswith(f"is on the branch 'generated' of {out}\nnext: cd {out} && git merge generated\n")
    git(out, "merge", "--quiet", "generated")
    assert (out / "driver.cpp").read_text() == (VENDOR / "driver.cpp").read_text()
    assert "it.EventRecord = driver::eventRecord;" in (out / "table.cpp").read_text()
    assert "libacme.so" in (out / "CMakeLists.txt").read_text()  # remembered from the first time
    # The driver's own entries are there. Those of steps 06 and 07 are in the table now, each with a TODO.
    needed = ENTRIES - len(FOR_TWO_DEVICES)  # the example has one device
    asked = f"missing entries {needed - 10} of {needed} not implemented: DeviceGetStreamPriorityRange, "
    assert asked in doctor(build(out))
    assert git(out, "status", "--porcelain") == ""


def test_a_driver_and_a_backend_do_not_climb_over_each_other(tmp_path: Path) -> None:
    make(tmp_path / "acme")
    line = [sys.executable, ROOT / "backend" / "generate.py", "acme", "--out", tmp_path / "acme"]
    done = subprocess.run(list(map(str, line)), capture_output=True, text=True, check=False)
    assert "which make driver has made; expected a project made by this" in done.stderr


def test_the_library_that_it_is_linked_to_is_the_packages() -> None:
    assert driver_project.LIBRARY.is_file()
