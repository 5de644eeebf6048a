"""Settings of the code generator. Inductor makes them part of the keys of its cache of compiled graphs."""

import hashlib
import pathlib
import sys

import torch.utils._config_module


# LITERALINCLUDE START: COMPILE CACHE KEY
def _digest(*patterns: str) -> str:
    """What tells the files of the package that match from all other versions of them."""
    package = pathlib.Path(__file__).parents[1]
    files = sorted(path for pattern in patterns for path in package.glob(pattern))
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


# What each kernel includes: its path; and what it and the headers beside it say, by which a library is found again.
frame: str = str(pathlib.Path(__file__).parents[1] / "include" / "compiled_frame.h")
headers: str = _digest("include/*.h")
# Of all that generates. A cached graph is text that these files have made. Once they change, it must not be found.
source: str = _digest("include/*.h", "inductor/*.py")

torch.utils._config_module.install_config_module(sys.modules[__name__])
# LITERALINCLUDE END: COMPILE CACHE KEY
