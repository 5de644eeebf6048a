"""Two processes and one device's memory: a producer fills batches, a consumer reads them, and nothing is copied.

    python examples/producer_consumer.py

The consumer fits a line to noisy points. Its two buffers go to the producer once, with two events for each. From then
on only their numbers travel, "full" in one direction and "free" in the other. A number says that the event has been
recorded, not that it has happened: the streams wait for each other, and no host does.
"""

import torch
import torch.multiprocessing as mp

BATCHES, ROWS = 20, 4096
TRUTH = torch.tensor([1.0, -2.0, 0.5])
Events = dict[str, list[torch.Event]]


# LITERALINCLUDE START: PRODUCER
def produce(buffers: list[torch.Tensor], events: Events, free: mp.Queue, full: mp.Queue) -> None:
    """Fills whatever buffer is free: three columns of data and what they are to predict."""
    truth = TRUTH.to("openreg")
    torch.manual_seed(0)
    for _ in range(BATCHES):
        number = free.get()
        events["read"][number].wait()  # The current stream does, before it writes there again.
        data = torch.randn(ROWS, 3, device="openreg")
        buffers[number][:, :3] = data
        buffers[number][:, 3] = data @ truth + 0.01 * torch.randn(ROWS, device="openreg")
        events["written"][number].record()
        full.put(number)
    torch.openreg.synchronize()  # Work that is queued ends with its process.


# LITERALINCLUDE END: PRODUCER


# LITERALINCLUDE START: CONSUMER
def consume(buffers: list[torch.Tensor], events: Events, free: mp.Queue, full: mp.Queue) -> torch.Tensor:
    """Least squares, a batch at a time."""
    products = torch.zeros(3, 4, device="openreg")
    for _ in range(BATCHES):
        number = full.get()
        events["written"][number].wait()
        data = buffers[number]
        products += data[:, :3].t() @ data
        events["read"][number].record()
        free.put(number)
    return torch.linalg.solve(products[:, :3].cpu(), products[:, 3].cpu())


def main() -> None:
    """Starts the producer, and prints what was found."""
    spawn = mp.get_context("spawn")  # A forked process could not use the device.
    free, full = spawn.Queue(), spawn.Queue()
    buffers = [torch.empty(ROWS, 4, device="openreg") for _ in range(2)]
    events = {what: [torch.openreg.Event(interprocess=True) for _ in buffers] for what in ("read", "written")}
    producer = spawn.Process(target=produce, args=(buffers, events, free, full))
    producer.start()
    for number in range(len(buffers)):
        free.put(number)
    found = consume(buffers, events, free, full)
    producer.join()
    torch.openreg.ipc_collect()
    print(f"{BATCHES} batches of {buffers[0].nbytes // 1024} KiB through {len(buffers)} buffers")
    print("found:", [round(value, 2) for value in found.tolist()], "expected:", TRUTH.tolist())


if __name__ == "__main__":
    main()
# LITERALINCLUDE END: CONSUMER
