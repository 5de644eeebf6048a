"""Each overload of each operator of PyTorch does as on the CPU, called with arguments made from its schema.

Equal results, arguments, views and gradients; or an error where the CPU has one; and never the process's death. With
``--all-samples`` (make test-all) each optional tensor is given alone, too.
"""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401

from .expected import rows_of
from .workers import Result, RunEntriesFunction, Worker

HERE = Path(__file__).resolve().parent
EXPECTED = rows_of("overloads")
SECONDS_PER_ENTRY = 120
# equal: as on the CPU; refused: as by the CPU; ours: the CPU has no such operator, or dies of it, and openreg has it.
FINE = {"equal", "refused", "ours"}

# One process of pytest-xdist: the tests share one run of all overloads.
pytestmark = [pytest.mark.timeout(3600), pytest.mark.xdist_group("overloads")]


@pytest.fixture(scope="module")
def everything(pytestconfig: pytest.Config) -> bool:
    """Whether each optional tensor is given alone, too."""
    return pytestconfig.getoption("--all-samples")


@pytest.fixture(scope="module")
def results(everything: bool, run_entries: RunEntriesFunction) -> dict[str, Result]:
    """How each overload went."""
    return run_entries("overloads_worker.py", *(["--all"] if everything else []), limit=SECONDS_PER_ENTRY)


def test_every_overload_is_called(results):
    assert results.keys() == torch.openreg.operator_coverage().keys()
    assert {result.outcome for result in results.values()} <= FINE | {
        "different",
        "raises",
        "nonsense",
        "unmade",
        "crash",
    }


def test_the_cpu_takes_most_arguments(results):
    # The others are operators for other devices, or for sparse, nested and quantized tensors, which no rule makes.
    assert Counter(result.outcome for result in results.values())["equal"] > 2500


def test_every_overload_does_as_on_the_cpu_or_is_listed_with_a_reason(results):
    wrong = {name: result for name, result in results.items() if result.outcome not in FINE and name not in EXPECTED}
    assert wrong == {}, "mend these, or list them in overloads_expected.toml with a reason"


def test_every_listed_overload_goes_as_listed(results, everything):
    wrong = {}
    for name, entry in EXPECTED.items():
        result = results.get(name)
        if entry.get("alone") and not everything:
            continue  # one of its optional tensors alone, which only the whole run has
        if result is None or result.outcome != entry["outcome"] or entry["text"] not in result.detail:
            wrong[name] = result or "there is no such overload"
    assert wrong == {}, "overloads_expected.toml says otherwise; if they are equal now, take them out"


def test_every_listed_overload_has_an_outcome_a_text_and_a_reason():
    for name, entry in EXPECTED.items():
        assert set(entry) - {"alone"} == {"outcome", "text", "reason"}, name
        assert entry["outcome"] not in FINE, name
        assert all(entry.values()), name


def test_what_reads_memory_on_the_host_is_served_by_the_cpu():
    aten = torch.ops.aten
    x = torch.tensor([[1e6, -2.0, 3.0]]).to("openreg")
    assert aten._saturate_weight_to_fp16(x).tolist() == [[65504, -2, 3]]
    image, grid = torch.ones(1, 1, 2, 2).to("openreg"), torch.zeros(1, 1, 1, 2).to("openreg")
    assert aten._grid_sampler_2d_cpu_fallback(image, grid, 0, 0, False).item() == 1
    assert aten.range.out_(0, 2, out=torch.empty(3).to("openreg")).tolist() == [0, 1, 2]


def test_a_reshape_to_a_shape_on_the_device_is_a_view_and_has_a_gradient():
    x, shape = torch.ones(4).to("openreg"), torch.tensor([2, 2]).to("openreg")
    torch.ops.aten._reshape_from_tensor(x, shape).fill_(3)
    assert x.tolist() == [3, 3, 3, 3]
    x.requires_grad_()
    reshaped = torch.ops.aten._reshape_from_tensor(x, shape)
    assert reshaped._is_view() and reshaped._base is x
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of an operator without a gradient of its own
        (reshaped * 2).sum().backward()
    assert x.grad.tolist() == [2, 2, 2, 2]


def test_nonzero_lies_in_memory_as_on_the_cpu():
    x = torch.tensor([[1.0, 0.0, 2.0], [0.0, 3.0, 4.0]])
    want, got = x.nonzero(), x.to("openreg").nonzero()
    assert (got.stride(), got.tolist()) == (want.stride(), want.tolist())


def test_batch_norm_update_stats_writes_running_values_although_its_schema_does_not_say_so():
    x = torch.arange(12.0).reshape(4, 3).square()
    means, variances = torch.ones(3), torch.full((3,), 2.0)
    on_device = [it.to("openreg") for it in (x, means, variances)]
    want, got = (torch.ops.aten.batch_norm_update_stats(*it, 0.25) for it in ([x, means, variances], on_device))
    for theirs, ours in zip((*want, means, variances), (*got, *on_device[1:]), strict=True):
        torch.testing.assert_close(ours.cpu(), theirs)


def test_log_sigmoid_gives_what_the_cpu_keeps_for_backward():
    x = torch.linspace(-4, 4, 9)
    for want, got in zip(
        torch.ops.aten.log_sigmoid_forward(x), torch.ops.aten.log_sigmoid_forward(x.to("openreg")), strict=True
    ):
        torch.testing.assert_close(got.cpu(), want)


def test_one_running_value_without_the_other_is_refused():
    x, values = torch.ones(4, 3).to("openreg"), torch.ones(3).to("openreg")
    with pytest.raises(ValueError, match="running_mean and running_var must either both be None or neither be None"):
        torch.native_batch_norm(x, None, None, values, None, True, 0.1, 1e-5)


def test_group_norm_with_a_bias_and_no_weight_has_gradients():
    x, bias = torch.arange(24.0).reshape(2, 4, 3).div(24), torch.ones(4)
    got = [it.clone().to("openreg").requires_grad_() for it in (x, bias)]
    want = [it.clone().requires_grad_() for it in (x, bias)]  # for which the CPU needs a weight
    torch.group_norm(got[0], 2, None, got[1]).sin().sum().backward()
    torch.group_norm(want[0], 2, torch.ones(4, requires_grad=True), want[1]).sin().sum().backward()
    for ours, theirs in zip(got, want, strict=True):
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-4)


def test_an_overload_that_kills_its_process_is_named_and_the_next_one_runs(tmp_path):
    program = tmp_path / "worker.py"
    program.write_text(
        "import os, sys\n"
        f"sys.path.insert(0, {str(HERE)!r})\n"
        "import overload_runs, overloads_worker\n"
        "run = overload_runs.run\n"
        "def dies(operator, arguments, device):\n"
        "    if operator.name() == 'aten::abs' and device.type == 'openreg':\n"
        "        print('a last word', file=sys.stderr, flush=True)\n"
        "        os.abort()\n"
        "    return run(operator, arguments, device)\n"
        "overload_runs.run = dies\n"
        "overloads_worker.main()\n"
    )
    started = Worker([program], tmp_path / "log.txt")
    try:
        assert started.run("aten::abs") == Result("crash", "with none, openreg: status -6: a last word")
        assert started.run("aten::neg") == Result("equal", "")
    finally:
        started.stop()
