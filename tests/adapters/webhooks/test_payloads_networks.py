"""Network names used by the providers."""

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
def test_a_chain_is_recognized_by_the_names_of_both_providers(name: str, chain_id: int):
    assert simplify_name(name) in network_names(chain_id)
    assert simplify_name(name) not in network_names(chain_id + 1)


def test_an_operator_can_name_an_unlisted_chain():
    assert network_names(31337) == frozenset()
    assert network_names(31337, ["My-Net", "OTHER_NET"]) == {"my_net", "other_net"}


def test_names_given_by_the_operator_are_added_to_the_built_in_ones():
    assert network_names(1, ["fork"]) == {"eth_mainnet", "ethereum_mainnet", "fork"}
