"""Makes what is handed to others, in dist: a source archive, and a wheel that is built from it.

    python tools/wheel.py [--out DIR]       (make wheel)

The wheel is built from the archive and not from the repository, so what the archive lacks is noticed here. The same
sources and tools give the same bytes, in whatever folder and whenever: times are those of the last commit, or what
SOURCE_DATE_EPOCH says.
"""

import argparse
import gzip
import os
import shutil
import sys
import tarfile
import tempfile
import time
from pathlib import Path

import compiler_cache
from files import git
from progress import watch

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "wheel"
# PyTorch's, which are in the process before ours: a copy of them in the wheel would be a second PyTorch.
THEIRS = ["libtorch.so", "libtorch_cpu.so", "libtorch_python.so", "libc10.so"]
OLDEST = 315532800  # 1 January 1980: before that, a wheel cannot say when


def when() -> int:
    """The time that everything in an archive or a wheel has, in seconds."""
    last = git("log", "-1", "--format=%ct")
    return int(os.environ.get("SOURCE_DATE_EPOCH") or (last[0] if last else OLDEST))


def environment(root: Path) -> dict[str, str]:
    """Variables for a build in a folder."""
    env = {"SOURCE_DATE_EPOCH": str(when()), "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return os.environ | {"CMAKE_ARGS": "-DOPENREG_WERROR=ON"} | env | compiler_cache.environment(root)


def run(command: list[str | Path], root: Path, what: str) -> None:
    """Runs a part of the work; ends with what it said if it fails."""
    failed, output = watch([str(word) for word in command], what, root, environment(root))
    if failed:
        sys.exit(f"{output}\n{what}: failed")


def packed(made: Path, archive: Path) -> Path:
    """Packs an archive again, so that it depends on its files alone: in order, all of one time, and nobody's."""
    seconds = when()
    with (
        tarfile.open(made) as old,
        archive.open("wb") as file,
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=seconds) as zipped,
        tarfile.open(mode="w", fileobj=zipped) as new,
    ):
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = seconds, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, old.extractfile(member) if member.isfile() else None)
    return archive


def make_archive(out: Path) -> Path:
    """Makes the source archive."""
    with tempfile.TemporaryDirectory() as folder:
        run([sys.executable, "setup.py", "--quiet", "sdist", "--dist-dir", folder], ROOT, "archive")
        (made,) = Path(folder).glob("*.tar.gz")
        return packed(made, out / made.name)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpacks an archive into an empty folder; returns the folder in it."""
    shutil.rmtree(folder, ignore_errors=True)
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    # Seen from there, PyTorch lies where it does in the repository, so the compiler cache knows its files.
    (root / ".venv").symlink_to(sys.prefix)
    return root


def make_wheel(root: Path, out: Path) -> Path:
    """Builds the sources in a folder, and gives the wheel the tag of the oldest Linux that it runs on."""
    python = root / ".venv" / "bin" / "python"
    with tempfile.TemporaryDirectory() as folder:
        pip = [python, "-m", "pip", "--disable-pip-version-check", "wheel", "--verbose"]
        run([*pip, "--no-build-isolation", "--no-deps", "--wheel-dir", folder, "."], root, "wheel")
        (made,) = Path(folder).glob("*.whl")
        tagged = Path(folder) / "tagged"
        audit = [sys.executable, "-m", "auditwheel", "repair", *(f"--exclude={name}" for name in THEIRS)]
        run([*audit, "--wheel-dir", tagged, made], root, "auditwheel")
        (wheel,) = tagged.iterdir()
        return Path(shutil.copyfile(wheel, out / wheel.name))


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="the folder for both; dist by default")
    out, start = parser.parse_args().out.resolve(), time.monotonic()
    out.mkdir(parents=True, exist_ok=True)
    archive = make_archive(out)
    wheel = make_wheel(unpack(archive, WORK), out)
    for path in (archive, wheel):
        print(f"{path}: {path.stat().st_size / 1e6:.1f} MB")
    print(f"wheel: done in {time.monotonic() - start:.0f} s")
    print(f"next: pip install {wheel}, in any environment with Python {sys.version_info[0]}.{sys.version_info[1]}")


if __name__ == "__main__":
    main()
