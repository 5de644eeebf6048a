"""Makes a driver of your own as a project: a library behind openreg.h, below a PyTorch side that keeps our names.

    python backend/driver.py acme --out DIR [--step 04] [--vendor-header acme.h --vendor-lib libacme.so]
                        (make driver NAME=acme OUT=DIR STEP=04 VENDOR_HEADER=acme.h VENDOR_LIB=libacme.so)

Each entry that the step needs is a function to write, as in a project of backend/generate.py, into which these files
can move later. A later step is a merge, as there: the same command with another STEP, on the same folder.
"""

import argparse
import shlex
import sys
from pathlib import Path

import names
import skeleton
from generate import (
    DRIVER,
    ROOT,
    SETTINGS,
    TEMPLATE,
    Tree,
    Vendor,
    all_levels_of,
    climb,
    licensed,
    remember,
    settings,
    write,
)

LIBRARY = ROOT / "openreg" / "torch_openreg" / "lib" / "libopenreg.so"

BUILD = """\
# The driver of {name}: a shared library that openreg loads.
cmake_minimum_required(VERSION 3.18)
project({name}_driver CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

set(OPENREG_INCLUDE "{include}" CACHE PATH "Where openreg_driver.h is")
set(OPENREG_LIBRARY "{library}" CACHE FILEPATH "libopenreg.so, for orDriverError")

file(GLOB sources CONFIGURE_DEPENDS ${{CMAKE_CURRENT_SOURCE_DIR}}/*.cpp)
add_library({name}_driver SHARED ${{sources}})
target_compile_features({name}_driver PRIVATE cxx_std_20)
target_compile_options({name}_driver PRIVATE -Wall -Wextra)
target_include_directories({name}_driver PRIVATE ${{OPENREG_INCLUDE}})
# No path to it is built in: whoever loads a driver has loaded this library before.
target_link_libraries({name}_driver PRIVATE ${{OPENREG_LIBRARY}})
set_target_properties({name}_driver PROPERTIES CXX_EXTENSIONS OFF CXX_VISIBILITY_PRESET hidden SKIP_BUILD_RPATH ON)
"""
BUILD_WITH_VENDOR = """
# The vendor's header and library, which the driver finds again where it lies now.
target_include_directories({name}_driver SYSTEM PRIVATE "{header}")
target_link_libraries({name}_driver PRIVATE "{library}")
set_target_properties({name}_driver PROPERTIES SKIP_BUILD_RPATH OFF BUILD_RPATH "{folder}")
"""
README = """\
# The driver of {name}

    cmake -S . -B build && cmake --build build
    set -a && . ./settings.env && set +a        # OPENREG_DRIVER: from now on, in this shell, this driver serves
    python -c "import torch, torch_openreg; print(torch.ones(2, device='openreg'))"

Begin at the top of `driver.cpp`: each entry is a function that says TODO, with its contract above it. `make contract
DRIVER={out}/build/lib{name}_driver.so`, in the repository this comes from, says which of them work.

In a project of `make backend NAME={name}` these files go to `{name}/driver/{name}`, where `openreg_driver.h` is called
`{name}_driver.h`.
"""


def project(name: str, step: int, out: Path, vendor: Vendor | None = None) -> Tree:
    """All files of the project, by their names.

    Args:
        name: The chip's, for names of files and the namespace.
        step: The number of the step whose entries there are to be.
        out: Where the project will lie.
        vendor: The vendor's header and library, if the driver is to be linked to them.
    """
    include = ROOT / DRIVER / "include"
    tree = skeleton.driver(include, all_levels_of(step), shared=True)
    for file in sorted((TEMPLATE / DRIVER / "openreg").iterdir()):
        tree[file.name] = file.read_text()
    for file, text in tree.items():
        text = text.replace("openreg::api", f"{name}::api").replace("driver/openreg/", "")
        text = text.replace('"openreg"', f'"{name}"')
        tree[file] = vendor.included(text) if vendor else text
    tree["CMakeLists.txt"] = BUILD.format(name=name, include=include, library=LIBRARY)
    if vendor:
        header, library = vendor.header.resolve(), vendor.library.resolve()
        tree["CMakeLists.txt"] += BUILD_WITH_VENDOR.format(
            name=name, header=header.parent, library=library, folder=library.parent
        )
    driver = shlex.quote(f"{out}/build/lib{name}_driver.so")
    tree["settings.env"] = f"# The driver that serves where this has been read.\nOPENREG_DRIVER={driver}\n"
    tree["README.md"] = README.format(name=name, out=out)
    tree["LICENSE"] = licensed((ROOT / "LICENSE").read_text(), f"{name} driver")
    tree[".gitignore"] = "/build/\n"
    tree[SETTINGS] = settings("driver", name, f"{step:02}", sim=False, vendor=vendor)
    return tree


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="the chip's name")
    parser.add_argument("--out", type=Path, required=True, help="new folder for the project")
    parser.add_argument("--step", type=int, default=4, help="number of the step whose entries there are to be")
    Vendor.add_options(parser)
    parser.set_defaults(sim=False)
    given = parser.parse_args()
    out = given.out.resolve()
    try:
        climbs = remember(given, out, "driver")
        names.check(given.name, ours=True)
        if not LIBRARY.is_file():
            raise ValueError(f"{str(LIBRARY)!r} is not there, to which the driver is to be linked; run make first")
        vendor = Vendor.given(given.vendor_header, given.vendor_lib)
        files = project(given.name, given.step, out, vendor)
        if vendor:
            vendor.check(files)
        message = f"the driver of {given.name}, with the entries of step {given.step:02}"
        if climbs:
            climb(out, files, message)
            return
        write(out, files, message)
    except ValueError as error:
        sys.exit(f"driver: {error}")
    print(f"next: cd {out} && cmake -S . -B build && cmake --build build && set -a && . ./settings.env && set +a")


if __name__ == "__main__":
    main()
