"""For each probe of the doctor ways to break its mechanism, and what it must answer then.

Each is a piece of program that runs before the probe, in a process of its own. `here` is the module of the probe.
"""

from __future__ import annotations

from typing import NamedTuple

NOT_SEEN, MISSING, SILENT, WRONG = "not seen", "missing", "silently does nothing", "wrong"
SUBCLASS = "class Lazy({0}):\n    def {1}(self, *args, **options): {2}\n{0} = Lazy\n"


class Break(NamedTuple):
    """A mechanism that doesn't work."""

    probe: str
    code: str
    word: str
    says: str  # part of the detail
    env: dict[str, str] = {}


def lazy(kind: str, method: str, body: str = "pass") -> str:
    """A subclass in the place of a class, whose method does something else."""
    return SUBCLASS.format(kind, method, body)


def kernel(operator: str, function: str) -> str:
    """Another kernel for an operator on the device."""
    return f"lib = torch.library.Library('aten', 'IMPL'); lib.impl('{operator}', {function}, 'PrivateUse1')"


AT_EXIT = "import atexit; os.register_at_fork(after_in_child=lambda: atexit.register({0}))"
FAKE = {"OPENREG_DRIVER": "fake"}
BLOCKING = {"OPENREG_LAUNCH_BLOCKING": "1"}  # when a call returns, nothing is left to do
RECORDS = lazy("torch.Stream", "record_event", "e = torch.Event('openreg'); e.record(self); return e")
BREAKS = [
    # before a build
    Break("compiler", "os.environ['CXX'] = 'no-such'", MISSING, "no C++ compiler: CXX is 'no-such'"),
    Break("compiler", "here.OLDEST['g++'] = (99,); os.environ['CXX'] = 'g++'", WRONG, "the build needs 99 or newer"),
    Break("cmake", "os.environ['PATH'] = ''", MISSING, "no cmake on the PATH"),
    Break("cmake", "here.OLDEST['cmake'] = (99, 1)", WRONG, "the build needs 99.1 or newer"),
    Break("ninja", "os.environ['PATH'] = ''", MISSING, "CMake takes Make"),
    Break("setuptools", "here.OLDEST['setuptools'] = (999,)", WRONG, "the build needs 999 or newer"),
    Break("headers", "here.HEADER = 'no/such.h'", MISSING, "torch/include/no/such.h"),
    # registration
    Break("name", "torch.accelerator.current_accelerator = lambda: None", WRONG, "current_accelerator() is None"),
    Break("module functions", "del torch.openreg.is_initialized", MISSING, "torch.openreg lacks is_initialized"),
    Break("module functions", "torch.openreg.is_available = lambda: False", WRONG, "is False with 2 devices"),
    Break("methods", "del torch.Tensor.openreg", MISSING, "Tensor has no method openreg()"),
    Break("methods", "torch.Tensor.openreg = lambda self: self", SILENT, "leaves the tensor on cpu"),
    Break("methods", "torch.nn.Module.openreg = lambda self: self", SILENT, "leaves the weights on cpu"),
    Break("autoload", "here.CODE = \"print('privateuseone')\"", MISSING, "is called 'privateuseone'"),
    Break("autoload", "here.CODE = 'import no_such'", WRONG, "No module named 'no_such'"),
    # driver
    Break("library", "", WRONG, "which cannot be loaded", {"OPENREG_DRIVER": "/no/such.so"}),
    Break(
        "vendor libraries",
        "here.subprocess.run = lambda *_, **__: type('Said', (), {'stdout': '\\tlibacme.so => not found'})",
        MISSING,
        "needs libacme.so, which is not found",
    ),
    Break("entries", "", MISSING, "not implemented: GetDeviceCount", FAKE),
    Break("level", "", MISSING, "no step; step 01 needs GetDeviceCount", FAKE),
    Break(
        "devices of the driver", "torch.accelerator.device_count = lambda: 3", WRONG, "2 devices, torch.accelerator 3"
    ),
    # guard
    Break("devices", "torch.accelerator.device_count = lambda: 0", WRONG, "there is no device"),
    Break(
        "current device", "torch.accelerator.set_device_index = lambda index: None", SILENT, "leaves device 0 current"
    ),
    Break("current device", "torch.accelerator.current_device_index = lambda: 1", WRONG, "it belongs to a thread"),
    Break("device context", "torch.openreg.device = contextlib.nullcontext", SILENT, "device 0 is current"),
    Break("device context", "torch.openreg.device.__exit__ = lambda *args: None", WRONG, "device 1 is current, not 0"),
    Break(
        "index of a tensor",
        "torch.Tensor.clone = lambda self: (torch.accelerator.set_device_index(1), self)[1]",
        WRONG,
        "leaves device 1 current",
    ),
    Break("synchronize", "torch.openreg.synchronize = lambda index: 1 / 0", WRONG, "ZeroDivisionError"),
    # tensors and operators
    Break("tensors", "torch.Tensor.to = lambda self, device: self", SILENT, "leaves the tensor on cpu"),
    Break("tensors", kernel("_copy_from", "lambda x, y, n=False: y"), WRONG, "comes back with other numbers"),
    Break("out of memory", "torch.empty = lambda *size, **options: None", SILENT, "a petabyte was given out"),
    Break("out of memory", "torch.empty = lambda *size, **options: 1 / 0", WRONG, "ZeroDivisionError"),
    Break("out of memory", "torch.empty = torch.utils.dlpack.from_dlpack", WRONG, "Error"),
    Break(
        "host read",
        "buffer = ctypes.create_string_buffer(8); torch.Tensor.data_ptr = lambda self: ctypes.addressof(buffer)",
        SILENT,
        "something else",
    ),
    Break("fallback", kernel("lgamma_", "lambda x: x"), WRONG, "lgamma_, in place: other numbers than on the CPU"),
    Break("fallback", "torch.openreg.set_fallback('raise')", WRONG, "falling back to the CPU is refused"),
    Break("print", "torch.Tensor.__repr__ = lambda self, **options: 'tensor'", WRONG, "repr() is tensor"),
    Break("native kernels", "torch._C._dispatch_has_kernel_for_dispatch_key = lambda *names: False", MISSING, "mm"),
    # autograd
    Break("backward", "torch.Tensor.backward = lambda self: None", SILENT, "leaves no gradient"),
    Break("backward", kernel("tanh_backward", "lambda grad, out: grad"), WRONG, "gradient: other numbers"),
    Break("exit", AT_EXIT.format("os.abort"), WRONG, "dies by SIGABRT at its end"),
    Break("exit", AT_EXIT.format("os._exit, 3"), WRONG, "ends with status 3 at its end"),
    Break("training", kernel("relu", "lambda x: x.neg()"), WRONG, "the loss after five steps: other numbers"),
    # memory
    Break("memory in use", "torch.accelerator.memory_allocated = lambda: 7", SILENT, "stays as it is"),
    Break("memory in use", "torch.accelerator.memory_allocated = itertools.count().__next__", WRONG, "was 0, 1 with"),
    Break("peak and reset", "torch.accelerator.reset_peak_memory_stats = lambda: None", SILENT, "after it was reset"),
    Break("cache", "torch.accelerator.empty_cache = lambda: None", SILENT, "empty_cache() leaves"),
    Break("free memory", "torch.accelerator.get_memory_info = lambda: (5, 5)", SILENT, "5 bytes are free without"),
    Break("free memory", "torch.accelerator.get_memory_info = lambda: (6, 5)", WRONG, "6 of 5 bytes are free"),
    Break("record_stream", "torch.Tensor.record_stream = lambda self, stream: None", SILENT, "given out again"),
    Break("record_stream", "", NOT_SEEN, "the work was done before the call", BLOCKING),
    # streams
    Break(
        "streams",
        "default = torch.accelerator.current_stream(); torch.accelerator.current_stream = lambda: default",
        SILENT,
        "leaves another stream current",
    ),
    Break(
        "streams",
        "torch.Stream = lambda device: torch.accelerator.current_stream(device)",
        SILENT,
        "gives the default stream",
    ),
    Break("stream functions", "del torch.openreg.Stream", MISSING, "has no attribute 'Stream'"),
    Break("stream functions", "torch.openreg.stream = contextlib.nullcontext", SILENT, "leaves another stream current"),
    Break(
        "work on a stream", "torch.mm = lambda a, b, out: out.copy_(a)", WRONG, "products on a stream: other numbers"
    ),
    Break("Stream.synchronize", lazy("torch.Stream", "synchronize"), SILENT, "returns before the work is done"),
    Break("device synchronize", "torch.openreg.synchronize = lambda: None", SILENT, "before the work of all streams"),
    Break("order of streams", lazy("torch.Stream", "wait_stream"), SILENT, "wait_stream() doesn't wait"),
    Break("Stream.synchronize", "", NOT_SEEN, "the work was done before the call", BLOCKING),
    Break("device synchronize", "", NOT_SEEN, "the work was done before the call", BLOCKING),
    Break("order of streams", "", NOT_SEEN, "the work was done before the call", BLOCKING),
    # events
    Break("events", lazy("torch.Event", "query", "return False") + RECORDS, WRONG, "hasn't happened after"),
    Break("Event.synchronize", lazy("torch.Event", "synchronize") + RECORDS, SILENT, "returns before the work is done"),
    Break(
        "event versions",
        lazy("torch.Event", "record", "self.event_id or super().record(*args)"),
        SILENT,
        "is still at its first point",
    ),
    Break("event versions", lazy("torch.Event", "synchronize"), SILENT, "recorded again returns before"),
    Break("event times", lazy("torch.Event", "elapsed_time", "return 0.0"), SILENT, "elapsed_time() is 0"),
    Break("event times", lazy("torch.Event", "elapsed_time", "return 1e9"), WRONG, "where the host's clock says"),
    Break("Event.synchronize", "", NOT_SEEN, "the work was done before the call", BLOCKING),
    Break("event versions", "", NOT_SEEN, "the work was done before the call", BLOCKING),
    # pinned memory
    Break("pin_memory", "torch.Tensor.pin_memory = torch.Tensor.clone", SILENT, "is_pinned() is False"),
    Break("pin_memory", "torch.Tensor.is_pinned = lambda self: True", SILENT, "that was never pinned"),
    Break(
        "non_blocking copies",
        "torch.Tensor.copy_ = lambda self, other, **options: self",
        WRONG,
        "copies with non_blocking=True: other numbers",
    ),
    Break("non_blocking with pinned", "torch.Tensor.is_pinned = lambda self: False", SILENT, "so the host waits"),
    # random numbers
    Break("seed", "torch.openreg.manual_seed_all = lambda seed: None", SILENT, "the numbers on openreg:0 don't repeat"),
    Break("seed", "torch.rand = torch.zeros", SILENT, "always draws the same"),
    Break("generator", lazy("torch.Generator", "manual_seed"), SILENT, "a generator"),
    Break("random state", "torch.openreg.set_rng_state = lambda *args: None", SILENT, "the numbers don't repeat"),
    # storage
    Break("save and load", "load = torch.load; torch.load = lambda file: load(file, 'cpu')", WRONG, "is loaded to cpu"),
    Break(
        "map_location",
        "load = torch.load; torch.load = lambda file, map_location: load(file)",
        WRONG,
        "map_location='cpu' loads to openreg:0",
    ),
    Break("deepcopy and pickle", "here.copy.deepcopy = lambda net: net", WRONG, "a module whose copy was changed"),
    Break(
        "dlpack",
        "made = torch.utils.dlpack.from_dlpack; torch.utils.dlpack.from_dlpack = lambda it: made(it).clone()",
        WRONG,
        "whose other name was written to: other numbers",
    ),
    Break(
        "sharing",
        "import pickle; here.ForkingPickler.dumps = pickle.dumps",
        WRONG,
        "that another process wrote to: other numbers",
    ),
    Break(
        "sharing", "import pickle; here.pickle.loads = lambda it: os.abort()", WRONG, "sent a tensor dies by SIGABRT"
    ),
    # mixed precision
    Break("autocast", "torch.autocast = lambda *args, **options: contextlib.nullcontext()", SILENT, "in float32"),
    Break(
        "autocast", "torch.openreg.get_amp_supported_dtype = lambda: [torch.bfloat16]", SILENT, "torch.bfloat16 works"
    ),
    Break("autocast", kernel("mm", "lambda a, b: a.new_zeros(8, 4)"), WRONG, "other numbers than the CPU's"),
    Break("GradScaler", "torch.amp.GradScaler.update = lambda self: None", SILENT, "the scale is 4.0 after"),
    # the rest
    Break(
        "profiler",
        "from torch.profiler import *; torch.profiler.profile = lambda activities: profile(activities=activities[:1])",
        SILENT,
        "no events of the device",
    ),
    Break(
        "graph",
        "torch.accelerator.Graph = contextlib.nullcontext; contextlib.nullcontext.replay = lambda self: None\n"
        "torch.add = lambda *args, **options: None",
        SILENT,
        "runs nothing",
    ),
    Break(
        "compile",
        "import torch._inductor.codegen.common as common; common.get_scheduling_for_device = lambda name: 1\n"
        "torch.compile = lambda function: lambda x: x.sum(1)",
        WRONG,
        "a compiled function: other numbers",
    ),
    Break(
        "collectives",
        "torch.distributed.Backend.default_device_backend_map['openreg'] = 'gloo'",
        WRONG,
        "",
    ),
    Break("fork", "os.register_at_fork(after_in_child=os.abort)", WRONG, "uses the device dies by SIGABRT"),
    Break("fork", "os.register_at_fork(after_in_child=lambda: time.sleep(60))", WRONG, "uses the device hangs"),
]
