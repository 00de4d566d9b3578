"""Lists the files of the project."""

import hashlib
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]


def files_matching(patterns: Iterable[str], root: Path = ROOT) -> list[Path]:
    """Return the files that match one of these globs and that git tracks or would add, sorted."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    globs = [f":(glob){pattern}" for pattern in patterns]
    listed = subprocess.run([*command, *globs], cwd=root, capture_output=True, check=True)  # noqa: S603
    names = sorted(set(listed.stdout.decode().split("\0")) - {""})
    return [root / name for name in names if (root / name).is_file()]


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
