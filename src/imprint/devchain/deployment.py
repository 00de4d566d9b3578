"""The deployment of the marketplace on a fresh chain."""

from eth_utils.address import to_checksum_address

from imprint.devchain import rlp
from imprint.devchain.calls import Request, sign_request
from imprint.devchain.chain import Chain
from imprint.devchain.evm import hash_bytes
from imprint.marketplace import artifact

__all__ = ["DeploymentImpossible", "deploy_marketplace", "locate_marketplace"]


class DeploymentImpossible(Exception):
    """The first account has already used the nonce that gives the marketplace its address."""


def locate_marketplace(chain: Chain) -> str:
    """Tell the marketplace's address, whether it is deployed or not."""
    deployer = bytes.fromhex(chain.wallet.addresses[0][2:])
    return to_checksum_address(hash_bytes(rlp.encode([deployer, 0]))[12:])


def deploy_marketplace(chain: Chain) -> str:
    """Deploy the marketplace as the first account's first transaction and return its address.

    Leaves a marketplace that is already there alone. Refuses if that account did something else
    first.
    """
    address = locate_marketplace(chain)
    if chain.account(address.lower()).code:
        return address
    deployer = chain.wallet.addresses[0]
    if chain.account(deployer).nonce != 0:
        raise DeploymentImpossible("the first account was used before the marketplace was deployed")
    code = bytes.fromhex(artifact().bytecode[2:])
    chain.submit(sign_request(chain, Request(sender=deployer, data=code)))
    return address
