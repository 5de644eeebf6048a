"""All of it at once: a transformer trained compiled, in bfloat16, by several processes; answers by a replayed graph.

    torchrun --nproc-per-node 2 train.py [TRACE]

It learns to repeat: each sequence is eight symbols, twice. The first rank writes a trace of its last steps to TRACE.
"""

import os
import sys
from collections.abc import Iterator

import torch
import torch.distributed as dist
import torch_openreg  # noqa: F401
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import ProfilerActivity, profile

os.environ["KINETO_LOG_LEVEL"] = "6"  # else PyTorch logs that a recording starts and ends
SYMBOLS, PART, WIDTH, HEADS, STEPS = 16, 8, 64, 4, 60


# LITERALINCLUDE START: MODEL
class Block(nn.Module):
    """Attention and two linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.parts, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What goes to the next block."""
        parts = self.parts(self.norms[0](x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        attended = scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norms[1](x))


class Transformer(nn.Module):
    """Says the next symbol at each place."""

    def __init__(self) -> None:
        super().__init__()
        self.symbols, self.places = nn.Embedding(SYMBOLS, WIDTH), nn.Embedding(2 * PART, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.head = nn.Linear(WIDTH, SYMBOLS)
        for block in self.blocks:
            block.compile()  # each by itself, so that the last one's gradients are there before the first one's

    def forward(self, sequence: torch.Tensor) -> torch.Tensor:
        """A score for each symbol at each place."""
        x = self.symbols(sequence) + self.places.weight[: sequence.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(x)


# LITERALINCLUDE END: MODEL


def batches(seed: int, device: torch.device) -> Iterator[torch.Tensor]:
    """Sequences without end, others for each seed."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        part = torch.randint(SYMBOLS, (64, PART), generator=generator)
        yield torch.cat((part, part), 1).pin_memory().to(device, non_blocking=True)


def loss_of(model: nn.Module, sequence: torch.Tensor) -> torch.Tensor:
    """How surprising the repetition is."""
    with torch.autocast("openreg", dtype=torch.bfloat16):
        scores = model(sequence[:, :-1])
    return cross_entropy(scores[:, PART - 1 :].flatten(0, 1).float(), sequence[:, PART:].flatten())


# LITERALINCLUDE START: ANSWER
def answer(model: nn.Module, device: torch.device) -> float:
    """Replays what was captured once, and returns the share of symbols that are right."""
    sequence = next(batches(1000, device))
    graph = torch.accelerator.Graph()
    with torch.inference_mode(), torch.autocast("openreg", dtype=torch.bfloat16):
        model(sequence[:, :-1])  # what is compiled for this is compiled before the capture
        with graph:
            said = model(sequence[:, :-1]).argmax(-1)
        right = []
        for _, batch in zip(range(4), batches(1001, device), strict=False):
            sequence.copy_(batch)
            graph.replay()
            assert said.equal(model(batch[:, :-1]).argmax(-1))
            right.append((said == batch[:, 1:])[:, PART - 1 :].float().mean())
    return torch.stack(right).mean().item()


# LITERALINCLUDE END: ANSWER


# LITERALINCLUDE START: JOIN
def join() -> tuple[int, torch.device]:
    """Each rank takes its device, and joins the others."""
    rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("openreg", rank)
    torch.openreg.set_device(device)
    dist.init_process_group(device_id=device)
    return rank, device


# LITERALINCLUDE END: JOIN


# LITERALINCLUDE START: TRAIN
def main() -> None:
    """Trains, and lets the first rank answer."""
    rank, device = join()
    torch.manual_seed(0)
    model = Transformer().to(device)
    data = batches(rank, device)
    if rank > 0:
        dist.barrier()  # the first rank compiles, the others find it in the cache
    loss_of(model, next(data)).backward()
    if rank == 0:
        dist.barrier()

    replicated = DistributedDataParallel(model, bucket_cap_mb=0.1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    tell = print if rank == 0 else lambda *_: None
    tell(f"{dist.get_world_size()} ranks, {dist.get_backend()}, {torch.openreg.collective_transport()[0]}")
    recorder = profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1])
    for step in range(STEPS):
        if step == STEPS - 3:
            recorder.start()
        optimizer.zero_grad()
        loss = loss_of(replicated, next(data))
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            tell(f"step {step}: loss {loss.item():.1f}")
    torch.openreg.synchronize()
    recorder.stop()
    if rank == 0:
        if sys.argv[1:]:
            recorder.export_chrome_trace(sys.argv[1])
        print(f"right after training: {answer(model, device):.0%}; left to the CPU: {torch.openreg.fallbacks()}")
    dist.destroy_process_group()


# LITERALINCLUDE END: TRAIN

if __name__ == "__main__":
    main()
