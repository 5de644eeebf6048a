"""torch.compile: what is found again and what is not, processes that compile, children, and a device that was reset."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import torch_openreg  # noqa: F401
from torch._dynamo.utils import counters

from .compile_checks import Source, close, compiled, numbers
from .conftest import ProgramFunction

pytestmark = [pytest.mark.kernels, pytest.mark.timeout(300)]  # a busy machine compiles for minutes

# In another process: the same function again.
FIND = """
from torch._dynamo.utils import counters
from torch._inductor import cpp_builder
from backend.compile_checks import kernels_of
from backend.test_compile_cache import function

ran, run_compile_cmd = [], cpp_builder.run_compile_cmd

def spy(command, cwd):
    # Inductor runs the preprocessor in each process, to see whether a header has changed.
    if " -E " not in command:
        ran.append(command)
    return run_compile_cmd(command, cwd)

cpp_builder.run_compile_cmd = spy
x = torch.ones(30, 40, device="openreg", requires_grad=True)
run = torch.compile(function)
run(x)[0].sum().backward()
torch.openreg.synchronize()
print(counters["aot_autograd"]["autograd_cache_hit"], counters["inductor"]["fxgraph_cache_miss"], ran)
print(*kernels_of(lambda: run(x)))
"""


def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What is compiled here and found elsewhere."""
    return torch.softmax(x.exp() * 3.75, -1).sum(0), torch.rand_like(x)


@pytest.fixture(autouse=True)
def cache_of_graphs() -> Iterator[None]:
    """Turns on what is off in all other tests, which are to generate their code."""
    with torch._inductor.config.patch(fx_graph_cache=True):
        yield


def graphs_found() -> tuple[int, int]:
    """Of the cache of graphs: hits and misses since the last call."""
    found = counters["inductor"]["fxgraph_cache_hit"], counters["inductor"]["fxgraph_cache_miss"]
    counters.clear()
    return found


def test_another_process_finds_all_of_it_for_the_other_driver_too(program: ProgramFunction) -> None:
    other = "sim" if os.environ.get("OPENREG_DRIVER") == "process" else "process"
    compiled(function)(torch.ones(30, 40, device="openreg", requires_grad=True))[0].sum().backward()
    said = program(FIND, timeout=250, OPENREG_DRIVER=other, TORCHINDUCTOR_FX_GRAPH_CACHE="1")
    found, kernels = said.splitlines()[:2]
    assert found == "1 0 []"
    fused = [it.startswith("openreg_fused_") for it in kernels.split()]
    assert sum(fused) >= 2 and fused.count(False) == 1  # the seed of the random numbers


@pytest.mark.parametrize("what", ["source", "processor"])
def test_code_of_another_version_of_the_generator_or_for_another_processor_is_not_found(what: str) -> None:
    from torch_openreg.inductor import config

    def function(x: torch.Tensor) -> torch.Tensor:
        return x.cos() + 41 + len(what)

    with torch._functorch.config.patch(enable_autograd_cache=False):
        x = torch.ones(9, device="openreg")
        compiled(function)(x)
        graphs_found()
        compiled(function)(x)
        assert graphs_found() == (1, 0)
        with config.patch({what: uuid.uuid4().hex}):
            compiled(function)(x)
            assert graphs_found() == (0, 1)
    with config.patch({what: uuid.uuid4().hex}):  # nor in the cache of what autograd makes of graphs
        counters.clear()
        compiled(function)(x)
        assert counters["aot_autograd"]["autograd_cache_hit"] == 0


def test_a_library_is_not_found_that_was_compiled_for_another_processor(program: ProgramFunction) -> None:
    from torch_openreg.inductor import config

    asked = "from torch_openreg.inductor import config\nprint(config.processor)"
    assert program(asked).strip() == config.processor
    narrow = program(asked, ATEN_CPU_CAPABILITY="default").strip()  # no vectors
    assert narrow != config.processor
    with config.patch(processor=narrow):  # the key of a library is its text
        assert narrow[:16] in Source(lambda x: x.sin() + 5, torch.ones(7, device="openreg")).text


def test_the_version_of_the_generator_is_that_of_its_files(tmp_path: Path) -> None:
    import shutil

    from torch_openreg.inductor import config

    package = tmp_path / "torch_openreg"
    folder = Path(config.__file__).parent
    shutil.copytree(folder, package / "inductor", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(folder.parent / "include", package / "include")

    def version() -> str:
        code = (package / "inductor" / "config.py").read_text()
        names = {"__name__": "config", "__file__": str(package / "inductor" / "config.py")}
        exec(compile(code.split("torch.utils._config_module.install")[0], "config.py", "exec"), names)
        return names["source"]

    assert version() == config.source
    seen = {config.source}
    for file in sorted(package.rglob("*")):
        if file.suffix in (".py", ".h"):
            file.write_text(file.read_text() + "\n")
            assert version() not in seen, file
            seen.add(version())
    assert len(seen) >= 10


def test_the_same_function_of_the_cpu_and_of_each_device_do_not_get_in_each_others_way() -> None:
    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return (x.exp() + 17).sum(-1), x * 2

    x = numbers(20, 30)
    for _ in range(2):
        for device in ("cpu", "openreg:0", "openreg:1"):
            results = compiled(function)(x.to(device))
            assert {str(it.device) for it in results} == {device}
            close(results, function(x), 1e-5)
    run = compiled(function)
    for device in ("openreg:1", "cpu", "openreg:0", "openreg:1"):
        results = run(x.to(device))
        assert {str(it.device) for it in results} == {device}
        close(results, function(x), 1e-5)


def descendants(parent: int) -> list[Path]:
    """The processes that a process has started, and those that these have."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int((process / "stat").read_text().rsplit(")", 1)[1].split()[1]) == parent:
                found += [process, *descendants(int(process.name))]
    return found


def test_processes_that_compile_use_no_device() -> None:
    from torch._inductor import async_compile, config

    factor, x = uuid.uuid4().int % 10**6 + 0.5, torch.ones(30, 40, device="openreg")  # a number that no cache has
    with config.patch(compile_threads=2):
        try:
            async_compile.AsyncCompile.wait_pool_ready(60)
            found = compiled(lambda x: (torch.softmax(x * factor, -1).sum(0).sort().values + 1, x.sin() + factor))(x)
            close(found[0], torch.full((40,), 1.75))
            workers = [it for it in descendants(os.getpid()) if b"inductor" in (it / "cmdline").read_bytes()]
            threads = {(it / "comm").read_text().strip() for one in workers for it in one.glob("task/*")}
        finally:
            async_compile.shutdown_compile_workers()
    assert len(workers) >= 2
    assert not any(name.startswith("or-") for name in threads), "a process that compiles has initialised a device"
