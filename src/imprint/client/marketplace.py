"""The marketplace contract: calls for authors and readers, receipts, and amounts."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from imprint.client.transactions import Call, Provider
from imprint.client.transport import NodeError, Reverted
from imprint.domain.formats import coins
from imprint.domain.formats.abi import NotAbi, decode_uint256, encode_call
from imprint.domain.formats.addresses import keccak256, parse_address
from imprint.domain.formats.coins import DECIMALS
from imprint.domain.posts.marketplace import (
    ADAPTER_FUNCTIONS,
    BALANCE_OF,
    MAX_DESCRIPTION,
    MAX_TITLE,
    POST_CREATED,
    SUBSCRIBE_POST,
)
from imprint.interface.values import Wei

POST_LIMITS: Mapping[str, int] = MappingProxyType(
    {
        "title_bytes": MAX_TITLE,
        "description_bytes": MAX_DESCRIPTION,
        "price_wei": 10**18,
        "hashtags": 10,
    }
)
"""Limits of the arguments of `createPost`, in bytes of UTF-8, wei, or number of hashtags."""

CREATE_POST = keccak256(b"createPost((string,string,string,string,uint256,string[]))")[:4]
"""Selector of `createPost`."""

UPDATE_POST_PRICE = keccak256(b"updatePostPrice(uint256,uint256)")[:4]
"""Selector of the price-change function."""

BUY_MANY = ADAPTER_FUNCTIONS["buyMany(uint256[],address)"]
"""Selector of the purchase adapter's `buyMany`."""

RECEIPT_POLL_SECONDS = 0.25
"""Seconds between checks whether a transaction is in a block."""

_WORD = 32


@dataclass(frozen=True, slots=True)
class ReceiptLog:
    """An event in a receipt."""

    address: str
    topics: tuple[bytes, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receipt of a transaction that is in a block."""

    transaction: str
    status: Literal["success", "reverted"]
    block_number: int
    logs: tuple[ReceiptLog, ...]


def create_post_call(
    marketplace: str,
    *,
    cid: str,
    title: str,
    thumbnail_cid: str,
    description: str = "",
    price: int = 0,
    hashtags: Sequence[str] = (),
    chain_id: int | None = None,
) -> Call:
    """Build the call that publishes a draft. `chain_id` restricts it to one chain.

    Raises ValueError for arguments that the contract would refuse.
    """
    _check_post(title, description, hashtags)
    _check_price(price)
    for name, text in (("cid", cid), ("title", title), ("thumbnail", thumbnail_cid)):
        if not text:
            raise ValueError(f"A post needs a {name}.")
    texts = [text.encode() for text in (cid, title, thumbnail_cid, description)]
    # The hashtags come last: encode an empty string in their position, and replace its one word.
    post = encode_call(b"", *texts, price, b"")[:-_WORD]
    tags = encode_call(b"", len(hashtags)) + encode_call(b"", *(tag.encode() for tag in hashtags))
    data = encode_call(CREATE_POST, _WORD) + post + tags
    return Call(marketplace, data, chain_id=chain_id)


def buy_post_call(
    marketplace: str, post_id: str | int, price: int, *, chain_id: int | None = None
) -> Call:
    """Build the call that buys the token of a post. Any excess payment is returned.

    `chain_id` restricts the call to one chain.
    """
    return Call(marketplace, encode_call(SUBSCRIBE_POST, int(post_id)), price, chain_id)


def buy_many_call(
    adapter: str,
    post_ids: Sequence[str | int],
    receiver: str,
    value: int,
    *,
    chain_id: int | None = None,
) -> Call:
    """Build the call that buys posts for a receiver through the purchase adapter: all or none.

    `value` is the sum of their prices. `chain_id` restricts the call to one chain.
    """
    ids = [int(post_id) for post_id in post_ids]
    data = encode_call(BUY_MANY, 2 * _WORD, parse_address(receiver), len(ids), *ids)
    return Call(adapter, data, value, chain_id)


def change_price_call(
    marketplace: str, post_id: str | int, price: int, *, chain_id: int | None = None
) -> Call:
    """Build the call that changes the price of the author's post.

    `chain_id` restricts it to one chain. Raises ValueError above 1 coin.
    """
    _check_price(price)
    data = encode_call(UPDATE_POST_PRICE, int(post_id), price)
    return Call(marketplace, data, chain_id=chain_id)


async def find_receipt(provider: Provider, transaction: str) -> Receipt | None:
    """Return a transaction's receipt, or None while the transaction is not in a block.

    Raises `NodeError`.
    """
    said = await provider.request("eth_getTransactionReceipt", transaction)
    if said is None:
        return None
    try:
        return Receipt(
            transaction,
            "success" if int(said["status"], 16) == 1 else "reverted",
            int(said["blockNumber"], 16),
            tuple(map(_read_log, said["logs"])),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise NodeError("The node returned a receipt that cannot be read.") from error


async def wait_for_receipt(
    provider: Provider, transaction: str, seconds: float | None = 120
) -> Receipt:
    """Wait until a transaction is in a block and return its receipt.

    Raises `Reverted`, `NodeError`, and TimeoutError after `seconds` seconds.
    """
    async with asyncio.timeout(seconds):
        while (receipt := await find_receipt(provider, transaction)) is None:  # noqa: ASYNC110 - a node has no event for it
            await asyncio.sleep(RECEIPT_POLL_SECONDS)
    if receipt.status == "reverted":
        raise Reverted(f"The contract refused the transaction {transaction}.")
    return receipt


def created_post_id(receipt: Receipt, marketplace: str) -> str | None:
    """Return the ID of the post that a transaction created, or None."""
    wanted = marketplace.lower()
    for log in receipt.logs:
        if log.address == wanted and log.topics[:1] == (POST_CREATED,) and len(log.topics) > 1:
            return str(int.from_bytes(log.topics[1]))
    return None


async def balance_of(provider: Provider, marketplace: str, address: str, post_id: str | int) -> int:
    """Return how many tokens of a post an address currently holds. Raises `NodeError`."""
    data = encode_call(BALANCE_OF, parse_address(address), int(post_id))
    asked = {"to": marketplace, "data": f"0x{data.hex()}"}
    said = await provider.request("eth_call", asked, "latest")
    try:
        return decode_uint256(bytes.fromhex(said[2:]))
    except (NotAbi, TypeError, ValueError) as error:
        raise NodeError("There is no marketplace at this address.") from error


def _read_log(said: Mapping[str, Any]) -> ReceiptLog:
    topics = tuple(bytes.fromhex(topic[2:]) for topic in said["topics"])
    return ReceiptLog(str(said["address"]).lower(), topics, bytes.fromhex(said["data"][2:]))


def _check_post(title: str, description: str, tags: Sequence[str]) -> None:
    if len(title.encode()) > POST_LIMITS["title_bytes"]:
        raise ValueError(f"A title may have at most {POST_LIMITS['title_bytes']} bytes of UTF-8.")
    if len(description.encode()) > POST_LIMITS["description_bytes"]:
        most = POST_LIMITS["description_bytes"]
        raise ValueError(f"A description may have at most {most} bytes of UTF-8.")
    if len(tags) > POST_LIMITS["hashtags"]:
        raise ValueError(f"A post may have at most {POST_LIMITS['hashtags']} hashtags.")


def _check_price(price: int) -> None:
    if not 0 <= price <= POST_LIMITS["price_wei"]:
        raise ValueError("A price must be between 0 and 1 coin (10^18 wei).")


_AMOUNT = re.compile(rf"([0-9]+)?(?:\.([0-9]{{1,{DECIMALS}}}))?", re.ASCII)
_LIMIT = 2**256


def format_coin(wei: int | str) -> str:
    """Format an amount of wei exactly in coins.

    >>> format_coin(10**16)
    '0.01'
    """
    amount = int(wei)
    if amount < 0:
        raise ValueError("An amount must not be negative.")
    return coins.format_coin(amount)


def parse_coin(text: str) -> Wei:
    """Parse an exact amount of coins. Raises ValueError with a user-readable message.

    >>> parse_coin("0.01")
    10000000000000000
    """
    found = _AMOUNT.fullmatch(text.strip())
    if found is None or found[0] == "":
        raise ValueError(f"Write the amount as a number with at most {DECIMALS} decimals: 0.01")
    whole, digits = found[1] or "0", (found[2] or "").ljust(DECIMALS, "0")
    amount = Wei(whole + digits)
    if amount >= _LIMIT:
        raise ValueError("The amount does not fit in 256 bits.")
    return amount
