"""One model on two devices: the first half on one, the second on the other. It learns what it learns on the CPU."""

import torch
import torch_openreg  # noqa: F401


class TwoStages(torch.nn.Module):
    """Two halves, each on a device of its own; what leaves the first travels to the second."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.front = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh()).to(first)
        self.back = torch.nn.Linear(16, 1).to(second)
        self.second = second

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Autograd records the copy like any operator, and runs it backwards: from the second device to the first."""
        return self.back(self.front(x).to(self.second))


def train(first: str, second: str) -> list[float]:
    """Trains for thirty steps and returns the losses."""
    model = TwoStages(first, second)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(1)
    inputs = torch.randn(64, 8)
    targets = inputs.sin().sum(1, keepdim=True)
    losses = []
    for _ in range(30):
        loss = torch.nn.functional.mse_loss(model(inputs.to(first)), targets.to(second))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert str(model.front[0].weight.grad.device) == first
    assert str(model.back.weight.grad.device) == second
    return losses


if __name__ == "__main__":
    expected = train("cpu", "cpu")
    actual = train("openreg:0", "openreg:1")
    print("step   cpu        two devices")
    for step in (1, 30):
        print(f"{step:4}   {expected[step - 1]:.6f}   {actual[step - 1]:.6f}")
    torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)
    assert actual[-1] < actual[0] / 10
    print("equal")
