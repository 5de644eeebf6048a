"""Products, distances and transforms."""

from __future__ import annotations

import torch

from .describe import MILLION, Shapes, numbers


def shapes(big: bool) -> dict[str, Shapes]:
    """By operator, for a million elements or one."""
    n, batch, small = (1024, 16, 256) if big else (1, 1, 1)
    vector = MILLION if big else 1
    square = {name: numbers(n, n) for name in ("self", "mat1", "mat2", "mat")}
    found: dict[str, Shapes] = dict.fromkeys(("mm", "addmm", "_addmm_activation"), square)
    many = {name: numbers(batch, small, small) for name in ("self", "mat2", "batch1", "batch2")}
    found["bmm"] = found["baddbmm"] = many
    found["addbmm"] = many | {"self": numbers(small, small)}
    found["addmv"] = {"self": numbers(n), "mat": numbers(n, n), "vec": numbers(n)}
    found["addr"] = {"self": numbers(n, n), "vec1": numbers(n), "vec2": numbers(n)}
    found["dot"] = found["vdot"] = {"self": numbers(vector), "tensor": numbers(vector), "other": numbers(vector)}
    found["linalg_cross"] = {name: numbers(*((349525, 3) if big else (1, 3))) for name in ("self", "other")}
    width = 64 if big else 1
    points = {"x1": numbers(n, width), "x2": numbers(n, width), "cdist": numbers(n, n), "grad": numbers(n, n)}
    found["_cdist_forward"] = found["_cdist_backward"] = points | {"p": 2.0, "compute_mode": 2}
    rows = 512 if big else 2
    pairs = rows * (rows - 1) // 2
    found["_pdist_forward"] = found["_pdist_backward"] = {
        "self": numbers(rows, width),
        "grad": numbers(pairs),
        "pdist": numbers(pairs, fill="torch.rand(n.shape) + 0.1"),
        "p": 2.0,
    }
    transform = {"dim": [1], "normalization": 0, "onesided": True, "forward": True, "last_dim_size": n}
    found["_fft_r2c"] = transform | {"self": numbers(n, n)}
    found["_fft_c2c"] = transform | {"self": numbers(n, n, dtype=torch.complex64)}
    found["_fft_c2r"] = transform | {"self": numbers(n, n // 2 + 1, dtype=torch.complex64)}
    return found
