"""Blocks, transactions, receipts and logs in the form JSON-RPC clients expect."""

from collections.abc import Sequence
from typing import Any

from imprint.devchain.blocks import EMPTY_ROOT, EMPTY_UNCLES, Block, Receipt
from imprint.devchain.machine import BLOCK_GAS_LIMIT, COINBASE
from imprint.devchain.transactions import DYNAMIC_FEE, LEGACY

__all__ = [
    "Answer",
    "show_block",
    "show_bytes",
    "show_logs",
    "show_quantity",
    "show_receipt",
    "show_transaction",
]

Answer = dict[str, Any]
"""A JSON object."""


def show_quantity(number: int) -> str:
    """Write a number in hex without leading zeros."""
    return hex(number)


def show_bytes(data: bytes) -> str:
    """Write bytes in hex."""
    return "0x" + data.hex()


def show_block(block: Block, *, whole: bool) -> Answer:
    """Show a block with its transactions, whole or by their hashes."""
    transactions: list[Answer | str] = []
    if block.receipt is not None:
        bare = show_bytes(block.receipt.transaction.hash)
        transactions.append(show_transaction(block, block.receipt) if whole else bare)
    return {
        "number": show_quantity(block.number),
        "hash": show_bytes(block.hash),
        "parentHash": show_bytes(block.parent_hash),
        "nonce": show_bytes(bytes(8)),
        "sha3Uncles": show_bytes(EMPTY_UNCLES),
        "logsBloom": show_bytes(block.bloom),
        "transactionsRoot": show_bytes(block.transactions_root),
        "stateRoot": show_bytes(block.state_root),
        "receiptsRoot": show_bytes(block.receipts_root),
        "miner": COINBASE,
        "difficulty": "0x0",
        "totalDifficulty": "0x0",
        "extraData": "0x",
        "mixHash": show_bytes(block.randomness),
        "size": show_quantity(block.size),
        "gasLimit": show_quantity(BLOCK_GAS_LIMIT),
        "gasUsed": show_quantity(block.gas_used),
        "timestamp": show_quantity(block.timestamp),
        "baseFeePerGas": "0x0",
        "withdrawalsRoot": show_bytes(EMPTY_ROOT),
        "blobGasUsed": "0x0",
        "excessBlobGas": "0x0",
        "parentBeaconBlockRoot": show_bytes(bytes(32)),
        "transactions": transactions,
        "withdrawals": [],
        "uncles": [],
    }


def show_transaction(block: Block, receipt: Receipt) -> Answer:
    """Show a transaction that a block holds."""
    transaction = receipt.transaction
    shown: Answer = {
        "blockHash": show_bytes(block.hash),
        "blockNumber": show_quantity(block.number),
        "transactionIndex": "0x0",
        "hash": show_bytes(transaction.hash),
        "type": show_quantity(transaction.kind),
        "chainId": show_quantity(transaction.chain_id),
        "nonce": show_quantity(transaction.nonce),
        "from": transaction.sender,
        "to": transaction.to,
        "value": show_quantity(transaction.value),
        "input": show_bytes(transaction.data),
        "gas": show_quantity(transaction.gas),
        "gasPrice": show_quantity(receipt.gas_price),
        "v": show_quantity(transaction.v),
        "r": show_quantity(transaction.r),
        "s": show_quantity(transaction.s),
    }
    if transaction.kind != LEGACY:
        shown["yParity"] = show_quantity(transaction.v)
        shown["accessList"] = [
            {
                "address": address,
                "storageKeys": [show_bytes(slot.to_bytes(32, "big")) for slot in slots],
            }
            for address, slots in transaction.access_list
        ]
    if transaction.kind == DYNAMIC_FEE:
        shown["maxFeePerGas"] = show_quantity(transaction.max_fee)
        shown["maxPriorityFeePerGas"] = show_quantity(transaction.max_priority_fee)
    return shown


def show_receipt(block: Block, receipt: Receipt) -> Answer:
    """Show what became of a transaction."""
    transaction = receipt.transaction
    return {
        "transactionHash": show_bytes(transaction.hash),
        "transactionIndex": "0x0",
        "blockHash": show_bytes(block.hash),
        "blockNumber": show_quantity(block.number),
        "from": transaction.sender,
        "to": transaction.to,
        "type": show_quantity(transaction.kind),
        "status": show_quantity(int(receipt.success)),
        "contractAddress": receipt.created,
        "gasUsed": show_quantity(receipt.gas_used),
        "cumulativeGasUsed": show_quantity(receipt.gas_used),
        "effectiveGasPrice": show_quantity(receipt.gas_price),
        "logsBloom": show_bytes(receipt.bloom),
        "logs": show_logs(block),
    }


def show_logs(block: Block) -> Sequence[Answer]:
    """Show all logs of a block."""
    if block.receipt is None:
        return []
    transaction_hash = show_bytes(block.receipt.transaction.hash)
    return [
        {
            "address": log.address,
            "topics": [show_bytes(topic) for topic in log.topics],
            "data": show_bytes(log.data),
            "blockHash": show_bytes(block.hash),
            "blockNumber": show_quantity(block.number),
            "blockTimestamp": show_quantity(block.timestamp),
            "transactionHash": transaction_hash,
            "transactionIndex": "0x0",
            "logIndex": show_quantity(index),
            "removed": False,
        }
        for index, log in enumerate(block.receipt.logs)
    ]
