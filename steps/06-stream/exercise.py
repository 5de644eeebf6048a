"""Two buffers, two streams: the next batch is copied while the last one is worked on, and nothing is overwritten."""

import torch
import torch_openreg  # noqa: F401


def total(batches: list[torch.Tensor]) -> torch.Tensor:
    """Adds up batches, each through one of two buffers."""
    copier, worker = torch.Stream("openreg"), torch.Stream("openreg")
    # What the streams are going to use has been made on the current one.
    for stream in (copier, worker):
        stream.wait_stream(torch.accelerator.current_stream())
    with worker:
        result = torch.zeros_like(batches[0])
    buffers = [torch.empty_like(batches[0]) for _ in range(2)]
    filled = [torch.Event("openreg") for _ in range(2)]
    emptied = [torch.Event("openreg") for _ in range(2)]  # never recorded: the first two copies wait for nobody

    for number, batch in enumerate(batches):
        which = number % 2
        with copier:
            copier.wait_event(emptied[which])  # or this copy overwrites what the worker still reads
            buffers[which].copy_(batch)
            filled[which].record()
        with worker:
            worker.wait_event(filled[which])  # or the worker reads what the copier has not written yet
            result += buffers[which]
            emptied[which].record()

    # The caller knows nothing of our streams. The buffers die when we return, so both streams have to be done by then.
    torch.accelerator.current_stream().wait_stream(worker)
    copier.synchronize()
    worker.synchronize()
    return result


if __name__ == "__main__":
    rows = [torch.full((256,), float(number)).to("openreg") for number in range(20)]
    found = total(rows)
    expected = float(sum(range(20)))
    print("expected", expected)
    print("found   ", found.unique().tolist())
    assert found.unique().tolist() == [expected]
