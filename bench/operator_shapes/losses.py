"""Losses of classes."""

from __future__ import annotations

import torch
from overload_tensors import Tensor

from .describe import Shapes, below, numbers


def shapes(big: bool) -> dict[str, Shapes]:
    """By operator, for a million elements or one."""
    rows, classes = (1024, 1024) if big else (1, 1)
    count, channels, side = (8, 64, 48) if big else (1, 1, 1)
    loss = {
        "self": numbers(rows, classes),
        "target": below(classes, rows),
        "weight": numbers(classes),
        "total_weight": numbers(fill="rows * 1.0".replace("rows", str(rows))),
        "grad_output": numbers(),
        "reduction": 1,
        "ignore_index": -100,
        "p": 1,
        "margin": 1.0,
    }
    names = ("nll_loss_forward", "nll_loss_backward", "multi_margin_loss", "multi_margin_loss_backward")
    found: dict[str, Shapes] = dict.fromkeys(names, loss)
    image = {"self": numbers(count, channels, side, side), "target": below(channels, count, side, side)}
    found["nll_loss2d_forward"] = found["nll_loss2d_backward"] = loss | image | {"weight": numbers(channels)}
    few = "[0, -1]" if classes > 1 else "[0]"
    fill = f"torch.tensor({few} + [-1] * {max(classes - 2, 0)}).repeat({rows})"
    several = loss | {"target": Tensor((rows, classes), torch.int64, fill)}
    several |= {"is_target": numbers(rows, classes, fill=f"(n % {classes} == 0).float()")}
    found["multilabel_margin_loss_forward"] = found["multilabel_margin_loss_backward"] = several
    return found
