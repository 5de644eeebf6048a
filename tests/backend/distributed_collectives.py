"""Cases of test_distributed.py: what each collective gives, against numbers known or computed by Gloo on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional

from .distributed_rank import RANK, SIZE, close, device, raises

OP = dist.ReduceOp
NEXT, BEFORE = (RANK + 1) % SIZE, (RANK - 1) % SIZE
MOVED = [torch.float32, torch.bool, torch.complex64, torch.int16, torch.float8_e4m3fn, torch.float64]


def of_rank(rank: int, dtype: torch.dtype = torch.float32, count: int = 6) -> torch.Tensor:
    """Values that tell the ranks apart."""
    return (torch.arange(count) + rank + 1).to(dtype)


def same_bytes(got: torch.Tensor, expected: torch.Tensor) -> None:
    """For types that can't be compared."""
    assert torch.equal(got.cpu().contiguous().view(torch.uint8), expected.contiguous().view(torch.uint8))


def as_on_the_cpu(made: Callable[[], torch.Tensor], call: Callable[[torch.Tensor], object]) -> None:
    """The call gives the same on the device as Gloo does on the CPU."""
    on_cpu, on_device = made(), made().to(device)
    call(on_cpu)
    call(on_device)
    close(on_device, on_cpu)


def case_all_reduce_as_gloo_does() -> None:
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        for op in (OP.SUM, OP.MIN, OP.MAX, OP.PRODUCT):
            as_on_the_cpu(lambda dtype=dtype: of_rank(RANK, dtype), lambda it, op=op: dist.all_reduce(it, op))
    for dtype in (torch.int32, torch.int64, torch.uint8, torch.int8):
        for op in (OP.SUM, OP.MIN, OP.MAX, OP.PRODUCT):
            as_on_the_cpu(lambda dtype=dtype: of_rank(RANK, dtype), lambda it, op=op: dist.all_reduce(it, op))


def case_all_reduce_of_bits() -> None:
    for op in (OP.BAND, OP.BOR, OP.BXOR):
        as_on_the_cpu(lambda: of_rank(RANK, torch.int64), lambda it, op=op: dist.all_reduce(it, op))


def case_all_reduce_average() -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        x = of_rank(3 * RANK, dtype).to(device)
        dist.all_reduce(x, OP.AVG)
        total = sum(of_rank(3 * rank, dtype) for rank in range(SIZE))
        whole = torch.div(total, SIZE, rounding_mode="trunc")
        close(x, whole if dtype == torch.int64 else (total / SIZE).to(dtype))


def case_all_reduce_with_a_factor() -> None:
    for factor in (0.5, torch.tensor(0.5, device=device)):
        x = torch.full((4,), 3.0, device=device)
        dist.all_reduce(x, dist._make_nccl_premul_sum(factor))
        close(x, torch.full((4,), 1.5 * SIZE))


def case_all_reduce_of_other_types() -> None:
    x = torch.tensor([RANK == 0, True], device=device)
    dist.all_reduce(x, OP.MAX)
    assert x.tolist() == [True, True]
    as_on_the_cpu(lambda: torch.tensor([1 + 2j]) * (RANK + 1), dist.all_reduce)


def case_all_reduce_of_any_shape() -> None:
    as_on_the_cpu(lambda: torch.tensor(2.0 + RANK), dist.all_reduce)
    dist.all_reduce(torch.empty(0, device=device))
    x = torch.arange(12.0).view(3, 4).to(device)
    dist.all_reduce(x.t())
    close(x, torch.arange(12.0).view(3, 4) * SIZE)
    x = torch.arange(12.0).view(3, 4)
    y = x.to(device)
    dist.all_reduce(y[:, 1])
    x[:, 1] *= SIZE
    close(y, x)


def case_all_reduce_of_sizes_around_a_piece() -> None:
    for count in (1, 7, 1023, 65536, 65537, 1_500_001, 3_000_000):
        x = (torch.arange(count) % 1000 + RANK).float()
        expected = sum((torch.arange(count) % 1000 + rank).float() for rank in range(SIZE))
        y = x.to(device)
        dist.all_reduce(y)
        assert torch.equal(y.cpu(), expected), count


def case_every_rank_has_the_same_bits() -> None:
    x = torch.randn(10_001, generator=torch.Generator().manual_seed(RANK)).to(device)
    dist.all_reduce(x)
    every = [torch.empty_like(x) for _ in range(SIZE)]
    dist.all_gather(every, x)
    assert all(torch.equal(it.cpu(), x.cpu()) for it in every)


def case_broadcast() -> None:
    for dtype in MOVED:
        for root in range(SIZE):
            x = of_rank(RANK, dtype).to(device)
            dist.broadcast(x, root)
            same_bytes(x, of_rank(root, dtype))


def case_all_gather() -> None:
    for dtype in MOVED:
        every = [torch.empty(6, dtype=dtype, device=device) for _ in range(SIZE)]
        dist.all_gather(every, of_rank(RANK, dtype).to(device))
        for rank in range(SIZE):
            same_bytes(every[rank], of_rank(rank, dtype))


def case_all_gather_into_one() -> None:
    for dtype in MOVED:
        x = torch.empty(6 * SIZE, dtype=dtype, device=device)
        dist.all_gather_into_tensor(x, of_rank(RANK, dtype).to(device))
        same_bytes(x, torch.cat([of_rank(rank, dtype) for rank in range(SIZE)]))


def case_reduce() -> None:
    for root in range(SIZE):
        for op, result in ((OP.SUM, SIZE * (SIZE + 1) / 2), (OP.AVG, (SIZE + 1) / 2), (OP.MAX, SIZE)):
            x = torch.full((3,), float(RANK + 1), device=device)
            dist.reduce(x, root, op)
            close(x, torch.full((3,), float(result if root == RANK else RANK + 1)))


def case_reduce_scatter() -> None:
    for op, factor in ((OP.SUM, SIZE * (SIZE + 1) / 2), (OP.AVG, (SIZE + 1) / 2), (OP.MAX, SIZE)):
        whole = torch.arange(2.0 * SIZE, device=device) * (RANK + 1)
        expected = torch.arange(2.0 * RANK, 2 * RANK + 2) * factor
        x = torch.empty(2, device=device)
        dist.reduce_scatter_tensor(x, whole, op)
        close(x, expected)
        x = torch.empty(2, device=device)
        dist.reduce_scatter(x, list(whole.chunk(SIZE)), op)
        close(x, expected)
    x = torch.empty(2, device=device, dtype=torch.bfloat16)
    dist.reduce_scatter_tensor(x, torch.ones(2 * SIZE, device=device, dtype=torch.bfloat16))
    close(x, torch.full((2,), SIZE, dtype=torch.bfloat16))


def case_all_to_all() -> None:
    x = torch.empty(SIZE, 3, device=device, dtype=torch.int16)
    dist.all_to_all_single(x, (torch.arange(SIZE * 3).view(SIZE, 3) + 100 * RANK).to(torch.int16).to(device))
    rows = [(torch.arange(3) + 3 * RANK + 100 * rank).to(torch.int16) for rank in range(SIZE)]
    close(x, torch.stack(rows))
    x = [torch.empty(RANK + 1, device=device) for _ in range(SIZE)]
    dist.all_to_all(x, [torch.full((rank + 1,), float(10 * RANK + rank), device=device) for rank in range(SIZE)])
    for rank in range(SIZE):
        close(x[rank], torch.full((RANK + 1,), float(10 * rank + RANK)))


def case_all_to_all_with_uneven_splits() -> None:
    sends, expects = [rank + 1 for rank in range(SIZE)], [RANK + 1] * SIZE
    x = torch.cat([torch.full((rows, 2), float(10 * RANK + rank)) for rank, rows in enumerate(sends)]).to(device)
    y = torch.empty(sum(expects), 2, device=device)
    dist.all_to_all_single(y, x, expects, sends)
    close(y, torch.cat([torch.full((RANK + 1, 2), float(10 * rank + RANK)) for rank in range(SIZE)]))


def case_scatter_and_gather() -> None:
    for root in range(SIZE):
        x = torch.empty(2, device=device)
        parts = [torch.full((2,), float(rank), device=device) for rank in range(SIZE)]
        dist.scatter(x, parts if root == RANK else None, root)
        close(x, torch.full((2,), float(RANK)))
        every = [torch.empty(2, device=device) for _ in range(SIZE)] if root == RANK else None
        dist.gather(x + 5, every, root)
        for rank, it in enumerate(every or []):
            close(it, torch.full((2,), rank + 5.0))


def case_large_values_that_move() -> None:
    count = 1_000_003
    x = torch.empty(count * SIZE, device=device)
    dist.all_gather_into_tensor(x, of_rank(RANK, count=count).to(device))
    assert torch.equal(x.cpu(), torch.cat([of_rank(rank, count=count) for rank in range(SIZE)]))
    y = torch.empty_like(x)
    dist.all_to_all_single(y, x)
    own = [x.cpu().chunk(SIZE)[RANK]] * SIZE
    assert torch.equal(y.cpu(), torch.cat(own))
    dist.broadcast(y, 1)
    assert torch.equal(y.cpu(), torch.cat([x.cpu().chunk(SIZE)[1]] * SIZE))


def case_send_and_receive() -> None:
    mine, theirs = torch.full((1 << 20,), float(RANK), device=device), torch.empty(1 << 20, device=device)
    works = [dist.isend(mine, NEXT), dist.irecv(theirs, BEFORE)]
    for work in works:
        work.wait()
    assert torch.equal(theirs.cpu(), torch.full((1 << 20,), float(BEFORE)))
    if RANK == 0:
        dist.send(mine + 7, 1, tag=5)
    if RANK == 1:
        dist.recv(theirs, 0, tag=5)
        close(theirs[:2], torch.full((2,), 7.0))


def case_sends_and_receives_as_one() -> None:
    mine, theirs = torch.full((1 << 20,), float(RANK), device=device), torch.empty(1 << 20, device=device)
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, NEXT), dist.P2POp(dist.irecv, theirs, BEFORE)])
    for work in works:
        work.wait()
    assert len(works) == 1
    close(theirs, torch.full((1 << 20,), float(BEFORE)))


def case_coalesced_collectives() -> None:
    every = [torch.full((3,), float(number + RANK), device=device) for number in range(4)]
    with dist._coalescing_manager(device=device, async_ops=True) as manager:
        for it in every:
            dist.all_reduce(it)
    manager.wait()
    for number, it in enumerate(every):
        close(it, torch.full((3,), float(number * SIZE + SIZE * (SIZE - 1) / 2)))
    sent = [torch.full((2,), float(number + RANK), device=device) for number in range(3)]
    got = [torch.empty(2 * SIZE, device=device) for _ in range(3)]
    with dist._coalescing_manager():
        for to, it in zip(got, sent, strict=True):
            dist.all_gather_into_tensor(to, it)
    for number, it in enumerate(got):
        close(it, torch.cat([torch.full((2,), float(number + rank)) for rank in range(SIZE)]))


def case_objects() -> None:
    every: list[object] = [None] * SIZE
    dist.all_gather_object(every, {"rank": RANK})
    assert every == [{"rank": rank} for rank in range(SIZE)]
    one: list[object] = [RANK]
    dist.broadcast_object_list(one, 0, device=device)
    assert one == [0]
    gathered: list[object] | None = [None] * SIZE if RANK == 1 else None
    dist.gather_object({"rank": RANK}, gathered, 1)
    assert gathered == (every if RANK == 1 else None)
    mine: list[object] = [None]
    dist.scatter_object_list(mine, [{"for": rank} for rank in range(SIZE)] if RANK == 0 else None, 0)
    assert mine == [{"for": RANK}]
    if RANK == 0:
        dist.send_object_list([{"from": 0}, "and more"], 1, device=device)
    elif RANK == 1:
        sent: list[object] = [None, None]
        dist.recv_object_list(sent, 0, device=device)
        assert sent == [{"from": 0}, "and more"]


def case_functional_collectives() -> None:
    x = torch.full((2,), float(RANK + 1), device=device)
    close(functional.all_reduce(x, "sum", dist.group.WORLD) + 0, torch.full((2,), SIZE * (SIZE + 1) / 2))
    close(
        functional.all_gather_tensor(x, 0, dist.group.WORLD) + 0,
        torch.cat([torch.full((2,), rank + 1.0) for rank in range(SIZE)]),
    )


def case_split_group() -> None:
    group = dist.split_group(None, [list(range(SIZE - 1)), [SIZE - 1]])
    x = torch.ones(2, device=device)
    dist.all_reduce(x, group=group)
    close(x, torch.full((2,), float(group.size())))


def case_groups_of_some_ranks() -> None:
    pair, last = dist.new_group([0, 1]), dist.new_group([SIZE - 1])
    x = torch.ones(2, device=device)
    if RANK < 2:
        dist.all_reduce(x, group=pair)
        close(x, torch.full((2,), 2.0))
    if RANK == SIZE - 1:
        dist.all_reduce(x, group=last)


def case_two_groups_in_different_order() -> None:
    a, b = dist.new_group(), dist.new_group()
    x, y = torch.ones(4, device=device), torch.ones(4, device=device)
    order = [(a, x), (b, y)] if RANK == 0 else [(b, y), (a, x)]
    for work in [dist.all_reduce(it, group=group, async_op=True) for group, it in order]:
        work.wait()
    close(x + y, torch.full((4,), 2.0 * SIZE))


def case_wrong_arguments_are_refused_at_once() -> None:
    if torch.openreg.device_count() > 1:
        other = torch.ones(2, device=torch.device("openreg", 1 - device.index))
        text = f"this group works on {device}, but the tensor is on {other.device}"
        raises(lambda: dist.all_reduce(other), text, kind=ValueError)
    few = torch.empty(1, device=device)
    whole = torch.ones(4, device=device)
    raises(lambda: dist.all_gather_into_tensor(few, whole), "argument 'output' has 1 elements", kind=ValueError)
    raises(lambda: dist.reduce_scatter_tensor(few, torch.ones(5 * SIZE, device=device)), "expected", kind=ValueError)
    uneven = torch.ones(SIZE + 1, device=device)
    raises(lambda: dist.all_to_all_single(uneven, uneven), "expected a multiple of", kind=ValueError)
    raises(lambda: dist.send(few, NEXT, tag=-1), "argument 'tag' is -1", kind=ValueError)
    dist.all_reduce(whole)
    close(whole, torch.full((4,), float(SIZE)))


def case_futures() -> None:
    x = torch.full((8,), float(RANK + 1), device=device)
    future = dist.all_reduce(x, async_op=True).get_future().then(lambda it: it.value()[0] * 2)
    close(future.wait(), torch.full((8,), SIZE * (SIZE + 1.0)))


def case_side_streams() -> None:
    with torch.Stream(device):
        x = torch.full((1024,), float(RANK + 1), device=device)
        dist.all_reduce(x)
        close(x, torch.full((1024,), SIZE * (SIZE + 1) / 2))


def case_barrier() -> None:
    dist.barrier()
