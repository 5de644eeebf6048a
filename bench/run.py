"""Runs all benchmarks, prints a table and writes docs/bench.json and docs/speed.json, which the guide shows.

Figures of a busy machine say little: the table begins with what the machine had left, and the CPU's own figure stands
beside each of PyTorch's. Behind them stands what the figure is to reach; nothing fails if it doesn't.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench-driver"
sys.path[:0] = [str(ROOT / "docs" / "_ext"), str(ROOT / "tools")]
import compiler_cache  # noqa: E402
from bench_figures import BENCH, Figure, free_cores, verdict  # noqa: E402

SPIN = "import time\nend, n = time.perf_counter() + 0.5, 0\nwhile time.perf_counter() < end: n += 1\nprint(n)"


def effective_parallelism() -> float:
    """Returns how many busy processes the machine serves at full speed just now, at most one a core."""

    def spin(processes: int) -> int:
        running = [subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE) for _ in range(processes)]
        return sum(int(process.communicate()[0]) for process in running)

    return spin(os.cpu_count() or 1) / spin(1)


def build_driver() -> Path:
    """Builds the driver's benchmark and returns its program."""
    tools = Path(sys.executable).parent
    configure = [tools / "cmake", "-S", ROOT / "bench" / "driver", "-B", BUILD, "-G", "Ninja"]
    configure += [f"-DCMAKE_MAKE_PROGRAM={tools / 'ninja'}", "-DCMAKE_BUILD_TYPE=Release"]
    env = os.environ | compiler_cache.environment(ROOT)
    for command in (configure, [tools / "cmake", "--build", BUILD]):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        if done.returncode:
            sys.exit(f"bench: the driver's benchmark does not build\n{done.stdout}{done.stderr}")
    return BUILD / "openreg_bench_driver"


def four_digits(text: str) -> float:
    """Returns a number without the digits that no measurement has."""
    return float(f"{float(text):.4g}")


def measure(name: str, *command: str | Path) -> list[Figure]:
    """Runs a benchmark and returns the figures it prints, a JSON object a line."""
    print(f"bench: {name}", flush=True)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench: {name} ended with exit status {done.returncode}")
    return [
        {"part": name, **json.loads(line, parse_float=four_digits)}
        for line in done.stdout.splitlines()
        if line.startswith("{")
    ]


def row(figure: Figure, cores: float) -> str:
    """Returns the line of a figure."""
    value, cpu = figure["value"], figure.get("cpu")
    beside = f"cpu {cpu:10.4g}   × {value / cpu:<7.2f}" if cpu else ""
    bar, missed = verdict(figure, cores)
    line = f"{figure['name']:56} {value:12.4g} {figure['unit']:6} {beside:26} {bar}{': missed' if missed else ''}"
    return line.rstrip()


def main() -> None:
    """Measures, prints and writes."""
    before = effective_parallelism()
    program = build_driver()
    figures = measure("driver", program)
    figures += measure("torch", sys.executable, ROOT / "bench" / "torch_bench.py")
    figures += measure("optimizers", sys.executable, ROOT / "bench" / "optimizer_bench.py")
    figures += measure("attention", sys.executable, ROOT / "bench" / "attention_bench.py")
    graphs = sys.executable, ROOT / "bench" / "graph_bench.py"
    figures += measure("graphs", *graphs)
    figures += measure("graphs, process", "env", "OPENREG_DRIVER=process", *graphs)
    figures += measure("compiled", sys.executable, ROOT / "bench" / "compile_bench.py")
    figures += measure("collectives", sys.executable, ROOT / "bench" / "distributed_bench.py")
    figures += measure("own operators", sys.executable, ROOT / "bench" / "custom_ops_bench.py")
    figures += measure("mixed precision", sys.executable, ROOT / "bench" / "amp_bench.py")
    figures += measure("stream", sys.executable, ROOT / "bench" / "stream_bench.py")
    figures += measure("pinned", sys.executable, ROOT / "bench" / "pinned_bench.py")
    figures += measure("memory", sys.executable, ROOT / "bench" / "memory_bench.py")
    figures += measure("process", sys.executable, ROOT / "bench" / "process_bench.py", program)
    figures += measure("operators", sys.executable, ROOT / "bench" / "operator_sweep.py")
    run = {
        "time": time.strftime("%FT%TZ", time.gmtime()),
        "cores": os.cpu_count(),
        "effective before": round(before, 2),
        "effective after": round(effective_parallelism(), 2),
        "figures": figures,
    }
    print(f"\n{run['cores']} cores, effectively {before:.2f} before and {run['effective after']:.2f} after\n")
    print("\n".join(row(figure, free_cores(run)) for figure in figures))
    # The operators have a file and a page of their own.
    run["figures"] = [figure for figure in figures if figure["part"] != "operators"]
    (ROOT / BENCH).write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    print(f"\nwritten to {BENCH}")


if __name__ == "__main__":
    main()
