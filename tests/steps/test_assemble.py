"""The tree of a step: which files, which lines of them, and what is refused."""

from pathlib import Path

import pytest
from assemble import StepError

from .conftest import Toy

GUARD_H = "openreg/csrc/device/guard.h"
INIT = "openreg/torch_openreg/__init__.py"


def files(folder: Path) -> set[str]:
    """Returns the paths of all files below a folder."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_step_has_its_own_files_and_those_of_earlier_steps(toy: Toy) -> None:
    first, second, third = map(set, toy.ladder.trees)
    assert second - first == {
        "openreg/csrc/stream/stream.h",
        "openreg/csrc/stream/stream.cpp",
        "openreg/csrc/memory/direct.cpp",
        "openreg/torch_openreg/stream.py",
    }
    assert third - second == {"openreg/csrc/memory/caching.cpp", "openreg/torch_openreg/memory.py"}
    assert "LICENSE" in third


def test_a_replaced_file_goes_and_came_from_the_folder_of_its_step(toy: Toy) -> None:
    path = "openreg/csrc/memory/direct.cpp"
    assert toy.ladder.trees[1][path] == toy.root / "steps/02-stream/direct.cpp"
    assert path not in toy.ladder.trees[2]


def test_a_file_may_be_replaced_by_one_of_the_same_name(toy: Toy) -> None:
    path = "openreg/csrc/memory/caching.cpp"
    toy.edit("steps/02-stream/step.toml", "openreg/csrc/memory/direct.cpp", path)
    toy.edit("steps/03-memory/step.toml", "openreg/csrc/memory/direct.cpp", path)
    assert toy.ladder.trees[1][path] == toy.root / "steps/02-stream/direct.cpp"
    assert toy.ladder.trees[2][path] == toy.root / path
    assert toy.problems().splitlines() == [
        "steps/02-stream/README.md: the table is not up to date; run: python steps/check.py --fix"
    ]


def test_two_stars_find_files_of_all_folders_below(toy: Toy) -> None:
    toy.write("openreg/csrc/device/a/b/deep.h", "// Deep.\n")
    assert "openreg/csrc/device/a/b/deep.h" in toy.ladder.trees[0]


def test_a_pattern_stands_for_what_no_earlier_step_has(toy: Toy) -> None:
    before = toy.ladder.trees[2].keys()
    toy.edit("steps/03-memory/step.toml", '"openreg/csrc/memory/**"', '"openreg/csrc/**"')
    assert toy.ladder.trees[2].keys() == before


@pytest.mark.parametrize("later", ["openreg/csrc/device/later/**", "openreg/csrc/device/later/deep.h"])
def test_a_pattern_leaves_to_later_steps_what_they_add_more_precisely(toy: Toy, later: str) -> None:
    toy.write("openreg/csrc/device/later/deep.h", "// Deep.\n")
    toy.edit("steps/03-memory/step.toml", "adds = [", f'adds = ["{later}", ')
    assert ["openreg/csrc/device/later/deep.h" in tree for tree in toy.ladder.trees] == [False, False, True]


def test_a_pattern_leaves_nothing_to_a_wider_one(toy: Toy) -> None:
    toy.edit("steps/03-memory/step.toml", '"openreg/csrc/memory/**"', '"openreg/**"')
    assert GUARD_H in toy.ladder.trees[0]


def test_a_pattern_that_finds_only_what_earlier_steps_have_is_refused(toy: Toy) -> None:
    toy.edit("steps/03-memory/step.toml", '"openreg/csrc/memory/**"', '"openreg/csrc/stream/*"')
    with pytest.raises(
        StepError, match=r"adds 'openreg/csrc/stream/\*', which matches no file that no earlier step has"
    ):
        _ = toy.ladder


def test_what_builds_leave_behind_is_in_no_tree(toy: Toy) -> None:
    toy.edit(
        "steps/03-memory/step.toml",
        '"openreg/torch_openreg/memory.py"',
        '"openreg/torch_openreg/[!_ds]*", "openreg/new/**"',
    )
    toy.write("openreg/new/it.h", "// It.\n")
    before = toy.ladder.trees[2].keys()
    for path in ("__pycache__/x.pyc", "lib/libtoy.so", "x.so", ".cache/x", "toy.egg-info/PKG-INFO", "build/x.o"):
        toy.write(f"openreg/new/{path}", "")
    assert toy.ladder.trees[2].keys() == before


def test_steps_are_found_by_number_and_name(toy: Toy) -> None:
    assert [toy.ladder.find(name) for name in ("1", "02", "03-memory")] == [0, 1, 2]
    with pytest.raises(StepError, match=r"^no step '7'; there are 01-device, 02-stream, 03-memory$"):
        toy.ladder.find("7")


def test_a_region_is_left_out_until_its_step(toy: Toy) -> None:
    assert "streamOf" not in toy.ladder.text(0, GUARD_H)
    assert "streamOf" in toy.ladder.text(1, GUARD_H)
    assert "LITERALINCLUDE" not in toy.ladder.text(1, GUARD_H)
    assert toy.ladder.text(0, GUARD_H, keep_markers=True).count("LITERALINCLUDE") == 2


def test_what_remains_reads_as_if_written_for_the_step(toy: Toy) -> None:
    assert toy.ladder.text(0, GUARD_H).splitlines()[:18] == [
        "// The guard: which device is current.",
        "#pragma once",
        "",
        '#include "device/device.h"',
        "",
        "#include <string>",
        "",
        "namespace toy {",
        "",
        "struct Guard {",
        "  int device() const {",
        "    return check(current_);",
        "  }",
        "",
        "  std::string name() const;",
        "",
        " private:",
        "  static constexpr int kNone = -1;",
    ]


@pytest.mark.parametrize(
    "line",
    [
        '#include "stream/stream.h"',  # from openreg/csrc
        '#include "csrc/stream/stream.h"',  # from openreg
        '#include "../stream/stream.h"',  # from the file's own folder
        "  #  include <stream/stream.h>  // why",
        '#include "late.h"',  # from openreg/driver/include
    ],
)
def test_a_line_that_includes_a_missing_file_drops_out(toy: Toy, line: str) -> None:
    toy.edit("steps/02-stream/step.toml", "adds = [", 'adds = ["openreg/driver/include/late.h", ')
    toy.write("openreg/driver/include/late.h", "// Late.\n")
    toy.edit(GUARD_H, "#include <string>", line)
    assert line not in toy.ladder.text(0, GUARD_H).splitlines()
    assert line in toy.ladder.text(1, GUARD_H).splitlines()


@pytest.mark.parametrize(
    "line", ["#include <vector>", '#include "no/such.h"', '#include "device.h"', "// see stream/stream.h"]
)
def test_other_includes_stay(toy: Toy, line: str) -> None:
    toy.edit(GUARD_H, "#include <string>", line)
    assert line in toy.ladder.text(0, GUARD_H).splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "from .stream import stream",
        "from .stream import *  # noqa: F403",
        "    from .stream import stream as stream",
        "from . import stream",
        "from . import memory, stream",
        "from ..torch_openreg.stream import stream",
        "import torch_openreg.stream",
        "import torch_openreg.stream as s",
        "from torch_openreg.stream import stream, other",
    ],
)
def test_a_line_that_imports_a_missing_module_drops_out(toy: Toy, line: str) -> None:
    toy.edit(INIT, "from .stream import stream", line)
    assert toy.ladder.text(0, INIT).splitlines()[2:] == ["from .device import count"]
    assert line in toy.ladder.text(2, INIT).splitlines()


@pytest.mark.parametrize(
    "line",
    ["import stream", "from . import _C", "from . import device", "import torch, sys", "from torch import stream"],
)
def test_other_imports_stay(toy: Toy, line: str) -> None:
    toy.edit(INIT, "from .stream import stream", line)
    assert line in toy.ladder.text(0, INIT).splitlines()


@pytest.mark.parametrize("line", ["from . import device, stream", "from .stream import (\n    stream,\n)"])
def test_an_import_that_cannot_drop_out_as_a_line_is_refused(toy: Toy, line: str) -> None:
    toy.edit(INIT, "from .stream import stream", line)
    with pytest.raises(StepError, match="a step lacks a part of this import, so write one line for each: from"):
        toy.ladder.text(0, INIT)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('title = "A stream"', 'titel = "A stream"', "unexpected keyword argument 'titel'"),
        ('chapter = "02-stream"', "", "missing 1 required positional argument: 'chapter'"),
        ('title = "A stream"', "title = A stream", "02-stream/step.toml: Invalid value"),
        ("stream.py", "streem.py", "adds 'openreg/torch_openreg/streem.py', which matches no file"),
        ("stream.py", "device.py", "step 02-stream adds 'openreg/torch_openreg/device.py', which an earlier step has"),
        ("grows =", 'replaces = ["x.h"]\ngrows =', "step 02-stream replaces 'x.h', which no earlier step has"),
    ],
)
def test_a_faulty_step_is_refused(toy: Toy, old: str, new: str, message: str) -> None:
    toy.edit("steps/02-stream/step.toml", old, new)
    with pytest.raises(StepError, match=message):
        _ = toy.ladder


def test_assembling_writes_the_tree_with_its_markers(toy: Toy, tmp_path: Path) -> None:
    ladder = toy.ladder
    ladder.assemble(1, tmp_path / "out")
    assert files(tmp_path / "out") == set(ladder.trees[1])
    assert (tmp_path / "out" / GUARD_H).read_text() == toy.read(GUARD_H)


def test_assembling_again_touches_only_what_has_changed_and_removes_what_is_gone(toy: Toy, tmp_path: Path) -> None:
    out = tmp_path / "out"
    toy.ladder.assemble(1, out)
    times = {path: (out / path).stat().st_mtime_ns for path in files(out)}
    toy.edit(GUARD_H, "which device", "what device")
    toy.ladder.assemble(2, out)
    changed = {path for path in files(out) if times.get(path) != (out / path).stat().st_mtime_ns}
    assert changed == {GUARD_H, "openreg/csrc/memory/caching.cpp", "openreg/torch_openreg/memory.py", INIT}
    assert not (out / "openreg/csrc/memory/direct.cpp").exists()


def test_handing_out_makes_a_project_without_markers(toy: Toy, tmp_path: Path) -> None:
    out = tmp_path / "out"
    toy.ladder.hand_out(1, out)
    assert files(out) == {*toy.ladder.trees[1], "README.md", "demo.py"}
    assert not [path for path in files(out) if "LITERALINCLUDE" in (out / path).read_text()]
    assert (out / "demo.py").read_text() == toy.read("steps/02-stream/demo.py")


def test_links_of_a_handed_out_readme_stay_within_it(toy: Toy, tmp_path: Path) -> None:
    toy.ladder.hand_out(0, tmp_path / "out")
    readme = (tmp_path / "out/README.md").read_text()
    assert "See the chapter." in readme
    assert "[openreg/csrc/device](openreg/csrc/device)" in readme
    assert "../" not in readme


def test_a_folder_that_holds_something_is_not_handed_out_to(toy: Toy, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(StepError, match="is not empty: name a new folder"):
        toy.ladder.hand_out(0, tmp_path)
    assert (tmp_path / "precious").read_text() == "mine"
