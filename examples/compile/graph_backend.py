"""A compiler of your own in a few lines: Dynamo hands you the graph, and you return what runs it."""

from collections.abc import Callable, Sequence

import torch
import torch_openreg  # noqa: F401
from torch import fx, nn
from torch._decomp import core_aten_decompositions
from torch._dynamo.backends.common import aot_autograd
from torch._functorch.aot_autograd import make_boxed_func


def compile_graph(graph: fx.GraphModule, examples: Sequence[torch.Tensor]) -> Callable[..., list[torch.Tensor]]:
    """Stands for your compiler. It lists the graph, and lets the device's own operators run it.

    Args:
        graph: Operators in the order in which they run, each with the nodes whose results it reads.
        examples: Tensors without data: the sizes, strides, types and devices of what the graph will be given.

    Returns:
        A function of the graph's inputs.
    """
    print(f"a graph of {len(examples)} inputs:")
    for node in graph.graph.nodes:
        if node.op == "call_function":
            result = node.meta["val"]
            print(f"  {node.name} = {node.target}({', '.join(map(str, node.args))}): {list(result.shape)}")
    return make_boxed_func(graph.forward)


torch.manual_seed(0)
backend = aot_autograd(fw_compiler=compile_graph, decompositions=core_aten_decompositions())
layer = nn.Linear(4, 3).to("openreg")
x = torch.randn(2, 4, device="openreg")

torch._dynamo.reset()
loss = torch.compile(lambda x: torch.nn.functional.silu(layer(x)).sum(), backend=backend)(x)
loss.backward()
print("as eager code:", torch.allclose(loss, torch.nn.functional.silu(layer(x)).sum()))
