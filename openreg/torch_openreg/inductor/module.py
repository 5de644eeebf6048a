"""Compiles what was generated to modules of the device. They stay in Inductor's folder for the next process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace

from torch._inductor import config
from torch._inductor.async_compile import AsyncCompile, get_compile_threads
from torch._inductor.codecache import CppCodeCache, LambdaFuture

from torch_openreg._C import CompiledKernel

from . import config as ours
from .kernel import has_vector_mathematics

# LITERALINCLUDE START: COMPILE KERNEL
# -z defs: a function that is not in the module is an error here, and not on a device that has no PyTorch.
FLAGS = ("-fno-gnu-unique", "-fvisibility=hidden", "-Wl,-z,defs", "-Wl,--as-needed", "-lm")
KINDS = {"int64_t": "i", "float": "f"}


class ModuleCache(CppCodeCache):
    """Inductor's cache of compiled C++, but that it gives out the path: to load it is the device's business."""

    cache: dict[str, Callable[[], SimpleNamespace]] = {}
    cpp_compile_command_flags = {"include_pytorch": False, "shared": True}

    @classmethod
    def _get_uncompiled_header(cls, device: str) -> str:
        return ours.frame

    @staticmethod
    def _load_library_inner(path: str, key: str) -> SimpleNamespace:
        return SimpleNamespace(path=path)


def compile_kernel(
    compiler: AsyncCompile, name: str, types: Sequence[str], source: str
) -> CompiledKernel | LambdaFuture:
    """Makes a function of tensors and numbers that queues a kernel.

    Args:
        compiler: Inductor's. If it has processes that compile, one of them does, and this returns at once.
        name: The kernel's name in its module.
        types: The types of its parameters in C++.
        source: The module, in C++.

    Returns:
        The function, or what Inductor waits for before it needs it.
    """
    kinds = "".join(_kind(it) for it in types)
    flags = (*FLAGS, "-lmvec") if has_vector_mathematics() else FLAGS
    submit = compiler.submit if get_compile_threads() > 1 else None
    with config.patch("aot_inductor.link_libtorch", False):
        module = ModuleCache.load_async(source, submit_fn=submit, extra_flags=flags)

    def finish() -> CompiledKernel:
        return CompiledKernel(module().path, name, kinds)

    return finish() if submit is None else LambdaFuture(finish)


def _kind(parameter: str) -> str:
    """How an argument is passed: the letter that :class:`CompiledKernel` has for a type."""
    if "*" in parameter:
        return "r" if parameter.startswith("const ") else "w"
    return KINDS[parameter.removeprefix("const ")]


# LITERALINCLUDE END: COMPILE KERNEL
