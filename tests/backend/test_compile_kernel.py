"""Kernels that are compiled at run time: what is in their modules, how they are launched, and wrong arguments."""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from contract.harness import Call
from torch_openreg._C import CompiledKernel

from .compile_checks import compiled, kernels_of
from .conftest import GateFunction, ProgramFunction

pytestmark = [pytest.mark.kernels, pytest.mark.timeout(300)]  # a busy machine compiles for minutes

SCALED = """
static void kernel(orKernelContext* context, const float* x, float* y, const int64_t size, const float factor) {
  parallelFor(context, size, 1, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      y[i] = x[i] * factor;
    }
  });
}
OPENREG_MODULE("scaled", kernel)
"""
TYPES = ["const float*", "float*", "const int64_t", "const float"]


def built(source: str, name: str, types: Sequence[str]) -> CompiledKernel:
    """A kernel of the test's own, in the frame that Inductor's get."""
    from torch._inductor.async_compile import AsyncCompile
    from torch_openreg.inductor import config
    from torch_openreg.inductor.module import compile_kernel

    kernel = compile_kernel(AsyncCompile(), name, types, f"#include <{config.frame}>\n{source}")
    assert isinstance(kernel, CompiledKernel)
    return kernel


@pytest.fixture(scope="module")
def scaled() -> CompiledKernel:
    """A kernel of its own; it multiplies."""
    return built(SCALED, "scaled", TYPES)


def again(kernel: CompiledKernel) -> CompiledKernel:
    """The same kernel, not yet loaded on any device."""
    return CompiledKernel(kernel.path, kernel.name, "rwif")


# -------------------------------------------------------------------------------------------------------------- launch


def test_a_kernel_is_called_with_tensors_and_numbers(scaled: CompiledKernel, device: str) -> None:
    x = torch.arange(1000.0, device=device)
    y = torch.zeros(1000, device=device)
    assert scaled(x, y, 999, 0.5) is None
    assert y.tolist() == [i * 0.5 for i in range(999)] + [0.0]
    assert kernels_of(lambda: scaled(x[8:], y[:8], 8, 2)) == ["scaled"]
    assert y[:8].tolist() == [2.0 * i for i in range(8, 16)]


def test_a_kernel_knows_its_file_and_its_name(scaled: CompiledKernel) -> None:
    assert Path(scaled.path).is_file() and scaled.name == "scaled"
    assert CompiledKernel.most_tensors == 64


def test_what_is_launched_waits_for_its_stream(scaled: CompiledKernel, gate: GateFunction) -> None:
    kernel, x = again(scaled), torch.ones(8, device="openreg")
    y = torch.zeros_like(x)
    side = torch.openreg.Stream()
    torch.openreg.synchronize()
    closed = gate(side)
    with side:
        kernel(x, y, 8, 3.0)  # which loads the module
    assert y.tolist() == [0.0] * 8
    closed.open()
    side.synchronize()
    assert y.tolist() == [3.0] * 8


def test_a_full_queue_is_waited_for_without_pythons_lock(scaled: CompiledKernel, gate: GateFunction) -> None:
    x = torch.ones(8, device="openreg")
    scaled(x, x, 8, 1.0)
    closed = gate(0)

    def fill() -> None:
        for _ in range(200_000):  # more than any queue has room for
            scaled(x, x, 8, 1.0)

    filling = Call(fill)
    # If the thread that waits for room held the lock, this line would not run before the gate's deadline.
    assert filling.blocks()
    closed.open()
    filling.result()


def test_a_kernel_is_loaded_again_after_a_reset(scaled: CompiledKernel, device: str, program: ProgramFunction) -> None:
    # In a process of its own: after a reset, streams have other numbers.
    said = program(f"""
        from torch_openreg._C import CompiledKernel
        kernel = CompiledKernel({scaled.path!r}, "scaled", "rwif")
        for _ in range(2):
            x = torch.ones(8, device={device!r})
            y = torch.zeros_like(x)
            kernel(x, y, 8, 3.0)
            assert y.tolist() == [3.0] * 8
            torch.openreg.reset_device({device!r})
        print("both times")
    """)
    assert said == "both times\n"


def test_threads_that_launch_a_kernel_first_at_the_same_time_get_the_same_one(scaled: CompiledKernel) -> None:
    for _ in range(5):
        kernel, together = again(scaled), threading.Barrier(6)

        def work(number: int, kernel: CompiledKernel = kernel, together: threading.Barrier = together) -> list[float]:
            x = torch.full((50,), float(number), device=f"openreg:{number % 2}")
            y = torch.empty_like(x)
            together.wait(30)
            kernel(x, y, 50, 2.0)
            return y.tolist()

        calls = [Call(lambda number=number, work=work: work(number)) for number in range(6)]
        assert [it.result() for it in calls] == [[2.0 * number] * 50 for number in range(6)]


def test_a_lazy_clone_stays_shared_when_a_kernel_only_reads_it(scaled: CompiledKernel) -> None:
    x = torch.ones(8, device="openreg")
    lazy = torch._lazy_clone(x)
    scaled(lazy, torch.zeros_like(x), 8, 2.0)
    assert torch._C._is_cow_tensor(lazy)
    scaled(x, lazy, 8, 2.0)
    assert not torch._C._is_cow_tensor(lazy)
    assert (x.tolist(), lazy.tolist()) == ([1.0] * 8, [2.0] * 8)


def test_a_view_reaches_no_farther_than_its_storage(scaled: CompiledKernel) -> None:
    x = torch.ones(3 << 20, device="openreg")  # memory of its own: behind it there is none
    y = torch.empty(8, device="openreg")
    scaled(x[-8:], y, 8, 5.0)
    assert y.tolist() == [5.0] * 8


def test_a_module_can_be_removed_once_it_is_loaded(scaled: CompiledKernel, tmp_path: Path) -> None:
    file = tmp_path / "module.so"
    file.write_bytes(Path(scaled.path).read_bytes())
    kernel, x = CompiledKernel(str(file), "scaled", "rwif"), torch.ones(8, device="openreg")
    y = torch.empty_like(x)
    kernel(x, y, 8, 2.0)
    file.unlink()
    kernel(x, y, 8, 4.0)
    assert y.tolist() == [4.0] * 8


# -------------------------------------------------------------------------------------------------------------- errors


X, OTHER, HOST = "a tensor", "one of the other device", "one of the host"
WRONG: list[tuple[list[Any], type[Exception], str]] = [
    ([], RuntimeError, "kernel 'scaled' was given 0 arguments, 0 of them tensors; expected 4 and one tensor at least"),
    (
        [X, X, 8],
        RuntimeError,
        "kernel 'scaled' was given 3 arguments, 2 of them tensors; expected 4 and one tensor at least",
    ),
    ([X, X, 8, 2.0, 1], RuntimeError, "kernel 'scaled' was given more than its 4 arguments"),
    (
        [X, HOST, 8, 2.0],
        RuntimeError,
        "kernel 'scaled': argument 1 is a tensor on cpu; expected one on a device of this backend",
    ),
    (
        [X, OTHER, 8, 2.0],
        RuntimeError,
        "kernel 'scaled': argument 1 is a tensor on openreg:1; those before it are on device 0",
    ),
    ([3, X, 8, 2.0], TypeError, "kernel 'scaled' was given a int where it has a pointer; expected a tensor"),
    ([X, None, 8, 2.0], TypeError, "kernel 'scaled' was given a NoneType where it has a pointer; expected a tensor"),
    ([X, X, [8], 2.0], TypeError, "'list' object cannot be interpreted as an integer"),
    ([X, X, 8.5, 2.0], TypeError, "'float' object cannot be interpreted as an integer"),
    ([X, X, 2**63, 2.0], OverflowError, "int too big to convert"),
    ([X, X, 8, [2]], TypeError, "must be real number, not list"),
]


@pytest.mark.parametrize(("arguments", "kind", "text"), WRONG)
def test_wrong_arguments_say_what_was_given_and_what_was_expected(
    scaled: CompiledKernel, arguments: list[Any], kind: type[Exception], text: str
) -> None:
    x = torch.ones(8, device="openreg:0")
    tensors = {X: x, OTHER: torch.ones(8, device="openreg:1"), HOST: torch.ones(8)}
    with pytest.raises(kind) as caught:
        scaled(*(tensors[it] if isinstance(it, str) else it for it in arguments))
    assert str(caught.value).split("\nException raised")[0] == text
    assert x.tolist() == [1.0] * 8


def test_a_kernel_without_tensors_has_no_device() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"^kernel 'none' was given 1 arguments, 0 of them tensors; expected 1 and one tensor at least",
    ):
        CompiledKernel("/nowhere.so", "none", "i")(3)


def test_more_tensors_than_a_launch_has_room_for_are_refused() -> None:
    kernel, x = CompiledKernel("/nowhere.so", "wide", "r" * 65), torch.ones(2, device="openreg")
    with pytest.raises(RuntimeError, match=r"^kernel 'wide' was given more than 64 tensors"):
        kernel(*[x] * 65)


def test_wrong_parameters_are_refused_when_the_kernel_is_made() -> None:
    with pytest.raises(RuntimeError, match=r"^kernel 'odd': argument 'kinds' is 'rwx'; expected letters of 'rwif'"):
        CompiledKernel("/nowhere.so", "odd", "rwx")
    most = 4096 // 8
    CompiledKernel("/nowhere.so", "long", "i" * most)
    with pytest.raises(RuntimeError, match=rf"^kernel 'long' has {most + 1} arguments; expected at most {most}"):
        CompiledKernel("/nowhere.so", "long", "i" * (most + 1))


def test_a_module_that_is_not_there_or_is_none_says_so(tmp_path: Path) -> None:
    x = torch.ones(2, device="openreg")
    missing, text = tmp_path / "missing.so", tmp_path / "text.so"
    text.write_text("no library")
    for file in (missing, text):
        with pytest.raises(torch.AcceleratorError, match=rf"orModuleLoad: .*{re.escape(str(file))}"):
            CompiledKernel(str(file), "scaled", "r")(x)
    assert (x + 1).tolist() == [2.0, 2.0]  # nobody has failed


def test_a_kernel_that_is_not_in_its_module_says_so(scaled: CompiledKernel) -> None:
    x = torch.ones(2, device="openreg")
    with pytest.raises(torch.AcceleratorError, match=r"orModuleGetKernel: .*'absent'"):
        CompiledKernel(scaled.path, "absent", "r")(x)
    assert (x + 1).tolist() == [2.0, 2.0]


# ------------------------------------------------------------------------------------------------- what is in a module


def needed(library: str) -> set[str]:
    """The libraries that a shared library says it needs."""
    said = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\.so", said))


def test_modules_need_no_pytorch_and_no_openmp(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch_openreg.inductor import module

    made: list[CompiledKernel] = []

    def spy(*arguments: Any) -> CompiledKernel:
        made.append(compile_kernel(*arguments))
        return made[-1]

    compile_kernel: Callable[..., Any] = module.compile_kernel
    monkeypatch.setattr(module, "compile_kernel", spy)
    with torch._functorch.config.patch(enable_autograd_cache=False):
        run = compiled(lambda x: (torch.softmax(x.exp(), -1), (x.double() * 3.25).tanh().sum(), torch.rand_like(x)))
        run(torch.ones(30, 40, device="openreg"))
    assert len(made) >= 2
    for kernel in made:
        assert needed(kernel.path) <= {"libstdc++", "libm", "libmvec", "libc", "libgcc_s", "ld-linux-x86-64"}
    assert any("libmvec" in needed(kernel.path) for kernel in made)


def test_a_function_that_no_library_has_is_an_error_of_the_compiler() -> None:
    source = SCALED.replace("  parallelFor", "  nowhere();\n  parallelFor")
    with pytest.raises(torch._inductor.exc.CppCompileError, match=r"undefined reference to `nowhere'"):
        built(f'extern "C" void nowhere();\n{source}', "scaled", TYPES)


@pytest.mark.parametrize(("bits", "folder"), [(512, "vec512"), (256, "vec256")])
def test_all_functions_of_vectors_that_pytorchs_headers_use_are_in_the_c_library(bits: int, folder: str) -> None:
    from torch._inductor import config, cpu_vec_isa

    if bits not in {it.bit_width() for it in cpu_vec_isa.valid_vec_isa_list()}:
        pytest.skip(f"this processor has no vectors of {bits} bits")
    headers = (Path(torch.__file__).parent / "include" / "ATen" / "cpu" / "vec" / folder).glob("*.h")
    functions = sorted({name for it in headers for name in re.findall(r"\bSleef_\w+", it.read_text())})
    assert len(functions) > 50
    # Complex numbers need sincos; Inductor leaves those to the backend's operators.
    places = ", ".join(f"(void*){name}" for name in functions if "sincos" not in name)
    with config.patch({"cpp.simdlen": bits}):
        # An address is of a function that is in the module: one that nobody defines is an error of the linker.
        built(f"__attribute__((used)) void* all[] = {{{places}}};\n{SCALED}", "scaled", TYPES)
