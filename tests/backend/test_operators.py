"""How operators are served: what the dispatcher's tables say is what happens, and the core set is native."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401
from operator_tables import CORE_EXCEPTIONS, Operator, core_exceptions, operators

ROOT = Path(__file__).resolve().parents[2]
KINDS = {"native", "composite", "fallback", "none"}


@pytest.fixture(scope="module")
def coverage() -> dict[str, str]:
    """How each operator is served."""
    return torch.openreg.operator_coverage()


@pytest.fixture(scope="module")
def core() -> list[Operator]:
    """The operators of PyTorch's core set."""
    return [operator for operator in operators(ROOT) if operator.core]


# ------------------------------------------------------------------ the tables


def test_every_operator_of_the_namespace_is_in_it_once_in_order(coverage):
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    assert list(coverage) == sorted(names)
    assert len(names) > 3000
    assert set(coverage.values()) == KINDS


def test_a_registered_kernel_is_native(coverage):
    assert coverage["aten::empty.memory_format"] == "native"
    assert coverage["aten::_copy_from"] == "native"


def test_a_kernel_of_pytorch_for_all_devices_is_composite(coverage):
    assert coverage["aten::linear"] == "composite"  # implicit
    assert coverage["aten::zeros"] == "composite"  # explicit
    assert coverage["aten::sym_size.int"] == "composite"


def test_a_kernel_of_the_cpu_alone_is_a_fallback(coverage):
    assert coverage["aten::geqrf"] == "fallback"


def test_an_operator_of_other_hardware_is_served_by_none(coverage):
    assert coverage["aten::cudnn_convolution"] == "none"


def test_what_the_tables_call_fallback_is_what_is_counted(coverage):
    torch.openreg.reset_fallbacks()
    x = torch.arange(6.0).to("openreg").view(2, 3)
    torch.geqrf(x.sin().softmax(0).cumsum(0))
    torch.linalg.inv(torch.eye(3).to("openreg"))
    counted = torch.openreg.fallbacks()
    assert {"aten::geqrf", "aten::linalg_inv_ex.inverse"} <= counted.keys()
    assert {coverage[name] for name in counted} == {"fallback"}


def test_what_the_tables_call_native_is_never_counted(coverage):
    torch.openreg.reset_fallbacks()
    x = torch.arange(6.0).to("openreg")
    x.view(2, 3).t()[1:].clone().cpu()
    assert torch.openreg.fallbacks() == {}


def test_no_operator_is_registered_twice():
    # The dispatcher takes the second kernel and warns, once, on the standard error of the process that imports.
    done = subprocess.run(
        [sys.executable, "-c", "import torch, torch_openreg"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""


def test_kernels_that_arrive_later_are_seen():
    library = torch.library.Library("openreg_coverage_test", "DEF")
    library.define("f(Tensor x) -> Tensor")
    assert torch.openreg.operator_coverage("openreg_coverage_test") == {"openreg_coverage_test::f": "none"}
    library.impl("f", lambda x: x, "CPU")
    assert torch.openreg.operator_coverage("openreg_coverage_test") == {"openreg_coverage_test::f": "fallback"}
    library.impl("f", lambda x: x, "CompositeExplicitAutograd")
    assert torch.openreg.operator_coverage("openreg_coverage_test") == {"openreg_coverage_test::f": "composite"}
    library.impl("f", lambda x: x, "PrivateUse1")
    assert torch.openreg.operator_coverage("openreg_coverage_test") == {"openreg_coverage_test::f": "native"}
    library._destroy()


def test_a_namespace_without_operators_is_refused():
    with pytest.raises(ValueError, match="argument 'namespace' is 'no_such_thing', and no operator is in it"):
        torch.openreg.operator_coverage("no_such_thing")


# ---------------------------------------------------------------- the core set


def test_every_composite_operator_of_the_core_set_has_been_seen_running(core):
    assert [operator.name for operator in core if operator.served == "unseen"] == []


def test_the_core_set_is_native_or_composite_over_natives_but_for_those_listed(core):
    exceptions = core_exceptions(ROOT)
    left = {operator.name: operator.on_cpu or operator.how for operator in core if not operator.is_native}
    assert {name: why for name, why in left.items() if name not in exceptions} == {}


def test_the_listed_exceptions_are_of_the_core_set_and_are_left_to_the_cpu(core):
    left = {operator.name for operator in core if not operator.is_native}
    assert sorted(core_exceptions(ROOT).keys() - left) == [], "native by now: take them out"


def test_each_exception_has_a_reason():
    for name, entry in tomllib.loads((ROOT / CORE_EXCEPTIONS).read_text()).items():
        assert name.startswith("aten::")
        assert set(entry) == {"reason"}
        assert entry["reason"]
