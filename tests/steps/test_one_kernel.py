"""Steps on a driver with one kernel, the matrix product: the CPU computes all else, and the output is the same."""

import pytest
from step import Workshop

pytestmark = pytest.mark.timeout(4000)


# Not those that refuse the CPU's help (05, 09, 10) or capture kernels (16, 17), count what it does (14), or choose the
# simulator's settings themselves (07, 15).
@pytest.mark.parametrize("name", ["06", "08", "11", "12", "13", "18"])
def test_a_step_prints_with_one_kernel_what_it_prints_with_all(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    index = shop.ladder.find(name)
    monkeypatch.setenv("OPENREG_SIM", "only=gemm")
    shop.show(index, "after.txt", shop.site(index))
