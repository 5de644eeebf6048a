"""A GPU that is none, to test the driver "cuda" with: what stands in for NVIDIA's libraries."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = ("-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fvisibility=hidden")


def build_libcuda(folder: Path) -> Path:
    """Builds what stands for libcuda; returns its path."""
    out = folder / "libcuda.so.1"
    command = [os.environ.get("CC", "cc"), "-std=gnu11", "-D_GNU_SOURCE", *FLAGS, HERE / "stub.c", "-o", out, "-ldl"]
    subprocess.run(command, check=True)
    return out


def build_nvrtc(folder: Path) -> Path:
    """Builds what stands for NVRTC, in a folder that looks as if the standard library for GPUs were there."""
    library = folder / "lib" / "libnvrtc.so"
    marker = folder / "include" / "cccl" / "cuda" / "std" / "type_traits"
    for path in (library, marker):
        path.parent.mkdir(parents=True, exist_ok=True)
    marker.touch()
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-std=c++20", *FLAGS, HERE / "host_nvrtc.cpp", "-o", library], check=True)
    return library


def build_cublas(folder: Path) -> Path:
    """Builds what stands for cuBLAS; returns its path."""
    out = folder / "libcublas.so"
    compiler = os.environ.get("CXX", "c++")
    subprocess.run([compiler, "-std=c++20", *FLAGS, HERE / "host_cublas.cpp", "-o", out], check=True)
    return out


def compiler(cache: str | None) -> dict[str, str]:
    """How kernels are compiled: a run finds in the compiler cache, if there is one, what another has compiled."""
    command = os.environ.get("CXX", "c++")
    if not cache:
        return {"OPENREG_STUB_CXX": command}
    return {
        "OPENREG_STUB_CXX": f"{cache} {command}",
        "CCACHE_DIR": subprocess.check_output([cache, "--get-config", "cache_dir"], text=True).strip(),
        "CCACHE_SLOPPINESS": "include_file_ctime,include_file_mtime",  # the headers are written only then
    }


def environment(folder: Path) -> dict[str, str]:
    """Builds all three; returns what makes a process take them for a GPU. What is compiled stays in the folder."""
    return compiler(shutil.which("ccache")) | {
        "OPENREG_DRIVER": "cuda",
        "OPENREG_CUDA": "devices=2",
        "OPENREG_CUDA_LIBRARY": str(build_libcuda(folder)),
        "OPENREG_CUDA_NVRTC": str(build_nvrtc(folder)),
        "OPENREG_CUDA_CUBLAS": str(build_cublas(folder)),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TMPDIR": str(folder),
    }
