"""NVIDIA's compiler at run time, from PyPI: it compiles for GPUs on a machine that has none."""

from __future__ import annotations

import ctypes
import hashlib
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from remembered import remember, stamp
from workers import locked

ROOT = Path(__file__).resolve().parents[3]
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


def compile_file(given: Path, source: str, kernels: list[str], options: list[str]) -> tuple[int, str]:
    """Compiles kernels of a file for a GPU, all at once. How many there were is remembered until a word of it changes.

    Args:
        given: what the driver has given a compiler: the folder `headers`, and the text that stands behind a source.
        source: the file, as it is included.
        kernels: their names.
        options: the driver's own.

    Returns:
        How many kernels came out of it, and the complaints.
    """
    lib = ctypes.CDLL(str(library()))
    words = [
        *(it for it in options if not it.startswith(("-arch", "-I", "-DOPENREG_NAME"))),
        "-arch=compute_90",  # to text and no further
        "-Ofc=max",  # as fast as it can: six times faster, and what it makes is run by nobody
        *(f"-I{path}" for path in (given / "headers", PLACE / "nvidia" / "cu13" / "include" / "cccl")),
    ]
    text, behind = f'#include "{source}"\n', (given / "behind.cpp").read_text()
    for number, kernel in enumerate(kernels):
        own = behind.replace("OPENREG_NAME", f'"{kernel}"')
        text += own.replace("Asked_", f"Asked{number}").replace("openreg_kernel(", f"openreg_kernel{number}(")
    headers = hashlib.sha256()
    for header in sorted(it for it in (given / "headers").rglob("*") if it.is_file()):
        headers.update(f"\0{header.relative_to(given)}\0{header.read_text()}".encode())
    asked = [text, headers.hexdigest(), *(it for it in words if not it.startswith("-I")), *PACKAGES]
    if (known := stamp("gpu", asked, [])).is_file():
        return int(known.read_text()), ""
    program = ctypes.c_void_p()

    def result(size: str, get: str) -> str:
        count = ctypes.c_size_t()
        getattr(lib, size)(program, ctypes.byref(count))
        buffer = ctypes.create_string_buffer(count.value)
        getattr(lib, get)(program, buffer)
        return buffer.value.decode()

    assert lib.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels", 0, None, None) == 0
    arguments = (ctypes.c_char_p * len(words))(*(it.encode() for it in words))
    failed = lib.nvrtcCompileProgram(program, len(words), arguments)
    log = result("nvrtcGetProgramLogSize", "nvrtcGetProgramLog") if failed else ""
    code = "" if failed else result("nvrtcGetPTXSize", "nvrtcGetPTX")
    lib.nvrtcDestroyProgram(ctypes.byref(program))
    count = len(re.findall(r"^(?:\.visible )?\.entry", code, re.MULTILINE))
    if not failed:
        remember(known, str(count))
    return count, log
