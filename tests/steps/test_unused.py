"""Every name that a step's C++ declares is used in that step."""

import pytest
from assemble import Ladder

from .conftest import Toy
from .unused import unused

GUARD_H = "openreg/csrc/device/guard.h"


def test_a_helper_that_a_cut_has_left_without_a_caller_is_found(toy: Toy) -> None:
    toy.edit(GUARD_H, " private:\n", " private:\n  static int half(int x) {\n    return x / 2;\n  }\n")
    toy.edit(GUARD_H, "streamOf(current_)", "streamOf(half(current_))")
    assert unused(toy.ladder) == [f"{GUARD_H}: 'half' is not used in step 01-device"]


@pytest.mark.parametrize(
    ("file", "code", "name"),
    [
        ("device.h", "inline int lost() {\n  return 1;\n}\n", "lost"),
        ("device.h", "struct Box {\n  int size() const;\n  std::vector<int> lost_{1};\n};\n", "size lost_"),
        ("device.h", "struct Box {\n private:\n  static int lost(std::function<void(int)> f);\n};\n", "lost"),
        ("device.h", "[[nodiscard]] const std::map<int, int>& lost(int number); // lost\n", "lost"),
        ("device.h", "namespace a {\nnamespace {\nconstexpr int lost = 3;\n}\n}\n", "lost"),
        ("device.h", 'static const char* const lost[] = {"lost"};\n', "lost"),
        ("guard.cpp", "\nint lost(int a);\nint toy::lost(int a) {\n  return a;\n}\n", "lost"),
        ("guard.cpp", "template <typename T>\nT lost(T a) {\n  return a;\n}\n", "lost"),
    ],
)
def test_an_unused_name_is_found(toy: Toy, file: str, code: str, name: str) -> None:
    path = f"openreg/csrc/device/{file}"
    toy.write(path, toy.read(path) + code)
    steps = ("01-device", "02-stream", "03-memory")
    assert unused(toy.ladder) == [
        f"{path}: {n!r} is not used in step {step}" for step in steps for n in sorted(name.split())
    ]


@pytest.mark.parametrize(
    "code",
    [
        "struct Impl final : Base {\n  explicit Impl(int a) : a_(a), b_{a} {}\n  ~Impl() override = default;\n"
        "  int size() const override {\n    return a_ + b_;\n  }\n  bool operator==(const Impl&) const;\n"
        "  int a_;\n  int b_;\n};\n",
        "void used(int a) {\n  std::lock_guard<std::mutex> lock(mutex);\n  int unseen = a;\n  used(unseen);\n}\n",
        'TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {\n  m.impl("abs", &lost);\n}\n',
        'extern "C" {\nint entry();\n}\nstatic int once = entry() + once;\n',
        "enum class Kind { one, two };\n",
        "const Binding lost([](Module& module) {\n  module.add();\n});\n",
        "[[maybe_unused]] const bool lost = [] { return true; }();\n",
        'extern "C" __attribute__((visibility("default"))) int once = once;\n',
        "using Name = int;\nstruct Later;\nfriend int lost();\n",
    ],
)
def test_what_is_used_or_called_by_others_is_not_reported(toy: Toy, code: str) -> None:
    path = "openreg/csrc/device/guard.cpp"
    toy.write(path, toy.read(path) + code)
    assert unused(toy.ladder) == []


def test_a_sound_repository_has_no_unused_names(toy: Toy) -> None:
    assert unused(toy.ladder) == []


def test_this_repository_has_no_unused_names() -> None:
    assert unused(Ladder()) == []
