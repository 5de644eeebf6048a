"""run_op: a kernel that computes any operator with PyTorch, in this process.

This is how the first OpenReg computed everything: the host says which operator and where the tensors are, and PyTorch
on the CPU of this process, which sees the device's memory as its own, does the rest. A launch's arguments are

    pointer to the reply, its size · number of the call · what to do · number of storages · pointer, size of each · text

where the text is the operator's name and its arguments, each a letter and its value. Launches go in order like those of
any kernel; the reply is for whoever reads it afterwards.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import struct
import warnings
from collections.abc import Callable
from typing import Any

HEAD = struct.Struct("<QQQII")
STORAGE = struct.Struct("<QQ")
MIN_ARGS_SIZE = HEAD.size
INTO, KEEP, TAKE = range(3)
OWN = 2**32 - 1  # in place of a storage's number: the tensor has memory of its own
DONE, ERROR = 0, 1

# DType of kernels/launch/dtype.h, by number.
DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
DTYPES += ["complex32", "complex64", "complex128", "bool", "uint16", "uint32", "uint64"]
LAYOUTS = {0: "strided"}
MEMORY_FORMATS = ["contiguous_format", "preserve_format", "channels_last", "channels_last_3d"]

torch: Any = None
kept: dict[int, list[Any]] = {}  # results of calls that KEEP, until they are taken


def load() -> None:
    """Imports PyTorch: when first needed, as it takes seconds.

    Operators of others, which the host has from modules that it has imported, are known here once OPENREG_RUN_OP_IMPORT
    names these modules, with colons between them.
    """
    global torch
    if torch is None:
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"  # Here there is only the CPU.
        warnings.simplefilter("ignore")  # The host warns where there is somebody to read it.
        torch = importlib.import_module("torch")
        for module in filter(None, os.environ.get("OPENREG_RUN_OP_IMPORT", "").split(":")):
            importlib.import_module(module)


# LITERALINCLUDE START: RUN OP VALUES
class Reader:
    """Reads the text of a launch."""

    def __init__(self, data: bytes, storages: list[Any]) -> None:
        """`storages` are what tensors refer to by number."""
        self.data, self.at, self.storages = data, 0, storages
        self.tensors: dict[bytes, Any] = {}  # what is said twice is one tensor

    def take(self, form: str) -> Any:
        """The next number."""
        (value,) = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def string(self) -> str:
        """A text with its length before it."""
        size = self.take("I")
        self.at += size
        return self.data[self.at - size : self.at].decode()

    def value(self) -> Any:
        """A value, after the letter that says what it is."""
        match self.take("c"):
            case b"n":
                return None
            case b"b":
                return bool(self.take("B"))
            case b"i":
                return self.take("q")
            case b"f":
                return self.take("d")
            case b"c":
                return complex(self.take("d"), self.take("d"))
            case b"s":
                return self.string()
            case b"l":
                return [self.value() for _ in range(self.take("I"))]
            case b"d":
                return getattr(torch, DTYPES[self.take("i")])
            case b"y":
                return getattr(torch, LAYOUTS[self.take("i")])
            case b"m":
                return getattr(torch, MEMORY_FORMATS[self.take("i")])
            case b"v":
                return torch.device("cpu")  # Whatever device the host means: here is only one.
            case b"t":
                return self.tensor()
            case letter:
                raise ValueError(f"run_op: a value starts with {letter!r}")

    def tensor(self) -> Any:
        """A tensor: type, storage, offset, sizes, strides. PyTorch refuses what leaves the storage."""
        start = self.at
        dtype, storage, offset = self.take("i"), self.take("I"), self.take("q")
        dims = self.take("I")
        sizes, strides = ([self.take("q") for _ in range(dims)] for _ in range(2))
        said = self.data[start : self.at]
        if said not in self.tensors:
            empty = torch.empty(0, dtype=getattr(torch, DTYPES[dtype]))
            self.tensors[said] = empty.set_(self.storages[storage], offset, sizes, strides)
        return self.tensors[said]


def write(value: Any, storages: list[Any]) -> bytes:
    """The same in the other direction: a result."""
    match value:
        case None:
            return b"n"
        case bool():
            return b"b" + struct.pack("<B", value)
        case int():
            return b"i" + struct.pack("<q", value)
        case float():
            return b"f" + struct.pack("<d", value)
        case complex():
            return b"c" + struct.pack("<dd", value.real, value.imag)
        case str():
            return b"s" + text(value)
        case list() | tuple():
            return b"l" + struct.pack("<I", len(value)) + b"".join(write(item, storages) for item in value)
        case torch.Tensor():
            dtype = DTYPES.index(str(value.dtype).removeprefix("torch."))
            head = struct.pack("<iIqI", dtype, storage_of(value, storages), value.storage_offset(), value.dim())
            return b"t" + head + struct.pack(f"<{2 * value.dim()}q", *value.shape, *value.stride())
    raise TypeError(f"run_op: a result is of type {type(value).__name__}")


def text(value: str) -> bytes:
    """A text with its length before it."""
    data = value.encode()
    return struct.pack("<I", len(data)) + data


def storage_of(tensor: Any, storages: list[Any]) -> int:
    """The number of the argument's storage that a result is a view of."""
    identity = tensor.untyped_storage()._cdata
    return next((i for i, it in enumerate(storages) if it._cdata == identity), OWN)


# LITERALINCLUDE END: RUN OP VALUES


# LITERALINCLUDE START: RUN OP
def memory(address: int, size: int) -> Any:
    """A storage over device memory. It cannot grow."""
    if size == 0:
        return torch.UntypedStorage(0)
    return torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=torch.uint8).untyped_storage()


def flat(values: Any) -> list[Any]:
    """The tensors in a nest of lists."""
    if isinstance(values, list | tuple):
        return [tensor for value in values for tensor in flat(value)]
    return [values] if isinstance(values, torch.Tensor) else []


def compute(data: bytes, storages: list[Any], mode: int, number: int) -> bytes:
    """Calls an operator. Its results go into the outputs that the host has made, or are kept until it has made some."""
    reader = Reader(data, storages)
    namespace, name = reader.string().split("::")
    overload = reader.string() or "default"
    try:
        op = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    except AttributeError:
        raise NotImplementedError(f"its PyTorch has no operator {namespace}::{name}.{overload}") from None
    parameters = op._schema.arguments
    is_written = [it.alias_info is not None and it.alias_info.is_write for it in parameters]
    if mode == KEEP and any(is_written):
        # A private copy of the memory: what is written to may have to grow, which only the host can see to.
        storages[:] = [it.clone() for it in storages]
    arguments = [reader.value() for _ in parameters]
    outputs = reader.value()  # for each result a tensor, or None

    with torch.no_grad():
        by_name = {it.name: value for it, value in zip(parameters, arguments, strict=True) if it.kwarg_only}
        result = op(*arguments[: len(arguments) - len(by_name)], **by_name)
        single = len(op._schema.returns) == 1
        results = [dense(it, storages) for it in ([result] if single else result or ())]

        written = flat([value for value, is_one in zip(arguments, is_written, strict=True) if is_one])
        if mode == KEEP:
            kept[number] = written + [it for it in flat(results) if storage_of(it, storages) == OWN]
        else:
            for output, value in zip(flat(outputs), fitting(outputs, results), strict=True):
                put(value, output)
    return write(written, storages) + write(results, storages)


def dense(result: Any, storages: list[Any]) -> Any:
    """A result as it can be handed over: new memory without gaps, or a view of an argument."""
    if isinstance(result, list | tuple):
        return [dense(it, storages) for it in result]
    is_new = isinstance(result, torch.Tensor) and storage_of(result, storages) == OWN
    return result.clone() if is_new and not result.is_contiguous() else result


def fitting(outputs: Any, results: Any) -> list[Any]:
    """The results for which there are outputs."""
    if isinstance(outputs, list):
        return [it for output, result in zip(outputs, results, strict=True) for it in fitting(output, result)]
    return [] if outputs is None else [results]


def put(value: Any, output: Any) -> None:
    """Copies a result into an output of the same type and sizes."""
    if value.dtype != output.dtype or value.shape != output.shape:
        made, came = (f"{it.dtype} {list(it.shape)}" for it in (output, value))
        raise RuntimeError(f"the host has made a result of {made}; the operator gives {came}")
    output.copy_(value)


def take(data: bytes, storages: list[Any], number: int) -> bytes:
    """Hands kept results over, or drops them if the host names no tensors."""
    values, outputs = kept.pop(number, []), Reader(data, storages).value()
    for value, output in zip(values, outputs or (), strict=bool(outputs)):
        put(value, output)
    return b""


def run(args: int, size: int, fail: Callable[[int, str], None]) -> None:
    """The kernel. An error of the operator is an answer, not a failure of the device."""
    reply, room, number, mode, count = HEAD.unpack(ctypes.string_at(args, HEAD.size))
    end = HEAD.size + count * STORAGE.size
    if end > size:
        fail(1, f"it is launched with {count} storages and {size} bytes of arguments")
        return
    places = STORAGE.iter_unpack(ctypes.string_at(args + HEAD.size, end - HEAD.size))
    try:
        load()
        storages = [memory(address, length) for address, length in places]
        data = ctypes.string_at(args + end, size - end)
        answer = take(data, storages, number) if mode == TAKE else compute(data, storages, mode, number)
        answer = struct.pack("<I", DONE) + answer
        if len(answer) > room:
            kept.pop(number, None)
            raise RuntimeError(f"the description of its results has {len(answer)} bytes; there is room for {room}")
    except Exception as error:
        said = str(error).encode()[: room - 1024].decode(errors="ignore")
        answer = struct.pack("<I", ERROR) + text(type(error).__name__) + text(said)
    ctypes.memmove(reply, answer, len(answer))


# LITERALINCLUDE END: RUN OP
