"""backend/generate.py: a backend under another name, from any step, with a driver to write."""

from __future__ import annotations

import importlib.util
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from .vendor import CACHE, VENDOR, call, git, vendors_files

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "backend"))

import generate  # noqa: E402
import names  # noqa: E402
import skeleton  # noqa: E402
import try_out  # noqa: E402

# One project is built for many of them, by whichever comes first.
pytestmark = [pytest.mark.timeout(1800), pytest.mark.xdist_group("generated")]


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """What the generator says to this command line."""
    line = [sys.executable, str(ROOT / "backend" / "generate.py"), *map(str, arguments)]
    # The folder of a clone, which make names in that variable, is often called openreg: no file may keep its path.
    cached = CACHE | {"PYTHONPYCACHEPREFIX": "/tmp/openreg/pycache"}
    return subprocess.run(line, capture_output=True, text=True, check=False, timeout=900, env=os.environ | cached)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "and torch.device() reads nothing but letters"),
        ("Acme", "and torch.device() reads nothing but letters"),
        ("acme2", "and torch.device() reads nothing but letters"),
        ("acme-x", "and torch.device() reads nothing but letters"),
        ("_acme", "and torch.device() reads nothing but letters"),
        ("lambda", "so torch.lambda would be no Python"),
        ("match", "so torch.match would be no Python"),
        ("template", "so namespace template would be no C++"),
        ("static_cast", "so namespace static_cast would be no C++"),
        ("linux", "so namespace linux would be no C++"),  # a macro of the compiler's
        ("at", "which is a namespace of another library"),
        ("tests", "which is a folder that each project has"),
        ("openreg", "which is this repository's own name"),
        ("cuda", "which is a device that PyTorch has"),
        ("fft", "and torch.fft is something else in PyTorch"),
        ("cos", "and torch.cos is something else in PyTorch"),
        ("sparse", "and torch.sparse is something else in PyTorch"),
        ("complex", "and torch.complex is something else in PyTorch"),
        ("contiguous", "and Tensor.contiguous is something else in PyTorch"),
    ],
)
def test_a_name_that_no_backend_can_have_is_refused_with_the_reason(name: str, reason: str) -> None:
    with pytest.raises(ValueError, match="expected a word of your own in small letters, such as 'acme'") as error:
        names.check(name)
    assert f"NAME is {name!r}, {reason}" in str(error.value)


@pytest.mark.parametrize("name", ["acme", "big_chip", "x"])
def test_a_word_of_ones_own_is_taken(name: str) -> None:
    names.check(name)


def test_each_form_of_the_name_becomes_the_others() -> None:
    said = "torch.openreg, libtorch_openreg.so, OPENREG_DRIVER, OpenReg, initOpenRegModule, openreg_driver.h"
    theirs = "torch.big_chip, libtorch_big_chip.so, BIG_CHIP_DRIVER, BigChip, initBigChipModule, big_chip_driver.h"
    assert names.renamed(said, "big_chip") == theirs
    assert names.renamed('"occl" ProcessGroupOCCL OCCL_TRANSPORT', "x") == '"x_ccl" ProcessGroupX_CCL X_CCL_TRANSPORT'


def test_the_vendors_own_header_and_library_keep_their_names() -> None:
    assert names.renamed('#ifndef OPENREG_H "openreg.h" libopenreg.so', "acme") == (
        '#ifndef ACME_DEVICE_H "acme_device.h" libacme_device.so'
    )
    said = "add_library(openreg SHARED) project(openreg_driver) add_subdirectory(openreg/csrc) torch_openreg"
    assert names.renamed_build(said, "acme") == (
        "add_library(acme_device SHARED) project(acme_driver) add_subdirectory(acme/csrc) torch_acme"
    )


@pytest.mark.parametrize("sim", [False, True], ids=["skeleton", "simulator"])
@pytest.mark.parametrize(
    ("name", "step"), [("acme", "01"), ("big_chip", "04"), ("x", "10"), ("acme", "11"), ("acme", "18")]
)
def test_a_project_has_no_name_of_ours_and_all_that_it_includes(name: str, step: str, *, sim: bool) -> None:
    tree = generate.project(name, step, sim=sim)
    left = {path: found for path, text in tree.items() if path != "LICENSE" and (found := names.leftovers(path + text))}
    assert left == {}
    points = tomllib.loads(tree["pyproject.toml"])["project"].get("entry-points")
    loaded = {"torch.backends": {f"torch_{name}": f"torch_{name}_autoload:load"}}
    assert points == (loaded if step >= "11" else None)
    ours, theirs = tree["LICENSE"].splitlines()[2:4]
    assert "OpenReg" in ours and theirs == f"Copyright (c) the torch_{name} authors, of what they add"
    folders = [f"{name}/driver", f"{name}/driver/include", name, f"{name}/csrc", f"{name}/bindings"]
    on_gpu = f"{name}/driver/cuda/device_code"  # what a GPU's compiler is given in place of the host's
    for path, text in tree.items():
        if path.endswith((".h", ".cpp", ".c")):
            around = [posixpath.dirname(path), *folders, *([on_gpu] if path.startswith(on_gpu) else [])]
            for wanted in re.findall(r'^\s*#include "([^"]+)"', text, re.MULTILINE):
                places = [posixpath.normpath(f"{folder}/{wanted}") for folder in around]
                made = any(f"/{wanted}" in other for file, other in tree.items() if file.endswith(".cmake"))
                there = made or any(place in tree for place in places)
                assert there, f"{path} includes {wanted!r}, which the project lacks"


def test_without_the_simulator_there_is_one_driver_and_no_kernel() -> None:
    tree = generate.project("acme", "10", sim=False)
    assert "static constexpr std::array kAll{&acmeDriver};" in tree["acme/driver/api/built_in.cpp"]
    assert "simDriver" not in tree["acme/driver/api/built_in.h"]
    sources = {posixpath.dirname(path) for path in tree if path.endswith(".cpp")}
    assert not [folder for folder in sources if folder.startswith("acme/kernels/") and folder != "acme/kernels/launch"]
    assert "acme/driver/sim" not in sources and "acme/driver/process" not in sources


@pytest.mark.parametrize("sim", [False, True], ids=["skeleton", "simulator"])
def test_the_contracts_tests_come_with_all_that_they_import(*, sim: bool) -> None:
    tree = generate.project("acme", "04", sim=sim)
    modules = {posixpath.basename(path).removesuffix(".py") for path in tree if path.startswith("tests/")}
    modules |= {posixpath.basename(posixpath.dirname(path)) for path in tree if path.endswith("__init__.py")}
    tests = {path: text for path, text in tree.items() if path.startswith("tests/") and path.endswith(".py")}
    for path, text in tests.items():
        wanted = set(re.findall(r"^ *from (?:contract)?\.?(\w+) import", text, re.MULTILINE))
        wanted |= {it for some in re.findall(r"^from \. import (.+)", text, re.MULTILINE) for it in some.split(", ")}
        for module in wanted - modules:
            assert importlib.util.find_spec(module), f"{path} imports {module}, which the project lacks"
    for source in re.findall(r'HERE / "(\w+)" / "([\w.]+)"', "".join(tests.values())):
        assert f"tests/contract/{'/'.join(source)}" in tree
    assert ("tests/contract/test_simulator.py" in tree) == sim
    default = re.findall(r'^DEFAULT_DRIVER = "(\w+)"', tree["tests/contract/harness.py"], re.MULTILINE)
    assert default == ["sim" if sim else "acme"]


def test_a_project_says_what_it_needs_and_where_it_is_tested() -> None:
    with_, without = (generate.project("acme", "04", sim=sim) for sim in (True, False))
    needs = [tomllib.loads(tree["pyproject.toml"])["dependency-groups"]["run"] for tree in (with_, without)]
    assert [[it.partition("==")[0] for it in run] for run in needs] == [["scipy-openblas32"], []]
    runners = [yaml.safe_load(it[".github/workflows/tests.yml"])["jobs"]["tests"]["runs-on"] for it in (with_, without)]
    assert runners == ["ubuntu-24.04", "self-hosted"]
    assert "step 04" in without["README.md"]
    written = ["README.md", "pyproject.toml", "tests/conftest.py", ".github/workflows/tests.yml"]
    assert not [path for path in written if re.search(r"@[A-Z]+@", without[path])]
    device = tomllib.loads(without["pyproject.toml"])["tool"]["acme"]["device"]
    assert device["count"] == 1 and device["entries"][0] == "GetDeviceCount" and device["entries"][-1] == "MemcpyAsync"


def test_with_the_simulator_it_serves_by_default() -> None:
    tree = generate.project("acme", "04", sim=True)
    assert (
        "kAll{&simDriver, &acmeDriver, &processDriver, &fakeDriver, &cudaDriver};"
        in tree["acme/driver/api/built_in.cpp"]
    )


@pytest.mark.parametrize(
    ("step", "last", "files"),
    [
        ("01", "DeviceSynchronize", ["reset.cpp"]),
        ("04", "MemcpyAsync", ["reset.cpp"]),
        ("06", "LaunchHostFunc", ["kernels.cpp", "reset.cpp"]),
        ("15", "MemcpyPeerAsync", ["kernels.cpp", "reset.cpp", "sharing.cpp", "activity.cpp"]),
    ],
)
def test_the_driver_has_each_entry_of_the_step_with_its_contract_above_it(
    step: str, last: str, files: list[str]
) -> None:
    """First those that the step needs; and then, in files that say so, those that a driver may lack."""
    tree = generate.project("acme", step, sim=False)
    sources = [tree.get(f"acme/driver/acme/{file}", "") for file in dict.fromkeys(skeleton.FILES.values())]
    functions = [name for text in sources for name in re.findall(r'return todo\("(\w+)", __FILE__\)', text)]
    needed = list(skeleton.entries_of(generate.levels_of(int(step))))
    assert functions[: len(needed)] == needed
    assert (needed[0], needed[-1]) == ("GetDeviceCount", last)
    at = "acme/driver/acme/"
    without = [path.removeprefix(at) for path in tree if path.startswith(at) and "\n// Not needed: " in tree[path]]
    assert without == files
    assert sum(tree[at + file].count("return todo") for file in files) == len(functions) - len(needed)
    assert re.findall(r"it\.(\w+) = driver::", tree["acme/driver/acme/table.cpp"]) == functions
    assert re.findall(r"orError_t (\w)(\w+)\(.*;", tree["acme/driver/acme/entries.h"]) == [
        (name[0].lower(), name[1:]) for name in functions
    ]
    assert "".join(sources).count("// @return") >= len(functions) - 1
    assert set(functions) <= set(skeleton.QUESTIONS)


def test_a_later_step_changes_no_file_that_has_functions_to_write() -> None:
    before, after = (generate.project("acme", step, sim=False) for step in ("04", "10"))
    sources = {f"acme/driver/acme/{file}" for file in (*skeleton.FILES.values(), "address_map.h", "vendor_error.h")}
    assert {path for path in sources & before.keys() if before[path] != after[path]} == set()


ADDRESSES = """
#include "address_map.h"
#include <cstdio>
using openreg::api::AddressMap;

int main() {
  AddressMap map;
  char theirs[100];
  map.note(theirs, 1, sizeof theirs, 7);
  const auto noted = map.find(theirs + 30);
  std::printf("%d %ld %zu %zu\\n", noted->device, noted->handle, noted->size, noted->offset);
  const bool behind = map.find(theirs + 100).has_value();
  const bool taken = map.remove(theirs + 1).has_value() && map.remove(theirs).has_value();
  theirs[3] = 1; // is still there
  char* ours = map.add(8, 0, 5000);
  const auto last = map.find(ours + 4999);
  std::printf("%d %d %ld %zu %d\\n", behind, taken, last->handle, last->offset, map.remove(ours).has_value());
}
"""


def test_the_map_finds_an_address_in_the_vendors_range_and_in_one_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "probe.cpp").write_text(ADDRESSES)
    options = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined"]
    folder = ROOT / "backend" / "template" / "openreg" / "driver" / "openreg"
    call("g++", *options, f"-I{folder}", tmp_path / "probe.cpp", "-o", tmp_path / "probe")
    assert call(tmp_path / "probe") == "1 7 100 30\n0 0 8 4999 1\n"


def test_an_entry_that_the_headers_lack_is_an_error() -> None:
    with pytest.raises(ValueError, match="have no entry 'Teleport' with a contract"):
        skeleton.entries(ROOT / "openreg" / "driver" / "include", ["Teleport"])


def test_what_is_there_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = command("acme", "--out", tmp_path)
    assert done.returncode == 1
    expected = "which is not empty; expected a new folder, or a project made by this"
    assert done.stderr == f"backend: OUT is {str(tmp_path)!r}, {expected}\n"
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_a_step_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = command("acme", "--step", "77", "--out", tmp_path / "new")
    assert done.returncode == 1 and done.stderr.startswith("backend: ") and "77" in done.stderr
    assert not (tmp_path / "new").exists()


def recorded(name: str, command_: str, printed: str) -> None:
    """What the guide shows of a run. OPENREG_RECORD=1 writes it."""
    file, text = ROOT / "tests" / "recorded" / f"{name}.txt", f"$ {command_}\n{printed}"
    if os.environ.get("OPENREG_RECORD"):
        file.write_text(text)
    assert file.read_text() == text


def a_vendor(folder: Path, header: str = "acme.h", library: str = "libacme.so", text: str = "") -> generate.Vendor:
    (folder / header).write_text(text)
    (folder / library).write_bytes(b"")
    return generate.Vendor(folder / header, folder / library)


@pytest.mark.parametrize(
    ("names_", "text", "reason"),
    [
        (("acme_device.h", "libacme.so"), "", "VENDOR_HEADER is .*, and the project has a header of that name"),
        (("acme.h", "libacme_device.so.2"), "", "VENDOR_LIB is .*, and the project builds a library of that name"),
        (("acme.h", "libtorch_acme.so"), "", "VENDOR_LIB is .*, and the project builds a library of that name"),
        (
            ("acme.h", "libacme.so"),
            "#define ACME_DRIVER_H",
            "VENDOR_HEADER is .*, and the project defines ACME_DRIVER_H",
        ),
    ],
)
def test_what_the_vendor_calls_its_own_is_not_in_the_project(
    tmp_path: Path, names_: tuple[str, str], text: str, reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        generate.project("acme", "04", sim=False, vendor=a_vendor(tmp_path, *names_, text))


def test_the_vendors_usual_names_are_taken(tmp_path: Path) -> None:
    vendor = a_vendor(tmp_path, text="#define ACME_H\n#define ACME_VERSION 3\n")
    tree = generate.project("acme", "04", sim=False, vendor=vendor)
    assert "#include <acme.h>\n" in tree["acme/driver/acme/driver.cpp"]
    assert f'"{tmp_path}/libacme.so"' in tree["acme/driver/CMakeLists.txt"]


def test_a_vendors_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = command("acme", "--out", tmp_path / "new", "--vendor-header", "none.h", "--vendor-lib", "none.so")
    assert done.stderr == "backend: VENDOR_HEADER is 'none.h', which is not a file; expected the path of the vendor's\n"
    done = command("acme", "--out", tmp_path / "new", "--vendor-header", "none.h")
    assert done.stderr == "backend: VENDOR_HEADER and VENDOR_LIB go together; expected both or none\n"
    assert not (tmp_path / "new").exists()


# ------------------------------------------------------------------------------------------------ climbing


def test_a_project_is_a_repository_with_what_was_generated_on_a_branch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = tmp_path / "new"
    assert command("acme", "--step", "01", "--out", project).returncode == 0
    assert git(project, "status", "--porcelain") == ""
    assert git(project, "branch", "--format=%(refname:short)").split() == ["generated", "main"]
    (project / "mine.txt").write_text("mine")
    git(project, "add", "mine.txt")
    (tmp_path / "installed" / "torch_acme").mkdir(parents=True)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "installed"))  # as it is by now
    done = command("acme", "--out", tmp_path / "another")
    assert "a package torch_acme is installed" in done.stderr
    done = command("acme", "--step", "02", "--out", project)
    assert done.stdout.splitlines() == [
        f"torch_acme, from step 02, is on the branch 'generated' of {project}",
        f"next: cd {project} && git merge generated",
    ]
    assert git(project, "status", "--porcelain") == "A  mine.txt\n"
    assert git(project, "log", "--format=%s", "generated").splitlines() == [
        "torch_acme, from step 02",
        "torch_acme, from step 01",
    ]
    done = command("acme", "--step", "02", "--out", project)
    assert (done.returncode, done.stdout) == (0, f"the branch 'generated' of {project} has that already\n")
    done = command("nova", "--step", "02", "--out", project)
    assert done.stderr == f"backend: OUT is {str(project)!r}, the project of 'acme'; NAME is 'nova'\n"


def test_a_project_of_the_time_before_drivers_climbed_climbs_on(tmp_path: Path) -> None:
    assert command("acme", "--step", "01", "--out", tmp_path / "new").returncode == 0
    tree = generate.project("acme", "01", sim=False)
    tree["generated.toml"] = tree["generated.toml"].replace('kind = "backend"\n', "")
    assert generate.branch.commit(tmp_path / "new", tree, "as it was")
    done = command("acme", "--step", "02", "--out", tmp_path / "new")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("step", "alone"), [("10", "TORCH_DEVICE_BACKEND_AUTOLOAD=0 "), ("11-packaging", "")])
def test_the_program_of_a_project_that_pytorch_loads_is_run_so(tmp_path: Path, step: str, alone: str) -> None:
    said = command("acme", "--step", step, "--out", tmp_path / "new").stdout
    assert said.endswith(f" && {alone}python demo.py\n")


def test_in_somebodys_repository_a_project_gets_none_of_its_own(tmp_path: Path) -> None:
    git(tmp_path, "init")
    done = command("acme", "--step", "01", "--out", tmp_path / "new")
    assert done.returncode == 0
    assert (
        "without the branch 'generated', by which it could climb to a later step: it is in a repository" in done.stdout
    )
    assert not (tmp_path / "new" / ".git").exists()


# ------------------------------------------------------------------------------------------------ built and run


@pytest.fixture(scope="module")
def acme(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A project of step 04 for a vendor's library, built as it was generated, and with its driver written."""
    folder = tmp_path_factory.mktemp("acme")
    done = command("acme", "--step", "04", "--out", folder / "project", "--try", *vendors_files(folder))
    assert done.returncode == 0, done.stderr
    said = done.stdout.replace(str(folder / "project"), "/tmp/torch_acme")
    options = "VENDOR_HEADER=acme.h VENDOR_LIB=libacme.so"
    recorded("acme_generated", f"make backend NAME=acme STEP=04 OUT=/tmp/torch_acme {options}", said)

    def build(site: str, kind: str = "Release") -> Path:
        tree = folder / "project"
        options = [f"-DPython_EXECUTABLE={sys.executable}", "-DACME_WERROR=ON", f"-DCMAKE_BUILD_TYPE={kind}"]
        call("cmake", "-G", "Ninja", "-S", tree, "-B", folder / f"build-{kind}", *options)
        call("cmake", "--build", folder / f"build-{kind}")
        for component in ("lib", "python"):
            install = ["cmake", "--install", folder / f"build-{kind}", "--component", component]
            call(*install, "--prefix", folder / site)
        return folder / site

    shutil.copy(VENDOR / "driver.cpp", folder / "project" / "acme" / "driver" / "acme" / "driver.cpp")
    return folder / "project", folder / "project" / "build" / "site", build("site"), build


def ran(site: Path, *line: str, where: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(site), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    return subprocess.run(
        [sys.executable, *line], cwd=where, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


TRAINING = """
import torch, torch_acme
def train(device):
    torch.manual_seed(0)
    x, y = torch.randn(64, 10).to(device), torch.randint(0, 3, (64,)).to(device)
    model = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for _ in range(20):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return [loss, *model.parameters()]
for ours, expected in zip(train("acme"), train("cpu"), strict=True):
    assert ours.device.type == "acme"
    torch.testing.assert_close(ours.detach().cpu(), expected.detach())
try:
    torch.empty(1 << 30, device="acme")
except torch.OutOfMemoryError as error:
    print(str(error).splitlines()[0])
print(torch.acme.device_count(), torch.empty(0, device="acme").device)
"""


def test_the_skeleton_says_what_is_to_be_written_first(acme: Any, tmp_path: Path) -> None:
    _, site, *_ = acme
    program = "import torch, torch_acme; print(torch.device('acme')); torch.ones(2, device='acme')"
    done = ran(site, "-c", program, where=tmp_path)
    assert done.stdout == "acme\n"
    last = done.stderr.splitlines()[-1]
    assert "TODO: GetDeviceCount, in driver/acme/driver.cpp" in last
    recorded("acme_skeleton", "python -c \"import torch, torch_acme; torch.ones(2, device='acme')\"", last + "\n")


def test_what_is_tried_finds_the_libraries_of_its_environment(acme: Any) -> None:
    (library,) = (acme[1] / "torch_acme" / "lib").glob("libacme*_device.so")
    blas = importlib.util.find_spec("scipy_openblas32")
    assert blas and f"{blas.submodule_search_locations[0]}/lib".encode() in library.read_bytes()


def test_with_a_driver_the_program_of_the_step_runs(acme: Any, tmp_path: Path) -> None:
    project, _, site, _ = acme
    demo = ran(site, str(project / "demo.py"), where=tmp_path)
    assert (demo.returncode, demo.stderr) == (0, "")
    expected = (ROOT / "steps" / "04-autograd" / "after.txt").read_text().partition("\n")[2]
    assert demo.stdout == names.renamed(expected, "acme")
    recorded("acme_demo", "python demo.py", demo.stdout)


def test_a_network_trains_on_the_vendors_chip_as_on_the_cpu(acme: Any, tmp_path: Path) -> None:
    *_, site, _ = acme
    done = ran(site, "-c", TRAINING, where=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    memory, rest = done.stdout.splitlines()
    assert "acme_buffer_new: no memory" in memory
    assert rest == "1 acme:0"


def test_the_package_has_the_doctor(acme: Any, tmp_path: Path) -> None:
    *_, site, _ = acme
    table = tmp_path / "table.json"
    done = ran(site, "-m", "torch_acme.doctor", "--require", "training", "--json", str(table), where=tmp_path)
    words: dict[str, set[str]] = {}
    for row in json.loads(table.read_text())["rows"]:
        words.setdefault(row["word"], set()).add(row["name"])
    assert {"import", "library", "fallback", "training", "fork"} <= words["works"]
    assert {"entries", "streams", "pin_memory", "generator", "compile"} <= words["missing"]
    assert words.keys() == {"works", "missing", "silently does nothing"}
    assert words["silently does nothing"] == {"autocast", "profiler"}, done.stdout
    assert done.returncode == 1 and "fails: profiler: silently does nothing\n" in done.stdout
    assert "driver 'acme'" in done.stdout and "simulator" not in done.stdout


# ---------------------------------------------------------------------------------------- the project's own tests


def own_tests(
    project: Path, *options: str, site: Path | None = None, more: dict[str, str] | None = None
) -> tuple[int, str]:
    """Runs the tests of a project as its README says; how they end, and what they print, without the time.

    Args:
        project: Its folder.
        options: For pytest.
        site: Where it is installed, if a test needs that.
        more: Variables of the environment.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "OPENREG_"))}
    built = try_out.alone(project, site) if site else {"PYTHONPATH": "", try_out.AUTOLOAD: "0"}
    environment |= CACHE | built | (more or {})
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *options],
        cwd=project,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, re.sub(r" in [\d.]+s( \(.*\))?\n$", "\n", done.stdout)


def test_a_new_projects_tests_say_what_is_to_be_written_first(tmp_path: Path) -> None:
    project = tmp_path / "acme"
    assert command("acme", "--step", "04", "--out", project).returncode == 0
    status, said = own_tests(project, "-x", "tests/contract")
    assert status == 1
    failed = next(line for line in said.splitlines() if line.startswith("FAILED"))
    assert failed.startswith("FAILED tests/contract/test_device.py::test_the_driver_says_its_name"), failed
    settings = (project / "pyproject.toml").read_text().partition("# What the chip has")[2].partition("\n\n")[0]
    recorded("acme_settings", "grep -A 14 'What the chip has' pyproject.toml", f"# What the chip has{settings}\n")
    status, said = own_tests(project, "--tb=line", "tests/contract/test_device.py")
    assert "TODO: GetDeviceCount, in driver/acme/driver.cpp" in said


def test_on_the_vendors_chip_a_test_passes_or_says_what_the_chip_has_not(acme: Any, tmp_path: Path) -> None:
    project, _, site, _ = acme
    shutil.copytree(project, tmp_path / "acme", ignore=shutil.ignore_patterns("build"))
    of_the_contract, of_the_step = (
        own_tests(tmp_path / "acme", "-rs", *files, site=site) for files in ([], ["tests/test_step.py"])
    )
    assert of_the_contract[0] == 0, of_the_contract[1]
    assert of_the_step[0] == 0, of_the_step[1]
    said = of_the_contract[1] + of_the_step[1]
    reasons = {line.rpartition(": ")[2] for line in said.splitlines() if line.startswith("SKIPPED")}
    entries = {reason.removeprefix("or") for reason in reasons if reason.startswith("or")}
    claimed = set(tomllib.loads((project / "pyproject.toml").read_text())["tool"]["acme"]["device"]["entries"])
    assert {"MallocHost", "EventCreateWithFlags", "ModuleLoad"} <= entries and not entries & claimed
    others = {reason for reason in reasons if not reason.startswith("or")}
    assert others <= {
        "there is no device 1",
        "there are no other threads",
        "it needs the simulator",
        "ACME_SIM has the simulator's settings",
        "the simulator's controls are not there",
    }
    contract_, step = (int(count) for count in re.findall(r"(\d+) passed", said))
    assert contract_ > 250 and step > 4


def test_pytorchs_tests_of_operators_pass_on_the_vendors_chip(acme: Any) -> None:
    project, _, site, _ = acme
    status, said = own_tests(project, "tests/test_operators.py", site=site)
    assert status == 0 and int(re.findall(r"(\d+) passed", said)[0]) >= 10, said


def test_a_test_fails_for_want_of_what_the_chip_is_said_to_have(acme: Any, tmp_path: Path) -> None:
    project, *_ = acme
    copy = tmp_path / "acme"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns("build"))
    settings = (copy / "pyproject.toml").read_text()
    for before, after, why in (
        ("count = 1", "count = 2", "there is no device 1"),
        ('"GetDeviceCount"', '"GetDeviceCount", "MallocHost"', "not implemented: orMallocHost"),
    ):
        assert settings.count(before) == 1
        (copy / "pyproject.toml").write_text(settings.replace(before, after))
        status, said = own_tests(copy, "--tb=line", "tests/contract/test_copy.py")
        assert status == 1 and why in said, said


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the simulator, whose driver's tests find it built; with three kernels, for all would take long."""
    project = tmp_path_factory.mktemp("simulated") / "acme"
    assert command("acme", "--step", "04", "--sim", "--out", project).returncode == 0
    build = ["-B", project / "build" / "driver", f"-DPython_EXECUTABLE={sys.executable}"]
    call(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        project / "acme" / "driver",
        *build,
        "-DACME_KERNELS=launch/registry;copy/copy;factory/fill",
    )
    return project


@pytest.mark.parametrize("driver", ["sim", "process"])
def test_with_the_simulator_the_contracts_tests_of_a_project_pass(simulated: Path, driver: str) -> None:
    groups = [f"tests/contract/test_{group}.py" for group in ("device", "memory", "copy", "simulator")]
    status, said = own_tests(simulated, "-rs", f"--driver={driver}", *groups)
    assert status == 0 and "SKIPPED" not in said, said


def test_a_name_of_ours_that_is_left_anywhere_is_found(acme: Any, tmp_path: Path) -> None:
    site = tmp_path / "build" / "site"
    assert try_out.leftovers(acme[0], acme[1])[1] == []
    for path, text in (("a.py", "import torch_openreg"), ("build/site/b.so", "\0\1OPENREG_X\2"), ("openreg.h", "")):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "LICENSE").write_text("OpenReg")
    (tmp_path / "where.txt").write_text(f"{tmp_path}/lib and {sys.prefix}/lib")
    found = [str(tmp_path / name) for name in ("a.py", "openreg.h", "build/site/b.so")]
    assert try_out.leftovers(tmp_path, site) == (4, found)


def test_a_project_that_cannot_be_built_says_what_the_compiler_said(tmp_path: Path) -> None:
    header, library = tmp_path / "acme.h", tmp_path / "libacme.so"
    header.write_text("#error this header is broken\n")
    library.write_bytes(b"")
    vendor = ["--vendor-header", header, "--vendor-lib", library]
    done = command("acme", "--step", "01", "--out", tmp_path / "acme", "--try", *vendor)
    assert done.returncode == 1 and "cannot be built" in done.stderr and "this header is broken" in done.stderr


def test_no_binary_has_our_name(acme: Any) -> None:
    *_, site, _ = acme
    libraries = [*site.rglob("*.so")]
    assert len(libraries) == 4
    for library in libraries:
        assert b"openreg" not in library.read_bytes().lower(), library
        # Of two libraries of one name a process loads the first, and takes it for the second, too.
        assert library.name.startswith("_C.") or "acme" in library.name


# What a chip without queues, kernels and pinned memory has of step 09: random numbers that its generator seeds, memory
# that is counted, a network that goes to the CPU for its operators, and says so.
OF_STEP_09 = """
import torch, torch_acme
from torch_acme.acme.device import our_own
torch.manual_seed(3)
first = torch.randn(4, device="acme")
torch.manual_seed(3)
assert torch.equal(first.cpu(), torch.randn(4, device="acme").cpu()) and torch.acme.memory_allocated() > 0
layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).to("acme")
layer(torch.randn(2, 3, 8, device="acme")).sum().backward()
assert torch.acme.fallbacks()
try:
    torch.Stream("acme")
except NotImplementedError as error:
    print(error)
print(our_own())
"""
EDITS = {
    "README.md": ("end", "\n## Ours\n\nWhat our chip can do.\n"),
    "pyproject.toml": ("version =", 'version = "2.5.0"\n'),
    "acme/driver/acme/vendor_error.h": ("    {0, orSuccess},\n", "    {-77, orErrorMemoryAllocation},\n"),
    "acme/torch_acme/acme/device.py": ("end", "\n\ndef our_own() -> str:\n    return 'kept'\n"),
    "acme/driver/acme/driver.cpp": ("whole", ""),
}


def test_climbing_from_step_04_to_09_is_a_merge_that_keeps_the_readers_edits(acme: Any, tmp_path: Path) -> None:
    project, *_, build = acme
    for path, (where, text) in EDITS.items():
        file = project / path
        before = file.read_text()
        if where == "end":
            file.write_text(before + text)
        elif where != "whole":
            line = next(line for line in before.splitlines(keepends=True) if line.startswith(where.rstrip("\n")))
            file.write_text(before.replace(line, text if where == "version =" else text + line))
    git(project, "commit", "--all", "--quiet", "--message", "ours")
    # Not to 10: its many operators take long to compile, and a merge has nothing new to do with them.
    done = command("acme", "--step", "09", "--out", project)  # the vendor's files are those of the first time
    assert done.returncode == 0, done.stderr
    git(project, "merge", "--quiet", "--no-edit", "generated")
    for path, (_, text) in EDITS.items():
        assert text in (project / path).read_text()
    assert (project / "acme" / "driver" / "acme" / "driver.cpp").read_text() == (VENDOR / "driver.cpp").read_text()
    site = build("climbed", kind="Debug")
    done = ran(site, "-c", TRAINING, where=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = ran(site, "-c", OF_STEP_09, where=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    missing, kept = done.stdout.splitlines()
    assert "TODO: DeviceGetStreamPriorityRange, in driver/acme/streams_and_events.cpp" in missing
    assert "(level 'streams and events', from step 06 on)" in missing
    assert kept == "kept"
    settings = project / "pyproject.toml"
    text = settings.read_text()
    assert text.count('    "LaunchHostFunc",\n') == 1  # of the new level, and acme has no such thing
    settings.write_text(re.sub(r'(?<="MemcpyAsync",\n)(    "\w+",\n)+', "", text))
    for file in ("test_step", "test_operators"):
        status, said = own_tests(project, f"tests/{file}.py", site=site)
        assert status == 0 and " passed" in said, said
