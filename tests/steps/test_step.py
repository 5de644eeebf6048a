"""`make step` and `make steps`: what they print, and what they say to do next."""

import contextlib
import subprocess
import sys
from importlib.metadata import version

import pytest
from step import Stop, Workshop, difference, tidy

from .conftest import REPOSITORY, Toy

TRACEBACK = """\
hello
Traceback (most recent call last):
  File "/home/me/steps/02/demo.py", line 3, in <module>
    torch.empty(1)
    ^^^^^^^^^^^^^^
NotImplementedError: Could not run it: /usr/lib/python3/torch/x.py has no
kernel for it.

CPU: registered at /pytorch/build/x.cpp:1 [kernel]
CUDA: fallthrough
"""


def make(toy: Toy, *arguments: str) -> tuple[int, list[str]]:
    """Runs the command in the small repository and returns its exit code and lines."""
    command = [sys.executable, str(toy.root / "steps/step.py"), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.splitlines()


# -- recorded outputs --------------------------------------------------------------------------------------------------
def test_of_a_traceback_the_first_paragraph_of_the_error_is_recorded() -> None:
    assert tidy(TRACEBACK) == (
        "hello\nTraceback (most recent call last):\n  ...\n"
        "NotImplementedError: Could not run it: .../x.py has no\nkernel for it.\n...\n"
    )


def test_of_chained_tracebacks_the_last_error_is_recorded() -> None:
    chained = (
        TRACEBACK + "\nDuring handling of the above, another occurred:\n\n" + TRACEBACK.replace("NotImpl", "Runtime")
    )
    assert tidy(chained) == tidy(TRACEBACK).replace("NotImpl", "Runtime")


def test_what_pytorch_logs_of_a_missing_gpu_is_not_recorded() -> None:
    logged = "W1128 23:50:01.616 31036 cpp_extension.py:183] No CUDA runtime is found, using CUDA_HOME='/usr'"
    assert tidy(f"one\n{logged}\ntwo\n") == "one\ntwo\n"


def test_other_output_stays_as_it_is() -> None:
    text = "a/b/c, 3 / 4, https://pytorch.org/docs/stable/x.html, /tmp\n\n  indented\n"
    assert tidy(text) == text


@pytest.mark.parametrize(
    ("recorded", "printed", "differs"),
    [
        ("took 3.5 ms at 0x7f00", "took 12 ms at 0xab", False),
        ("took 3.5 ms", "took 3.5 s", True),
        ("loss 0.25", "loss 0.26", True),
        ("a\nb", "a", True),
        ("a ", "a", True),
        ('FAILED at ".../Allocator.h":261, please', 'FAILED at ".../Allocator.h":276, please', False),
        ('FAILED at ".../Allocator.h":261, please', 'FAILED at ".../Other.h":261, please', True),
        ("for these backends: [CPU, Meta].", "for these backends: [CPU, CUDA, Meta].", False),
        ("'abs' is for these backends: [CPU].", "'exp' is for these backends: [CPU].", True),
    ],
)
def test_only_times_addresses_and_what_a_build_of_pytorch_knows_may_differ(
    recorded: str, printed: str, differs: bool
) -> None:
    assert bool(difference(recorded, printed)) is differs


# -- one step ----------------------------------------------------------------------------------------------------------
def test_a_step_ends_by_naming_its_chapter_and_the_next_step(toy: Toy) -> None:
    code, lines = make(toy, "2")
    assert code == 0
    assert lines[0] == "=== 02-stream: A stream"
    assert lines.index("AttributeError: module 'torch_openreg' has no attribute 'stream'") < lines.index("default")
    assert lines[-2].startswith("1 passed")
    assert lines[-1] == "next: read docs/guide/02-stream.md, then make step N=03"
    assert (toy.root / "build/steps/02/site/torch_openreg/stream.py").is_file()
    assert not (toy.root / "build/steps/02/site/torch_openreg/memory.py").exists()


def test_the_last_step_is_followed_by_all_steps(toy: Toy) -> None:
    assert make(toy, "03")[1][-1] == "next: read docs/guide/03-memory.md, then make steps"


@pytest.mark.parametrize("name", ["1", "02", "03-memory"])
def test_red_shows_that_the_step_before_fails_as_recorded(toy: Toy, name: str) -> None:
    code, lines = make(toy, name, "--red")
    folder = next(toy.root.glob(f"steps/*{name}*/before.txt"))
    assert code == 0
    assert "\n".join(folder.read_text().splitlines()) in "\n".join(lines)
    assert lines[-1] == f"next: make step N={folder.parent.name[:2]}"


def test_building_again_compiles_only_what_has_changed(toy: Toy) -> None:
    shop = Workshop(toy.root)
    shop.build(1)
    objects = {path.name: path for path in toy.root.glob("build/steps/02/**/*.o")}
    times = {name: path.stat().st_mtime_ns for name, path in objects.items()}
    toy.edit("openreg/csrc/stream/stream.cpp", "+ 1", "+ 2")
    shop.build(1)
    assert {name for name, path in objects.items() if path.stat().st_mtime_ns != times[name]} == {"stream.cpp.o"}


def test_a_file_that_the_package_lost_is_not_installed_any_more(toy: Toy) -> None:
    Workshop(toy.root).build(1)
    toy.edit("steps/02-stream/step.toml", ', "openreg/torch_openreg/stream.py"', "")
    toy.edit("steps/03-memory/step.toml", "adds = [", 'adds = ["openreg/torch_openreg/stream.py", ')
    Workshop(toy.root).build(1)
    assert not (toy.root / "build/steps/02/site/torch_openreg/stream.py").exists()


def test_the_folder_of_a_step_is_a_source_of_cmake(toy: Toy) -> None:
    build, file = toy.root / "build/mine", "openreg/csrc/stream/stream.cpp"
    command = ["cmake", "-G", "Ninja", "-S", str(toy.root / "steps/02-stream"), "-B", str(build)]
    subprocess.run(command, check=True)
    assert {path.relative_to(build / "src").as_posix() for path in build.glob("src/**/*") if path.is_file()} == set(
        toy.ladder.trees[1]
    )
    toy.edit(file, "+ 1", "+ 2")
    subprocess.run(["cmake", "--build", str(build)], check=True)
    assert "+ 2" in (build / "src" / file).read_text()
    assert len(list(build.glob("**/stream.cpp.o"))) == 1


# -- what goes wrong ---------------------------------------------------------------------------------------------------
def test_a_compiler_error_names_the_file_and_the_chapter_that_explains_it(toy: Toy) -> None:
    toy.edit("openreg/csrc/device/guard.cpp", 'return "toy";', "return toy;")
    code, lines = make(toy, "3")
    place = f"{toy.root}/build/steps/03/src/openreg/csrc/device/guard.cpp:11"
    assert code == 1
    assert lines[-1].startswith(f"next: mend openreg/csrc/device/guard.cpp ({place}: ")
    assert lines[-1].endswith("explained in docs/guide/01-device.md")


def test_a_warning_is_an_error(toy: Toy) -> None:
    toy.edit("openreg/csrc/stream/stream.cpp", "return device + 1;", "int unused;\n  return device + 1;")
    with pytest.raises(Stop, match=r"^mend openreg/csrc/stream/stream.cpp .*explained in docs/guide/02-stream.md$"):
        Workshop(toy.root).build(2)


def test_a_faulty_cmake_file_is_reported_as_the_build(toy: Toy) -> None:
    toy.edit("CMakeLists.txt", "project(toy CXX)", "project(toy CXX)\nno_such_command()")
    with pytest.raises(Stop, match=r"^mend the build \(see above\), explained in docs/guide/01-device.md$"):
        Workshop(toy.root).build(0)


def test_a_failing_test_is_named_with_the_chapter(toy: Toy) -> None:
    toy.edit("steps/02-stream/test_step.py", "== 2", "== 3")
    code, lines = make(toy, "2")
    assert code == 1
    assert lines[-1] == (
        "next: mend steps/02-stream/test_step.py::test_it_counts, which fails, explained in docs/guide/02-stream.md"
    )


@pytest.mark.parametrize("name", ["before.txt", "after.txt"])
def test_a_wrong_transcript_is_found(toy: Toy, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    file = toy.root / "steps/02-stream" / name
    file.write_text(file.read_text().replace("stream", "brook").replace("default", "other"))
    shop = Workshop(toy.root)
    shop.build(1)
    with pytest.raises(Stop, match=rf"^mend steps/02-stream/demo.py, which does not print {name} .*02-stream.md$"):
        shop.red(1) if name == "before.txt" else shop.show(1, name, shop.site(1))
    assert "+++ printed" in capsys.readouterr().out


@pytest.mark.parametrize(("said", "fits"), [("torch 1.2.3 of 3 devices", True), ("torch 1.2.3 of 4 devices", False)])
def test_with_another_pytorch_a_transcript_may_differ_in_its_version_only(toy: Toy, said: str, fits: bool) -> None:
    here = version("torch").partition("+")[0]
    toy.write("steps/recorded_with.txt", "1.2.3\n")
    toy.write("steps/01-device/after.txt", f"$ python demo.py\n{said}\n")
    toy.write("steps/01-device/demo.py", f"print('torch {here} of 3 devices')\n")
    shop = Workshop(toy.root)
    shop.build(0)
    with contextlib.nullcontext() if fits else pytest.raises(Stop, match=r"which does not print after\.txt"):
        shop.show(0, "after.txt", shop.site(0))


def test_the_version_that_transcripts_were_recorded_with_is_the_one_that_they_show() -> None:
    recorded_with = (REPOSITORY / "steps" / "recorded_with.txt").read_text().strip()
    shown = (REPOSITORY / "steps" / "01-device" / "after.txt").read_text()
    assert f"\nbuilt for torch {recorded_with}\n" in shown


def test_a_program_that_does_not_fail_on_the_step_before_is_found(toy: Toy) -> None:
    toy.edit("openreg/torch_openreg/__init__.py", "from .stream import stream\n", "def stream():\n    return 1\n")
    with pytest.raises(Stop, match=r"which does not print before.txt"):
        Workshop(toy.root).red(1)


def test_a_program_must_succeed_on_its_step(toy: Toy) -> None:
    toy.write("steps/01-device/demo.py", toy.read("steps/01-device/demo.py") + "raise SystemExit(3)\n")
    shop = Workshop(toy.root)
    shop.build(0)
    with pytest.raises(Stop, match=r"which ends with exit code 3, explained in docs/guide/01-device.md"):
        shop.show(0, "after.txt", shop.site(0))


def test_a_faulty_marker_is_named_in_the_last_line(toy: Toy) -> None:
    toy.edit("openreg/csrc/memory/caching.cpp", "END: CACHING", "END: CASHING")
    code, lines = make(toy, "3")
    assert code == 1
    assert lines[-1].startswith("next: openreg/csrc/memory/caching.cpp:5: END of region 'CASHING'")


# -- recording, handing out, all steps ---------------------------------------------------------------------------------
def test_outputs_are_recorded_from_runs(toy: Toy) -> None:
    recorded = {path: path.read_text() for path in toy.root.glob("steps/*/[ab]*.txt")}
    for path in recorded:
        path.unlink()
    code, lines = make(toy, "all", "--record")
    assert code == 0, lines
    assert {path: path.read_text() for path in toy.root.glob("steps/*/[ab]*.txt")} == recorded
    assert toy.read("steps/recorded_with.txt") == version("torch").partition("+")[0] + "\n"


def test_a_recorded_command_is_kept(toy: Toy) -> None:
    toy.edit("steps/01-device/after.txt", "$ python demo.py", "$ GREETING=hi python -X utf8 demo.py")
    shop = Workshop(toy.root, record=True)
    shop.build(0)
    toy.write("steps/01-device/demo.py", "import os\nprint(os.environ['GREETING'])\n")
    shop.show(0, "after.txt", shop.site(0))
    assert toy.read("steps/01-device/after.txt") == "$ GREETING=hi python -X utf8 demo.py\nhi\n"


def test_handing_out_says_how_to_go_on(toy: Toy) -> None:
    out = toy.root / "out"
    assert make(toy, "2", "--out", str(out)) == (
        0,
        [
            f"next: cd {out} && pip install thing==1.0 'toymaker>=7' && pip install --no-build-isolation ."
            " && python demo.py"
        ],
    )
    assert (out / "openreg/torch_openreg/stream.py").is_file()


def test_all_steps_make_a_table(toy: Toy) -> None:
    code, lines = make(toy, "all")
    assert code == 0
    assert lines[-4].split() == ["step", "files", "lines", "new", "lines", "build", "s", "demo", "tests", "red"]
    sizes = [sum(len(toy.ladder.text(i, p).splitlines()) for p in tree) for i, tree in enumerate(toy.ladder.trees)]
    for index, row in enumerate(line.split() for line in lines[-3:]):
        assert row[0] == toy.ladder.steps[index].name
        assert int(row[1]) == len(toy.ladder.trees[index])
        assert int(row[2]) == sizes[index]
        assert int(row[3]) == sizes[index] - (sizes[index - 1] if index else 0)
        assert row[5] == row[-1] == "ok"
