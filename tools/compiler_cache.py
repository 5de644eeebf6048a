"""Lets the compiler cache find for one folder what was compiled in another: steps, wheels and tests build alike."""

import shutil
from pathlib import Path


def environment(base: Path | str) -> dict[str, str]:
    """The variables for it.

    Args:
        base: A path below this folder is compared as it looks from where the compiler runs, any other as it is.

    Returns:
        ccache's settings, and CMake's that it is used; nothing where ccache is not installed.
    """
    if not shutil.which("ccache"):
        return {}
    # DEPEND: the compiler says which headers a file has read. So what is new to the cache is not preprocessed first.
    settings = {"CCACHE_BASEDIR": str(base), "CCACHE_NOHASHDIR": "1", "CCACHE_DEPEND": "1"}
    return settings | {f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache" for language in ("C", "CXX")}
