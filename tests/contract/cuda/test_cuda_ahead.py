"""Kernels that are compiled ahead, and a cache that one machine fills for others."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ..conftest import ChildFunction
from . import nvrtc
from .stub import environment

# What the programs below have: the functions for compiling ahead, and a kernel as a program asks for it.
SETUP = """
import ctypes
from pathlib import Path
cuda = ctypes.CDLL(api.path)
def compile_ahead(kernel, architecture, folder):
    made = ctypes.c_int(7)
    return cuda.orCudaCompile(kernel, architecture, folder, ctypes.byref(made)), made.value
def get(kernel):
    module, handle = ffi.new("orModule_t*"), ffi.new("orKernel_t*")
    api.ok(lib.orModuleLoad(module, b"openreg"))
    return lib.orModuleGetKernel(handle, module[0], kernel)
"""
NO_COMPILER = {"OPENREG_CUDA_NVRTC": "/no/such/libnvrtc.so"}


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process with a GPU that is none, without a cache."""
    env = environment(tmp_path_factory.mktemp("gpu"))
    del env["XDG_CACHE_HOME"]
    return env


@pytest.fixture(scope="module")
def filled(gpu: dict[str, str], run_child: ChildFunction, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one kernel, for the GPU that there is."""
    folder = tmp_path_factory.mktemp("filled")
    own = str(tmp_path_factory.mktemp("own"))
    run_child(
        SETUP
        + f"""
folder = {str(folder)!r}.encode()
assert compile_ahead(b"add", 90, folder) == (0, 1)
assert compile_ahead(b"add", 90, folder) == (0, 0)  # it is there
""",
        # A driver library of NVIDIA's is not needed for that.
        env=gpu | {"OPENREG_CUDA_LIBRARY": "/no/such/libcuda.so", "XDG_CACHE_HOME": own},
    )
    assert [path.name.rsplit("-", 1)[0] for path in folder.iterdir()] == ["add-sm_90"]
    assert not list(Path(own).rglob("*.cubin"))
    return folder


def test_a_filled_folder_is_all_that_a_machine_without_a_compiler_needs(
    filled: Path, gpu: dict[str, str], run_child: ChildFunction, tmp_path: Path
) -> None:
    """A copy of it, too, in the place of the user's own."""
    program = SETUP + "api.ok(get(b'add'))\napi.check(get(b'copy'), 'orErrorNotFound', 'without NVRTC')\n"
    own = tmp_path / "own"
    run_child(program, env=gpu | NO_COMPILER | {"OPENREG_CUDA_CACHE": str(filled), "XDG_CACHE_HOME": str(own)})
    assert not own.exists()
    shutil.copytree(filled, own / "openreg")
    run_child(program, env=gpu | NO_COMPILER | {"XDG_CACHE_HOME": str(own)})


def test_what_the_driver_cannot_load_is_compiled_anew_once(
    filled: Path, gpu: dict[str, str], run_child: ChildFunction, tmp_path: Path
) -> None:
    """Such as code of a newer compiler in a folder that others can read. It stays as it is."""
    broken, own = tmp_path / "broken", tmp_path / "own"
    shutil.copytree(filled, broken)
    (file,) = broken.iterdir()
    file.write_text("of another world")
    env = gpu | {"OPENREG_CUDA_CACHE": str(broken), "XDG_CACHE_HOME": str(own)}
    words = (
        f"'{file}' can't be loaded by NVIDIA's driver; expected code of a compiler that is not newer, or NVRTC to "
        "compile it here; the driver says CUDA_ERROR_INVALID_IMAGE"
    )
    run_child(SETUP + f"api.check(get(b'add'), 'orErrorNotFound', {words!r})", env=env | NO_COMPILER)
    run_child(SETUP + "api.ok(get(b'add'))", env=env)
    assert file.read_text() == "of another world"
    assert [path.name for path in (own / "openreg").iterdir()] == [file.name]
    run_child(SETUP + "api.ok(get(b'add'))", env=env | NO_COMPILER)


def test_what_has_failed_for_another_reason_is_not_compiled_again(
    filled: Path, gpu: dict[str, str], run_child: ChildFunction, tmp_path: Path
) -> None:
    """Memory for code can be short, and then it is short for other code, too."""
    program = """
import os
ctypes.CDLL(os.environ["OPENREG_CUDA_LIBRARY"]).stubFail(b"cuModuleLoadData", 2)
api.check(get(b"add"), "orErrorMemoryAllocation", "cuModuleLoadData failed with CUDA_ERROR_OUT_OF_MEMORY")
"""
    run_child(SETUP + program, env=gpu | {"OPENREG_CUDA_CACHE": str(filled), "XDG_CACHE_HOME": str(tmp_path)})
    assert not list(tmp_path.rglob("*.cubin"))


def test_what_the_own_cache_has_is_copied(gpu: dict[str, str], run_child: ChildFunction, tmp_path: Path) -> None:
    """The folder for others is filled from it, without a compiler."""
    run_child(SETUP + "api.ok(get(b'add'))", env=gpu | {"XDG_CACHE_HOME": str(tmp_path)})
    ahead = f"assert compile_ahead(b'add', 90, {str(tmp_path / 'ahead')!r}.encode()) == (0, 1)"
    run_child(SETUP + ahead, env=gpu | NO_COMPILER | {"XDG_CACHE_HOME": str(tmp_path)})
    (own,), (copy,) = (tmp_path / "openreg").iterdir(), (tmp_path / "ahead").iterdir()
    assert own.read_bytes() == copy.read_bytes()


def test_variables_that_are_empty_name_no_folder(gpu: dict[str, str], run_child: ChildFunction, tmp_path: Path) -> None:
    """The own cache is then in the home folder, and the folder that a program was started in is none."""
    names = {"XDG_CACHE_HOME": "", "OPENREG_CUDA_CACHE": "", "HOME": str(tmp_path)}
    run_child(SETUP + "api.ok(get(b'add'))", env=gpu | names)
    (file,) = tmp_path.rglob("*.cubin")
    assert file.parent == tmp_path / ".cache" / "openreg"
    here = f"import os\nos.chdir({str(file.parent)!r})\napi.check(get(b'add'), 'orErrorNotFound', 'without NVRTC')"
    run_child(SETUP + here, env=gpu | names | NO_COMPILER | {"HOME": str(tmp_path / "other")})


def test_a_call_for_what_cannot_be_is_refused(gpu: dict[str, str], run_child: ChildFunction, tmp_path: Path) -> None:
    """Each with the argument that is wrong."""
    (tmp_path / "file").touch()
    run_child(
        SETUP
        + f"""
place = {str(tmp_path / "file")!r}
for kernel, architecture, folder, words in (
    (None, 90, b"x", "argument 'kernel' is null; expected the name of a kernel"),
    (b"add", 0, b"x", "argument 'architecture' is 0; expected 90 for sm_90"),
    (b"add", 90, None, "argument 'folder' is null"),
    (b"add", 90, place.encode(), f"argument 'folder' is '{{place}}', which can't be written to: Not a directory"),
):
    error, made = compile_ahead(kernel, architecture, folder)
    assert made == 7
    api.check(error, "orErrorInvalidValue", "orCudaCompile: " + words)
for kernel in (b"nix", b"gemm.float", b"margin_loss.float"):  # none, cuBLAS's, and the host's
    error, made = compile_ahead(kernel, 90, b"x")
    words = f"argument 'kernel' is '{{kernel.decode()}}'; expected a kernel that is compiled for the GPU"
    api.check(error, "orErrorNotFound", words)
api.check(cuda.orCudaCompile(b"add", 90, b"x", None), "orErrorInvalidValue", "argument 'made' is null")
api.check(cuda.orCudaKernels(None, None), "orErrorInvalidValue", "argument 'names' is null")
api.check(cuda.orCudaCache(None), "orErrorInvalidValue", "argument 'folder' is null")
""",
        env=gpu | {"XDG_CACHE_HOME": str(tmp_path)},
    )


def test_nvidias_compiler_compiles_for_each_architecture(run_child: ChildFunction, tmp_path: Path) -> None:
    """On a machine that has neither a GPU nor NVIDIA's driver, and from then on without the compiler."""
    env = {"OPENREG_CUDA_LIBRARY": "/no/such/libcuda.so", "XDG_CACHE_HOME": str(tmp_path / "own")}
    program = f"""
for architecture in (80, 90):
    error = compile_ahead(b"add", architecture, {str(tmp_path / "ahead")!r}.encode())
    assert error == (0, MADE), api.message()
"""
    run_child(SETUP + program.replace("MADE", "1"), env=env | {"OPENREG_CUDA_NVRTC": str(nvrtc.library())}, timeout=120)
    run_child(SETUP + program.replace("MADE", "0"), env=env | NO_COMPILER)
    files = sorted((tmp_path / "ahead").iterdir())
    assert [file.name.rsplit("-", 1)[0] for file in files] == ["add-sm_80", "add-sm_90"]
    assert all(file.read_bytes()[:4] == b"\x7fELF" for file in files)
    assert files[0].read_bytes() != files[1].read_bytes()
