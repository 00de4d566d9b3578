"""Imprint: a publishing service for work that readers own."""

from pathlib import Path

RELEASE = "1.1.0.dev"
"""The version of a release; between two of them, that of the next one and `.dev`."""

_SHOWN_DIGITS = 12
"""How many digits of a commit a version shows."""


def name_version(release: str, package: Path) -> str:
    """The version of a package; between releases with its commit, as `1.1.0.dev+0123456789ab`."""
    commit = _find_commit(package) if release.endswith(".dev") else None
    return release if commit is None else f"{release}+{commit[:_SHOWN_DIGITS]}"


def _find_commit(package: Path) -> str | None:
    """The commit that a build has noted, or that is checked out."""
    try:
        if (package / "COMMIT").exists():
            return (package / "COMMIT").read_text("ascii").strip()
        return _read_head(package.parents[1] / ".git") if package.parent.name == "src" else None
    except OSError:
        return None


def _read_head(git: Path) -> str | None:
    """The commit that is checked out, without running git. Raises `OSError` without a checkout."""
    if git.is_file():
        # Of a worktree, whose branches are kept with those of the others.
        git = git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()
    head = (git / "HEAD").read_text("utf-8").strip()
    name = head.removeprefix("ref: ")
    if name == head:
        return head
    link = git / "commondir"
    shared = git / link.read_text("utf-8").strip() if link.exists() else git
    if (shared / name).exists():
        return (shared / name).read_text("utf-8").strip()
    packed = (line.split(" ") for line in (shared / "packed-refs").read_text("utf-8").splitlines())
    return next((commit for commit, *names in packed if names == [name]), None)


__version__ = name_version(RELEASE, Path(__file__).parent)
