"""`import torch` is enough; and it goes well whatever is wrong with this package, or with another one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import tomllib
from pathlib import Path

import pytest

from .conftest import SITE, TESTS, child_environment

PROJECT = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["project"]


def install(folder: Path, package: str, point: str) -> None:
    """Does what pip does for PyTorch to find a backend: writes down its name and its entry point."""
    info = folder / f"{package}-0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 0\n")
    (info / "entry_points.txt").write_text(f"[torch.backends]\n{package} = {point}\n")


def write(folder: Path, **modules: str) -> None:
    """Writes modules."""
    for name, code in modules.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(code))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages that comes first. In it, this package is installed as its pyproject.toml says."""
    folder = tmp_path / "site"
    install(folder, "torch_openreg", PROJECT["entry-points"]["torch.backends"]["torch_openreg"])
    return folder


def run(site: Path, code: str, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own."""
    path = os.pathsep.join([str(site), str(TESTS), str(SITE)])
    command = [sys.executable, *(arguments or ("-c",)), textwrap.dedent(code)]
    env = child_environment(**env) | {"PYTHONPATH": path}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=90, check=False)


def last(done: subprocess.CompletedProcess[str]) -> str:
    """The last line that a program which fails says."""
    assert done.returncode, done.stdout
    return done.stderr.splitlines()[-1]


# ------------------------------------------------------------------------------------------------------- all is well


def test_a_program_that_imports_pytorch_alone_has_the_device_and_started_nothing(site: Path) -> None:
    done = run(
        site,
        """
        import os, sys, torch
        from backend.simulator import sim
        assert "torch_openreg" in sys.modules and not torch.openreg.is_initialized()
        assert sim.get("orSimThreadCount") == 0 and [sim.get("orDeviceGetState", i) for i in (0, 1)] == [0, 0]
        x = torch.arange(6.0, device="openreg:1").view(2, 3)
        print(x.sum().item(), (x @ x.t()).tolist(), torch.accelerator.current_accelerator())
        """,
    )
    assert (done.stdout, done.stderr) == ("15.0 [[5.0, 14.0], [14.0, 50.0]] openreg\n", "")


def test_the_variable_turns_it_off(site: Path) -> None:
    code = """
        import sys, torch
        assert not any(name.startswith("torch_openreg") for name in sys.modules)
        torch.ones(2, device="openreg")
    """
    said = last(run(site, code, TORCH_DEVICE_BACKEND_AUTOLOAD="0"))
    assert said.startswith("RuntimeError: Expected one of cpu, cuda, ")
    assert said.endswith(" device type at start of device string: openreg")


@pytest.mark.parametrize("first", ["torch_openreg", "torch_openreg.openreg", "torch_openreg_autoload"])
def test_who_imports_the_package_first_has_it_too(site: Path, first: str) -> None:
    done = run(site, f"import {first}; import torch; print(torch.ones(2, device='openreg').sum().item())")
    assert (done.stdout, done.stderr) == ("2.0\n", "")


def test_children_of_all_kinds_have_the_device_from_pytorch_alone(site: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
            import os, sys, torch
            from torch.utils.data import DataLoader, Dataset

            class Squares(Dataset):
                def __len__(self):
                    return 2
                def __getitem__(self, index):
                    return torch.tensor(float(index + 2), device="openreg").square().cpu()

            if __name__ == "__main__":
                for method in ("fork", "spawn"):
                    loader = DataLoader(Squares(), num_workers=1, multiprocessing_context=method)
                    print(method, [batch.item() for batch in loader], flush=True)
                print(torch.openreg.is_initialized())
        """)
    )
    done = run(site, "", str(program))
    assert done.stdout == "fork [4.0, 9.0]\nspawn [4.0, 9.0]\nFalse\n", done.stderr


def test_processes_of_torchrun_have_the_device_from_pytorch_alone(site: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, torch\n"
        "rank = int(os.environ['LOCAL_RANK'])\n"
        "print('rank', rank, torch.full((2,), rank, device=f'openreg:{rank}').sum().item(), flush=True)\n"
    )
    done = run(site, str(program), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    assert sorted(done.stdout.splitlines()) == ["rank 0 0", "rank 1 2"], done.stderr


# ---------------------------------------------------------------------------------------------- a broken installation

BROKEN = {
    "a library is missing": "raise ImportError('libtorch_openreg_bindings.so: cannot open shared object file')",
    "a sentence of Python is wrong": "def",
    "it fails": "{}['no such key']",
}


@pytest.mark.parametrize("code", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_installation_leaves_pytorch_as_it_is(site: Path, code: str) -> None:
    write(site, torch_openreg=code)
    done = run(
        site,
        """
        import warnings
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            import torch
        reason, = (str(warning.message) for warning in caught if "openreg" in str(warning.message))
        assert reason.startswith("the device 'openreg' cannot be used: "), reason

        # A program that uses no device of ours.
        torch.manual_seed(0)
        with torch.random.fork_rng():
            x = torch.ones(2, requires_grad=True)
            torch.utils.checkpoint.checkpoint(lambda y: y * 2, x, use_reentrant=False).sum().backward()
        assert [batch.item() for batch in torch.utils.data.DataLoader([1, 2], pin_memory=True)] == [1, 2]
        assert not torch.accelerator.is_available() and torch.accelerator.device_count() == 0
        assert torch.accelerator.current_accelerator(check_available=True) is None

        # One that does.
        for use in (
            lambda: torch.empty(2, device="openreg"),
            lambda: torch.tensor([1.0], device="openreg:1"),
            lambda: torch.ones(2).to("openreg"),
            lambda: torch.nn.Linear(2, 2).to("openreg"),
            lambda: torch.accelerator.synchronize(),
            lambda: torch.openreg.current_device(),
        ):
            try:
                use()
            except (RuntimeError, AttributeError) as error:
                assert str(error) == reason, error
            else:
                raise AssertionError("no error")
        print(x.grad.tolist())
        """,
    )
    assert done.stdout == "[2.0, 2.0]\n", done.stderr


def test_a_library_that_is_missing_is_the_reason_at_the_first_use(site: Path) -> None:
    shutil.copytree(SITE / "torch_openreg", site / "torch_openreg", ignore=shutil.ignore_patterns("lib", "__pycache__"))
    done = run(site, "import torch; torch.ones(2, device='openreg')")
    said = (
        "the device 'openreg' cannot be used: "
        "libtorch_openreg_bindings.so: cannot open shared object file: No such file or directory"
    )
    assert f"RuntimeWarning: {said}\n" in done.stderr
    assert last(done) == f"RuntimeError: {said}"


def test_a_package_for_another_pytorch_is_reported_and_not_loaded(site: Path) -> None:
    done = run(
        site,
        """
        import torch, warnings
        torch.__version__ = type(torch.__version__)("9.9.9")
        with warnings.catch_warnings(record=True) as caught:
            torch._import_device_backends()
        print(caught[0].message)
        print(any("libtorch_openreg" in line for line in open("/proc/self/maps")))
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    said, loaded = done.stdout.splitlines()
    assert said.startswith("the device 'openreg' cannot be used: torch_openreg was built against torch ")
    assert ", but torch 9.9.9 is installed; " in said and loaded == "False"


def test_libraries_for_another_python_are_refused_with_both_versions(tmp_path: Path) -> None:
    """The file that Python imports is compiled as if for Python 3.99, and is loaded by this one all the same."""
    stub = TESTS.parent / "openreg" / "bindings" / "stub.c"
    (tmp_path / "later.h").write_text(
        "#include <Python.h>\n#undef PY_VERSION_HEX\n#undef PY_MINOR_VERSION\n"
        "#define PY_VERSION_HEX 0x036300f0\n#define PY_MINOR_VERSION 99\n"
    )
    includes = [f"-I{sysconfig.get_path('include')}"]
    macros = ["-DPy_LIMITED_API=0x030b0000", '-DBUILT_FOR_TORCH="2.0"']
    compiler = [os.environ.get("CC", "cc"), "-shared", "-fPIC", *macros, *includes]
    module = tmp_path / "_C.abi3.so"
    subprocess.run([*compiler, "-include", str(tmp_path / "later.h"), str(stub), "-o", str(module), "-ldl"], check=True)
    done = run(tmp_path, "import _C")
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    said = f"torch_openreg was built for Python 3.99, but this is Python {here}"
    assert last(done) == f"ImportError: {said}"


def test_a_package_that_breaks_after_it_has_registered_is_replaced_whole(site: Path) -> None:
    write(
        site,
        torch_openreg="""
        import types, torch
        torch.utils.rename_privateuse1_backend("openreg")
        torch._register_device_module("openreg", types.ModuleType("torch_openreg.openreg"))
        raise ValueError("and then")
    """,
    )
    done = run(site, "import torch; torch.manual_seed(0); torch.ones(2, device='openreg')")
    assert last(done) == "RuntimeError: the device 'openreg' cannot be used: and then"


def test_a_package_that_was_mended_can_be_imported_in_the_same_process(site: Path) -> None:
    write(site, torch_openreg="raise ImportError('it is broken')")
    code = """
        import importlib, sys, torch
        sys.path.remove(sys.argv[1])
        importlib.invalidate_caches()
        import torch_openreg
        print(torch.openreg.__name__, torch.ones(2, device="openreg").sum().item())
    """
    program = site.parent / "program.py"
    program.write_text(textwrap.dedent(code))
    done = run(site, str(site), str(program))
    assert done.stdout == "torch_openreg.openreg 2.0\n", done.stderr
    assert "RuntimeWarning: the device 'openreg' cannot be used: it is broken\n" in done.stderr


def test_where_nothing_can_stand_in_for_the_device_the_warning_is_left(site: Path) -> None:
    write(site, torch_openreg="raise ImportError('it is broken')")
    done = run(
        site,
        """
        import torch
        del torch._C._get_privateuse1_backend_name
        torch._import_device_backends()
        print(torch.ones(2).sum().item())
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert done.stdout == "2.0\n", done.stderr
    assert "RuntimeWarning: the device 'openreg' cannot be used: it is broken\n" in done.stderr


# ------------------------------------------------------------------------------------------------ why it is written so


def test_an_entry_point_in_the_package_itself_breaks_who_imports_the_package_first(site: Path) -> None:
    """The obvious way: it works for `import torch`, and not for `import naive`, which every program has had so far."""
    install(site, "naive", "naive:autoload")
    write(site, naive="import torch\n\ndef autoload():\n    pass\n")
    assert run(site, "import torch").returncode == 0
    done = run(site, "import naive")
    assert (
        "AttributeError: partially initialized module 'naive' has no attribute 'autoload' "
        "(most likely due to a circular import)" in done.stderr
    )
    assert last(done) == (
        "RuntimeError: Failed to load the backend extension: naive. "
        "You can disable extension auto-loading with TORCH_DEVICE_BACKEND_AUTOLOAD=0."
    )


# ------------------------------------------------------------------------------------------------------- two backends

OTHER = """
import types, torch

def autoload():
    torch.utils.rename_privateuse1_backend("mychip")
    torch._register_device_module("mychip", types.ModuleType("chip_for_torch"))
"""
BOTH = (
    "torch_openreg cannot register the device 'openreg': PyTorch has room for one device from outside its tree, and "
    "chip_for_torch has registered 'mychip' in this process; set TORCH_DEVICE_BACKEND_AUTOLOAD=0 and import one of "
    "the two"
)


def test_the_second_backend_is_refused_with_both_names_before_a_library_is_loaded(site: Path) -> None:
    write(site, other=OTHER)
    done = run(
        site,
        """
        import other
        other.autoload()
        try:
            import torch_openreg
        except ImportError as error:
            print(error)
        print(any("torch_openreg/" in line for line in open("/proc/self/maps")))
        """,
        TORCH_DEVICE_BACKEND_AUTOLOAD="0",
    )
    assert done.stdout.splitlines() == [BOTH, "False"], done.stderr


def test_where_the_other_backend_is_loaded_first_it_works_and_a_warning_names_both(site: Path) -> None:
    write(site, other=OTHER)
    (site / "torch_openreg-0.dist-info" / "entry_points.txt").write_text(
        "[torch.backends]\na_other = other:autoload\ntorch_openreg = torch_openreg_autoload:load\n"
    )
    done = run(site, "import torch; print(torch.device('mychip'))")
    assert done.stdout == "mychip\n"
    assert f"RuntimeWarning: the device 'openreg' cannot be used: {BOTH}" in done.stderr


def test_where_the_other_backend_is_loaded_second_pytorch_names_both(site: Path) -> None:
    write(site, other=OTHER)
    (site / "torch_openreg-0.dist-info" / "entry_points.txt").write_text(
        "[torch.backends]\ntorch_openreg = torch_openreg_autoload:load\nother = other:autoload\n"
    )
    done = run(site, "import torch")
    assert (
        "RuntimeError: torch.register_privateuse1_backend() has already been set! Current backend: openreg"
        in done.stderr
    )
    assert last(done) == (
        "RuntimeError: Failed to load the backend extension: other. "
        "You can disable extension auto-loading with TORCH_DEVICE_BACKEND_AUTOLOAD=0."
    )
