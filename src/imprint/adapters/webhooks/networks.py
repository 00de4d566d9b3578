"""The providers' names for networks, and their chain ids."""

from collections.abc import Iterable

_CHAINS = {
    1: ("eth_mainnet", "ethereum_mainnet"),
    10: ("opt_mainnet", "optimism_mainnet"),
    56: ("bnb_mainnet", "bsc_mainnet", "bsc"),
    97: ("bnb_testnet", "bsc_testnet"),
    100: ("gnosis_mainnet", "xdai_mainnet", "xdai"),
    130: ("unichain_mainnet",),
    137: ("matic_mainnet", "polygon_mainnet", "matic"),
    324: ("zksync_mainnet",),
    480: ("worldchain_mainnet", "world_mainnet"),
    1101: ("polygonzkevm_mainnet", "zkevm_mainnet"),
    2020: ("ronin_mainnet",),
    5000: ("mantle_mainnet",),
    8453: ("base_mainnet",),
    10200: ("gnosis_chiado",),
    17000: ("eth_holesky", "ethereum_holesky"),
    42161: ("arb_mainnet", "arbitrum_mainnet"),
    42170: ("arbnova_mainnet", "nova_mainnet"),
    42220: ("celo_mainnet",),
    43113: ("avax_fuji", "avalanche_testnet", "avalanche_fuji"),
    43114: ("avax_mainnet", "avalanche_mainnet"),
    59144: ("linea_mainnet",),
    80002: ("matic_amoy", "polygon_amoy"),
    81457: ("blast_mainnet",),
    84532: ("base_sepolia",),
    421614: ("arb_sepolia", "arbitrum_sepolia"),
    534352: ("scroll_mainnet",),
    560048: ("eth_hoodi", "ethereum_hoodi"),
    7777777: ("zora_mainnet",),
    11155111: ("eth_sepolia", "ethereum_sepolia"),
    11155420: ("opt_sepolia", "optimism_sepolia"),
}
"""Names by chain id, in lower case with `_` between words."""


def network_names(chain_id: int, more: Iterable[str] = ()) -> frozenset[str]:
    """The known names of a chain and those that the operator adds, normalized."""
    return frozenset(map(simplify_name, (*_CHAINS.get(chain_id, ()), *more)))


def simplify_name(network: str) -> str:
    """A name in lower case with `_` between words: providers differ in both."""
    return network.strip().lower().replace("-", "_")
