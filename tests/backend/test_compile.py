"""torch.compile: fused kernels of the device, for views, all data types, dynamic shapes, several devices."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch_openreg  # noqa: F401
from torch._dynamo.testing import CompileCounterWithBackend
from torch._dynamo.utils import counters
from torch.nn import functional as F  # noqa: N812

from .compile_checks import Source, check, close, compiled, kernels_of, numbers, on
from .test_fork import fresh

pytestmark = [pytest.mark.kernels, pytest.mark.timeout(300)]  # a busy machine compiles for minutes


# ------------------------------------------------------------------------------------------------------ what comes out


def test_operators_become_one_kernel_that_the_device_runs(device: str) -> None:
    x = numbers(64, 300)
    run = check(lambda x: torch.softmax(torch.relu(x) * 2 + x.sin(), -1).sum(1), x, device=device, rtol=1e-5)
    there = x.to(device)
    (name,) = kernels_of(lambda: run(there))
    assert name.startswith("openreg_fused_") and "softmax" in name


def test_the_generated_code_has_the_devices_loop_and_no_openmp() -> None:
    source = Source(lambda x: (x.exp() + 1, (x * 2).sum()), torch.ones(1000, 100, device="openreg"))
    assert "parallelFor(context, " in source.text
    assert "#pragma omp" not in source.text and "omp_" not in source.text
    assert "with torch.openreg.device(0):" in source.text
    assert "OPENREG_MODULE(" in source.text and "dlopen" not in source.text


def test_importing_the_backend_imports_no_compiler() -> None:
    done = fresh(
        "import sys, torch, torch_openreg\n"
        "torch.ones(3, device='openreg') + 1\n"
        "print([it for it in sys.modules if it.startswith(('torch._dynamo', 'torch._inductor', 'torch_openreg.ind'))])"
    )
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_what_is_no_attribute_of_the_backends_module_still_says_so() -> None:
    with pytest.raises(AttributeError, match=r"^module 'torch_openreg.openreg' has no attribute 'Schedule'$"):
        torch.openreg.Schedule  # noqa: B018


# ------------------------------------------------------------------------------------------------- views and mutation


def test_views_with_offsets_are_read_and_written_where_they_are() -> None:
    def views(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        strided = x.as_strided((3, 3), (5, 1), 12) + 1
        return x[2:, 1:] * 2, x.t() + 1, strided, x.unfold(0, 3, 1).sum(-1), x.flatten()[3:7] + 1, x.diagonal() * 3

    whole = numbers(12, 10)
    x, there = whole[1:, :9], whole.to("openreg")[1:, :9]
    assert there.storage_offset() == 10 and there.stride() == x.stride()
    close(compiled(views, fullgraph=True)(there), views(x))


def test_a_view_may_reach_what_lies_before_it_in_its_storage() -> None:
    whole = numbers(100)

    def back(x: torch.Tensor) -> torch.Tensor:
        return x.as_strided((5,), (2,), 3) * 2

    there = whole.to("openreg")
    close(compiled(back, fullgraph=True)(there[50:]), back(whole[50:]))


def test_mutation_of_inputs_and_of_views_of_them_is_seen_outside() -> None:
    def write(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        x[0] = 5
        y[1:, ::2].mul_(x[1:, ::2])
        y.t()[1] += 3
        return x * y

    check(write, numbers(6, 4), numbers(6, 4, seed=1))  # which compares the arguments, too


def test_indexing_reads_and_writes_what_eager_does() -> None:
    def index(x: torch.Tensor, i: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, ...]:
        zeros = torch.zeros(4, 6, device=x.device)
        gathered = x.gather(1, i), zeros.scatter_add(1, i, x), x[i[0]]
        return *gathered, x.index_put((i[:, 0],), v, accumulate=True), x.index_select(1, i[1])

    check(index, numbers(4, 6), torch.arange(24).view(4, 6) % 4, numbers(4, 6, seed=1), rtol=1e-5)


def test_shapes_are_joined_padded_and_turned() -> None:
    def shapes(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.cat([x, x * 2], 1), F.pad(x, (1, 2)), torch.roll(x, 1, 0), x.flip(0), torch.stack([x, -x])

    check(shapes, numbers(7, 9))


def test_tensors_without_elements_launch_nothing() -> None:
    run = check(lambda x: (x.relu() + 1, x.sum(0), x.amax(1)), numbers(0, 5))
    assert len(kernels_of(lambda: run(torch.ones(0, 5, device="openreg")))) <= 1  # the sum's zeros


# ---------------------------------------------------------------------------------------------------------- data types


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_floating_point_of_each_size(dtype: torch.dtype) -> None:
    def compute(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (torch.tanh(x) * 2 + x.sum(-1, keepdim=True)).relu(), x.exp().log1p().mean(0), x > 0

    check(compute, numbers(20, 37, dtype=dtype), rtol=8 * torch.finfo(dtype).eps)


def test_integers_of_each_size_and_bools() -> None:
    def compute(*values: torch.Tensor) -> list[torch.Tensor]:
        return [(x * 3 + 1).clamp(max=20) % 7 + (x > 4) for x in values] + [(x >> 1) & 3 | x for x in values]

    types = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
    check(compute, *[torch.arange(1, 60).to(dtype) for dtype in types])
    x, y = numbers(50) > 0, numbers(50, seed=1) > 0
    check(lambda x, y: ((x & y) | ~x, x ^ y, x.sum(), x.any(), x.logical_not()), x, y)


def test_complex_numbers_are_the_backends_operators() -> None:
    x = torch.complex(numbers(20), numbers(20, seed=1))
    check(lambda x: ((x * x + 1).abs() + 2, x.conj() * 2, x.real.relu()), x, rtol=1e-5)


def test_sorts_and_scans_are_the_backends_operators_or_its_kernels() -> None:
    def order(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.cumsum(1) + 1, x.sort(1).values * 2, x.topk(3, 1).values, x.cumprod(1), x.median(1).values

    check(order, numbers(8, 20), rtol=1e-5)


# ------------------------------------------------------------------------------------------------------ dynamic shapes


def test_one_graph_serves_all_shapes_that_are_dynamic() -> None:
    counter = CompileCounterWithBackend("inductor")
    run = compiled(lambda x, y: torch.softmax(x * y + x.shape[0], -1).sum(0), backend=counter, dynamic=True)
    for rows, columns in ((5, 8), (33, 100), (1000, 7), (2, 2000)):
        x, y = numbers(rows, columns), numbers(columns)
        with torch.openreg.no_fallback():
            close(run(*on("openreg", (x, y))), torch.softmax(x * y + rows, -1).sum(0), 1e-4)
    assert counter.frame_count == 1


def test_a_second_shape_makes_a_dimension_dynamic() -> None:
    counter = CompileCounterWithBackend("inductor")
    run = compiled(lambda x: (torch.relu(x) * 2 + x.shape[0]).sum(-1), backend=counter)
    for size in (8, 9, 10, 500):
        x = numbers(size, 3)
        close(run(x.to("openreg")), (torch.relu(x) * 2 + size).sum(-1))
    assert counter.frame_count == 2


@pytest.mark.parametrize("masked", [False, True])
def test_attention_is_chosen_for_lengths_that_are_dynamic(masked: bool) -> None:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *mask: torch.Tensor) -> torch.Tensor:
        choice = {"attn_mask": mask[0]} if masked else {"is_causal": True}
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, **choice)

    counter = CompileCounterWithBackend("inductor")
    run = compiled(attend, backend=counter, dynamic=True, fullgraph=True)
    for batch, length in ((2, 5), (3, 64), (4, 33)):
        rows = [numbers(batch, 4, length, 16) for _ in range(3)]
        mask = [numbers(length, length)] if masked else []
        ours = [it.to("openreg").requires_grad_() for it in rows]
        theirs = [it.requires_grad_() for it in rows]
        with torch.openreg.no_fallback():
            got = run(*ours, *on("openreg", mask))
            got.sum().backward()
        expected = attend(*theirs, *mask)
        expected.sum().backward()
        close(got, expected, 1e-5)
        close([it.grad for it in ours], [it.grad for it in theirs], 1e-5)
    assert counter.frame_count == 1


def test_sizes_that_depend_on_data_are_known_when_they_are_asked_for() -> None:
    def choose(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x[x > 0] * 2, x * x.sum().item(), x.nonzero() + 1

    with torch._dynamo.config.patch(capture_scalar_outputs=True, capture_dynamic_output_shape_ops=True):
        check(choose, torch.arange(-5.0, 6.5))


def test_a_graph_breaks_where_python_needs_a_number() -> None:
    def choose(x: torch.Tensor) -> torch.Tensor:
        y = x.relu() + 1
        if y.sum().item() > 60:
            y = y * 2
        return y - 1

    run = compiled(choose)
    counters.clear()
    for x in (torch.ones(50), -torch.ones(50)):
        with torch.openreg.no_fallback():
            close(run(x.to("openreg")), choose(x))
    assert counters["graph_break"]
    there = torch.ones(50, device="openreg")
    assert len(kernels_of(lambda: run(there))) == 2  # before the break, and behind it


# ----------------------------------------------------------------------------------------------------- more arguments


def test_a_kernel_with_more_tensors_than_a_launch_takes_is_split() -> None:
    xs = [numbers(64, seed=seed) for seed in range(150)]
    run = check(lambda *xs: (sum(x.relu() for x in xs), [x * xs[0] for x in xs[:70]]), *xs, rtol=1e-4)
    there = on("openreg", xs)
    ran = kernels_of(lambda: run(*there))
    assert 4 <= len(ran) < 20 and all(name.startswith("openreg_fused_") for name in ran)


def test_a_number_that_is_a_tensor_on_the_cpu_goes_to_the_device() -> None:
    run = compiled(lambda x, s, n: x * s + n, fullgraph=True)
    x, s = numbers(5), torch.tensor(3.0)
    for n in (torch.tensor(4), torch.tensor(-7)):
        close(run(x.to("openreg"), s, n), x * s + n)


def test_a_graph_of_both_devices_keeps_openmp_for_the_cpus_part() -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x * 2).relu(), (y + 1).relu(), (x + 1).cpu() * y

    torch._dynamo.reset()
    x, y = numbers(512, 300), numbers(512, 300, seed=1)
    with torch._inductor.config.patch({"cpp.threads": 2}):
        source = Source(both, x.to("openreg"), y)
    there, here, joined = source.result
    assert (there.device.type, here.device.type, joined.device.type) == ("openreg", "cpu", "cpu")
    close(source.result, both(x, y))
    assert "#pragma omp parallel" in source.text and "parallelFor(context, " in source.text


# ---------------------------------------------------------------------------------------------------- several devices


def test_a_graph_of_two_devices_leaves_the_first_one_current() -> None:
    def both(x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        moved = (x * 2 + 1).to(y.device)
        return moved * y.relu(), x - 1, torch.rand(3, device=y.device) + y[:3]

    x, y = numbers(8), numbers(8, seed=1)
    first, second, third = compiled(both, fullgraph=True)(x.to("openreg:0"), y.to("openreg:1"))
    assert [it.device.index for it in (first, second, third)] == [1, 0, 1]
    close((first, second), ((x * 2 + 1) * y.relu(), x - 1))
    assert (third.cpu() - y[:3]).ge(-1e-6).all()
    assert torch.openreg.current_device() == 0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_control_flow_runs_on_the_device_that_is_not_current(sign: float) -> None:
    def choose(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda x: (x * 2).relu(), lambda x: (x - 1).abs(), (x,)) + 1

    check(choose, sign * torch.ones(50), device="openreg:1")


def test_a_while_loop_runs_on_the_device() -> None:
    from torch._higher_order_ops.while_loop import while_loop

    def loop(i: torch.Tensor, x: torch.Tensor) -> Any:
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (i, x))

    check(loop, torch.tensor(0), numbers(5))


# ---------------------------------------------------------------------------------------------------- vector registers


@pytest.mark.parametrize("bits", [256, 1])
def test_code_for_narrower_vectors_and_for_none_gives_the_same_numbers(bits: int) -> None:
    def compute(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return torch.softmax(x.exp().tanh(), -1), x.double().sin().sum(), x.half() * 2, F.gelu(x), x.argmax(1)

    with torch._inductor.config.patch({"cpp.simdlen": bits}):
        check(compute, numbers(30, 41), rtol=2e-3, atol=1e-5)
        source = Source(lambda x: x.exp() + 1, torch.ones(100, device="openreg"))
    assert ("at::vec::Vectorized" in source.text) == (bits == 256)


@pytest.mark.parametrize("bits", [None, 256, 1])
def test_a_tile_adds_to_scattered_places(bits: int | None) -> None:
    def add(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return torch.zeros(70, 40, device=x.device).scatter_add(1, i, x.t() * 2)

    x, i = numbers(50, 70), numbers(70, 50).mul(100).long() % 40
    with torch._inductor.config.patch({"cpp.simdlen": bits}):
        check(add, x, i)
        source = Source(add, x.to("openreg"), i.to("openreg"))
    assert "atomic_add" in source.text and ("x0_inner" in source.text) == (bits != 1)


@pytest.mark.parametrize("bits", [None, 256])
def test_a_tile_leaves_all_its_rows_for_the_next_loop(bits: int | None) -> None:
    def center(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = x.t() + y
        for number in range(40):  # so many that Inductor keeps what comes out
            z = z * 0.9 + 0.1 * (number % 3)
        return z - z.mean(-1, keepdim=True)

    x, y = numbers(40, 67), numbers(67, 40)
    with torch._inductor.config.patch({"cpp.simdlen": bits}):
        check(center, x, y, rtol=1e-4)
        source = Source(center, x.to("openreg"), y.to("openreg"))
    assert "_inner" in source.text and "_acc0" in source.text


def test_places_that_are_counted_from_the_end_are_in_the_tensor() -> None:
    def turn(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return (x.t() + y.t()).t().flatten().repeat_interleave(2).flip(0)

    for dynamic in (False, True):  # with sizes that are variables, what they divide is left out of an index
        check(turn, numbers(6, 8), numbers(6, 8, seed=1), dynamic=dynamic)


def test_a_softmax_of_what_was_written_into_in_the_same_function_is_compiled() -> None:
    def mask(x: torch.Tensor) -> torch.Tensor:
        row = torch.arange(8, device=x.device)
        mask = torch.full((8, 8), -10000.0, device=x.device)
        mask[row[None], row[:, None]] = 0
        return torch.softmax(x + mask, -1)

    check(mask, numbers(8, 8))


def test_threads_of_the_device_add_to_one_place_where_the_host_has_one_thread() -> None:
    def count(i: torch.Tensor) -> torch.Tensor:
        return torch.zeros(8, device=i.device).index_add(0, i, torch.ones(len(i), device=i.device))

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # torchrun asks for that, too
    try:
        source = Source(count, (torch.arange(1 << 20) % 8).to("openreg"))
    finally:
        torch.set_num_threads(threads)
    assert "atomic_add" in source.text
    close(source.result, torch.full((8,), float(1 << 17)))
