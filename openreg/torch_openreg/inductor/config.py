"""Settings of the code generator. Inductor makes them part of the keys of its cache of compiled graphs."""

import hashlib
import pathlib
import platform
import sys

import torch.utils._config_module
from torch._inductor import exc
from torch._inductor.cpu_vec_isa import pick_vec_isa


# LITERALINCLUDE START: COMPILE CACHE KEY
def _digest(*patterns: str) -> str:
    """What tells the files of the package that match from all other versions of them."""
    package = pathlib.Path(__file__).parents[1]
    files = sorted(path for pattern in patterns for path in package.glob(pattern))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


def _processor() -> str:
    """What tells a kind of processor from others: how wide its vectors are here, and all that it can do."""
    told = pathlib.Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    able = next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())
    try:
        vectors = str(pick_vec_isa())
    except exc.InvalidCxxCompiler:
        vectors = ""  # without a compiler no graph is compiled, and whoever compiles one is told so then
    return hashlib.sha256(f"{vectors} {able}".encode()).hexdigest()


# What each kernel includes: its path; and what it and the headers beside it say, by which a library is found again.
frame: str = str(pathlib.Path(__file__).parents[1] / "include" / "compiled_frame.h")
headers: str = _digest("include/*.h")
# Of all that generates. A cached graph is text that these files have made. Once they change, it must not be found.
source: str = _digest("include/*.h", "inductor/*.py")
# A graph's loops are written for vectors of one width, and -march=native is the same option on each machine. A cache
# may be that of several machines, as a home is.
processor: str = _processor()

torch.utils._config_module.install_config_module(sys.modules[__name__])
# LITERALINCLUDE END: COMPILE CACHE KEY
