"""Runs all benchmarks, prints a table and writes build/bench.json, docs/bench.txt and docs/speed.json.

Figures of a busy machine say little: the table begins with what the machine had left, and the CPU's own figure stands
beside each of PyTorch's. Behind them stands what the figure is to reach; nothing fails if it doesn't.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "bench-driver"
RESULT = ROOT / "build" / "bench.json"
TABLE = ROOT / "docs" / "bench.txt"  # which the guide shows, without the operators: they have a page of their own
SPIN = "import time\nend, n = time.perf_counter() + 0.5, 0\nwhile time.perf_counter() < end: n += 1\nprint(n)"

Figure = dict[str, Any]


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
    if shutil.which("ccache"):
        configure.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    for command in (configure, [tools / "cmake", "--build", BUILD]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"bench: the driver's benchmark does not build\n{done.stdout}{done.stderr}")
    return BUILD / "openreg_bench_driver"


def measure(name: str, *command: str | Path) -> list[Figure]:
    """Runs a benchmark and returns the figures it prints, a JSON object a line."""
    print(f"bench: {name}", flush=True)
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"bench: {name} ended with exit status {done.returncode}")
    return [{"part": name, **json.loads(line)} for line in done.stdout.splitlines() if line.startswith("{")]


def verdict(figure: Figure, cores: float) -> str:
    """Returns what a figure is to reach, and whether it does: at most, at least, or a multiple of the CPU's."""
    for kind, reached in (
        ("most", lambda bar: figure["value"] <= bar),
        ("least", lambda bar: figure["value"] >= bar),
        ("times", lambda bar: figure["value"] <= bar * figure["cpu"]),
    ):
        if (bar := figure.get(kind)) is not None:
            if cores < figure.get("cores", 0) - 0.2:
                return f"not counted: needs {figure['cores']} cores of its own"
            text = f"× {bar:g}" if kind == "times" else f"at {kind} {bar:g}"
            return text if reached(bar) else f"{text}: missed"
    return ""


def row(figure: Figure, cores: float) -> str:
    """Returns the line of a figure."""
    value, cpu = figure["value"], figure.get("cpu")
    beside = f"cpu {cpu:10.4g}   × {value / cpu:<7.2f}" if cpu else ""
    line = f"{figure['name']:56} {value:12.4g} {figure['unit']:6} {beside:26} {verdict(figure, cores)}"
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
    cores = {"cores": os.cpu_count(), "effective before": round(before, 2), "effective after": None}
    cores["effective after"] = round(effective_parallelism(), 2)
    machine = f"{cores['cores']} cores, effectively {before:.2f} before and {cores['effective after']:.2f} after"
    free = min(before, cores["effective after"])
    rows = [row(figure, free) for figure in figures]
    print("", machine, "", *rows, sep="\n")
    shown = [line for line, figure in zip(rows, figures, strict=True) if figure["part"] != "operators"]
    TABLE.write_text("\n".join([f"$ make bench  # {time.strftime('%F', time.gmtime())}, {machine}", *shown, ""]))
    RESULT.write_text(
        json.dumps({"time": time.strftime("%FT%TZ", time.gmtime()), **cores, "figures": figures}, indent=1)
    )
    print(f"\nwritten to {RESULT.relative_to(ROOT)} and {TABLE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
