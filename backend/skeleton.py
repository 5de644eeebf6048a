"""The beginning of a driver: each entry that a step needs, with its contract beside it and a TODO for its body."""

import re
from pathlib import Path
from typing import NamedTuple


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
    "GetDeviceCount": "What does the vendor's library say if no driver is installed? Then the count is 0.",
    "DeviceGetState": "It must not initialise the device: who only asks must not pay. Does the vendor's call?",
    "GetDeviceProperties": "Which alignment do your kernels want? Memory is handed out in multiples of it.",
    "DeviceSynchronize": "Are all queues meant, or only the calling thread's? Which errors come here that are older?",
    "Malloc": "Is there a pointer, or a number? Of a number make an address: reserve a range that nobody can read.",
    "Free": "Does it wait for what is queued? If not, wait here.",
    "PointerGetAttributes": "Does the vendor know it, or do you keep a map of what is allocated?",
    "StreamGetDefault": "One queue for the device, or one for each thread? It must be one.",
    "MemcpyWithStream": "It returns when the bytes are there. Which memory of the host can the device reach?",
    "MemcpyAsync": "If copies are synchronous, this is the same function. Must the host's memory be pinned?",
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


def function_of(entry: Entry) -> str:
    """The entry as a function to fill in."""
    contract = "\n".join(f"// {line}".rstrip() for line in entry.contract.splitlines())
    unnamed = re.sub(r"\w+(?=,|$)", lambda name: f"/*{name[0]}*/", entry.parameters)
    question = f"//\n// To find out: {QUESTIONS[entry.name]}\n" if entry.name in QUESTIONS else ""
    return f"""{contract}
{question}orError_t {entry.function}({unnamed}) {{
  return todo("{entry.name}");
}}
"""


def driver(include: Path, names: list[str]) -> str:
    """The driver's source."""
    all_entries = entries(include, names)
    functions = "\n".join(map(function_of, all_entries))
    lines = "\n".join(f"  it.table.{it.name} = {it.function};" for it in all_entries)
    return f"""// The driver of your device: what openreg.h asks for, in terms of your vendor's library.
#include "address_map.h"
#include "api/built_in.h"
#include "vendor_error.h"

namespace openreg::api {{
namespace {{

/// The library says "not implemented" and the entry's name to whoever calls it.
orError_t todo(const char* entry) {{
  return orDriverError(orErrorNotImplemented, "TODO: %s, in driver/openreg/driver.cpp", entry);
}}

{functions}
}} // namespace

constinit const BuiltIn openregDriver = [] {{
  BuiltIn it{{}};
  it.table.size = sizeof(OrDriver);
  it.table.version = OPENREG_DRIVER_VERSION;
  it.table.name = "openreg";
{lines}
  return it;
}}();

}} // namespace openreg::api
"""
