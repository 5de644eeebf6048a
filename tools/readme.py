"""The table of steps in README.md, made from docs/ladder.toml and what is written of it."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
TABLE = re.compile(r"(?<=<!-- ladder start -->\n).*?(?=<!-- ladder end -->)", re.DOTALL)


def ladder() -> str:
    """Returns the table: links for the steps that have a folder and a chapter, the others as planned."""
    rows = ["| step | what fails before it | what it gives |", "|---|---|---|"]
    for step in tomllib.loads((ROOT / "docs" / "ladder.toml").read_text())["step"]:
        number, _, title = step["name"].partition("-")
        chapter = f"docs/guide/{step['name']}.md"
        written = (ROOT / chapter).is_file() and (ROOT / "steps" / step["name"]).is_dir()
        name = f"[{number} {title}]({chapter})" if written else f"{number} {title} *(planned)*"
        rows.append(f"| {name} | {step['fails']} | {step['gives']} |")
    return "\n".join([*rows, ""])


def check_readme() -> str:
    """Returns what is wrong with the table in README.md, or nothing."""
    found = TABLE.search(README.read_text())
    return "" if found and found[0] == ladder() else "README.md: the ladder is not up to date; make format writes it"


def fix_readme() -> str:
    """Writes the table into README.md."""
    README.write_text(TABLE.sub(lambda _: ladder(), README.read_text()))
    return ""
