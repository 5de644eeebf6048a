"""Arguments that go together in ways which no rule of overload_arguments.py finds, by operator and argument.

An operator's name stands for all its forms; one with an overload's name, for that overload only. What isn't said here
is made by rule. Several hints are tried in turn.
"""

from __future__ import annotations

from typing import Any

import torch
from overload_tensors import Tensor, floats, integers, zeros

Hint = dict[str, Any]


def _convolution(n: int, **more: Any) -> Hint:
    """Four channels to four, a kernel of two in n dimensions."""
    image, kernel = [4] * n, [2] * n
    return {
        **{name: floats(2, 4, *image) for name in ("input", "self")},
        "weight": floats(4, 4, *kernel),
        "bias": floats(4),
        "bias_sizes": [4],
        "kernel_size": kernel,
        "stride": [1] * n,
        "padding": [0] * n,
        "dilation": [1] * n,
        "output_padding": [0] * n,
        **{name: floats(2, 4, *[3] * n) for name in ("grad_output", "gO")},
        "ggI": floats(2, 4, *image),
        "ggW": floats(4, 4, *kernel),
        "ggb": floats(4),
        **more,
    }


def _upsampling(n: int) -> Hint:
    """Four elements become three in n dimensions."""
    return {
        "self": floats(2, 3, *[4] * n),
        "input": floats(2, 3, *[4] * n),
        "grad_output": floats(2, 3, *[3] * n),
        "output_size": [3] * n,
        "input_size": [2, 3, *[4] * n],
    }


def _pooling(n: int) -> Hint:
    """Windows of two in four elements, in n dimensions."""
    return {
        "self": floats(2, 3, *[4] * n),
        "grad_output": floats(2, 3, *[2] * n),
        "kernel_size": [2] * n,
        "stride": [2] * n,
        "output_size": [2] * n,
        "padding": [0] * n,
        "dilation": [1] * n,
        "indices": zeros(2, 3, *[2] * n),
        "random_samples": floats(2, 3, n),
    }


def _grid(n: int) -> Hint:
    """A grid of three points a side in an image of four."""
    return {
        "input": floats(2, 3, *[4] * n),
        "grid": floats(2, *[3] * n, n),
        "grad_output": floats(2, 3, *[3] * n),
        "interpolation_mode": 0,
        "padding_mode": 0,
        "output_mask": [True, True],
    }


_VALUES = {"targets": zeros(2, 2), "input_lengths": [4, 4], "target_lengths": [2, 1], "blank": 2}
_CTC = {**_VALUES, "log_probs": floats(4, 2, 3), "grad": floats(2), "neg_log_likelihood": floats(2)}
_CTC |= {"log_alpha": floats(2, 4, 5), "targets": integers(0, 1, 1), "reduction": 0}
_CTC_TENSOR = _CTC | {"input_lengths": integers(4, 4), "target_lengths": integers(2, 1)}

_CLASSES = {"self": floats(3, 3), "target": integers(0, 1, 2), "weight": floats(3), "total_weight": floats()}
_CLASSES |= {"grad_output": floats(), "reduction": 1, "ignore_index": -100}
_CLASSES_2D = _CLASSES | {"self": floats(2, 3, 4, 4), "target": zeros(2, 4, 4)}

_BATCH_NORM = {
    **{name: floats(4, 3) for name in ("input", "grad_out", "grad_output", "self")},
    **{
        name: floats(3)
        for name in ("weight", "bias", "running_mean", "running_var", "save_mean", "save_var", "save_invstd")
    },
    **{name: floats(3) for name in ("mean", "invstd", "save_var_transform")},
    "reserve": Tensor((0,), torch.uint8),
    "reservedSpace": Tensor((0,), torch.uint8),
    "train": True,
    "training": True,
    "update": True,
    "eps": 1e-5,
    "impl_index": 0,
    "output_mask": [True, True, True],
}

_BAGS = {
    "weight": floats(4, 3),
    "indices": integers(0, 2, 1, 3),
    "offsets": integers(0, 2),
    "offset2bag": integers(0, 0, 1, 1),
    "bag_size": integers(2, 2),
    "maximum_indices": zeros(2, 3),
    "grad": floats(2, 3),
    "per_sample_weights": floats(4),
    "num_weights": 4,
    "mode": 0,
    "padding_idx": -1,
}
_EMBEDDING = {"weight": floats(4, 3), "indices": integers(0, 2), "grad_output": floats(2, 3), "grad": floats(2, 3)}
_EMBEDDING |= {"num_weights": 4, "padding_idx": -1}

_GATES = {name: floats(12, 3) for name in ("w_ih", "w_hh")} | {name: floats(12) for name in ("b_ih", "b_hh")}
_THREE = {name: floats(9, 3) for name in ("w_ih", "w_hh")} | {name: floats(9) for name in ("b_ih", "b_hh")}
_RNN = {"num_layers": 1, "dropout": 0.0, "has_biases": True, "bidirectional": False, "train": False}


def _recurrent(gates: int, **more: Any) -> Hint:
    """Four steps of a batch of two, three features to three."""
    size = 3 * gates
    parts = [floats(size, 3), floats(size, 3), floats(size), floats(size)]
    return {"input": floats(4, 2, 3), "hx": floats(1, 2, 3), "params": parts, **_RNN, "batch_first": False, **more}


def _packed(gates: int, **more: Any) -> Hint:
    """The same, of which one sequence is shorter."""
    lengths = integers(2, 2, 1, on_cpu=True)
    return _recurrent(gates) | {"data": floats(5, 3), "batch_sizes": lengths} | more


_STATES = [floats(1, 2, 3), floats(1, 2, 3)]
_QKV = {"embed_dim": 4, "num_head": 2, "num_heads": 2, "query": floats(2, 3, 4), "key": floats(2, 3, 4)}
_QKV |= {"value": floats(2, 3, 4), "qkv_weight": floats(12, 4), "qkv_bias": floats(12), "proj_weight": floats(4, 4)}
_QKV |= {"proj_bias": floats(4), "src": floats(2, 3, 4), "use_gelu": False, "norm_first": False, "eps": 1e-5}
_QKV |= {f"norm_{kind}_{i}": floats(4) for kind in ("weight", "bias") for i in (1, 2)}
_QKV |= {"ffn_weight_1": floats(8, 4), "ffn_bias_1": floats(8), "ffn_weight_2": floats(4, 8), "ffn_bias_2": floats(4)}
_QKV |= {"mask": Tensor((2, 3), torch.bool, "n * 0"), "mask_type": 1}

_ATTENTION = {name: floats(2, 2, 3, 4) for name in ("query", "key", "value", "grad_out", "out")}
_ATTENTION |= {"logsumexp": floats(2, 3, 2), "dropout_p": 0.0, "is_causal": False, "attn_mask": floats(2, 2, 3, 3)}

_CSR = {"crow_indices": integers(0, 1, 2), "ccol_indices": integers(0, 1, 2), "compressed_indices": integers(0, 1, 2)}
_CSR |= {"col_indices": integers(0, 1), "row_indices": integers(0, 1), "plain_indices": integers(0, 1)}
_CSR |= {"values": floats(2), "size": [2, 2], "cdim": 2, "dim": 2, "nnz": 2, "is_crow": True}
_BLOCKS = _CSR | {"values": floats(2, 1, 1)}
_COO = {"indices": Tensor((2, 2), torch.int64, "[0, 1, 0, 1]"), "values": floats(2), "size": [2, 2]}
_COO |= {"sparse_dim": 2, "dense_dim": 0}

_LU = {"LU": floats(3, 3), "LU_data": floats(3, 3), "LD": floats(3, 3), "B": floats(3, 3), "self": floats(3, 3)}
_LU |= {name: integers(1, 2, 3, dtype=torch.int32) for name in ("pivots", "LU_pivots")}
_REFLECTORS = {"self": floats(4, 3), "input": floats(4, 3), "input2": floats(3), "tau": floats(3)}
_REFLECTORS |= {"input3": floats(4, 2)}

_QUANTIZED = {"scale": floats(1, fill="[0.1]"), "zero_point": zeros(1, dtype=torch.int32)}
_OBSERVER = {
    "observer_on": integers(1),
    "fake_quant_on": integers(1),
    **{name: floats(1) for name in ("running_min", "running_max", "scale")},
    "zero_point": zeros(1, dtype=torch.int32),
    "averaging_const": 0.5,
    "quant_min": 0,
    "quant_max": 15,
    "ch_axis": 0,
    "self": floats(3, 3),
}
_BYTES = floats(3, 4, fill="n % 5", dtype=torch.int8)

HINTS: dict[str, Hint | list[Hint]] = {
    **{f"conv{n}d": _convolution(n) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": _convolution(n) for n in (1, 2, 3)},
    **{f"slow_conv_transpose{n}d": _convolution(n) for n in (2, 3)},
    **{f"slow_conv_dilated{n}d": _convolution(n) for n in (2, 3)},
    **{
        name: _convolution(2)
        for name in (
            "_convolution",
            "convolution",
            "convolution_backward",
            "convolution_overrideable",
            "convolution_backward_overrideable",
            "mkldnn_convolution",
            "thnn_conv2d",
            "_slow_conv2d_forward",
            "_slow_conv2d_backward",
            "_conv_depthwise2d",
            "_nnpack_spatial_convolution",
        )
    },
    **{name: _convolution(3) for name in ("conv_depthwise3d", "slow_conv3d", "slow_conv3d_forward")},
    "_convolution_double_backward": _convolution(2, output_mask=[True, True, True]),
    "_convolution_mode": _convolution(2, padding="same"),
    **{f"conv{n}d.padding": _convolution(n, padding="same") for n in (1, 2, 3)},
    "conv_tbc": {"self": floats(4, 2, 3), "weight": floats(2, 3, 3), "bias": floats(3), "pad": 1},
    "conv_tbc_backward": {
        "self": floats(5, 2, 3),
        "input": floats(4, 2, 3),
        "weight": floats(2, 3, 3),
        "bias": floats(3),
        "pad": 1,
    },
    **{
        f"{kind}{rest}": _upsampling(n)
        for kind, n in (
            ("upsample_nearest1d", 1),
            ("upsample_nearest2d", 2),
            ("upsample_nearest3d", 3),
            ("_upsample_nearest_exact1d", 1),
            ("_upsample_nearest_exact2d", 2),
            ("_upsample_nearest_exact3d", 3),
            ("upsample_linear1d", 1),
            ("upsample_bilinear2d", 2),
            ("upsample_bicubic2d", 2),
            ("_upsample_bilinear2d_aa", 2),
            ("_upsample_bicubic2d_aa", 2),
            ("_upsample_lanczos2d_aa", 2),
            ("upsample_trilinear3d", 3),
        )
        for rest in ("", "_backward")
    },
    **{
        name + rest: _pooling(n)
        for n in (1, 2, 3)
        for name in (
            f"max_pool{n}d",
            f"avg_pool{n}d",
            f"max_pool{n}d_with_indices",
            f"fractional_max_pool{n}d",
            f"adaptive_max_pool{n}d",
            f"adaptive_avg_pool{n}d",
            f"_adaptive_avg_pool{n}d",
        )
        for rest in ("", "_backward")
    },
    **{f"max_unpool{n}d": {**_pooling(n), "self": floats(2, 3, *[2] * n), "output_size": [4] * n} for n in (2, 3)},
    **{name: _grid(2) for name in ("grid_sampler", "grid_sampler_2d", "grid_sampler_2d_backward")},
    **{name: _grid(2) for name in ("_grid_sampler_2d_cpu_fallback", "_grid_sampler_2d_cpu_fallback_backward")},
    **{name: _grid(3) for name in ("grid_sampler_3d", "grid_sampler_3d_backward")},
    **{
        name: {"theta": floats(2, 2, 3), "size": [2, 3, 4, 4], "grad": floats(2, 4, 4, 2)}
        for name in ("affine_grid_generator", "affine_grid_generator_backward")
    },
    "im2col": {"self": floats(2, 3, 4, 4), "kernel_size": [2, 2]},
    "col2im": {"self": floats(2, 12, 9), "output_size": [4, 4], "kernel_size": [2, 2]},
    **dict.fromkeys(("ctc_loss", "_ctc_loss", "_ctc_loss_backward"), _CTC),
    **dict.fromkeys(("ctc_loss.Tensor", "_ctc_loss.Tensor", "_ctc_loss_backward.Tensor"), _CTC_TENSOR),
    "_ctc_loss.Tensor_out": _CTC_TENSOR,
    **dict.fromkeys(
        (
            "nll_loss",
            "nll_loss_nd",
            "nll_loss_forward",
            "nll_loss_backward",
            "multi_margin_loss",
            "multi_margin_loss_backward",
            "cross_entropy_loss",
        ),
        _CLASSES,
    ),
    **dict.fromkeys(("nll_loss2d", "nll_loss2d_forward", "nll_loss2d_backward"), _CLASSES_2D),
    "multi_margin_loss": _CLASSES | {"p": 1},
    "multi_margin_loss_backward": _CLASSES | {"p": 1, "margin": 1.0},
    "cosine_embedding_loss": {"input1": floats(3, 4), "input2": floats(3, 4), "target": integers(1, -1, 1)},
    **dict.fromkeys(
        (
            "batch_norm",
            "batch_norm_backward",
            "batch_norm_stats",
            "batch_norm_elemt",
            "batch_norm_update_stats",
            "native_batch_norm",
            "native_batch_norm_backward",
            "_native_batch_norm_legit",
            "_native_batch_norm_legit_functional",
            "_native_batch_norm_legit_no_training",
            "_batch_norm_with_update",
            "_batch_norm_with_update_functional",
            "_batch_norm_no_update",
            "_batch_norm_impl_index",
            "_batch_norm_impl_index_backward",
            "cudnn_batch_norm",
            "instance_norm",
        ),
        _BATCH_NORM,
    ),
    "instance_norm": _BATCH_NORM | {"input": floats(2, 3, 4), "use_input_stats": True},
    "group_norm": {"input": floats(2, 4, 3), "num_groups": 2, "weight": floats(4), "bias": floats(4)},
    **{
        name: {
            **{it: floats(2, 4, 3) for it in ("input", "grad_out")},
            **{it: floats(2, 2) for it in ("mean", "rstd")},
            **{it: floats(4) for it in ("weight", "bias")},
            "N": 2,
            "C": 4,
            "HxW": 3,
            "group": 2,
            "output_mask": [True, True, True],
        }
        for name in ("native_group_norm", "native_group_norm_backward")
    },
    **{
        name: {
            **{it: floats(2, 3) for it in ("input", "grad_out")},
            **{it: floats(2, 1) for it in ("mean", "rstd")},
            **{it: floats(3) for it in ("weight", "bias")},
            "normalized_shape": [3],
            "output_mask": [True, True, True],
        }
        for name in ("layer_norm", "native_layer_norm", "native_layer_norm_backward")
    },
    **{
        name: {"input": floats(2, 3), "normalized_shape": [3], "weight": floats(3)}
        for name in ("rms_norm", "_fused_rms_norm")
    },
    **dict.fromkeys(
        (
            "embedding_bag",
            "_embedding_bag",
            "_embedding_bag_forward_only",
            "_embedding_bag_backward",
            "_embedding_bag_sparse_backward",
            "_embedding_bag_dense_backward",
        ),
        _BAGS,
    ),
    "_embedding_bag_per_sample_weights_backward": _BAGS,
    **dict.fromkeys(
        ("embedding", "embedding_backward", "embedding_dense_backward", "embedding_sparse_backward"), _EMBEDDING
    ),
    **{
        name: _GATES | {"input": floats(2, 3), "hx": [floats(2, 3), floats(2, 3)]}
        for name in ("lstm_cell", "quantized_lstm_cell")
    },
    "gru_cell": _THREE | {"input": floats(2, 3), "hx": floats(2, 3)},
    **{
        f"rnn_{kind}_cell": {name: floats(3, 3) for name in ("w_ih", "w_hh")}
        | {"input": floats(2, 3), "hx": floats(2, 3), "b_ih": floats(3), "b_hh": floats(3)}
        for kind in ("tanh", "relu")
    },
    "lstm.input": _recurrent(4, hx=_STATES),
    "lstm.data": _packed(4, hx=_STATES),
    "gru.input": _recurrent(3),
    "gru.data": _packed(3),
    **{f"rnn_{kind}.input": _recurrent(1) for kind in ("tanh", "relu")},
    **{f"rnn_{kind}.data": _packed(1) for kind in ("tanh", "relu")},
    **{
        f"_thnn_fused_{kind}": {
            "input_gates": floats(2, 12),
            "hidden_gates": floats(2, 12),
            "cx": floats(2, 3),
            "cy": floats(2, 3),
            "grad_hy": floats(2, 3),
            "grad_cy": floats(2, 3),
            "workspace": floats(2, 12),
            "has_bias": True,
            "input_bias": floats(12),
            "hidden_bias": floats(12),
        }
        for kind in ("lstm_cell", "lstm_cell_backward", "lstm_cell_backward_impl")
    },
    **{
        f"_thnn_differentiable_{kind}_cell_backward": {
            "input_gates": floats(2, 3 * gates),
            "hidden_gates": floats(2, 3 * gates),
            "input_bias": floats(3 * gates),
            "hidden_bias": floats(3 * gates),
            **{name: floats(2, 3) for name in ("grad_hy", "grad_cy", "hx", "cx", "cy")},
        }
        for kind, gates in (("lstm", 4), ("gru", 3))
    },
    "_thnn_fused_gru_cell": {"input_gates": floats(2, 9), "hidden_gates": floats(2, 9), "hx": floats(2, 3)}
    | {"input_bias": floats(9), "hidden_bias": floats(9)},
    "_thnn_fused_gru_cell_backward": {"grad_hy": floats(2, 3), "workspace": floats(2, 15), "has_bias": True},
    "mkldnn_rnn_layer": {
        "input": floats(4, 2, 3),
        **{f"weight{i}": floats(12, 3) for i in (0, 1)},
        **{f"weight{i}": floats(12) for i in (2, 3)},
        **{name: floats(2, 3) for name in ("hx_", "cx_")},
        "mode": 2,
        "hidden_size": 3,
        "num_layers": 1,
        "has_biases": True,
        "batch_sizes": [],
        "reverse": False,
    },
    "_native_multi_head_attention": _QKV,
    "_transformer_encoder_layer_fwd": _QKV,
    "_triton_multi_head_attention": _QKV,
    **dict.fromkeys(
        (
            "scaled_dot_product_attention",
            "_scaled_dot_product_flash_attention_for_cpu",
            "_scaled_dot_product_flash_attention_for_cpu_backward",
            "_scaled_dot_product_attention_math",
            "_fused_sdp_choice",
        ),
        _ATTENTION,
    ),
    "_transform_bias_rescale_qkv": {"qkv": floats(2, 3, 12), "qkv_bias": floats(12), "num_heads": 2},
    "_convert_indices_from_csr_to_coo": _CSR,
    "_convert_indices_from_coo_to_csr": {"self": integers(0, 1), "size": 2},
    **{
        f"{kind}{layout}_tensor{rest}": _BLOCKS if layout.startswith("bs") else _CSR
        for kind, rest in (("sparse_", ""), ("_sparse_", "_unsafe"), ("_validate_sparse_", "_args"))
        for layout in ("csr", "csc", "bsr", "bsc")
    },
    **{
        name: _CSR | {"layout": torch.sparse_csr}
        for name in ("sparse_compressed_tensor", "_sparse_compressed_tensor_unsafe")
    },
    "_validate_sparse_compressed_tensor_args": _CSR | {"layout": torch.sparse_csr},
    "_validate_compressed_sparse_indices": _CSR | {"compressed_idx": integers(0, 1, 2), "plain_idx": integers(0, 1)},
    **dict.fromkeys(("sparse_coo_tensor", "_sparse_coo_tensor_unsafe", "_validate_sparse_coo_tensor_args"), _COO),
    "_sparse_coo_tensor_with_dims_and_tensors": _COO,
    "_spdiags": {"diagonals": floats(2, 3), "offsets": integers(0, 1), "shape": [3, 3]},
    "linalg_householder_product": _REFLECTORS,
    "orgqr": _REFLECTORS,
    "ormqr": _REFLECTORS,
    **dict.fromkeys(("linalg_lu_solve", "linalg_ldl_solve", "lu_solve", "lu_unpack"), _LU),
    "lu_solve": _LU,
    "linalg_tensorinv": {"self": floats(4, 2, 2, fill="torch.eye(4)"), "ind": 1},
    "nuclear_norm": {"self": floats(3, 3), "dim": [0, 1]},
    "linalg_cond": {"self": floats(3, 3), "p": 2},
    **{f"linalg_cond.p_str{rest}": {"self": floats(3, 3), "p": "fro"} for rest in ("", "_out")},
    "_linalg_check_errors": {"info": zeros(1, dtype=torch.int32), "api_name": "linalg.inv", "is_matrix": False},
    "_fft_r2c": {"self": floats(4), "dim": [0], "normalization": 0, "onesided": True},
    "_fft_c2r": {"self": floats(3, dtype=torch.complex64), "dim": [0], "normalization": 0, "last_dim_size": 4},
    "_fft_c2c": {"self": floats(3, dtype=torch.complex64), "dim": [0], "normalization": 0, "forward": True},
    "stft": {"self": floats(16), "n_fft": 4, "return_complex": True, "window": floats(4)},
    "istft": {"self": floats(3, 8, dtype=torch.complex64), "n_fft": 4, "window": floats(4, fill="n * 0 + 1")},
    **{
        name: {"self": floats(6, 2), "bins": [2, 2], "weight": floats(6), "weights": floats(6)}
        for name in ("_histogramdd_bin_edges", "_histogramdd_from_bin_cts", "histogramdd")
    },
    "_histogramdd_from_bin_tensors": {"self": floats(6, 2), "bins": [floats(3), floats(3)], "weight": floats(6)},
    "histogramdd.TensorList_bins": {"self": floats(6, 2), "bins": [floats(3), floats(3)], "weight": floats(6)},
    "histogramdd.int_bins": {"self": floats(6, 2), "bins": 2, "weight": floats(6)},
    **{
        name: {"data": floats(5), "lengths": integers(2, 3), "offsets": integers(0, 2, 5), "grad": floats(2)}
        | {"output": floats(2), "reduce": "sum", "axis": 0}
        for name in ("segment_reduce", "_segment_reduce_backward")
    },
    "_pack_padded_sequence": {"input": floats(4, 2, 3), "lengths": integers(4, 3, on_cpu=True), "batch_first": False},
    "_pack_padded_sequence_backward": {
        "grad": floats(7, 3),
        "input_size": [4, 2, 3],
        "batch_sizes": integers(2, 2, 2, 1, on_cpu=True),
        "batch_first": False,
    },
    "_pad_packed_sequence": {"data": floats(7, 3), "batch_sizes": integers(2, 2, 2, 1, on_cpu=True)}
    | {"batch_first": False, "padding_value": 0.5, "total_length": 4},
    "_pad_enum": {"self": floats(3, 3), "pad": [1, 1], "mode": 1},
    "pad": {"self": floats(3, 3), "pad": [1, 1]},
    "_reshape_from_tensor": {"self": floats(4, 3), "shape": integers(2, 6)},
    "_rowwise_prune": {"weight": floats(3, 4), "mask": Tensor((3,), torch.bool, "n != 1")}
    | {"compressed_indices_dtype": torch.int32},
    "_sobol_engine_initialize_state": {"self": zeros(2, 30), "dimension": 2},
    "_sobol_engine_scramble": {"self": zeros(2, 30), "ltm": floats(2, 30, 30, fill="n % 2", dtype=torch.int64)}
    | {"dimension": 2},
    "_sobol_engine_draw": {"quasi": zeros(2), "n": 3, "sobolstate": zeros(2, 30), "dimension": 2, "num_generated": 0}
    | {"dtype": torch.float32},
    "_sobol_engine_ff": {"self": zeros(2), "n": 3, "sobolstate": zeros(2, 30), "dimension": 2, "num_generated": 0},
    "_compute_linear_combination": {"input": floats(2, 3), "coefficients": floats(4, 2)},
    "_amp_update_scale": {"self": floats(), "growth_tracker": zeros(1, dtype=torch.int32), "found_inf": floats(1)}
    | {"scale_growth_factor": 2.0, "scale_backoff_factor": 0.5, "growth_interval": 2},
    "_int_mm": {"self": _BYTES, "mat2": floats(4, 3, fill="n % 5", dtype=torch.int8)},
    "_weight_int8pack_mm": {
        "self": floats(2, 32, dtype=torch.bfloat16),
        "mat2": floats(16, 32, fill="n % 5", dtype=torch.int8),
        "scales": floats(16, dtype=torch.bfloat16),
    },
    "_convert_weight_to_int4pack_for_cpu": {"self": floats(16, 32, fill="n % 5", dtype=torch.int32), "innerKTiles": 2},
    "_weight_int4pack_mm_for_cpu": {
        "self": floats(2, 32, dtype=torch.bfloat16),
        "mat2": floats(16, 16, fill="n % 5", dtype=torch.uint8),
        "qGroupSize": 32,
        "qScaleAndZeros": floats(1, 16, 2, dtype=torch.bfloat16),
    },
    "_grouped_mm": {"self": floats(2, 8, 8, dtype=torch.bfloat16), "mat2": floats(2, 8, 8, dtype=torch.bfloat16)},
    **{
        name: _QUANTIZED | {"self": floats(3, 3), "quant_min": 0, "quant_max": 15, "axis": 0}
        for name in (
            "fake_quantize_per_tensor_affine.tensor_qparams",
            "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        )
    },
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams": _QUANTIZED
    | {"self": floats(3, 3), "fake_quant_enabled": integers(1), "quant_min": 0, "quant_max": 15},
    "fake_quantize_per_tensor_affine": {"self": floats(3, 3), "scale": 0.1, "zero_point": 0},
    "fake_quantize_per_tensor_affine_cachemask": {"self": floats(3, 3), "scale": 0.1, "zero_point": 0},
    **{
        name: {"self": floats(3, 3), "scale": floats(3), "zero_point": zeros(3, dtype=torch.int32), "axis": 0}
        for name in ("fake_quantize_per_channel_affine", "fake_quantize_per_channel_affine_cachemask")
    },
    **dict.fromkeys(
        (
            "_fused_moving_avg_obs_fq_helper",
            "_fused_moving_avg_obs_fq_helper_functional",
            "fused_moving_avg_obs_fake_quant",
        ),
        _OBSERVER,
    ),
    **{
        f"_foreach_{name}.{overload}": {"scalars": floats(2)._replace(on_cpu=True)}
        for name in ("addcdiv", "addcmul")
        for overload in ("Tensor", "Tensor_out")
    },
    **{
        f"randint_like.Tensor{rest}": {"self": floats(3, 3), "high": Tensor((), torch.int64, "[5]", on_cpu=True)}
        for rest in ("", "_out", "_generator", "_generator_out")
    },
    "tensor_split.tensor_indices_or_sections": {"self": floats(4, 3)}
    | {"tensor_indices_or_sections": integers(1, 3, on_cpu=True)},
    "_local_scalar_dense": {"self": floats()},
    "multilabel_margin_loss_backward": {
        "grad_output": floats(),
        "self": floats(3, 3),
        "target": floats(3, 3, fill="[0, -1, -1] * 3", dtype=torch.int64),
        "reduction": 1,
        "is_target": floats(3, 3, fill="[1, 0, 0] * 3"),
    },
    **{
        name: {"self": floats(3, 3, fill="n / 8"), "buffer": floats(3, 3, fill="torch.exp(-n / 8)")}
        for name in ("log_sigmoid_forward", "log_sigmoid_backward")
    },
    "_masked_softmax_backward": {"grad_output": floats(3, 3), "output": floats(3, 3, fill="(n + 1) % 2 / 4")}
    | {"mask": Tensor((3, 3), torch.bool, "n % 2")},
    **{
        name: {
            **{it: floats(3, 2) for it in ("v", "grad_w", "saved_v")},
            **{it: floats(3, 1, fill="n + 1") for it in ("g", "saved_g", "saved_norms")},
        }
        for name in ("_weight_norm", "_weight_norm_interface", "_weight_norm_interface_backward")
    },
    "addmv": {"self": floats(3), "mat": floats(3, 4), "vec": floats(4)},
    **{
        f"{name}.{overload}": {"self": floats(3, 3), "min": floats(3, 3), "max": floats(3, 3)}
        for name in ("clamp", "clip")
        for overload in ("Tensor", "Tensor_out")
    },
    "clamp": {"min": 0.25, "max": 0.5},
    "clip": {"min": 0.25, "max": 0.5},
    **{
        f"_fused_{name}": {"max_exp_avg_sqs": [], "momentum_buffer_list": [], "lr": 0.1, "weight_decay": 0.1}
        | {"beta1": 0.9, "beta2": 0.99, "momentum": 0.0}
        for name in ("adam", "adamw", "sgd")
    },
    **{
        f"_fused_{name}.tensor_lr{rest}": {"max_exp_avg_sqs": [], "momentum_buffer_list": [], "weight_decay": 0.1}
        | {"beta1": 0.9, "beta2": 0.99, "momentum": 0.0}
        for name in ("adam", "adamw", "sgd")
        for rest in ("", "_out")
    },
    "einsum": {"equation": "ij,jk->ik", "tensors": [floats(3, 3), floats(3, 3)]},
    "meshgrid": {"tensors": [floats(3), floats(2)], "indexing": "ij"},
    "diagonal_backward": {"grad_output": floats(3), "input_sizes": [3, 3], "offset": 0, "dim1": 0, "dim2": 1},
    "diagonal_scatter": {"self": floats(3, 3), "src": floats(3)},
    "select_scatter": {"self": floats(3, 3), "src": floats(3), "dim": 0, "index": 1},
    "select_backward": {"grad_output": floats(3), "input_sizes": [3, 3], "dim": 0, "index": 1},
    "slice_backward": {"grad_output": floats(2, 3), "input_sizes": [3, 3], "dim": 0, "start": 1, "end": 3, "step": 1},
    "index_select_backward": {"grad": floats(2, 3), "self_sizes": [3, 3], "dim": 0, "index": integers(0, 2)},
    "trace_backward": {"grad": floats(), "sizes": [3, 3]},
    "unflatten_dense_tensors": {"flat": floats(6), "tensors": [floats(2), floats(4)]},
    "split_copy": {"self": floats(4, 3), "split_size": 2},
    "split_with_sizes_copy": {"self": floats(3, 3), "split_sizes": [1, 2]},
    "unsafe_split_with_sizes": {"self": floats(3, 3), "split_sizes": [1, 2]},
    "split_with_sizes": {"self": floats(3, 3), "split_sizes": [1, 2]},
    "narrow.Tensor": {"self": floats(3, 3), "dim": 0, "start": zeros(), "length": 2},
    "view_as_complex": {"self": floats(3, 2)},
    "view_as_complex_copy": {"self": floats(3, 2)},
    "glu": {"self": floats(3, 4), "dim": 1},
    "glu_jvp": {"glu": floats(3, 2), "x": floats(3, 4), "dx": floats(3, 4), "dim": 1},
    "glu_backward": {"grad_output": floats(3, 2), "self": floats(3, 4), "dim": 1},
    "glu_backward_jvp": {
        "grad_x": floats(3, 4),
        "grad_glu": floats(3, 2),
        "x": floats(3, 4),
        "dgrad_glu": floats(3, 2),
        "dx": floats(3, 4),
        "dim": 1,
    },
    "scatter.reduce": {"self": floats(3, 3), "index": zeros(3, 3), "src": floats(3, 3), "reduce": "add"},
    "scatter.value_reduce": {"self": floats(3, 3), "index": zeros(3, 3), "value": 2, "reduce": "add"},
    "scatter.reduce_out": {"self": floats(3, 3), "index": zeros(3, 3), "src": floats(3, 3), "reduce": "add"},
    "scatter.value_reduce_out": {"self": floats(3, 3), "index": zeros(3, 3), "value": 2, "reduce": "add"},
    "index_reduce": {"self": floats(3, 3), "index": integers(0, 2), "source": floats(2, 3), "reduce": "mean"},
    "index_fill": {"self": floats(3, 3), "index": integers(0, 2), "value": 2},
    **{f"index_fill.int_Tensor{rest}": {"index": integers(0, 2), "value": floats()} for rest in ("", "_out")},
    **{
        f"gradient.{kind}": {"self": floats(4, 4), "spacing": spacing, "dim": dim}
        for kind, spacing, dim in (
            ("scalarint", 1.0, 0),
            ("scalararray", 1.0, [0, 1]),
            ("array", None, [0, 1]),
            ("scalarrayint", [1.0, 1.0], None),
            ("scalarrayarray", [1.0, 1.0], [0, 1]),
            ("tensorarrayint", [floats(4), floats(4)], None),
            ("tensorarray", [floats(4), floats(4)], [0, 1]),
        )
    },
    "hash_tensor": {"self": floats(3, 3)},
    "frexp": {"self": floats(3, 3)},
    "batch_norm_gather_stats": _BATCH_NORM,
    "_nested_tensor_from_tensor_list": {"list": [floats(2, 3), floats(3, 3)]},
    "_nested_tensor_from_mask": {"t": floats(2, 3, 4), "mask": Tensor((2, 3), torch.bool, "[1, 1, 0, 1, 1, 1]")},
    "_nested_tensor_from_mask_left_aligned": {"t": floats(2, 3, 4)}
    | {"mask": Tensor((2, 3), torch.bool, "[1, 1, 0, 1, 1, 1]")},
    "_nested_view_from_buffer": {
        "self": floats(6),
        "nested_size": Tensor((2, 1), torch.int64, "[2, 4]", True),
        "nested_strides": Tensor((2, 1), torch.int64, "[1, 1]", True),
        "offsets": integers(0, 2, on_cpu=True),
    },
    "_jagged_to_padded_dense_forward": {"values": floats(5, 3), "offsets": [integers(0, 2, 5)], "max_lengths": [3]},
    "_padded_dense_to_jagged_forward": {"dense": floats(2, 3, 3), "offsets": [integers(0, 2, 5)], "total_L": 5},
    "to_sparse_csr": {"self": floats(3, 3)},
    "quantize_per_tensor": {"self": floats(3, 3), "scale": 0.1, "zero_point": 0, "dtype": torch.quint8},
    **{
        f"quantize_per_tensor.tensor_qparams{rest}": {"self": floats(3, 3), "scale": floats(1), "zero_point": zeros(1)}
        | {"dtype": torch.quint8}
        for rest in ("", "_out")
    },
    "quantize_per_channel": {"self": floats(3, 3), "scales": floats(3, fill="n * 0 + 0.1")}
    | {"zero_points": zeros(3), "axis": 0, "dtype": torch.quint8},
}
