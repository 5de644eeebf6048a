"""Which nodes of a graph become one kernel, and how each kernel stands in the Python that Inductor writes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch._inductor import config
from torch._inductor.codegen.common import BackendFeature
from torch._inductor.codegen.cpp import CppScheduling, OuterLoopFusedSchedulerNode
from torch._inductor.scheduler import BaseSchedulerNode, Scheduler
from torch._inductor.utils import Placeholder, get_fused_kernel_name
from torch._inductor.virtualized import V
from torch.utils._ordered_set import OrderedSet

from torch_openreg import _C
from torch_openreg._name import NAME

from .kernel import Kernel, Loops


# LITERALINCLUDE START: SCHEDULING
class Scheduling(CppScheduling):
    """Fuses as for a CPU. Each fused node is a kernel."""

    kernel_proxy_cls = Loops
    # Without REDUCE_TO_SINGLE_ELEMENT: a reduction to a few numbers becomes two, so that many threads can do the first.
    backend_features = OrderedSet([BackendFeature.INPLACE_BUFFERS])

    def __init__(self, scheduler: Scheduler | None) -> None:
        super().__init__(scheduler)
        if scheduler is not None:
            # These rewrite loops so that more can be fused. They leave a CPU's alone, and take all others for Triton's.
            scheduler.shared_data_after_inverting_indexing = lambda node1, node2: -1
            scheduler.shared_data_after_reordering_loop = lambda node1, node2: -1
            scheduler._try_reindex_pointwise_for_reduction = lambda node1, node2: False

    def reset_kernel_group(self) -> None:
        """Begins a kernel."""
        self.kernel_group = Kernel()

    def can_fuse_vertical(self, node1: BaseSchedulerNode, node2: BaseSchedulerNode) -> bool:
        """Whether one may be computed in the loops of the other, which it reads."""
        return _fit(node1, node2) and super().can_fuse_vertical(node1, node2)

    def can_fuse_horizontal(self, node1: BaseSchedulerNode, node2: BaseSchedulerNode) -> bool:
        """Whether one may be computed in the loops of the other, which it does not read."""
        return _fit(node1, node2) and super().can_fuse_horizontal(node1, node2)

    def can_fuse_vertical_outer_loop(self, node1: BaseSchedulerNode, node2: BaseSchedulerNode) -> bool:
        """Whether two nests of loops may share their outer loops.

        Not behind one that writes into a tensor: Inductor looks for its readers by the name it has afterwards, and they
        have the name from before (https://github.com/pytorch/pytorch/issues/188228).
        """
        writes = any(output.get_mutations() for output in node1.get_outputs())
        return not writes and super().can_fuse_vertical_outer_loop(node1, node2)

    def codegen_outer_loop_node(self, node: OuterLoopFusedSchedulerNode) -> None:
        """Writes loops that share their outer loops.

        What one of the inner loops leaves for the next, Inductor keeps in a buffer for one row. Outer loops whose steps
        are whole vectors have several rows at a time (https://github.com/pytorch/pytorch/issues/185702).
        """
        fits = node.check_outer_fusion_loop_level_attr

        def fits_one_row(kernels: list[Loops], depth: int) -> bool:
            steps = {loop.steps for kernel in kernels for loop in kernel.loop_nest.loops[:depth]}
            return fits(kernels, depth) and (steps == {1} or not V.local_buffer_context.local_buffers)

        node.check_outer_fusion_loop_level_attr = fits_one_row
        super().codegen_outer_loop_node(node)

    def codegen_node(self, node: BaseSchedulerNode) -> None:
        """Writes the loops of a fused node."""
        # The generator asks what backend the current device has. For names that it does not know that is Triton.
        with V.graph.set_current_device(torch.device("cpu")):
            super().codegen_node(node)
        self._set_flush_status(True)

    # LITERALINCLUDE END: SCHEDULING

    # LITERALINCLUDE START: DEFINE KERNEL
    def define_kernel(self, source: str, nodes: Sequence[BaseSchedulerNode], kernel_args: object = None) -> str:
        """Writes a kernel into the generated Python, once for the same source. Returns its name."""
        wrapper = V.graph.wrapper_code
        if source not in wrapper.src_to_kernel:
            fused = get_fused_kernel_name(nodes, config.cpp.descriptive_names)
            name = wrapper.src_to_kernel[source] = "_".join([NAME, fused, wrapper.next_kernel_suffix()])
            text = source.replace(str(Placeholder.DESCRIPTIVE_NAME), name)
            _, _, types = self.kernel_group.args.cpp_argdefs()
            wrapper.add_import_once(f"from {__package__}.module import compile_kernel")
            wrapper.define_kernel(name, f"compile_kernel(async_compile, {name!r}, {types!r}, r'''{text}''')", gpu=False)
        return wrapper.src_to_kernel[source]

    # LITERALINCLUDE END: DEFINE KERNEL


def _fit(*nodes: BaseSchedulerNode) -> bool:
    """Whether one launch has room for all tensors of these nodes."""
    tensors = {dependency.name for node in nodes for dependency in node.read_writes.reads_and_writes()}
    return len(tensors) <= _C.CompiledKernel.most_tensors
