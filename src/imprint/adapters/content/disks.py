"""Disks: whether a folder is on one of this machine, or on one that others share."""

import re
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")

_LOCAL = frozenset(
    {"bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "tmpfs", "xfs", "zfs"}
)
"""Kinds of file systems whose locks and memory are this machine's alone."""


def is_local(folder: Path, mounts: Path = _MOUNTS) -> bool:
    """Whether no other machine can have this folder; where Linux does not tell, nobody shares."""
    if not mounts.exists():
        return True
    return _kind_of(folder.resolve(), mounts.read_text(errors="replace")) in _LOCAL


def _kind_of(folder: Path, mounts: str) -> str:
    """The kind of the file system at the longest mount point above a folder, mounted last."""
    longest, kind = -1, ""
    for line in mounts.splitlines():
        mounted, _, mount = line.partition(" - ")
        # Spaces in a path are written in octal.
        point = Path(re.sub(r"\\(\d{3})", lambda code: chr(int(code[1], 8)), mounted.split()[4]))
        if folder.is_relative_to(point) and len(point.parts) >= longest:
            longest, kind = len(point.parts), mount.split()[0]
    return kind
