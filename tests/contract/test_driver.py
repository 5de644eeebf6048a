"""The choice of the driver, and the way from an entry point into its table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import header
from .conftest import HERE, CompileFunction

BuildFunction = Callable[..., str]


@pytest.fixture(scope="session")
def build(compile_library: CompileFunction) -> BuildFunction:
    """Builds a variant of drivers/driver.c; gives its path."""

    def build(**variant: Any) -> str:
        options = [f"-D{name}={value}" for name, value in variant.items()]
        return str(compile_library(HERE / "drivers" / "driver.c", *options, name="tiny"))

    return build


def expect_driver_error(run_child: Any, driver: str, *words: str) -> None:
    """Every call says that the driver cannot be used, and why."""
    run_child(
        f"""
        for _ in range(2):
            error = lib.orGetDeviceCount(ffi.new("int*"))
            message = api.check(error, "orErrorDriver", "^orGetDeviceCount: ")
            for word in {words!r}:
                assert word in message, (word, message)
        api.check(lib.orGetDriverName(ffi.new("const char**")), "orErrorDriver", "^orGetDriverName: ")
        api.check(lib.orMalloc(ffi.new("void**"), 8), "orErrorDriver", "^orMalloc: ")
        api.check(lib.orDeviceSynchronize(0), "orErrorDriver", "^orDeviceSynchronize: ")
        """,
        env={"OPENREG_DRIVER": driver},
    )


@pytest.mark.entry("orGetDriverName", case="bad")
@pytest.mark.entry("orGetDeviceCount", case="bad")
def test_an_unknown_driver_is_an_error_that_names_it_and_what_there_is(run_child: Any) -> None:
    expect_driver_error(run_child, "nonsense", "OPENREG_DRIVER", "nonsense", "sim")


def test_a_library_that_does_not_exist_is_an_error_that_names_its_path(run_child: Any) -> None:
    expect_driver_error(run_child, "/no/such/driver.so", "/no/such/driver.so", "No such file")


def test_a_library_without_the_function_is_an_error_that_names_both(
    run_child: Any, compile_library: CompileFunction, tmp_path: Path
) -> None:
    source = tmp_path / "none.c"
    source.write_text("int nothing_here;\n")
    path = str(compile_library(source))
    expect_driver_error(run_child, path, path, "orGetDriver")


def test_a_driver_that_serves_only_later_versions_is_an_error_that_names_ours(
    run_child: Any, build: BuildFunction
) -> None:
    path = build(TOO_NEW=99, COUNT=1)
    expect_driver_error(run_child, path, path, f"version {header.constant('OPENREG_DRIVER_VERSION')}")


@pytest.mark.parametrize("version", [0, 2, 99])
def test_a_table_of_another_version_is_an_error_that_names_both(
    run_child: Any, build: BuildFunction, version: int
) -> None:
    path = build(VERSION=version, COUNT=1)
    ours = header.constant("OPENREG_DRIVER_VERSION")
    expect_driver_error(run_child, path, path, f"version {version}", f"expected {ours}")


@pytest.mark.parametrize("name", ["", "sim"])
def test_the_simulator_is_the_default(run_child: Any, name: str) -> None:
    run_child('assert ffi.string(api.get("orGetDriverName")) == b"sim"', env={"OPENREG_DRIVER": name})


def test_a_driver_by_path_says_its_own_name(run_child: Any, build: BuildFunction) -> None:
    code = """
        assert ffi.string(api.get("orGetDriverName")) == b"acme"
        assert api.device_count == 3
    """
    run_child(code, env={"OPENREG_DRIVER": build(COUNT=3, NAME='"acme"')})


def test_a_null_pointer_is_called_null_in_a_drivers_text(run_child: Any, build: BuildFunction) -> None:
    run_child(
        """
        error = lib.orMemsetAsync(ffi.cast("void*", 8), 0, 8, ffi.NULL)
        api.check(error, "orErrorInvalidValue", "^orMemsetAsync: ptr is 0x8, stream is null, null, of 8$")
        """,
        env={"OPENREG_DRIVER": build(COUNT=2)},
    )


def test_an_entry_that_the_driver_lacks_is_not_implemented_and_named(run_child: Any, build: BuildFunction) -> None:
    """So a half-written driver runs as far as it can and tells what is next."""
    run_child(
        """
        import contract.header as header
        served = {"GetDeviceCount", "Malloc", "Free", "StreamCreateWithPriority", "DeviceGetStreamPriorityRange",
                  "MemsetAsync"}
        words = {"device": 0, "peer": 1, "dstDevice": 0, "srcDevice": 1, "size": 8, "value": 0, "kind": 4, "flags": 0,
                 "name": b"x", "argsSize": 0, "pointerCount": 0, "mode": 0, "node": 0}
        callbacks = {"orHostFn_t": ffi.callback("orHostFn_t", lambda _: None),
                     "orActivityFn_t": ffi.callback("orActivityFn_t", lambda *_: None)}
        def argument(parameter):
            if parameter.is_out:
                return ffi.new(parameter.type)
            if parameter.type in callbacks:
                return callbacks[parameter.type]
            if parameter.name in words:
                return words[parameter.name]
            if parameter.type in ("const orIpcMemHandle*", "const orIpcEventHandle*"):
                return ffi.new(parameter.type.removeprefix("const "))
            if parameter.name in ("args", "pointers"):
                return ffi.NULL
            return ffi.cast(parameter.type, 0x1000)
        missing = 0
        for field in header.table_fields():
            if field not in served:
                entry = header.entries()["or" + field]
                error = api.call(entry.name, *[argument(parameter) for parameter in entry.parameters])
                api.check(error, "orErrorNotImplemented", f"^not implemented: (or)?{field}$")
                missing += 1
        assert missing == len(header.table_fields()) - len(served)
        for name, args in {
            "orEventCreate": [ffi.new("orEvent_t*")],
            "orMemcpy": [ffi.cast("void*", 8), ffi.cast("void*", 8), 8, 4],
            "orMemcpyPeer": [ffi.cast("void*", 8), 0, ffi.cast("void*", 8), 1, 8],
            "orMemset": [ffi.cast("void*", 8), 0, 8],
        }.items():
            api.check(api.call(name, *args), "orErrorNotImplemented", "^not implemented: ")
        """,
        env={"OPENREG_DRIVER": build(COUNT=2)},
    )


def test_a_driver_without_any_entry_can_be_asked_and_answers(run_child: Any, build: BuildFunction) -> None:
    run_child(
        """
        assert ffi.string(api.get("orGetDriverName")) == b"tiny"
        text = "^not implemented: (or)?GetDeviceCount$"
        api.check(lib.orGetDeviceCount(ffi.new("int*")), "orErrorNotImplemented", text)
        api.check(lib.orSetDevice(0), "orErrorNotImplemented", text)
        assert api.name(lib.orMalloc(ffi.new("void**"), 8)) == "orErrorNotImplemented"
        """,
        env={"OPENREG_DRIVER": build()},
    )


def test_entries_beyond_the_size_of_a_shorter_table_are_missing(run_child: Any, build: BuildFunction) -> None:
    run_child(
        """
        assert api.get("orMalloc", 8) == ffi.cast("void*", 0x1008)
        error = lib.orFree(ffi.cast("void*", 8))
        api.check(error, "orErrorNotImplemented", "^not implemented: (or)?Free$")
        """,
        env={"OPENREG_DRIVER": build(COUNT=1, SIZE="offsetof(OrDriver,Free)")},
    )


def test_a_longer_table_is_no_trouble(run_child: Any, build: BuildFunction) -> None:
    code = 'assert api.get("orMalloc", 8) == ffi.cast("void*", 0x1008)'
    run_child(code, env={"OPENREG_DRIVER": build(COUNT=1, SIZE="sizeof(table)")})


def test_the_driver_is_given_the_current_device(run_child: Any, build: BuildFunction) -> None:
    run_child(
        """
        for device in (0, 2, 1):
            api.use(device)
            assert api.address(api.get("orMalloc", 16)) == 0x1000 * (device + 1) + 16
            stream = api.get("orStreamCreateWithPriority", 0, -4)
            assert api.address(stream) == 0x100000 + 0x100 * device + 12
            lowest = api.get("orStreamCreate")
            assert api.address(lowest) == 0x100000 + 0x100 * device + 16 + 3 + device
        assert Call(lambda: api.address(api.get("orMalloc", 16))).result() == 0x1010
        """,
        env={"OPENREG_DRIVER": build(COUNT=3)},
    )


def test_a_drivers_message_has_the_functions_name_in_front(run_child: Any, build: BuildFunction) -> None:
    run_child(
        """
        error = lib.orFree(ffi.cast("void*", 0x1234))
        assert api.check(error, "orErrorInvalidValue") == "orFree: ptr is 0x1234, expected an address number 7"
        """,
        env={"OPENREG_DRIVER": build(COUNT=1)},
    )


def test_what_the_entry_points_check_never_reaches_the_driver(run_child: Any, build: BuildFunction) -> None:
    """The table of this driver is almost empty, so a call that got through would say "not implemented"."""
    run_child(
        """
        api.check(lib.orMalloc(ffi.NULL, 8), "orErrorInvalidValue", "^orMalloc: ", "ptr")
        api.check(lib.orGetDeviceProperties(ffi.NULL, 0), "orErrorInvalidValue", "properties")
        api.check(lib.orGetDeviceProperties(ffi.new("orDeviceProp*"), 2), "orErrorInvalidDevice", "device", "2")
        api.check(lib.orDeviceSynchronize(-1), "orErrorInvalidDevice", "device", "-1")
        api.check(lib.orEventCreateWithFlags(ffi.new("orEvent_t*"), 77), "orErrorInvalidValue", "flags", "77|0x4d")
        stream = ffi.cast("orStream_t", 0x1000)
        error = lib.orMemcpyAsync(ffi.cast("void*", 8), ffi.cast("void*", 8), 8, 9, stream)
        api.check(error, "orErrorInvalidValue", "kind", "9")
        api.malloc(8)
        in_forked_child(lambda: api.check(lib.orMalloc(ffi.new("void**"), 8), "orErrorForked"))
        api._buffers.clear()
        """,
        env={"OPENREG_DRIVER": build(COUNT=2)},
    )


@pytest.mark.parametrize("name", header.entries("openreg_sim.h"))
def test_the_controls_of_the_simulator_are_not_implemented_elsewhere(
    run_child: Any, build: BuildFunction, name: str
) -> None:
    run_child(
        f"""
        args = {{
            "orSimSetPauseFunction": [ffi.cast("orSimPauseFn_t", 8)],
            "orSimSetDelay": [0, 0, 0],
            "orSimFailCall": [b"orMalloc", 1, 2],
            "orSimLoseDevice": [0],
            "orSimThreadCount": [ffi.new("int*")],
        }}
        error = api.call({name!r}, *args[{name!r}])
        api.check(error, "orErrorNotImplemented", "^not implemented: {name}$")
        """,
        env={"OPENREG_DRIVER": build(COUNT=1)},
    )
