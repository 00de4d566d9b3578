"""Deploys a contract: prepares the transaction, and follows it on the chain."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from imprint.adapters.chain.http_client import NodeFailure, NodeRefusal
from imprint.adapters.chain.json_rpc import Call, JsonRpc
from imprint.domain.formats.addresses import Address, NotAnAddress, parse_address
from imprint.domain.formats.hexadecimal import (
    NotHexadecimal,
    parse_hash,
    parse_hex_bytes,
    parse_hex_number,
)

Read = TypeVar("Read")

CALL_SECONDS = 10.0
"""Timeout of a node request in seconds."""

POLL_SECONDS = 1.0
"""Polling interval in seconds."""

GAS_MARGIN = 1.2
"""Safety factor for the gas estimate, because a reorg can make the deployment cost more."""

BASE_FEE_MARGIN = 2
"""Safety factor for the base fee, enough for six full blocks, each of which raises the fee by an
eighth."""

DEFAULT_TIP = 10**9
"""Default tip in wei per gas if the node suggests none."""


class NotDeployed(Exception):
    """The contract was not deployed. The message tells the operator why."""


@dataclass(frozen=True, slots=True)
class DeploymentTransaction:
    """The transaction that creates a contract.

    `head` is the newest block when the transaction is prepared. `tip` is None on a chain without a
    base fee.
    """

    sender: Address
    chain_id: int
    head: int
    nonce: int
    gas: int
    max_fee: int
    tip: int | None
    code: str

    @property
    def highest_cost(self) -> int:
        """The maximum cost in wei."""
        return self.gas * self.max_fee

    def fields(self) -> dict[str, Any]:
        """The fields of the transaction as wallets and signers expect them, without `to`."""
        fees: dict[str, Any] = {"gasPrice": hex(self.max_fee)}
        if self.tip is not None:
            fees = {
                "type": "0x2",
                "maxFeePerGas": hex(self.max_fee),
                "maxPriorityFeePerGas": hex(self.tip),
            }
        return {
            "chainId": hex(self.chain_id),
            "nonce": hex(self.nonce),
            "gas": hex(self.gas),
            **fees,
            "value": "0x0",
            "data": self.code,
        }


@dataclass(frozen=True, slots=True)
class DeployedContract:
    """The contract's address, and the block that created it."""

    chain_id: int
    address: Address
    block: int


class ContractDeployment:
    """Prepares, sends and awaits the deployment through one node."""

    def __init__(self, rpc: JsonRpc, poll_seconds: float = POLL_SECONDS) -> None:
        self._rpc = rpc
        self._poll_seconds = poll_seconds

    async def prepare(self, sender: Address, code: str) -> DeploymentTransaction:
        """Prepare the transaction that creates the contract with this code.

        Raises `NotDeployed` if the sender cannot pay for the transaction, or the node does not
        respond.
        """
        chain_id, block, nonce, balance = await self._ask(
            Call("eth_chainId"),
            Call("eth_getBlockByNumber", ("latest", False)),
            Call("eth_getTransactionCount", (sender, "pending")),
            Call("eth_getBalance", (sender, "latest")),
        )
        if not isinstance(block, dict):
            raise NotDeployed("The node's newest block is malformed.")
        max_fee, tip = await self._fees(block)
        transaction = DeploymentTransaction(
            sender,
            _read(parse_hex_number, chain_id),
            _read(parse_hex_number, block.get("number")),
            _read(parse_hex_number, nonce),
            await self._estimate(sender, code),
            max_fee,
            tip,
            code,
        )
        has = _read(parse_hex_number, balance)
        if has < transaction.highest_cost:
            raise NotDeployed(
                f"The account {sender} has {has} wei, but the deployment may cost up to "
                f"{transaction.highest_cost} wei. Send it some coins, and try again."
            )
        return transaction

    async def check_contract(self, address: Address) -> None:
        """Raise `NotDeployed` if the contract does not exist, or if no node responds."""
        (code,) = await self._ask(Call("eth_getCode", (address, "latest")))
        if not _read(parse_hex_bytes, code):
            raise NotDeployed(f"There is no contract at {address}.")

    async def check_node(self) -> None:
        """Raise `NotDeployed` if the node does not respond."""
        await self._ask(Call("eth_chainId"))

    async def send(self, signed: bytes, transaction_hash: str) -> None:
        """Send a signed transaction. A transaction that the node already has counts as sent.

        Raises `NotDeployed` if the node refuses the transaction. If the response is lost, `wait`
        determines the outcome.
        """
        try:
            await self._call(Call("eth_sendRawTransaction", ("0x" + signed.hex(),)))
        except NodeRefusal as refusal:
            (known,) = await self._ask(Call("eth_getTransactionByHash", (transaction_hash,)))
            if known is None:
                raise NotDeployed(f"The node refused the transaction: {refusal}.") from refusal
        except (NodeFailure, TimeoutError):
            # Without a valid response, the transaction may still have arrived.
            return

    async def wait(self, transaction_hash: str) -> DeployedContract:
        """Wait indefinitely until the transaction is in a block.

        Raises `NotDeployed` if it failed or created no contract.
        """
        while True:
            try:
                chain_id, receipt = await self._call(
                    Call("eth_chainId"), Call("eth_getTransactionReceipt", (transaction_hash,))
                )
            except (NodeFailure, TimeoutError):
                receipt = None
            if receipt is not None:
                return _read_receipt(chain_id, receipt, transaction_hash)
            await asyncio.sleep(self._poll_seconds)

    async def wait_for_code(
        self, prepared: DeploymentTransaction, address: Address
    ) -> DeployedContract:
        """Wait indefinitely until an externally signed transaction has created the contract.

        The block that created the contract is assumed to be the one after the last block seen
        without it, so that no event of the contract is missed. Raises `NotDeployed` if the nonce
        was used for something else.
        """
        block = prepared.head + 1
        while True:
            try:
                head, nonce, code = await self._call(
                    Call("eth_blockNumber"),
                    Call("eth_getTransactionCount", (prepared.sender, "latest")),
                    Call("eth_getCode", (address, "latest")),
                )
            except (NodeFailure, TimeoutError):
                await asyncio.sleep(self._poll_seconds)
                continue
            if _read(parse_hex_bytes, code):
                return DeployedContract(prepared.chain_id, address, block)
            if _read(parse_hex_number, nonce) > prepared.nonce:
                raise NotDeployed(
                    f"The account {prepared.sender} has used its nonce {prepared.nonce} for another"
                    " transaction. Run the command again."
                )
            block = _read(parse_hex_number, head) + 1
            await asyncio.sleep(self._poll_seconds)

    async def _fees(self, block: dict[str, Any]) -> tuple[int, int | None]:
        """The maximum fee per gas, and the priority fee that it includes."""
        if block.get("baseFeePerGas") is None:
            (price,) = await self._ask(Call("eth_gasPrice"))
            return _read(parse_hex_number, price), None
        base = _read(parse_hex_number, block["baseFeePerGas"])
        try:
            (suggested,) = await self._call(Call("eth_maxPriorityFeePerGas"))
        except NodeRefusal:
            tip = DEFAULT_TIP
        except (NodeFailure, TimeoutError) as error:
            raise _not_responding(error) from error
        else:
            tip = _read(parse_hex_number, suggested)
        return BASE_FEE_MARGIN * base + tip, tip

    async def _estimate(self, sender: Address, code: str) -> int:
        try:
            (gas,) = await self._call(Call("eth_estimateGas", ({"from": sender, "data": code},)))
        except NodeRefusal as refusal:
            raise NotDeployed(
                f"The node cannot estimate the cost of the deployment: {refusal}. The account "
                "may have no coins, or the chain may be older than the Cancun upgrade."
            ) from refusal
        except (NodeFailure, TimeoutError) as error:
            raise _not_responding(error) from error
        return int(_read(parse_hex_number, gas) * GAS_MARGIN)

    async def _ask(self, *calls: Call) -> Sequence[Any]:
        try:
            return await self._call(*calls)
        except (NodeFailure, TimeoutError) as error:
            raise _not_responding(error) from error

    async def _call(self, *calls: Call) -> Sequence[Any]:
        async with asyncio.timeout(CALL_SECONDS):
            return await self._rpc.send(0, calls)


def _not_responding(error: Exception) -> NotDeployed:
    reason = str(error) or "it took too long"
    return NotDeployed(f"The node does not respond properly: {reason}.")


def _read_receipt(chain_id: object, receipt: object, transaction_hash: str) -> DeployedContract:
    if not isinstance(receipt, dict):
        raise NotDeployed("The receipt of the transaction is malformed.")
    found = _read(parse_hash, receipt.get("transactionHash"))
    if found != transaction_hash:
        raise NotDeployed(f"The node returned the receipt of another transaction, {found}.")
    if _read(parse_hex_number, receipt.get("status")) != 1:
        raise NotDeployed(f"The transaction {found} was reverted: no contract is deployed.")
    if receipt.get("contractAddress") is None:
        raise NotDeployed(f"The transaction {found} created no contract.")
    return DeployedContract(
        _read(parse_hex_number, chain_id),
        _read(parse_address, receipt["contractAddress"]),
        _read(parse_hex_number, receipt.get("blockNumber")),
    )


def _read(parse: Callable[[Any], Read], value: object) -> Read:
    try:
        return parse(value)
    except (NotHexadecimal, NotAnAddress) as error:
        raise NotDeployed("The node returned a malformed value.") from error
