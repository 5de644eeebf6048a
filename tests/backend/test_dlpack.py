"""Memory shared with other libraries in this process: DLPack, and the protocols that want memory of the host."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch
from contract.harness import Call
from torch.utils.dlpack import DLDeviceType

from .conftest import GateFunction

openreg = torch.openreg

NO_STREAM = "orStreamWaitEvent: argument 'stream' is 0x3039, which no call here has returned; expected a stream"


class Elsewhere:
    """An array of another library: it has a tensor, and writes down what it is asked."""

    def __init__(self, x: torch.Tensor) -> None:
        self.x, self.asked = x, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.x.__dlpack_device__()

    def __dlpack__(self, **asked: Any) -> Any:
        self.asked.append(asked)
        return self.x.__dlpack__(**asked)


def index_of(device: str) -> int:
    """The number in a device's name."""
    return torch.device(device).index


# ----------------------------------------------------------------------- what is shared


def test_a_tensor_says_that_it_is_on_an_extension_device(device: str) -> None:
    x = torch.ones(2, device=device)
    for tensor in (x, torch.nn.Parameter(x), x.as_subclass(type("Own", (torch.Tensor,), {}))):
        assert tensor.__dlpack_device__() == (DLDeviceType.kDLExtDev, index_of(device))
    assert torch.ones(2).__dlpack_device__() == (DLDeviceType.kDLCPU, 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.int8, torch.bool, torch.cfloat])
def test_what_comes_out_is_the_same_memory(device: str, dtype: torch.dtype) -> None:
    x = torch.arange(12, device=device).to(dtype).view(3, 4).t()[1:]
    for same in (torch.from_dlpack(x), openreg.from_dlpack(x), torch.from_dlpack(torch.utils.dlpack.to_dlpack(x))):
        assert (same.device, same.dtype, same.shape, same.stride()) == (x.device, x.dtype, x.shape, x.stride())
        assert same.data_ptr() == x.data_ptr()
        assert torch.equal(same.cpu(), x.cpu())
    same.zero_()
    assert not x.cpu().any()


@pytest.mark.usefixtures("no_collection")
def test_the_memory_lives_as_long_as_one_of_them(device: str) -> None:
    before = openreg.memory_allocated(device)
    x = torch.arange(1000.0, device=device)
    same = torch.from_dlpack(x)
    del x
    assert torch.equal(same.cpu(), torch.arange(1000.0))
    assert openreg.memory_allocated(device) > before
    del same
    assert openreg.memory_allocated(device) == before
    capsule = torch.ones(1000, device=device).__dlpack__()
    assert openreg.memory_allocated(device) > before
    del capsule
    assert openreg.memory_allocated(device) == before


def test_a_copy_is_made_where_one_is_asked_for(device: str, other_device: str) -> None:
    x = torch.arange(3.0, device=device)
    for place, copy in ((device, True), ("cpu", None), (other_device, None)):
        other = torch.from_dlpack(x, device=place, copy=copy)
        assert str(other.device) == place and torch.equal(other.cpu(), x.cpu())
        assert other.data_ptr() != x.data_ptr()
    with pytest.raises(ValueError, match="cannot move DLPack tensor from device"):
        torch.from_dlpack(x, device="cpu", copy=False)


def test_memory_of_the_host_comes_by_a_copy(device: str) -> None:
    array = np.arange(4, dtype=np.float32)
    assert torch.equal(torch.from_dlpack(array, device=device).cpu(), torch.arange(4.0))
    with pytest.raises(
        ValueError, match="from_dlpack: argument 'source' is on a DLPack device of type 1; expected kDL"
    ):
        openreg.from_dlpack(array)


def test_what_dlpack_has_no_words_for_is_refused(device: str) -> None:
    x = torch.ones(2, dtype=torch.cfloat, device=device)
    with pytest.raises(BufferError, match="Can't export tensors that require gradient, use tensor"):
        torch.from_dlpack(x.detach().requires_grad_())
    with pytest.raises(BufferError, match="Can't export tensors with the conjugate bit set"):
        torch.from_dlpack(x.conj())


# ----------------------------------------------------------------------- order


def test_another_librarys_stream_waits_for_what_was_queued(device: str, gate: GateFunction) -> None:
    producer, consumer = torch.Stream(device), torch.Stream(device)
    x = torch.zeros(4, device=device)
    openreg.synchronize(device)
    closed = gate(producer)
    with producer:
        x.fill_(7)
        capsule = x.__dlpack__(stream=consumer.native_handle)
    with consumer:
        seen = torch.utils.dlpack.from_dlpack(capsule) + 0
    waiting = Call(consumer.synchronize)
    assert waiting.blocks()
    closed.open()
    waiting.result()
    assert torch.equal(seen.cpu(), torch.full((4,), 7.0))


@pytest.mark.parametrize("stream", [None, 0])
def test_no_stream_is_the_default_one(device: str, gate: GateFunction, stream: int | None) -> None:
    producer, default = torch.Stream(device), openreg.default_stream(device)
    x = torch.zeros(4, device=device)
    openreg.synchronize(device)
    gate(producer)
    with producer:
        x.__dlpack__(stream=stream)
    assert not default.query()


def test_minus_one_orders_nothing(device: str, gate: GateFunction) -> None:
    producer, default = torch.Stream(device), openreg.default_stream(device)
    x = torch.zeros(4, device=device)
    openreg.synchronize(device)
    gate(producer)
    with producer:
        x.__dlpack__(stream=-1)
        torch.from_dlpack(x)  # the consumer's stream is the producer's
    assert default.query()


def test_a_copy_for_another_library_is_ordered_too(device: str, other_device: str, gate: GateFunction) -> None:
    """The copy waits at the source, and the stream that it is for has to wait for the copy."""
    x = torch.full((4,), 7.0, device=device)
    consumer = torch.Stream(other_device)
    openreg.synchronize(device)
    closed = gate(index_of(device))
    place = (DLDeviceType.kDLExtDev, index_of(other_device))
    capsule = x.__dlpack__(stream=consumer.native_handle, dl_device=place)
    with consumer:
        seen = torch.utils.dlpack.from_dlpack(capsule) + 0
    assert str(seen.device) == other_device
    waiting = Call(consumer.synchronize)
    assert waiting.blocks()
    closed.open()
    waiting.result()
    assert torch.equal(seen.cpu(), torch.full((4,), 7.0))


def test_what_is_taken_in_is_asked_to_be_ready_on_the_current_stream(device: str, gate: GateFunction) -> None:
    producer, consumer = torch.Stream(device), torch.Stream(device)
    x = torch.zeros(4, device=device)
    openreg.synchronize(device)
    closed = gate(producer)
    theirs = Elsewhere(x)

    def on_their_stream(**asked: Any) -> Any:
        theirs.asked.append(asked)
        with producer:
            x.fill_(7)
            return x.__dlpack__(**asked)

    theirs.__dlpack__ = on_their_stream  # type: ignore[method-assign]
    with consumer:
        seen = openreg.from_dlpack(theirs) + 0
    assert theirs.asked == [{"stream": consumer.native_handle}]
    assert not consumer.query()
    closed.open()
    consumer.synchronize()
    assert torch.equal(seen.cpu(), torch.full((4,), 7.0))


def test_the_current_device_stays(device: str) -> None:
    x = torch.ones(2, device=device)
    side = torch.Stream(device)
    x.__dlpack__(stream=side.native_handle)
    openreg.from_dlpack(x)
    assert openreg.current_device() == 0


def test_a_stream_that_is_none_is_refused(device: str) -> None:
    x = torch.ones(2, device=device)
    for wrong in (-2, 1.0, "1", True):
        text = f"__dlpack__: argument 'stream' is {wrong!r}; expected an orStream_t as a number, or None"
        with pytest.raises(TypeError, match=re.escape(text)):
            x.__dlpack__(stream=wrong)
    with pytest.raises(RuntimeError, match=NO_STREAM):
        x.__dlpack__(stream=0x3039)


# ----------------------------------------------------------------------- protocols of the host's memory


def test_numpy_is_refused_or_gets_a_copy_that_was_asked_for(device: str) -> None:
    x = torch.arange(3.0, device=device)
    words = f"can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory"
    for take in (torch.Tensor.numpy, np.asarray, torch.Tensor.__array__):
        with pytest.raises(TypeError, match=re.escape(words)):
            take(x)
    assert np.array_equal(x.numpy(force=True), np.arange(3.0))
    assert x.tolist() == [0.0, 1.0, 2.0]


def test_numpy_refuses_the_device_by_dlpack_too(device: str) -> None:
    with pytest.raises(RuntimeError, match=r"Unsupported device in DLTensor\."):
        np.from_dlpack(torch.ones(2, device=device))


def test_protocols_of_other_memory_are_absent(device: str) -> None:
    x = torch.ones(2, device=device)
    assert not hasattr(x, "__cuda_array_interface__")
    with pytest.raises(TypeError, match="a bytes-like object is required"):
        memoryview(x)
    with pytest.raises(AttributeError, match="Can't get __cuda_array_interface__ on non-CUDA tensor type"):
        _ = x.__cuda_array_interface__


def test_pytorchs_own_function_does_not_know_the_device(device: str) -> None:
    """Once this fails, ours has become needless."""
    own = torch.Tensor.__dlpack_device__.__wrapped__
    with pytest.raises(ValueError, match="Unknown device type openreg for Dlpack"):
        own(torch.ones(2, device=device))
