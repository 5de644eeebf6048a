"""Whether there is a GPU, what it is, and where NVIDIA's libraries are."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from .limited import ROOT, run

PACKAGED = ROOT / "openreg" / "torch_openreg" / "lib" / "libopenreg.so"
BUILT = ROOT / "build" / "driver" / "libopenreg.so"
# Where the driver looks for CCCL, from the folder of NVRTC.
CCCL = ("../include/cccl", "../include", "../../cuda_cccl/include")
# Why there is no device, as the driver says it, or the first one's name. In a process of its own: CUDA starts in it.
PROBE = """
import ctypes, json, sys
lib = ctypes.CDLL(sys.argv[1])
lib.orGetLastErrorMessage.restype = ctypes.c_char_p
count, properties = ctypes.c_int(), ctypes.create_string_buffer(4096)
failed = lib.orGetDeviceCount(ctypes.byref(count)) or lib.orGetDeviceProperties(properties, 0)
why = lib.orGetLastErrorMessage().decode(errors="replace") if failed or not count.value else ""
print(json.dumps({"why": why, "name": properties.value.decode(errors="replace")}))
"""


def library() -> Path:
    """The driver's library: the package's, or else that of the contract's tests, built if need be.

    Raises:
        RuntimeError: If it does not build.
    """
    if chosen := os.environ.get("OPENREG_LIBRARY"):
        return Path(chosen)
    if PACKAGED.exists():
        return PACKAGED
    python = f"-DPython_EXECUTABLE={sys.executable}"
    source = ROOT / "openreg" / "driver"
    for command in (
        ["cmake", "-S", source, "-B", BUILT.parent, "-GNinja", "-DCMAKE_BUILD_TYPE=Release", python],
        ["cmake", "--build", BUILT.parent],
    ):
        ended = run(command, 1200)
        if ended.status != 0:
            raise RuntimeError(f"the driver does not build\n{ended.last_words}")
    return BUILT


def no_device(lib: Path) -> tuple[str, str]:
    """Why there is no device, in the driver's words, and the first one's name. One of the two is empty."""
    ended = run([sys.executable, "-c", PROBE, lib], 60)
    found = ended.lines()
    if not found:
        return f"the driver did not answer: {ended.last_words}", ""
    why = found[-1]["why"]
    return (why.partition("no device: ")[2] or why), "" if why else found[-1]["name"]


def packages() -> list[Path]:
    """Folders in which packages of Python's are."""
    return [Path(folder) for folder in sys.path if folder.endswith("-packages")]


def nvidia_folders() -> list[Path]:
    """Folders that may have NVIDIA's libraries: those of packages, of the tests' own NVRTC, and of toolkits."""
    roots = [ROOT / "build" / "nvrtc", *packages()]
    found = [folder for root in roots for folder in sorted(root.glob("nvidia/*/lib"))]
    nvcc = shutil.which("nvcc")
    toolkits = [os.environ.get("CUDA_HOME"), nvcc and str(Path(nvcc).resolve().parents[1]), "/usr/local/cuda"]
    return found + [Path(it) / "lib64" for it in toolkits if it and (Path(it) / "lib64").is_dir()]


def has_cccl(nvrtc: Path) -> bool:
    """Whether the driver will find the standard library for GPUs beside an NVRTC."""
    folder = nvrtc.resolve().parent
    return any((folder / place / "cuda" / "std" / "type_traits").exists() for place in CCCL)


def choose_libraries(folders: list[Path]) -> dict[str, str]:
    """Variables that name NVRTC, with CCCL beside it, and cuBLAS. What the environment names already stays."""
    chosen = {}
    for variable, pattern in (
        ("OPENREG_CUDA_NVRTC", "libnvrtc.so.1[23]"),
        ("OPENREG_CUDA_CUBLAS", "libcublas.so.1[23]"),
    ):
        found = [path for folder in folders for path in sorted(folder.glob(pattern), reverse=True)]
        if variable.endswith("NVRTC"):
            found = [path for path in found if has_cccl(path)]
        if variable in os.environ:
            chosen[variable] = os.environ[variable]
        elif found:
            chosen[variable] = str(found[0])
    return chosen


def version_of_nvrtc(path: str) -> str:
    """The version that a compiler says it has, or that it can't be asked."""
    try:
        major, minor = ctypes.c_int(), ctypes.c_int()
        ctypes.CDLL(path).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    except (OSError, AttributeError):
        return "not found"
    return f"{major.value}.{minor.value}"


def version_of_cublas(path: str) -> str:
    """The same of cuBLAS."""
    try:
        lib, part, parts = ctypes.CDLL(path), ctypes.c_int(), []
        for which in range(3):  # major, minor, patch
            lib.cublasGetProperty(which, ctypes.byref(part))
            parts.append(str(part.value))
    except (OSError, AttributeError):
        return "not found"
    return ".".join(parts)


def driver_version() -> str:
    """The version of NVIDIA's driver, as its own tool says it."""
    tool = shutil.which("nvidia-smi")
    if not tool:
        return "unknown"
    query = [tool, "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[0].strip() if done.returncode == 0 else "unknown"


def describe(name: str, libraries: dict[str, str]) -> dict[str, str]:
    """What is recorded of the machine."""
    return {
        "GPU": name,
        "driver": driver_version(),
        "PyTorch": metadata.version("torch") if find_spec("torch") else "none",
        "NVRTC": version_of_nvrtc(libraries.get("OPENREG_CUDA_NVRTC", "libnvrtc.so.13")),
        "cuBLAS": version_of_cublas(libraries.get("OPENREG_CUDA_CUBLAS", "libcublas.so.13")),
        "Python": platform.python_version(),
        "cores": str(os.cpu_count()),
    }


def environment(libraries: dict[str, str]) -> dict[str, str]:
    """What chooses the driver, with two devices on one GPU, too."""
    return {"OPENREG_DRIVER": "cuda", "OPENREG_CUDA": os.environ.get("OPENREG_CUDA", "devices=2"), **libraries}
