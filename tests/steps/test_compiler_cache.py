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


@pytest.mark.timeout(4000)
def test_what_the_build_has_compiled_is_there_for_a_step(shop: Workshop, tmp_path: Path) -> None:
    env = os.environ | compiler_cache.environment(REPOSITORY) | {"CCACHE_DIR": str(tmp_path / "cache")}
    name = "openreg/csrc/CMakeFiles/torch_openreg.dir/Unity/unity_custom_ops_cxx.cxx.o"
    last = len(shop.ladder.steps) - 1
    for build in (REPOSITORY / "build" / "cmake", shop.site(last).with_name("src") / "build" / "cmake"):
        words = shlex.split(subprocess.check_output(["ninja", "-t", "commands", "-s", name], cwd=build, text=True))
        assert words[words.index("-o") + 1] == name
        words[words.index("-o") + 1], words[words.index("-MF") + 1] = str(tmp_path / "made.o"), str(tmp_path / "made.d")
        subprocess.run(words, cwd=build, env=env, check=True)
    assert misses_and_hits(tmp_path / "cache") == ("1", "1")
