"""Backends with the simulator, built whole, under three names and from three steps: make test-all, minutes for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from .test_generator import command, own_tests, try_out

PROJECTS = [("acme", "04"), ("big_chip", "10"), ("x", "18")]
pytestmark = [pytest.mark.timeout(3600), pytest.mark.xdist_group("simulated")]


@pytest.fixture(scope="module", params=PROJECTS, ids=lambda it: "-".join(it))
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A project, and where it is installed."""
    if not request.config.getoption("--all-projects"):
        pytest.skip("make test-all builds it")
    name, step = request.param
    project = tmp_path_factory.mktemp("simulated") / name
    done = command(name, "--step", step, "--sim", "--out", project)
    assert done.returncode == 0, done.stderr
    return project, try_out.build(project)


@pytest.mark.parametrize("driver", ["sim", "process"])
def test_with_the_simulator_all_tests_of_a_project_pass(built: tuple[Path, Path], driver: str) -> None:
    project, site = built
    serves = {f"{project.name.upper()}_DRIVER": driver}
    files = sorted(str(file) for file in (project / "tests").glob("test_*.py"))
    contract = [f"--driver={driver}", "-n", "2", "--dist", "loadgroup"]
    for options in (contract, *([file] for file in files)):  # each of the others by itself
        status, said = own_tests(project, "-rs", *options, site=site, more=serves)
        assert status == 0 and " passed" in said, said
