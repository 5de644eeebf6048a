"""The made-up vendor of the guide's worked example, for the tests of what is generated for its chip."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import compiler_cache

VENDOR = Path(__file__).resolve().parents[2] / "examples" / "acme"
CACHE = compiler_cache.environment_of_temporary_folders()


def call(*line: str | Path, **settings: str) -> str:
    """Runs a command that must succeed, with more in its environment; returns what it prints."""
    ran = subprocess.run(
        list(map(str, line)),
        env=os.environ | CACHE | settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5000:]
    return ran.stdout


def vendors_files(folder: Path) -> list[str]:
    """Builds the vendor's library in a folder; returns the options that name it and its header to a generator."""
    library = folder / "libacme.so"
    call("gcc", "-O2", "-shared", "-fPIC", "-o", library, VENDOR / "acme.c")
    return ["--vendor-header", str(VENDOR / "acme.h"), "--vendor-lib", str(library)]


def git(project: Path, *arguments: str) -> str:
    """What git says, in the name of a reader."""
    who = ["-c", "user.name=reader", "-c", "user.email=reader@example.com"]
    done = subprocess.run(["git", "-C", project, *who, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
