"""Imprint: a publishing service for work that readers own."""

from pathlib import Path

RELEASE = "1.1.0.dev"
"""The release version. Between releases, it is the next version followed by `.dev`."""

_SHOWN_DIGITS = 12
"""Number of digits of the commit hash that a version string includes."""


def name_version(release: str, package: Path) -> str:
    """Return the package version. Between releases, it includes the commit hash."""
    commit = _find_commit(package) if release.endswith(".dev") else None
    return release if commit is None else f"{release}+{commit[:_SHOWN_DIGITS]}"


def _find_commit(package: Path) -> str | None:
    """Return the commit that the build recorded, or else the checked-out commit."""
    try:
        if (package / "COMMIT").exists():
            return (package / "COMMIT").read_text("ascii").strip()
        return _read_head(package.parents[1] / ".git") if package.parent.name == "src" else None
    except OSError:
        return None


def _read_head(git: Path) -> str | None:
    """Read the checked-out commit without running git. Raises `OSError` outside a checkout."""
    if git.is_file():
        # In a worktree, the branches are stored in the common directory.
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
