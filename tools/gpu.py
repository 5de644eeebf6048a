"""Runs what only a machine with an NVIDIA GPU can show, and records it in docs/gpu.json, which the guide shows.

    python tools/gpu.py                         all parts                                        (make gpu)
    python tools/gpu.py contract operators      these                       (make gpu PART="contract operators")
    python tools/gpu.py sim                     which tests run on the simulator; needs no GPU      (make gpu PART=sim)
    python tools/gpu.py --seconds 120           each part stops after so long   (make gpu ARGS="--seconds 120")
    python tools/gpu.py --seconds backend=300,train=60                          or one of them

What has been found is recorded after each part, and a part that was stopped keeps what it had found. Parts that are not
run keep what they said last. Without a GPU the command says why there is none, and does nothing.
"""

import argparse
import os
import shlex
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs" / "_ext"))
from gpu_figures import PARTS, RECORD, by_reason, misses, number, read, reasons, verdict, write  # noqa: E402
from gpu_parts import backend, machine  # noqa: E402
from gpu_parts.result import Asked, Result  # noqa: E402

# Seconds that each part may take, unless the command line says other ones.
SECONDS = {"kernels": 600, "contract": 900, "backend": 3600, "train": 600, "operators": 900, "sanitizer": 900}
SIM = "sim"


def seconds_of(text: str, names: list[str]) -> dict[str, float]:
    """Reads "120", or "backend=300,train=60".

    Raises:
        argparse.ArgumentTypeError: If it is neither. The text says what came and what was expected.
    """
    found: dict[str, float] = {}
    for word in text.split(",") if text else []:
        name, equals, value = word.rpartition("=")
        known = name in names if equals else True
        if not known or not value.replace(".", "", 1).isdigit():
            raise argparse.ArgumentTypeError(f"got {word!r}; expected seconds, or PART=seconds with a part of this run")
        found |= {name: float(value)} if equals else dict.fromkeys(names, float(value))
    return found


def table(part: str, said: dict[str, Any], explained: list) -> str:
    """What a part has said, as text."""
    lines = [f"\n== {part}: {PARTS[part]}, {said['seconds']:.0f} s"]
    for figure in said["figures"]:
        bar, missed = verdict(figure)
        beside = figure.get("beside")
        value = f"{number(figure['value'])} {figure['unit']}".rstrip()
        ratio = f"{number(beside):>10}  × {figure['value'] / beside:.2f}" if beside else ""
        lines.append(f"{figure['name']:76} {value:>12} {ratio:22} {bar}{': missed' if missed else ''}".rstrip())
        if note := figure.get("note"):
            lines.append(f"    {note}")
    lines += [f"  {count} × {reason}" for reason, count in by_reason(misses(said), explained).items()]
    lines += [f"  {sentence}" for sentence in said["said"]]
    return "\n".join(lines)


def run_part(name: str, env: dict[str, str], asked: Asked, explained: list) -> Result:
    """Runs a part. One that breaks says so, and keeps nobody from running the next one."""
    try:
        return import_module(f"gpu_parts.{name}").run(env, asked, explained)
    except Exception as error:
        return Result(said=[f"the part itself has failed: {type(error).__name__}: {error}"])


def options() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"{', '.join([*PARTS, SIM])}; by default all but {SIM}"
    )
    parser.add_argument("--seconds", default="", help="that a part may take")
    parser.add_argument("--workers", type=int, default=max(1, min(8, (os.cpu_count() or 2) // 2)), help="processes")
    parser.add_argument("--pytest", default="", help="further options for pytest, such as '-k copy'")
    parser.add_argument("--beside", help="a Python whose PyTorch is a CUDA build, if ours is none")
    parser.add_argument("--record", type=Path, help=f"file of the record; {RECORD} by default")
    given = parser.parse_args()
    if unknown := set(given.parts).difference(PARTS, [SIM]):
        parser.error(f"no part is called {', '.join(sorted(unknown))}; there are {', '.join([*PARTS, SIM])}")
    given.parts = given.parts or list(PARTS)
    try:
        given.limits = {**SECONDS, SIM: SECONDS["backend"], **seconds_of(given.seconds, given.parts)}
    except argparse.ArgumentTypeError as error:
        parser.error(f"--seconds: {error}")
    return given


def main() -> None:
    """Runs the parts, one after the other."""
    given = options()
    more = shlex.split(given.pytest)
    asked = {name: Asked(given.limits[name], given.workers, more, given.beside) for name in given.parts}
    if SIM in given.parts:
        print(f"gpu: {backend.run_on_sim(asked[SIM])}", flush=True)
    parts = [name for name in PARTS if name in given.parts]
    if not parts:
        return
    if "OPENREG_CUDA_LIBRARY" in os.environ and not given.record:
        sys.exit("gpu: OPENREG_CUDA_LIBRARY names what may be no GPU; --record FILE says where its record goes")
    record = (given.record or ROOT / RECORD).resolve()
    env = machine.environment(machine.choose_libraries(machine.nvidia_folders()))
    os.environ.update(env)
    try:
        why, gpu = machine.no_device(machine.library())
    except RuntimeError as error:
        sys.exit(f"gpu: {error}")
    if why:
        sys.exit(f"gpu: no device: {why}")
    here, explained, found = machine.describe(gpu, env), reasons(ROOT), read(record)
    print("gpu: " + ", ".join(f"{name} {value}" for name, value in here.items()), flush=True)
    if "OPENREG_CUDA_NVRTC" not in env:
        said = "NVRTC is not found with CCCL beside it, so kernels can't be compiled"
        print(f"gpu: {said}: pip install nvidia-cuda-nvrtc nvidia-cuda-cccl, or OPENREG_CUDA_NVRTC=PATH", flush=True)
    for name in parts:
        print(f"gpu: {name}: {PARTS[name]}; at most {given.limits[name]:.0f} s", flush=True)
        asked[name].begun = time.monotonic()
        result = run_part(name, env, asked[name], explained)
        taken = {"time": time.strftime("%FT%TZ", time.gmtime()), "machine": here}
        seconds = round(time.monotonic() - asked[name].begun, 1)
        found[name] = {**taken, "seconds": seconds, **result.recorded()}
        write(record, found)
        print(table(name, found[name], explained), flush=True)
    print(f"\nwritten to {record.relative_to(ROOT) if record.is_relative_to(ROOT) else record}")


if __name__ == "__main__":
    main()
