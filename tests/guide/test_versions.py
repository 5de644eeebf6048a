"""What releases of PyTorch ask of a backend: read right, recorded, and compared on a page."""

from __future__ import annotations

import importlib.util
import json
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
from loading import load_module
from openreg_guide import versions

from .conftest import ROOT

HEADER = """
#pragma once
namespace at {
struct Other;
struct TORCH_API Interface : public Base, Another {
  virtual ~Interface() = default;
  // virtual void commented() const;
  virtual void plain(
      int first,
      const std::vector<int>& /* second */) const = 0;
  virtual Device* body(Device /*unused*/) const noexcept {
    struct Inner { virtual void inner(); };
    return nullptr;
  }
  virtual bool defaulted([[maybe_unused]] bool flag = false) { return flag; }
  void notVirtual();
};
struct Later { virtual void later(); };
}
"""


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    return load_module(ROOT / "tools" / "interfaces.py")


def test_the_virtual_functions_of_a_class_are_found_and_nothing_else(tool: ModuleType) -> None:
    assert tool.virtual_functions(HEADER, "Interface") == [
        "Device* body(Device unused) const noexcept",
        "bool defaulted(bool flag = false)",
        "void plain(int first, const std::vector<int>& second) const",
    ]
    assert tool.virtual_functions(HEADER, "Later") == ["void later()"]
    assert tool.virtual_functions(HEADER, "Missing") == []


def test_what_is_recorded_of_the_installed_release_is_what_it_has(tool: ModuleType) -> None:
    spec = importlib.util.find_spec("torch")
    assert spec and spec.submodule_search_locations
    packages = Path(spec.submodule_search_locations[0]).parent
    read = lambda path: (packages / path).read_text() if (packages / path).is_file() else ""  # noqa: E731
    recorded = json.loads((ROOT / versions.FILE).read_text())["interfaces"]
    assert recorded[version("torch").partition("+")[0]] == tool.interfaces(read)
    assert all(functions for release in recorded.values() for name, functions in release.items() if "::" in name)


def test_operators_that_come_go_and_change_are_told_apart(tool: ModuleType) -> None:
    before, after = {"a": "(1)", "b": "(1)", "c": "(1)"}, {"b": "(1)", "c": "(2)", "d": "(1)"}
    assert tool.difference("1.0", before, after) == {
        "since": "1.0",
        "added": {"d": "(1)"},
        "removed": {"a": "(1)"},
        "changed": {"c": ["(1)", "(2)"]},
    }


def test_a_function_with_other_parameters_has_changed_and_is_neither_new_nor_gone() -> None:
    before = ["void stays()", "void* f(int a) const", "void old()"]
    after = ["void stays()", "void* f(int a, int b) const", "void* g()"]
    assert list(versions.changes(before, after)) == [
        ("changed", "void* f(int a, int b) const"),
        ("new", "void* g()"),
        ("gone", "void old()"),
    ]


def test_the_page_has_the_newest_release_first_and_says_what_is_overridden_here() -> None:
    here = versions.overridden(ROOT)
    assert here["DeviceGuardImplInterface", "exchangeDevice"] == "openreg/csrc/device/guard.h"
    assert here["PrivateUse1HooksInterface", "hasPrimaryContext"] == "openreg/csrc/device/hooks.h"
    guard = "c10::impl::DeviceGuardImplInterface"
    known = {
        "interfaces": {"1.0": {guard: []}, "1.1": {guard: ["Device exchangeDevice(Device) const"]}, "1.2": {guard: []}},
        "operators": {
            "1.1": {"since": "1.0", "added": {"new_one": "(Tensor x) -> Tensor"}, "removed": {}, "changed": {}}
        },
    }
    text = "\n".join(versions.page(known, here))
    assert text.index("**From 1.1 to 1.2**") < text.index("**From 1.0 to 1.1**")
    new = f"| `{guard}` | new | `Device exchangeDevice(Device) const` | {{source}}`openreg/csrc/device/guard.h` |"
    assert new in text and "| `new_one` | new | `(Tensor x) -> Tensor` |" in text


def test_a_comment_with_parentheses_hides_no_function_behind_it() -> None:
    text = 'struct Hooks : at::Interface {\n  // as Generator("mychip")\n  Made get(int) const override;\n};\n'
    assert list(versions.overrides(text)) == [("Interface", "get")]
