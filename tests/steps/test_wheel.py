"""What is handed to others (make wheel): complete, the same each time, and able to run where nothing is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import venv
import zipfile
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
from abi3info import DATAS, FUNCTIONS
from abi3info.models import PyVersion, Symbol
from loading import load_module

from .conftest import REPOSITORY, locked, run_folder

pytestmark = [pytest.mark.timeout(4000), pytest.mark.xdist_group("wheel")]
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
OTHERS = [need for need in PROJECT["dependency-groups"]["run"] if not need.startswith("torch==")]
MOST = 8e6  # bytes of the wheel; three times that are unpacked
LIB = "torch_openreg/lib"
# What the wheel may ask of others: PyTorch's libraries, which are there before ours, and those of each Linux.
ASKED = re.compile(
    r"lib(torch_cpu|torch_python|c10|openreg|torch_openreg)\.so|lib(c|m|mvec|dl|rt|pthread)\.so\.\d|libgcc_s\.so\.1"
    r"|libstdc\+\+\.so\.6|ld-linux-.*\.so\.\d"
)


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """tools/wheel.py, which finds its neighbours as if it were run."""
    sys.path.append(str(REPOSITORY / "tools"))
    return load_module(REPOSITORY / "tools" / "wheel.py")


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The archive and the wheel, as `make wheel` makes them. Processes of one run share them."""
    out = run_folder(tmp_path_factory) / "dist"
    with locked(out):
        if not out.exists():
            command = [sys.executable, str(REPOSITORY / "tools" / "wheel.py"), "--out", str(out)]
            subprocess.run(command, check=True)
    (archive,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return archive, wheel


@pytest.fixture(scope="session")
def installed(made: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment into which pip has installed the wheel. Its PyTorch is that of the one that runs the tests."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    venv.create(folder, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))
    theirs = Path(sysconfig.get_path("purelib"))
    (packages / "shared.pth").write_text(f"{theirs}\n")
    (packages / "scipy_openblas32").symlink_to(theirs / "scipy_openblas32")  # pip puts it beside ours
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install", "--quiet"]
    subprocess.run([*pip, "--no-index", "--no-deps", "--force-reinstall", str(made[1])], check=True)
    return packages


def said(*command: str | Path) -> str:
    """What a program prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def elf_files(packages: Path) -> list[Path]:
    """Libraries and programs of the package."""
    found = [path for path in (packages / "torch_openreg").rglob("*") if path.is_file()]
    return [path for path in found if path.open("rb").read(4) == b"\x7fELF"]


# --------------------------------------------------------------------------------------------------------- the archive


def test_the_archive_has_all_sources_and_nothing_that_was_built(made: tuple[Path, Path]) -> None:
    with tarfile.open(made[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    listed = said("git", "-C", REPOSITORY, "ls-files", "--cached", "--others", "--exclude-standard")
    sources = {name for name in listed.splitlines() if name.startswith("openreg/") and (REPOSITORY / name).is_file()}
    build = {"CMakeLists.txt", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.py"}
    assert (sources | build) - names == set()
    assert [name for name in names if name.endswith((".so", ".pyc", ".o"))] == []


def test_the_same_sources_make_the_same_archive_and_the_same_wheel_in_another_folder(
    made: tuple[Path, Path], tool: ModuleType, tmp_path: Path
) -> None:
    archive, wheel = made
    again = tool.make_archive(tmp_path)
    assert again.read_bytes() == archive.read_bytes()
    other = tool.make_wheel(tool.unpack(again, tmp_path / "a" / "folder" / "with" / "another" / "name"), tmp_path)
    assert other.name == wheel.name
    with zipfile.ZipFile(wheel) as ours, zipfile.ZipFile(other) as theirs:
        assert ours.namelist() == theirs.namelist()
        assert [name for name in ours.namelist() if ours.read(name) != theirs.read(name)] == []
    assert other.read_bytes() == wheel.read_bytes()


def test_the_archive_runs_with_each_pytorch_that_it_can_be_built_for(made: tuple[Path, Path]) -> None:
    with tarfile.open(made[0]) as archive:
        (info,) = (name for name in archive.getnames() if name.count("/") == 1 and name.endswith("/PKG-INFO"))
        said = archive.extractfile(info).read().decode()
    (taken,) = (need for need in PROJECT["build-system"]["requires"] if need.startswith("torch"))
    (needed,) = re.findall(r"^Requires-Dist: (torch\b.*)$", said, re.MULTILINE)
    assert "\nDynamic: requires-dist\n" in said.lower().replace("dynamic", "Dynamic")
    assert sorted(re.findall(r"[<>=]+[\d.]+", needed)) == sorted(re.findall(r"[<>=]+[\d.]+", taken))


# ----------------------------------------------------------------------------------------------------------- the wheel


def test_the_name_says_which_python_and_which_linux_it_is_for(made: tuple[Path, Path]) -> None:
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    machine = os.uname().machine
    release = PROJECT["project"]["version"]
    assert re.fullmatch(rf"torch_openreg-{release}-{python}-{python}-manylinux_2_\d+_{machine}\.whl", made[1].name)


def test_it_is_small_enough_to_be_handed_around(made: tuple[Path, Path]) -> None:
    assert made[1].stat().st_size < MOST


def test_it_says_what_it_needs_and_how_pytorch_finds_it(installed: Path) -> None:
    (info,) = installed.glob("torch_openreg-*.dist-info")
    needs = re.findall(r"^Requires-Dist: (.*)$", (info / "METADATA").read_text(), re.MULTILINE)
    assert needs == [f"torch=={version('torch').partition('+')[0]}", *OTHERS]
    assert (info / "entry_points.txt").read_text().split("\n")[:2] == [
        "[torch.backends]",
        "torch_openreg = torch_openreg_autoload:load",
    ]


def test_its_libraries_are_looked_for_beside_it_only(installed: Path) -> None:
    files = elf_files(installed)
    libraries = {f"lib{name}.so" for name in ("openreg", "torch_openreg", "torch_openreg_bindings", "fallback_device")}
    assert {path.name for path in files} == libraries | {"_C.abi3.so", "openreg_executor"}  # and no copy of PyTorch's
    for path in files:
        dynamic = said("readelf", "--dynamic", "--wide", path)
        places = [place for found in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic) for place in found.split(":")]
        assert [place for place in places if place.split("/")[0] != "$ORIGIN"] == [], path.name
        needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic)
        assert [name for name in needed if not ASKED.fullmatch(name)] == [], path.name


def test_no_folder_of_the_machine_that_built_it_is_named_in_it(installed: Path) -> None:
    for path in (installed / "torch_openreg").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert [place for place in (REPOSITORY, Path.home()) if f"{place}/".encode() in data] == [], path.name


def test_its_libraries_export_what_others_call_and_nothing_else(installed: Path) -> None:
    exported = {}
    for path in elf_files(installed):
        lines = [line.split() for line in said("nm", "--dynamic", "--defined-only", "--demangle", path).splitlines()]
        names = {" ".join(line[2:]) for line in lines if line[1] in "TDBR"}  # weak ones are the compiler's
        exported[path.name] = names - {"_end", "_edata", "__bss_start"}
    assert exported["_C.abi3.so"] == {"PyInit__C"}
    assert exported["libtorch_openreg_bindings.so"] == {"initOpenRegModule"}
    assert {name for name in exported["libopenreg.so"] if not re.match(r"or[A-Z]", name)} == set()
    assert {name for name in exported["libtorch_openreg.so"] if not name.startswith("openreg::")} == set()


def test_the_file_that_python_imports_uses_what_all_versions_have(installed: Path) -> None:
    lines = said("nm", "--dynamic", "--undefined-only", installed / "torch_openreg" / "_C.abi3.so").splitlines()
    used = [name for line in lines if (name := line.split()[-1]).startswith(("Py", "_Py"))]
    assert "PyErr_Format" in used
    for name in used:
        known = FUNCTIONS.get(Symbol(name)) or DATAS.get(Symbol(name))
        assert known and known.added <= PyVersion(3, 11), name


@pytest.mark.parametrize("driver", ["sim", "process"])
def test_it_runs_in_a_clean_environment_without_a_compiler(installed: Path, tmp_path: Path, driver: str) -> None:
    python = installed.parents[2] / "bin" / "python"
    code = """
import torch, torch_openreg
x = torch.arange(40000.0, device="openreg").view(200, 200).remainder(7)
y = x.cpu()
print(torch_openreg.__file__, torch.equal((x @ x).cpu(), y @ y), torch.openreg.fallbacks())
"""
    env = {"PATH": str(python.parent), "OPENREG_DRIVER": driver}
    done = subprocess.run([python, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.stdout == f"{installed / 'torch_openreg' / '__init__.py'} True {{}}\n", done.stderr
