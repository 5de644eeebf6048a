"""The generated trees of a project, on a branch of their own: to climb to a later step is to merge that branch."""

import os
import subprocess
import tempfile
from pathlib import Path

BRANCH = "generated"
AUTHOR = ("-c", "user.name=backend/generate.py", "-c", "user.email=generated@localhost")


def git(project: Path, *arguments: str, **settings: str | Path) -> str:
    """What git says.

    Raises:
        ValueError: If it fails, with its text.
    """
    environment = os.environ | {name: str(value) for name, value in settings.items()}
    done = subprocess.run(
        ["git", "-C", str(project), *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise ValueError(f"git {arguments[0]} in {str(project)!r}: {done.stderr.strip()}")
    return done.stdout.strip()


def has(project: Path) -> bool:
    """Whether a folder is a repository with generated trees."""
    if not (project / ".git").exists():
        return False
    return bool(git(project, "branch", "--list", BRANCH))


def is_in_a_repository(folder: Path) -> bool:
    """Whether a folder is in somebody's repository already, so that another there would be in the way."""
    return any((above / ".git").exists() for above in (folder.resolve(), *folder.resolve().parents))


def begin(project: Path, files: dict[str, str], message: str) -> None:
    """Makes a repository of a project that has been written, with the generated tree on both branches."""
    git(project, "init", "--quiet", "--initial-branch=main")
    commit(project, files, message)
    git(project, "reset", "--quiet", BRANCH)


def read(project: Path, file: str) -> str:
    """A file of the last generated tree."""
    return git(project, "show", f"{BRANCH}:{file}")


def commit(project: Path, files: dict[str, str], message: str) -> bool:
    """Commits a generated tree. The working tree and the index stay as they are.

    Returns:
        Whether the tree is another one than the last.
    """
    folder = git(project, "rev-parse", "--absolute-git-dir")
    parent = [git(project, "rev-parse", BRANCH)] if has(project) else []
    with tempfile.TemporaryDirectory() as scratch:
        place = {"GIT_DIR": folder, "GIT_WORK_TREE": f"{scratch}/tree", "GIT_INDEX_FILE": f"{scratch}/index"}
        for path, text in files.items():
            file = Path(scratch, "tree", path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        git(Path(scratch, "tree"), "add", "--all", "--force", ".", **place)
        tree = git(project, "write-tree", **place)
    if parent and tree == git(project, "rev-parse", f"{BRANCH}^{{tree}}"):
        return False
    author = () if git_knows_the_author(project) else AUTHOR
    before = [word for commit_ in parent for word in ("-p", commit_)]
    made = git(project, *author, "commit-tree", tree, "-m", message, *before)
    git(project, "update-ref", f"refs/heads/{BRANCH}", made)
    return True


def git_knows_the_author(project: Path) -> bool:
    """Whether the user has said who they are."""
    try:
        return bool(git(project, "config", "user.email"))
    except ValueError:
        return False
