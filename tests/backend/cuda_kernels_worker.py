"""Calls operators whose kernels the driver "cuda" compiles, and compares with the CPU. Arguments: GROUP [FILE].

Random numbers are compared with those of another driver, which a first run has written into FILE.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

DEVICE = "openreg"
REAL = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64, torch.uint8)
LENGTHS = (0, 1, 3, 64, 1001)  # packs of sixteen bytes, and what is left over


def same(ours: torch.Tensor, expected: torch.Tensor, tolerance: float = 0) -> None:
    """Compares bit for bit, or within a relative and absolute tolerance."""
    torch.testing.assert_close(ours.cpu(), expected, rtol=tolerance, atol=tolerance, equal_nan=True)


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Random numbers of a type, on the CPU."""
    return (torch.randn(shape) * 10).to(dtype)


def check(call: Callable[..., torch.Tensor], *tensors: torch.Tensor, tolerance: float = 0) -> None:
    """Calls with tensors of the device and of the CPU."""
    same(call(*(it.to(DEVICE) for it in tensors)), call(*tensors), tolerance)


def elementwise() -> None:
    """Arrays in packs and at odd places, broadcast and strided operands, mixed types, numbers of the host, lists."""
    for dtype in (*REAL, torch.complex64):
        for length in LENGTHS:
            a, b = numbers(length, dtype=dtype), numbers(length, dtype=dtype)
            check(torch.add, a, b)
            check(lambda x: x * 3, a)
    a, b = numbers(1001), numbers(1001)
    check(lambda x, y: x[1:] + y[:-1], a, b)
    check(torch.lt, a, b)
    m, n = numbers(33, 65), numbers(33, 65)
    check(lambda x, y: x.t() + y.t(), m, n)
    check(lambda x, y: x[:, ::2] + y[0, ::2], m, n)
    check(lambda x, y: x + y[:, :1], m, n)
    check(lambda x, y: x.half() + y, m, n)
    check(lambda x: x.half() == 3.3, m)
    check(lambda x, y: torch.where(x > 0, x, y), m, n)
    check(torch.special.digamma, m, tolerance=1e-4)
    check(torch.exp, m, tolerance=1e-5)
    for divide in (torch.floor_divide, torch.remainder):
        check(divide, numbers(50, dtype=torch.int64), torch.arange(1, 51))
    lists = [numbers(size) for size in (3, 1001, 17)]
    on_device = [it.to(DEVICE) for it in lists]
    for ours, expected in (
        (torch._foreach_add(on_device, 2.0), torch._foreach_add(lists, 2.0)),
        (torch._foreach_mul(on_device, on_device), torch._foreach_mul(lists, lists)),
        (
            torch._foreach_add([it.half() for it in on_device], on_device),
            torch._foreach_add([it.half() for it in lists], lists),
        ),
    ):
        for one, other in zip(ours, expected, strict=True):
            same(one, other)


def reductions() -> None:
    """Short and long ones, along each dimension, by a thread and by a block; several outputs; nothing to reduce."""
    for shape in ((1,), (5,), (33, 65), (7, 300, 3), (20000,), (3, 5000)):
        for dtype in (torch.float32, torch.float16, torch.int64):
            a = numbers(*shape, dtype=dtype)
            tolerance = 1e-2 if dtype == torch.float16 else 1e-5
            check(torch.sum, a, tolerance=tolerance)
            check(torch.argmin, a)
            for dim in range(len(shape)):
                check(lambda x, dim=dim: x.sum(dim), a, tolerance=tolerance)
                check(lambda x, dim=dim: x.max(dim).values, a)
                check(lambda x, dim=dim: x.max(dim).indices, a)
        check(lambda x: torch.linalg.vector_norm(x, dim=0), numbers(*shape), tolerance=1e-5)
    check(lambda x: x.sum((0, 2)), numbers(7, 300, 3), tolerance=1e-4)
    check(lambda x: x.var(0), numbers(300, 4), tolerance=1e-5)
    check(lambda x: x.t().sum(0), numbers(40, 5000), tolerance=1e-4)
    check(lambda x: x.sum(0), torch.empty(0, 3))
    check(lambda x: (x > 0).any(0), numbers(300, 4))
    for size in (500, 200_000):
        ties = torch.zeros(size)
        ties[7] = ties[300] = ties[size - 1] = 1
        check(torch.argmax, ties)
    # Several blocks make a result: one, a few that lie side by side or apart, more than a warp has threads. Twice, as
    # the second launch finds the tallies as the first has left them.
    for shape, dims in (((300_001,), 0), ((40_003, 5), 0), ((6, 50_000), 1), ((5000, 70), 0), ((30, 40, 500), (0, 2))):
        a = numbers(*shape)
        for _ in range(2):
            check(lambda x, dims=dims: x.sum(dims), a, tolerance=1e-4)
            check(lambda x, dims=dims: x.var(dims), a, tolerance=1e-4)
            check(lambda x, dims=dims: (x > 3).sum(dims), a)
            check(lambda x, dims=dims: torch.complex(x, -x).mean(dims), a, tolerance=1e-4)
    check(lambda x: x.max(0).values, numbers(20_000, 3))
    check(lambda x: x.max(0).indices, numbers(20_000, 3))


def rows() -> None:
    """A block of threads to a row: short rows, long ones, strided ones, of types that are converted, masked ones."""
    for dtype, tolerance in ((torch.float32, 1e-6), (torch.float64, 1e-14), (torch.float16, 1e-3)):
        for shape in ((5, 3), (4, 257), (3, 2000), (2, 300, 4)):
            a = numbers(*shape, dtype=dtype)
            a[0, 0] = -torch.inf
            grad = numbers(*shape, dtype=dtype)
            for dim in (0, 1):
                check(lambda x, dim=dim: torch.softmax(x, dim), a, tolerance=tolerance)
                check(lambda x, dim=dim: torch.log_softmax(x, dim), a, tolerance=50 * tolerance)
                y = torch.softmax(a, dim)
                for backward in (torch._softmax_backward_data, torch._log_softmax_backward_data):
                    check(
                        lambda g, y, dim=dim, backward=backward: backward(g, y, dim, g.dtype),
                        grad,
                        y if backward is torch._softmax_backward_data else y.log().clamp(min=-20),
                        tolerance=200 * tolerance,
                    )
    check(lambda x: torch.softmax(x, 1, dtype=torch.float32), numbers(5, 300, dtype=torch.float16), tolerance=1e-6)


def gradients(call: Callable[..., torch.Tensor], *tensors: torch.Tensor, tolerance: float) -> None:
    """Compares the result and the gradients of all tensors that are of floating point."""
    found = []
    for device in (DEVICE, "cpu"):
        given = [it.to(device).detach() for it in tensors]
        wanted = [it.requires_grad_() for it in given if it.is_floating_point()]
        result = call(*given)
        torch.manual_seed(5)
        found.append((result, *torch.autograd.grad(result, wanted, torch.rand(result.shape).to(result).to(device))))
    for ours, expected in zip(*found, strict=True):
        same(ours, expected, tolerance)


def normalizations() -> None:
    """Rows that are normalised, with the sums over many rows that their derivatives need: several launches each."""
    f = torch.nn.functional
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-11)):
        for rows, columns in ((3, 5), (1, 300), (200, 300)):
            x, weight, bias = numbers(rows, columns, dtype=dtype), numbers(columns, dtype=dtype), numbers(columns)
            bias = bias.to(dtype)
            at = (columns,)
            gradients(lambda x, w, b, at=at: f.layer_norm(x, at, w, b), x, weight, bias, tolerance=10 * tolerance)
            gradients(lambda x, at=at: f.layer_norm(x, at), x, tolerance=tolerance)
            gradients(lambda x, b, at=at: f.layer_norm(x, at, None, b), x, bias, tolerance=10 * tolerance)
            gradients(torch.ops.openreg.rms_norm, x, weight, tolerance=10 * tolerance)
            gradients(lambda x, g: torch._weight_norm(x, g[:, None], 0), x, x[:, 0].abs() + 1, tolerance=tolerance)
        for shape in ((4, 6), (3, 6, 2), (2, 6, 5, 20)):
            x, weight, bias = numbers(*shape, dtype=dtype), numbers(6, dtype=dtype), numbers(6, dtype=dtype)
            gradients(lambda x, w, b: f.group_norm(x, 3, w, b), x, weight, bias, tolerance=10 * tolerance)
            for training in (True, False):
                mean, var = torch.zeros(6, dtype=dtype), torch.ones(6, dtype=dtype)

                def normalize(
                    x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, *, kept: tuple[torch.Tensor, ...], training: bool
                ) -> torch.Tensor:
                    means, variances = (it.to(x.device) for it in kept)
                    y = f.batch_norm(x, means, variances, w, b, training=training)
                    return y + means.sum() + variances.sum()

                gradients(
                    lambda x, w, b, kept=(mean, var), training=training: normalize(
                        x, w, b, kept=kept, training=training
                    ),
                    x,
                    weight,
                    bias,
                    tolerance=10 * tolerance,
                )
    half = numbers(20, 64, dtype=torch.float16)
    gradients(torch.ops.openreg.rms_norm, half, torch.ones(64, dtype=torch.float16), tolerance=2e-2)
    residual = numbers(5, 64)
    ours = residual.to(DEVICE)
    out = torch.ops.openreg.add_rms_norm_(ours, half[:5].float().to(DEVICE), torch.ones(64, device=DEVICE))
    same(out, torch.ops.openreg.add_rms_norm_(residual, half[:5].float(), torch.ones(64)), 1e-5)
    same(ours, residual)


def lookups() -> None:
    """Elements that are found by numbers in other tensors; sums of many elements in several launches."""
    f = torch.nn.functional
    x, at = numbers(30, 7), torch.tensor([[3, -1, 0], [29, 3, 3]])
    check(lambda x, at: x[at], x, at)
    check(lambda x, at: x[at, at % 7], x, at)
    check(lambda x, at: x.index_select(1, at.flatten() % 7), x, at)
    check(lambda x, at: x.gather(0, at % 30), x, at)
    check(lambda x, at: x.index_put((at[0],), x[:3]), x, at)
    check(lambda x: x.tril(-1) + x.triu(2), numbers(2, 9, 13))
    for indices in (torch.tril_indices, torch.triu_indices):
        for offset in (-3, 0, 2):
            for dtype in (torch.int32, torch.int64):
                same(indices(5, 4, offset, dtype=dtype, device=DEVICE), indices(5, 4, offset, dtype=dtype))
    check(torch.repeat_interleave, torch.tensor([2, 0, 3, 1, 0]))
    check(torch.repeat_interleave, torch.tensor([2, 0, 3, 1, 0], dtype=torch.int32))
    for dtype in (torch.float32, torch.int64):
        check(torch.searchsorted, numbers(4, 60, dtype=dtype).sort().values, numbers(4, 9, dtype=dtype))
    for many in (torch.tensor([], dtype=torch.int64), at.abs(), torch.randint(0, 30, (700,))):
        for scaled in (False, True):
            gradients(
                lambda x, at, scaled=scaled: f.embedding(at, x, padding_idx=3, scale_grad_by_freq=scaled),
                x,
                many,
                tolerance=1e-4,
            )
    bags, factors = torch.tensor([0, 3, 3, 11]), torch.rand(23)
    for mode in ("sum", "mean", "max"):
        gradients(
            lambda x, f=f, mode=mode: f.embedding_bag(
                torch.arange(23, device=x.device) * 7 % 30, x, bags.to(x.device), mode=mode, padding_idx=2
            ),
            x,
            tolerance=1e-5,
        )
    gradients(
        lambda x, factors: f.embedding_bag(
            torch.arange(23, device=x.device) * 7 % 30, x, bags.to(x.device), mode="sum", per_sample_weights=factors
        ),
        x,
        factors,
        tolerance=1e-5,
    )
    for p in (0.0, 1.0, 2.0, 3.0, torch.inf):
        by_elements = {"p": p, "compute_mode": "donot_use_mm_for_euclid_dist"}
        rows = numbers(2, 9, 7)
        gradients(lambda x, y, how=by_elements: torch.cdist(x, y, **how), rows, numbers(2, 40, 7), tolerance=1e-3)
        gradients(lambda x, p=p: torch.pdist(x, p), rows[0], tolerance=1e-3)
    for length in (0, 100, 70_000):
        for dtype in (torch.float64, torch.int64, torch.complex64):
            check(torch.dot, numbers(length, dtype=dtype), numbers(length, dtype=dtype), tolerance=1e-4)
    check(torch.vdot, numbers(50, dtype=torch.complex64), numbers(50, dtype=torch.complex64), tolerance=1e-4)
    for guesses in (1, 50, 20_000):
        target = torch.randint(0, 5, (guesses,))
        target[0] = -100 if guesses > 1 else 2
        for reduction in ("mean", "sum", "none"):
            gradients(
                lambda x, w, target, reduction=reduction: (
                    f.nll_loss(x, target, w.detach(), reduction=reduction) + 0 * w.sum()
                ),
                numbers(guesses, 5),
                torch.rand(5),
                target,
                tolerance=1e-3,
            )
    gradients(lambda x, t: f.cross_entropy(x, t), numbers(3, 5, 4, 6), torch.randint(0, 5, (3, 4, 6)), tolerance=1e-5)
    gradients(lambda x: x.unfold(0, 4, 3), numbers(20, 3), tolerance=1e-5)


def arrivals() -> None:
    """Elements that are added, multiplied or compared where indices point: in one order, whoever comes."""
    rows, at = numbers(12, 5), torch.randint(0, 4, (12,))
    for dtype in (torch.float32, torch.float64, torch.float16, torch.int64, torch.complex64):
        given, there = rows.to(dtype), numbers(4, 5, dtype=dtype)
        tolerance = 2e-2 if dtype == torch.float16 else 1e-6  # the CPU adds halves up in float
        check(lambda x, y, i: x.index_add(0, i, y), there, given, at, tolerance=tolerance)
        check(lambda x, y, i: x.index_add(1, i[:5] % 5, y[:4]), there, given, at, tolerance=tolerance)
        check(lambda x, y, i: x.scatter_add(0, i[:, None].expand(12, 5), y), there, given, at, tolerance=tolerance)
        check(lambda x, y, i: x.flatten().scatter_add(0, i, y[:, 0]), there, given, at, tolerance=tolerance)
        check(lambda x, y, i: x.index_put((i, i % 5), y[:, 0], accumulate=True), there, given, at, tolerance=tolerance)
    for reduce in ("sum", "prod", "amax", "amin", "mean"):
        check(
            lambda x, y, i, reduce=reduce: x.scatter_reduce(0, i[:, None].expand(12, 5), y, reduce),
            numbers(4, 5),
            rows,
            at,
            tolerance=1e-6,
        )
    gradients(lambda x, i: x[i], numbers(4, 5), at, tolerance=1e-5)
    gradients(lambda x, i: x[i, :, i % 5], numbers(4, 3, 5), at, tolerance=1e-5)
    gradients(lambda x, i: x.gather(1, i.view(4, 3)), numbers(4, 5), at, tolerance=1e-5)
    gradients(lambda x, i: x.index_select(1, i), numbers(3, 4), at, tolerance=1e-5)


def scans() -> None:
    """What is known up to each element: of a few long rows, of many short ones; what is found up to each element."""
    for shape in ((1,), (5,), (3, 700), (70, 65), (90, 3, 60)):
        for dtype in (torch.float32, torch.float16, torch.int64):
            a = numbers(*shape, dtype=dtype)
            for dim in range(len(shape)):
                check(lambda x, dim=dim: x.cumsum(dim), a, tolerance=1e-2 if dtype == torch.float16 else 1e-4)
                for best in (torch.cummax, torch.cummin):
                    check(lambda x, dim=dim, best=best: best(x, dim).values, a)
                    check(lambda x, dim=dim, best=best: best(x, dim).indices, a)
        x = torch.randn(shape)
        check(lambda x: x.cumprod(0), 1 + x / 20, tolerance=1e-4)
        check(lambda x: x.logcumsumexp(-1), x, tolerance=1e-5)
        check(torch.nonzero, x > 0.5)
        check(lambda x: x[x > 0], x)
        check(lambda x: x[x.abs() < 0], x)
        check(lambda x: x.t()[x.t() > 1] if x.dim() == 2 else x[x > 1], x)
    check(lambda x: x.cumsum(0), numbers(40, 5000), tolerance=1e-4)
    check(lambda x: x.logcumsumexp(0), torch.randn(300, dtype=torch.complex64), tolerance=1e-4)
    broken = torch.randn(600)
    broken[300] = torch.nan
    check(lambda x: torch.cummax(x, 0).values, broken)
    check(lambda x: torch.cummax(x, 0).indices, broken)
    many = torch.rand(2, 17_000)  # in several chunks
    check(torch.nonzero, many > 0.7)
    check(lambda x: x[x > 0.7], many)
    check(torch.nonzero, torch.ones(()))
    check(torch.nonzero, torch.ones(0, 3))


def cells() -> None:
    """Recurrent networks: one launch for all that a step does to single numbers."""
    for kind in (torch.nn.LSTM, torch.nn.GRU):
        for bias in (True, False):
            torch.manual_seed(2)
            model = kind(5, 7, num_layers=2, bias=bias)
            x = torch.randn(3, 4, 5)
            found = []
            for device in (DEVICE, "cpu"):
                here = model.to(device)
                here.zero_grad()
                given = x.to(device).detach().requires_grad_()
                result = here(given)[0]
                result.sum().backward()
                found.append([result, given.grad, *(it.grad.clone() for it in here.parameters())])
            for ours, expected in zip(*found, strict=True):
                same(ours, expected, 1e-5)


def sorts() -> None:
    """Rows of few elements, of one run, of runs that don't come out even; equal ones keep their order."""
    for shape in ((), (1,), (32,), (3, 33), (2, 700), (5, 70, 3), (0, 4)):
        for dtype in (torch.float32, torch.float16, torch.int64, torch.uint8, torch.float64):
            a = numbers(*shape, dtype=dtype).abs() if dtype == torch.uint8 else numbers(*shape, dtype=dtype)
            for dim in range(max(len(shape), 1)):
                for descending in (True, False):
                    ours, expected = (
                        torch.sort(it, dim=dim, descending=descending, stable=True) for it in (a.to(DEVICE), a)
                    )
                    same(ours.values, expected.values)
                    same(ours.indices, expected.indices)
                if a.numel() > 0:
                    size = a.shape[dim] if shape else 1
                    for largest in (True, False):
                        check(lambda x, d=dim, k=(size + 1) // 2, u=largest: x.topk(k, d, largest=u).values, a)
            if a.numel() > 0:
                for dim in range(max(len(shape), 1)):
                    check(lambda x, d=dim: x.kthvalue(1, d).values, a)
                    check(lambda x, d=dim: x.median(d).values, a)
                    check(lambda x, d=dim: x.mode(d).values, a)
    order = torch.randperm(500, device=DEVICE)
    same(order.sort().values, torch.arange(500))
    check(lambda x: x.unique(dim=1), torch.randint(0, 3, (3, 20)))
    check(torch.bincount, torch.randint(0, 9, (100,)))
    check(lambda x: x.histc(10), torch.randn(100))
    broken = torch.randn(300)
    broken[100] = torch.nan
    broken[200] = -torch.inf
    check(lambda x: x.sort().values, broken)
    check(lambda x: x.argsort(descending=True), broken)
    check(lambda x: x.gather(0, x.topk(20).indices), torch.randn(300))


def images() -> None:
    """Windows over images, of one to three dimensions: what they make of images, and the gradients."""
    f = torch.nn.functional
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-11)):
        x = numbers(2, 3, 9, 11, dtype=dtype)
        for options in (
            {"kernel_size": 2},
            {"kernel_size": (3, 2), "stride": (1, 2), "padding": 1},
            {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
        ):
            gradients(lambda x, options=options: f.max_pool2d(x, **options), x, tolerance=tolerance)
            for counts in (True, False):
                gradients(
                    lambda x, options=options, counts=counts: f.avg_pool2d(x, **options, count_include_pad=counts),
                    x,
                    tolerance=tolerance,
                )
            same(
                f.max_pool2d(x.to(DEVICE), **options, return_indices=True)[1],
                f.max_pool2d(x, **options, return_indices=True)[1],
            )
        gradients(lambda x: f.max_pool2d(x, 2, dilation=(2, 3)), x, tolerance=tolerance)
        gradients(lambda x: f.avg_pool2d(x, 3, divisor_override=5), x, tolerance=tolerance)
        gradients(lambda x: f.max_pool3d(x, (1, 2, 3), padding=(0, 1, 1)), x, tolerance=tolerance)
        gradients(lambda x: f.avg_pool3d(x, 2), x, tolerance=tolerance)
        for size in ((1, 1), (4, 5), (12, 3)):
            gradients(lambda x, size=size: f.adaptive_avg_pool2d(x, size), x, tolerance=tolerance)
            gradients(lambda x, size=size: f.adaptive_max_pool2d(x, size), x, tolerance=tolerance)
        for options in ({}, {"stride": 2, "padding": 1}, {"dilation": (2, 3), "padding": (2, 0), "stride": (3, 1)}):
            gradients(lambda x, options=options: f.unfold(x, (2, 3), **options), x, tolerance=tolerance)
            columns = f.unfold(x, (2, 3), **options)
            gradients(lambda x, options=options: f.fold(x, (9, 11), (2, 3), **options), columns, tolerance=tolerance)
            weight, bias = numbers(4, 3, 2, 3, dtype=dtype), numbers(4, dtype=dtype)
            gradients(
                lambda x, w, b, options=options: f.conv2d(x, w, b, **options),
                x,
                weight,
                bias,
                tolerance=1e3 * tolerance,
            )
            gradients(
                lambda x, w, options=options: f.conv_transpose2d(x, w, **options),
                x,
                numbers(3, 2, 2, 3, dtype=dtype),
                tolerance=1e3 * tolerance,
            )
        for count, groups in ((5, 2), (2, 6)):
            grouped = numbers(count, 6, 8, dtype=dtype)
            weight, bias = numbers(12, 6 // groups, 3, dtype=dtype), numbers(12, dtype=dtype)
            gradients(
                lambda x, w, b, groups=groups: f.conv1d(x, w, b, groups=groups),
                grouped,
                weight,
                bias,
                tolerance=1e3 * tolerance,
            )
        gradients(f.conv2d, x, numbers(5, 3, 1, 1, dtype=dtype), tolerance=1e3 * tolerance)
        gradients(f.conv_transpose2d, x, numbers(3, 5, 1, 1, dtype=dtype), tolerance=1e3 * tolerance)
        gradients(f.conv3d, x[None], numbers(2, 2, 2, 3, 3, dtype=dtype), tolerance=1e3 * tolerance)
        for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
            for size in ((9, 11), (18, 22), (13, 5), (4, 30)):
                gradients(lambda x, mode=mode, size=size: f.interpolate(x, size, mode=mode), x, tolerance=tolerance)
        for mode in ("bilinear", "bicubic"):
            for options in ({"align_corners": True}, {"antialias": True}):
                gradients(
                    lambda x, mode=mode, options=options: f.interpolate(x, (5, 17), mode=mode, **options),
                    x,
                    tolerance=tolerance,
                )
        gradients(lambda x: f.interpolate(x[None], scale_factor=1.7, mode="trilinear"), x, tolerance=tolerance)
        for mode in ("reflect", "replicate"):
            for size in ((2, 1), (2, 1, 0, 3), (2, -1, -1, 3)):
                gradients(
                    lambda x, mode=mode, size=size: f.pad(x, size, mode=mode),
                    x[0, :, :, :6] if len(size) == 2 else x,
                    tolerance=tolerance,
                )
            gradients(lambda x, mode=mode: f.pad(x[None], (4, 2, 1, 3, 2, 1), mode=mode), x, tolerance=tolerance)
        for padding in ("zeros", "border", "reflection"):
            for mode, dims in (("bilinear", 2), ("nearest", 2), ("bicubic", 2), ("bilinear", 3), ("nearest", 3)):
                gradients(
                    lambda x, grid, mode=mode, padding=padding: f.grid_sample(
                        x, grid, mode, padding, align_corners=padding == "border"
                    ),
                    x if dims == 2 else x[None],
                    torch.rand(*((2, 20, 17) if dims == 2 else (1, 3, 20, 17)), dims, dtype=dtype) * 3 - 1.5,
                    tolerance=tolerance,
                )
    half = numbers(1, 2, 6, 6, dtype=torch.float16)
    gradients(lambda x: f.conv2d(x, x[:, :, :2, :2].detach()), half, tolerance=1)
    check(lambda x: f.avg_pool2d(x, 2), numbers(1, 2, 6, 6, dtype=torch.int64))


def trains() -> None:
    """Small models of words and of images: their losses are the CPU's, and nothing falls back."""
    trains_on_words()
    trains_on_images()


def trains_on_images() -> None:
    """Convolutions, pooling, a batch norm."""
    losses = []
    for device in ("cpu", DEVICE):
        torch.manual_seed(1)
        pictures, labels = torch.randn(6, 1, 8, 8), torch.arange(6) % 3
        model = torch.nn.Sequential(
            torch.nn.Conv2d(1, 4, 3, padding=1),
            torch.nn.BatchNorm2d(4),
            torch.nn.ReLU(),
            torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(4, 8, 3),
            torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(),
            torch.nn.Linear(8, 3),
        ).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        losses.append([])
        for _ in range(4):
            loss = torch.nn.functional.cross_entropy(model(pictures.to(device)), labels.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-4), losses
    assert losses[0][-1] < losses[0][0]


def trains_on_words() -> None:
    """A language model, with a fused optimizer and scaled gradients."""
    losses = []
    for device in ("cpu", DEVICE):
        torch.manual_seed(1)
        words = torch.randint(0, 20, (4, 9))
        model = torch.nn.Sequential(
            torch.nn.Embedding(20, 16),
            torch.nn.Linear(16, 32),
            torch.nn.GELU(),
            torch.nn.LayerNorm(32),
            torch.nn.Linear(32, 20),
        ).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, fused=True)
        scaler = torch.amp.GradScaler(device, init_scale=8.0, growth_interval=2)
        words = words.to(device)
        losses.append([])
        for _ in range(4):
            loss = torch.nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            losses[-1].append(loss.item())
        assert scaler.get_scale() == 32
    assert losses[0] == pytest.approx(losses[1], rel=1e-4), losses
    assert losses[0][-1] < losses[0][0]


def products() -> None:
    """By cuBLAS: matrices, vectors, batches, transposed ones, halves, complex numbers, what is added."""
    for dtype, tolerance in (
        (torch.float32, 1e-3),
        (torch.float64, 1e-12),
        (torch.float16, 1),
        (torch.bfloat16, 8),
        (torch.complex64, 1e-3),
    ):
        a, b = numbers(7, 30, dtype=dtype), numbers(30, 11, dtype=dtype)
        check(torch.mm, a, b, tolerance=tolerance)
        check(lambda x, y: y.t() @ x.t(), a, b, tolerance=tolerance)
        check(lambda x, y: x[:, ::2].contiguous() @ y[::2], a, b, tolerance=tolerance)
        check(torch.bmm, numbers(3, 5, 9, dtype=dtype), numbers(3, 9, 4, dtype=dtype), tolerance=tolerance)
        check(lambda x, y: x @ y[0], numbers(3, 5, 9, dtype=dtype), numbers(3, 9, 4, dtype=dtype), tolerance=tolerance)
        check(torch.mv, a, b[:, 0], tolerance=tolerance)
        c = numbers(7, 11, dtype=dtype)
        check(lambda x, y, z: torch.addmm(z, x, y, beta=0.5, alpha=2), a, b, c, tolerance=2 * tolerance)
        check(lambda x, y, z: torch.addmm(z[0], x, y), a, b, c, tolerance=tolerance)
    for dtype in (torch.int64, torch.uint8):
        a, b = (torch.randint(0, 5, shape).to(dtype) for shape in ((3, 5, 9), (3, 9, 40)))
        check(torch.bmm, a, b)
        check(lambda x, y: torch.addmm(y[0, :5], x[0], y[0], beta=2, alpha=3), a, b)
    check(torch.mm, torch.empty(4, 0), torch.empty(0, 3))
    not_read = torch.full((7, 11), torch.nan, device=DEVICE)
    same(
        torch.addmm(not_read, torch.ones(7, 2, device=DEVICE), torch.ones(2, 11, device=DEVICE), beta=0),
        torch.full((7, 11), 2.0),
    )


def filled(x: torch.Tensor) -> torch.Tensor:
    """Numbers of one byte and of several, in rows that lie apart."""
    x[2:5, ::2] = 7.5
    x[:, 3] = -1
    x[7] = 0
    return x


def loops() -> None:
    """Copies between all strides, fills, ranges."""
    for dtype in (torch.uint8, torch.int16, torch.float32, torch.float64, torch.complex128):
        m = numbers(33, 65, dtype=torch.float64).to(dtype)
        check(lambda x: x.t().contiguous(), m)
        check(lambda x: x.flip(1), m)
        check(lambda x: x[:, None, ::3].expand(33, 4, 22).contiguous(), m)
    check(filled, torch.zeros(10, 10))
    same(torch.arange(0, 100, 3, device=DEVICE), torch.arange(0, 100, 3))
    same(torch.linspace(0, 1, 17, device=DEVICE), torch.linspace(0, 1, 17), 1e-7)
    same(torch.full((5, 7), 3.5, device=DEVICE), torch.full((5, 7), 3.5))


def drawn() -> list[torch.Tensor]:
    """Random numbers of each distribution, of several lengths and types."""
    torch.manual_seed(3)
    found = []
    for length in (1, 7, 1001):
        for dtype in (torch.float32, torch.float64, torch.float16):
            x = torch.empty(length, dtype=dtype, device=DEVICE)
            draws = (
                lambda x: x.uniform_(2, 5),
                lambda x: x.normal_(1, 2),
                lambda x: x.exponential_(0.5),
                lambda x: x.bernoulli_(0.3),
                lambda x: x.geometric_(0.2),
            )
            found += [draw(x).cpu() for draw in draws]
        ones = torch.ones(length, device=DEVICE)
        found += [torch.nn.functional.dropout(ones, 0.4).cpu(), torch.bernoulli(ones * 0.3).cpu()]
        weights = torch.arange(length, device=DEVICE) + 1.0
        found += [torch.multinomial(weights, length, replacement).cpu() for replacement in (False, True)]
        found += [torch.randint(0, 100, (length,), device=DEVICE).cpu(), torch.rand(3, length, device=DEVICE).t().cpu()]
    return found


def errors() -> None:
    """What a kernel reports is the device's error, in the kernel's words, until it is reset."""
    for call, words in (
        (lambda: torch.arange(5, device=DEVICE) // torch.zeros(5, dtype=torch.int64, device=DEVICE), "divided by 0"),
        (lambda: torch.bernoulli(torch.full((5,), 1.3, device=DEVICE)), "'p' has an element that is not in [0, 1]"),
        (
            lambda: torch.nn.functional.nll_loss(torch.zeros(2, 3, device=DEVICE), torch.tensor([1, 7], device=DEVICE)),
            "Target 7 is out of bounds.",
        ),
        (
            lambda: torch.zeros(2, 3, device=DEVICE)[torch.tensor([0, -4], device=DEVICE)],
            "index -4 is out of bounds for dimension 0 with size 2",
        ),
        (
            lambda: torch.zeros(3, device=DEVICE).index_add_(
                0, torch.tensor([1, 5], device=DEVICE), torch.ones(2, device=DEVICE)
            ),
            "index 5 is out of bounds for dimension 0 with size 3",
        ),
        (lambda: torch._assert_async(torch.zeros((), device=DEVICE), "it is zero"), "it is zero"),
    ):
        call()
        with pytest.raises(torch.AcceleratorError, match=re.escape(words)):
            torch.accelerator.synchronize()
        torch.openreg.reset_device(DEVICE)


if __name__ == "__main__":
    group, *files = sys.argv[1:]
    torch.manual_seed(0)
    if group == "draws":
        path = Path(files[0])
        ours = drawn()
        if path.exists():
            for one, other in zip(ours, torch.load(path), strict=True):
                same(one, other, 2e-3 if one.dtype == torch.float16 else 1e-5)
        else:
            torch.save(ours, path)
    else:
        {
            "elementwise": elementwise,
            "reductions": reductions,
            "loops": loops,
            "rows": rows,
            "normalizations": normalizations,
            "lookups": lookups,
            "arrivals": arrivals,
            "scans": scans,
            "cells": cells,
            "sorts": sorts,
            "images": images,
            "products": products,
            "trains": trains,
            "errors": errors,
        }[group]()
    assert not torch.openreg.fallbacks(), torch.openreg.fallbacks()
