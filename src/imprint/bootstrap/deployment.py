"""Wires `imprint deploy`: a node, the compiled contracts and the signing key."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from imprint.adapters.chain.deployment import (
    ContractDeployment,
    DeployedContract,
    DeploymentTransaction,
    NotDeployed,
)
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.domain.errors import CannotStart
from imprint.domain.formats.addresses import Address, keccak256, parse_address

__all__ = [
    "ContractDeployment",
    "DeployedContract",
    "DeploymentTransaction",
    "NotDeployed",
    "Signer",
    "contract_address",
    "open_deployment",
    "read_signer",
]


@dataclass(frozen=True, slots=True)
class Signer:
    """A signing account. `sign` returns the signed transaction and its hash."""

    address: Address
    sign: Callable[[DeploymentTransaction], tuple[bytes, str]]


@asynccontextmanager
async def open_deployment(url: str) -> AsyncIterator[ContractDeployment]:
    """A deployment through the node at this URL. Raises `CannotStart` for an invalid URL."""
    try:
        rpc = JsonRpc([url])
    except ValueError as error:
        raise CannotStart(str(error)) from error
    try:
        yield ContractDeployment(rpc)
    finally:
        await rpc.close()


def read_signer(text: str, ask_password: Callable[[], str]) -> Signer:
    """Load the account of a key file: 32 bytes in hexadecimal, or an encrypted JSON keystore.

    Raises `CannotStart` for anything else, for a wrong password, and if the extra `deploy` is
    missing. No message contains any part of the key.
    """
    with _signing_library():
        from eth_account import Account
    text = text.strip()
    try:
        key = Account.decrypt(text, ask_password()) if text.startswith("{") else text
        account = Account.from_key(key)
    except Exception as error:  # noqa: BLE001 - the library raises many kinds, some with the key
        if text.startswith("{"):
            raise CannotStart("The keystore cannot be opened with this password.") from None
        reason = type(error).__name__
        raise CannotStart(
            "The key file must contain a private key of 64 hexadecimal digits, or a keystore "
            f"({reason})."
        ) from None

    def sign(transaction: DeploymentTransaction) -> tuple[bytes, str]:
        signed = account.sign_transaction(transaction.fields())
        return bytes(signed.raw_transaction), "0x" + bytes(signed.hash).hex()

    return Signer(parse_address(account.address), sign)


def contract_address(transaction: DeploymentTransaction) -> Address:
    """The address of the contract this transaction creates."""
    nonce = transaction.nonce
    number = nonce.to_bytes((nonce.bit_length() + 7) // 8, "big")
    # In RLP a number from 1 to 127 is its own byte; other strings are prefixed with their length.
    item = number if 0 < nonce < 0x80 else bytes([0x80 + len(number)]) + number
    pair = bytes([0x80 + 20]) + bytes.fromhex(transaction.sender[2:]) + item
    return Address("0x" + keccak256(bytes([0xC0 + len(pair)]) + pair)[12:].hex())


@contextmanager
def _signing_library() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise CannotStart.missing_extra("Deploying", "deploy") from error
