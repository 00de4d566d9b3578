"""Which file systems the embedded store considers local."""

from pathlib import Path

import pytest

from imprint.adapters.content.embedded import is_local

MOUNTS = r"""
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:26 / /srv rw - xfs /dev/vdb rw
31 30 0:27 / /srv/shared rw shared:1 - nfs4 files:/exports rw
32 31 0:28 / /srv/shared/mine rw - tmpfs tmpfs rw
33 22 0:29 / /mnt/two\040words rw - fuse.sshfs far: rw
34 22 0:30 / /over rw - nfs4 files:/old rw
35 22 0:31 / /over rw - ext4 /dev/vdc rw
"""


@pytest.mark.parametrize(
    ("folder", "local"),
    [
        ("/var/lib/imprint", True),
        ("/srv/imprint", True),
        ("/srv/shared", False),
        ("/srv/shared/imprint", False),
        ("/srv/sharedelsewhere", True),
        ("/srv/shared/mine/imprint", True),
        ("/mnt/two words/imprint", False),
        ("/over/imprint", True),
    ],
)
def test_the_longest_matching_mount_point_decides_whether_a_folder_is_local(
    tmp_path: Path, folder: str, local: bool
) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS.lstrip())
    assert is_local(Path(folder), mounts) is local


def test_a_disk_counts_as_local_if_the_mount_list_is_missing(tmp_path: Path) -> None:
    assert is_local(Path("/srv"), tmp_path / "no such file")
