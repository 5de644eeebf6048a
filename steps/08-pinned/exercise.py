"""A loader that keeps one batch ahead: while the device computes, the next batch is on its way."""

from collections.abc import Iterable, Iterator

import torch
import torch_openreg  # noqa: F401


class Prefetcher:
    """Goes through batches of pinned tensors and returns them on a device, the next one always copied already.

    Args:
        batches: Pinned tensors.
        device: Where to.
    """

    def __init__(self, batches: Iterable[torch.Tensor], device: str) -> None:
        self.batches = batches
        self.device = device
        self.stream = torch.Stream(device)

    def copy(self, batch: torch.Tensor) -> torch.Tensor:
        """Queues the copy on a stream of its own, where it waits for nobody."""
        with self.stream:
            return batch.to(self.device, non_blocking=True)

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Returns one batch while the next one travels."""
        on_device = None
        for batch in self.batches:
            following = self.copy(batch)
            if on_device is not None:
                yield on_device
            on_device = self.hand_over(following)
        if on_device is not None:
            yield on_device

    def hand_over(self, tensor: torch.Tensor) -> torch.Tensor:
        """Makes the current stream wait for the copy, and the memory wait for the current stream."""
        current = torch.accelerator.current_stream(self.device)
        current.wait_stream(self.stream)
        tensor.record_stream(current)  # it was allocated on the other stream
        return tensor


if __name__ == "__main__":
    rows = torch.arange(4000.0).view(8, 500)
    sums = [batch.sum() for batch in Prefetcher((row.pin_memory() for row in rows), "openreg:1")]
    print("sums of batches:", [int(value.item()) for value in sums])
    assert torch.equal(torch.stack(sums).cpu(), rows.sum(1))
    print("equal")
