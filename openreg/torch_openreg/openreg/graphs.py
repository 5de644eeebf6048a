"""Graphs: work that is captured once and launched again as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from torch_openreg import _C
from torch_openreg._name import NAME

from .device import device as on_device
from .stream import Stream, current_stream, stream

__all__ = [
    "graph_pool_handle",
    "is_current_stream_capturing",
    "make_graphed_callables",
]


def graph_pool_handle() -> tuple[int, int]:
    """Names a memory pool for graphs that are to share one: ``Graph(pool=handle)``. Makes no pool.

    Graphs that share a pool use the same memory for what only one of them needs at a time. So they must be replayed in
    the order in which they were captured, one after the other, and what one returns is overwritten by the next replay
    of another.
    """
    return _C._graph_pool_handle()


def is_current_stream_capturing() -> bool:
    """Whether work on the calling thread's current stream is recorded, and not executed."""
    return current_stream().is_capturing()


class _Graphed:
    """One callable as two graphs: what it computes, and the gradients of that."""

    def __init__(self, call: Callable[..., Any], sample_args: Sequence[Any], allow_unused_input: bool) -> None:
        self.call = call
        self.sample_args = tuple(sample_args)
        self.arguments, self.arguments_spec = pytree.tree_flatten(self.sample_args)
        for number, it in enumerate(self.arguments):
            if not isinstance(it, torch.Tensor) or it.device.type != NAME:
                raise TypeError(
                    f"make_graphed_callables: argument 'sample_args' has, as number {number}, "
                    f"{f'a tensor on {it.device}' if isinstance(it, torch.Tensor) else repr(it)}; "
                    "expected tensors on the device"
                )
        parameters = call.parameters() if isinstance(call, torch.nn.Module) else ()
        self.inputs = (*self.arguments, *parameters)
        self.differentiable = [it for it in self.inputs if it.requires_grad]
        self.allow_unused_input = allow_unused_input
        self.device = _C._current_device()
        self.forward, self.backward = None, None

    def gradients(self, outputs: Sequence[torch.Tensor], given: Sequence[torch.Tensor]) -> Sequence[Any]:
        """The gradients of the inputs that want one."""
        return torch.autograd.grad(outputs, self.differentiable, given, allow_unused=self.allow_unused_input)

    def warm_up(self) -> None:
        """Does all of it once, so that what is only done the first time is not captured."""
        outputs = [it for it in pytree.tree_leaves(self.call(*self.sample_args)) if it.requires_grad]
        if outputs and self.differentiable:
            self.gradients(outputs, [torch.empty_like(it) for it in outputs])

    def capture_forward(self, pool: tuple[int, int]) -> None:
        """Captures the call. Its outputs stay where they are, and so does what autograd has kept for the gradients."""
        self.forward = torch.accelerator.Graph(pool=pool)
        with self.forward:
            outputs = self.call(*self.sample_args)
        self.outputs, self.outputs_spec = pytree.tree_flatten(outputs)

    def capture_backward(self, pool: tuple[int, int]) -> None:
        """Captures the gradients of the inputs, for any gradients of the outputs."""
        self.given = [torch.empty_like(it) if it.requires_grad else None for it in self.outputs]
        self.wanted = [None] * len(self.inputs)
        outputs = [it for it in self.outputs if it.requires_grad]
        if not outputs or not self.differentiable:
            return
        self.backward = torch.accelerator.Graph(pool=pool)
        with self.backward:
            made = self.gradients(outputs, [it for it in self.given if it is not None])
        gradients = iter(made)
        self.wanted = [next(gradients) if it.requires_grad else None for it in self.inputs]
        self.outputs = [it.detach() for it in self.outputs]  # autograd's graph has done its work

    def __call__(self, *arguments: Any) -> Any:
        """As the callable, with tensors of the sizes and types of the samples."""
        flat, spec = pytree.tree_flatten(arguments)
        if spec != self.arguments_spec:
            raise TypeError(
                f"make_graphed_callables: the call has arguments of the form {spec}; expected {self.arguments_spec}, "
                "that of 'sample_args'"
            )
        return pytree.tree_unflatten(_Replay.apply(self, *flat, *self.inputs[len(flat) :]), self.outputs_spec)


class _Replay(torch.autograd.Function):
    """Replays the graphs of a callable, forward and backward."""

    @staticmethod
    def forward(ctx: Any, graphed: _Graphed, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Brings the arguments to where the graph reads them, and launches it."""
        ctx.graphed = graphed
        with on_device(graphed.device):
            for static, given in zip(graphed.arguments, inputs, strict=False):
                _put(static, given, "argument")
            graphed.forward.replay()
        return tuple(it.detach() for it in graphed.outputs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """The same for the gradients."""
        graphed = ctx.graphed
        with on_device(graphed.device):
            for static, given in zip(graphed.given, gradients, strict=True):
                if static is not None:
                    _put(static, given, "gradient")
            graphed.backward.replay()
        return None, *(it if it is None else it.detach() for it in graphed.wanted)


def _put(static: torch.Tensor, given: torch.Tensor, what: str) -> None:
    """Copies a tensor to where a graph reads it, unless it is there."""
    if static.shape != given.shape or static.dtype != given.dtype:
        raise ValueError(
            f"make_graphed_callables: the call has an {what} of shape {tuple(given.shape)} and {given.dtype}; expected "
            f"{tuple(static.shape)} and {static.dtype}, those of the capture"
        )
    if static.data_ptr() != given.data_ptr():
        with torch.no_grad():
            static.copy_(given)


def _check_module(module: torch.nn.Module) -> None:
    """Hooks run Python, which no graph repeats."""
    if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or module._backward_pre_hooks:
        raise RuntimeError(
            "make_graphed_callables: argument 'callables' has a module with hooks; expected them to be added afterwards"
        )
    if any(buffer.requires_grad for buffer in module.buffers()):
        raise RuntimeError(
            "make_graphed_callables: argument 'callables' has a module with a buffer that requires a gradient; "
            "expected a parameter"
        )


def _into_module(module: torch.nn.Module, graphed: _Graphed) -> torch.nn.Module:
    """Puts graphs in place of a module's forward, for the mode (training or not) in which they were captured."""
    training, eager = module.training, module.forward

    def forward(*arguments: Any) -> Any:
        return (graphed if module.training == training else eager)(*arguments)

    module.forward = forward
    return module


def make_graphed_callables(
    callables: Callable[..., Any] | tuple[Callable[..., Any], ...],
    sample_args: tuple[Any, ...],
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: tuple[int, int] | None = None,
) -> Any:
    """Captures functions or modules, and returns them with graphs in place of their operators. Autograd works.

    What they return, and the gradients, are overwritten by the next call.

    Args:
        callables: A function, a module, or a tuple of them that will be called in this order. Tensors in, tensors out.
            Of a module the forward is replaced, in the mode (training or not) that it is in.
        sample_args: A tuple of tensors on the device, for several callables a tuple of such tuples. Their sizes and
            types, and which of them require a gradient, hold for all calls.
        num_warmup_iters: How often to run each before it is captured.
        allow_unused_input: Whether an input may play no part in the outputs; its gradient is None.
        pool: Memory pool to share, see :func:`graph_pool_handle`; one of their own if None.

    Raises:
        RuntimeError: If something in a callable can't be captured, if a module has hooks, or under autocast with its
            cache of weights, which would end in the graph.
        TypeError: If a sample is not a tensor on the device.
        ValueError: If there are not as many tuples of samples as callables.
    """
    if torch.is_autocast_enabled(NAME) and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables: autocast is on, with a cache of weights that would end in the graph; expected "
            "torch.autocast(..., cache_enabled=False)"
        )
    several = isinstance(callables, tuple)
    calls = callables if several else (callables,)
    samples = sample_args if several else (sample_args,)
    if len(calls) != len(samples):
        raise ValueError(
            f"make_graphed_callables: argument 'sample_args' has {len(samples)} tuples; expected {len(calls)}, one for "
            "each of 'callables'"
        )
    for call in calls:
        if isinstance(call, torch.nn.Module):
            _check_module(call)
    pool = graph_pool_handle() if pool is None else pool
    parts = [_Graphed(call, args, allow_unused_input) for call, args in zip(calls, samples, strict=True)]
    before, side = current_stream(), Stream()
    side.wait_stream(before)
    with stream(side):
        for part in parts:
            for _ in range(num_warmup_iters):
                part.warm_up()
        # They share a pool, so the order is that of the calls.
        for part in parts:
            part.capture_forward(pool)
        for part in reversed(parts):
            part.capture_backward(pool)
    before.wait_stream(side)
    made = tuple(_into_module(part.call, part) if isinstance(part.call, torch.nn.Module) else part for part in parts)
    return made if several else made[0]
