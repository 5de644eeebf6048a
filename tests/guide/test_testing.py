"""What the page on testing says of PyTorch's own test classes."""

from __future__ import annotations

import os
import subprocess
import sys

FIRST = "import torch_openreg\n"
THEN = """
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase
"""
TEST = """
class TestErrors(TestCase):
    def test_text(self, device):
        with self.assertRaisesRegex(RuntimeError, "size 3"):
            raise RuntimeError("another text")

instantiate_device_type_tests(TestErrors, globals())
import unittest
unittest.main()
"""
KNOWN = "import torch_openreg\nfrom torch.testing._internal import common_device_type as types\n"
KNOWN += "types.device_type_test_bases.append(types.PrivateUse1TestBase)\n"


def run(program: str, **settings: str) -> str:
    """What a test program prints where the backend isn't loaded by itself."""
    environment = os.environ | {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PYTORCH_TESTING_DEVICE_ONLY_FOR": "privateuse1"}
    environment |= settings
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100).stderr


def test_the_text_of_an_error_is_compared_if_the_backend_is_imported_first() -> None:
    assert '"size 3" does not match "another text"' in run(FIRST + THEN + TEST)


def test_a_backend_that_is_imported_later_gets_no_class_and_if_it_had_one_no_text_would_be_compared() -> None:
    assert "Ran 0 tests" in run(THEN + FIRST + TEST)
    said = run(THEN + KNOWN + TEST)
    assert "Ran 1 test" in said
    assert said.endswith("OK\n")


def test_where_ci_is_set_pytorchs_tests_need_a_package_more() -> None:
    program = "from torch.testing._internal.common_utils import run_tests\nrun_tests()"
    assert "No module named 'xmlrunner'" in run(program, CI="true")
    assert "Ran 0 tests" in run(program, CI="")
