"""Autocast's lists: each operator as PyTorch's own tests call it, and the lists beside those of other devices."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.testing._internal.autocast_test_lists import AutocastTestLists

ROOT = Path(__file__).resolve().parents[2]
HEADER = Path(torch.__file__).parent / "include" / "ATen" / "autocast_mode.h"
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from autocast_tables import FLOAT, LOWER, RECORD, WIDEST, differences, reasons, recorded, rules  # noqa: E402

NOT_HERE = {  # CUDA's own, Python 2's, and one whose call is wrong in PyTorch's list
    "cudnn_convolution",
    "cudnn_convolution_transpose",
    "__div__",
    "einsum",
}
DTYPES = [torch.bfloat16, torch.float16]
KINDS = {  # list of PyTorch's -> where its functions are, and what they run in: None is what autocast is for
    "torch_expect_builtin_promote": (torch, torch.float32),
    "methods_expect_builtin_promote": (None, torch.float32),
    "torch_fp16": (torch, None),
    "torch_fp32": (torch, torch.float32),
    "torch_need_autocast_promote": (torch, torch.float32),
    "nn_fp16": (torch._C._nn, None),
    "nn_fp32": (torch._C._nn, torch.float32),
    "linalg_fp16": (torch._C._linalg, None),
    "methods_fp16": (None, None),
    "methods_fp32": (None, torch.float32),
}


def cast(value: Any, dtype: torch.dtype) -> Any:
    """Numbers of a type, wherever they are in arguments."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.is_floating_point() else value
    if isinstance(value, (list, tuple)):
        return type(value)(cast(each, dtype) for each in value)
    return value


def tensors(value: Any) -> Iterable[torch.Tensor]:
    """Tensors in what an operator returns."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from tensors(each)


def halves(value: Any, dtype: torch.dtype) -> Any:
    """PyTorch's arguments have float16 for any half."""
    if isinstance(value, torch.Tensor):
        return value.to(dtype) if value.dtype == torch.float16 else value
    if isinstance(value, (list, tuple)):
        return type(value)(halves(each, dtype) for each in value)
    return value


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_operator_of_pytorchs_own_tests_runs_in_its_type(device: str, kind: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    module, run_as = KINDS[kind]
    seen = 0
    for name, arguments, *more in getattr(AutocastTestLists(torch.device(device)), kind):
        if name in NOT_HERE:
            continue
        out_type = next((it for it in more if isinstance(it, torch.dtype)), run_as or dtype)
        keywords = next((it for it in more if isinstance(it, dict)), {})
        given = halves(arguments, dtype)
        functions = [getattr(module, name)] if module and hasattr(module, name) else []
        if hasattr(torch.Tensor, name) and isinstance(given[0], torch.Tensor):
            functions.append(getattr(torch.Tensor, name))
        assert functions, name
        for function in functions:
            with torch.autocast("openreg", dtype=dtype):
                out = function(*given, **keywords)
                with torch.autocast("openreg", enabled=False):
                    expected = function(*cast(given, run_as or dtype), **keywords)
            for mine, theirs in zip(tensors(out), tensors(expected), strict=True):
                assert mine.dtype == out_type, name
                assert torch.equal(mine, theirs.to(out_type)), name
            seen += 1
    assert seen


def operators_of(macro: str) -> set[str]:
    """The names in one of the lists of PyTorch's header."""
    text = re.search(rf"#define {macro}\(_\)((?:.*\\\n)*.*)\n", HEADER.read_text(encoding="utf-8"))
    assert text
    return {name.replace(", ", ".") for name in re.findall(r"_\(([\w, ]+)\)", text[1])}


def test_the_lists_are_those_of_the_pytorch_that_is_installed() -> None:
    ours = rules("openreg")
    quoted = set(re.findall(r'"(norm\.\w+)"', HEADER.read_text(encoding="utf-8")))
    theirs = {
        LOWER: operators_of("AT_FORALL_LOWER_PRECISION_FP"),
        FLOAT: operators_of("AT_FORALL_FP32") | operators_of("AT_FORALL_FP32_SET_OPT_DTYPE") | quoted,
        WIDEST: operators_of("AT_FORALL_PROMOTE"),
    }
    moved = {"dot", "vdot"}  # as in PyTorch's own project of this name, whose tests want it so
    theirs[WIDEST] -= moved
    theirs[FLOAT] |= moved
    for kind, names in theirs.items():
        assert {name for name, rule in ours.items() if rule == kind} == names
    assert ours.keys() - set().union(*theirs.values()) == {"binary_cross_entropy"}


@pytest.fixture(scope="module")
def printed() -> str:
    """What the page is made of, now. It is found in another process: what is tried prints warnings of old operators."""
    return subprocess.run(
        [sys.executable, str(ROOT / "docs" / "_ext" / "autocast_tables.py")],
        env=os.environ | {"TORCH_CPP_LOG_LEVEL": "ERROR"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout


def test_the_page_has_the_lists_as_the_dispatcher_has_them_now(printed: str) -> None:
    if os.environ.get("OPENREG_RECORD"):
        (ROOT / RECORD).write_text(printed, encoding="utf-8")
    version, _ = recorded(ROOT)
    if version != torch.__version__.partition("+")[0]:
        pytest.skip(f"the page is for PyTorch {version}")
    assert printed == (ROOT / RECORD).read_text(encoding="utf-8")


def test_the_list_of_this_device_is_the_same_with_each_pytorch(printed: str) -> None:
    _, lists = recorded(ROOT)
    assert lists["openreg"]["mm"] == LOWER
    assert json.loads(printed)["openreg"] == lists["openreg"]


def test_the_page_has_a_reason_for_each_difference_and_a_difference_for_each_reason() -> None:
    _, lists = recorded(ROOT)
    explained, used = reasons(ROOT), set()
    for device in ("cuda", "cpu"):
        of_device = [reason for reason in explained if reason.device == device]
        for name, here, there in differences(lists["openreg"], lists[device]):
            fits = [it for it in of_device if any(fnmatchcase(name, pattern) for pattern in it.operators)]
            assert fits, f"{name}: {here} here, {there} on {device}"
            used.add(fits[0])
    assert used == set(explained)
