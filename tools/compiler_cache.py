"""Lets the compiler cache find for one folder what was compiled in another: steps, wheels and tests build alike."""

import shutil
import tempfile
from importlib.util import find_spec
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
    # Behind a link, the compiler names headers by their real path. The cache then asks whether those have changed, and
    # not where the link of this folder leads: to another PyTorch, maybe.
    if torch := find_spec("torch"):
        settings["CCACHE_EXTRAFILES"] = str(Path(torch.submodule_search_locations[0]) / "version.py")
    return settings | {f"CMAKE_{language}_COMPILER_LAUNCHER": "ccache" for language in ("C", "CXX")}


def environment_of_temporary_folders() -> dict[str, str]:
    """The variables for what a test builds in its folder, which has another name in each run and the same in it."""
    return environment(tempfile.gettempdir())
