"""Operators of your own in a compiled function: as one node, as its parts, in place of the parts, and as a loop."""

import os
from collections.abc import Callable

import torch
import torch_openreg  # noqa: F401
from torch._inductor import config, decomposition, ir, lowering
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch._inductor.pattern_matcher import PatternMatcherPass, fwd_only, register_replacement
from torch.profiler import DeviceType, ProfilerActivity, profile

os.environ["KINETO_LOG_LEVEL"] = "6"  # else PyTorch logs that a recording starts and ends
rms_norm = torch.ops.openreg.rms_norm_forward.default


def parts(x: torch.Tensor, weight: torch.Tensor, eps: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The same in operators of PyTorch's."""
    factor = (x.square().mean(-1, keepdim=True) + eps).rsqrt()
    return x * factor * weight, factor


def as_written(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The first result of it, as it stands in many models."""
    return parts(x, weight, 1e-6)[0]


def with_ours(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """What the pass puts in its place."""
    return rms_norm(x, weight, 1e-6)[0]


def kernels(title: str, function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> None:
    """Prints what the device runs for a compiled function."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, weight: torch.relu(function(x * 2, weight)))
    x, weight = torch.ones(8, 64, device="openreg"), torch.ones(64, device="openreg")
    compiled(x, weight)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as recording:
        compiled(x, weight)
    names = [it.name for it in recording.events() if it.device_type != DeviceType.CPU]
    print(f"{title}: {', '.join(names)}")


kernels("one node", torch.ops.openreg.rms_norm)


class PutOurs(CustomGraphPass):
    """Replaces the parts by the operator, in every graph."""

    def __init__(self) -> None:
        self.patterns = PatternMatcherPass()
        example = [torch.empty(8, 64, device="openreg"), torch.empty(64, device="openreg")]
        register_replacement(as_written, with_ours, example, fwd_only, self.patterns)

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Changes a graph in place."""
        self.patterns.apply(graph)

    def uuid(self) -> object:
        """What the key of the cache has of it: without this, a graph from before a change would be found."""
        return get_hash_for_files((__file__,))


kernels("as written", as_written)
with config.patch(post_grad_custom_pre_pass=PutOurs()):
    kernels("as written, with the pass", as_written)

decomposition.register_decomposition([rms_norm])(parts)
decomposition.fast_random_decomps.cache_clear()  # the table was copied when something was first compiled
with torch.compiler.config.patch(cache_key_tag="its parts"):  # decompositions are not in the key of the cache
    kernels("its parts", torch.ops.openreg.rms_norm)


def magnitude(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """Another operator of this device, of one tensor."""
    return torch.ops.openreg.custom_abs(x)


kernels("another, one node", magnitude)


@lowering.register_lowering(torch.ops.openreg.custom_abs.default, type_promotion_kind=None)
def lower_magnitude(x: ir.TensorBox) -> ir.TensorBox:
    """What becomes of it in Inductor's loops: a value of the result, by its place."""
    load = x.make_loader()
    return ir.Pointwise.create(
        device=x.get_device(),
        dtype=x.get_dtype(),
        inner_fn=lambda place: lowering.ops.abs(load(place)),
        ranges=x.get_size(),
    )


with torch.compiler.config.patch(cache_key_tag="its lowering"):  # nor are lowerings in that key
    kernels("another, its lowering", magnitude)
