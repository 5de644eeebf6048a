"""The programs of the page on the registration contract, and the tables that are made of what they print."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "docs" / "_ext"), str(ROOT / "steps")]
from assemble import Ladder  # noqa: E402
from interfaces import CLASSES, virtual_functions  # noqa: E402
from lookups import installed, lookups  # noqa: E402
from openreg_guide.versions import bases, function_name, overrides  # noqa: E402

RECORDED = ROOT / "tests" / "recorded" / "registration"
WORKER = Path(__file__).with_name("registration_worker.py")
KNOWN = json.loads((ROOT / "docs" / "interfaces.json").read_text())["interfaces"]

# The classes of each group, and the name that the probe's functions have before their own.
GROUPS = {
    "guard": ["c10::impl::DeviceGuardImplInterface"],
    "hooks": ["at::AcceleratorHooksInterface", "at::PrivateUse1HooksInterface"],
    "allocator": ["c10::Allocator", "c10::DeviceAllocator"],
    "pinned": ["at::HostAllocator"],
    "generator": ["c10::GeneratorImpl"],
}
ON_DEVICE = 'x = torch.ones(3).to("bare")\n'
RECORD_STREAM = ON_DEVICE + "x.record_stream(torch.accelerator.current_stream())"
STREAM = "torch.accelerator.current_stream()"
EVENT = 'e = torch.Event("bare", enable_timing=True)\n'
HAPPENED = EVENT + "e.record()\n"
GENERATOR = 'g = torch.Generator("bare")\n'
# What a program of PyTorch's does; the last line is what it is about.
CALLS = [
    'torch.ones(3).to("bare")',
    ON_DEVICE + "x.cpu()",
    ON_DEVICE + "x * 2",
    ON_DEVICE + "x.requires_grad_()\n(x * 2).sum().backward()",
    ON_DEVICE + "x.untyped_storage().resize_(64) is not None",
    ON_DEVICE + "torch._lazy_clone(x)",
    RECORD_STREAM,
    "torch.accelerator.device_count()",
    "torch.accelerator.is_available()",
    "torch.accelerator.current_accelerator()",
    "torch.accelerator.current_device_index()",
    "torch.accelerator.set_device_index(0)",
    "with torch.accelerator.device_index(0): pass",
    "torch.accelerator.synchronize()",
    "torch.accelerator.get_device_capability() is not None",
    "torch.accelerator.current_stream()",
    f"s = {STREAM}\ntorch.accelerator.set_stream(s)",
    f"s = {STREAM}\nwith s: pass",
    'torch.Stream("bare")',
    f"{STREAM}.native_handle",
    f"{STREAM}.query()",
    f"{STREAM}.synchronize()",
    f"{STREAM}.is_capturing()",
    f"s = {STREAM}\ns.wait_stream(s)",
    EVENT + "e.record()",
    HAPPENED + "e.query()",
    HAPPENED + "e.synchronize()",
    HAPPENED + "e.elapsed_time(e)",
    HAPPENED + f"s = {STREAM}\ns.wait_event(e)",
    HAPPENED + "del e",
    "f = torch.futures.Future(devices=['bare:0'])\nf.then(lambda it: 0)\nx = torch.ones(3).to('bare')\nf.set_result(x)",
    "torch.accelerator.memory_allocated()",
    "torch.accelerator.get_memory_info()",
    "torch.accelerator.reset_peak_memory_stats()",
    "torch.accelerator.reset_accumulated_memory_stats()",
    "torch.accelerator.empty_cache()",
    ON_DEVICE + "torch.accelerator.empty_host_cache()",
    "torch.ones(3).pin_memory()",
    "torch.ones(3).is_pinned()",
    "x = torch.ones(3).pin_memory()\nx.is_pinned()",
    'torch.Generator("bare")',
    GENERATOR + "g.manual_seed(1)",
    GENERATOR + "g.seed()",
    GENERATOR + "g.initial_seed()",
    GENERATOR + "g.get_state() is not None",
    GENERATOR + "s = g.get_state()\ng.set_state(s)",
    GENERATOR + "g.get_offset()",
    GENERATOR + "g.set_offset(8)",
    GENERATOR + "g.clone_state()",
    GENERATOR + "g.graphsafe_get_state()",
    GENERATOR + "g.graphsafe_set_state(g)",
    "torch._C._accelerator_hooks_device_count()",
    "torch._C._accelerator_hooks_set_current_device(0)",
    "torch._C._accelerator_hooks_get_current_device()",
    "torch._C._accelerator_hooks_exchange_device(0)",
    "torch._C._accelerator_hooks_maybe_exchange_device(0)",
]
TRACKER = "from torch.distributed._tools.memory_tracker import MemoryTracker as M\nt = M()\nn = torch.nn.Linear(3, 3)\n"
LOADER = "from torch.distributed.checkpoint.filesystem import _OverlappingCpuLoader as L\nl = L(lambda it: x)\n"
CHECKPOINT = "from torch.utils import checkpoint as c\nx.requires_grad_()\n"
# For each name that PyTorch looks up in the module, a program that does so. Those that are None are not run.
LOOKUPS: dict[str, str | None] = {
    "_get_generator": "from torch._functorch._aot_autograd import utils\n"
    "utils.get_default_generator(torch.device('bare', 0))",
    "_initialized": ON_DEVICE + CHECKPOINT + "c.checkpoint(torch.sin, x, use_reentrant=True)",
    "_is_in_bad_fork": "torch.manual_seed(1) is not None",
    "_utils": "torch.serialization._validate_device('bare:0', 'bare')",
    "current_device": "torch.ones(3).bare().device",
    "current_stream": ON_DEVICE + LOADER + "l.stream is not None",
    "default_generators": None,
    "device": ON_DEVICE + CHECKPOINT + "len(c.get_device_states(x)[1])",
    "device_count": "torch.accelerator.device_count()",
    "empty_cache": TRACKER + "t.start_monitor(n)",
    "get_amp_supported_dtype": "torch.autocast('bare').fast_dtype",
    "get_device_name": None,
    "get_rng_state": "with torch.random.fork_rng(device_type='bare'): pass",
    "is_available": "torch.accelerator.is_available()",
    "is_initialized": "from torch._subclasses import FakeTensorMode\n"
    "with FakeTensorMode(): torch.empty(3, device='bare')",
    "manual_seed_all": "torch.manual_seed(1) is not None",
    "memory_allocated": TRACKER + "t.start_monitor(n)\nn(torch.ones(3)) is not None",
    "memory_reserved": TRACKER + "t.start_monitor(n)\nn(torch.ones(3)) is not None",
    "memory_stats": TRACKER + "t.start_monitor(n)\nn(torch.ones(3)) is not None",
    "set_rng_state": "with torch.random.fork_rng(device_type='bare'): pass",
    "sparse": None,
    "stream": ON_DEVICE + LOADER + "l.add(8, x)\nnext(iter(l.values())) is not None",
    "synchronize": "from torch.autograd.profiler import profile\nwith profile(use_device='bare'): pass",
}
WHOLE = "mxGHAPof"
# Registrations beside classes and module: which part is left out, and a program that wants it.
PARTS = {
    "`torch.utils.rename_privateuse1_backend(NAME)`": ("N", 'torch.device("bare")'),
    "`torch._register_device_module(NAME, module)`": ("m", 'torch.ones(3).to("bare")'),
    "`torch.utils.generate_methods_for_privateuse1_backend()`": ("x", "torch.ones(3).bare()"),
    "`C10_REGISTER_GUARD_IMPL`, the guard": ("G", 'torch.ones(3).to("bare")'),
    "`RegisterPrivateUse1HooksInterface`, the hooks": ("H", "torch.ones(3).pin_memory()"),
    "`RegisterPrivateUse1HooksInterface`, at a backward pass": (
        "H",
        ON_DEVICE + "x.requires_grad_()\n(x * 2).sum().backward()",
    ),
    "`c10::SetAllocator`, any allocator": ("A", 'torch.ones(3).to("bare")'),
    "`c10::SetAllocator`, one that is a `c10::DeviceAllocator`": ("Aa", "torch.accelerator.memory_allocated()"),
    "`REGISTER_HOST_ALLOCATOR`": ("P", ON_DEVICE + "torch.accelerator.empty_host_cache()"),
    "`TORCH_LIBRARY_IMPL(aten, PrivateUse1)`: `empty.memory_format`, `empty_strided`, `_copy_from`": (
        "of",
        'torch.empty(3, device="bare")',
    ),
    "`TORCH_LIBRARY_IMPL(_, PrivateUse1)`, the fallback": ("f", ON_DEVICE + "x.sin()"),
    "`TORCH_LIBRARY_IMPL(aten, PrivateUse1)`: `record_stream`": ("", RECORD_STREAM),
    "`TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1)`, autocast": (
        "",
        ON_DEVICE + "with torch.autocast('bare', dtype=torch.bfloat16): x * x",
    ),
    "`REGISTER_GRAPH_IMPL`": ("", "torch.accelerator.Graph()"),
    "`REGISTER_PRIVATEUSE1_PROFILER`": (
        "",
        ON_DEVICE + "from torch.profiler import *\np = profile(activities=[ProfilerActivity.PrivateUse1])\np.start()\n"
        "y = x * 2\np.stop()\nlen(p.events())",
    ),
    "a reducer in `multiprocessing.reductions`": (
        "",
        ON_DEVICE + "from multiprocessing.reduction import ForkingPickler\nimport torch.multiprocessing\n"
        "ForkingPickler.dumps(x)",
    ),
    "`torch.distributed.Backend.register_backend`": (
        "",
        "import torch.distributed as d\nd.init_process_group(store=d.HashStore(), rank=0, world_size=1)\n"
        + ON_DEVICE
        + "d.all_reduce(x)",
    ),
}
PLACES = re.compile(r'"[^"]*/((?:c10|aten|torch)/[^"]+)":\d+')  # a checkout's folder, and a line that moves
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
LONGEST = 300


def jobs() -> dict[str, tuple[str, str, str]]:
    """What the worker runs: name -> parts that are registered, what the module lacks, the program."""
    bare = {f"bare {call}": ("mxghaof", "", call) for call in CALLS}
    whole = {f"whole {call}": (WHOLE, "", call) for call in CALLS}
    module = {f"module {name}": (WHOLE, name, program) for name, program in LOOKUPS.items() if program}
    parts = {}
    for name, (lacks, program) in PARTS.items():
        left = "".join(part for part in WHOLE if part not in lacks) + ("N" if "N" in lacks else "")
        parts[f"part {name}"] = (left + ("a" if "a" in lacks else ""), "", program)
    return bare | whole | module | parts


def shorten(text: str) -> str:
    """A text on one line, without what differs from machine to machine, and the first sentences only."""
    line = ADDRESS.sub("", PLACES.sub(r"\1", " ".join(text.split())))
    line = re.split(r" This could be because| Exception raised from", line)[0]
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def answers(library: Path, fill: int) -> dict[str, list[Any]]:
    """Runs all programs.

    Args:
        library: The probe.
        fill: The byte that new memory is full of. What a program answers must not depend on it.

    Returns:
        What each printed, and who called which function of ours: ``function, caller`` pairs.
    """
    command, given = [sys.executable, str(WORKER), str(library)], json.dumps(jobs())
    filled = os.environ | {"MALLOC_PERTURB_": str(~fill & 255)}  # glibc takes the complement
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=500, env=filled)
    said = json.loads(done.stdout)
    return {
        name: [shorten(text), sorted(line.split("\t") for line in callers.splitlines())]
        for name, (text, callers) in said.items()
    }


def declared(kind: str) -> dict[str, tuple[str, bool]]:
    """The functions of a group in the installed PyTorch's headers: name -> the class, and whether it is pure."""
    found: dict[str, tuple[str, bool]] = {}
    for name in GROUPS[kind]:
        header = (installed() / "include" / CLASSES[name]).read_text()
        for declaration in virtual_functions(header, name.rpartition(":")[2]):
            function = function_name(declaration)
            pure = re.search(
                rf"virtual [^;{{}}]*\b{function}\([^;{{}}]*({{[^;{{}}()]*}})?[^;{{}}]*\)[^;{{}}()]*=\s*0\s*;", header
            )
            found[function] = (name, bool(pure))
    if kind == "hooks":  # the second class overrides some of the first
        defined = {function for _, function in overrides(header)}
        found = {function: (name, pure and function not in defined) for function, (name, pure) in found.items()}
    return found


def since(name: str, function: str) -> str:
    """The first release that has a function of a class; the oldest that is known may not be the first."""
    versions = [version for version, of in KNOWN.items() if function in map(function_name, of.get(name, []))]
    oldest = next(iter(KNOWN)).rpartition(".")[0]
    return f"{oldest} or before" if versions[0].startswith(oldest) else versions[0].rpartition(".")[0]


@cache
def first_steps() -> dict[tuple[str, str], str]:
    """Class and function -> the name of the first step whose sources override it."""
    ladder, found = Ladder(), {}
    for index, step in enumerate(ladder.steps):
        for path in ladder.trees[index]:
            if path.startswith("openreg/csrc/") and path.endswith((".h", ".cpp")):
                for function in overrides(ladder.text(index, path)):
                    found.setdefault(function, step.name)
    return found


def _cell(text: str) -> str:
    """A text as the code in a cell of a table."""
    return "`` " + text.replace("|", "\\|") + " ``" if "`" in text else "`" + text.replace("|", "\\|") + "`"


def _without(said: str) -> str:
    """What a function does that nobody overrides: an error's text as code."""
    return _cell(said.removeprefix("error: ")) if said.startswith("error: ") else said


def askers(recorded: dict[str, list[Any]], key: str) -> str:
    """Which programs reach a function, and who in PyTorch's libraries calls it."""
    reached = {call: recorded[f"whole {call}"][1] for call in CALLS}
    programs = [call for call, pairs in reached.items() if key in {function for function, _ in pairs}]
    programs.sort(key=lambda call: (len({function for function, _ in reached[call]}), CALLS.index(call)))
    named = {
        caller
        for pairs in reached.values()
        for function, caller in pairs
        if function == key and "without a name" not in caller and not caller.startswith("libtorch_cpu.so: at::_ops::")
    }
    shown = [_cell(call.split("\n")[-1]) for call in programs[:3]]
    return "<br>".join([*shown, *map(_cell, sorted(named)[:4])]) or "no program here"


def class_table(kind: str, recorded: dict[str, list[Any]]) -> Iterator[str]:
    """The lines of a group's table."""
    steps = first_steps()
    yield "| function | since | here | asked by | without it |"
    yield "|---|---|---|---|---|"
    for function, (name, pure) in sorted(declared(kind).items()):
        mine = [steps.get((base, function), "") for base in bases(name.rpartition(":")[2])]
        here = f"{{doc}}`{first}`" if (first := min(filter(None, mine), default="")) else "–"
        without = "your class doesn't compile" if pure else _without(recorded[f"call {kind} {function}"][0])
        callers = askers(recorded, f"{kind} {function}")
        yield f"| `{function}` | {since(name, function)} | {here} | {callers} | {without} |"


def program_table(recorded: dict[str, list[Any]]) -> Iterator[str]:
    """The programs that end otherwise where nothing but the pure functions is written."""
    yield "| a program | with all functions | with the pure ones only |"
    yield "|---|---|---|"
    for call in CALLS:
        bare, whole = recorded[f"bare {call}"][0], recorded[f"whole {call}"][0]
        if bare != whole:
            told = "works" if whole.startswith(("gives", "no error")) else _cell(whole)
            yield f"| {_cell(call.split(chr(10))[-1])} | {told} | {_cell(bare)} |"


def module_table(recorded: dict[str, list[Any]]) -> Iterator[str]:
    """The names that PyTorch looks up in the module."""
    yield "| name | here | looked up by | a program | without it |"
    yield "|---|---|---|---|---|"
    for name, places in lookups(installed()).items():
        program = LOOKUPS[name]
        last = program.split("\n")[-1] if program else ""
        said = recorded[f"module {name}"][0] if program else ""
        mine = "yes" if hasattr(torch.openreg, name) else "–"
        shown = "<br>".join(map(_cell, places[:3])) + (f"<br>and {len(places) - 3} more" if len(places) > 3 else "")
        told = f"{_cell(last)} | {_cell(said)}" if program else " | not run here"
        yield f"| `{name}` | {mine} | {shown} | {told} |"


def part_table(recorded: dict[str, list[Any]]) -> Iterator[str]:
    """The other registrations."""
    yield "| registration | a program | without it |"
    yield "|---|---|---|"
    for name, (_, program) in PARTS.items():
        yield f"| {name} | {_cell(program.split(chr(10))[-1])} | {_cell(recorded[f'part {name}'][0])} |"


def tables(recorded: dict[str, list[Any]]) -> dict[str, str]:
    """All tables of the page by the names of their files."""
    made = {kind: class_table(kind, recorded) for kind in GROUPS}
    made |= {"programs": program_table(recorded), "module": module_table(recorded), "parts": part_table(recorded)}
    return {name: "\n".join(lines) + "\n" for name, lines in made.items()}
