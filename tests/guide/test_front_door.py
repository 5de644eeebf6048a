"""What a newcomer sees first: README.md, the start page, the recording on both, the workflows that publish them."""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest
from loading import load_module

from .conftest import ROOT


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch):
    """A program of tools/ as a module, by its name."""

    def load(name: str) -> ModuleType:
        monkeypatch.syspath_prepend(str(ROOT / "tools"))
        for other in ("files", "readme"):
            monkeypatch.delitem(sys.modules, other, raising=False)
        return load_module(ROOT / "tools" / f"{name}.py")

    return load


def spoken(svg: str) -> list[str]:
    return [unescape(text) for text in re.findall(r"<text[^>]*>(.*?)</text>", svg)]


def test_the_recording_shows_what_the_step_prints(tool) -> None:
    recording = tool("recording")
    said = spoken(recording.FILE.read_text())
    assert said[0] == f"$ {recording.COMMAND}"
    for name in ("before.txt", "after.txt"):
        recorded = (ROOT / "steps/02-tensor" / name).read_text().splitlines()
        shown = [line if len(line) <= recording.COLUMNS else line[: recording.COLUMNS - 1] + "…" for line in recorded]
        at = said.index(shown[0])
        assert said[at : at + len(shown)] == shown, f"{name} is another now: make recording"
        said = said[at + len(shown) :]
    assert said[-1].startswith("next: ")


def test_a_recording_is_red_before_the_build_and_green_after_it_and_no_pause_is_long(tool) -> None:
    lines = [(0, "On the step before:"), (0, "a < b"), (90, "building x ..."), (0, "On this step, built:"), (0, "ok")]
    svg = tool("recording").picture("make", lines)
    kinds = re.findall(r'class="said ?(\w*)" style="animation-delay: ([\d.]+)s"[^>]*>(.*?)<', svg)
    assert [(kind, text) for kind, _, text in kinds] == [
        ("typed", "$ make"),
        ("red", "On the step before:"),
        ("red", "a &lt; b"),
        ("", "building x ..."),
        ("green", "On this step, built:"),
        ("green", "ok"),
    ]
    times = [float(time) for _, time, _ in kinds]
    assert times == sorted(times) and times[-1] < 5


def test_a_command_that_fails_is_not_recorded(tool) -> None:
    with pytest.raises(SystemExit, match="recording: false failed"):
        tool("recording").run("false")


def test_a_figure_that_has_changed_is_noticed_on_both_pages(tool) -> None:
    readme = tool("readme")
    assert readme.check_readme() == ""
    readme.read = lambda path, read=readme.read: read(path) | ({"make": 60} if "times" in path else {})
    assert [line.partition(":")[0] for line in readme.check_readme().splitlines()] == ["README.md", "docs/index.md"]


def test_a_measured_time_takes_the_place_of_the_old_one_and_an_unknown_one_is_an_error(tool) -> None:
    times = tool("times")
    assert times.renewed("make = 9 # s\ndisk = 1.0\n", {"make": 61.4, "disk": 2.04}) == "make = 61 # s\ndisk = 2.0\n"
    with pytest.raises(SystemExit, match="'test'"):
        times.renewed("make = 9\n", {"test": 1.0})


GOOD = """\
name: it
on: {push: {branches: [main]}}
permissions: {contents: read}
concurrency: {group: it, cancel-in-progress: true}
jobs:
  it:
    name: it
    runs-on: ubuntu-24.04
    steps:
      - run: make
"""


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [
        ("name: it", "name: it", ""),
        ("runs-on:", "runs-one:", "runs-on"),
        ("- run: make", "- run: echo ${{ github.event.pull_request.title }}", "template-injection"),
        ("- run: make", "- uses: actions/checkout@v7", "unpinned-uses"),
        ("permissions: {contents: read}\n", "", "excessive-permissions"),
    ],
)
def test_a_workflow_that_is_wrong_is_found(tool, tmp_path: Path, old: str, new: str, word: str) -> None:
    (tmp_path / "it.yml").write_text(GOOD.replace(old, new))
    said = "\n".join(filter(None, tool("lint").check_workflows(tmp_path)))
    assert (word in said) if word else (said == ""), said


def test_the_workflows_run_what_the_repository_has() -> None:
    workflows = {path.name: path.read_text() for path in ROOT.glob(".github/workflows/*.yml")}
    assert "- run: .ci/run\n" in workflows["tests.yml"]
    assert " make wheel\n" in workflows["wheel.yml"] and "path: dist\n" in workflows["wheel.yml"]
    assert "- run: make guide\n" in workflows["site.yml"] and "path: build/guide\n" in workflows["site.yml"]
    assert ".PHONY: guide\n" in (ROOT / "Makefile").read_text() and (ROOT / ".ci/run").stat().st_mode & 0o100


def test_a_dev_container_makes_everything_and_finds_what_make_leaves() -> None:
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    assert container["postCreateCommand"].endswith("&& make")
    assert container["hostRequirements"]["cpus"] == 2
