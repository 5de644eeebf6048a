"""The header itself: everything is documented, everything is tested, everything is exported."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from . import header
from .conftest import run
from .harness import OpenReg

ENTRIES = header.entries()

# The decided semantics of the design: (header, sentence). They must not change by accident.
SENTENCES = [
    ("openreg.h", "errors found at the call are returned there and are not sticky"),
    ("openreg.h", "Reset invalidates handles made before it, but freeing an old pointer succeeds"),
    ("openreg.h", "freeing an old pointer succeeds (deleters must not throw)"),
    ("openreg.h", "orFree waits for the device (as cudaFree does)."),
    ("openreg.h", "A synchronous copy drains its stream; on an idle stream the caller may do the copy itself."),
    ("openreg.h", "Pinned pointers are valid in copies only"),
    ("openreg.h", "In a forked child every entry returns a clear error, except free and destroy, which do nothing"),
    ("openreg.h", "Errors of asynchronous work surface at the next synchronising call"),
    ("openreg.h", "a stream of its own"),
    ("openreg.h", "Recording again makes a new version: a waiter waits for the version it saw."),
    ("openreg_driver.h", 'reports "not implemented: NAME"'),
    ("openreg_driver.h", "so a half-written driver runs as far as it can and tells what is next."),
]


@pytest.mark.parametrize(("name", "sentence"), SENTENCES, ids=[sentence[:40] for _, sentence in SENTENCES])
def test_the_decided_semantics_stand_in_the_header_word_for_word(name: str, sentence: str) -> None:
    assert header.words(sentence).lower() in header.words(header.source(name)).lower()


@pytest.mark.parametrize("name", ["openreg.h", "openreg_sim.h", "openreg_kernel.h", "openreg_driver.h"])
def test_the_header_compiles_alone_as_c_and_as_cpp(name: str, tmp_path: Path) -> None:
    for compiler, suffix in (("cc", "c"), ("c++", "cpp")):
        source = tmp_path / f"alone.{suffix}"
        source.write_text(f'#include "{name}"\n#include "{name}"\n')
        flags = ["-Wall", "-Wextra", "-Werror", "-pedantic", f"-I{header.INCLUDE}", "-fsyntax-only"]
        run([compiler, *flags, source])


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_every_entry_says_what_it_returns(entry: header.Entry) -> None:
    assert entry.documentation, "no comment above the entry"
    refers = re.match(r"@brief (or\w+)\b", entry.documentation)
    returns = entry.documentation.startswith("@brief Returns ")
    assert "@return" in entry.documentation or returns or (refers and refers[1] in ENTRIES)


@pytest.mark.parametrize("name", header.entries("openreg.h"))
def test_every_entry_says_whether_it_may_block(name: str) -> None:
    text = header.documentation(name)
    assert re.search(r"\b[Bb]lock|\bwaits\b|Starts nothing|Initialises nothing", text), text


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_every_code_that_the_documentation_names_exists(entry: header.Entry, session_api: OpenReg) -> None:
    named = set(re.findall(r"\borError[A-Z]\w*", entry.documentation)) - {"orErrorUnknown"}
    assert named <= set(session_api.errors)


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_documented_parameters_are_parameters(entry: header.Entry) -> None:
    documented = re.findall(r"@param(?:\[out\])? (\w+)", entry.documentation)
    assert set(documented) <= {parameter.name for parameter in entry.parameters}
    outs = set(re.findall(r"@param\[out\] (\w+)", entry.documentation))
    assert outs <= {parameter.name for parameter in entry.parameters if parameter.is_out}


def test_the_library_exports_the_entries_and_nothing_else_of_its_own(library: Path) -> None:
    lines = run(["nm", "-D", "--defined-only", library]).stdout.splitlines()
    exported = {line.split()[-1].split("@")[0] for line in lines}
    # Templates of the C++ library have default visibility whatever we say.
    ours = {name for name in exported if not re.match("_Z[A-Z]*S|_Z.*9__gnu_cxx", name)}
    for_drivers = {"orDriverCorrelation", "orDriverError", "orDriverKernels"}
    for_compiling_ahead = {"orCudaCache", "orCudaCompile", "orCudaKernels"}
    assert ours == set(ENTRIES) | for_drivers | for_compiling_ahead


def test_the_driver_table_has_a_place_for_every_entry_that_a_driver_serves() -> None:
    served = {f"or{field}" for field in header.table_fields()}
    # Kept by the entry points themselves, or made of other entries.
    own = {
        *("orGetErrorName", "orGetErrorString", "orGetLastError", "orPeekAtLastError", "orGetLastErrorMessage"),
        *("orGetDriverName", "orGetDevice", "orSetDevice"),
        *("orStreamCreate", "orEventCreate", "orMemcpy", "orMemcpyPeer", "orMemset"),
    }
    contract = set(header.entries("openreg.h"))
    assert served <= contract
    assert contract - served == own


def test_every_entry_has_tests_of_a_good_and_of_a_bad_case(tmp_path: Path) -> None:
    plugin = tmp_path / "list_entries.py"
    plugin.write_text(
        "def pytest_collection_finish(session):\n"
        "    for item in session.items:\n"
        "        for mark in item.iter_markers('entry'):\n"
        "            print('ENTRY', mark.args[0], mark.kwargs['case'])\n"
    )
    options = ["--collect-only", "-q", "-p", "list_entries", "-p", "no:cacheprovider"]
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(Path(__file__).parent)],
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    seen = {tuple(line.split()[1:]) for line in listed.splitlines() if line.startswith("ENTRY ")}
    wanted = {(entry, case) for entry in ENTRIES for case in ("good", "bad")}
    assert not wanted - seen, "entries without a test"
    assert not seen - wanted, "tests of entries that the header lacks"


def _device_headers(file: Path) -> set[str]:
    """The headers of the device that a file includes, also by way of other headers."""
    waiting, seen = [file], {file}
    while waiting:
        here = waiting.pop()
        for name in re.findall(r'^\s*#\s*include\s*["<]([^">]+)', here.read_text(encoding="utf-8"), re.MULTILINE):
            places = (here.parent, *(header.ROOT / "openreg" / place for place in ("csrc", ".", "driver/include")))
            target = next((path.resolve() for place in places if (path := place / name).is_file()), None)
            if target and target not in seen:
                waiting.append(target)
                seen.add(target)
    inside = {path.relative_to(header.ROOT / "openreg").as_posix() for path in seen}
    return {path for path in inside if path.startswith(("driver/", "kernels/"))}


def test_the_pytorch_side_includes_the_contract_and_arguments_of_kernels_only() -> None:
    sources = [path for part in ("csrc", "bindings") for path in (header.ROOT / "openreg" / part).rglob("*.[ch]*")]
    sources = [path for path in sources if "generated" not in path.parts]  # what is compiled for the device
    included = set().union(*map(_device_headers, sources))
    assert "driver/include/openreg.h" in included
    # What device code sees (openreg_kernel.h) and how kernels register are no business of those who launch them.
    others = {path for path in included if not path.startswith("kernels/")} | {"kernels/launch/registry.h"} & included
    assert others == {"driver/include/openreg.h"}


@pytest.mark.entry("orGetErrorName", case="good")
@pytest.mark.entry("orGetErrorString", case="good")
def test_every_error_has_its_name_and_a_text_of_its_own(session_api: OpenReg) -> None:
    texts = set()
    for name, value in session_api.errors.items():
        assert session_api.ffi.string(session_api.lib.orGetErrorName(value)).decode() == name
        text = session_api.ffi.string(session_api.lib.orGetErrorString(value)).decode()
        assert text and text != "unknown error"
        texts.add(text)
    assert len(texts) == len(session_api.errors)


@pytest.mark.entry("orGetErrorName", case="bad")
@pytest.mark.entry("orGetErrorString", case="bad")
@pytest.mark.parametrize("value", [25, 26, 1000, 2**31 - 1, 2**32 - 1])
def test_a_number_that_is_no_error_is_called_unknown(session_api: OpenReg, value: int) -> None:
    lib: Any = session_api.lib
    assert value not in session_api.errors.values()
    assert session_api.ffi.string(lib.orGetErrorName(value)) == b"orErrorUnknown"
    assert session_api.ffi.string(lib.orGetErrorString(value)) == b"unknown error"
