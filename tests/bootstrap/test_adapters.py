"""The adapters are opened as the settings say."""

from pathlib import Path

import pytest
from tests.world import open_world

from imprint.adapters.chain.marketplace import JsonRpcMarketplace

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
