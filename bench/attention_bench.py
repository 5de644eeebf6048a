"""Figures of attention: the kernel beside PyTorch's math path on the device, and the CPU."""

import torch
from measure import DEVICE, in_turns, report
from torch.nn.attention import SDPBackend, sdpa_kernel

LENGTH, HEADS, WIDTH = 1024, 8, 64
LEAST = 1.5  # times as fast as the math path

Body = object


def forward(tensors: list[torch.Tensor], backend: SDPBackend, causal: bool) -> Body:
    """A function that computes attention."""

    def body() -> None:
        with torch.no_grad(), sdpa_kernel(backend):
            torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)

    return body


def training(tensors: list[torch.Tensor], backend: SDPBackend, causal: bool) -> Body:
    """The same with all gradients."""
    own = [x.detach().requires_grad_() for x in tensors]

    def body() -> None:
        with sdpa_kernel(backend):
            torch.nn.functional.scaled_dot_product_attention(*own, is_causal=causal).backward(tensors[0])

    return body


def attention() -> None:
    """Forward alone, and with its gradients; all pairs, and causal."""
    here = [torch.randn(1, HEADS, LENGTH, WIDTH, device=DEVICE) for _ in range(3)]
    there = [x.cpu() for x in here]
    for what, make in (("attention", forward), ("attention and its gradients", training)):
        for kind, causal in (("all pairs", False), ("causal", True)):
            kernel, math, cpu = in_turns(
                [
                    make(here, SDPBackend.OVERRIDEABLE, causal),
                    make(here, SDPBackend.MATH, causal),
                    make(there, SDPBackend.FLASH_ATTENTION, causal),
                ],
                calls=1,
                rounds=7,
            )
            report(f"{what}, {LENGTH} positions, {kind}", kernel * 1e3, "ms", cpu=cpu * 1e3)
            # Of all pairs, the products alone take two thirds of the math path's time, and the kernel has them, too.
            # With the gradients it has one more, for the scores are computed again.
            report(f"{what}, {kind}: as fast as the math path, times", math / kernel, "", least=LEAST)


if __name__ == "__main__":
    attention()
