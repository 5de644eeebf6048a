"""Kernels compiled for a GPU by NVIDIA's own compiler, on a machine without one."""

from __future__ import annotations

import os
import re
from multiprocessing import get_context
from pathlib import Path

import pytest

from ..conftest import ChildFunction
from . import nvrtc
from .stub import build_libcuda, build_nvrtc


@pytest.fixture(scope="module")
def libcuda(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What stands for NVIDIA's driver library."""
    return build_libcuda(tmp_path_factory.mktemp("cuda"))


def kernels_by_file(libcuda: Path, run_child: ChildFunction, folder: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Asks the driver for each kernel of the library, with a compiler that only notes what it is given.

    Returns:
        The kernels of each file, and the compiler's options.
    """
    run_child(
        """
        import ctypes, os
        class Entry(ctypes.Structure):
            _fields_ = [("name", ctypes.c_char_p), ("function", ctypes.c_void_p), ("size", ctypes.c_size_t)]
        count = ctypes.c_size_t()
        list_kernels = ctypes.CDLL(api.path).orDriverKernels
        list_kernels.restype = ctypes.POINTER(Entry)
        entries = list_kernels(ctypes.byref(count))
        module, kernel = ffi.new("orModule_t*"), ffi.new("orKernel_t*")
        api.ok(lib.orModuleLoad(module, b"openreg"))
        for i in range(count.value):
            lib.orModuleGetKernel(kernel, module[0], entries[i].name)
        """,
        env={
            "OPENREG_DRIVER": "cuda",
            "OPENREG_CUDA_LIBRARY": str(libcuda),
            "OPENREG_CUDA_NVRTC": str(build_nvrtc(folder)),
            "OPENREG_STUB_ASKED": str(folder),
            "XDG_CACHE_HOME": str(folder),
        },
    )
    found: dict[str, tuple[list[str], list[str]]] = {}
    for line in (folder / "asked.txt").read_text().splitlines():
        file, name, *options = line.split("\t")
        kernels, _ = found.setdefault(file, ([], options))
        kernels.append(name.removeprefix('-DOPENREG_NAME="').removesuffix('"'))
    return found


@pytest.mark.timeout(300)  # two processors' work for forty seconds, if nobody else wants them
def test_every_kernel_that_says_so_compiles_for_a_gpu(libcuda: Path, run_child: ChildFunction, tmp_path: Path) -> None:
    """A kernel says so by how it is registered: as a functor, a reduction, a loop."""
    jobs = kernels_by_file(libcuda, run_child, tmp_path)
    assert {"kernels/pointwise/arithmetic.cpp", "kernels/reduction/sum.cpp", "kernels/copy/copy.cpp"} <= set(jobs)
    nvrtc.library()
    with get_context("spawn").Pool(os.cpu_count()) as pool:
        results = pool.starmap(nvrtc.compile_file, [(tmp_path, file, *job) for file, job in jobs.items()], chunksize=1)
    assert not {file: log[:2000] for file, (_, log) in zip(jobs, results, strict=True) if log}
    assert {file: count for file, (count, _) in zip(jobs, results, strict=True)} == {
        file: len(kernels) for file, (kernels, _) in jobs.items()
    }


def test_the_driver_makes_machine_code_of_the_kernel_that_is_asked_for(
    libcuda: Path, run_child: ChildFunction, tmp_path: Path
) -> None:
    """With options, headers and a standard library that it finds itself; once, and then from the cache."""
    env = {
        "OPENREG_DRIVER": "cuda",
        "OPENREG_CUDA_LIBRARY": str(libcuda),
        "OPENREG_CUDA_NVRTC": str(nvrtc.library()),
        "XDG_CACHE_HOME": str(tmp_path),
    }
    ask = """
        module, kernel = ffi.new("orModule_t*"), ffi.new("orKernel_t*")
        api.ok(lib.orModuleLoad(module, b"openreg"))
        for name in (b"add.float", b"foreach_mul.float", b"sum.double", b"uniform.float", b"copy"):
            api.ok(lib.orModuleGetKernel(kernel, module[0], name))
        error = lib.orModuleGetKernel(kernel, module[0], b"margin_loss.float")
        api.check(error, "orErrorNotFound", "argument 'name' is 'margin_loss.float'; expected a kernel of the module")
        """
    run_child(ask, env=env, timeout=120)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.cubin")}
    assert sorted(path.name.split("-")[0] for path in kept) == [
        "add.float",
        "copy",
        "foreach_mul.float",
        "sum.double",
        "uniform.float",
    ]
    assert all(path.read_bytes()[:4] == b"\x7fELF" for path in kept)
    run_child(ask, env=env)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.cubin")} == kept


def test_kernels_of_another_module_compile(libcuda: Path, run_child: ChildFunction, tmp_path: Path) -> None:
    """Those of the contract's own tests, which are one file that needs no standard library."""
    probe = Path(__file__).parents[1] / "kernels" / "probe.cu"
    names = re.findall(r"^OPENREG_KERNEL\((\w+),", probe.read_text(), re.MULTILINE)
    assert "append" in names
    run_child(
        f"""
        module, kernel = ffi.new("orModule_t*"), ffi.new("orKernel_t*")
        api.ok(lib.orModuleLoad(module, {str(probe)!r}.encode()))
        for name in {names!r}:
            api.ok(lib.orModuleGetKernel(kernel, module[0], name.encode()))
        """,
        env={
            "OPENREG_DRIVER": "cuda",
            "OPENREG_CUDA_LIBRARY": str(libcuda),
            "OPENREG_CUDA_NVRTC": str(nvrtc.library()),
            "XDG_CACHE_HOME": str(tmp_path),
        },
        timeout=120,
    )
