"""The chain ids of the providers' network names."""

import pytest

from imprint.adapters.webhooks.networks import CHAIN_IDS, find_chain_id


@pytest.mark.parametrize(
    ("name", "chain_id"),
    [
        ("ETH_MAINNET", 1),
        ("eth-sepolia", 11155111),
        ("MATIC_MAINNET", 137),
        ("POLYGON_MAINNET", 137),
        ("BASE_MAINNET", 8453),
        ("ARB_MAINNET", 42161),
        ("OPT_MAINNET", 10),
        ("ethereum-mainnet", 1),
        ("ethereum-sepolia", 11155111),
        ("polygon-mainnet", 137),
        ("base-sepolia", 84532),
        ("arbitrum-mainnet", 42161),
        ("optimism-mainnet", 10),
        ("a-network-of-tomorrow", None),
        ("", None),
    ],
)
def test_a_chain_is_known_by_the_names_of_both_providers(name: str, chain_id: int | None):
    assert find_chain_id(name) == chain_id


def test_the_known_names_are_in_the_form_that_is_looked_up():
    assert {name: find_chain_id(name) for name in CHAIN_IDS} == CHAIN_IDS
