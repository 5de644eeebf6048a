"""Pointwise operators with a range of their own, factories, and lists of tensors."""

from __future__ import annotations

import torch
from overload_tensors import Tensor

from .describe import MILLION, Shapes, numbers


def shapes(big: bool) -> dict[str, Shapes]:
    """By operator, for a million elements or one."""
    n, vector = (1024, MILLION) if big else (1, 1)
    sides = numbers(vector, fill="torch.rand(n.shape) * 2 - 1")
    above = numbers(vector, fill="torch.rand(n.shape) + 1.01")
    positive = numbers(vector, fill="torch.rand(n.shape) * 10 + 0.1")
    logs = {"self": sides, "buffer": numbers(vector), "grad_output": numbers(vector)}
    found: dict[str, Shapes] = {
        **{name: {"self": sides} for name in ("erfinv", "elu")},  # the CPU's elu takes no e^x where all are above 0
        "fill_.Tensor": {"self": numbers(vector), "value": numbers()},
        "masked_fill_.Tensor": {"self": numbers(vector), "value": numbers()}
        | {"mask": Tensor((vector,), torch.bool, "torch.rand(n.shape) < 0.5")},
        **{f"normal.Tensor_float{kind}": {"mean": numbers(vector), "std": 1.0} for kind in ("", "_out")},
        **{f"normal.float_Tensor{kind}": {"mean": 0.0, "std": numbers(vector)} for kind in ("", "_out")},
        **{f"normal.Tensor_Tensor{kind}": dict.fromkeys(("mean", "std"), numbers(vector)) for kind in ("", "_out")},
        "clamp": {"self": numbers(vector), "min": 0.25, "max": 0.75},
        **{
            f"clamp{kind}": {name: numbers(vector) for name in ("self", "min", "max")}
            for kind in (".Tensor", ".Tensor_out", "_.Tensor")
        },
        "acosh": {"self": above},
        **{name: {"self": positive, "n": 1} for name in ("lgamma", "digamma", "polygamma")},
        "special_zeta": {"self": above, "other": positive},
        "log_sigmoid_forward": logs,
        "log_sigmoid_backward": logs,
        "where": {"condition": Tensor((vector,), torch.bool, "torch.rand(n.shape) < 0.5")},
        "arange": {"start": 0, "end": vector, "step": 1},
        "range": {"start": 0, "end": vector - 1, "step": 1},
        **{name: {"start": 0.0, "end": 1.0, "steps": vector} for name in ("linspace", "logspace")},
        "eye": {"n": n, "m": n},
        "kaiser_window": {"window_length": vector if big else 2, "periodic": True, "beta": 12.0},
        "randperm": {"n": vector},
        "random_.from": {"self": numbers(vector), "from": 0, "to": 100},
        "random_.to": {"self": numbers(vector), "to": 100},
        "bernoulli_.float": {"self": numbers(vector), "p": 0.5},
        "native_dropout": {"input": numbers(vector), "p": 0.5, "train": True},
        "native_dropout_backward": {"grad_output": numbers(vector), "scale": 2.0}
        | {"mask": Tensor((vector,), torch.bool, "torch.rand(n.shape) < 0.5")},
        "view_as_complex": {"self": numbers(*((vector // 2, 2) if big else (1, 2)))},
        "glu": {"self": numbers(n, 2 * n), "dim": 1},
        "glu_backward": {"self": numbers(n, 2 * n), "grad_output": numbers(n, n), "dim": 1},
        "_prelu_kernel": {"self": sides, "weight": numbers(vector)},
        "_masked_softmax": {"self": numbers(n, n), "mask": Tensor((n, n), torch.bool, "n % 2"), "mask_type": 2}
        | {"dim": 1},
        "_masked_softmax_backward": {name: numbers(n, n) for name in ("grad_output", "output")}
        | {"mask": Tensor((n, n), torch.bool, "n % 2"), "dim": 1},
        "_softmax_backward_data": {name: numbers(n, n) for name in ("grad_output", "output")}
        | {"dim": 1, "input_dtype": torch.float32},
        "linalg_vector_norm": {"self": numbers(vector), "ord": 2, "dim": None},
        "_copy_from": {"self": numbers(vector), "dst": numbers(vector)},
        "_copy_from_and_resize": {"self": numbers(vector), "dst": numbers(vector)},
        "_amp_update_scale_": {
            "self": numbers(),
            "growth_tracker": Tensor((), torch.int32, "0"),
            "found_inf": numbers(),
            "scale_growth_factor": 2.0,
            "scale_backoff_factor": 0.5,
            "growth_interval": 2,
        },
    }
    parts = [numbers(vector // 16 or 1)] * (16 if big else 1)
    lists = dict.fromkeys(("self", "other", "tensors", "tensor1", "tensor2", "tensors1", "src", "exponent"), parts)
    lists |= {"weights": parts, "scalars": [0.5] * len(parts), "scalar": 0.5, "value": 1, "weight": 0.5}
    found["_foreach"] = lists
    found["_foreach_other"] = lists | {"other": numbers()}
    for name in ("_foreach_lerp.ScalarList", "_foreach_lerp_.ScalarList"):
        found[name] = lists | {"weight": lists["scalars"]}
    found["_foreach_pow.ScalarAndTensor"] = lists | {"self": 0.5}
    state = dict.fromkeys(("self", "grads", "exp_avgs", "exp_avg_sqs", "momentum_buffer_list"), parts)
    state |= {"state_steps": [numbers(fill="1.0")] * len(parts), "max_exp_avg_sqs": [], "lr": 0.1, "weight_decay": 0.1}
    state |= {"beta1": 0.9, "beta2": 0.99, "momentum": 0.9, "dampening": 0.0, "nesterov": False, "eps": 1e-8}
    state |= {"amsgrad": False, "maximize": False, "is_first_step": False}
    for name in ("sgd", "adam", "adamw"):
        found[f"_fused_{name}_"] = state
        found[f"_fused_{name}_.tensor_lr"] = state | {"lr": numbers(fill="0.1")}
    found["_amp_foreach_non_finite_check_and_unscale_"] = lists | {"found_inf": numbers(), "inv_scale": numbers()}
    return found
