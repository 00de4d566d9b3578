"""The providers' names of networks."""

import pytest

from imprint.adapters.webhooks.payloads import network_names, simplify_name


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
        (" Ethereum-Mainnet ", 1),
    ],
)
def test_a_chain_is_known_by_the_names_of_both_providers(name: str, chain_id: int):
    assert simplify_name(name) in network_names(chain_id)
    assert simplify_name(name) not in network_names(chain_id + 1)


def test_an_operator_can_name_a_chain_that_is_not_known():
    assert network_names(31337) == frozenset()
    assert network_names(31337, ["My-Net", "OTHER_NET"]) == {"my_net", "other_net"}


def test_an_operators_names_are_added_to_the_known_ones():
    assert network_names(1, ["fork"]) == {"eth_mainnet", "ethereum_mainnet", "fork"}
