"""Deployment of the marketplace on a fresh chain."""

import rlp
from eth_utils.address import to_checksum_address

from imprint.devchain.calls import Request, sign_request
from imprint.devchain.chain import Chain
from imprint.devchain.evm import keccak256
from imprint.marketplace import artifact

DEPLOYMENT_GAS = 5_000_000
"""A generous fixed gas limit, because estimating it would run the deployment about twenty times."""


class DeploymentImpossible(Exception):
    """The first account has already spent the nonce that determines the marketplace's address."""


def locate_marketplace(chain: Chain) -> str:
    """Return the address of the marketplace, even if it is not deployed yet."""
    deployer = bytes.fromhex(chain.wallet.addresses[0][2:])
    return to_checksum_address(keccak256(rlp.encode([deployer, 0]))[12:])


def deploy_marketplace(chain: Chain) -> str:
    """Deploy the marketplace as the first account's first transaction and return its address.

    Does nothing if it is deployed already. Raises `DeploymentImpossible` if the account has spent
    its first nonce on something else.
    """
    address = locate_marketplace(chain)
    if chain.account(address.lower()).code:
        return address
    deployer = chain.wallet.addresses[0]
    if chain.account(deployer).nonce != 0:
        raise DeploymentImpossible("the first account was used before the marketplace was deployed")
    code = bytes.fromhex(artifact().bytecode[2:])
    chain.submit(sign_request(chain, Request(sender=deployer, data=code, gas=DEPLOYMENT_GAS)))
    return address
