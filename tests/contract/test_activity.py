"""Activity records: complete, or said to be missing."""

from __future__ import annotations

from typing import Any

import pytest

from .harness import OpenReg


@pytest.mark.entry("orActivitySubscribe", case="good")
@pytest.mark.entry("orActivityUnsubscribe", case="good")
def test_a_subscriber_gets_a_record_of_each_piece_of_work_or_hears_that_there_are_none(api: OpenReg, lib: Any) -> None:
    records: list[tuple[int, int, int, int, int, int, str]] = []

    def callback(record: Any, _: Any) -> None:
        name = api.ffi.string(record.name).decode()
        times = (record.startNs, record.endNs)
        records.append((record.kind, record.device, record.stream, record.correlation, *times, record.bytes, name))

    function = api.ffi.callback("orActivityFn_t", callback)
    subscriber = api.ffi.new("orSubscriber_t*")
    error = lib.orActivitySubscribe(subscriber, function, api.ffi.NULL)
    if error == api.errors["orErrorNotImplemented"]:
        api.check(error, "orErrorNotImplemented", "^not implemented: (or)?ActivitySubscribe$")
        handle = api.ffi.cast("orSubscriber_t", 1)
        missing = "^not implemented: (or)?ActivityUnsubscribe$"
        api.check(lib.orActivityUnsubscribe(handle), "orErrorNotImplemented", missing)
        return
    api.ok(error)
    buffer = api.malloc(64)
    api.ok(lib.orMemset(api.pointer(buffer), 1, 64))
    api.read(buffer, 64)
    api.ok(api.launch(api.kernel("nothing"), b"", [], api.default_stream()))
    api.ok(lib.orDeviceSynchronize(0))
    api.ok(lib.orActivityUnsubscribe(subscriber[0]))
    kinds = [lib.orActivityMemset, lib.orActivityMemcpy, lib.orActivityKernel]
    assert [record[0] for record in records] == kinds
    assert len({record[2] for record in records}) == 1
    assert [record[6] for record in records] == [64, 64, 0]
    assert records[2][7] == "nothing"
    assert all(record[4] <= record[5] for record in records)
    correlations = [record[3] for record in records]
    assert len(set(correlations)) == 3
    text = ("^orActivityUnsubscribe: ", "subscriber")
    api.check(lib.orActivityUnsubscribe(subscriber[0]), "orErrorInvalidHandle", *text)
