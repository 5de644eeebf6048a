"""Runs programs on backends that lack something, each in a fork of its own: what PyTorch says, and who has called.

    python registration_worker.py LIBRARY < PROGRAMS

It reads a JSON object, name -> [parts, name that the module lacks, program], and prints one: name -> [text, callers].
PyTorch is imported without any backend of its own choice.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import re
import signal
import sys
import types
import warnings

os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch
import torch.distributed
import torch.utils.checkpoint

NAME = "bare"


def module() -> types.ModuleType:
    """A module `torch.bare` with all that PyTorch looks up in it."""
    made = types.ModuleType(f"torch.{NAME}")
    state = torch.zeros(8, dtype=torch.uint8)

    class device:  # noqa: N801 - PyTorch's name
        def __init__(self, index: object) -> None: ...

        def __enter__(self) -> None: ...

        def __exit__(self, *args: object) -> None: ...

    answers = {
        "_is_in_bad_fork": False,
        "current_device": 0,
        "current_stream": torch.Stream,
        "device_count": 1,
        "empty_cache": None,
        "get_amp_supported_dtype": [torch.bfloat16, torch.float16],
        "get_device_name": NAME,
        "get_rng_state": state,
        "is_available": True,
        "is_initialized": True,
        "manual_seed_all": None,
        "memory_allocated": 0,
        "memory_reserved": 0,
        "memory_stats": {"num_alloc_retries": 0, "active_bytes.all.current": 0},
        "set_rng_state": None,
        "stream": contextlib.nullcontext(),
        "synchronize": None,
    }
    for name, answer in answers.items():
        setattr(made, name, lambda *args, answer=answer, **options: answer)
    made._initialized = True
    made.device = device
    return made


def run(program: str) -> str:
    """What becomes of a program: its value, the error, or the warning."""
    *lines, last = program.strip().split("\n")
    scope = {"torch": torch, "os": os}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            exec("\n".join(lines), scope)
            if re.match(r"\w+ = |del |with |for |import ", last):
                exec(last, scope)
                said = "no error"
            else:
                said = f"gives {eval(last, scope)!r}"
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
    texts = [f"{kind.category.__name__}: {kind.message}" for kind in caught if "bare" in str(kind.message)]
    return "; ".join([said, *texts])


def ask(library: ctypes.CDLL, parts: str, lacks: str, program: str) -> tuple[str, str]:
    """The text that a program ends with, and who has called which function."""
    if "N" not in parts:
        torch.utils.rename_privateuse1_backend(NAME)
    if "m" in parts and "N" not in parts:
        made = module()
        if hasattr(made, lacks):
            delattr(made, lacks)
        torch._register_device_module(NAME, made)
    if "x" in parts and "N" not in parts:
        torch.utils.generate_methods_for_privateuse1_backend()
    library.register_parts(parts.encode())
    if program.startswith("call "):
        said = library.call(program.removeprefix("call ").encode()).decode()
    else:
        said = run(program)
    return said, library.callers_seen().decode()


def forked(library: ctypes.CDLL, job: tuple[str, str, str]) -> list[str]:
    """The same in a process of its own."""
    read, write = os.pipe()
    if (pid := os.fork()) == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        answer = json.dumps(ask(library, *job))
        with os.fdopen(write, "w") as pipe:
            pipe.write(answer)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return json.loads(said) if status == 0 else [f"the process dies by {signal.Signals(-status).name}", ""]


def main() -> None:
    """Reads the jobs and prints the answers."""
    library = ctypes.CDLL(sys.argv[1])
    for name in ("call", "call_names", "callers_seen"):
        getattr(library, name).restype = ctypes.c_char_p
    jobs = {f"call {name}": ("", "", f"call {name}") for name in library.call_names().decode().split("\n") if name}
    jobs |= json.load(sys.stdin)
    print(json.dumps({name: forked(library, job) for name, job in jobs.items()}))


if __name__ == "__main__":
    main()
