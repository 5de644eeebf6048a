"""Devices: count, current, context, synchronise, properties, errors; and that PyTorch's own guards honour them."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
import torch_openreg
from contract.harness import Call

from .conftest import GateFunction, ProgramFunction, child_environment


def current() -> int:
    return torch.openreg.current_device()


# ------------------------------------------------------------------------------------------------------- names, count


def test_there_are_two_devices() -> None:
    assert torch.openreg.is_available()
    assert torch.openreg.device_count() == 2


@pytest.mark.parametrize(("name", "index"), [("openreg", None), ("openreg:0", 0), ("openreg:1", 1)])
def test_torch_device_reads_the_name(name: str, index: int | None) -> None:
    device = torch.device(name)
    assert (device.type, device.index, str(device)) == ("openreg", index, name)
    assert device == torch.device("openreg", index) if index is not None else torch.device("openreg")


def test_privateuse1_is_another_name_of_the_device() -> None:
    assert torch.device("privateuseone:1") == torch.device("openreg:1")
    assert torch._C._get_privateuse1_backend_name() == "openreg"


def test_the_rename_cannot_be_done_to_another_name() -> None:
    with pytest.raises(RuntimeError, match="has already been set! Current backend: openreg"):
        torch.utils.rename_privateuse1_backend("other")


def test_a_device_of_the_same_name_is_found_as_a_module() -> None:
    assert torch.get_device_module("openreg") is torch.openreg
    assert torch.get_device_module(torch.device("openreg:1")) is torch.openreg


def test_tensors_modules_and_storages_have_methods_of_the_name() -> None:
    tensor = torch.ones(2)
    assert not tensor.is_openreg
    assert tensor.openreg().is_openreg
    assert tensor.openreg(1).device == torch.device("openreg:1")
    assert torch.nn.Linear(2, 2).openreg(1).weight.device == torch.device("openreg:1")
    assert tensor.untyped_storage().openreg().is_openreg


# ----------------------------------------------------------------------------------------------------- current device


def test_device_zero_is_current_at_first(program: ProgramFunction) -> None:
    assert program("print(torch.openreg.current_device(), torch.empty(1, device='openreg').device)") == "0 openreg:0\n"


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("name", [1, "openreg:1", torch.device("openreg:1"), torch.device(1)])
def test_set_device_takes_a_device_in_every_form(name: int | str | torch.device) -> None:
    # torch.device(1) is openreg:1 because openreg is the only accelerator.
    torch.openreg.set_device(name)
    assert current() == 1
    assert torch.empty(1, device="openreg").device == torch.device("openreg:1")


@pytest.mark.usefixtures("puts_back")
def test_set_device_without_an_index_keeps_the_current_device() -> None:
    torch.openreg.set_device(1)
    torch.openreg.set_device("openreg")
    assert current() == 1


@pytest.mark.parametrize("index", [-1, 2, 128, 300])
@pytest.mark.parametrize("function", ["set_device", "synchronize", "get_device_properties", "mem_get_info"])
def test_a_device_that_is_not_there_is_refused_by_name(function: str, index: int) -> None:
    said = f"^{function}: argument 'device' has index {index}; there are 2 openreg devices$"
    with pytest.raises(ValueError, match=said):
        getattr(torch.openreg, function)(index)
    assert current() == 0


def test_a_context_of_a_device_that_is_not_there_is_refused_when_it_is_made() -> None:
    with pytest.raises(ValueError, match="device: argument 'device' has index 2; there are 2 openreg devices"):
        torch.openreg.device("openreg:2")


@pytest.mark.parametrize("function", ["set_device", "synchronize", "device"])
def test_a_device_of_another_type_is_refused(function: str) -> None:
    said = f"^{function}: argument 'device' is 'cpu'; expected a device of type openreg$"
    with pytest.raises(ValueError, match=said):
        getattr(torch.openreg, function)("cpu")


@pytest.mark.parametrize("value", [1.0, True, [1], torch.ones(1)])
def test_what_is_no_device_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError, match=r"argument 'device' is .*; expected an index, a string, a torch\.device"):
        torch.openreg.set_device(value)


def test_a_tensor_on_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(RuntimeError, match="openreg: The device index is out of range: expected 0 to 1, but got 2"):
        torch.empty(1, device="openreg:2")
    assert current() == 0


# ------------------------------------------------------------------------------------------------------------ context


@pytest.mark.parametrize("name", [1, "openreg:1", torch.device("openreg:1")])
def test_the_context_switches_and_restores(name: int | str | torch.device) -> None:
    with torch.openreg.device(name):
        assert current() == 1
    assert current() == 0


def test_contexts_nest() -> None:
    with torch.openreg.device(1):
        with torch.openreg.device(0):
            assert current() == 0
            with torch.openreg.device(1):
                assert current() == 1
            assert current() == 0
        assert current() == 1
    assert current() == 0


def test_one_context_object_can_be_used_again() -> None:
    context = torch.openreg.device(1)
    for _ in range(2):
        with context:
            assert current() == 1
        assert current() == 0


def test_one_context_object_can_be_entered_while_it_is_entered() -> None:
    context = torch.openreg.device(1)
    with context, torch.openreg.device(0), context:
        with context:
            assert current() == 1
        assert current() == 1
    assert current() == 0


def test_one_context_object_in_two_threads_puts_back_each_threads_own_device() -> None:
    context, inside, left = torch.openreg.device(1), [threading.Event(), threading.Event()], threading.Event()

    def first() -> int:
        with context:
            inside[0].set()
            inside[1].wait(30)
        left.set()
        return current()

    def second() -> int:
        torch.openreg.set_device(1)
        inside[0].wait(30)
        with context:
            inside[1].set()
            left.wait(30)  # the first in is the first out
        return current()

    calls = [Call(first), Call(second)]
    assert [call.result() for call in calls] == [0, 1]


@pytest.mark.usefixtures("puts_back")
def test_a_context_of_none_changes_nothing() -> None:
    torch.openreg.set_device(1)
    with torch.openreg.device(None):
        assert current() == 1
    assert current() == 1


def test_a_context_of_none_restores_what_was_set_inside() -> None:
    with torch.openreg.device(None):
        torch.openreg.set_device(1)
    assert current() == 0


def test_an_exception_in_the_context_passes_and_restores() -> None:
    with pytest.raises(KeyError), torch.openreg.device(1):
        raise KeyError
    assert current() == 0


def test_torch_device_as_a_context_sets_the_default_of_factories_only() -> None:
    with torch.device("openreg:1"):
        assert torch.empty(1).device == torch.device("openreg:1")
        assert current() == 0


# ------------------------------------------------------------------------------------------------------------ threads


def test_each_thread_has_its_own_current_device() -> None:
    both_have_set = threading.Barrier(2)

    def work(index: int) -> tuple[int, str]:
        torch.openreg.set_device(index)
        both_have_set.wait()
        return current(), str(torch.empty(1, device="openreg").device)

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(work, [0, 1])) == [(0, "openreg:0"), (1, "openreg:1")]


@pytest.mark.usefixtures("puts_back")
def test_a_new_thread_starts_at_device_zero() -> None:
    torch.openreg.set_device(1)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(current).result() == 0


def test_init_from_many_threads_at_once(program: ProgramFunction) -> None:
    said = program("""
        from concurrent.futures import ThreadPoolExecutor
        start = threading.Barrier(8)
        def work(i):
            start.wait()
            torch.openreg.init()
            return torch.openreg.is_initialized(), torch.full((4,), i).to(f"openreg:{i % 2}").cpu().tolist()
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == [(True, [i] * 4) for i in range(8)]
        print("all")
    """)
    assert said == "all\n"


# -------------------------------------------------------------------------------------------------------- synchronise


def test_synchronize_waits_for_the_given_device_only(gate: GateFunction) -> None:
    closed = gate(1)
    torch.openreg.synchronize(0)  # returns though device 1 is busy
    waiting = Call(lambda: torch.openreg.synchronize(1))
    assert waiting.blocks()
    closed.open()
    waiting.result()


@pytest.mark.parametrize("name", [None, "openreg"])
def test_synchronize_without_an_index_waits_for_the_current_device(gate: GateFunction, name: str | None) -> None:
    closed = gate(1)

    def synchronize_on(index: int) -> None:
        with torch.openreg.device(index):
            torch.openreg.synchronize(name)

    synchronize_on(0)
    waiting = Call(lambda: synchronize_on(1))
    assert waiting.blocks()
    closed.open()
    waiting.result()


@pytest.mark.usefixtures("puts_back")
def test_synchronize_of_a_device_does_not_care_which_is_current(gate: GateFunction) -> None:
    gate(1)
    torch.openreg.set_device(1)
    torch.openreg.synchronize(0)
    assert current() == 1


def test_synchronize_releases_the_gil(gate: GateFunction) -> None:
    closed = gate(0)
    waiting = Call(lambda: torch.openreg.synchronize(0))
    # If the waiting thread held the GIL, this line would not run before the gate's deadline.
    assert waiting.blocks()
    closed.open()
    waiting.result()


def test_torch_accelerator_synchronizes_the_same_device(gate: GateFunction) -> None:
    closed = gate(1)
    torch.accelerator.synchronize(0)
    waiting = Call(lambda: torch.accelerator.synchronize(1))
    assert waiting.blocks()
    closed.open()
    waiting.result()


# -------------------------------------------------------------------------------------------------- guards of PyTorch


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("before", [0, 1])
def test_a_factory_leaves_the_current_device_alone(device: str, before: int) -> None:
    torch.openreg.set_device(before)
    assert str(torch.empty(3, device=device).device) == device
    assert str(torch.empty_strided((3,), (1,), device=device).device) == device
    assert current() == before


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("before", [0, 1])
def test_copies_and_operators_leave_the_current_device_alone(device: str, before: int) -> None:
    torch.openreg.set_device(before)
    tensor = torch.arange(6.0).to(device)
    tensor.resize_(40).set_()
    other = (torch.arange(6.0).to(device).view(2, 3).t() + 1).to(1 - torch.device(device).index)
    assert other.cpu().tolist() == [[1, 4], [2, 5], [3, 6]]
    assert current() == before


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("before", [0, 1])
def test_an_operator_of_two_results_leaves_the_current_device_alone(device: str, before: int) -> None:
    tensor = torch.tensor([[3.0, 1.0], [2.0, 4.0]], device=device)
    torch.openreg.set_device(before)
    values, places = tensor.max(0)
    assert current() == before
    torch.max(tensor, 0, out=(values, places))
    assert current() == before
    with pytest.raises(IndexError):
        tensor.max(7)
    assert current() == before
    assert (values.tolist(), places.tolist()) == ([3, 4], [0, 1])


@pytest.mark.usefixtures("puts_back")
@pytest.mark.parametrize("before", [0, 1])
def test_the_device_is_restored_after_an_error_in_the_middle(device: str, before: int) -> None:
    torch.openreg.set_device(before)
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 40, device=device)
    tensor = torch.empty(2, device=device)
    with pytest.raises(torch.OutOfMemoryError):
        tensor.resize_(1 << 40)
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.empty(-1, device=device)
    assert current() == before


@pytest.mark.usefixtures("no_collection")
def test_memory_comes_from_the_device_asked_for_whatever_is_current(device: str) -> None:
    index = torch.device(device).index
    before = [torch.openreg.memory_allocated(i) for i in (0, 1)]
    with torch.openreg.device(1 - index):
        tensor = torch.empty(1 << 20, dtype=torch.uint8, device=device)
    used = [torch.openreg.memory_allocated(i) - then for i, then in enumerate(before)]
    assert used[index] == tensor.nbytes
    assert used[1 - index] == 0


@pytest.mark.usefixtures("puts_back")
def test_torch_accelerator_is_this_device(device: str) -> None:
    assert torch.accelerator.is_available()
    assert torch.accelerator.device_count() == 2
    assert torch.accelerator.current_accelerator() == torch.device("openreg")
    index = torch.device(device).index
    torch.accelerator.set_device_index(index)
    assert torch.accelerator.current_device_index() == current() == index
    with torch.accelerator.device_index(1 - index):
        assert current() == 1 - index
    assert current() == index


def test_torch_accelerator_sees_the_device_of_the_context() -> None:
    with torch.openreg.device(1):
        assert torch.accelerator.current_device_index() == 1


def test_torch_accelerator_refuses_a_device_that_is_not_there() -> None:
    with pytest.raises(RuntimeError, match="openreg: The device index is out of range: expected 0 to 1, but got 2"):
        torch.accelerator.set_device_index(2)
    with pytest.raises(RuntimeError, match=r"orDeviceSynchronize.* 2.*orErrorInvalidDevice"):
        torch.accelerator.synchronize(2)
    assert current() == 0


def test_the_current_stream_is_the_default_stream_of_its_device(device: str) -> None:
    stream = torch.accelerator.current_stream(device)
    assert (stream.stream_id, stream.device) == (0, torch.device(device))


def test_the_capability_lists_what_the_device_has(device: str) -> None:
    types = torch.accelerator.get_device_capability(device)["supported_dtypes"]
    assert {torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64} <= types
    assert torch.quint8 not in types
    with pytest.raises(RuntimeError, match="openreg: The device index is out of range: expected 0 to 1, but got 2"):
        torch.accelerator.get_device_capability(2)


# --------------------------------------------------------------------------------------------------------- properties


def test_properties_tell_name_and_memory(device: str) -> None:
    properties = torch.openreg.get_device_properties(device)
    assert properties.name == "OpenReg Simulator"
    assert properties.total_memory == torch.openreg.mem_get_info(device)[1] == 4 << 30
    assert properties.multi_processor_count >= 1
    assert repr(properties) == (
        f"_DeviceProperties(name='OpenReg Simulator', major={properties.major}, minor={properties.minor}, "
        f"total_memory=4096MB, multi_processor_count={properties.multi_processor_count})"
    )


def test_properties_and_memory_of_no_device_named_are_the_current_ones(program: ProgramFunction) -> None:
    said = program(
        """
        torch.openreg.set_device(1)
        x = torch.empty(1 << 20, dtype=torch.uint8, device="openreg")
        assert torch.openreg.mem_get_info() == torch.openreg.mem_get_info(1) != torch.openreg.mem_get_info(0)
        print(torch.openreg.get_device_properties().total_memory)
    """,
        OPENREG_SIM="memory=8MiB",
    )
    assert said == f"{8 << 20}\n"


# ------------------------------------------------------------------------------------------------- no device, no driver


def test_without_devices_nothing_is_available_and_the_error_says_so(program: ProgramFunction) -> None:
    said = program(
        """
        print(torch.openreg.is_available(), torch.openreg.device_count(), torch.accelerator.is_available())
        print(torch.openreg.is_initialized(), torch.accelerator.current_accelerator(check_available=True))
        torch.manual_seed(3)
        for call in (torch.openreg.init, torch.openreg.current_device, lambda: torch.openreg.synchronize(0),
                     lambda: torch.openreg.set_device(0), lambda: torch.empty(1, device="openreg"),
                     lambda: torch.ones(1).openreg(), lambda: torch.ones(1).to("openreg:0")):
            try:
                call()
            except RuntimeError as error:
                print(error)
    """,
        OPENREG_SIM="devices=0",
    )
    assert said.splitlines() == [
        "False 0 False",
        "False None",
        *["openreg: no device available; the driver found 0 devices"] * 7,
    ]


def test_without_a_driver_the_package_imports_and_the_error_names_it(program: ProgramFunction) -> None:
    said = program(
        """
        import warnings
        warnings.simplefilter("ignore")
        print(torch.openreg.is_available(), torch.openreg.device_count(), torch.openreg.is_initialized())
        torch.manual_seed(3)
        for call in (torch.openreg.init, torch.openreg.current_device, lambda: torch.empty(1, device="openreg")):
            try:
                call()
            except torch.AcceleratorError as error:
                print(error.error_code, error)
    """,
        OPENREG_DRIVER="nonesuch",
    )
    first, *errors = said.splitlines()
    assert first == "False 0 False"
    assert len(errors) == 3
    for error in errors:
        assert error.startswith("17 openreg: ") and error.endswith("[orErrorDriver]")
        assert (
            "OPENREG_DRIVER is 'nonesuch'; expected 'sim', 'process', 'fake', 'cuda' or the path (with a slash in it) "
            "of a shared library that exports orGetDriver"
        ) in error


def test_who_asks_whether_there_is_a_device_is_told_once_why_there_is_none(program: ProgramFunction) -> None:
    said = program(
        """
        import warnings
        for question in (torch.openreg.is_available, torch.openreg.device_count, torch.accelerator.is_available):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                question()
            print(*(f"{it.category.__name__}: {it.message}" for it in caught))
        """,
        OPENREG_DRIVER="nonesuch",
    )
    first, *others = said.splitlines()
    assert first.startswith(
        "UserWarning: openreg: no device is available: orGetDeviceCount: OPENREG_DRIVER is 'nonesuch'"
    )
    assert others == ["", ""]


def test_no_devices_are_an_answer_and_no_reason_to_warn(program: ProgramFunction) -> None:
    assert program("print(torch.openreg.is_available())", OPENREG_SIM="devices=0") == "False\n"


def test_the_autograd_engine_counts_the_devices_once(program: ProgramFunction) -> None:
    code = """
        loss = torch.ones(1, device="openreg", requires_grad=True).sum()
        sim.lib.orSimFailCall(b"orGetDeviceCount", {n}, sim.errors["orErrorTimedOut"])
        for _ in range(2):
            try:
                loss.backward()
            except RuntimeError as error:
                print(str(error).splitlines()[0], flush=True)
    """
    asserted = (
        "0 <= device.index() && device.index() < static_cast<c10::DeviceIndex>(device_ready_queues_.size()) "
        "INTERNAL ASSERT FAILED"
    )
    # One of these calls is the engine's. If others fail, PyTorch may even crash: it trusts a count that it was told.
    said = (program(code.replace("{n}", str(n)), status=None) for n in range(1, 9))
    of_the_engine = next(it for it in said if asserted in it)
    assert of_the_engine.count("UserWarning: openreg: no device is available: orGetDeviceCount: this call was to") == 1
    assert of_the_engine.count(asserted) >= 2, "each backward pass fails, not only the one that counted"


def test_another_version_of_pytorch_is_refused_before_anything_is_registered() -> None:
    code = """
        import os, sys
        os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
        import torch
        for version in sys.argv[1:]:
            torch.__version__ = type(torch.__version__)(version)
            try:
                import torch_openreg
            except ImportError as error:
                print(error)
            registered = torch._C._dispatch_has_kernel_for_dispatch_key("aten::empty.memory_format", "PrivateUse1")
            print(registered, any("libtorch_openreg" in line for line in open("/proc/self/maps")))
        torch.__version__ = version.split("1+")[0] + "+another.build"
        import torch_openreg
        print("imported")
    """
    ours = torch_openreg._C._torch_version()
    others = ["9.9.9", ours[:-1], f"{ours}1", f"{ours}1+cpu"]
    command = [sys.executable, "-c", textwrap.dedent(code), *others]
    said = subprocess.run(command, env=child_environment(), capture_output=True, text=True, timeout=60, check=True)
    expected = [
        f"torch_openreg was built against torch {ours}, but torch {other} is installed; "
        "rebuild it with: pip install --no-build-isolation ."
        for other in others
    ]
    printed = said.stdout.splitlines()
    assert printed[:-1:2] == expected
    assert printed[1::2] == ["False False"] * len(others), "something was registered before"
    assert printed[-1] == "imported"


def test_a_setting_of_the_simulator_that_is_not_understood_is_named(program: ProgramFunction) -> None:
    said = program("torch.openreg.init()", status=1, OPENREG_SIM="devices=two")
    assert "OPENREG_SIM has 'devices=two'" in said


# ------------------------------------------------------------------------------------------------------------- errors


def test_out_of_memory_is_not_sticky(program: ProgramFunction) -> None:
    program("""
        try:
            torch.empty(1 << 50, device="openreg")
        except torch.OutOfMemoryError:
            pass
        else:
            raise SystemExit("no error")
        assert torch.arange(3.0).to("openreg").cpu().tolist() == [0, 1, 2]
        assert sim.lib.orPeekAtLastError() == 0, "the error was handled, but stayed behind"
    """)


@pytest.mark.parametrize(
    ("entry", "call"),
    [
        ("orDeviceSynchronize", "torch.openreg.synchronize(1)"),
        ("orMemcpyWithStream", "torch.ones(3).to('openreg:1')"),
        ("orMemcpyWithStream", "x.cpu()"),
        ("orMemcpyWithStream", "x[0].item()"),
        ("orMemcpyAsync", "x.clone()"),
        ("orMemcpyPeerAsync", "x.to('openreg:0')"),
        ("orEventRecord", "x.to('openreg:0')"),
        ("orEventCreateWithFlags", "x.to('openreg:0')"),
        ("orStreamWaitEvent", "x.to('openreg:0')"),
        ("orMalloc", "torch.empty(3 << 20, device='openreg:1')"),
        ("orMalloc", "x.resize_(3 << 20)"),
        ("orMemGetInfo", "torch.openreg.mem_get_info(1)"),
    ],
)
def test_an_error_of_any_entry_becomes_an_accelerator_error(program: ProgramFunction, entry: str, call: str) -> None:
    said = program(f"""
        x = torch.ones(3).to("openreg:1")
        used = [torch.openreg.memory_allocated(i) for i in (0, 1)]
        sim.lib.orSimFailCall(b"{entry}", 1, sim.errors["orErrorTimedOut"])
        try:
            {call}
        except torch.AcceleratorError as error:
            print(error.error_code, error)
        assert x.cpu().tolist() == [1, 1, 1], "one failed call must not spoil the tensor"
        assert torch.openreg.current_device() == 0
        assert [torch.openreg.memory_allocated(i) for i in (0, 1)] == used
    """)
    assert said.startswith("11 openreg: ") and said.endswith("[orErrorTimedOut]\n")


def test_a_lost_device_reports_itself_and_the_other_goes_on(program: ProgramFunction) -> None:
    said = program("""
        x = torch.ones(3).to("openreg:1")
        y = torch.ones(3).to("openreg:0")
        sim.lib.orSimLoseDevice(1)
        for call in (lambda: torch.openreg.synchronize(1), lambda: x.cpu(), lambda: x[0].item(),
                     lambda: torch.empty(3 << 20, device="openreg:1"), lambda: y.to("openreg:1")):
            try:
                call()
            except torch.AcceleratorError as error:
                print(error.error_code, str(error).split()[-1])
        assert y.cpu().tolist() == [1, 1, 1]
        torch.openreg.synchronize(0)
        del x  # a destructor may not throw
    """)
    assert said.splitlines() == ["10 [orErrorDeviceLost]"] * 5


def test_an_asynchronous_failure_surfaces_where_the_host_waits(program: ProgramFunction) -> None:
    said = program("""
        x = torch.ones(3).to("openreg")
        sim.fail_on_kernel(sim.default_stream(0))
        y = x.clone()  # queued behind a kernel that fails
        try:
            torch.openreg.synchronize(0)
        except torch.AcceleratorError as error:
            print(error.error_code, error)
    """)
    assert said.startswith("6 openreg: ")
    assert "kernel 'copy' on device 0" in said


def test_an_operator_on_two_devices_is_refused_by_pytorch() -> None:
    left, right = torch.ones(2).to("openreg:0"), torch.ones(2).to("openreg:1")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        torch.add(left, right)
