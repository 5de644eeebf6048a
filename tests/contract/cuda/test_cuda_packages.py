"""NVIDIA's libraries where pip puts them: beside our package, and nowhere on the loader's path."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ..conftest import BUILD, ChildFunction, run, tool
from .stub import build_cublas, build_libcuda, build_nvrtc

# A program that says where the libraries are that it has opened.
ASKS = """
from pathlib import Path
module, kernel = ffi.new("orModule_t*"), ffi.new("orKernel_t*")
api.ok(lib.orModuleLoad(module, b"openreg"))
for name in (b"add", b"gemm.float"):
    api.ok(lib.orModuleGetKernel(kernel, module[0], name))
print(*{line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/nvidia/" in line})
"""


@pytest.fixture
def site(tmp_path: Path, library: Path) -> Path:
    """A folder of packages that has ours."""
    where = tmp_path / "site-packages"
    assert library.parent == BUILD
    run([tool("cmake"), "--install", BUILD, "--component", "driver", "--prefix", where / "torch_openreg"])
    return where


@pytest.fixture
def chosen(tmp_path: Path, site: Path) -> dict[str, str]:
    """The environment of a process that uses it."""
    return {
        "OPENREG_DRIVER": "cuda",
        "OPENREG_CUDA_LIBRARY": str(build_libcuda(tmp_path)),
        "OPENREG_TEST_LIBRARY": str(site / "torch_openreg" / "lib" / "libopenreg.so"),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path),
    }


@pytest.mark.parametrize(
    ("cccl", "nvrtc", "cublas"),
    [
        ("cu13/include/cccl", "cu13/lib/libnvrtc.so.13", "cu13/lib/libcublas.so.13"),
        ("cuda_cccl/include", "cuda_nvrtc/lib/libnvrtc.so.12", "cublas/lib/libcublas.so.12"),
    ],
    ids=["CUDA 13", "CUDA 12"],
)
def test_nvidias_packages_are_found_beside_ours(
    cccl: str, nvrtc: str, cublas: str, site: Path, chosen: dict[str, str], run_child: ChildFunction, tmp_path: Path
) -> None:
    """As `pip install` leaves them, with no variable that says where."""
    nvidia = site / "nvidia"
    made = {nvrtc: build_nvrtc(tmp_path / "made"), cublas: build_cublas(tmp_path)}
    for place, file in made.items():
        (nvidia / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, nvidia / place)
    shutil.copytree(tmp_path / "made" / "include" / "cccl", nvidia / cccl)
    empty = {"OPENREG_CUDA_NVRTC": "", "OPENREG_CUDA_CUBLAS": ""}  # which is as good as none
    opened = run_child(ASKS, env=chosen | empty).stdout.split()
    assert sorted(opened) == sorted(str(nvidia / place) for place in made)


def test_without_them_the_refusal_says_what_was_looked_for(
    site: Path, chosen: dict[str, str], run_child: ChildFunction
) -> None:
    """What this machine may have elsewhere is hidden by files of these names that are no libraries."""
    for name in ("libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "libcublas.so.13", "libcublas.so.12"):
        hidden = site / "nvidia" / "cu13" / "lib" / name
        hidden.parent.mkdir(parents=True, exist_ok=True)
        hidden.touch()
    blas = "kernel 'gemm.float' is cuBLAS's, and libcublas.so.13 or libcublas.so.12 cannot be opened"
    compiler = (
        "'kernels/pointwise/add.cpp' can't be compiled without NVRTC: "
        "libnvrtc.so.13 or libnvrtc.so.12 or libnvrtc.so cannot be opened"
    )
    run_child(
        f"""
        module, kernel = ffi.new("orModule_t*"), ffi.new("orKernel_t*")
        api.ok(lib.orModuleLoad(module, b"openreg"))
        for name, words in ((b"gemm.float", {blas!r}), (b"add", {compiler!r})):
            api.check(lib.orModuleGetKernel(kernel, module[0], name), "orErrorNotFound", words)
        """,
        env=chosen,
    )
