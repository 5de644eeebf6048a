"""Threads of the simulator that meet at a bad moment, which pause points make happen every time."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _only_in_the_simulator(driver: str) -> None:
    if driver != "sim":
        pytest.skip("pause points are inside the simulator")


def test_a_worker_that_looks_at_a_synchronous_copy_is_not_deceived_by_what_comes_after(run_child: Any) -> None:
    """The worker sees that there is something; until it looks at it, the copy is over and its place written anew."""
    run_child(
        """
        api.pause_at_gates()
        stream, buffer, host = api.stream(), api.malloc(8), api.host(8)
        api.host_function(stream, lambda: None)  # from here on it has a worker
        api.synchronize(stream)
        turn = api.gate(name="turn")
        copy = Call(lambda: lib.orMemcpyWithStream(api.pointer(buffer), host, 8, lib.orMemcpyDefault, stream))
        turn.wait_for(1)
        front = api.gate(name="front")
        seen = []
        callback = ffi.callback("orHostFn_t", lambda data: seen.append(int(ffi.cast("intptr_t", data))))
        # One record of the ring each, as the copy has: the last that there is room for takes the copy's place.
        count = 5000
        submitted = []
        def fill():
            for number in range(count):
                api.ok(lib.orLaunchHostFunc(stream, callback, ffi.cast("void*", number)))
                submitted.append(number)
        filling = Call(fill)
        front.wait_for(1)
        turn.open()
        api.ok(copy.result())
        wait_until(lambda: len(submitted) == 4096, "the ring is full")
        assert filling.blocks() and seen == []
        front.open()
        filling.result(10)
        Call(lambda: api.synchronize(stream)).result(10)
        assert seen == list(range(count)), (len(seen), seen[:3])
        """,
        timeout=40,
    )


def test_many_threads_copy_in_a_stream_that_is_always_full(run_child: Any) -> None:
    """The same without a pause point: whatever the moment, the order stays."""
    run_child("""
        import struct, threading
        stream, kernel, log = api.stream(), api.kernel("append"), api.log()
        buffer = api.malloc(8)
        def launch():
            for value in range(200):
                args = struct.pack("<Qq", log, value) + bytes(2000 + value)
                api.ok(api.launch(kernel, args, [(0, READ | WRITE, 0, 8 * LOG_WORDS)], stream))
        def copies():
            host = ffi.new("char[8]")
            for _ in range(500):
                api.ok(lib.orMemcpyWithStream(api.pointer(buffer), host, 8, lib.orMemcpyDefault, stream))
        others = [Call(copies) for _ in range(3)]
        launch()
        for other in others:
            other.result()
        api.synchronize(stream)
        assert api.read_log(log) == list(range(200))
    """)


@pytest.mark.parametrize("worker", [False, True])
def test_a_stream_destroyed_in_the_middle_of_a_synchronous_copy_is_still_waited_for(
    run_child: Any, worker: bool
) -> None:
    """Whether it had other work before, for which a worker was started, or not."""
    run_child(
        f"""
        api.pause_at_gates()
        stream, buffer, host = api.stream(), api.malloc(8), api.host(8)
        if {worker}:
            api.host_function(stream, lambda: None)
            api.synchronize(stream)
        turn = api.gate(name="turn")
        copy = Call(lambda: lib.orMemcpyWithStream(api.pointer(buffer), host, 8, lib.orMemcpyDefault, stream))
        turn.wait_for(1)
        api.ok(lib.orStreamDestroy(stream))
        free = Call(lambda: api.ok(api.free(buffer)))
        everything = Call(lambda: api.ok(lib.orDeviceSynchronize(0)))
        assert free.blocks() and everything.blocks()
        turn.open()
        api.ok(copy.result())
        free.result()
        everything.result()
        """,
    )


def test_streams_destroyed_in_the_middle_of_a_synchronous_copy_are_given_back_once(run_child: Any) -> None:
    """No worker was ever started for them, so the copying thread is the last."""
    run_child(
        """
        api.pause_at_gates()
        buffer, host = api.malloc(8), api.host(8)
        for _ in range(50):
            turn, stream = api.gate(name="turn"), api.stream()
            copy = Call(lambda: lib.orMemcpyWithStream(api.pointer(buffer), host, 8, lib.orMemcpyDefault, stream))
            turn.wait_for(1)
            api.ok(lib.orStreamDestroy(stream))
            turn.destroy()
            api.ok(copy.result())
        streams = [api.stream() for _ in range(1000)]
        assert len({api.address(stream) & 0xFFFFFF for stream in streams}) == len(streams)
        for stream in streams:
            api.ok(lib.orStreamDestroy(stream))
        api.forget(0)
        """,
    )


def test_who_waits_behind_another_threads_copy_is_released_when_the_device_is_lost(run_child: Any) -> None:
    """Its place in the order is left behind, for a worker that has to be started for that to pass it."""
    run_child(
        """
        api.pause_at_gates()
        stream, buffer, hosts = api.stream(), api.malloc(8), [api.host(8) for _ in range(3)]
        def copy_here(host):
            return lib.orMemcpyWithStream(api.pointer(buffer), host, 8, lib.orMemcpyDefault, stream)
        turn = api.gate(name="turn")
        copies = [Call(lambda: copy_here(hosts[0]))]
        turn.wait_for(1)
        copies += [Call(lambda host=host: copy_here(host)) for host in hosts[1:]]
        assert all(copy.blocks() for copy in copies)
        api.ok(lib.orSimLoseDevice(0))
        for copy in copies[1:]:
            assert api.name(copy.result(5)) == "orErrorDeviceLost"
        assert copies[0].blocks()
        turn.open()
        assert api.name(copies[0].result()) == "orErrorDeviceLost"
        Call(lambda: api.forget(0)).result()
        api.write(api.malloc(8), b"12345678")
        """,
    )
