"""A stream of batches that can be stopped anywhere and goes on with the very numbers that would have come next."""

from collections.abc import Iterator

import torch
import torch_openreg  # noqa: F401


class Batches:
    """Endless batches of noise, in an order that can be saved: the state is one generator's."""

    def __init__(self, device: str, seed: int) -> None:
        self.device = device
        self.generator = torch.Generator(device).manual_seed(seed)

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Draws from a generator of its own, so that dropout elsewhere changes nothing here."""
        while True:
            yield torch.randn(4, device=self.device, generator=self.generator)

    def state_dict(self) -> dict[str, torch.Tensor]:
        """What a checkpoint has to keep. Waits for nothing: a generator is on the host."""
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Goes on where another one stopped, on whichever device."""
        self.generator.set_state(state["generator"])


if __name__ == "__main__":
    first = Batches("openreg:0", seed=3)
    draws = iter(first)
    seen = [next(draws) for _ in range(2)]
    saved = first.state_dict()
    expected = [next(draws).cpu() for _ in range(3)]

    torch.rand(1000, device="openreg:1")  # somebody else's numbers
    second = Batches("openreg:1", seed=0)
    second.load_state_dict(saved)
    actual = [batch.cpu() for _, batch in zip(range(3), second, strict=False)]

    print("blocks before the checkpoint:", int.from_bytes(bytes(saved["generator"][8:].tolist()), "little"))
    torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    print("equal")
