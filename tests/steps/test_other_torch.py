"""The copy of the repository for another version of PyTorch (make test TORCH=2.14.1)."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from loading import load_module

from .conftest import REPOSITORY


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """tools/other_torch.py, which finds its neighbours as if it were run."""
    monkeypatch.syspath_prepend(str(REPOSITORY / "tools"))
    monkeypatch.delitem(sys.modules, "files", raising=False)
    return load_module(REPOSITORY / "tools" / "other_torch.py")


def repository(root: Path, **files: str) -> list[Path]:
    """Writes a small repository and returns its files."""
    for name, text in files.items():
        (root / name.replace("_", ".")).write_text(text)
    return sorted(path for path in root.iterdir() if path.is_file())


def test_the_copy_has_all_files_and_the_other_version(tool: ModuleType, tmp_path: Path) -> None:
    project = 'requires = ["cmake", "torch>=2.13,<2.15"]\nrun = ["torch==2.13.0", "numpy==1.0"]\n'
    folder = tool.copy("2.14.1", tmp_path, repository(tmp_path, pyproject_toml=project, run_sh="torch==2.13.0\n"))
    named = 'requires = ["cmake", "torch==2.14.1"]\nrun = ["torch==2.14.1", "numpy==1.0"]\n'
    assert (folder / "pyproject.toml").read_text() == named
    assert (folder / "run.sh").read_text() == "torch==2.13.0\n"
    assert folder == tmp_path / "build" / "torch" / "2.14.1"


def test_a_copy_that_is_made_again_touches_what_has_changed_only(tool: ModuleType, tmp_path: Path) -> None:
    folder = tool.copy("2.14.1", tmp_path, repository(tmp_path, a_txt="a", b_txt="b", c_txt="c"))
    (folder / "built.so").write_text("stays")
    times = {name: (folder / name).stat().st_mtime_ns for name in ("a.txt", "b.txt", "built.so")}
    (tmp_path / "c.txt").unlink()
    tool.copy("2.14.1", tmp_path, repository(tmp_path, b_txt="other"))
    assert (folder / "b.txt").read_text() == "other" and not (folder / "c.txt").exists()
    assert times["a.txt"] == (folder / "a.txt").stat().st_mtime_ns
    assert times["built.so"] == (folder / "built.so").stat().st_mtime_ns


def test_the_real_project_names_pytorch_twice_and_each_release_that_it_takes_is_tested(tool: ModuleType) -> None:
    taken, installed = tool.NAMED.findall((REPOSITORY / "pyproject.toml").read_text())
    workflow = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "tests.yml").read_text())
    others = workflow["jobs"]["versions"]["strategy"]["matrix"]["torch"]
    if taken == installed:
        pytest.skip("this is a copy for one version")
    first, end = map(int, re.fullmatch(r">=2\.(\d+),<2\.(\d+)", taken).groups())
    assert sorted(int(release.split(".")[1]) for release in [installed, *others]) == list(range(first, end))
