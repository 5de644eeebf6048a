"""Indexing, sorting and what else takes positions."""

from __future__ import annotations

import torch
from overload_tensors import Tensor

from .describe import MILLION, Shapes, below, numbers, ordered


def shapes(big: bool) -> dict[str, Shapes]:
    """By operator, for a million elements or one."""
    n, vector = (1024, MILLION) if big else (1, 1)
    table, rows = numbers(n, n), below(n, n)
    places = below(n, n, n)
    found: dict[str, Shapes] = {
        "index": {"self": table, "indices": [rows]},
        "_unsafe_index": {"self": table, "indices": [rows]},
        "_index_put_impl_": {"self": table, "indices": [rows], "values": numbers(n, n), "unsafe": False},
        "index_select": {"self": table, "dim": 0, "index": rows},
        "repeat_interleave": {"repeats": below(3, vector) if big else Tensor((1,), torch.int64, "[1]")},
        "take": {"self": numbers(vector), "index": below(vector, vector)},
        "put_": {"self": numbers(vector), "index": below(vector, vector), "source": numbers(vector)},
        "bincount": {"self": below(n, vector)},
        "histc": {"self": numbers(vector), "bins": 100, "min": 0, "max": 1},
        "sort": {"self": numbers(vector), "stable": True, "dim": 0},
        "unique_consecutive": {"self": below(n, vector)},
        "_unique": {"self": below(n, vector)},
        "_unique2": {"self": below(n, vector)},
        "unique_dim": {"self": below(2, n, n), "dim": 0},
        "unique_dim_consecutive": {"self": below(2, n, n), "dim": 0},
        "searchsorted": {"sorted_sequence": ordered(vector), "self": numbers(vector)},
        "bucketize": {"boundaries": ordered(n), "self": numbers(vector)},
        "searchsorted.Scalar": {"sorted_sequence": ordered(vector), "self": 0.5},
        "searchsorted.Scalar_out": {"sorted_sequence": ordered(vector), "self": 0.5},
        "bucketize.Scalar": {"boundaries": ordered(vector), "self": 0.5},
        **{
            f"isin.{kind}{rest}": {"element": 2, "test_element": 2}
            | {name: below(vector, vector) for name in ("elements", "test_elements")}
            for kind in ("Scalar_Tensor", "Tensor_Scalar")
            for rest in ("", "_out")
        },
        "isin": {
            **{name: below(vector, vector) for name in ("elements", "element")},
            **{name: below(vector, n) for name in ("test_elements", "test_element")},
        },
        "multinomial": {"self": table, "num_samples": min(n, 64), "replacement": True},
        "topk": {"self": table, "k": min(n, 16), "dim": 1, "largest": True, "sorted": True},
        "kthvalue": {"self": table, "k": n // 2 or 1, "dim": 1},
        "nonzero": {"self": Tensor((n, n), torch.bool, "torch.rand(n.shape) < 0.5" if big else "[1]")},
        "nonzero_static": {"self": Tensor((n, n), torch.bool, "torch.rand(n.shape) < 0.5"), "size": vector // 2 or 1},
        "masked_select": {"self": table, "mask": Tensor((n, n), torch.bool, "torch.rand(n.shape) < 0.5")},
        "masked_scatter_": {"self": table, "mask": Tensor((n, n), torch.bool, "torch.rand(n.shape) < 0.5")}
        | {"source": numbers(n, n)},
        "cat": {"tensors": [numbers(n, n), numbers(n, n)], "dim": 0},
        "narrow_copy": {"self": table, "dim": 0, "start": 0, "length": n // 2 or 1},
        "roll": {"self": table, "shifts": [n // 3], "dims": [1]},
        "flip": {"self": table, "dims": [1]},
        "unfold": {"self": table, "dimension": 1, "size": min(n, 8), "step": min(n, 8)},
        "unfold_backward": {"grad_in": numbers(n, n // 8 or 1, min(n, 8)), "input_sizes": [n, n], "dim": 1}
        | {"size": min(n, 8), "step": min(n, 8)},
        "tril_indices": {"row": n, "col": n, "offset": 0},
        "triu_indices": {"row": n, "col": n, "offset": 0},
        "scatter_reduce": {"self": table, "dim": 1, "index": places, "src": table, "reduce": "sum"},
        "view": {"self": table, "size": [n * n]},
        "as_strided": {"self": table, "size": [n, n], "stride": [1, n]},
        "_reshape_alias": {"self": table, "size": [n, n], "stride": [1, n]},
        "resize_": {"self": table, "size": [n * n]},
    }
    for name in ("_cummax_helper", "_cummin_helper"):  # which take the dimension as it is
        found[name] = {"self": table, "values": numbers(n, n), "indices": places, "dim": 1}
    for name in ("index_add", "index_copy", "index_reduce"):
        found[name] = {"self": table, "dim": 0, "index": rows, "source": numbers(n, n), "reduce": "mean"}
    for kind in ("int_Scalar", "int_Tensor"):
        value = 2 if kind == "int_Scalar" else numbers()
        found[f"index_fill_.{kind}"] = {"self": table, "dim": 0, "index": rows, "value": value}
    for kind in ("scatter", "scatter_add", "gather"):
        found[kind] = {"self": table, "dim": 1, "index": places, "src": numbers(n, n), "reduce": "add", "value": 2}
    return found
