"""Drivers that lack kernels: the fallback serves the calls that need them, and the device the others."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from .conftest import ProgramFunction, child_environment
from .expected import rows_of
from .workers import Result, RunEntriesFunction

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "steps"))
from step import difference, tidy  # noqa: E402

# What goes otherwise than on the CPU goes so with all kernels, too.
EXPECTED = rows_of("native_calls")
SECONDS_PER_ENTRY = 300
GRANTED = ("equal", "refused", "untouched")

pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module", params=["each", "none"])
def cases(request: pytest.FixtureRequest, run_entries: RunEntriesFunction) -> dict[str, Result]:
    """How each call of a native operator went without each of its kernels, or without any."""
    entries = run_entries("missing_kernels_worker.py", request.param, limit=SECONDS_PER_ENTRY)
    assert {name: entry for name, entry in entries.items() if entry.outcome != "run"} == {}
    return {name: Result(*case) for entry in entries.values() for name, case in entry.more.items()}


def is_listed(name: str, case: Result) -> bool:
    """Whether a case falls under an entry of the list."""
    return any(
        name.split()[0] in entry["operators"] and entry["outcome"] == case.outcome and entry["text"] in case.detail
        for entry in EXPECTED.values()
    )


@pytest.mark.xdist_group("missing_kernels")
def test_a_call_goes_as_on_the_cpu_whichever_kernel_is_missing(cases: dict[str, Result]) -> None:
    wrong = {name: case for name, case in cases.items() if case.outcome not in GRANTED and not is_listed(name, case)}
    assert wrong == {}, "an operator that changes its arguments looks up all its kernels before it launches the first"
    assert len([case for case in cases.values() if case.outcome == "equal"]) > 750


# ------------------------------------------------------------------------------------------------ who serves which call


def test_a_driver_with_matrix_products_alone_uses_them_and_the_cpu_for_the_rest(program: ProgramFunction) -> None:
    program(
        """
        def train(device):
            torch.manual_seed(0)
            x, y = torch.randn(32, 8).to(device), torch.randint(0, 4, (32,)).to(device)
            layers = torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)
            model = torch.nn.Sequential(*layers).to(device)
            optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
            for _ in range(5):
                loss = torch.nn.functional.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            return [parameter.detach().cpu() for parameter in model.parameters()]

        torch.testing.assert_close(train("openreg"), train("cpu"))
        served = set(torch.openreg.fallbacks())
        assert served >= {"aten::relu", "aten::_log_softmax"} or served >= {"aten::clamp_min", "aten::_log_softmax"}
        assert not served & {"aten::mm", "aten::mm.out", "aten::addmm", "aten::addmm.out"}, served
        """,
        OPENREG_SIM="only=gemm",
    )


def test_a_type_that_a_driver_has_no_kernel_for_is_served_and_the_other_is_not(program: ProgramFunction) -> None:
    program(
        """
        x = torch.arange(4.0).to("openreg")
        assert (x + x).tolist() == [0, 2, 4, 6]
        assert torch.openreg.fallbacks() == {}
        assert (x.double() + 1).tolist() == [1, 2, 3, 4]
        assert torch.openreg.fallbacks() == {"aten::add.Tensor": 1}
        """,
        OPENREG_SIM="only=add.float+copy+cast",
    )


def test_where_fallbacks_are_refused_the_error_says_which_kernel_is_missing(program: ProgramFunction) -> None:
    program(
        """
        import pytest
        x = torch.zeros(2).to("openreg")
        with torch.openreg.no_fallback():
            with pytest.raises(NotImplementedError, match="^\\"add\\" not implemented for 'Float'$"):
                x + 1
            with pytest.raises(NotImplementedError, match="^openreg: the driver of device 0 has no kernel 'fill'$"):
                x.fill_(1)
        torch.openreg.block_fallback("aten::add.Tensor")
        with pytest.raises(NotImplementedError, match="^\\"add\\" not implemented for 'Float'$"):
            x + 1
        assert torch.openreg.fallbacks() == {}
        assert (x - 1).tolist() == [-1, -1]
        """,
        OPENREG_SIM="kernels=0",
    )


def test_a_driver_is_asked_once_for_a_kernel_that_it_lacks(program: ProgramFunction) -> None:
    program(
        """
        from backend.simulator import sim
        x = torch.zeros(2).to("openreg")
        assert (x + 1).tolist() == [1, 1]
        sim.ok(sim.lib.orSimFailCall(b"orModuleGetKernel", 1, sim.lib.orErrorLaunchFailure))
        assert (x + 1).tolist() == [1, 1]  # a second question would be an error
        """,
        OPENREG_SIM="kernels=0",
    )


# ---------------------------------------------------------------- what is made of the kernels that are there


def test_without_a_convolution_images_are_unfolded_and_multiplied(program: ProgramFunction) -> None:
    program(
        """
        def both(*shapes, call=torch.nn.functional.conv2d, limit=1e-10, dtype=torch.float64, **options):
            torch.manual_seed(0)
            tensors = [torch.randn(shape, dtype=dtype) for shape in shapes]
            found = []
            for device in ("openreg:1", "cpu"):
                given = [tensor.to(device).requires_grad_() for tensor in tensors]
                result = call(*given, **options)
                torch.manual_seed(1)
                found.append([result, *torch.autograd.grad(result, given, torch.randn(result.shape).to(result))])
            for ours, expected in zip(*found):
                assert ours.device == torch.device("openreg:1")
                torch.testing.assert_close(ours.cpu(), expected, rtol=limit, atol=limit)

        both((3, 4, 9, 9), (6, 4, 3, 3), (6,), padding=1, stride=2)
        both((3, 4, 9, 9), (6, 2, 3, 2), (6,), groups=2, dilation=2)
        both((3, 4, 9, 9), (5, 4, 1, 1), (5,))
        both((3, 4, 9, 9), (4, 3, 3, 3), (6,), call=torch.nn.functional.conv_transpose2d, groups=2, stride=2)
        both((3, 4, 9, 9), (4, 5, 1, 1), (5,), call=torch.nn.functional.conv_transpose2d)
        for dtype, limit in ((torch.float16, 2e-2), (torch.bfloat16, 1e-1)):  # unfolded and multiplied as halves
            both((3, 4, 9, 9), (6, 2, 3, 2), (6,), groups=2, padding=1, dtype=dtype, limit=limit)
        more_than_is_unfolded_at_a_time = (3, 64, 240, 240)
        both(more_than_is_unfolded_at_a_time, (1, 64, 3, 3), padding=1, limit=2e-2, dtype=torch.float32)
        assert torch.openreg.fallbacks() == {}

        x = torch.ones(1, 1, 3, 3, dtype=torch.int64).to("openreg")
        torch.nn.functional.conv2d(x, x)  # of a type that has no products here
        assert torch.openreg.fallbacks() == {"aten::convolution_overrideable": 1}
        """,
        OPENREG_SIM="only=gemm.float+gemm.double+unfold+fold+add+sum+copy",
    )


def test_without_a_sort_runs_are_sorted_and_merged(program: ProgramFunction) -> None:
    program(
        """
        torch.manual_seed(0)
        for dtype in (torch.float32, torch.float16, torch.int64, torch.uint8):
            x = (torch.randn(5, 1000, 3) * 10).abs().to(dtype)
            for descending in (True, False):
                ours, expected = (torch.sort(it, dim=1, stable=True, descending=descending)
                                  for it in (x.to("openreg:1"), x))
                assert torch.equal(ours.values.cpu(), expected.values)
                assert torch.equal(ours.indices.cpu(), expected.indices)
                ours, expected = (torch.topk(it, 7, dim=1, largest=descending) for it in (x.to("openreg:1"), x))
                assert torch.equal(ours.values.cpu(), expected.values)
        assert torch.openreg.fallbacks() == {}
        torch.testing.assert_close(torch.ones(5).to("openreg").cumprod(0).cpu(), torch.ones(5))
        assert list(torch.openreg.fallbacks()) == ["aten::cumprod"]
        """,
        OPENREG_SIM="only=sort_runs+merge_runs+copy",
    )


def test_without_their_kernels_medians_and_unique_rows_are_found_by_sorting(program: ProgramFunction) -> None:
    program(
        """
        torch.manual_seed(0)
        def both(call, x):
            ours, expected = call(x.to("openreg:1")), call(x)
            values = ours[0].cpu()
            torch.testing.assert_close(values, expected[0], rtol=0, atol=0, equal_nan=True)
            return ours, expected

        for dtype in (torch.float32, torch.float16, torch.int64):
            for shape in ((), (1,), (7,), (3, 33), (2, 70, 3)):
                x = (torch.randn(shape) * 3).to(dtype)
                if dtype.is_floating_point and x.numel() > 7:
                    x.view(-1)[::20] = torch.nan
                    x[0] = torch.nan  # in one row there is no number
                    x.view(-1)[-1] = -torch.inf
                for dim in range(max(1, x.dim())):
                    size = x.shape[dim] if shape else 1
                    numbers = x.nan_to_num(5)  # of a row without a number, CPU's mode is what comes last
                    for call, given in (
                        (lambda x: x.kthvalue((size + 1) // 2, dim, True), x),
                        (lambda x: x.kthvalue(size, dim, True), x),
                        (lambda x: x.median(dim, True), x),
                        (lambda x: x.nanmedian(dim, True), x),
                        (lambda x: x.mode(dim, True), numbers),
                    ):
                        ours, _ = both(call, given)
                        assert ours.indices.shape == ours.values.shape
                        found = given.gather(dim, ours.indices.cpu()) if shape else given
                        torch.testing.assert_close(found, ours.values.cpu(), rtol=0, atol=0, equal_nan=True)
                    both(lambda x: x.mode(dim), numbers)
                both(lambda x: (x.median(), x.nanmedian()), x)
        slices = torch.randint(0, 3, (50, 3, 2))
        for dim in range(3):
            ours, expected = both(lambda x: x.unique(dim=dim, return_inverse=True, return_counts=True), slices)
            assert torch.equal(ours[1].cpu(), expected[1]) and torch.equal(ours[2].cpu(), expected[2])
        assert torch.openreg.fallbacks() == {}
        """,
        OPENREG_SIM="only=sort_runs+merge_runs+copy+fill+eq+ne+sum+clamp_min+where+add+mul+div_floor+index+cast+any"
        "+logical_and+logical_or+cummax+cumsum+argmax+arange+nonzero+nonzero_count+index_put",
    )


def test_without_their_kernels_histograms_are_counted_where_numbers_arrive(program: ProgramFunction) -> None:
    program(
        """
        import pytest
        torch.manual_seed(0)
        numbers = torch.randint(0, 20, (1000,))
        assert torch.equal(numbers.to("openreg:1").bincount(minlength=30).cpu(), numbers.bincount(minlength=30))
        for dtype in (torch.float32, torch.float64):
            x = torch.randn(1000, dtype=dtype)
            x[0], x[1] = x.max(), x.min()  # at the bounds
            for given in (x, torch.full((5,), 2.0, dtype=dtype), x[:0]):
                for bounds in ((10, 0, 0), (7, -1, 1), (100, -3, 3)):
                    assert torch.equal(given.to("openreg:1").histc(*bounds).cpu(), given.histc(*bounds))
        assert torch.openreg.fallbacks() == {}
        torch.tensor([1.0, torch.nan]).to("openreg").histc(3)
        with pytest.raises(torch.AcceleratorError, match="histc: the range of the elements is not finite"):
            torch.openreg.synchronize()
        """,
        OPENREG_SIM="only=sort_runs+merge_runs+index_places+reduce_places+copy+cast+fill+add+mul+div+eq+ne+ge+le"
        "+logical_and+where+clamp_max+aminmax+remainder+assert+abs",
    )


def test_without_their_kernels_categories_are_drawn_as_with_them_and_permutations_by_sorting(
    program: ProgramFunction,
) -> None:
    code = """
        import pytest
        weights = torch.tensor([[1.0, 2, 0, 7], [0, 0, 3, 1]])
        torch.manual_seed(0)
        for given in (weights, weights[0], weights.double(), weights.half()):
            print(torch.multinomial(given.to("openreg:1"), 20, replacement=True).tolist())
            print(torch.multinomial(given.to("openreg:1"), 2).tolist())
        for count in (0, 1, 1000):
            for dtype in (torch.int64, torch.int32, torch.float32):
                order = torch.randperm(count, device="openreg:1", dtype=dtype)
                assert order.dtype == dtype and order.sort().values.tolist() == list(range(count))
        assert order.tolist() != torch.randperm(1000, device="openreg:1").tolist() != list(range(1000))
        apart = torch.full((20,), -1, device="openreg:1")
        torch.randperm(10, out=apart[::2])
        assert sorted(apart.tolist()) == [-1] * 10 + list(range(10))
        assert torch.openreg.fallbacks() == {}
        for wrong, text in (([1, -1.0], "element < 0"), ([1, torch.nan], "element < 0"), ([0.0, 0], "sum of .* <= 0")):
            torch.multinomial(torch.tensor(wrong).to("openreg"), 1)
            with pytest.raises(torch.AcceleratorError, match=text):
                torch.openreg.synchronize()
            torch.openreg.reset_device(0)
    """
    few = (
        "only=sort_runs+merge_runs+copy+cast+fill+div+mul+ge+lt+logical_and+all+sum+cumsum+searchsorted+assert"
        "+random+uniform+exponential"
    )
    assert program(code, OPENREG_SIM=few) == program(code)


def test_without_their_kernels_weights_are_normalized_by_a_norm_and_products(program: ProgramFunction) -> None:
    program(
        """
        torch.manual_seed(0)
        for dtype, limit in ((torch.float32, 1e-5), (torch.float64, 1e-12), (torch.float16, 1e-2)):
            for dim, lengths in ((0, (4, 1, 1)), (2, (1, 1, 5))):
                found, (v, g, grad) = [], (torch.randn(4, 3, 5), torch.rand(lengths) + 0.5, torch.randn(4, 3, 5))
                for device in ("openreg:1", "cpu"):
                    wide = dtype if device != "cpu" or dtype != torch.float16 else torch.float32
                    given = [tensor.to(dtype).to(device, wide).requires_grad_() for tensor in (v, g)]
                    result = torch._weight_norm(*given, dim)
                    found.append([result, *torch.autograd.grad(result, given, grad.to(device, wide))])
                for ours, expected in zip(*found):
                    torch.testing.assert_close(ours.cpu(), expected.to(dtype), rtol=limit, atol=limit)
        assert torch.openreg.fallbacks() == {}
        """,
        OPENREG_SIM="only=norm_2+mul+div+sum+add+copy+cast",
    )


def test_where_threads_keep_to_no_places_sorting_brings_together_what_arrives_at_one(program: ProgramFunction) -> None:
    program(
        """
        import pytest
        torch.manual_seed(0)
        rows, at = torch.randn(3000, 7), torch.randint(0, 20, (3000,))
        whole, single, largest = (torch.ones(20, 7) for _ in range(3))
        for row, i in zip(rows, at.tolist()):
            whole[i] += row
            single[i, i % 7] += row[0]
            largest[i] = torch.maximum(largest[i], row)
        x, i, there = (it.to("openreg:1") for it in (rows, at, torch.ones(20, 7)))
        places = i[:, None].expand(3000, 7)
        for ours, expected in (
            (there.index_add(0, i, x), whole),
            (there.scatter_add(0, places, x), whole),
            (there.index_put((i, i % 7), x[:, 0], accumulate=True), single),
            (there.scatter_reduce(0, places, x, "amax"), largest),
        ):
            assert torch.equal(ours.cpu(), expected)  # the sums, too: each is added up in this order
        assert torch.openreg.fallbacks() == {}

        torch.zeros(3).to("openreg").index_add_(0, torch.tensor([1, 5]).to("openreg"), torch.ones(2).to("openreg"))
        with pytest.raises(torch.AcceleratorError, match="index 5 is out of bounds for dimension 0 with size 3"):
            torch.openreg.synchronize()
        """,
        OPENREG_SIM="only=index_places+reduce_places+sort_runs+merge_runs+copy+cast+remainder",
    )


# -------------------------------------------------------------------------------------------- nothing is done by halves


def test_a_fused_step_is_taken_once_where_one_of_its_types_has_no_kernel(program: ProgramFunction) -> None:
    program(
        """
        def step(device):
            parameters = [torch.ones(3, dtype=t, device=device) for t in (torch.float32, torch.float64)]
            gradients = [torch.full_like(parameter, 0.5) for parameter in parameters]
            numbers = dict(weight_decay=0.0, momentum=0.0, lr=1.0, dampening=0.0, nesterov=False, maximize=False)
            torch._fused_sgd_(parameters, gradients, [], **numbers, is_first_step=False)
            return [parameter.tolist() for parameter in parameters]

        assert step("openreg") == step("cpu") == [[0.5] * 3, [0.5] * 3]
        assert torch.openreg.fallbacks()["aten::_fused_sgd_"] == 1
        """,
        OPENREG_SIM="only=fused_sgd.float+copy+fill+cast",
    )


def test_gradients_are_unscaled_once_where_one_of_their_types_has_no_kernel(program: ProgramFunction) -> None:
    program(
        """
        def unscale(device):
            gradients = [torch.full((3,), 8.0, dtype=t, device=device) for t in (torch.float32, torch.float64)]
            found, inverse = torch.zeros(1, device=device), torch.full((1,), 0.5, device=device)
            torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, inverse)
            return [gradient.tolist() for gradient in gradients]

        assert unscale("openreg") == [[4.0] * 3, [4.0] * 3]
        """,
        OPENREG_SIM="only=amp_unscale.float+copy+fill+cast",
    )


# ------------------------------------------------------------------------------- what PyTorch's own fallback gets wrong


def test_a_result_is_on_the_device_where_the_first_operand_is_a_number(program: ProgramFunction) -> None:
    program(
        """
        x = torch.tensor([2.0, 3.0]).to("openreg:1")
        for result in (7 // x, torch.remainder(7, x), 7 - x, torch.rsub(x, 7), 7 / x, 7**x):
            assert result.device == x.device
        assert (7 // x).tolist() == [3, 2]
        assert (torch.tensor([1, 2], dtype=torch.int8).to("openreg") - 1).dtype == torch.int8
        assert (1 - torch.tensor([1, 2], dtype=torch.int8).to("openreg")).dtype == torch.int8
        """,
        OPENREG_SIM="kernels=0",
    )


@pytest.mark.parametrize("training", [True, False])
def test_batch_normalisation_on_the_cpu_changes_the_running_statistics(
    program: ProgramFunction, training: bool
) -> None:
    program(
        f"""
        torch.manual_seed(0)
        here, there = torch.nn.BatchNorm2d(3), torch.nn.BatchNorm2d(3).to("openreg")
        for _ in range(2):
            x = torch.randn(4, 3, 2, 2)
            here.train({training}), there.train({training})
            torch.testing.assert_close(there(x.to("openreg")).cpu(), here(x))
        torch.testing.assert_close(there.running_mean.cpu(), here.running_mean)
        torch.testing.assert_close(there.running_var.cpu(), here.running_var)
        assert "aten::native_batch_norm" in torch.openreg.fallbacks()
        out = [torch.empty(0), torch.empty(0), torch.empty(0)]
        arguments = (x, None, None, here.running_mean, here.running_var, {training}, 0.1, 1e-5)
        torch.native_batch_norm(*arguments, out=out)
        arguments = [a.to("openreg") if isinstance(a, torch.Tensor) else a for a in arguments]
        arguments[3:5] = there.running_mean, there.running_var
        torch.testing.assert_close(
            [t.cpu() for t in torch.native_batch_norm(*arguments, out=[o.to("openreg") for o in out])], out)
        torch.testing.assert_close(there.running_var.cpu(), here.running_var)
        """,
        OPENREG_SIM="kernels=0",
    )


RANDOM = {
    "normal_": "torch.empty(4, device=d).normal_(generator=g)",
    "randint": "torch.randint(0, 100, (4,), device=d, generator=g)",
    "randperm": "torch.randperm(20, device=d, generator=g)",
    "bernoulli": "torch.bernoulli(torch.full((20,), 0.5).to(d), generator=g)",
    "multinomial": "torch.multinomial(torch.ones(20).to(d), 5, generator=g)",
    "normal.Tensor_Tensor": "torch.normal(torch.zeros(4).to(d), torch.ones(4).to(d), generator=g)",
    "poisson": "torch.poisson(torch.full((20,), 5.0).to(d), generator=g)",
    "rrelu": "torch.ops.aten.rrelu_with_noise(-torch.ones(4).to(d), torch.empty(4).to(d), training=True, generator=g)",
}


@pytest.mark.parametrize("name", RANDOM)
@pytest.mark.parametrize("own", [True, False], ids=["a generator", "the default one"])
def test_the_devices_generator_decides_what_is_drawn_on_the_cpu(program: ProgramFunction, name: str, own: bool) -> None:
    program(
        f"""
        d = "openreg:1"
        g = torch.Generator(d) if {own} else None
        set_seed = g.manual_seed if {own} else lambda seed: torch.openreg.manual_seed_all(seed)
        def draw():
            return ({RANDOM[name]}).tolist()
        set_seed(1)
        first, second = draw(), draw()
        torch.manual_seed(7) if {own} else None  # the CPU's own generator plays no part
        torch.rand(3)
        set_seed(1)
        assert [draw(), draw()] == [first, second] and first != second
        set_seed(2)
        assert draw() != first
        """,
        OPENREG_SIM="kernels=0",
    )


def test_a_call_that_fails_on_the_cpu_takes_no_numbers(program: ProgramFunction) -> None:
    program(
        """
        import pytest
        g = torch.Generator("openreg").manual_seed(1)
        before = g.get_state()
        with pytest.raises(NotImplementedError):
            torch.empty(3, device="openreg", dtype=torch.int64).normal_(generator=g)
        assert torch.openreg.fallbacks() == {"aten::normal_": 1}
        assert torch.equal(g.get_state(), before)
        """,
        OPENREG_SIM="kernels=0",
    )


def test_a_generator_of_another_device_is_refused_before_anything_is_drawn(program: ProgramFunction) -> None:
    program(
        """
        import pytest
        x = torch.empty(3, device="openreg")
        others = {"Expected a 'openreg' device type": torch.Generator(), "found one of": torch.Generator("openreg:1")}
        for text, wrong in others.items():
            with pytest.raises(RuntimeError, match=text):
                x.normal_(generator=wrong)
        """,
        OPENREG_SIM="kernels=0",
    )


def test_all_operators_that_draw_on_the_cpu_ask_the_devices_generator() -> None:
    source = Path(__file__).resolve().parents[2] / "openreg" / "csrc" / "random" / "on_cpu.cpp"
    listed = set(re.findall(r'\{"([\w.]+)", drawOnCpu\}', source.read_text()))
    draw = set()
    for name in torch._C._dispatch_get_all_op_names():
        operator, _, overload = name.partition(".")
        if not name.startswith("aten::") or not torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU"):
            continue
        if any("Generator" in str(each.type) for each in torch._C._get_schema(operator, overload).arguments):
            draw.add(name.removeprefix("aten::"))
    assert listed == draw


# ---------------------------------------------------------------------------------------------------------- the guide's


@pytest.mark.parametrize("step", ["06", "07", "08", "11", "12", "13"])
def test_the_program_of_a_step_prints_the_same_without_kernels(step: str) -> None:
    """Those of 05, 09, 10 and 14 print what the CPU has served, or refuse it; that of 15 what ran on the device."""
    folder = next((ROOT / "steps").glob(f"{step}-*"))
    done = subprocess.run(
        [sys.executable, str(folder / "demo.py")],
        env=child_environment(OPENREG_SIM="kernels=0"),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    _, _, expected = (folder / "after.txt").read_text().partition("\n")
    assert difference(expected, tidy(done.stdout + done.stderr)) == ""


def test_a_kernel_that_is_none_is_refused_by_name(program: ProgramFunction) -> None:
    said = program(
        """
        try:
            with torch.openreg.no_fallback():
                torch.zeros(2, device="openreg")
        except RuntimeError as error:
            print(error)
        """,
        OPENREG_SIM="only=gemm+nonsense",
    )
    assert "OPENREG_SIM has 'only' with 'nonsense'; expected names of kernels, such as only=gemm+copy" in said
