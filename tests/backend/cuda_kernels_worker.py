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
    ties = torch.zeros(500)
    ties[7] = ties[300] = 1
    check(torch.argmax, ties)


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


def trains() -> None:
    """A small language model: its losses are the CPU's, and nothing falls back."""
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
            "products": products,
            "trains": trains,
            "errors": errors,
        }[group]()
    assert not torch.openreg.fallbacks(), torch.openreg.fallbacks()
