"""Convolutions, pools, upsampling and what else works on images."""

from __future__ import annotations

import torch
from overload_tensors import Tensor

from .describe import Shapes, below, numbers


def shapes(big: bool) -> dict[str, Shapes]:
    """By operator, for a million elements or one."""
    planes = [8, 64] if big else [1, 1]
    sides = {1: [2048], 2: [48, 48], 3: [16, 16, 8]} if big else {n: [1] * n for n in (1, 2, 3)}
    channels, window, step = (64, 3, 2) if big else (1, 1, 1)
    found: dict[str, Shapes] = {}
    convolution = {
        **{name: numbers(*planes, *sides[2]) for name in ("input", "grad_output")},
        "weight": numbers(channels, channels, window, window),
        "bias": numbers(channels),
        "stride": [1, 1],
        "padding": [window // 2] * 2,
        "dilation": [1, 1],
        "output_padding": [0, 0],
        "output_mask": [True, True, True],
        "transposed": False,
        "groups": 1,
    }
    for name in ("convolution_overrideable", "convolution_backward_overrideable"):
        found[name] = convolution
    for n, kinds in {
        1: ("upsample_nearest1d", "_upsample_nearest_exact1d", "upsample_linear1d"),
        2: (
            *("upsample_nearest2d", "_upsample_nearest_exact2d", "upsample_bilinear2d", "upsample_bicubic2d"),
            *("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa"),
        ),
        3: ("upsample_nearest3d", "_upsample_nearest_exact3d", "upsample_trilinear3d"),
    }.items():
        half = [max(side // 2, 1) for side in sides[n]]
        for kind in kinds:
            found[kind] = found[f"{kind}_backward"] = {
                "self": numbers(*planes, *half),
                "input": numbers(*planes, *half),
                "grad_output": numbers(*planes, *sides[n]),
                "output_size": sides[n],
                "input_size": [*planes, *half],
                "align_corners": False,
            }
    for n in (1, 2, 3):
        half = [max(side // 2, 1) for side in sides[n]]
        pool = {
            "self": numbers(*planes, *sides[n]),
            "grad_output": numbers(*planes, *half),
            "kernel_size": [step] * n,
            "stride": [step] * n,
            "padding": [0] * n,
            "dilation": [1] * n,
            "ceil_mode": False,
            "count_include_pad": True,
            "output_size": half,
            "indices": below(min(half), *planes, *half),
        }
        for name in ("max_pool{}d_with_indices", "avg_pool{}d", "adaptive_max_pool{}d", "_adaptive_avg_pool{}d"):
            for rest in ("", "_backward"):
                found[name.format(f"{n}") + rest] = pool
                found[name.format(f"{n}").removeprefix("_") + rest] = pool
        places = "torch.arange(n.numel()) % " + str(torch.Size(half).numel())
        found[f"max_unpool{n}d"] = pool | {
            "self": numbers(*planes, *half),
            "indices": Tensor((*planes, *half), torch.int64, places),
            "output_size": sides[n],
        }
        pad = [1, 1] * n if big else [0, 0] * n
        padded = [side + 2 for side in sides[n]] if big else sides[n]
        for kind in ("reflection", "replication"):
            found[f"{kind}_pad{n}d"] = found[f"{kind}_pad{n}d_backward"] = {
                "self": numbers(*planes, *sides[n]),
                "grad_output": numbers(*planes, *padded),
                "padding": pad,
            }
    for n in (2, 3):
        where = numbers(planes[0], *sides[n], n, fill="torch.rand(n.shape) * 2 - 1")
        found[f"grid_sampler_{n}d"] = found[f"grid_sampler_{n}d_backward"] = {
            "input": numbers(*planes, *sides[n]),
            "grid": where,
            "grad_output": numbers(*planes, *sides[n]),
            "interpolation_mode": 0,
            "padding_mode": 0,
            "align_corners": False,
            "output_mask": [True, True],
        }
    side, taps = sides[2][0], window * window
    found["im2col"] = found["col2im"] = {
        "kernel_size": [window, window],
        "dilation": [1, 1],
        "padding": [window // 2] * 2,
        "stride": [1, 1],
        "output_size": [side, side],
    }
    found["im2col"] = found["im2col"] | {"self": numbers(*planes, side, side)}
    found["col2im"] = found["col2im"] | {"self": numbers(planes[0], planes[1] * taps, side * side)}
    for name in ("channel_shuffle", "native_channel_shuffle"):
        found[name] = {"self": numbers(*planes, *sides[2]), "groups": 8 if big else 1}
    return found
