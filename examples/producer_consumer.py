"""Two processes and one device's memory: a producer fills batches, a consumer reads them, and nothing is copied.

    python examples/producer_consumer.py

The consumer fits a line to noisy points. Its two buffers go to the producer once; from then on only their numbers
travel, "full" in one direction and "free" in the other.
"""

import torch
import torch.multiprocessing as mp

BATCHES, ROWS = 20, 4096
TRUTH = torch.tensor([1.0, -2.0, 0.5])


# LITERALINCLUDE START: PRODUCER
def produce(buffers: list[torch.Tensor], free: mp.Queue, full: mp.Queue) -> None:
    """Fills whatever buffer is free: three columns of data and what they are to predict."""
    truth = TRUTH.to("openreg")
    torch.manual_seed(0)
    for _ in range(BATCHES):
        number = free.get()
        data = torch.randn(ROWS, 3, device="openreg")
        buffers[number][:, :3] = data
        buffers[number][:, 3] = data @ truth + 0.01 * torch.randn(ROWS, device="openreg")
        torch.openreg.synchronize()  # The consumer's streams know nothing of ours.
        full.put(number)


# LITERALINCLUDE END: PRODUCER


# LITERALINCLUDE START: CONSUMER
def consume(buffers: list[torch.Tensor], free: mp.Queue, full: mp.Queue) -> torch.Tensor:
    """Least squares, a batch at a time."""
    products = torch.zeros(3, 4, device="openreg")
    for _ in range(BATCHES):
        number = full.get()
        data = buffers[number]
        products += data[:, :3].t() @ data
        torch.openreg.synchronize()  # Before the producer writes there again.
        free.put(number)
    return torch.linalg.solve(products[:, :3].cpu(), products[:, 3].cpu())


def main() -> None:
    """Starts the producer, and prints what was found."""
    spawn = mp.get_context("spawn")  # A forked process could not use the device.
    free, full = spawn.Queue(), spawn.Queue()
    buffers = [torch.empty(ROWS, 4, device="openreg") for _ in range(2)]
    producer = spawn.Process(target=produce, args=(buffers, free, full))
    producer.start()
    for number in range(len(buffers)):
        free.put(number)
    found = consume(buffers, free, full)
    producer.join()
    torch.openreg.ipc_collect()
    print(f"{BATCHES} batches of {buffers[0].nbytes // 1024} KiB through {len(buffers)} buffers")
    print("found:", [round(value, 2) for value in found.tolist()], "expected:", TRUTH.tolist())


if __name__ == "__main__":
    main()
# LITERALINCLUDE END: CONSUMER
