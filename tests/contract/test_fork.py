"""Fork: the child of a process that used a device gets a clear error, except where it gives things back."""

from __future__ import annotations

from typing import Any

import pytest

from . import header

DOES_NOTHING = [
    name for name, entry in header.entries().items() if "In a forked child does nothing" in entry.documentation
]
IS_REFUSED = [
    name for name in header.entries() if "orErrorForked" in header.documentation(name) and name not in DOES_NOTHING
]


def test_every_entry_says_what_it_does_in_a_forked_child() -> None:
    silent = set(header.entries()) - set(DOES_NOTHING) - set(IS_REFUSED)
    about_errors = {name for name in silent if "Error" in name}
    free = {"orGetDriverName", "orSimThreadCount"}  # Which driver there is does not change with a fork.
    assert silent - about_errors <= free
    assert set(DOES_NOTHING) >= {"orFree", "orFreeHost", "orStreamDestroy", "orEventDestroy"}


def test_in_a_forked_child_every_entry_returns_a_clear_error(run_child: Any) -> None:
    run_child(
        f"""
        import contract.header as header
        from contract.arguments import Arguments
        arguments = Arguments(api)
        refused = {{name: arguments.of(name) for name in {IS_REFUSED!r}}}
        def child():
            for name, args in refused.items():
                api.check(api.call(name, *args), "orErrorForked", f"^{{name}}: ", "fork")
                assert api.lib.orGetLastError() == api.errors["orErrorForked"]
                assert api.lib.orPeekAtLastError() == 0
        in_forked_child(child)
        api.ok(lib.orDeviceSynchronize(0))
        """
    )


def test_in_a_forked_child_free_and_destroy_do_nothing(run_child: Any) -> None:
    run_child(
        f"""
        from contract.arguments import OPTIONAL, Arguments
        arguments = Arguments(api)
        calls = {{name: arguments.of(name) for name in {DOES_NOTHING!r}}}
        def child():
            for name, args in calls.items():
                for _ in range(2):
                    api.ok(api.call(name, *args))
            for name in ("orFree", "orFreeHost", "orStreamDestroy"):
                api.ok(api.call(name, ffi.NULL))
                api.ok(api.call(name, ffi.cast("void*", 0x1234)))
        in_forked_child(child)
        for name, args in calls.items():
            if name not in OPTIONAL:
                api.ok(api.call(name, *args))  # all of it is still alive in the parent
        """
    )


def test_errors_still_have_names_in_a_forked_child(run_child: Any) -> None:
    run_child(
        """
        api.malloc(8)
        def child():
            for name, value in api.errors.items():
                assert ffi.string(lib.orGetErrorName(value)).decode() == name
                assert ffi.string(lib.orGetErrorString(value))
        in_forked_child(child)
        """
    )


@pytest.mark.parametrize("use", ["", "api.device_count", "api.device_count, api.get('orGetDeviceProperties', 1)"])
def test_a_process_that_forked_before_it_used_a_device_has_a_child_like_any_other(run_child: Any, use: str) -> None:
    run_child(
        f"""
        {use}
        def child():
            assert api.device_count >= 1
            buffer = api.malloc(8)
            api.write(buffer, b"12345678")
            assert api.read(buffer, 8) == b"12345678"
            log = api.log()
            api.append(log, 4, api.default_stream())
            assert api.read_log(log) == [4]
        in_forked_child(child)
        child()
        """
    )


def test_the_parent_goes_on_after_a_fork(run_child: Any) -> None:
    run_child(
        """
        log = api.log()
        stream = api.stream()
        gate = api.gate(stream)
        api.append(log, 1, stream)
        gate.wait_for(1)
        in_forked_child(lambda: None)
        api.append(log, 2, stream)
        gate.open()
        api.synchronize(stream)
        assert api.read_log(log) == [1, 2]
        """
    )


def test_a_fork_while_other_threads_use_the_driver_leaves_no_lock_behind(run_child: Any) -> None:
    run_child(
        """
        import threading
        stop = threading.Event()
        kernel = api.kernel("nothing")
        def work():
            stream = api.stream()
            while not stop.is_set():
                buffer = api.get("orMalloc", 64)
                api.ok(lib.orMemsetAsync(buffer, 1, 64, stream))
                api.ok(api.launch(kernel, b"", [], stream))
                api.ok(lib.orFree(buffer))
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        def child():
            api.check(lib.orDeviceSynchronize(0), "orErrorForked", "fork")
            api.check(lib.orMalloc(ffi.new("void**"), 8), "orErrorForked", "fork")
            api.ok(lib.orFree(ffi.NULL))
        for _ in range(20):
            in_forked_child(child)
        stop.set()
        for thread in threads:
            thread.join()
        """
    )


def test_the_child_of_a_child_is_refused_too(run_child: Any) -> None:
    run_child(
        """
        api.malloc(8)
        refused = lambda: api.check(lib.orDeviceSynchronize(0), "orErrorForked", "fork")
        in_forked_child(lambda: (in_forked_child(refused), refused()))
        """
    )


def test_a_forked_child_reads_pinned_memory_and_what_it_writes_stays_its_own(run_child: Any) -> None:
    run_child(
        """
        buffers = [api.malloc_host(size) for size in (8, 100_000)]
        views = [ffi.buffer(ffi.cast("char*", buffer), 8) for buffer in buffers]
        device = api.malloc(8)
        for view in views:
            view[:] = b"original"
        def child():
            for view in views:
                assert view[:] == b"original"
                view[:] = b"replaced"
                assert view[:] == b"replaced"
        in_forked_child(child)
        assert [view[:] for view in views] == [b"original"] * 2
        for buffer, view in zip(buffers, views):  # the device still sees what the host writes
            view[:] = b"goes on."
            api.ok(lib.orMemcpyAsync(api.pointer(device), api.pointer(buffer), 8, lib.orMemcpyDefault, api.stream()))
            api.ok(lib.orDeviceSynchronize(0))
            assert api.read(device, 8) == b"goes on."
        """
    )
