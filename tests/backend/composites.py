"""Programs that run operators which no entry of PyTorch's operator database runs; `d` is the device."""

from __future__ import annotations

_STEPS = """
p = torch.nn.Parameter(torch.ones(3, 2).to(d))
optimizer = torch.optim.{}
for _ in range(2):
    optimizer.zero_grad()
    (p * p).sum().backward()
    torch.nn.utils.clip_grad_norm_([p], 1.0)
    optimizer.step()
"""
_OPTIMIZERS = ["Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD"]
_OPTIMIZERS += ["NAdam", "RAdam", "RMSprop", "Rprop"]

PROGRAMS = {
    # operators of PyTorch's core set
    "batch norm": "x = torch.ones(2).to(d)\n"
    "torch.ops.aten._native_batch_norm_legit_no_training(torch.ones(3, 2).to(d), x, x, x, x, 0.1, 1e-5)",
    "bitwise": "x = torch.arange(3).to(d); x & 1, x | 1, x ^ 1, 1 & x, x << 1, x >> 1, 1 << x, 1 >> x",
    "bitwise_and.Scalar": "torch.ops.aten.bitwise_and.Scalar(torch.arange(3).to(d), 1)",
    "bitwise_or.Scalar": "torch.ops.aten.bitwise_or.Scalar(torch.arange(3).to(d), 1)",
    "bitwise_xor.Scalar": "torch.ops.aten.bitwise_xor.Scalar(torch.arange(3).to(d), 1)",
    "fmod.Scalar": "torch.ops.aten.fmod.Scalar(torch.arange(3).to(d), 2)",
    "div.Scalar_mode": "torch.ops.aten.div.Scalar_mode(torch.arange(3.0).to(d), 2, rounding_mode='floor')",
    "copy": "torch.ops.aten.copy(torch.ones(3).to(d), torch.ones(3))",
    "randperm": "torch.randperm(5, device=d)",
    "sym_size": "torch.ops.aten.sym_size.int(torch.ones(2).to(d), 0)",
    "sym_stride": "torch.ops.aten.sym_stride.int(torch.ones(2).to(d), 0)",
    "sym_numel": "torch.ops.aten.sym_numel(torch.ones(2).to(d))",
    "sym_storage_offset": "torch.ops.aten.sym_storage_offset(torch.ones(2).to(d))",
    "sym_is_contiguous": "torch.ops.aten.sym_is_contiguous(torch.ones(2).to(d))",
    # training
    "SGD": _STEPS.format("SGD([p], lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1)"),
    **{name: _STEPS.format(f"{name}([p], lr=0.1)") for name in _OPTIMIZERS},
    **{f"fused {name}": _STEPS.format(f"{name}([p], lr=0.1, fused=True)") for name in ("SGD", "Adam", "AdamW")},
    **{
        name: f"y, _ = torch.nn.{name}(3, 4).to(d)(torch.ones(2, 5, 3).to(d)); y.sum().backward()"
        for name in ("RNN", "GRU", "LSTM")
    },
    **{
        name: f"torch.nn.{name}(3, 4).to(d)(torch.ones(2, 3).to(d))[0].sum().backward()"
        for name in ("RNNCell", "GRUCell", "LSTMCell")
    },
    "transformer": "torch.nn.TransformerEncoderLayer(4, 2, 8).to(d)(torch.ones(2, 5, 4).to(d)).sum().backward()",
    # factories, random numbers, views
    **{
        name: f"torch.{name}(5, device=d)"
        for name in ("bartlett_window", "blackman_window", "hamming_window", "hann_window", "kaiser_window")
    },
    "range": "torch.range(0, 3, device=d)",
    "fftfreq": "torch.fft.fftfreq(4, device=d), torch.fft.rfftfreq(4, device=d)",
    "rand_like": "torch.rand_like(torch.ones(3).to(d))",
    "bernoulli": "x = torch.ones(3).to(d); torch.bernoulli(x), torch.bernoulli(x, 0.5), x.bernoulli_()",
    "view.dtype": "torch.ones(3).to(d).view(torch.int32)",
}
