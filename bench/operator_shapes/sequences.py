"""Embeddings, cells of recurrent networks and attention."""

from __future__ import annotations

import torch
from overload_tensors import Tensor

from .describe import Shapes, below, numbers


def shapes(big: bool) -> dict[str, Shapes]:
    """By operator, for a million elements or one."""
    words, width, count = (4096, 256, 4096) if big else (1, 1, 1)
    bags = count // 8 or 1
    bag = {
        "weight": numbers(words, width),
        "indices": below(words, count),
        "offsets": Tensor((bags,), torch.int64, f"n * {count // bags}"),
        "offset2bag": Tensor((count,), torch.int64, f"n // {count // bags}"),
        "bag_size": Tensor((bags,), torch.int64, f"n * 0 + {count // bags}"),
        "maximum_indices": Tensor((0,), torch.int64),
        "grad": numbers(bags, width),
        "num_weights": words,
        "scale_grad_by_freq": False,
        "sparse": False,
        "mode": 0,
        "padding_idx": -1,
    }
    found: dict[str, Shapes] = dict.fromkeys(
        (
            *("_embedding_bag", "_embedding_bag_forward_only", "_embedding_bag_backward"),
            *("_embedding_bag_dense_backward", "_embedding_bag_per_sample_weights_backward"),
        ),
        bag,
    )
    found["embedding_dense_backward"] = bag | {"grad_output": numbers(count, width)}
    found["embedding_renorm_"] = {"self": numbers(words, width), "indices": below(words, count)} | {
        "max_norm": 1.0,
        "norm_type": 2.0,
    }
    batch, hidden = (1024, 1024) if big else (1, 1)
    for kind, gates, kept in (("lstm", 4, 4), ("gru", 3, 5)):
        cell = {
            **{name: numbers(batch, gates * hidden) for name in ("input_gates", "hidden_gates")},
            **{name: numbers(batch, hidden) for name in ("hx", "cx", "cy", "grad_hy", "grad_cy")},
            **{name: numbers(gates * hidden) for name in ("input_bias", "hidden_bias")},
            "workspace": numbers(batch, kept * hidden),
            "has_bias": True,
        }
        for rest in ("cell", "cell_backward", "cell_backward_impl"):
            found[f"_thnn_fused_{kind}_{rest}"] = cell
    length, heads, narrow = (512, 4, 64) if big else (1, 1, 1)
    size, few = heads * narrow, 2 if big else 1
    block = {
        **{name: numbers(few, length, size) for name in ("query", "key", "value", "src")},
        "embed_dim": size,
        "num_head": heads,
        "num_heads": heads,
        "use_gelu": False,
        "norm_first": False,
        "qkv_weight": numbers(3 * size, size),
        "qkv_bias": numbers(3 * size),
        "eps": 1e-5,
        "proj_weight": numbers(size, size),
        "proj_bias": numbers(size),
        **{f"norm_{kind}_{i}": numbers(size) for kind in ("weight", "bias") for i in (1, 2)},
        "ffn_weight_1": numbers(4 * size, size),
        "ffn_bias_1": numbers(4 * size),
        "ffn_weight_2": numbers(size, 4 * size),
        "ffn_bias_2": numbers(size),
    }
    found["_native_multi_head_attention"] = found["_transformer_encoder_layer_fwd"] = block
    found["_transform_bias_rescale_qkv"] = {
        "qkv": numbers(few, length, 3 * size),
        "qkv_bias": numbers(3 * size),
        "num_heads": heads,
    }
    shape = (few, 8 if big else 1, length, narrow)
    attention = {name: numbers(*shape) for name in ("query", "key", "value", "grad_out", "out")}
    attention |= {"logsumexp": numbers(*shape[:-1]), "dropout_p": 0.0, "is_causal": False}
    attention |= {"attn_bias": numbers(few, 8 if big else 1, length, length)}
    attention |= {"cum_seq_q": Tensor((0,), torch.int64), "cum_seq_k": Tensor((0,), torch.int64)}
    attention |= {"max_q": length, "max_k": length, "grad_input_mask": [True, True, True, False]}
    attention |= {name: Tensor((), torch.int64, "0") for name in ("philox_seed", "philox_offset")}
    for name in ("", "_backward"):
        found[f"_scaled_dot_product_fused_attention_overrideable{name}"] = attention
    found["_fused_sdp_choice"] = attention
    found["_nested_tensor_from_mask_left_aligned"] = {"t": numbers(few, length, size)} | {
        "mask": Tensor((few, length), torch.bool, "n * 0 + 1")
    }
    return found
