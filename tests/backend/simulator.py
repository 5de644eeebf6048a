"""The driver's library behind its header, as the backend has loaded it: gates, failures, and what the driver itself says."""

from __future__ import annotations

from pathlib import Path

import torch_openreg
from contract.harness import OpenReg

LIBRARY = Path(torch_openreg.__file__).parent / "lib" / "libopenreg.so"

sim = OpenReg(str(LIBRARY))
