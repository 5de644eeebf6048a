"""The dispatch keys that calls really take, recorded while they run and drawn: python chain.py > chain.dot.

A spy in front of each kernel of an operator writes down its key and calls the kernel. Keys whose kernel is a
fallthrough have no spy: the dispatcher skips them, and a spy would make it stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch_openreg  # noqa: F401

KEYS = ["Conjugate", "Negative", "ADInplaceOrView", "AutogradPrivateUse1", "PrivateUse1", "CPU"]
Step = tuple[int, str, str]  # how deep, operator, key
seen: list[Step] = []
depth = 0


def spy(op: str, key: str) -> Callable[..., Any]:
    """What writes down a key, and calls the kernel that was there."""
    kernel = torch.library.get_kernel(op, key)

    def passing(keys: torch._C.DispatchKeySet, *args: Any, **kwargs: Any) -> Any:
        global depth
        seen.append((depth, op, key))
        depth += 1
        try:
            return kernel.call_boxed(keys, *args, **kwargs)
        finally:
            depth -= 1

    return passing


@contextmanager
def spies(*ops: str) -> Iterator[None]:
    """Spies in front of all kernels of some operators, for a while."""
    with torch.library._scoped_library("aten", "IMPL") as library:
        found = []
        for op in ops:
            table = dict(line.split(": ", 1) for line in torch._C._dispatch_dump_table(f"aten::{op}").splitlines())
            keys = [key for key in KEYS if key in table and "fallthrough" not in table[key]]
            found += [(op, key, spy(f"aten::{op}", key)) for key in keys]
        for op, key, passing in found:
            library.impl(op, passing, key, with_keyset=True)
        yield


def record(call: Callable[[], object], *ops: str) -> list[Step]:
    """The keys of one call."""
    seen.clear()
    with spies(*ops):
        call()
    return list(seen)


def drawing(chains: dict[str, list[Step]]) -> str:
    """The chains side by side, for Graphviz."""
    lines = ["digraph {", "  rankdir=TB; nodesep=0.15;", "  node [shape=box];"]
    for number, (title, steps) in enumerate(chains.items()):
        last = f"c{number}"
        lines.append(f'  {last} [label="{title}", class="python"];')
        for index, (_, op, key) in enumerate(steps):
            kind = "device" if key == "PrivateUse1" else "cpu" if key == "CPU" else "hot"
            lines.append(f'  c{number}_{index} [label="{key}\\n{op.removeprefix("aten::")}", class="{kind}"];')
            lines.append(f"  {last} -> c{number}_{index};")
            last = f"c{number}_{index}"
    return "\n".join([*lines, "}"])


def main() -> None:
    """Records some calls and prints the drawing."""
    x = torch.ones(2, device="openreg", requires_grad=True)
    z = torch.ones(2, dtype=torch.complex64).to("openreg").conj()
    log_sigmoid = ("log_sigmoid", "log_sigmoid_forward")
    chains = {
        "torch.sin(x)": record(lambda: torch.sin(x), "sin"),
        "x.detach().sin_()": record(lambda: x.detach().sin_(), "sin_"),
        "torch.sin(z.conj())": record(lambda: torch.sin(z), "sin"),
        "F.logsigmoid(x)": record(lambda: torch.nn.functional.logsigmoid(x), *log_sigmoid),
        "torch.linalg.eig(m)": record(lambda: torch.linalg.eig(torch.eye(2, device="openreg")), "linalg_eig"),
    }
    print(drawing(chains))


if __name__ == "__main__":
    main()
