"""Figures of optimizers: a step of AdamW as a loop over the parameters, as lists (foreach), and fused."""

import torch
from measure import DEVICE, in_turns, report

PARAMETERS = 200
SIDE = 64


def stepper(device: str | torch.device, **form: bool) -> object:
    """A function that makes a step of 200 parameters of 64 × 64."""
    own = [torch.randn(SIDE, SIDE, device=device, requires_grad=True) for _ in range(PARAMETERS)]
    for x in own:
        x.grad = torch.randn_like(x)
    return torch.optim.AdamW(own, lr=1e-3, **form).step


def optimizers() -> None:
    """All three forms here and on the CPU; the loop is what the others are compared with."""
    forms = {"loop": {"foreach": False, "fused": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
    here = [stepper(DEVICE, **form) for form in forms.values()]
    there = [stepper("cpu", **form) for form in forms.values()]
    taken = in_turns([*here, *there], calls=3)
    for name, ours, theirs in zip(forms, taken, taken[len(forms) :], strict=False):
        report(f"AdamW step of {PARAMETERS} parameters, {name}", ours * 1e3, "ms", cpu=theirs * 1e3)
    for name, ours in zip(forms, taken, strict=False):
        if name != "loop":
            most = 0.3 if name == "fused" else None
            report(f"AdamW step, {name} in loops", ours / taken[0], "", most=most)


if __name__ == "__main__":
    optimizers()
