"""Cases of test_distributed_training.py: networks that several ranks train, each against one process's."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoints
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import CPUOffloadPolicy, MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor import rand as distributed_rand
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, loss_parallel, parallelize_module
from torch.nn.functional import cross_entropy, mse_loss
from torch.nn.parallel import DistributedDataParallel as Replicated

from .distributed_rank import FOLDER, RANK, SIZE, close, device

warnings.simplefilter("ignore")
MINE = slice(8 * RANK, 8 * RANK + 8)
GENERATOR = torch.Generator().manual_seed(1)
ROWS, WANTED = torch.randn(8 * SIZE, 16, generator=GENERATOR), torch.randn(8 * SIZE, 4, generator=GENERATOR)


def network() -> nn.Sequential:
    """The same on every rank."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))


def train(model: nn.Module, optimizer: torch.optim.Optimizer, rows: torch.Tensor, wanted: torch.Tensor) -> list[float]:
    """Three steps; their losses."""
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = mse_loss(model(rows).float(), wanted)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def of_one_process(make: Callable[..., torch.optim.Optimizer], **options: Any) -> tuple[nn.Module, list[float]]:
    """The network that one process has trained on all rows; its parameters have the gradients of the last step."""
    model = network()
    return model, train(model, make(model.parameters(), **options), ROWS, WANTED)


def near(got: torch.Tensor, expected: torch.Tensor, rtol: float = 1e-4, atol: float = 1e-5) -> None:
    """To within the rounding of sums in another order."""
    got = got.full_tensor() if isinstance(got, DTensor) else got
    close(got, expected, rtol=rtol, atol=atol)


def same_network(model: nn.Module, expected: nn.Module, gradients: bool = True) -> None:
    """Parameters and gradients are one process's."""
    for mine, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        near(mine, theirs)
        if gradients:
            near(mine.grad, theirs.grad)


def same_losses(losses: list[float], expected: list[float], **bounds: float) -> None:
    """The mean over the ranks is one process's loss."""
    mean = torch.tensor(losses, device=device)
    dist.all_reduce(mean, dist.ReduceOp.AVG)
    near(mean, torch.tensor(expected), **bounds)


def replicated(**options: Any) -> None:
    """DDP with these options trains like one process."""
    model = Replicated(network().to(device), device_ids=[device], **options)
    losses = train(model, torch.optim.SGD(model.parameters(), lr=0.1), ROWS[MINE].to(device), WANTED[MINE].to(device))
    expected, expected_losses = of_one_process(torch.optim.SGD, lr=0.1)
    same_network(model, expected)
    same_losses(losses, expected_losses)


def case_ddp() -> None:
    replicated()


def case_ddp_with_several_buckets() -> None:
    replicated(bucket_cap_mb=0.005)


def case_ddp_with_gradients_in_buckets() -> None:
    replicated(gradient_as_bucket_view=True)


def case_ddp_of_a_static_graph() -> None:
    replicated(static_graph=True)


class _Branches(nn.Module):
    """One branch that only rank 0 uses, and one that nobody does."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.all, self.first, self.none = nn.Linear(16, 4), nn.Linear(16, 4), nn.Linear(16, 4)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        return self.all(rows) + (self.first(rows) if RANK == 0 else 0)


def case_ddp_with_unused_parameters() -> None:
    model = Replicated(_Branches().to(device), find_unused_parameters=True)
    for _ in range(3):
        model.zero_grad()
        model(ROWS[MINE].to(device)).sum().backward()
    expected = _Branches()
    expected.first(ROWS[:8]).sum().backward()
    near(model.module.first.weight.grad, expected.first.weight.grad / SIZE)
    unused = model.module.none.weight.grad
    assert unused is None or not unused.any().item()


def case_ddp_no_sync() -> None:
    model = Replicated(network().to(device))
    rows, wanted = ROWS[MINE].to(device).split(4), WANTED[MINE].to(device).split(4)
    with model.no_sync():
        (mse_loss(model(rows[0]), wanted[0]) / 2).backward()
    local = [it.grad.clone() for it in model.parameters()]
    (mse_loss(model(rows[1]), wanted[1]) / 2).backward()
    expected = network()
    mse_loss(expected(ROWS), WANTED).backward()
    for mine, theirs, before in zip(model.parameters(), expected.parameters(), local, strict=True):
        near(mine.grad, theirs.grad)
        assert not torch.allclose(before.cpu(), theirs.grad)


def case_ddp_with_a_hook_that_compresses() -> None:
    model = Replicated(network().to(device))
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)
    mse_loss(model(ROWS[MINE].to(device)), WANTED[MINE].to(device)).backward()
    expected = network()
    mse_loss(expected(ROWS), WANTED).backward()
    for mine, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        close(mine.grad, theirs.grad, rtol=2e-2, atol=2e-3)


def case_ddp_of_convolutions_and_norms() -> None:
    torch.manual_seed(0)
    model = Replicated(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).to(device))
    model(torch.randn(2, 3, 8, 8, device=device)).sum().backward()
    gradient = model.module[0].weight.grad
    every = [torch.empty_like(gradient) for _ in range(SIZE)]
    dist.all_gather(every, gradient)
    for it in every:
        near(it, every[0])


def case_ddp_reduces_while_backward_still_runs() -> None:
    works: list[dist.Work] = []
    seen: list[bool] = []

    def hook(_, bucket):
        works.append(dist.all_reduce(bucket.buffer(), async_op=True))
        return works[-1].get_future().then(lambda it: it.value()[0])

    def first_layer_is_reached(_: torch.Tensor) -> None:
        if works:  # backward goes on only when the first bucket is reduced
            works[0].wait(timedelta(seconds=20))
            seen.append(works[0].is_completed())

    model = Replicated(nn.Sequential(*[nn.Linear(64, 64) for _ in range(4)]).to(device), bucket_cap_mb=0.01)
    model.register_comm_hook(None, hook)
    model.module[0].weight.register_hook(first_layer_is_reached)
    for _ in range(3):  # the first pass finds the order of the buckets
        works.clear()
        model(torch.ones(2, 64, device=device)).sum().backward()
    assert seen and all(seen) and len(works) > 1


def case_ddp_join_with_uneven_inputs() -> None:
    model = Replicated(nn.Linear(4, 4).to(device))
    with model.join():
        for _ in range(2 + RANK):
            model(torch.ones(2, 4, device=device)).sum().backward()
    near(model.module.bias.grad * 0, torch.zeros(4))


def sharded(clip: bool = False, **options: Any) -> None:
    """FSDP2 with these options trains like one process."""
    mixed = "mp_policy" in options
    model = network().to(device)
    options["mesh"] = init_device_mesh("openreg", (SIZE,))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, **options)
    fully_shard(model, **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    expected = network()
    reference = torch.optim.SGD(expected.parameters(), lr=0.1)
    losses, expected_losses = [], []
    for _ in range(3):
        optimizer.zero_grad()
        loss = mse_loss(model(ROWS[MINE].to(device)).float(), WANTED[MINE].to(device))
        loss.backward()
        reference.zero_grad()
        expected_loss = mse_loss(expected(ROWS), WANTED)
        expected_loss.backward()
        losses.append(loss.item())
        expected_losses.append(expected_loss.item())
        if clip:
            norm = nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            near(norm, nn.utils.clip_grad_norm_(expected.parameters(), 0.1))
        optimizer.step()
        reference.step()
    bounds = {"rtol": 5e-2, "atol": 2e-2} if mixed else {"rtol": 1e-4, "atol": 1e-5}
    same_losses(losses, expected_losses, **bounds)
    for mine, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        close(mine.full_tensor(), theirs, **bounds)
        close(mine.grad.full_tensor(), theirs.grad, **bounds)


def case_fsdp() -> None:
    sharded()


def case_fsdp_that_keeps_parameters() -> None:
    sharded(reshard_after_forward=False)


def case_fsdp_with_mixed_precision() -> None:
    sharded(mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))


def case_fsdp_with_clipped_gradients() -> None:
    sharded(clip=True)


def case_fsdp_with_parameters_on_the_cpu() -> None:
    model = network().to(device)
    fully_shard(model, mesh=init_device_mesh("openreg", (SIZE,)), offload_policy=CPUOffloadPolicy())
    mse_loss(model(ROWS[MINE].to(device)), WANTED[MINE].to(device)).backward()
    expected = network()
    mse_loss(expected(ROWS), WANTED).backward()
    for mine, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        assert mine.grad.device.type == "cpu"
        part = mine.grad.to_local().to(device)
        near(DTensor.from_local(part, mine.grad.device_mesh, mine.grad.placements), theirs.grad)


def case_fsdp_full_and_sharded_state() -> None:
    model = network().to(device)
    fully_shard(model, mesh=init_device_mesh("openreg", (SIZE,)))
    state = model.state_dict()
    assert all(isinstance(it, DTensor) for it in state.values())
    full = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
    if RANK == 0:
        for name, it in network().state_dict().items():
            near(full[name], it)
        full = {name: it + 1 for name, it in full.items()}
    options = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)
    set_model_state_dict(model, full, options=options)
    for name, it in network().state_dict().items():
        near(model.state_dict()[name], it + 1)


def case_fsdp_from_meta() -> None:
    with torch.device("meta"):
        model = network()
    fully_shard(model, mesh=init_device_mesh("openreg", (SIZE,)))
    model.to_empty(device=device)
    for it in model.parameters():
        nn.init.ones_(it)
    model(ROWS[MINE].to(device)).sum().backward()
    expected = network()
    for it in expected.parameters():
        nn.init.ones_(it)
    (expected(ROWS).sum() / SIZE).backward()
    for mine, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        close(mine.grad.full_tensor(), theirs.grad, rtol=1e-4, atol=1e-3)


def case_mesh_of_two_dimensions() -> None:
    if SIZE != 4:
        return
    mesh = init_device_mesh("openreg", (2, 2), mesh_dim_names=("replicas", "shards"))
    model = network().to(device)
    fully_shard(model, mesh=mesh)
    mse_loss(model(ROWS[MINE].to(device)), WANTED[MINE].to(device)).backward()
    expected = network()
    mse_loss(expected(ROWS), WANTED).backward()
    for mine, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        near(mine.grad, theirs.grad)
    x = torch.randn(4, 6, generator=torch.Generator().manual_seed(3))
    placed = distribute_tensor(x.to(device), mesh, [Shard(0), Shard(1)])
    assert placed.to_local().shape == (2, 3)
    near(placed, x)


def case_dtensor() -> None:
    mesh = init_device_mesh("openreg", (SIZE,))
    generator = torch.Generator().manual_seed(3)
    a, b = torch.randn(5, 6, generator=generator), torch.randn(6, 4, generator=generator)
    placed = distribute_tensor(a.to(device), mesh, [Shard(0)])
    near(placed, a)
    near(placed.redistribute(mesh, [Shard(1)]), a)
    close(placed.redistribute(mesh, [Replicate()]).to_local(), a)
    product = distribute_tensor(a.to(device), mesh, [Shard(1)]) @ distribute_tensor(b.to(device), mesh, [Shard(0)])
    assert product.placements[0].is_partial()
    near(product, a @ b)
    near(product.redistribute(mesh, [Shard(0)]), a @ b)
    torch.manual_seed(5)
    drawn = distributed_rand(2 * SIZE, 4, device_mesh=mesh, placements=[Shard(0)]).full_tensor().cpu()
    assert not torch.equal(drawn[:2], drawn[2:4])


def case_tensor_parallel() -> None:
    torch.manual_seed(0)
    expected = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))
    model = copy.deepcopy(expected).to(device)
    mesh = init_device_mesh("openreg", (SIZE,))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    result = model(ROWS.to(device))
    near(result, expected(ROWS))
    result.sum().backward()
    expected(ROWS).sum().backward()
    same_network(model, expected)


def case_loss_parallel() -> None:
    torch.manual_seed(0)
    expected = nn.Linear(8, 6 * SIZE)
    model = copy.deepcopy(expected).to(device)
    plan = ColwiseParallel(output_layouts=Shard(-1), use_local_output=False)
    parallelize_module(model, init_device_mesh("openreg", (SIZE,)), plan)
    classes = torch.tensor([0, 1, 2, 3])
    with loss_parallel():
        cross_entropy(model(torch.ones(4, 8, device=device)), classes.to(device)).backward()
    cross_entropy(expected(torch.ones(4, 8)), classes).backward()
    same_network(model, expected)


def case_pipeline() -> None:
    if SIZE != 2:
        return
    generator = torch.Generator().manual_seed(2)
    rows, wanted = torch.randn(16, 8, generator=generator), torch.randn(16, 4, generator=generator)
    for schedule in (ScheduleGPipe, Schedule1F1B):
        torch.manual_seed(0)
        expected = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 4))
        part = copy.deepcopy(expected[:2] if RANK == 0 else expected[2:]).to(device)
        expected_losses = train(expected, torch.optim.SGD(expected.parameters(), lr=0.1), rows, wanted)
        steps = schedule(PipelineStage(part, RANK, SIZE, device), 4, loss_fn=mse_loss)
        optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
        losses = []
        for _ in expected_losses:
            optimizer.zero_grad()
            pieces: list[torch.Tensor] = []
            if RANK == 0:
                steps.step(rows.to(device))
            else:
                steps.step(target=wanted.to(device), losses=pieces)
                losses.append(torch.stack(pieces).mean().item())
            optimizer.step()
        same_network(part, expected[:2] if RANK == 0 else expected[2:])
        if RANK == 1:  # the last stage alone has them
            near(torch.tensor(losses), torch.tensor(expected_losses))


def case_zero_redundancy_optimizer() -> None:
    model = Replicated(network().to(device))
    # With a large eps: else Adam divides a gradient that is mere rounding by its own size, and two roundings differ.
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=0.01, eps=1e-2)
    losses = train(model, optimizer, ROWS[MINE].to(device), WANTED[MINE].to(device))
    expected, expected_losses = of_one_process(torch.optim.AdamW, lr=0.01, eps=1e-2)
    same_network(model, expected)
    same_losses(losses, expected_losses)


def case_checkpoint() -> None:
    model = network().to(device)
    fully_shard(model, mesh=init_device_mesh("openreg", (SIZE,)))
    for folder, save in (("saved", checkpoints.save), ("saved beside", checkpoints.async_save)):
        done = save({"model": model.state_dict()}, checkpoint_id=f"{FOLDER}/{folder}")
        if save is checkpoints.async_save:
            done.result()
        dist.barrier()
        with torch.no_grad():
            for it in model.parameters():
                it.zero_()
        state = {"model": model.state_dict()}
        checkpoints.load(state, checkpoint_id=f"{FOLDER}/{folder}")
        model.load_state_dict(state["model"])
        for mine, theirs in zip(model.parameters(), network().parameters(), strict=True):
            near(mine, theirs)


def what_pytorch_refuses() -> dict[str, str]:
    """What PyTorch says to what it has for its own devices only."""
    norm = nn.SyncBatchNorm.convert_sync_batchnorm(nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))).to(device)
    told = {}
    for name, call in {
        "SyncBatchNorm": lambda: norm(torch.randn(2, 3, 8, 8, device=device)),
        "bf16_compress_hook": lambda: Replicated(nn.Linear(2, 2).to(device)).register_comm_hook(
            None, default_hooks.bf16_compress_hook
        ),
        "monitored_barrier": dist.monitored_barrier,
    }.items():
        try:
            call()
            told[name] = "works"
        except Exception as error:
            told[name] = str(error).splitlines()[0]
    return told
