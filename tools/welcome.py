"""Says, at the end of `make`, what there is now, where it is, and what to do next."""

import json
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Prints it."""
    digits = json.loads((ROOT / "build" / "digits.json").read_text())
    device, cpu, profile = digits["device"][-1][1], digits["cpu"][-1][1], digits["profile"]
    print(f"""
OpenReg is ready (torch {metadata.version("torch")}).

  the network   read {device:.1%} of the held-out digits on openreg, {cpu:.1%} on the CPU: examples/digits.py
  the profile   a training step launches {profile["launches"]} kernels, and the host waits {profile["waits"]} times
  the device    .venv/bin/python -c "import torch; print(torch.arange(3, device='openreg'))"
  the sources   openreg/ (the driver, the PyTorch side, the bindings, the Python package)
  the guide     {(ROOT / "build" / "guide" / "index.html").as_uri()}

next: open the guide, then climb the first step:  make step N=01
      make help lists the other commands.""")


if __name__ == "__main__":
    main()
