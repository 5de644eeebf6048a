"""For every entry of the contract: arguments that make sense, and ways to spoil each of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from . import gates, header
from .harness import NotOfThisDriver, OpenReg

# Entries that a driver may leave out for now.
OPTIONAL = tuple(name for name in header.entries() if name.startswith(("orIpc", "orActivity")))

SIZE = 64


class Arguments:
    """Makes one good argument list after the other; streams, buffers and the like are shared.

    Each is made when it is first needed, so that a driver that has no kernels can be tested for the rest.
    """

    def __init__(self, api: OpenReg) -> None:
        self.api = api

    @functools.cached_property
    def stream(self) -> Any:
        """A stream of its own, or the default stream where there are no others."""
        try:
            return self.api.stream()
        except NotOfThisDriver:
            return self.api.default_stream()

    @functools.cached_property
    def event(self) -> Any:
        """An event that is complete."""
        event = self.api.record(self.stream)
        self.api.synchronize(self.stream)
        return event

    @functools.cached_property
    def kernel(self) -> Any:
        """A kernel."""
        return self.api.kernel("nothing")

    @functools.cached_property
    def module(self) -> Any:
        """The module it is from."""
        return self.api.get("orModuleLoad", self.api.probe_path.encode())

    @functools.cached_property
    def graph(self) -> Any:
        """A graph of one kernel."""
        return self._graph()

    @functools.cached_property
    def exec(self) -> Any:
        """An instantiated one."""
        return self._exec()

    @functools.cached_property
    def device_memory(self) -> int:
        """Memory of device 0."""
        return self.api.malloc(SIZE)

    @functools.cached_property
    def other_memory(self) -> int:
        """Memory of device 1."""
        return self.api.malloc(SIZE, device=1)

    @functools.cached_property
    def host_memory(self) -> Any:
        """Pageable memory."""
        return self.api.host(SIZE)

    @functools.cached_property
    def host_function(self) -> Any:
        """A function of the host."""
        return self.api.ffi.callback("orHostFn_t", lambda _: None)

    @functools.cached_property
    def activity_function(self) -> Any:
        """A subscriber's function."""
        return self.api.ffi.callback("orActivityFn_t", lambda _record, _data: None)

    def _subscriber(self) -> Any:
        out = self.api.ffi.new("orSubscriber_t*")
        error = self.api.call("orActivitySubscribe", out, self.activity_function, self.api.ffi.NULL)
        return out[0] if error == 0 else self.api.ffi.cast("orSubscriber_t", 1)

    def _capturing(self) -> Any:
        stream = self.api.stream()
        self.api.ok(self.api.lib.orStreamBeginCapture(stream, self.api.lib.orStreamCaptureModeRelaxed))
        return stream

    def _graph(self) -> Any:
        kernel, stream, out = self.kernel, self._capturing(), self.api.ffi.new("orGraph_t*")
        self.api.ok(self.api.launch(kernel, b"", [], stream))
        self.api.ok(self.api.lib.orStreamEndCapture(stream, out))
        return out[0]

    def _exec(self) -> Any:
        return self.api.get("orGraphInstantiate", self.graph)

    def of(self, entry: str) -> list[Any]:
        """Good arguments for an entry. What a call uses up (orFree, orStreamDestroy, …) is made for it."""
        return [self._one(entry, parameter) for parameter in header.entries()[entry].parameters]

    def _one(self, entry: str, parameter: header.Parameter) -> Any:
        api, ffi = self.api, self.api.ffi
        fresh: dict[tuple[str, str], Callable[[], Any]] = {
            ("orStreamDestroy", "stream"): api.stream,
            ("orEventDestroy", "event"): api.event,
            ("orActivityUnsubscribe", "subscriber"): self._subscriber,
            ("orFree", "ptr"): lambda: api.get("orMalloc", SIZE),
            ("orFreeHost", "ptr"): lambda: api.get("orMallocHost", SIZE),
            ("orModuleLoad", "name"): api.probe_path.encode,
            ("orMemcpyPeer", "src"): lambda: api.pointer(self.other_memory),
            ("orMemcpyPeerAsync", "src"): lambda: api.pointer(self.other_memory),
            ("orLaunchKernel", "args"): lambda: ffi.NULL,
            ("orStreamBeginCapture", "stream"): api.stream,
            ("orStreamEndCapture", "stream"): self._capturing,
            ("orGraphDestroy", "graph"): self._graph,
            ("orGraphExecDestroy", "exec"): self._exec,
            ("orGraphExecKernelNodeSetParams", "args"): lambda: ffi.NULL,
        }
        if (entry, parameter.name) in fresh:
            return fresh[entry, parameter.name]()
        if parameter.is_out:
            return ffi.new(parameter.type)
        by_name: dict[str, Any] = {
            "device": 0,
            "peer": 1,
            "dstDevice": 0,
            "srcDevice": 1,
            "size": SIZE,
            "value": 0,
            "priority": 0,
            "flags": 0,
            "name": b"nothing",
            "entry": b"orMalloc",
            "n": 0,
            "error": 1,
            "kernelMicroseconds": 0,
            "copyMicroseconds": 0,
            "argsSize": 0,
            "pointers": ffi.NULL,
            "pointerCount": 0,
            "userData": ffi.NULL,
            "kind": api.lib.orMemcpyDefault,
            "node": 0,
            "path": b"/dev/null",
        }
        made_for_name: dict[str, Callable[[], Any]] = {
            "dst": lambda: api.pointer(self.device_memory),
            "ptr": lambda: api.pointer(self.device_memory),
            "src": lambda: self.host_memory,
            "mode": lambda: api.lib.orStreamCaptureModeRelaxed,  # a library of some drivers lacks it
        }
        made_for_type: dict[str, Callable[[], Any]] = {
            "orStream_t": lambda: self.stream,
            "orEvent_t": lambda: self.event,
            "orModule_t": lambda: self.module,
            "orKernel_t": lambda: self.kernel,
            "orGraph_t": lambda: self.graph,
            "orGraphExec_t": lambda: self.exec,
            "orSimPauseFn_t": lambda: ffi.cast("orSimPauseFn_t", gates.address("gatePause")),
            "orHostFn_t": lambda: self.host_function,
            "orActivityFn_t": lambda: self.activity_function,
        }
        if parameter.type in made_for_type:
            return made_for_type[parameter.type]()
        if parameter.type == "orSubscriber_t":
            return self._subscriber()
        if parameter.type in ("const orIpcMemHandle*", "const orIpcEventHandle*"):
            return ffi.new(parameter.type.removeprefix("const "))
        return made_for_name[parameter.name]() if parameter.name in made_for_name else by_name[parameter.name]


@dataclass(frozen=True)
class Fault:
    """One argument of one entry, spoiled."""

    entry: str
    parameter: str
    how: str
    make: Callable[[Arguments], Any]
    code: str

    @property
    def index(self) -> int:
        """Which argument it is."""
        return [parameter.name for parameter in header.entries()[self.entry].parameters].index(self.parameter)

    def __str__(self) -> str:
        return f"{self.entry}-{self.parameter}-{self.how}"


# Patterns that no driver gives out: behind some of them lies nothing, behind others live memory.
_PATTERNS = {
    "one": lambda a: 1,
    "small": lambda a: 0x1234,
    "odd": lambda a: 0xDEADBEEF,
    "all-ones": lambda a: 2**64 - 1,
    "top-bit": lambda a: 2**63,
    "host-memory": lambda a: a.api.address(a.host_memory),
    "device-memory": lambda a: a.device_memory,
}


def _other_kinds(kind: str) -> dict[str, Callable[[Arguments], Any]]:
    makers: dict[str, Callable[[Arguments], Any]] = {
        "orStream_t": lambda a: a.stream,
        "orEvent_t": lambda a: a.event,
        "orModule_t": lambda a: a.module,
        "orKernel_t": lambda a: a.kernel,
        "orGraph_t": lambda a: a.graph,
        "orGraphExec_t": lambda a: a.exec,
    }
    return {f"a-{name[2:-2].lower()}": make for name, make in makers.items() if name != kind}


def _destroyed(kind: str) -> Callable[[Arguments], Any] | None:
    destroy = {
        "orStream_t": "orStreamDestroy",
        "orEvent_t": "orEventDestroy",
        "orGraph_t": "orGraphDestroy",
        "orGraphExec_t": "orGraphExecDestroy",
    }
    if kind not in destroy:
        return None

    def make(arguments: Arguments) -> Any:
        handle = arguments.of(destroy[kind])[0]
        arguments.api.ok(arguments.api.call(destroy[kind], handle))
        return handle

    return make


def _cast(kind: str, make: Callable[[Arguments], Any]) -> Callable[[Arguments], Any]:
    return lambda arguments: arguments.api.ffi.cast(kind, make(arguments))


def _of_handle(entry: str, parameter: header.Parameter) -> Iterator[Fault]:
    makers = {"null": lambda a: 0} | _PATTERNS | _other_kinds(parameter.type)
    destroyed = _destroyed(parameter.type)
    if destroyed:
        makers["destroyed"] = destroyed
    for how, make in makers.items():
        yield Fault(entry, parameter.name, how, _cast(parameter.type, make), "orErrorInvalidHandle")


def _of_entry(entry: header.Entry) -> Iterator[Fault]:
    for parameter in entry.parameters:
        if parameter.type in header.HANDLES:
            yield from _of_handle(entry.name, parameter)
        elif parameter.type == "int" and parameter.name in ("device", "peer", "dstDevice", "srcDevice"):
            numbers = {"minus-one": -1, "largest": 2**31 - 1, "smallest": -(2**31)}
            for how, number in numbers.items():
                yield Fault(entry.name, parameter.name, how, lambda _, n=number: n, "orErrorInvalidDevice")
            yield Fault(entry.name, parameter.name, "count", lambda a: a.api.device_count, "orErrorInvalidDevice")
        elif parameter.name == "kind":
            for number in (5, 1000, 2**32 - 1):
                yield Fault(entry.name, "kind", str(number), lambda _, n=number: n, "orErrorInvalidValue")
        elif parameter.name == "flags":
            for number in (1, 4, 0x80, 2**32 - 1):
                yield Fault(entry.name, "flags", str(number), lambda _, n=number: n, "orErrorInvalidValue")
        elif _must_not_be_null(entry.name, parameter):
            yield Fault(entry.name, parameter.name, "null", _cast(parameter.type, lambda _: 0), "orErrorInvalidValue")


def _must_not_be_null(entry: str, parameter: header.Parameter) -> bool:
    may_be_null = {
        ("orFree", "ptr"),
        ("orFreeHost", "ptr"),
        ("orPointerGetAttributes", "ptr"),
        ("orLaunchKernel", "args"),
        ("orLaunchKernel", "pointers"),
        ("orGraphExecKernelNodeSetParams", "args"),
        ("orGraphExecKernelNodeSetParams", "pointers"),
        ("orStreamGetCaptureInfo", "id"),
    }
    is_pointer = parameter.type.endswith("*") or parameter.type.endswith("Fn_t")
    return is_pointer and parameter.name != "userData" and (entry, parameter.name) not in may_be_null


def faults() -> Iterator[Fault]:
    """Every argument of every entry, spoiled in every way that its type and name suggest."""
    for entry in header.entries().values():
        if entry.may_fail:
            yield from _of_entry(entry)


def stale_faults() -> Iterator[Fault]:
    """Handles from before a reset of their device; `make` gives the handle that was made before."""
    makers: dict[str, Callable[[Arguments], Any]] = {
        "orStream_t": lambda a: a.stream,
        "orEvent_t": lambda a: a.event,
        "orModule_t": lambda a: a.module,
        "orKernel_t": lambda a: a.kernel,
        "orGraph_t": lambda a: a.graph,
        "orGraphExec_t": lambda a: a.exec,
    }
    for entry in header.entries().values():
        for parameter in entry.parameters:
            if parameter.type in makers:
                yield Fault(entry.name, parameter.name, "stale", makers[parameter.type], "orErrorInvalidHandle")
