"""python run_doctests.py FILE.md: runs every ```pycon fence of a page, in order, in this process."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from markdown import fences


def main(path: Path) -> int:
    """Returns the number of failures; prints them as doctest does, with the page's line numbers."""
    parser, globs = doctest.DocTestParser(), {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    for fence in fences(path):
        if fence.kind == "pycon":
            text = "\n".join(fence.body) + "\n"
            test = parser.get_doctest(text, globs, path.name, str(path), fence.line)
            if not test.examples:
                print(f"{path}:{fence.line}: a pycon fence without >>>")
                return 1
            runner.run(test, clear_globs=False)
            globs.update(test.globs)
    result = runner.summarize(verbose=False)
    print(f"{path.name}: {result.attempted} examples")
    return result.failed


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1])) else 0)
