"""The driver "cuda" over a libcuda that has no GPU: counts, refusals, translated errors, and what waits for nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ..conftest import ChildFunction
from .stub import build_libcuda, build_nvrtc

# What the programs below have: the stub's own functions, a device pointer, and how often a function has been called.
SETUP = """
import ctypes, os
stub = ctypes.CDLL(os.environ["OPENREG_CUDA_LIBRARY"])
calls = lambda name: stub.stubCalls(name.encode())
fail = lambda name, result: stub.stubFail(name.encode(), result)
def malloc(size):
    out = ffi.new("void**")
    api.ok(lib.orMalloc(out, size))
    return out[0]
stream = ffi.new("orStream_t*")
"""


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library that stands for NVIDIA's."""
    return build_libcuda(tmp_path_factory.mktemp("cuda"))


@pytest.fixture
def on_stub(stub: Path, run_child: ChildFunction) -> Callable[..., str]:
    """Runs a program on the driver over the stub; what it has printed."""

    def on_stub(code: str, **env: str) -> str:
        chosen = {"OPENREG_DRIVER": "cuda", "OPENREG_CUDA_LIBRARY": str(stub)}
        return run_child(SETUP + code, env=chosen | env).stdout

    return on_stub


def test_without_the_library_there_are_no_devices_and_calls_say_why(run_child: ChildFunction) -> None:
    """The count is no error: a program that can do without asks it first."""
    run_child(
        """
        count = ffi.new("int*", 7)
        api.ok(lib.orGetDeviceCount(count))
        assert count[0] == 0
        api.check(lib.orSetDevice(0), "orErrorInvalidDevice", "no device: NVIDIA's driver library cannot be opened")
        """,
        env={"OPENREG_DRIVER": "cuda", "OPENREG_CUDA_LIBRARY": "/no/such/libcuda.so.1"},
    )


def test_counting_does_not_start_cuda(on_stub: Callable[..., str]) -> None:
    """After cuInit a forked child could not use the GPU."""
    on_stub("""
count = ffi.new("int*")
api.ok(lib.orGetDeviceCount(count))
assert count[0] == 2 and calls("cuInit") == 0
api.ok(lib.orSetDevice(1))
assert calls("cuInit") == 0
malloc(1)
assert calls("cuInit") == 1
""", OPENREG_CUDA="devices=2")  # fmt: skip


def test_a_setting_that_is_not_understood_is_named(on_stub: Callable[..., str]) -> None:
    """By every call that needs the driver."""
    on_stub("""
count = ffi.new("int*")
api.check(lib.orGetDeviceCount(count), "orErrorInvalidValue", "OPENREG_CUDA is 'devices=x'; expected devices=N")
""", OPENREG_CUDA="devices=x")  # fmt: skip


def test_queued_work_synchronises_nothing(on_stub: Callable[..., str]) -> None:
    """Allocations, fills, copies of pinned memory, events and waits: none of them may wait for the GPU."""
    on_stub("""
api.ok(lib.orStreamGetDefault(stream, 0))
memory, pinned, event = malloc(64), ffi.new("void**"), ffi.new("orEvent_t*")
api.ok(lib.orMallocHost(pinned, 64))
api.ok(lib.orEventCreateWithFlags(event, 0))
waits = ("cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize")
before = [calls(name) for name in waits]
malloc(1 << 20)
api.ok(lib.orMemsetAsync(memory, 7, 64, stream[0]))
api.ok(lib.orMemcpyAsync(pinned[0], memory, 64, lib.orMemcpyDefault, stream[0]))
api.ok(lib.orEventRecord(event[0], stream[0]))
api.ok(lib.orStreamWaitEvent(stream[0], event[0], 0))
api.ok(lib.orStreamQuery(stream[0]))
assert [calls(name) for name in waits] == before
assert bytes(ffi.buffer(pinned[0], 64)) == bytes([7] * 64)
host = ffi.new("char[64]")
api.ok(lib.orMemcpyWithStream(host, memory, 64, lib.orMemcpyDeviceToHost, stream[0]))
assert calls("cuStreamSynchronize") == before[1] + 1
""")


def test_too_little_memory_names_the_figures(on_stub: Callable[..., str]) -> None:
    """Whether the addresses are used up or the GPU has no bytes for them."""
    on_stub("""
out = ffi.new("void**")
api.check(lib.orMalloc(out, 1 << 40), "orErrorMemoryAllocation", "argument 'size' is 1099511627776 bytes; device 0 has")
fail("cuMemCreate", 2)
api.check(lib.orMalloc(out, 1 << 20), "orErrorMemoryAllocation", "67108864 bytes free of 67108864 in total")
fail("cuMemCreate", 0)
malloc(1 << 20)
""")


def test_a_fault_of_the_gpu_is_sticky_until_a_reset(on_stub: Callable[..., str]) -> None:
    """It is found by the next call that waits."""
    on_stub("""
memory = malloc(64)
fail("cuCtxSynchronize", 700)
api.check(lib.orDeviceSynchronize(0), "orErrorIllegalAddress", "device 0: CUDA_ERROR_ILLEGAL_ADDRESS")
fail("cuCtxSynchronize", 0)
out = ffi.new("void**")
api.check(lib.orMalloc(out, 64), "orErrorIllegalAddress")
api.ok(lib.orDeviceReset(0))
assert malloc(64) != memory
api.ok(lib.orFree(memory))
""")


def test_what_the_vendor_refuses_is_named_with_its_function(on_stub: Callable[..., str]) -> None:
    """A code that the contract has no name for is the vendor's."""
    on_stub("""
api.ok(lib.orStreamGetDefault(stream, 0))
memory = malloc(64)
fail("cuMemsetD8Async", 999)
api.check(lib.orMemsetAsync(memory, 7, 64, stream[0]), "orErrorVendor", "cuMemsetD8Async failed with CUDA_ERROR_OTHER")
""")


def test_a_library_of_the_host_is_no_module(on_stub: Callable[..., str], library: Path) -> None:
    """The refusal names it."""
    on_stub(f"""
module = ffi.new("orModule_t*")
error = lib.orModuleLoad(module, {str(library)!r}.encode())
api.check(error, "orErrorNotFound", "libopenreg.so', a shared library for the host's processor; expected the source")
""")


def test_streams_use_the_memory_of_streams_before_them_behind_their_work(
    on_stub: Callable[..., str], tmp_path: Path
) -> None:
    """Each stream that launches has memory for its blocks' parts; a program that makes streams for ever needs no more.

    What two streams at a time have isn't the same, and who takes over from another waits for that one's work.
    """
    probe = Path(__file__).parents[1] / "kernels" / "probe.cu"
    on_stub(
        f"""
module, kernel = ffi.new("orModule_t*"), ffi.new("orKernel_t*")
api.ok(lib.orModuleLoad(module, {str(probe)!r}.encode()))
api.ok(lib.orModuleGetKernel(kernel, module[0], b"nothing"))
def launched():
    api.ok(lib.orStreamCreateWithPriority(stream, 0, 0))
    for _ in range(3):
        api.ok(api.launch(kernel[0], b"", [], stream[0]))
    return stream[0]
malloc(8)  # starts the device
before = calls("cuMemAlloc_v2")
first, second = launched(), launched()
assert calls("cuMemAlloc_v2") == before + 2 and calls("cuStreamWaitEvent") == 0
api.ok(lib.orStreamDestroy(first))
api.ok(lib.orStreamDestroy(second))
for round in range(20):
    api.ok(lib.orStreamDestroy(launched()))
    assert calls("cuStreamWaitEvent") == round + 1
assert calls("cuMemAlloc_v2") == before + 2
""",
        OPENREG_CUDA_NVRTC=str(build_nvrtc(tmp_path)),
        XDG_CACHE_HOME=str(tmp_path),
        TMPDIR=str(tmp_path),
    )


def asked_for(kernel: str, words: str) -> str:
    """A program that asks for a kernel of the library, and is told why there is none."""
    return f"""
module, kernel = ffi.new("orModule_t*"), ffi.new("orKernel_t*")
api.ok(lib.orModuleLoad(module, b"openreg"))
api.check(lib.orModuleGetKernel(kernel, module[0], {kernel.encode()!r}), "orErrorNotFound", {words!r})
"""


def test_products_are_missing_without_cublas(on_stub: Callable[..., str]) -> None:
    """The refusal says which file was wanted; another one that is there isn't."""
    words = "kernel 'gemm.float' is cuBLAS's, and OPENREG_CUDA_CUBLAS is '/no/such/libcublas.so.13', which cannot be"
    on_stub(asked_for("gemm.float", words), OPENREG_CUDA_CUBLAS="/no/such/libcublas.so.13")


def test_kernels_are_missing_without_nvrtc(on_stub: Callable[..., str], tmp_path: Path) -> None:
    """The refusal says which file was wanted; another one that is there isn't."""
    words = "'kernels/pointwise/add.cpp' can't be compiled without NVRTC: OPENREG_CUDA_NVRTC is '/no/such/libnvrtc.so'"
    on_stub(asked_for("add", words), OPENREG_CUDA_NVRTC="/no/such/libnvrtc.so", XDG_CACHE_HOME=str(tmp_path))


def test_kernels_are_missing_without_the_standard_library_for_gpus(on_stub: Callable[..., str], tmp_path: Path) -> None:
    """It is a package of its own, which who has the compiler may lack."""
    library = build_nvrtc(tmp_path)
    shutil.rmtree(tmp_path / "include")
    words = "'kernels/pointwise/add.cpp' can't be compiled without CCCL: beside NVRTC there is no include/cccl/cuda/std"
    on_stub(asked_for("add", words), OPENREG_CUDA_NVRTC=str(library), XDG_CACHE_HOME=str(tmp_path))
