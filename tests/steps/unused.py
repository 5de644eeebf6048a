"""Finds what a step's C++ declares and nothing uses: a region that was cut may have been the only user.

A compiler reports unused static functions, but neither unused members nor functions that other files could call.
"""

import re
from collections import Counter
from collections.abc import Iterator

from assemble import Ladder

NOISE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\[\[(?!maybe_unused)[^]]*\]\]|__attribute__\(\(.*?\)\)(?=\s)"""
    r"""|\b(?:public|private|protected)\s*:(?!:)""",
    re.S,
)
# Called by others, or no function or variable; "([": an object made of a lambda, which registers itself.
EXEMPT = re.compile(
    r"\b(override|final|operator|friend|using|typedef|default|delete|static_assert|maybe_unused|PyMODINIT_FUNC)\b|\(\["
)
SCOPE = re.compile(r"\b(enum|namespace|class|struct|union|extern)\b[^(]*$")
DECLARED = re.compile(r"[\w>&*][\s&*]+(?:\w+::)*(\w+)\s*(?:\[\w*\]\s*)*$")


def declared(code: str) -> Iterator[str]:
    """Yield the functions, members and variables that C++ code declares outside of function bodies."""
    scopes, start = [], 0  # for each open brace, whether it is that of a namespace or class
    for mark in re.finditer(r"[{};]", code):
        statement, start = code[start : mark.start()], mark.end()
        while (flat := re.sub(r"<[^<>]*>", " ", statement)) != statement:
            statement = flat
        if mark[0] == "}":
            del scopes[-1:]
            continue
        scope = SCOPE.search(statement)
        name = DECLARED.search(statement.split("=")[0].split("(")[0])
        if name and all(scopes) and not scope and not EXEMPT.search(statement):
            yield name[1]
        if mark[0] == "{":
            scopes.append(bool(scope) and scope[1] != "enum")


def unused(ladder: Ladder) -> list[str]:
    """Return a line for each name that the PyTorch side of a step declares and nothing there uses."""
    found = []
    for index, step in enumerate(ladder.steps):
        words, names, home = Counter(), Counter(), {}
        for path in ladder.trees[index]:
            if path.startswith("openreg/torch_openreg/inductor/"):  # writes C++
                words.update(re.findall(r"\w+", ladder.text(index, path)))
            if path.startswith(("openreg/csrc/", "openreg/bindings/")) and path.endswith((".h", ".c", ".cpp")):
                code = NOISE.sub(" ", ladder.text(index, path))
                words.update(re.findall(r"\w+", code))
                for name in declared(re.sub(r"^[ \t]*#(\\\n|.)*", "", code, flags=re.M)):
                    names[name] += 1
                    home.setdefault(name, path)
        found += [
            f"{home[name]}: {name!r} is not used in step {step.name}"
            for name in sorted(names)
            if words[name] <= names[name]
        ]
    return found
