"""Tries a project that has been generated: builds it, runs its program and its tests, and looks for names of ours.

    python backend/try_out.py DIR           (the end of make backend; TRY=0 leaves it out)

What is built is in DIR/build/site and not in the environment. On a skeleton the program and the tests fail, and say
what is to be written first. That is no failure of the project.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import names

AUTOLOAD = "TORCH_DEVICE_BACKEND_AUTOLOAD"
COMPLAINT = re.compile(r"FAILED: |CMake Error|: (?:fatal )?error: ")  # of ninja, of CMake, of a compiler


def is_loaded_by_pytorch(step: str) -> bool:
    """Whether PyTorch loads the project of a step by itself."""
    return int(step[:2]) >= 11


def step_of(project: Path) -> str:
    """The step that a project was generated from."""
    return tomllib.loads((project / "generated.toml").read_text())["step"]


def alone(project: Path, site: Path) -> dict[str, str]:
    """The variables with which a program finds what has been built, and PyTorch loads nothing else.

    PyTorch has room for one device of this kind, and would load the package of this repository where that is installed.
    Of two distributions with one name Python believes the first, so one without an entry point hides it.
    """
    hidden = project / "build" / "alone" / "torch_openreg-0.dist-info"
    hidden.mkdir(parents=True, exist_ok=True)
    (hidden / "METADATA").write_text("Metadata-Version: 2.1\nName: torch_openreg\n")
    return {
        "PYTHONPATH": f"{hidden.parent}{os.pathsep}{site}",
        AUTOLOAD: "1" if is_loaded_by_pytorch(step_of(project)) else "0",
    }


def run(command: list[str | Path], project: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program in the project, with what has been built."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OPENREG_")}
    kept |= alone(project, site)
    return subprocess.run(command, cwd=project, env=kept, capture_output=True, text=True, check=False)


def build(project: Path) -> Path:
    """Builds and installs it beside its sources; returns the folder.

    Raises:
        ValueError: If it cannot be built, with what the compiler complained of first.
    """
    site = project / "build" / "site"
    shutil.rmtree(site, ignore_errors=True)
    # Not compiled: where PYTHONPYCACHEPREFIX is set, pip notes that folder, which may have any name in its path.
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-compile", "--disable-pip-version-check"]
    options += ["--target", str(site)]
    command = [sys.executable, "-m", "pip", "install", *options, str(project)]
    name = tomllib.loads((project / "generated.toml").read_text())["name"]
    added = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",  # of CMake and Ninja
        # What is beside it there is not what it depends on, so it is to know where this environment has that.
        "CMAKE_ARGS": f"{os.environ.get('CMAKE_ARGS', '')} -D{name.upper()}_WHEEL=OFF",
    }
    done = subprocess.run(
        command, env=os.environ | added, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    if done.returncode:
        lines = done.stdout.splitlines()
        first = next((i for i, line in enumerate(lines) if COMPLAINT.search(line)), -40)
        said = "\n".join(line[:1000] for line in lines[first:][:40])  # a compiler's command is longer than its words
        raise ValueError(f"{project} cannot be built:\n{said}")
    return site


def files(project: Path, site: Path) -> Iterator[Path]:
    """The project's own files, and those that are installed. Not the license, which is ours."""
    for root in (project, site):
        for path in sorted(root.rglob("*")):
            inside = path.relative_to(root).parts
            if path.is_file() and path.name != "LICENSE" and not {".git", "build", "__pycache__"} & set(inside):
                yield path


def leftovers(project: Path, site: Path) -> tuple[int, list[str]]:
    """How many files there are, and in which of them our name is left. Where they lie doesn't count."""
    places = [re.escape(str(place).encode()) for place in (project, sys.prefix, sys.base_prefix)]
    found, count = [], 0
    for path in files(project, site):
        count += 1
        text = re.sub(b"|".join(places), b"", path.read_bytes()).decode(errors="ignore")
        if names.leftovers(path.name + text):
            found.append(str(path))
    return count, found


def last_line(text: str) -> str:
    """What a program has said last."""
    return (text.strip().splitlines() or ["nothing"])[-1]


def try_out(project: Path) -> None:
    """Does all that, and prints a line for each.

    Raises:
        ValueError: If the project cannot be built, or a name of ours is left in it.
    """
    site = build(project)
    print(f"built:  into {site}")
    count, found = leftovers(project, site)
    if found:
        raise ValueError(f"the name is left in {', '.join(found)}")
    print(f"names:  no name of ours in {count} files")
    demo = run([sys.executable, "demo.py"], project, site)
    print(f"demo:   {last_line(demo.stderr if demo.returncode else demo.stdout)}")
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider"]
    said = run(pytest, project, site).stdout
    first = re.search(r"^FAILED (\S+)", said, re.MULTILINE)
    print(f"tests:  {f'the first to fail is {first[1]}' if first else last_line(said)}")


def main() -> None:
    """Read the command line."""
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "generated.toml").is_file():
        sys.exit("try_out: expected the folder of a project that make backend has made")
    try:
        try_out(Path(sys.argv[1]).resolve())
    except ValueError as error:
        sys.exit(f"try_out: {error}")


if __name__ == "__main__":
    main()
