"""Operators out of a list: examples/code-generation, built beside the installed backend as its reader would."""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import compiler_cache
import pytest
import torch_openreg
import yaml
from workers import locked, run_folder

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(torch_openreg.__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "code-generation"
# One line: the operator that the tests add.
SQUASH = (
    '"squash(Tensor self, float alpha=1.5) -> Tensor" = { kernel = "elu(self, alpha, 1, 1)", forms = ["functional", '
    '"inplace", "out"], derivative = { self = "elu_backward(grad, result, alpha, 1, 1, 1)" }, '
    'reference = "torch.nn.functional.elu(self, alpha)" }\n'
)


def call(*command: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of this environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    paths = os.pathsep.join([env.pop("site", ""), str(SITE)]).strip(os.pathsep)
    settings = {"PATH": path, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [str(it) for it in command],
        cwd=cwd,
        env=os.environ | compiler_cache.environment_of_temporary_folders() | settings | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def copy_of_example(folder: Path) -> Path:
    """The example in a folder of its own. A seeded bug lies where the package with it does."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    mutated = SITE.parent / "examples" / "code-generation"
    if SITE.parent != ROOT and mutated.is_dir():
        shutil.copytree(mutated, folder, dirs_exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """The generator as a module: a process for each list would import PyTorch each time."""
    mutated = SITE.parent / "examples" / "code-generation"
    made = ModuleType("none")
    for name in ("operator_list", "generate"):  # the second imports the first
        file = mutated / f"{name}.py" if (mutated / f"{name}.py").is_file() else EXAMPLE / f"{name}.py"
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec and spec.loader
        made = importlib.util.module_from_spec(spec)
        sys.modules[name] = made
        spec.loader.exec_module(made)
    return made


@pytest.fixture
def generate(generator: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str | None]:
    """Runs the generator on the list of a copy, and returns what it complains of."""

    def run(folder: Path, *options: str) -> str | None:
        monkeypatch.setattr(
            sys, "argv", ["generate.py", *map(str, (folder / "operators.toml", folder / "generated")), *options]
        )
        return generator.main()

    return run


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy to change."""
    return copy_of_example(tmp_path / "example")


@pytest.fixture(scope="module")
def with_a_line(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy whose list has a line more, built and installed into its folder `site`. Processes of one run share it."""
    folder = run_folder(tmp_path_factory) / "code-generation"
    log = folder.with_suffix(".log")
    with locked(log):
        if not log.exists():
            copy_of_example(folder)
            text = (folder / "operators.toml").read_text()
            assert text.count("[acme]\n") == 1
            (folder / "operators.toml").write_text(text.replace("[acme]\n", f"[acme]\n{SQUASH}"))
            options = [
                "-GNinja",
                f"-DOPENREG={ROOT}",
                f"-DPython_EXECUTABLE={sys.executable}",
                "-DCMAKE_CXX_FLAGS=-Werror",
            ]
            steps = [call(sys.executable, "generate.py", "operators.toml", "generated", cwd=folder)]
            steps += [call("cmake", "-S", ".", "-B", "build", *options, cwd=folder)]
            steps += [call("cmake", "--build", "build", cwd=folder)]
            steps += [call("cmake", "--install", "build", "--prefix", "site", cwd=folder)]
            log.write_text("\n".join(f"{it.stdout}{'failed' * (it.returncode != 0)}" for it in steps))
    assert "failed" not in log.read_text(), log.read_text()
    return folder


def test_what_is_committed_is_what_the_generator_writes(example: Path, generate) -> None:
    assert generate(example, "--check") is None


def test_a_file_that_differs_is_named_and_left_alone(example: Path, generate) -> None:
    (example / "generated" / "operators.h").write_text("mine")
    (example / "generated" / "operators.md").unlink()
    said = "operators.h, operators.md: not what operators.toml says; run generate.py without --check"
    assert generate(example, "--check") == said
    assert (example / "generated" / "operators.h").read_text() == "mine"


def test_each_gradient_depends_on_the_wish_for_its_own(example: Path, generate) -> None:
    """Edges count tensors only, wherever they stand among the arguments."""
    text = (example / "operators.toml").read_text()
    line = text.replace("Tensor guess, Tensor target, float delta=1.0", "Tensor guess, float delta, Tensor target")
    (example / "operators.toml").write_text(line)
    assert generate(example) is None
    written = " ".join((example / "generated" / "gradients.cpp").read_text().split())
    for name, edge in {
        "gate_backward_a": 0,
        "gate_backward_b": 1,
        "huber_backward_guess": 0,
        "huber_backward_target": 1,
    }.items():
        assert f"ctx->needs_input_grad({edge}) ? {name}(" in written


def test_the_generator_can_be_read_in_one_sitting() -> None:
    assert len((EXAMPLE / "generate.py").read_text().splitlines()) < 250
    assert len((EXAMPLE / "operator_list.py").read_text().splitlines()) <= 150


@pytest.mark.timeout(600)
def test_a_line_more_in_the_list_changes_nothing_else_in_what_is_written(with_a_line: Path) -> None:
    for file in sorted((EXAMPLE / "generated").iterdir()):
        before, after = file.read_text().splitlines(), (with_a_line / "generated" / file.name).read_text().splitlines()
        changed = [it for it in difflib.ndiff(before, after) if not it.startswith(("  ", "? "))]
        assert [it for it in changed if it.startswith("-")] == [], file.name
        assert file.name == "acme.py" or any("squash" in it.lower() for it in changed)


@pytest.mark.timeout(600)
def test_a_line_more_is_an_operator_that_runs_with_its_tests_and_its_row(with_a_line: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-rA", "-q", "-p", "no:cacheprovider", "test_operators.py"]
    done = call(*command, cwd=with_a_line, site=str(with_a_line / "site"))
    assert done.returncode == 0, done.stdout
    passed = re.findall(r"^PASSED test_operators.py::(\w+)\[acme::(squash\w*(?:\.out)?)", done.stdout, re.MULTILINE)
    tests = set(re.findall(r"^def (test_\w+)\(op", (EXAMPLE / "test_operators.py").read_text(), re.MULTILINE))
    assert {test for test, _ in passed} == tests
    assert {form for _, form in passed} == {"squash", "squash_", "squash.out"}
    rows = (with_a_line / "generated" / "operators.md").read_text()
    assert "| `acme::squash` | functional, inplace, out | `elu` | `elu_backward` | `torch.nn.functional.elu" in rows


@pytest.mark.timeout(600)
def test_what_is_generated_says_so_when_a_transform_or_a_kernel_does_not_fit(with_a_line: Path) -> None:
    program = """
import torch, acme
x = torch.ones(3, device="openreg")
wants = x.clone().requires_grad_()
for attempt in (
    lambda: acme.entropy(wants).sum().backward(),
    lambda: torch.func.grad(lambda it: acme.gate(it, it).sum())(x),
    lambda: acme.huber(x, x.to(torch.complex64)),
    lambda: acme.gate(x, x.cpu()),
    lambda: acme.gate(x, x, out=torch.empty(3, device="openreg", dtype=torch.int64)),
    lambda: acme.huber(wants, x, out=torch.empty(3, device="openreg")).sum().backward(),
    lambda: acme.gate_(wants, x),
    lambda: acme.gate_(x.int(), wants),
    lambda: acme.gate(x.cpu(), x.cpu()),
):
    try:
        print("no error", attempt())
    except Exception as error:
        print(str(error).splitlines()[0].split(". ")[0])
"""
    done = call(sys.executable, "-c", program, cwd=with_a_line, site=str(with_a_line / "site"))
    assert done.stdout.splitlines() == [
        "derivative for acme::entropy is not implemented",
        "cannot use C++ torch::autograd::Function with functorch transforms (vmap, grad, vjp, etc)",
        "\"huber\" not implemented for 'ComplexFloat'",
        "Expected all tensors to be on the same device, but found at least two devices, openreg:0 and cpu!",
        "result type Float can't be cast to the desired output type Long",
        "derivative for acme::huber is not implemented",
        "a leaf Variable that requires grad is being used in an in-place operation.",
        "result type Float can't be cast to the desired output type Int",
        "Could not run 'acme::gate' with arguments from the 'CPU' backend",
    ]


@pytest.mark.parametrize(
    ("find", "put", "said"),
    [
        ('"glu(a, b)"', '"glu(a, c)"', "operators.toml:12: gate: kernel is 'glu(a, c)', with c; expected of a, b"),
        (
            ', b = "glu_backward(grad, a, b)"',
            "",
            "operators.toml:12: gate: derivative is of a; expected one of each tensor: a, b",
        ),
        (
            ', reference = "torch.special.entr(self)"',
            "",
            "operators.toml:10: entropy: has no reference; expected reference",
        ),
    ],
    ids=["kernel", "derivative", "reference"],
)
def test_an_error_reads_as_the_page_has_it(example: Path, generate, find: str, put: str, said: str) -> None:
    text = (example / "operators.toml").read_text()
    (example / "operators.toml").write_text(text.replace(find, put))
    assert generate(example) == said


BAD = {
    "not TOML": ("[acme]\n", "[acme\n", r"Expected ']' at the end of a table declaration \(at line 9, column 6\)"),
    "two namespaces": ("[acme]\n", "[other]\n[acme]\n", "1: has other, acme, aten; expected a table of one namespace"),
    "no table": ("[acme]\n", "x = 1\n[acme]\n", "1: has x, acme, aten; expected a table of one namespace"),
    "an entry is a text": (
        "[acme]\n",
        '[acme]\n"a(Tensor x) -> Tensor" = "b"\n',
        "10: a: has nothing = 'b'; expected kernel = str",
    ),
    "an unknown key": (
        'forms = ["functional"],',
        "form = 1,",
        "10: entropy: has form = 1; expected kernel = str, forms = list",
    ),
    "a key of another type": ('forms = ["functional"],', 'forms = "out",', "10: entropy: has forms = 'out'; expected"),
    "no kernel": ('kernel = "special_entr(self)", ', "", "10: entropy: has no kernel; expected kernel"),
    "no reference": (
        ', reference = "torch.special.entr(self)"',
        "",
        "10: entropy: has no reference; expected reference",
    ),
    "no schema": (
        "entropy(Tensor self)",
        "entropy(Tensr self)",
        "10: entropy: is entropy.Tensr.*; expected a schema: ",
    ),
    "a type": (
        "gate(Tensor a,",
        "gate(Tensor a, int[] c,",
        r"12: gate: argument c is 'int\[\] c'; expected a Tensor, float",
    ),
    "no tensor first": (
        "gate(Tensor a,",
        "gate(float c, Tensor a,",
        "12: gate: has the arguments c, a, b; expected a Tensor first",
    ),
    "two results": (
        "b) -> Tensor",
        "b) -> (Tensor, Tensor)",
        "12: gate: is gate.*; expected the functional form, of one",
    ),
    "a mutating schema": (
        "gate(Tensor a",
        "gate(Tensor(a!) a",
        "12: gate: is gate.*; expected the functional form, of one",
    ),
    "a kernel's argument": (
        '"glu(a, b)"',
        '"glu(a, c)"',
        r"12: gate: kernel is 'glu\(a, c\)', with c; expected of a, b",
    ),
    "no call": (
        '"glu(a, b)"',
        '"glu"',
        "12: gate: kernel is 'glu'; expected a kernel with tensors and then parameters",
    ),
    "no Python": ('"glu(a, b)"', '"glu(a, +)"', r"12: gate: kernel is 'glu\(a, \+\)'; expected a kernel with tensors"),
    "tensors last": (
        "elu(self, alpha, 1, 1 / alpha)",
        "elu(alpha, self)",
        "26: celu: kernel is 'elu.*; expected a kernel with tens",
    ),
    "a tensor that is not read": (
        '"glu(a, b)"',
        '"glu(a)"',
        r"12: gate: kernel is 'glu\(a\)', without b; expected all tensors: a, b",
    ),
    "a form": (
        '"inplace", "out"]\nderiv',
        '"inplac"]\nderiv',
        "12: gate: forms is .*inplac.*; expected functional, and of inpl",
    ),
    "no functional form": (
        'forms = ["functional"],',
        'forms = ["out"],',
        r"10: entropy: forms is \['out'\]; expected functional",
    ),
    "half a derivative": (
        ', b = "glu_backward(grad, a, b)"',
        "",
        "12: gate: derivative is of a; expected one of each tensor: a, b",
    ),
    "a derivative's argument": (
        "glu_backward(grad, a, b)",
        "glu_backward(grd, a, b)",
        "12: gate: derivative of b is .*, with grd; expected of a, b",
    ),
    "no operator of PyTorch's": (
        "log_sigmoid(Tensor self)",
        "log_sigmod(Tensor self)",
        r"28: log_sigmod: PyTorch \S+ has no aten::log_sigmod; exp",
    ),
    "other arguments": (
        "celu(Tensor self, Scalar",
        "celu(Tensor self, float",
        r"26: celu: PyTorch \S+ has aten::celu.*Scalar alpha.*; expected th",
    ),
    "a form PyTorch lacks": (
        '"log_sigmoid(self)"\nforms = ["functional", "out"',
        '"log_sigmoid(self)"\nforms = ["functional", "inplace"',
        r"28: log_sigmoid: PyTorch \S+ has no aten::log_sigmoid_; expected these arguments, for the form inplace",
    ),
}


@pytest.mark.parametrize(("find", "put", "said"), BAD.values(), ids=BAD)
def test_a_bad_entry_is_named_with_its_line_what_came_and_what_was_expected(example, generate, find, put, said) -> None:
    text = (example / "operators.toml").read_text()
    assert text.count(find) == 1
    (example / "operators.toml").write_text(text.replace(find, put))
    shutil.rmtree(example / "generated")
    complaint = generate(example) or "none"
    assert re.match(rf"operators\.toml:\s?{said}", complaint), complaint
    assert not (example / "generated").exists()


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ({"supported": ["celu", "sigmoid.out"]}, ""),
        ({"supported": ["acme::gate"]}, "Found an invalid operator name: acme::gate"),
        ({"supported": ["log_sigmoid"], "autograd": ["log_sigmoid"]}, "They cannot be mix and matched."),
        ({"supported": ["sigmoid"]}, ""),
    ],
    ids=["official operators", "an own one", "kernel and gradient", "structured"],
)
def test_pytorchs_own_generator_goes_as_far_as_the_page_says(tmp_path: Path, entries: dict, said: str) -> None:
    (tmp_path / "list.yaml").write_text(yaml.dump({"backend": "PrivateUse1", "cpp_namespace": "acme", **entries}))
    options = ["--source_yaml", "list.yaml", "--output_dir", "."]
    done = call(sys.executable, "-m", "torchgen.gen_backend_stubs", *options, cwd=tmp_path)
    assert (done.returncode == 0) == (not said)
    assert said in done.stdout
    header = (tmp_path / "PrivateUse1NativeFunctions.h").read_text() if not said else ""
    registered = (tmp_path / "RegisterPrivateUse1.cpp").read_text() if not said else ""
    if "celu" in entries["supported"]:
        assert "static at::Tensor celu(const at::Tensor & self, const at::Scalar & alpha);" in header
        assert "at::_copy_from(wrapper_PrivateUse1__celu__tmp, self);" in registered  # in place: computed, then copied
        assert 'm.impl("sigmoid.out"' in registered
        assert 'm.impl("sigmoid"' not in registered
    if "sigmoid" in entries["supported"]:  # a plain function: no class, no checks of the output
        assert "static at::Tensor sigmoid(const at::Tensor & self);" in header
        assert "structured_sigmoid" not in header + registered
