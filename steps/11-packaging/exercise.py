"""Which packages does PyTorch call when it is imported, how long do they take, and what comes of it?"""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint, entry_points

# Runs in a process of its own: PyTorch has room for one of these devices.
CALL = """
import sys, time, importlib, torch
module, name = sys.argv[1:]
start = time.perf_counter()
try:
    getattr(importlib.import_module(module), name)()
    end = f"registers {torch._C._get_privateuse1_backend_name()!r}"
except Exception as error:
    end = f"{type(error).__name__}: {error}"
print(f"{1000 * (time.perf_counter() - start):.0f} ms, {end}")
"""


def found() -> list[EntryPoint]:
    """What PyTorch would call, in its order. Looking for it imports nothing."""
    return list(entry_points(group="torch.backends"))


def try_it(point: EntryPoint) -> str:
    """What a backend does when PyTorch calls it."""
    env = os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    command = [sys.executable, "-c", CALL, point.module, point.attr]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return done.stdout.strip() or f"ends with {done.returncode}: {done.stderr.strip()}"


if __name__ == "__main__":
    points = found()
    print(f"PyTorch calls {len(points)}:")
    for point in points:
        package = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown package"
        print(f"  {point.value} of {package}: {try_it(point)}")
    assert "torch" not in sys.modules
