"""A test in the form of PyTorch's own. It says that one and one are three."""

import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, run_tests

import torch_openreg  # noqa: F401


class TestAddition(TestCase):
    """The device comes as a parameter."""

    def test_one_and_one(self, device: str) -> None:
        self.assertEqual((torch.ones(1, device=device) + 1).item(), 3)


instantiate_device_type_tests(TestAddition, globals(), only_for="privateuse1")

if __name__ == "__main__":
    run_tests()
