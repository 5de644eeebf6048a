"""NVIDIA's compiler at run time, from PyPI: it compiles for GPUs on a machine that has none."""

from __future__ import annotations

import ctypes
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from workers import locked

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
OPENREG = ROOT / "openreg"
DEVICE_CODE = OPENREG / "driver" / "cuda" / "device_code"
PACKAGES = ("nvidia-cuda-nvrtc==13.5.37", "nvidia-cuda-cccl==13.3.5.0.6")  # the compiler, and its standard library
PLACE = ROOT / "build" / "nvrtc"


@cache
def library() -> Path:
    """Installs both at the first call, 170 MB; returns the path of the compiler's library."""
    done = PLACE / "done"
    with locked(PLACE):
        if not done.exists() or done.read_text() != str(PACKAGES):
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
            subprocess.run([*pip, "--upgrade", "--target", PLACE, *PACKAGES], check=True)
            done.write_text(str(PACKAGES))
    return PLACE / "nvidia" / "cu13" / "lib" / "libnvrtc.so.13"


def texts_of_driver() -> dict[str, str]:
    """The pieces of text that the driver puts around a kernel's source, by their names in its code."""
    text = (OPENREG / "driver" / "cuda" / "device_code.h").read_text()
    return dict(re.findall(r'(k\w+)\[\] = R"\((.*?)\)"', text, re.DOTALL))


def standard_headers() -> dict[str, str]:
    """The headers that the driver gives the compiler in place of the standard library's, by their names."""
    text = (OPENREG / "driver" / "cuda" / "device_code.h").read_text()
    names = re.findall(r'"(\w+)"', text[text.index("kStandardHeaders[]") : text.index("/// What POSIX adds")])
    form = "#pragma once\n#include <cuda/std/{}>\nnamespace std {{ using namespace cuda::std; }}\n"
    headers = {name: form.format(name) for name in names}
    headers["cmath"] += texts_of_driver()["kMath"]
    return headers


def compile_file(source: str, kernels: list[str]) -> tuple[int, str]:
    """Compiles kernels of a file for a GPU, all at once; returns how many came out of it, and the complaints."""
    lib = ctypes.CDLL(str(library()))
    headers = standard_headers()
    options = [
        "-arch=compute_90",  # to text and no further
        "-Ofc=max",  # as fast as it can: six times faster, and what it makes is run by nobody
        "-std=c++20",
        "-default-device",
        "-device-int128",
        "-D__extension__=",
        "-w",
        *(f"-I{path}" for path in (DEVICE_CODE, OPENREG, PLACE / "nvidia" / "cu13" / "include" / "cccl")),
    ]
    pieces = texts_of_driver()
    text = f'#include "{source}"\n'
    for number, kernel in enumerate(kernels):
        own = (pieces["kBehindOwn"] + pieces["kEntryPoint"]).replace("OPENREG_NAME", f'"{kernel}"')
        text += own.replace("Asked_", f"Asked{number}").replace("openreg_kernel(", f"openreg_kernel{number}(")
    program = ctypes.c_void_p()

    def texts(*given: str) -> ctypes.Array[ctypes.c_char_p]:
        return (ctypes.c_char_p * len(given))(*(it.encode() for it in given))

    def result(size: str, get: str) -> str:
        count = ctypes.c_size_t()
        getattr(lib, size)(program, ctypes.byref(count))
        buffer = ctypes.create_string_buffer(count.value)
        getattr(lib, get)(program, buffer)
        return buffer.value.decode()

    names, bodies = texts(*headers), texts(*headers.values())
    assert lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels", len(headers), bodies, names) == 0
    failed = lib.nvrtcCompileProgram(program, len(options), texts(*options))
    log = result("nvrtcGetProgramLogSize", "nvrtcGetProgramLog") if failed else ""
    code = "" if failed else result("nvrtcGetPTXSize", "nvrtcGetPTX")
    lib.nvrtcDestroyProgram(ctypes.byref(program))
    return len(re.findall(r"^(?:\.visible )?\.entry", code, re.MULTILINE)), log
