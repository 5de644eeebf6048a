"""Batch, group, layer and weight normalisation."""

from __future__ import annotations

import torch
from overload_tensors import Tensor

from .describe import Shapes, numbers


def shapes(big: bool) -> dict[str, Shapes]:
    """By operator, for a million elements or one."""
    count, channels, side, groups = (8, 64, 48, 8) if big else (1, 1, 1, 1)
    image, rows, width = (count, channels, side, side), *((1024, 1024) if big else (1, 1))
    vectors = ("weight", "bias", "running_mean", "running_var", "save_mean", "save_var", "save_invstd")
    batch = {
        **{name: numbers(*image) for name in ("input", "grad_out")},
        **{name: numbers(channels, fill="torch.rand(n.shape) + 0.5") for name in vectors},
        "reserve": Tensor((0,), torch.uint8),
        "train": True,
        "training": True,
        "update": True,
        "momentum": 0.1,
        "eps": 1e-5,
        "output_mask": [True, True, True],
    }
    found: dict[str, Shapes] = dict.fromkeys(
        (
            *("batch_norm_backward", "batch_norm_update_stats", "native_batch_norm", "native_batch_norm_backward"),
            *("_native_batch_norm_legit", "_batch_norm_with_update", "_batch_norm_no_update"),
        ),
        batch,
    )
    group = {
        **{name: numbers(*image) for name in ("input", "grad_out")},
        **{name: numbers(count, groups) for name in ("mean", "rstd")},
        **{name: numbers(channels) for name in ("weight", "bias")},
        "N": count,
        "C": channels,
        "HxW": side * side,
        "group": groups,
        "eps": 1e-5,
        "output_mask": [True, True, True],
    }
    found["native_group_norm"] = found["native_group_norm_backward"] = group
    layer = {
        **{name: numbers(rows, width) for name in ("input", "grad_out")},
        **{name: numbers(rows, 1) for name in ("mean", "rstd")},
        **{name: numbers(width) for name in ("weight", "bias")},
        "normalized_shape": [width],
        "eps": 1e-5,
        "output_mask": [True, True, True],
    }
    found["native_layer_norm"] = found["native_layer_norm_backward"] = layer
    norms = {name: numbers(rows, 1, fill="torch.rand(n.shape) + 1") for name in ("g", "saved_g", "saved_norms")}
    weights = {name: numbers(rows, width) for name in ("v", "grad_w", "saved_v")} | norms | {"dim": 0}
    found["_weight_norm_interface"] = found["_weight_norm_interface_backward"] = weights
    found["renorm"] = {"self": numbers(rows, width), "p": 2, "dim": 0, "maxnorm": 1.0}
    return found
