"""Last error and message: per thread, taken or looked at, replaced by the next failure only."""

from __future__ import annotations

from typing import Any

import pytest

from .harness import Call, OpenReg


@pytest.mark.entry("orGetLastError", case="good")
@pytest.mark.entry("orPeekAtLastError", case="good")
def test_peek_keeps_the_last_error_and_get_forgets_it(api: OpenReg, lib: Any) -> None:
    assert lib.orPeekAtLastError() == 0
    error = lib.orSetDevice(-1)
    assert api.name(error) == "orErrorInvalidDevice"
    assert lib.orPeekAtLastError() == error
    assert lib.orPeekAtLastError() == error
    assert lib.orGetLastError() == error
    assert lib.orGetLastError() == 0
    assert lib.orPeekAtLastError() == 0


@pytest.mark.entry("orGetLastError", case="bad")
@pytest.mark.entry("orPeekAtLastError", case="bad")
def test_a_success_does_not_hide_the_last_error_and_a_failure_replaces_it(api: OpenReg, lib: Any) -> None:
    first = lib.orSetDevice(-1)
    api.ok(lib.orSetDevice(0))
    assert lib.orPeekAtLastError() == first
    second = lib.orGetDevice(api.ffi.NULL)
    assert second != first
    assert lib.orGetLastError() == second


@pytest.mark.entry("orGetLastErrorMessage", case="good")
def test_the_message_names_function_argument_and_both_values(api: OpenReg, lib: Any) -> None:
    count = api.device_count
    api.check(lib.orSetDevice(77), "orErrorInvalidDevice", "^orSetDevice: ", r"\bdevice\b", r"\b77\b", rf"\b{count}\b")


@pytest.mark.entry("orGetLastErrorMessage", case="bad")
def test_the_message_stays_until_another_error_replaces_it(api: OpenReg, lib: Any) -> None:
    lib.orSetDevice(77)
    message = api.message()
    api.ok(lib.orSetDevice(0))
    assert api.message() == message
    lib.orGetLastError()
    assert api.message() == message
    lib.orStreamSynchronize(api.ffi.NULL)
    assert api.message().startswith("orStreamSynchronize: ")


def test_the_message_is_empty_as_long_as_nothing_has_failed(api: OpenReg, lib: Any) -> None:
    lib.orSetDevice(-1)
    assert Call(api.message).result() == ""


def test_each_thread_has_a_last_error_of_its_own(api: OpenReg, lib: Any) -> None:
    mine = lib.orSetDevice(-1)
    message = api.message()

    def other() -> tuple[int, int, str]:
        before = lib.orPeekAtLastError()
        theirs = lib.orGetDevice(api.ffi.NULL)
        return before, theirs, api.message()

    before, theirs, text = Call(other).result()
    assert before == 0
    assert api.name(theirs) == "orErrorInvalidValue"
    assert text.startswith("orGetDevice: ")
    assert lib.orPeekAtLastError() == mine
    assert api.message() == message


def test_not_ready_is_never_the_last_error(api: OpenReg, lib: Any) -> None:
    stream = api.stream()
    with api.gate(stream):
        event = api.record(stream)
        assert api.name(lib.orStreamQuery(stream)) == "orErrorNotReady"
        assert api.name(lib.orEventQuery(event)) == "orErrorNotReady"
        assert lib.orPeekAtLastError() == 0
        error = lib.orSetDevice(-1)
        assert api.name(lib.orStreamQuery(stream)) == "orErrorNotReady"
        assert lib.orGetLastError() == error


def test_an_error_found_at_the_call_is_not_sticky(api: OpenReg, lib: Any) -> None:
    stream = api.stream()
    buffer = api.malloc(64)
    for _ in range(3):
        api.check(lib.orStreamSynchronize(api.ffi.NULL), "orErrorInvalidHandle")
        api.check(lib.orMemsetAsync(api.pointer(buffer), 0, 65, stream), "orErrorInvalidValue")
        api.check(lib.orFree(api.pointer(buffer + 8)), "orErrorInvalidValue")
    api.ok(lib.orMemsetAsync(api.pointer(buffer), 1, 64, stream))
    api.synchronize(stream)
    assert api.read(buffer, 64) == b"\1" * 64


def test_a_long_value_in_a_message_does_no_harm(api: OpenReg, lib: Any) -> None:
    name = b"x" * 100_000
    out = api.ffi.new("orModule_t*")
    assert api.check(lib.orModuleLoad(out, name), "orErrorNotFound", "^orModuleLoad: ", "xxxx")
