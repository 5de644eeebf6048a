"""Memory that another stream uses, kept safe in two ways: record_stream, and a wait. They differ in what they hold."""

import os

os.environ["OPENREG_SIM"] = "copy_delay=20ms"  # a device that is much slower than the host

import torch
import torch_openreg  # noqa: F401

BATCHES = 10
SIZE = 1 << 20


def peak(batches: list[torch.Tensor], record: bool) -> tuple[int, list[float]]:
    """Sends batches through a second stream. Returns the most memory held at a time, in batches, and what came out."""
    main, side = torch.accelerator.current_stream(), torch.Stream("openreg")
    results = [torch.empty(SIZE, device="openreg") for _ in batches]
    torch.accelerator.synchronize()
    torch.accelerator.empty_cache()
    torch.accelerator.reset_peak_memory_stats()
    before = torch.accelerator.memory_stats()["active_bytes.all.current"]
    for batch, result in zip(batches, results, strict=True):
        x = batch.clone()
        side.wait_stream(main)
        with side:
            result.copy_(x)
        if record:
            x.record_stream(side)  # when the side stream has passed, which the host must ask for, x is free
        else:
            main.wait_stream(side)  # what the main stream does with this memory later comes behind the side stream
        del x
    held = torch.accelerator.memory_stats()["active_bytes.all.peak"] - before
    torch.accelerator.synchronize()
    return held // (4 * SIZE), [result[-1].item() for result in results]


if __name__ == "__main__":
    numbers = [float(i) for i in range(BATCHES)]
    batches = [torch.full((SIZE,), number).to("openreg") for number in numbers]
    for record in (True, False):
        held, seen = peak(batches, record)
        assert seen == numbers
        print(f"{'record_stream' if record else 'a wait'}: at most {held} of {BATCHES} batches in memory")
