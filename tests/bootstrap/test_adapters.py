"""The adapters are opened as the settings say."""

from contextlib import suppress
from pathlib import Path

import pytest
from tests.world import open_world

from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.bootstrap import OpenCatalog, open_adapters
from imprint.domain.errors import CannotStart

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
async def test_the_age_of_a_head_fits_the_chain_unless_it_is_set(
    tmp_path: Path, chain_id: str, given: str, expected: float
) -> None:
    settings = {"CHAIN_ID": chain_id, "CHAIN_MAX_HEAD_AGE_SECONDS": given, "CHAIN_QUORUM": "2"}
    async with open_world(tmp_path, CHAIN_RPC_URL=NODES, **settings) as world:
        marketplace = world.adapters.marketplace
    assert isinstance(marketplace, JsonRpcMarketplace)
    assert (marketplace._max_head_age, marketplace._quorum) == (expected, 2)


def descriptors(folder: Path) -> list[str]:
    """The files below a folder that this process has open."""
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
async def test_attempts_to_open_them_that_fail_leave_no_file_open(
    tmp_path: Path, broken: str
) -> None:
    async with open_world(tmp_path) as world:
        settings = world.settings
    path = settings.storage.data_dir / broken
    path.write_bytes(b"This is no database." * 1000)
    left, errors = OpenCatalog(), []
    for _ in range(3):
        with pytest.raises(CannotStart) as caught:
            open_adapters(settings, left=left)
        # As long as an error is kept, so are the frames in its traceback.
        errors.append(caught.value)
    if left.catalog is not None:
        await left.catalog.close()
    assert descriptors(settings.storage.data_dir) == []
