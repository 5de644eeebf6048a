"""Every argument of every entry, spoiled: the code, and a text with the function, the argument and what came."""

from __future__ import annotations

import re
from typing import Any

import pytest

from . import header
from .arguments import OPTIONAL, Arguments, Fault, faults, stale_faults
from .harness import OpenReg

FAULTS = [pytest.param(fault, marks=pytest.mark.entry(fault.entry, case="bad"), id=str(fault)) for fault in faults()]
STALE = [pytest.param(fault, id=str(fault)) for fault in stale_faults()]


@pytest.fixture
def arguments(api: OpenReg) -> Arguments:
    """Good arguments for every entry."""
    return Arguments(api)


def value_pattern(api: OpenReg, parameter: header.Parameter, value: Any) -> str:
    """A regular expression for how a value may be written."""
    number = value if isinstance(value, int) else api.address(value)
    if number == 0:
        return r"(?i)\bnull\b"
    signed = [str(number)] if parameter.type in ("int", "unsigned int", "orMemcpyKind") else []
    # A negative number that was cast to an enumeration may be shown as what it was.
    signed += [str(number - 2**32)] if parameter.type == "orMemcpyKind" else []
    return "(?i)" + "|".join([*(rf"(?<![\d-]){re.escape(text)}\b" for text in signed), rf"\b0x0*{number % 2**64:x}\b"])


def check_fault(api: OpenReg, fault: Fault, args: list[Any]) -> None:
    """Calls, and checks the code, the text, the last error, and that nothing else is the matter."""
    parameter = header.entries()[fault.entry].parameters[fault.index]
    error = api.call(fault.entry, *args)
    # A null pointer is refused before the driver is asked, so it does not matter what the driver lacks.
    of_library = fault.how == "null" and parameter.type not in header.HANDLES
    if fault.entry in OPTIONAL and error == api.errors["orErrorNotImplemented"] and not of_library:
        api.check(error, "orErrorNotImplemented", f"^not implemented: (or)?{fault.entry[2:]}$")
        return
    value = value_pattern(api, parameter, args[fault.index])
    api.check(error, fault.code, f"^{fault.entry}: ", rf"\b{parameter.name}\b", value)
    assert api.lib.orGetLastError() == error
    for device in range(api.device_count):
        api.ok(api.lib.orDeviceSynchronize(device))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_argument_is_refused_in_words(api: OpenReg, arguments: Arguments, fault: Fault) -> None:
    args = arguments.of(fault.entry)
    good = args[fault.index]
    args[fault.index] = fault.make(arguments)
    check_fault(api, fault, args)
    if fault.entry in ("orFree", "orFreeHost") or fault.entry.endswith("Destroy"):
        api.ok(api.call(fault.entry, good))


@pytest.mark.parametrize("fault", STALE)
def test_a_handle_from_before_a_reset_is_refused_in_words(api: OpenReg, fault: Fault) -> None:
    old = fault.make(Arguments(api))
    for device in range(api.device_count):
        api.forget(device)
    args = Arguments(api).of(fault.entry)
    args[fault.index] = old
    check_fault(api, fault, args)


@pytest.mark.parametrize("kind", ["orStream_t", "orEvent_t", "orModule_t", "orKernel_t", "orGraph_t", "orGraphExec_t"])
def test_a_handle_with_one_bit_changed_is_refused(api: OpenReg, arguments: Arguments, kind: str) -> None:
    uses: dict[str, tuple[Any, Any]] = {
        "orStream_t": (arguments.stream, lambda handle: api.lib.orStreamSynchronize(handle)),
        "orEvent_t": (arguments.event, lambda handle: api.lib.orEventQuery(handle)),
        "orModule_t": (
            arguments.module,
            lambda handle: api.lib.orModuleGetKernel(api.ffi.new("orKernel_t*"), handle, b"nothing"),
        ),
        "orKernel_t": (arguments.kernel, lambda handle: api.launch(handle, b"", [], arguments.stream)),
        "orGraph_t": (
            arguments.graph,
            lambda handle: api.lib.orGraphGetNodeCount(handle, api.ffi.new("size_t*")),
        ),
        "orGraphExec_t": (arguments.exec, lambda handle: api.lib.orGraphLaunch(handle, arguments.stream)),
    }
    good, use = uses[kind]
    neighbours = {api.address(handle) for handle in (good, api.default_stream(0), api.default_stream(1))}
    for bit in range(64):
        number = api.address(good) ^ (1 << bit)
        if number not in neighbours:
            api.check(use(api.ffi.cast(kind, number)), "orErrorInvalidHandle")


@pytest.mark.parametrize("entry", ["orStreamCreate", "orEventCreate", "orStreamGetDefault", "orGraphInstantiate"])
def test_destroyed_and_reset_handles_are_not_given_out_again_at_once(
    api: OpenReg, arguments: Arguments, entry: str
) -> None:
    """A stale handle must be told from a new one, so that using it is an error and not a surprise."""
    args = {"orStreamGetDefault": lambda: (0,), "orGraphInstantiate": lambda: (arguments.graph,)}.get(entry, tuple)()
    destroys = {"orStreamCreate": "orStreamDestroy", "orEventCreate": "orEventDestroy"}
    destroys["orGraphInstantiate"] = "orGraphExecDestroy"
    seen = set()
    for _ in range(20):
        handle = api.get(entry, *args)
        assert api.address(handle) not in seen
        seen.add(api.address(handle))
        if destroy := destroys.get(entry):
            api.ok(api.call(destroy, handle))
        else:
            api.forget(0)


@pytest.mark.parametrize("name", [entry.name for entry in header.entries().values() if entry.may_fail])
def test_good_arguments_are_accepted(api: OpenReg, arguments: Arguments, name: str) -> None:
    """The arguments that the tests above spoil are good as long as nobody spoils them."""
    args = arguments.of(name)
    if name == "orDeviceDisablePeerAccess":
        api.ok(api.lib.orDeviceEnablePeerAccess(0, 1))
    error = api.call(name, *args)
    if name in OPTIONAL:
        if error == api.errors["orErrorNotImplemented"]:
            api.check(error, "orErrorNotImplemented", f"^not implemented: (or)?{name[2:]}$")
        else:
            assert error == 0 or name.startswith("orIpc")  # These want what another process has made.
    else:
        api.ok(error)
    if name == "orMalloc":
        api.ok(api.lib.orFree(args[0][0]))
    if name == "orMallocHost":
        api.ok(api.lib.orFreeHost(args[0][0]))
    if name in ("orSimLoseDevice", "orDeviceReset"):
        api.forget(0)
