"""Deployment of the marketplace and its purchase adapter on a development chain."""

from typing import Any

import rlp
from eth_account import Account
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address

from imprint.devchain.calls import Request, sign_request
from imprint.devchain.chain import Chain
from imprint.devchain.evm import keccak256
from imprint.marketplace import adapter_artifact, artifact

DEPLOYMENT_GAS = 5_000_000
"""Generous fixed gas limit of a deployment. An estimate would run it about twenty times."""


_ADAPTER_DEPLOYER: LocalAccount = Account.from_key(keccak256(b"imprint development adapter"))
"""The account used only to deploy adapters, so that nothing else spends its nonces."""


class DeploymentImpossible(Exception):
    """The first account has already spent the nonce that determines the marketplace's address."""


def locate_marketplace(chain: Chain) -> str:
    """Return the address of the marketplace, even if it is not deployed yet."""
    return _locate_first(chain.wallet.addresses[0])


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


def deploy_adapter(chain: Chain) -> str:
    """Deploy the purchase adapter of the marketplace and return its address.

    Does nothing if one is deployed already. The deploying account needs no coins, because gas is
    free here.
    """
    address = _locate_first(_ADAPTER_DEPLOYER.address)
    if chain.account(address.lower()).code:
        return address
    transaction: dict[str, Any] = {
        "chainId": chain.id,
        "nonce": 0,
        "gas": DEPLOYMENT_GAS,
        "gasPrice": 0,
        "value": 0,
        "data": adapter_artifact().bytecode + locate_marketplace(chain)[2:].zfill(64),
    }
    chain.submit(bytes(_ADAPTER_DEPLOYER.sign_transaction(transaction).raw_transaction))
    return address


def _locate_first(deployer: str) -> str:
    """Return the address of the contract that an account's first transaction creates."""
    return to_checksum_address(keccak256(rlp.encode([bytes.fromhex(deployer[2:]), 0]))[12:])
