"""Writes down what PyTorch's releases ask of a backend: docs/interfaces.json, of which a page of the reference is made.

    python tools/interfaces.py FILE.whl ...     PyTorch's wheels, as `pip download --no-deps torch==VERSION` leaves them

Nothing is installed or imported: headers and Python files are read. What is known of other versions stays. Operators
are thousands, so only those are noted that one wheel has otherwise than the one before it: name that one, too.
"""

import ast
import json
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "docs" / "interfaces.json"

# Classes that a backend derives from, and the header of each.
CLASSES = {
    "c10::impl::DeviceGuardImplInterface": "c10/core/impl/DeviceGuardImplInterface.h",
    "at::AcceleratorHooksInterface": "ATen/detail/AcceleratorHooksInterface.h",
    "at::PrivateUse1HooksInterface": "ATen/detail/PrivateUse1HooksInterface.h",
    "c10::Allocator": "c10/core/Allocator.h",
    "c10::DeviceAllocator": "c10/core/CachingDeviceAllocator.h",
    "at::HostAllocator": "ATen/core/CachingHostAllocator.h",
    "at::CachingHostAllocatorImpl": "ATen/core/CachingHostAllocator.h",
    "c10::GeneratorImpl": "c10/core/GeneratorImpl.h",
    "c10::BackendMeta": "c10/core/TensorImpl.h",
    "torch::profiler::impl::ProfilerStubs": "torch/csrc/profiler/stubs/base.h",
    "libkineto::IActivityProfiler": "kineto/IActivityProfiler.h",
    "libkineto::IActivityProfilerSession": "kineto/IActivityProfiler.h",
    "c10d::Backend": "torch/csrc/distributed/c10d/Backend.hpp",
}
# Modules whose functions a program calls without knowing the backend, and those that a backend calls.
MODULES = ["torch/accelerator/__init__.py", "torch/accelerator/memory.py", "torch/accelerator/graphs.py"]
MODULES += ["torch/accelerator/random.py", "torch/utils/backend_registration.py"]
OPERATORS = "torchgen/packaged/ATen/native/native_functions.yaml"
NAME = re.compile(r"/\*\s*(\w+)\s*\*/")  # of a parameter that is not used
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\[\[\w+\]\]", re.DOTALL)  # and attributes, which promise nothing to others
VIRTUAL = re.compile(r"\bvirtual\s+([^;{}]*?)\s*(?:=\s*(?:0|default)\s*)?[;{]")
SCHEMA = re.compile(r"^- func: ([\w.]+)(\(.*)$", re.MULTILINE)
Read = Callable[[str], str]  # a file of PyTorch's, by its path in site-packages; nothing if it isn't there


def outermost(text: str) -> str:
    """A class's text without what is in braces in it: bodies of functions, and classes in the class."""
    kept, depth = [], 0
    for part in re.split(r"([{}])", text):
        if part == "{":
            kept += ["{"] if depth == 0 else []
            depth += 1
        elif part == "}":
            depth -= 1
        elif depth == 0:
            kept.append(part)
    return "".join(kept)


def body(text: str, name: str) -> str:
    """What is between the braces of a class, or nothing if it isn't there."""
    head = re.search(rf"\b(?:class|struct)\s+(?:\w+\s+)*{name}\b(?!\s*[;>])[^;{{]*{{", text)
    if not head:
        return ""
    depth, end = 1, head.end()
    while depth and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[head.end() : end - 1]


def virtual_functions(header: str, name: str) -> list[str]:
    """Declarations of a class's virtual functions, each on one line, destructors aside."""
    found = VIRTUAL.findall(outermost(body(COMMENT.sub("", NAME.sub(r"\1", header)), name)))
    lines = {re.sub(r"\s*([(),])\s*", r"\1", re.sub(r"\s+", " ", line)).replace(",", ", ") for line in found}
    return sorted(re.sub(r"\)(?=\w)", ") ", line).strip() for line in lines if "~" not in line)


def functions(source: str) -> Iterator[str]:
    """A module's public functions and classes, with their parameters."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield f"{node.name}({ast.unparse(node.args)})"
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def interfaces(read: Read) -> dict[str, dict[str, list[str]]]:
    """What a release asks of a backend: classes with their virtual functions, and modules with their functions."""
    headers = {name: read(f"torch/include/{header}") for name, header in CLASSES.items()}
    found = {name: virtual_functions(text, name.rpartition(":")[2]) for name, text in headers.items()}
    return found | {path: sorted(functions(read(path))) for path in MODULES}


def operators(read: Read) -> dict[str, str]:
    """All operators of a release: name -> schema."""
    return dict(SCHEMA.findall(read(OPERATORS)))


def in_wheel(wheel: Path) -> Read:
    """Reads files of a wheel."""
    files = zipfile.ZipFile(wheel)
    there = set(files.namelist())
    return lambda path: files.read(path).decode() if path in there else ""


def order(version: str) -> list[int]:
    """For sorting: 2.9 comes before 2.10."""
    return [int(number) for number in re.findall(r"\d+", version)]


def difference(since: str, before: dict[str, str], after: dict[str, str]) -> dict[str, Any]:
    """Which operators a release adds, removes and changes."""
    return {
        "since": since,
        "added": {name: after[name] for name in sorted(after.keys() - before.keys())},
        "removed": {name: before[name] for name in sorted(before.keys() - after.keys())},
        "changed": {
            name: [before[name], after[name]]
            for name in sorted(before.keys() & after.keys())
            if before[name] != after[name]
        },
    }


def main() -> None:
    """Reads the wheels that the command line names."""
    known = json.loads(FILE.read_text()) if FILE.is_file() else {"interfaces": {}, "operators": {}}
    wheels: dict[str, Read] = {}
    for wheel in map(Path, sys.argv[1:]):
        version = re.match(r"torch-([\d.]+)", wheel.name)
        if not version:
            sys.exit(f"interfaces: {wheel.name}; expected a wheel of PyTorch: torch-VERSION-….whl")
        wheels[version[1]] = in_wheel(wheel)
    known["interfaces"] |= {version: interfaces(read) for version, read in wheels.items()}
    for before, after in pairwise(sorted(wheels, key=order)):
        known["operators"][after] = difference(before, operators(wheels[before]), operators(wheels[after]))
    known = {part: {version: of[version] for version in sorted(of, key=order)} for part, of in known.items()}
    FILE.write_text(json.dumps(known, indent=1) + "\n")
    print(f"interfaces: {', '.join(known['interfaces'])} in {FILE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
