"""Where modules come from: paths, files that change, and how many there can be."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from .conftest import CompileFunction
from .harness import WRITE, OpenReg

VALUE = """
#include "openreg_kernel.h"
static void value(const void* args, orKernelContext* context) { (void)context; **(long* const*)args = VALUE; }
static const orKernelEntry entries[] = {{"value", value, 8}};
const orKernelEntry* orGetKernels(size_t* count) { *count = 1; return entries; }
"""
MOST = 4096  # modules of a process, says orModuleLoad


@pytest.fixture
def library_of(compile_library: CompileFunction, tmp_path: Path) -> Any:
    """Compiles a module whose kernel "value" writes that number."""

    def library_of(value: int) -> Path:
        source = tmp_path / f"value{value}.c"
        source.write_text(f"#define VALUE {value}\n" + VALUE)
        return compile_library(source)

    return library_of


def value_of(api: OpenReg, module: Any, device: int = 0) -> int:
    """What the module's kernel writes."""
    result, stream = api.malloc(8, device), api.default_stream(device)
    kernel = api.get("orModuleGetKernel", module, b"value")
    api.ok(api.launch(kernel, struct.pack("<Q", result), [(0, WRITE, 0, 8)], stream))
    (value,) = api.read_words(result)
    api.ok(api.free(result))
    return value


@pytest.mark.parametrize("how", ["replaced", "rewritten in place"])
@pytest.mark.parametrize("device", [0, 1])
def test_a_file_that_is_compiled_anew_at_the_same_path_is_another_module(
    api: OpenReg, library_of: Any, tmp_path: Path, how: str, device: int
) -> None:
    path = tmp_path / "module.so"
    modules = []
    for value in (1, 2, 3):
        new = library_of(value)
        if how == "replaced":
            path.unlink(missing_ok=True)
        shutil.copyfile(new, path)  # into the same file, if there is one
        os.utime(path, ns=(value, value))
        modules.append(api.on(device, "orModuleLoad", str(path).encode()))
        assert api.on(device, "orModuleLoad", str(path).encode()) == modules[-1]
        assert value_of(api, modules[-1], device) == value
    assert len(set(modules)) == 3
    assert [value_of(api, module, device) for module in modules] == [1, 2, 3], "what was loaded before goes on"


def test_a_module_does_not_need_its_file_any_more(api: OpenReg, library_of: Any, tmp_path: Path) -> None:
    path = tmp_path / "module.so"
    shutil.copyfile(library_of(7), path)
    module = api.get("orModuleLoad", str(path).encode())
    path.write_bytes(bytes(path.stat().st_size))
    assert value_of(api, module) == 7
    path.unlink()
    assert value_of(api, module) == 7


@pytest.mark.parametrize("used_before", [True, False])
def test_a_relative_path_begins_at_the_programs_folder_of_the_call(
    api: OpenReg, library_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, used_before: bool
) -> None:
    if used_before:
        api.malloc(8)  # where the device is a process, it has been started elsewhere
    for value in (1, 2):
        folder = tmp_path / str(value)
        folder.mkdir()
        shutil.copyfile(library_of(value), folder / "module.so")
        monkeypatch.chdir(folder)
        assert value_of(api, api.get("orModuleLoad", b"./module.so")) == value
    assert value_of(api, api.get("orModuleLoad", b"../1/module.so")) == 1


def test_a_relative_path_that_is_not_there_is_named_as_it_was_given(api: OpenReg, lib: Any) -> None:
    error = lib.orModuleLoad(api.ffi.new("orModule_t*"), b"../nowhere/module.so")
    api.check(error, "orErrorNotFound", "^orModuleLoad: ", r"'\.\./nowhere/module\.so'", "No such file")


@pytest.mark.timeout(120)
def test_when_there_are_too_many_modules_a_reset_makes_room(api: OpenReg, lib: Any, library_of: Any) -> None:
    path = library_of(5)
    out = api.ffi.new("orModule_t*")
    for number in range(MOST + 1):
        os.utime(path, ns=(number, number))  # another file, to who loads it
        if error := lib.orModuleLoad(out, str(path).encode()):
            break
    assert number == MOST
    api.check(error, "orErrorMemoryAllocation", "^orModuleLoad: ", rf"\b{MOST} modules\b", "reset")
    api.forget(0)
    assert value_of(api, api.get("orModuleLoad", str(path).encode())) == 5
