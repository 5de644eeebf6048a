"""The tests' own gates, on which the tests of ordering rely. A driver needs functions of the host for them."""

from __future__ import annotations

from typing import Any

import pytest

from .harness import Call, Failure, OpenReg


def test_a_gate_counts_who_waits_and_lets_all_go_when_it_opens(api: OpenReg) -> None:
    streams = [api.stream(0), api.stream(0), api.stream(1)]
    gate = api.gate()
    assert gate.waiting == 0
    gate.close(*streams)
    gate.wait_for(3)
    gate.open()
    for stream in streams:
        api.synchronize(stream)
    assert gate.waiting == 0
    gate.open()
    gate.close(streams[0])
    api.synchronize(streams[0])
    gate.destroy()


def test_a_stream_arrives_at_the_gate_only_when_the_work_before_it_is_done(api: OpenReg) -> None:
    stream = api.stream()
    first, second = api.gate(stream, name="first"), api.gate(stream, name="second")
    first.wait_for(1)
    assert second.waiting == 0
    first.open()
    second.wait_for(1)
    second.open()
    api.synchronize(stream)


def test_destroying_a_gate_opens_it(api: OpenReg) -> None:
    stream = api.stream()
    gate = api.gate(stream)
    gate.wait_for(1)
    gate.destroy()
    api.synchronize(stream)


def test_a_gate_that_is_opened_before_the_stream_arrives_holds_nobody(api: OpenReg) -> None:
    stream = api.stream()
    first, second = api.gate(stream, name="first"), api.gate(stream, name="second")
    second.open()
    first.open()
    Call(lambda: api.synchronize(stream)).result()


def test_a_gate_names_itself_when_its_deadline_passes(api: OpenReg, capfd: pytest.CaptureFixture[str]) -> None:
    """Its streams go on then, so that a fault hangs nothing, and the test fails."""
    stream = api.stream()
    gate = api.gate(stream, name="the gate of the test", deadline=0.05)
    Call(lambda: api.synchronize(stream)).result()
    assert gate.waiting == 0
    with pytest.raises(Failure, match=r"the gate of the test.*0.05 s"):
        gate.destroy()
    assert "the gate of the test" in capfd.readouterr().err


def test_a_reset_lets_who_stands_at_a_gate_go_and_drops_what_is_behind_it(api: OpenReg) -> None:
    stream, called = api.stream(), []
    gate = api.gate(stream)
    gate.wait_for(1)
    api.host_function(stream, lambda: called.append("called"))
    Call(lambda: api.forget(0)).result()
    api.synchronize(api.default_stream())
    assert called == [] and gate.waiting == 0


def test_a_gate_of_another_device_stays_closed_while_one_is_reset(api: OpenReg, lib: Any) -> None:
    here, there = api.gate(api.stream(0)), api.gate(api.stream(1))
    here.wait_for(1)
    there.wait_for(1)
    api.forget(0)
    assert there.waiting == 1
    there.destroy()
    api.ok(lib.orDeviceSynchronize(1))
