"""What a program gets that uses a mechanism before the step that brings it: the texts that chapters explain, or none.

Each is run on the last step without the mechanism, and where another text comes first, on the steps that have that.
"""

import sys
from pathlib import Path

import pytest
from step import Workshop

pytestmark = pytest.mark.timeout(4000)
IMPORTS = "import torch, torch_openreg\n"


def said(shop: Workshop, number: str, program: str, folder: Path, fails: bool = False) -> str:
    """What a program prints on a step; 00 is plain PyTorch. Whether it ends in an exception must be as expected."""
    index = shop.ladder.find(number) if number != "00" else -1
    imports = IMPORTS if index >= 0 else "import torch\n"
    code, output = shop.run([sys.executable, "-c", imports + program], folder, shop.site(index))
    assert code == int(fails), output
    return output


AUTOCAST = """
x = torch.ones(2, 2, device="openreg")
with torch.autocast("openreg", dtype=torch.bfloat16):
    print("product in", (x @ x).dtype)
"""


def test_before_the_module_has_a_list_of_types_autocast_is_refused(shop: Workshop, tmp_path: Path) -> None:
    words = "Tried to use AMP with the `openreg` backend, but the backend has not registered a module"
    output = said(shop, "03", AUTOCAST, tmp_path, fails=True)
    assert words in output
    assert "But the func `get_amp_supported_dtype` is missing." in output


@pytest.mark.parametrize("number", ["04", "13"])
def test_with_an_empty_list_of_types_autocast_warns_and_computes_in_float32(
    shop: Workshop, tmp_path: Path, number: str
) -> None:
    output = said(shop, number, AUTOCAST, tmp_path)
    assert "UserWarning: In openreg autocast, but the target dtype is not supported. Disabling autocast." in output
    assert output.endswith("product in torch.float32\n")


@pytest.mark.parametrize("number", ["04", "13"])
def test_a_filter_makes_the_warning_an_exception(shop: Workshop, tmp_path: Path, number: str) -> None:
    output = said(shop, number, f"import warnings\nwarnings.simplefilter('error')\n{AUTOCAST}", tmp_path, fails=True)
    assert "Disabling autocast." in output and "product" not in output


PROFILE = """
import os
from torch.profiler import DeviceType, ProfilerActivity, profile
os.environ["KINETO_LOG_LEVEL"] = "6"
x = torch.ones(2, 2, device="openreg")
with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recording:
    (x @ x).cpu()
kinds = [event.device_type == DeviceType.CPU for event in recording.events()]
assert ProfilerActivity.PrivateUse1 in torch.profiler.supported_activities()
print("of the host:", any(kinds), "of the device:", not all(kinds))
"""


@pytest.mark.parametrize(("number", "there"), [("04", False), ("14", False), ("15", True)])
def test_without_a_profiler_of_the_device_a_profile_lacks_its_events_and_nothing_says_so(
    shop: Workshop, tmp_path: Path, number: str, there: bool
) -> None:
    assert said(shop, number, PROFILE, tmp_path) == f"of the host: True of the device: {there}\n"


MEMORY = """
x = torch.ones(2, device="openreg")
functions = "memory_allocated memory_reserved max_memory_allocated memory_stats reset_peak_memory_stats get_memory_info"
for name in [*functions.split(), "empty_cache"]:
    try:
        getattr(torch.accelerator, name)()
    except RuntimeError as error:
        print(name, error)
"""


@pytest.mark.parametrize("number", ["03", "06"])
def test_each_memory_function_of_the_accelerator_asks_for_another_allocator(
    shop: Workshop, tmp_path: Path, number: str
) -> None:
    lines = said(shop, number, MEMORY, tmp_path).splitlines()
    assert len(lines) == 7
    for line in lines:
        assert "INTERNAL ASSERT FAILED" in line
        assert line.endswith("please report a bug to PyTorch. Allocator for openreg is not a DeviceAllocator.")


QUEUE = """
queue = torch.multiprocessing.get_context("spawn").Queue()
queue.put(torch.ones(2, device="openreg"))
queue.put("what came next")
print("received:", queue.get())
"""


@pytest.mark.parametrize("number", ["03", "12"])
def test_a_tensor_put_on_a_queue_is_dropped_by_a_thread_and_its_receiver_waits(
    shop: Workshop, tmp_path: Path, number: str
) -> None:
    output = said(shop, number, QUEUE, tmp_path)
    assert "RuntimeError: _share_fd_: only available on CPU\n" in output
    assert "received: what came next\n" in output  # the tensor never arrives; without a next one get() would not return


def test_from_the_step_that_shares_on_the_tensor_arrives(shop: Workshop, tmp_path: Path) -> None:
    assert said(shop, "13", QUEUE, tmp_path) == "received: tensor([1., 1.], device='openreg:0')\n"


@pytest.mark.parametrize("number", ["03", "12"])
def test_a_file_of_any_step_is_refused_where_the_package_is_not(shop: Workshop, tmp_path: Path, number: str) -> None:
    said(shop, number, "torch.save(torch.ones(2, device='openreg:1'), 'x.pt')", tmp_path)
    words = "don't know how to restore data location of torch.storage.UntypedStorage (tagged with openreg:1)"
    assert words in said(shop, "00", "torch.load('x.pt')", tmp_path, fails=True)
    assert said(shop, "00", "print(torch.load('x.pt', map_location='cpu').tolist())", tmp_path) == "[1.0, 1.0]\n"


@pytest.mark.parametrize(
    ("number", "name", "text"),
    [
        ("01", "Stream", "module 'torch_openreg.openreg' has no attribute 'Stream'"),
        ("05", "Stream", "module 'torch_openreg.openreg' has no attribute 'Stream'"),
        ("06", "memory_allocated", "module 'torch_openreg.openreg' has no attribute 'memory_allocated'"),
    ],
)
def test_a_name_of_a_later_step_is_not_in_the_module(
    shop: Workshop, tmp_path: Path, number: str, name: str, text: str
) -> None:
    assert said(shop, number, f"torch.openreg.{name}", tmp_path, fails=True).endswith(f"AttributeError: {text}\n")


BACK = "print(torch.ones(2, device='openreg').to('cpu', non_blocking=True).tolist())"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("03", "Please register PrivateUse1HooksInterface by `RegisterPrivateUse1HooksInterface` first."),
        (
            "07",
            "You should register `PrivateUse1HooksInterface`by `RegisterPrivateUse1HooksInterface` and implement "
            "`getPinnedMemoryAllocator` at the same time for PrivateUse1.",
        ),
    ],
)
def test_a_copy_to_the_cpu_that_does_not_block_asks_for_pinned_memory(
    shop: Workshop, tmp_path: Path, number: str, text: str
) -> None:
    assert text in said(shop, number, BACK, tmp_path, fails=True)
