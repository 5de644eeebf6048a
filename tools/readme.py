"""What README.md and the start page have from elsewhere: versions, times and disk, and the table of steps."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def read(path: str) -> dict:
    """Returns a TOML file of the repository."""
    return tomllib.loads((ROOT / path).read_text())


def ladder() -> str:
    """Returns the table of steps: links for those that have a folder and a chapter, PyTorch's pages for the planned."""
    rows = ["| step | what fails before it | what it gives |", "|---|---|---|"]
    for step in read("docs/ladder.toml")["step"]:
        number, _, title = step["name"].partition("-")
        chapter = f"docs/guide/{step.get('page', step['name'])}.md"
        written = (ROOT / chapter).is_file() and ("page" in step or (ROOT / "steps" / step["name"]).is_dir())
        name = f"[{number} {title}]({chapter})" if written else f"{number} {title} *(planned)*"
        more = f"; until then [PyTorch's page]({step['upstream']})" if not written else ""
        rows.append(f"| {name} | {step['fails']} | {step['gives']}{more} |")
    return "\n".join([*rows, ""])


def about(seconds: float) -> str:
    """Returns a duration as one says it."""
    minutes = round(seconds / 60)
    return f"{minutes} minutes" if minutes != 1 else "a minute"


def commands() -> str:
    """Returns the first commands, with what they take."""
    times = read("docs/times.toml")
    lines = [
        ("make", f"sets everything up, builds, trains a network on the device: {about(times['make'])}"),
        ("make test", f"runs all tests: {about(times['test'])}"),
        ("make step N=01", f"the first step, red then green: {about(times['step'])} in a fresh clone"),
    ]
    return "\n".join(["```console", *(f"$ {command:<16}# {what}" for command, what in lines), "```", ""])


def needs() -> str:
    """Returns what the project needs and is built for, or nothing in a copy for one PyTorch (make TORCH=2.14.1)."""
    project = read("pyproject.toml")
    wanted = next(need for need in project["build-system"]["requires"] if need.startswith("torch"))
    here = next(need.partition("==")[2] for need in project["dependency-groups"]["run"] if need.startswith("torch=="))
    if "==" in wanted:
        return ""
    first, end = (int(minor) for minor in re.findall(r"2\.(\d+)", wanted))
    python, disk = project["project"]["requires-python"].removeprefix(">="), read("docs/times.toml")["disk"]
    return (
        f"PyTorch 2.{first} to 2.{end - 1} from pip (`make` installs {here}), "
        f"Python {python} or newer, g++ 12 or newer, Linux on x86-64 or ARM, "
        f"{disk} GB of disk.\n"
        "The times below are those of two cores, in a fresh clone, with PyTorch's CPU build from a near mirror.\n"
    )


# Each file with the blocks in it: what is between <!-- NAME start --> and <!-- NAME end -->.
BLOCKS = {
    ROOT / "README.md": {"needs": needs, "commands": commands, "ladder": ladder},
    DOCS / "index.md": {"needs": needs, "commands": commands},
}


def renewed(text: str, blocks: dict) -> str:
    """Returns a text with its blocks as they should be; one that nothing is made for stays."""
    for name, make in blocks.items():
        block = re.compile(rf"(?<=<!-- {name} start -->\n).*?(?=<!-- {name} end -->)", re.DOTALL)
        if len(block.findall(text)) != 1:
            raise ValueError(f"expected one block between <!-- {name} start --> and <!-- {name} end -->")
        text = block.sub(lambda there, make=make: make() or there[0], text)
    return text


def check_readme() -> str:
    """Returns what is wrong with the blocks, or nothing."""
    stale = [
        file.relative_to(ROOT)
        for file, blocks in BLOCKS.items()
        if renewed(file.read_text(), blocks) != file.read_text()
    ]
    return "\n".join(f"{file}: a block in it is not up to date; make format writes it" for file in stale)


def fix_readme() -> str:
    """Writes the blocks."""
    for file, blocks in BLOCKS.items():
        file.write_text(renewed(file.read_text(), blocks))
    return ""
