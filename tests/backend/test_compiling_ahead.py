"""The command that compiles kernels ahead, over libraries that stand in for NVIDIA's: also for others."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from contract.cuda.stub import environment
from torch_openreg.kernels.command import chosen, parser

COMMAND = [sys.executable, "-m", "torch_openreg.kernels"]
SM_90 = ("--architecture", "sm_90")


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that has a GPU that is none; without a cache."""
    return environment(tmp_path_factory.mktemp("gpu"))


@pytest.fixture
def env(gpu: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """The same with a cache of the test's own."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("OPENREG_")}
    return others | gpu | {"XDG_CACHE_HOME": str(tmp_path / "cache")}


def compile_ahead(env: dict[str, str], *arguments: str | Path, status: int = 0) -> str:
    """Runs the command; what it has said, and on which exit status."""
    done = subprocess.run(
        [*COMMAND, *arguments], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def kept(folder: Path) -> list[str]:
    """The kernels of a folder with their architectures."""
    return sorted(path.name.rsplit("-", 1)[0] for path in folder.iterdir())


def alive(group: int, until: float) -> bool:
    """Whether a group of processes has a member, after it has had time to end."""
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.parametrize("driver", ["sim", "process"])
def test_a_driver_that_compiles_nothing_says_so(env: dict[str, str], driver: str) -> None:
    said = compile_ahead(env | {"OPENREG_DRIVER": driver}, "add.*", *SM_90)
    assert said == (
        f"the driver '{driver}' compiles no kernels: they are in its library; "
        "OPENREG_DRIVER=cuda chooses the one that compiles\n"
    )


def test_kernels_by_pattern_for_the_gpus_of_this_machine(env: dict[str, str], tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "openreg"
    assert f"2 of 2 kernels for sm_90 are in {cache}; 2 of them are new" in compile_ahead(env, "add", "neg.flo*")
    assert kept(cache) == ["add-sm_90", "neg.float-sm_90"]
    assert f"2 of 2 kernels for sm_90 are in {cache}; 0 of them are new" in compile_ahead(env, "add", "neg.float")


def test_a_program_on_another_machine_finds_them(env: dict[str, str], tmp_path: Path) -> None:
    folder, program = tmp_path / "for others", "import torch; print((-torch.ones(3, device='openreg')).tolist())"
    compile_ahead(env, "neg.float", "fill*", "copy*", *SM_90, "--cache", folder)
    assert not (tmp_path / "cache").exists()
    shutil.move(folder, tmp_path / "elsewhere")
    there = env | {"OPENREG_CUDA_NVRTC": "/no/such/libnvrtc.so", "OPENREG_CUDA_CACHE": str(tmp_path / "elsewhere")}
    done = subprocess.run([sys.executable, "-c", program], env=there, capture_output=True, text=True, check=False)
    assert done.stdout == "[-1.0, -1.0, -1.0]\n", done.stderr


def test_several_architectures_are_several_files(env: dict[str, str], tmp_path: Path) -> None:
    said = compile_ahead(env, "add", *SM_90, "--architecture", "sm_120", "--cache", tmp_path / "both")
    assert "2 of 2 kernels for sm_90, sm_120 are in" in said
    assert kept(tmp_path / "both") == ["add-sm_120", "add-sm_90"]


def test_the_list_has_what_is_compiled_and_compiles_nothing(env: dict[str, str], tmp_path: Path) -> None:
    names = compile_ahead(env, "--list").splitlines()
    assert {"add.float", "sum.double", "copy"} <= set(names)
    assert [name for name in names if name.startswith("gemm.")] == ["gemm.int64"], "cuBLAS has the others"
    assert not (tmp_path / "cache").exists()


def test_a_pattern_is_one_of_the_shells_and_must_mean_something() -> None:
    kernels = ["add", "add.bool", "add.float", "addr.float", "sum.float"]
    assert chosen(kernels, []) == kernels
    assert chosen(kernels, ["sum.*", "add.*", "add.bool"]) == ["add.bool", "add.float", "sum.float"]
    with pytest.raises(ValueError, match=r"no kernel has a name like 'ad'; --list prints the names of all 5"):
        chosen(kernels, ["sum.*", "ad"])


def test_an_architecture_has_nvidias_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert parser().parse_args(["--architecture", "sm_90", "--architecture", "sm_120"]).architecture == [90, 120]
    for name in ("hopper", "90", "sm_90a", "sm_9"):
        with pytest.raises(SystemExit, match="2"):
            parser().parse_args(["--architecture", name])
        assert f"'{name}' is no architecture; expected a name like sm_90" in capsys.readouterr().err


def test_without_a_gpu_it_asks_for_which_one(env: dict[str, str]) -> None:
    said = compile_ahead(env | {"OPENREG_CUDA_LIBRARY": "/no/such/libcuda.so.1"}, "add", status=2)
    assert "no device: NVIDIA's driver library cannot be opened: /no/such/libcuda.so.1" in said
    assert said.endswith("without a GPU, say for which one: --architecture sm_90\n")


def test_a_kernel_that_fails_is_told_at_the_end_and_stops_no_other(env: dict[str, str], tmp_path: Path) -> None:
    bad = {"OPENREG_STUB_REFUSED": '-DOPENREG_NAME="add.bool"', "OPENREG_STUB_FATAL": '-DOPENREG_NAME="add.int64"'}
    kernels = ("add.bool", "add.float", "add.int64", "neg.int64")
    said = compile_ahead(env | bad, *kernels, *SM_90, "--jobs", "1", "--cache", tmp_path / "new", status=1)
    assert said.splitlines()[-3:] == [
        f"2 of 4 kernels for sm_90 are in {tmp_path / 'new'}; 2 of them are new",
        "failed: add.bool for sm_90: 'kernels/pointwise/arithmetic.cpp' does not compile for the GPU: "
        "the stub was told to",
        "failed: add.int64 for sm_90: the process that compiled it was killed by SIGKILL",
    ]
    assert kept(tmp_path / "new") == ["add.float-sm_90", "neg.int64-sm_90"]


def test_where_nothing_compiles_the_reason_is_said_once(env: dict[str, str], tmp_path: Path) -> None:
    said = compile_ahead(env | {"OPENREG_CUDA_NVRTC": "/no/such/libnvrtc.so"}, "add.*", *SM_90, status=1)
    assert said.count("can't be compiled without NVRTC: OPENREG_CUDA_NVRTC is '/no/such/libnvrtc.so'") == 1
    assert re.search(r"\nfailed: \d+ more\n$", said)


def test_elsewhere_than_on_a_terminal_each_tenth_is_a_line(env: dict[str, str]) -> None:
    said = compile_ahead(env | {"OPENREG_CUDA_NVRTC": "/no/such/libnvrtc.so"}, "add*", *SM_90, status=1)
    lines = re.findall(r"^(\d+) of (\d+) kernels, \d+ s(, \d+ s left)?$", said, re.MULTILINE)
    assert len(lines) == 10
    assert [bool(left) for _, _, left in lines] == 9 * [True] + [False]
    assert lines[-1][0] == lines[-1][1]


def test_a_terminal_has_a_bar(env: dict[str, str]) -> None:
    ours, theirs = pty.openpty()
    with_no_compiler = env | {"OPENREG_CUDA_NVRTC": "/no/such/libnvrtc.so"}
    with subprocess.Popen([*COMMAND, "add", "neg.float", *SM_90], env=with_no_compiler, stdout=theirs):
        os.close(theirs)
        said = b""
        try:
            while piece := os.read(ours, 1 << 16):
                said += piece
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    text = said.decode()
    assert re.search(r"\r\033\[K█{15}░{15} 1 of 2 kernels, \d+ s, \d+ s left\r\033\[K█{30} 2 of 2 kernels", text)
    assert "\r\033[K0 of 2 kernels for sm_90" in text  # the bar is gone


def test_an_interrupted_run_goes_on_where_it_was(env: dict[str, str], tmp_path: Path) -> None:
    # A shell starts its background jobs with Ctrl-C ignored. If these tests are one, the command must not be another.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = tmp_path / "some"
    command = [*COMMAND, "add.[!c]*", *SM_90, "--cache", folder, "--jobs", "2"]
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True)
    until = time.monotonic() + 60
    while not (folder.exists() and list(folder.glob("*.cubin"))) and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the workers, too
    said, _ = process.communicate(timeout=30)
    assert process.returncode == 130, said
    new = len(list(folder.glob("*.cubin")))
    assert new >= 1
    assert re.search(rf"^interrupted: \d+ kernels are new in {folder}; the next run goes on from there$", said, re.M)
    assert not alive(process.pid, until), "nothing of it goes on working"
    assert re.search(
        rf"5 of 5 kernels for sm_90 are in \S+; {5 - new} of them are new", compile_ahead(env, *command[3:])
    )
