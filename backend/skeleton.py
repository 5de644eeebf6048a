"""The beginning of a driver: each entry that a step needs, with its contract beside it and a TODO for its body."""

import re
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).resolve().parent.parent / "tools"))

from levels import Level


class Entry(NamedTuple):
    """An entry of the table."""

    name: str  # without "or"
    parameters: str
    contract: str  # the comment of openreg.h

    @property
    def function(self) -> str:
        """What the driver calls its function."""
        return self.name[0].lower() + self.name[1:]


# What to find out about the vendor's library before the entry is written.
QUESTIONS = {
    "GetDeviceCount": "What does the vendor's library say if no driver is installed? Then the count is 0. If it counts "
    "only what it has opened, ask the system (/sys): who only asks may fork afterwards.",
    "DeviceGetState": "It must not initialise the device: who only asks must not pay. Does the vendor's call?",
    "GetDeviceProperties": "Which alignment do your kernels want? Memory is handed out in multiples of it.",
    "DeviceSynchronize": "Are all queues meant, or only the calling thread's? Which errors come here that are older?",
    "Malloc": "Is there a pointer, or a number? Of a number make an address (AddressMap::add), note a pointer.",
    "Free": "Does it wait for what is queued? If not, wait here.",
    "PointerGetAttributes": "Does the vendor know it, or do you keep a map of what is allocated?",
    "StreamGetDefault": "One queue for the device, or one for each thread? It must be one.",
    "MemcpyWithStream": "It returns when the bytes are there. Which memory of the host can the device reach?",
    "MemcpyAsync": "If copies are synchronous, this is the same function. Must the host's memory be pinned?",
    "DeviceGetStreamPriorityRange": "Has a queue a priority? If not, both ends of the range are 0.",
    "StreamCreateWithPriority": "How many queues has the device? PyTorch makes 32 a priority when they are first used.",
    "StreamDestroy": "What becomes of work that is queued? It has to run.",
    "StreamQuery": "Does asking wait? It must not.",
    "StreamSynchronize": "Does it wait for this queue alone? Which errors come here that are older?",
    "StreamWaitEvent": "Can a queue wait for another without the host? If not, a thread of yours has to.",
    "EventCreateWithFlags": "What can be recorded in a queue: a marker, a fence, a number that grows?",
    "EventDestroy": "May it be destroyed while a queue waits for it? PyTorch does that.",
    "EventRecord": "Recorded again it stands for the new place. Who waits already waits for the old one.",
    "EventQuery": "An event that was never recorded is complete. Does asking wait? It must not.",
    "EventSynchronize": "Does it spin or sleep? PyTorch calls it from threads that have nothing else to do.",
    "EventElapsedTime": "Whose clock is it, the device's or the host's, and what is its unit?",
    "StreamGetPriority": "It is the one that was asked for, put into the range.",
    "StreamGetDevice": "With one device it is 0, for a stream that there is.",
    "LaunchHostFunc": "Does the vendor call one, in the queue's order? If not, a thread of yours waits and calls it.",
    "MemGetInfo": "Does the vendor know of other processes' memory? The free memory is what is left for this one.",
    "MallocHost": "Can the device reach any memory of the host? Then this is the C library's aligned_alloc. Note what "
    "is pinned: a copy asks for it.",
    "FreeHost": "Does it wait for copies that are queued? PyTorch has waited already.",
    "StreamBeginCapture": "Does the vendor's library capture, or does it take a list of commands? A list you can make "
    "yourself: what is submitted to a stream that captures is noted and not submitted.",
    "StreamEndCapture": "Has the first stream waited for all that joined? If not, there is no graph.",
    "StreamGetCaptureInfo": "PyTorch asks often while anybody captures: it must be cheap, and disturb nothing.",
    "ThreadExchangeStreamCaptureMode": "Which calls of the vendor wait for the device, or might? Those are refused.",
    "GraphInstantiate": "What can be done once in place of at each launch: addresses, checks, a place in the device?",
    "GraphLaunch": "Is it one submission? May two launches of one graph be under way at once?",
    "GraphDestroy": "What was instantiated from it stays.",
    "GraphExecDestroy": "May it be destroyed while a launch is queued? PyTorch does that.",
    "GraphDebugDotPrint": "It is for people, and the only entry here that you may leave for later.",
    "MemsetAsync": "Does the vendor fill bytes, or is that a kernel? Without it zeros are the CPU's, copied.",
    "ModuleLoad": "Is code for the chip a file, or is it in the vendor's library? With neither, leave the TODO here "
    "and in the next two: the CPU computes.",
    "ModuleGetKernel": "Which of the names that the PyTorch side asks for do you have? Begin with 'gemm.float'; the "
    "CPU computes what is not found (orErrorNotFound).",
    "LaunchKernel": "How do arguments reach a kernel: bytes, or one call for each? Addresses among them are listed.",
    "DeviceReset": "Does the vendor's reset give up memory, queues and code, and is the device good again after it? "
    "If a new process is the only cure, leave the TODO.",
    "IpcGetMemHandle": "Can another process open this one's memory? If not, leave the TODO in all five.",
    "IpcOpenMemHandle": "Is the memory at another address there? PyTorch doesn't mind.",
    "IpcCloseMemHandle": "What becomes of it if its owner has freed it, or has died, before?",
    "IpcGetEventHandle": "Can another process's queue wait for this one's event? If not, leave the TODO: senders wait.",
    "IpcOpenEventHandle": "Who keeps it alive once the process that made it is gone?",
    "ActivitySubscribe": "Does the vendor tell when work began and ended, and on which clock? The contract's is "
    "CLOCK_MONOTONIC's.",
    "ActivityUnsubscribe": "Have all records been handed out? It waits for those that are under way.",
    "MemcpyPeerAsync": "Can one device write into another's memory? If not, leave the TODO: bytes go through the host.",
}


def entries(include: Path, names: list[str]) -> list[Entry]:
    """Reads entries and their contracts from the headers."""
    table = (include / "openreg_driver.h").read_text()
    header = (include / "openreg.h").read_text()
    found = []
    for name in names:
        signature = re.search(rf"orError_t \(\*{name}\)\((.*?)\);", table, re.DOTALL)
        contract = re.search(rf"/\*\*((?:(?!\*/).)*)\*/\s*OPENREG_EXPORT orError_t\s+or{name}\(", header, re.DOTALL)
        if not signature or not contract:
            raise ValueError(f"openreg.h and openreg_driver.h have no entry {name!r} with a contract")
        text = re.sub(r"^\s*\* ?", "", contract[1].strip(), flags=re.MULTILINE)
        found.append(Entry(name, " ".join(signature[1].split()), text))
    return found


# What a level is worth having besides the entries that the guide needs of it. The contract's tests hold streams still
# with a function of the host: without one, a copy in the wrong order passes them all.
BESIDES = {"streams and events": "EventElapsedTime StreamGetPriority StreamGetDevice LaunchHostFunc"}


def entries_of(levels: list[Level]) -> dict[str, str]:
    """The entries that a skeleton of these levels has, without "or", and the first level that has each."""
    found: dict[str, str] = {}
    for level in levels:
        for entry in [*level.entries.split(), *BESIDES.get(level.name, "").split()]:
            found.setdefault(entry, level.name)
    return found


# Where the functions of a level stand. A later step adds a file, and leaves what has been written alone.
FILES = {
    "devices": "driver.cpp",
    "tensors, operators by fallback": "driver.cpp",
    "streams and events": "streams_and_events.cpp",
    "memory, pinned memory, several devices": "memory.cpp",
    "graphs": "graphs.cpp",
    # What a driver may leave as it is.
    "kernels, one by one": "kernels.cpp",
    "devices that are reset": "reset.cpp",
    "memory shared between processes": "sharing.cpp",
    "what the profiler knows of the device": "activity.cpp",
}


# What a driver may leave as it is, and what happens then.
WITHOUT = {
    "reset.cpp": "a device that has failed stays failed, and a new process is the cure",
    "kernels.cpp": "the CPU computes",
    "sharing.cpp": "no tensor goes to another process, and collectives go through the host",
    "activity.cpp": "a profile shows what the host did, and warns",
}


def function_of(entry: Entry) -> str:
    """The entry as a function to fill in."""
    question = textwrap.wrap(f"To find out: {QUESTIONS[entry.name]}", 117)
    comment = "\n".join(f"// {line}".rstrip() for line in [*entry.contract.splitlines(), "", *question])
    unnamed = re.sub(r"\w+(?=,|$)", lambda name: f"/*{name[0]}*/", entry.parameters)
    return f"""{comment}
orError_t {entry.function}({unnamed}) {{
  return todo("{entry.name}", __FILE__);
}}
"""


def declarations(found: list[Entry]) -> str:
    """The header that names all entries of the driver."""
    lines = "\n".join(f"orError_t {entry.function}({entry.parameters});" for entry in found)
    return f"""// The entries that the driver has: functions of this folder. Generated, and again when you climb a step.
#pragma once

#include "openreg_driver.h"

#include <cstring>

namespace openreg::api::driver {{

/// The library says "not implemented" and the entry's name to whoever calls it.
inline orError_t todo(const char* entry, const char* file) {{
  return orDriverError(orErrorNotImplemented, "TODO: %s, in driver/openreg/%s", entry, std::strrchr(file, '/') + 1);
}}

{lines}

}} // namespace openreg::api::driver
"""


# Who knows the table: the library that it is compiled into, or whoever loads it.
COMPILED_IN = """
constinit const BuiltIn openregDriver{kTable, nullptr};

} // namespace openreg::api
"""
EXPORTED = """
} // namespace openreg::api

const OrDriver* orGetDriver(uint32_t version) {
  return version == OPENREG_DRIVER_VERSION ? &openreg::api::kTable : nullptr;
}
"""


def table(found: list[Entry], *, shared: bool) -> str:
    """The source with the driver's table."""
    lines = "\n".join(f"  it.{entry.name} = driver::{entry.function};" for entry in found)
    built_in = "" if shared else '#include "api/built_in.h"\n'
    return f"""// The driver's table. Generated, and again when you climb a step.
{built_in}#include "entries.h"

namespace openreg::api {{
namespace {{

constexpr OrDriver kTable = [] {{
  OrDriver it{{}};
  it.size = sizeof(OrDriver);
  it.version = OPENREG_DRIVER_VERSION;
  it.name = "openreg";
{lines}
  return it;
}}();

}} // namespace
{EXPORTED if shared else COMPILED_IN}"""


def source(name: str, found: list[Entry]) -> str:
    """A file of functions to fill in."""
    first = name == "driver.cpp"
    title = (
        "what openreg.h asks for" if first else f"{name.removesuffix('.cpp').replace('_', ' ')}, as openreg.h has them"
    )
    functions = "\n".join(map(function_of, found))
    without = f"\n// Not needed: without these {WITHOUT[name]}." if name in WITHOUT else ""
    return f"""// The driver of your device: {title}, in terms of your vendor's library.{without}
#include "address_map.h"
#include "entries.h"
#include "vendor_error.h"

namespace openreg::api::driver {{

{functions}
}} // namespace openreg::api::driver
"""


def driver(include: Path, levels: list[Level], *, shared: bool = False) -> dict[str, str]:
    """The files of a driver that has these levels, by name.

    Args:
        include: Where the contract's headers are.
        levels: What the driver is to have, and what it may have.
        shared: Whether it is a library of its own, and not compiled in.
    """
    level_of = entries_of(levels)
    by_file: dict[str, list[Entry]] = {}
    found = entries(include, list(level_of))
    for entry in found:
        by_file.setdefault(FILES[level_of[entry.name]], []).append(entry)
    sources = {name: source(name, some) for name, some in by_file.items()}
    return sources | {"entries.h": declarations(found), "table.cpp": table(found, shared=shared)}
