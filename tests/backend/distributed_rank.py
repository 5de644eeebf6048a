"""What a rank's program uses: who it is, how it joins the others, and gates between them."""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist

from .simulator import sim

__all__ = ["FOLDER", "RANK", "SIZE", "await_key", "close", "device", "join", "raises", "run_cases", "sim", "tell"]

RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
FOLDER = os.environ["FOLDER"]
_stores: dict[str, dist.FileStore] = {}  # one that dies takes the file along, and another rank may be using it again
device = torch.device("openreg", RANK % torch.openreg.device_count())


def join(backend: str | None = "occl", timeout: float = 30, file: str = "group", **more: Any) -> None:
    """Makes the device current and joins the group that meets in a file."""
    torch.openreg.set_device(device.index)
    store = _stores.get(file) or _stores.setdefault(file, dist.FileStore(f"{FOLDER}/{file}", SIZE))
    dist.init_process_group(
        backend,
        store=store,
        rank=RANK,
        world_size=SIZE,
        timeout=timedelta(seconds=timeout),
        **({"device_id": device} | more),
    )


def tell(key: str) -> None:
    """Lets go on those who wait for the key."""
    with open(f"{FOLDER}/key-{key}", "w"):
        pass


def await_key(key: str, seconds: float = 15) -> None:
    """Waits until another rank has told the key: a gate between processes. Asks nobody, so it hides no order."""
    end = time.monotonic() + seconds
    while not os.path.exists(f"{FOLDER}/key-{key}"):
        assert time.monotonic() < end, f"nobody told {key!r} within {seconds} s"
        time.sleep(0.002)


def close(got: torch.Tensor, expected: torch.Tensor, **bounds: float) -> None:
    """Compares on the CPU."""
    torch.testing.assert_close(got.detach().cpu(), expected.detach().cpu(), equal_nan=True, **bounds)


def raises(call: Callable[[], object], *parts: str, kind: type[Exception] = dist.DistBackendError) -> str:
    """The text of the error that the call raises; it has all parts."""
    try:
        call()
    except kind as error:
        text = str(error)
        assert all(part in text for part in parts), f"{parts} are not all in {text!r}"
        return text
    raise AssertionError(f"{kind.__name__} was not raised")


def run_cases(module: ModuleType, *names: str) -> None:
    """Runs the cases of a module, or those alone, and prints how they went: a line of JSON, name to error."""
    results: dict[str, str] = {}
    for name, case in list(vars(module).items()):
        if name.startswith("case_") and (not names or name.removeprefix("case_") in names):
            try:
                case()
                results[name] = ""
            except Exception:
                results[name] = traceback.format_exc()
    print("results", json.dumps(results), flush=True)
