"""The command line: which kernels, for which GPUs, where to, and the exit status."""

from __future__ import annotations

import argparse
import fnmatch
import os
import re
from pathlib import Path

from .crew import Crew
from .driver import Driver
from .progress import Progress

EPILOG = """\
The exit status is 0 if all kernels are in the folder, or the driver has none to compile; 1 if some failed; 130 if the
run was interrupted. Programs find what is in the usual folder by themselves, and what is in another one if
OPENREG_CUDA_CACHE names it.
"""
MOST = 10  # failures that are written out


def architecture(text: str) -> int:
    """The number in "sm_90"."""
    if not re.fullmatch(r"sm_\d{2,3}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no architecture; expected a name like sm_90")
    return int(text[3:])


def parser() -> argparse.ArgumentParser:
    """What the command line may hold."""
    it = argparse.ArgumentParser(
        prog="python -m torch_openreg.kernels",
        description="Compiles the device's kernels before a program asks for them.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    it.add_argument("patterns", nargs="*", metavar="PATTERN", help='kernels by name, such as "add.*"; else all')
    it.add_argument("--list", action="store_true", help="print their names, and compile nothing")
    it.add_argument(
        "--architecture",
        type=architecture,
        action="append",
        metavar="sm_90",
        help="of a GPU elsewhere; may be repeated; else those of this machine's",
    )
    it.add_argument("--cache", type=Path, metavar="FOLDER", help="where to; else where programs look by themselves")
    it.add_argument("--jobs", type=int, metavar="N", default=len(os.sched_getaffinity(0)), help="processes at a time")
    return it


def chosen(kernels: list[str], patterns: list[str]) -> list[str]:
    """The kernels that patterns name, all if there are none.

    Raises:
        ValueError: If a pattern names none.
    """
    found: set[str] = set()
    for pattern in patterns:
        named = fnmatch.filter(kernels, pattern)
        if not named:
            raise ValueError(f"no kernel has a name like {pattern!r}; --list prints the names of all {len(kernels)}")
        found.update(named)
    return [it for it in kernels if it in found or not patterns]


def compile_all(driver: Driver, kernels: list[str], architectures: list[int], folder: Path, jobs: int) -> int:
    """Compiles, and says how it went.

    Returns:
        The exit status.
    """
    wanted = [(kernel, number) for number in architectures for kernel in kernels]
    progress, new, failed = Progress(len(wanted)), 0, []
    try:
        for done, (job, answer) in enumerate(Crew(driver.path, folder, jobs).compile(wanted), 1):
            if isinstance(answer, str):
                failed.append((job, answer))
            else:
                new += answer
            progress.at(done)
    except KeyboardInterrupt:
        progress.end()
        print(f"interrupted: {new} kernels are new in {folder}; the next run goes on from there")
        return 130
    progress.end()
    names = ", ".join(f"sm_{number}" for number in architectures)
    there = len(wanted) - len(failed)
    print(f"{there} of {len(wanted)} kernels for {names} are in {folder}; {new} of them are new")
    shown = sorted(failed)[: MOST if there else 1]  # where nothing compiles, all have the same reason
    for (kernel, number), why in shown:
        print(f"failed: {kernel} for sm_{number}: {why.rstrip()}")
    if more := len(failed) - len(shown):
        print(f"failed: {more} more")
    return 1 if failed else 0


def main(arguments: list[str] | None = None) -> int:
    """Compiles the kernels that the command line names.

    Args:
        arguments: The command line; None for the program's.

    Returns:
        The exit status.
    """
    options = parser()
    given = options.parse_args(arguments)
    driver = Driver()
    if not driver.can_compile:
        other = "; OPENREG_DRIVER=cuda chooses the one that compiles" if driver.other_can else ""
        print(f"the driver '{driver.name}' compiles no kernels: they are in its library{other}")
        return 0
    try:
        kernels = chosen(driver.kernels(), given.patterns)
    except ValueError as error:
        options.error(str(error))
    if given.list:
        print(*kernels, sep="\n")
        return 0
    try:
        architectures = sorted(set(given.architecture or driver.architectures()))
    except RuntimeError as error:
        options.error(f"{error}\nwithout a GPU, say for which one: --architecture sm_90")
    return compile_all(driver, kernels, architectures, (given.cache or driver.cache()).absolute(), max(given.jobs, 1))
