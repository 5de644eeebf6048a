"""Convolution, pooling, normalisation and what else networks are made of: what PyTorch's database does not ask."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from .conftest import GateFunction


@pytest.fixture(autouse=True)
def on_the_device_alone() -> Iterator[None]:
    """Whatever is tested here, the CPU does none of it."""
    torch.openreg.reset_fallbacks()
    with torch.openreg.no_fallback():
        yield
    assert torch.openreg.fallbacks() == {}


def made(*shape: int, seed: int = 1) -> torch.Tensor:
    """Normally distributed numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def equal(
    function: Callable[..., torch.Tensor], *inputs: torch.Tensor, device: str, rtol: float = 1e-4, atol: float = 1e-4
) -> None:
    """Checks result and gradients against the CPU's, which computes in double."""
    found = []
    for place, wide in (("cpu", True), (device, False)):
        own = [(x.double() if wide and x.dtype == torch.float else x).detach().clone().to(place) for x in inputs]
        own = [x.requires_grad_(x.is_floating_point()) for x in own]
        y = function(*own)
        assert y.device == torch.device(place)
        y.backward(made(*y.shape, seed=2).to(y))
        found.append([t.cpu().to(inputs[0].dtype) for t in (y.detach(), *(x.grad for x in own if x.grad is not None))])
    for ours, exact in zip(found[1], found[0], strict=True):  # sums lose more the more numbers they are of
        largest = max(1.0, exact.abs().max().item()) if exact.numel() else 1.0
        torch.testing.assert_close(ours, exact, rtol=rtol, atol=atol * largest)


# ------------------------------------------------------------------ convolution

SHAPES = {
    "3x3": {"image": (4, 8, 13, 11), "filters": (6, 8, 3, 3)},
    "1x1": {"image": (2, 8, 9, 9), "filters": (5, 8, 1, 1)},
    "a single channel and image": {"image": (1, 1, 30, 30), "filters": (1, 1, 5, 5), "padding": 2},
    "an image without a batch": {"image": (3, 9, 9), "filters": (4, 3, 3, 3)},
    "stride": {"image": (2, 4, 17, 16), "filters": (6, 4, 3, 2), "stride": (2, 3)},
    "padding": {"image": (2, 4, 7, 7), "filters": (6, 4, 3, 3), "padding": (4, 1)},
    "dilation": {"image": (2, 4, 15, 15), "filters": (6, 4, 3, 3), "dilation": (2, 3), "padding": 3},
    "groups": {"image": (2, 6, 9, 9), "filters": (9, 2, 3, 3), "groups": 3, "padding": 1},
    "depthwise": {"image": (2, 16, 9, 9), "filters": (32, 1, 3, 3), "groups": 16, "stride": 2},
    "pointwise in groups": {"image": (3, 6, 5, 5), "filters": (4, 3, 1, 1), "groups": 2},
    "pointwise with a stride": {"image": (3, 6, 5, 5), "filters": (4, 6, 1, 1), "stride": 2},
    "padding that leaves windows empty": {"image": (1, 2, 3, 3), "filters": (2, 2, 2, 2), "padding": 5},
    "more than one panel": {"image": (2, 32, 40, 40), "filters": (8, 32, 3, 3), "padding": 1},
    "one dimension": {"image": (2, 4, 50), "filters": (3, 4, 5), "stride": 2, "padding": 1},
    "three dimensions": {"image": (2, 3, 5, 6, 7), "filters": (4, 3, 2, 3, 3), "padding": 1, "stride": (1, 2, 1)},
}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_convolutions_equal_the_cpus(device: str, shape: dict, bias: bool) -> None:
    options = dict(shape)
    image, filters = made(*options.pop("image")), made(*options.pop("filters"), seed=3)
    function = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[filters.dim()]
    inputs = [image, filters] + [made(filters.shape[0], seed=4)] * bias
    equal(lambda *x: function(*x, **options), *inputs, device=device)


@pytest.mark.parametrize("shape", [name for name in SHAPES if "window" not in name and "batch" not in name])
def test_transposed_convolutions_equal_the_cpus(device: str, shape: str) -> None:
    options = dict(SHAPES[shape])
    image, filters = made(*options.pop("image")), made(*options.pop("filters"), seed=3)
    forward = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[filters.dim()]
    backward = {3: F.conv_transpose1d, 4: F.conv_transpose2d, 5: F.conv_transpose3d}[filters.dim()]
    small = forward(image, filters, **options)
    bias = made(image.shape[1], seed=4)
    equal(lambda *x: backward(*x, **options), small, filters, bias, device=device)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_convolutions_of_other_types_are_as_exact_as_these(device: str, dtype: torch.dtype) -> None:
    image, filters = made(2, 4, 9, 9).to(dtype), made(6, 4, 3, 3, seed=3).to(dtype)
    limit = {torch.float64: 1e-12, torch.float16: 2e-2, torch.bfloat16: 2e-1}[dtype]
    equal(F.conv2d, image, filters, device=device, rtol=limit, atol=limit)


def test_a_convolution_of_integers_wraps_as_integers_do(device: str) -> None:
    image = torch.arange(200, dtype=torch.int64).view(1, 2, 10, 10) << 56
    filters = torch.arange(18, dtype=torch.int64).view(1, 2, 3, 3)
    assert F.conv2d(image.to(device), filters.to(device)).cpu().equal(F.conv2d(image, filters))


@pytest.mark.parametrize("layout", ["channels last", "every other", "expanded"])
def test_a_convolution_takes_any_strides(device: str, layout: str) -> None:
    image = {
        "channels last": lambda: made(2, 4, 9, 9).to(memory_format=torch.channels_last),
        "every other": lambda: made(2, 8, 9, 18)[:, ::2, :, ::2],
        "expanded": lambda: made(1, 4, 1, 9).expand(2, 4, 9, 9),
    }[layout]()
    equal(F.conv2d, image, made(6, 4, 3, 3, seed=3), device=device)


def test_a_convolution_of_no_image_has_no_result_and_gradients_of_zero(device: str) -> None:
    equal(F.conv2d, made(0, 4, 9, 9), made(6, 4, 3, 3), device=device)


def test_a_convolution_waits_for_what_was_queued_before(gate: GateFunction) -> None:
    x, w = made(1, 3, 8, 8), made(2, 3, 3, 3)
    source, weight = x.to("openreg:0"), w.to("openreg:0")
    closed = gate(0)
    y = F.conv2d(source * 2, weight)
    closed.open()
    torch.testing.assert_close(y.cpu(), F.conv2d(x * 2, w), rtol=1e-4, atol=1e-4)


def test_a_convolution_refuses_two_types(device: str) -> None:
    with pytest.raises(RuntimeError, match="should be the same"):
        F.conv2d(made(1, 2, 5, 5).to(device), made(2, 2, 3, 3).double().to(device))


ONES = torch.ones(2, 8)
# Calls with an argument `x` of another type, and what is said of it.
OTHER_TYPES: dict[str, tuple[Callable[[torch.Tensor], object], str]] = {
    "group_norm": (
        lambda x: F.group_norm(ONES.to(x.device), 2, ONES[0].to(x.device), x[0]),
        "group_norm: argument 'bias' is of type Double; expected Float",
    ),
    "group_norm of halves": (
        lambda x: F.group_norm(ONES.half().to(x.device), 2, ONES[0].half().to(x.device), x[0]),
        "group_norm: argument 'bias' is of type Double; expected Half",
    ),
    "multi_margin_loss": (
        lambda x: F.multi_margin_loss(ONES.to(x.device), torch.tensor([0, 1], device=x.device), weight=x[0]),
        "margin_loss: argument 'weight' is of type Double; expected Float",
    ),
    "layer_norm_backward": (
        lambda x: torch.ops.aten.native_layer_norm_backward(
            x, ONES.to(x.device), [8], *(ONES[:, :1].to(x.device),) * 2, None, None, [True, False, False]
        ),
        "layer_norm_backward: argument 'grad_out' is of type Double; expected Float",
    ),
    "max_pool2d_backward": (
        lambda x: torch.ops.aten.max_pool2d_with_indices_backward(
            ONES[None].to(x.device), ONES[None].to(x.device), [1, 1], [1, 1], [0, 0], [1, 1], False, x[None].int()
        ),
        "max_pool_backward: argument 'indices' is of type Int; expected Long",
    ),
}


@pytest.mark.parametrize("name", OTHER_TYPES)
def test_an_argument_of_another_type_is_named(device: str, name: str) -> None:
    function, said = OTHER_TYPES[name]
    with pytest.raises(RuntimeError, match=r"expected scalar type|mixed dtype"):
        function(ONES.double())
    with pytest.raises(RuntimeError, match=f"^{said}$"):
        function(ONES.double().to(device))


def test_parameters_of_halves_may_be_float(device: str) -> None:
    x = ONES.bfloat16() * torch.arange(8)
    for normalise in (
        lambda x, w: F.group_norm(x, 2, w, w),
        lambda x, w: F.layer_norm(x, (8,), w, w),
        lambda x, w: F.batch_norm(x, None, None, w, w, training=True),
    ):
        wide = normalise(x, ONES[0])
        assert wide.dtype == torch.bfloat16
        assert normalise(x.to(device), ONES[0].to(device)).cpu().tolist() == wide.tolist()


def test_a_convolution_refuses_two_devices(device: str, other_device: str) -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        F.conv2d(made(1, 2, 5, 5).to(device), made(2, 2, 3, 3).to(other_device))


# ------------------------------------------------- pooling, normalisation, others


def classes_of(images: torch.Tensor, count: int) -> torch.Tensor:
    """A class for each pixel; some count for nothing."""
    shape = (images.size(0), *images.shape[2:])
    found = torch.randint(0, count, shape, generator=torch.Generator().manual_seed(5))
    return found.masked_fill_(found == 3, -100).to(images.device)


FUNCTIONS: dict[str, tuple[Callable[..., torch.Tensor], tuple[tuple[int, ...], ...]]] = {
    "max_pool1d": (lambda x: F.max_pool1d(x, 3, 2), ((2, 4, 31),)),
    "max_pool2d": (lambda x: F.max_pool2d(x, 3, stride=2, padding=1, ceil_mode=True), ((3, 5, 14, 11),)),
    "max_pool2d with dilation": (lambda x: F.max_pool2d(x, 2, stride=1, dilation=(2, 3)), ((3, 5, 14, 11),)),
    "max_pool2d without a batch": (lambda x: F.max_pool2d(x, 2), ((5, 14, 11),)),
    "max_pool3d": (lambda x: F.max_pool3d(x, 2, padding=1), ((2, 3, 5, 6, 7),)),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 2), ((2, 4, 31),)),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, padding=1, ceil_mode=True), ((3, 5, 14, 11),)),
    "avg_pool2d that does not count the padding": (
        lambda x: F.avg_pool2d(x, (2, 3), 2, padding=1, count_include_pad=False),
        ((3, 5, 14, 11),),
    ),
    "avg_pool2d with a divisor": (lambda x: F.avg_pool2d(x, 2, divisor_override=3), ((3, 5, 14, 11),)),
    "avg_pool3d": (lambda x: F.avg_pool3d(x, 2, 1, padding=1), ((2, 3, 5, 6, 7),)),
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 5), ((2, 4, 31),)),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (5, 3)), ((3, 5, 14, 11),)),
    "adaptive_avg_pool2d to one": (lambda x: F.adaptive_avg_pool2d(x, 1), ((3, 5, 14, 11),)),
    "adaptive_avg_pool3d": (lambda x: F.adaptive_avg_pool3d(x, (3, 4, 9)), ((2, 3, 5, 6, 7),)),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 5), ((2, 4, 31),)),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (5, 3)), ((3, 5, 14, 11),)),
    "adaptive_max_pool3d": (lambda x: F.adaptive_max_pool3d(x, (3, 4, 5)), ((2, 3, 5, 6, 7),)),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (37,), w, b), ((6, 5, 37), (37,), (37,))),
    "layer_norm of many rows": (lambda x, w, b: F.layer_norm(x, (9,), w, b), ((3000, 9), (9,), (9,))),
    "layer_norm of two dimensions": (lambda x: F.layer_norm(x, (5, 300)), ((6, 5, 300),)),
    "group_norm": (lambda x, w, b: F.group_norm(x, 3, w, b), ((4, 6, 7, 5), (6,), (6,))),
    "group_norm without parameters": (lambda x: F.group_norm(x, 2), ((4, 6, 7),)),
    "instance_norm": (lambda x: F.instance_norm(x), ((4, 6, 7, 5),)),
    "embedding": (lambda w: F.embedding(torch.tensor([[1, 5], [5, 0]], device=w.device), w), ((7, 30),)),
    "attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v),
        ((2, 3, 9, 8), (2, 3, 11, 8), (2, 3, 11, 8)),
    ),
    "causal attention": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        ((2, 3, 9, 8), (2, 3, 9, 8), (2, 3, 9, 8)),
    ),
    "attention with a mask": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m),
        ((2, 3, 9, 8), (2, 3, 11, 8), (2, 3, 11, 8), (9, 11)),
    ),
    "attention with shared keys": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
        ((2, 6, 9, 8), (2, 3, 11, 8), (2, 3, 11, 8)),
    ),
    "mv": (lambda a, x: a @ x, ((7, 5), (5,))),
    "dot": (lambda x, y: x @ y, ((500,), (500,))),
    "einsum": (lambda x, y: torch.einsum("bij,bkj->bik", x, y), ((3, 4, 5), (3, 6, 5))),
    "unfold": (lambda x: F.unfold(x, (3, 2), 2, 1, 2), ((2, 3, 9, 8),)),
    "fold": (lambda x: F.fold(x, (7, 8), (3, 2), 1, 1, 2), ((2, 18, 20),)),
    "reflection_pad1d": (lambda x: F.pad(x, (4, 3), "reflect"), ((2, 3, 6),)),
    "reflection_pad2d": (lambda x: F.pad(x, (4, 3, 0, 2), "reflect"), ((2, 3, 5, 6),)),
    "reflection_pad3d": (lambda x: F.pad(x, (1, 3, 0, 2, 1, 1), "reflect"), ((2, 3, 4, 5, 6),)),
    "replication_pad1d": (lambda x: F.pad(x, (4, 13), "replicate"), ((2, 3, 6),)),
    "replication_pad2d": (lambda x: F.pad(x, (4, -2, 0, 9), "replicate"), ((2, 3, 5, 6),)),
    "replication_pad3d": (lambda x: F.pad(x, (1, 3, 0, 2, 1, 1), "replicate"), ((2, 3, 4, 5, 6),)),
    "constant_pad": (lambda x: F.pad(x, (1, -2, 3, 0), value=2.5), ((2, 3, 5, 6),)),
    "nearest": (lambda x: F.interpolate(x, (7, 11)), ((2, 3, 5, 6),)),
    "nearest-exact": (lambda x: F.interpolate(x, (7, 11), mode="nearest-exact"), ((2, 3, 5, 6),)),
    "linear": (lambda x: F.interpolate(x, scale_factor=1.7, mode="linear"), ((2, 3, 6),)),
    "bilinear": (lambda x: F.interpolate(x, (7, 11), mode="bilinear"), ((2, 3, 5, 6),)),
    "bilinear, corners aligned": (
        lambda x: F.interpolate(x, (7, 3), mode="bilinear", align_corners=True),
        ((2, 3, 5, 6),),
    ),
    "bilinear, rows alone": (lambda x: F.interpolate(x, (7, 6), mode="bilinear"), ((2, 3, 5, 6),)),
    "nearest, depth alone": (lambda x: F.interpolate(x, (9, 5, 6)), ((2, 3, 4, 5, 6),)),
    "nearest, the same size": (lambda x: F.interpolate(x, (5, 6)), ((2, 3, 5, 6),)),
    "trilinear, a single column": (lambda x: F.interpolate(x, (7, 3, 1), mode="trilinear"), ((2, 3, 5, 6, 1),)),
    "trilinear": (lambda x: F.interpolate(x, (7, 3, 9), mode="trilinear"), ((2, 3, 5, 6, 7),)),
    "bicubic": (lambda x: F.interpolate(x, (7, 4), mode="bicubic"), ((2, 3, 5, 6),)),
    "bilinear, antialiased": (lambda x: F.interpolate(x, (3, 4), mode="bilinear", antialias=True), ((2, 3, 9, 8),)),
    "bicubic, antialiased and larger": (
        lambda x: F.interpolate(x, (19, 12), mode="bicubic", antialias=True),
        ((2, 3, 9, 8),),
    ),
    "lanczos": (lambda x: torch._C._nn._upsample_lanczos2d_aa(x, [3, 19], False), ((2, 3, 9, 8),)),
    "bicubic, antialiased": (lambda x: F.interpolate(x, (3, 4), mode="bicubic", antialias=True), ((2, 3, 9, 8),)),
    "grid_sample": (lambda x, g: F.grid_sample(x, g, align_corners=False), ((2, 3, 5, 6), (2, 4, 7, 2))),
    "grid_sample, reflected": (
        lambda x, g: F.grid_sample(x, g, padding_mode="reflection", align_corners=True),
        ((2, 3, 5, 6), (2, 4, 7, 2)),
    ),
    "grid_sample, cubic": (
        lambda x, g: F.grid_sample(x, g, mode="bicubic", padding_mode="border", align_corners=False),
        ((2, 3, 5, 6), (2, 4, 7, 2)),
    ),
    "grid_sample of volumes": (
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        ((2, 3, 5, 6, 4), (2, 4, 7, 2, 3)),
    ),
    "grid_sample of many positions": (
        lambda x, g: F.grid_sample(x, g, align_corners=False),
        ((2, 3, 15, 16), (2, 40, 37, 2)),
    ),
    "nll_loss of images": (lambda x: F.nll_loss(x, classes_of(x, 5), reduction="sum"), ((3, 5, 70, 71),)),
    "nll_loss of each pixel": (lambda x: F.nll_loss(x, classes_of(x, 5), reduction="none"), ((3, 5, 4, 7),)),
    "nll_loss of a part of images": (
        lambda x: F.nll_loss(x[:, :, 1::2, 3:], classes_of(x, 5)[:, 1::2, 3:], torch.linspace(1, 2, 5).to(x)),
        ((3, 5, 70, 71),),
    ),
    "multi_margin_loss": (
        lambda x: F.multi_margin_loss(x, torch.arange(7, device=x.device) * 99, p=2, margin=0.5),
        ((7, 700),),
    ),
    "multilabel_margin_loss": (
        lambda x: F.multilabel_margin_loss(x, torch.tensor([[3, 0, -1, 1, 1], [-1, 2, 2, 2, 2]], device=x.device)),
        ((2, 5),),
    ),
    "embedding_bag with weights": (
        lambda w, f: F.embedding_bag(
            torch.arange(9, device=w.device) % 7,
            w,
            torch.tensor([0, 2, 2], device=w.device),
            mode="sum",
            per_sample_weights=f,
            padding_idx=1,
        ),
        ((7, 70), (9,)),
    ),
    "smooth_l1_loss": (lambda x, y: F.smooth_l1_loss(x, y), ((7, 5), (7, 5))),
    "huber_loss": (lambda x, y: F.huber_loss(x, y, reduction="sum", delta=0.5), ((7, 5), (7, 5))),
    "weight_norm": (lambda v, g: torch._weight_norm(v, g, 0), ((7, 5, 3), (7, 1, 1))),
    "weight_norm of columns": (lambda v, g: torch._weight_norm(v, g, 2), ((7, 5, 3), (1, 1, 3))),
    "binary_cross_entropy": (lambda x, y: F.binary_cross_entropy(x.sigmoid(), y.detach().sigmoid()), ((7, 5), (7, 5))),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_result_and_gradients_equal_the_cpus(device: str, name: str) -> None:
    function, shapes = FUNCTIONS[name]
    equal(function, *(made(*shape, seed=10 + i) for i, shape in enumerate(shapes)), device=device)


def test_the_largest_element_is_the_first_of_equal_ones_or_not_a_number(device: str) -> None:
    x = torch.zeros(1, 1, 4, 4)
    x[0, 0, 1, 3] = float("nan")
    values, indices = F.max_pool2d(x.to(device), 2, return_indices=True)
    assert indices.cpu().flatten().tolist() == [0, 7, 8, 10]
    assert values.cpu().isnan().flatten().tolist() == [False, True, False, False]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "layer_norm", "group_norm", "attention", "bilinear"])
def test_other_types_are_as_exact_as_these(device: str, name: str, dtype: torch.dtype) -> None:
    function, shapes = FUNCTIONS[name]
    limit = {torch.float64: 1e-10, torch.float16: 2e-2, torch.bfloat16: 1e-1}[dtype]
    inputs = [made(*shape, seed=10 + i).to(dtype) for i, shape in enumerate(shapes)]
    equal(function, *inputs, device=device, rtol=limit, atol=limit)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(16, 5), (8, 5, 9), (4, 5, 7, 6), (3, 5, 4, 3, 2)], ids=str)
def test_batch_norm_and_its_running_values_equal_the_cpus(device: str, shape: tuple[int, ...], training: bool) -> None:
    kind = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}[len(shape)]
    cpu = kind(5).train(training)
    nn.init.normal_(cpu.weight)
    here = copy.deepcopy(cpu).to(device)
    for seed in range(3):
        x = made(*shape, seed=seed) + 3
        results = []
        for layer, place in ((cpu, "cpu"), (here, device)):
            own = x.detach().to(place).requires_grad_()
            layer.zero_grad()
            layer(own).square().sum().backward()
            results.append([own.grad.cpu(), *(p.grad.cpu() for p in layer.parameters())])
        torch.testing.assert_close(results[1], results[0], rtol=1e-3, atol=1e-3)
    torch.testing.assert_close({k: v.cpu() for k, v in here.state_dict().items()}, dict(cpu.state_dict()))


def test_the_gradient_of_an_embedding_adds_up_what_comes_twice_and_leaves_out_the_padding(device: str) -> None:
    indices = torch.randint(0, 50, (40, 30), generator=torch.Generator().manual_seed(5))
    results = []
    for place in ("cpu", device):
        weight = made(50, 300).to(place).requires_grad_()
        y = F.embedding(indices.to(place), weight, padding_idx=7, scale_grad_by_freq=True)
        y.backward(made(*y.shape, seed=6).to(place))
        results.append(weight.grad.cpu())
    torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-5)
    assert results[1][7].eq(0).all()


# --------------------------------------------------------------------- training


def cnn() -> nn.Module:
    """A small convolutional network with what such networks have."""
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(8, 16, 3, groups=2), nn.GroupNorm(4, 16), nn.SiLU(), nn.AvgPool2d(2)),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10)),
    )


class Transformer(nn.Module):
    """A small language model."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(50, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 50)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=tokens.device)
        return self.head(self.layers(self.embedding(tokens), mask=mask, is_causal=True)).transpose(1, 2)


@pytest.mark.parametrize("kind", [cnn, Transformer])
def test_a_network_trains_as_on_the_cpu_and_without_it(device: str, kind: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    cpu = kind()
    here = copy.deepcopy(cpu).to(device)
    generator = torch.Generator().manual_seed(1)
    if kind is cnn:
        x, y = made(8, 3, 20, 20), torch.randint(0, 10, (8,), generator=generator)
    else:
        x = torch.randint(0, 50, (4, 12), generator=generator)
        y = x.roll(-1, 1)
    losses = []
    for model, place in ((cpu, "cpu"), (here, device)):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, eps=1e-4)
        scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
        losses.append([])
        for _ in range(6):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x.to(place)), y.to(place))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            losses[-1].append(loss.item())
    assert losses[0][-1] < 0.9 * losses[0][0]
    assert losses[1] == pytest.approx(losses[0], rel=1e-2)


@pytest.mark.parametrize("layout", ["contiguous", "channels_last", "permuted", "every other"])
def test_channels_are_shuffled_in_any_layout(device: str, layout: str) -> None:
    x = torch.arange(64.0).view(2, 4, 4, 2)
    x = {
        "contiguous": x,
        "channels_last": x.to(memory_format=torch.channels_last),
        "permuted": x.permute(3, 2, 1, 0),
        "every other": x[:, :, ::2],
    }[layout]
    expected, actual = F.channel_shuffle(x, 2), F.channel_shuffle(x.to(device), 2)
    assert torch.equal(actual.cpu(), expected)
    assert actual.stride() == expected.stride()
