"""Wallets: sign messages and typed data, and send transactions.

Any object with the members of `Wallet` is a wallet. A contract's signature differs only in that it
is longer, so a contract wallet is a wallet whose `address` is the contract's.
"""

import inspect
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from coincurve import PrivateKey

from imprint.client.transactions import Call, Provider, Transaction
from imprint.client.transport import NodeError
from imprint.client.typed_data import TypedData
from imprint.domain.formats.addresses import Address, checksum_address, keccak256

Made = TypeVar("Made")


class Wallet(Protocol):
    """An account that can sign. Its methods may be coroutines or plain functions."""

    @property
    def address(self) -> str:
        """The address on whose behalf the wallet signs."""

    def sign_message(self, message: str) -> Awaitable[str] | str:
        """Return the signature of a text (`personal_sign`), as 0x-prefixed hex."""

    def sign_typed_data(self, data: TypedData) -> Awaitable[str] | str:
        """Return the signature of typed data (EIP-712), as 0x-prefixed hex."""

    def send_transaction(self, call: Call) -> Awaitable[str] | str:
        """Send a transaction and return its hash. The transaction need not be in a block yet."""


async def settle(made: Awaitable[Made] | Made) -> Made:
    """Return the result of a wallet's method, and await it if necessary."""
    if inspect.isawaitable(made):
        return await made
    return made


class KeyWallet:
    """A wallet with a private key, which stays in this process.

    `node` is only needed to send transactions.

    >>> KeyWallet("0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d").address
    '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
    """

    def __init__(self, private_key: str | bytes, node: Provider | None = None) -> None:
        """Create the wallet from 32 bytes or 64 hex digits.

        Raises ValueError for an invalid private key.
        """
        self._key = PrivateKey(_read_key(private_key))
        self._node = node
        point = self._key.public_key.format(compressed=False)
        self.address = checksum_address(Address("0x" + keccak256(point[1:])[-20:].hex()))

    def __repr__(self) -> str:
        return f"KeyWallet({self.address})"

    async def sign_message(self, message: str) -> str:
        """Sign a text (EIP-191)."""
        text = message.encode()
        return self._sign(keccak256(b"\x19Ethereum Signed Message:\n%d" % len(text) + text))

    async def sign_typed_data(self, data: TypedData) -> str:
        """Sign typed data (EIP-712)."""
        return self._sign(data.digest)

    async def send_transaction(self, call: Call) -> str:
        """Sign a transaction (EIP-1559) with the fees that the node suggests, and send it.

        Raises `NodeError`, including for a call that the contract would refuse or that is for
        another chain.
        """
        if self._node is None:
            raise NodeError("This wallet has no node for sending transactions. Give it one.")
        node, asked = self._node, {"from": self.address, **call.as_json()}
        chain_id = await _check_chain(node, call)
        tip = int(await node.request("eth_maxPriorityFeePerGas"), 16)
        price = int(await node.request("eth_gasPrice"), 16)
        transaction = Transaction(
            chain_id=chain_id,
            nonce=int(await node.request("eth_getTransactionCount", self.address, "pending"), 16),
            tip=tip,
            # The base fee can rise by an eighth with each block; twice the fee lasts for six
            # blocks.
            fee=2 * price + tip,
            gas=int(await node.request("eth_estimateGas", asked), 16),
            call=call,
        )
        raw = transaction.sign(self._key)
        return str(await node.request("eth_sendRawTransaction", f"0x{raw.hex()}"))

    def _sign(self, digest: bytes) -> str:
        signature = self._key.sign_recoverable(digest, hasher=None)
        return f"0x{signature[:64].hex()}{27 + signature[64]:02x}"


@dataclass(frozen=True, slots=True)
class NodeWallet:
    """A wallet whose key is held by a node, as on development chains."""

    node: Provider
    address: str

    async def sign_message(self, message: str) -> str:
        """Have the node sign a text. Raises `NodeError`."""
        text = f"0x{message.encode().hex()}"
        return str(await self.node.request("personal_sign", text, self.address))

    async def sign_typed_data(self, data: TypedData) -> str:
        """Have the node sign typed data. Raises `NodeError`."""
        return str(await self.node.request("eth_signTypedData_v4", self.address, data.declared))

    async def send_transaction(self, call: Call) -> str:
        """Have the node sign and send a transaction. Raises `NodeError`, also for a wrong chain."""
        if call.chain_id is not None:
            await _check_chain(self.node, call)
        sent = {"from": self.address, **call.as_json()}
        return str(await self.node.request("eth_sendTransaction", sent))


async def _check_chain(node: Provider, call: Call) -> int:
    """Return the id of the node's chain. Raises `NodeError` if the call is for another chain."""
    chain_id = int(await node.request("eth_chainId"), 16)
    if call.chain_id not in (None, chain_id):
        raise NodeError(
            f"The transaction is for chain {call.chain_id}, but the node is on chain {chain_id}. "
            f"Give the wallet a node for chain {call.chain_id}."
        )
    return chain_id


def _read_key(key: str | bytes) -> bytes:
    try:
        secret = bytes.fromhex(key.removeprefix("0x")) if isinstance(key, str) else key
    except ValueError:
        secret = b""
    if len(secret) != 32:
        # Do not include the value: it may be a key with a typo.
        raise ValueError("A private key must be 32 bytes, or 0x followed by 64 hexadecimal digits.")
    return secret
