"""What the compiler cache may give one folder of what was compiled in another."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import compiler_cache
import pytest
from step import Workshop

from .conftest import REPOSITORY

pytestmark = pytest.mark.skipif(not shutil.which("ccache"), reason="needs ccache")
SETTINGS = "import compiler_cache, json, sys; print(json.dumps(compiler_cache.environment(sys.argv[1])))"


def compiled(tree: Path, release: str, cache: Path) -> bytes:
    """Compiles one source as wheels are: the environment is a link out of the tree; returns what the compiler made."""
    torch = tree / "here" / "torch"
    (torch / "include").mkdir(parents=True)
    (torch / "__init__.py").touch()
    (torch / "version.py").write_text(f"__version__ = {release!r}\n")
    (torch / "include" / "release.h").write_text(f'#define RELEASE "{release}"\n')
    build = tree / "wheel" / "build"
    build.mkdir(parents=True)
    (build.parent / ".venv").symlink_to(tree / "here")
    source = build.parent / "source.cpp"
    source.write_text("#include <release.h>\nextern const char* const kRelease = RELEASE;\n")
    path = os.pathsep.join([str(torch.parent), str(Path(compiler_cache.__file__).parent)])
    asked = subprocess.run(
        [sys.executable, "-c", SETTINGS, build.parent],
        env=os.environ | {"PYTHONPATH": path},
        check=True,
        capture_output=True,
    )
    env = os.environ | json.loads(asked.stdout) | {"CCACHE_DIR": str(cache)}
    command = ["ccache", "c++", "-MD", "-MF", "source.d", "-isystem", build.parent / ".venv" / "torch" / "include"]
    subprocess.run([*command, "-c", source, "-o", "source.o"], cwd=build, env=env, check=True)
    return (build / "source.o").read_bytes()


def misses_and_hits(cache: Path) -> tuple[str, str]:
    """How often a cache had nothing, and how often what was asked for."""
    env = os.environ | {"CCACHE_DIR": str(cache)}
    printed = subprocess.check_output(["ccache", "--print-stats"], env=env, text=True)
    counts = dict(line.split("\t") for line in printed.splitlines())
    return counts["cache_miss"], counts["direct_cache_hit"]


def test_what_was_compiled_with_one_pytorch_is_not_there_for_another(tmp_path: Path) -> None:
    for release in ("1.2.3", "4.5.6"):
        assert release.encode() in compiled(tmp_path / release, release, tmp_path / "cache")


def test_what_was_compiled_with_a_pytorch_is_there_for_the_same_one_in_another_folder(tmp_path: Path) -> None:
    for name in ("one", "other"):
        compiled(tmp_path / name, "1.2.3", tmp_path / "cache")
    assert misses_and_hits(tmp_path / "cache") == ("1", "1")


def compile_in(build: Path, ending: str, folder: Path) -> None:
    """Compiles the unit of a build folder whose object's name ends so, with another cache, and into another folder."""
    env = os.environ | compiler_cache.environment(REPOSITORY) | {"CCACHE_DIR": str(folder / "cache")}
    targets = subprocess.check_output(["ninja", "-t", "targets", "all"], cwd=build, text=True).splitlines()
    [name] = [name for name, _, _ in (line.partition(": ") for line in targets) if name.endswith(ending)]
    words = shlex.split(subprocess.check_output(["ninja", "-t", "commands", "-s", name], cwd=build, text=True))
    assert words[words.index("-o") + 1] == name
    words[words.index("-o") + 1], words[words.index("-MF") + 1] = str(folder / "made.o"), str(folder / "made.d")
    subprocess.run(words if "ccache" in words[0] else ["ccache", *words], cwd=build, env=env, check=True)


@pytest.mark.timeout(4000)
def test_what_the_build_has_compiled_is_there_for_a_step(shop: Workshop, tmp_path: Path) -> None:
    last = len(shop.ladder.steps) - 1
    for build in (REPOSITORY / "build" / "cmake", shop.site(last).with_name("src") / "build" / "cmake"):
        compile_in(build, "unity_custom_ops_cxx.cxx.o", tmp_path)
    assert misses_and_hits(tmp_path / "cache") == ("1", "1")


RELEASE = ["-DCMAKE_BUILD_TYPE=Release"]
SANITIZED = ["-DCMAKE_BUILD_TYPE=None", "-DCMAKE_CXX_FLAGS=-O1", "-DOPENREG_SANITIZE=thread"]


@pytest.mark.parametrize(
    ("projects", "options"),
    [([".", "openreg/driver"], RELEASE), (["tests/contract/stress", "tests/backend/stress"], SANITIZED)],
    ids=["whole and alone", "stress programs"],
)
def test_what_one_project_has_compiled_of_the_driver_is_there_for_another(
    tmp_path: Path, projects: list[str], options: list[str]
) -> None:
    for project in projects:
        build = REPOSITORY / "build" / f"cached-{project.replace('/', '-')}"  # as deep as others are
        always = ["-G", "Ninja", f"-DPython_EXECUTABLE={sys.executable}", "-DOPENREG_WERROR=ON"]
        command = ["cmake", "-S", REPOSITORY / project, "-B", build, *always, *options]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        compile_in(build, "openreg_units/common_graph.cpp.o", tmp_path)
    assert misses_and_hits(tmp_path / "cache") == ("1", "1")
