"""Opening the adapters according to the settings."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.installations import environment_of
from tests.world import open_world

from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.bootstrap import OpenDatabase, open_adapters
from imprint.domain.errors import CannotStart
from imprint.settings import read_settings

NODES = "http://127.0.0.1:1,http://127.0.0.1:2"


@pytest.mark.parametrize(
    ("chain_id", "given", "expected"),
    [
        ("1", "auto", 180.0),
        ("8453", "auto", 60.0),
        ("31337", "auto", 0.0),
        ("1337", "auto", 0.0),
        ("987654", "auto", 0.0),
        ("1", "0", 0.0),
        ("31337", "600", 600.0),
    ],
)
async def test_the_maximum_head_age_depends_on_the_chain_unless_configured(
    tmp_path: Path, chain_id: str, given: str, expected: float
) -> None:
    settings = {"CHAIN_ID": chain_id, "CHAIN_MAX_HEAD_AGE_SECONDS": given, "CHAIN_QUORUM": "2"}
    async with open_world(tmp_path, CHAIN_RPC_URL=NODES, **settings) as world:
        marketplace = world.adapters.marketplace
    assert isinstance(marketplace, JsonRpcMarketplace)
    assert (marketplace._calls.max_head_age, marketplace._quorum) == (expected, 2)


def descriptors(folder: Path) -> list[str]:
    """Return the files below a folder that this process has open."""
    found = []
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            path = each.readlink()
            if path.is_relative_to(folder):
                found.append(str(path.relative_to(folder)))
    return found


@pytest.mark.parametrize(
    "broken", ["imprint.db", "content/private/small.db", "content/public/small.db"]
)
async def test_a_failure_to_open_the_adapters_leaves_no_files_open(
    tmp_path: Path, broken: str
) -> None:
    async with open_world(tmp_path) as world:
        settings = world.settings
    path = settings.storage.data_dir / broken
    path.write_bytes(b"This is no database." * 1000)
    left, errors = OpenDatabase(), []
    for _ in range(3):
        with pytest.raises(CannotStart) as caught:
            open_adapters(settings, left=left)
        # As long as an error is alive, so are the frames in its traceback.
        errors.append(caught.value)
    if left.database is not None:
        await left.database.close()
    assert descriptors(settings.storage.data_dir) == []


WITHOUT_LIBRARY = """
import sys
from pathlib import Path
import imprint.cli.serve
assert "obstore" not in sys.modules
sys.modules["obstore"] = None
from imprint.bootstrap import open_adapters
from imprint.domain.errors import CannotStart
from imprint.settings import read_settings
settings = {name: text for name, text in (each.split("=", 1) for each in sys.argv[1:])}
try:
    open_adapters(read_settings(settings))
except CannotStart as error:
    print(error)
"""


def test_a_missing_bucket_library_is_reported_in_one_sentence(tmp_path: Path) -> None:
    given = {"IMPRINT_CONTENT_STORE": "s3://bucket", **environment_of(tmp_path)}
    pairs = [f"{name}={text}" for name, text in given.items()]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_LIBRARY, *pairs], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{CannotStart.missing_extra('A bucket', 's3')}\n", done.stderr


THREADS = """
import os
from imprint.adapters.content.bucket import BucketAccess, open_bucket
open_bucket(BucketAccess("s3", "bucket", key_id="a", secret="b"))
print(len(os.listdir("/proc/self/task")))
"""


def test_opening_a_bucket_starts_no_thread() -> None:
    done = subprocess.run(
        [sys.executable, "-c", THREADS], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"


def test_the_data_folder_is_not_created_if_it_is_not_needed(tmp_path: Path) -> None:
    environ = environment_of(tmp_path / "data") | {
        "IMPRINT_CONTENT_STORE": "s3://bucket",
        "IMPRINT_S3_ACCESS_KEY_ID": "a",
        "IMPRINT_S3_SECRET_ACCESS_KEY": "b",
        "IMPRINT_DATABASE_URL": "postgresql://127.0.0.1:1/nothing",
    }
    with pytest.raises(CannotStart):
        open_adapters(read_settings(environ))
    assert not (tmp_path / "data").exists()
