"""Random call data, logs and results of the marketplace, valid or damaged."""

from datetime import UTC, datetime
from random import Random
from typing import Any

from tests.differences.comparison import Refused
from tests.differences.random_values import random_address, random_number, random_text

from imprint.client.marketplace import (
    buy_many_call,
    buy_post_call,
    change_price_call,
    create_post_call,
)
from imprint.domain.formats.abi import NotAbi, encode_call
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Codec, cid_of
from imprint.domain.posts.market_events import (
    AdapterPurchase,
    PostPublished,
    PostPurchased,
    PostTagged,
    PriceChanged,
    TokensMoved,
)
from imprint.domain.posts.marketplace import (
    BALANCE_OF,
    BOUGHT,
    GET_POST_INFO,
    POST_CID_TO_TOKEN_ID,
    POST_CREATED,
    POST_PRICE_UPDATED,
    POST_SUBSCRIBED,
    POST_TAGGED,
    TRANSFER,
    Log,
    Undecodable,
    decode_market_event,
    decode_post_info,
)
from imprint.domain.posts.posts import LogPosition

MARKET = Address("0x" + "11" * 20)
PLACE = LogPosition(1, "0x" + "22" * 32, 7, 0, "0x" + "33" * 32)
AT = datetime(2026, 1, 1, tzinfo=UTC)

ADDRESS, NUMBER, TEXT = "address", "uint256", "string"
EVENTS = {
    POST_CREATED: ((NUMBER, ADDRESS), (TEXT, TEXT, TEXT, NUMBER)),
    POST_SUBSCRIBED: ((NUMBER, ADDRESS), (NUMBER,)),
    POST_PRICE_UPDATED: ((NUMBER,), (NUMBER, NUMBER)),
    TRANSFER: ((ADDRESS, ADDRESS, NUMBER), (ADDRESS, NUMBER)),
    POST_TAGGED: ((NUMBER,), (TEXT,)),
    BOUGHT: ((NUMBER, ADDRESS, ADDRESS), (NUMBER,)),
}
"""The types of the topics after the first one, and of the data, by first topic."""


def random_call(rng: Random) -> dict[str, Any]:
    """Return a function of the marketplace or its purchase adapter, and its arguments."""
    number = str(random_number(rng))
    price = str(rng.choice([0, 1, 10**16, 10**18, 10**18 + 1, random_number(rng)]))
    match rng.randrange(7):
        case 0:
            tags = [random_text(rng) for _ in range(rng.randrange(12))]
            texts = [random_text(rng, longest) for longest in (12, 40, 12, 200)]
            names = ("postCid", "postTitle", "thumbnailCid", "description")
            post = dict(zip(names, texts, strict=True)) | {"priceInNative": price, "hashtags": tags}
            return {"functionName": "createPost", "args": [post]}
        case 1:
            return {"functionName": "subscribePost", "args": [number]}
        case 2:
            return {"functionName": "updatePostPrice", "args": [number, price]}
        case 3:
            ids = [str(random_number(rng)) for _ in range(rng.randrange(9))]
            return {"functionName": "buyMany", "args": [ids, random_address(rng)]}
        case 4:
            return {"functionName": "balanceOf", "args": [random_address(rng), number]}
        case 5:
            return {"functionName": "getPostInfo", "args": [number]}
        case _:
            return {"functionName": "postCidToTokenId", "args": [random_text(rng, 99)]}


def encode(call: dict[str, Any]) -> str | Refused:
    """Return the call data that Imprint sends."""
    try:
        return f"0x{_encode(call['functionName'], call['args']).hex()}"
    except ValueError as error:
        return Refused(str(error))


def _encode(function: str, arguments: list[Any]) -> bytes:
    first = arguments[0]
    match function:
        case "createPost":
            return create_post_call(
                MARKET,
                cid=first["postCid"],
                title=first["postTitle"],
                thumbnail_cid=first["thumbnailCid"],
                description=first["description"],
                price=int(first["priceInNative"]),
                hashtags=first["hashtags"],
            ).data
        case "subscribePost":
            return buy_post_call(MARKET, first, 0).data
        case "updatePostPrice":
            return change_price_call(MARKET, first, int(arguments[1])).data
        case "buyMany":
            return buy_many_call(MARKET, first, arguments[1], 0).data
        case "balanceOf":
            return encode_call(BALANCE_OF, first, int(arguments[1]))
        case "getPostInfo":
            return encode_call(GET_POST_INFO, int(first))
        case _:
            return encode_call(POST_CID_TO_TOKEN_ID, first.encode())


def random_log(rng: Random) -> dict[str, Any]:
    """Return the topics and the data of a log, damaged in half of the cases."""
    first = rng.choice(list(EVENTS))
    topics, members = EVENTS[first]
    words = [first, *(encode_call(b"", _random_member(rng, kind)) for kind in topics)]
    data = encode_call(b"", *(_random_member(rng, kind) for kind in members))
    if rng.random() < 0.4:
        data = _damage(rng, data)
    if rng.random() < 0.1:
        at = rng.randrange(len(words))
        words[at] = rng.choice([rng.randbytes(32), _damage(rng, words[at])[:32].ljust(32, b"\0")])
    if rng.random() < 0.05:
        words = rng.choice([words[:-1], [*words, rng.randbytes(32)]])
    return {"topics": [f"0x{word.hex()}" for word in words], "data": f"0x{data.hex()}"}


def _random_member(rng: Random, kind: str) -> int | Address | bytes:
    if kind == ADDRESS:
        return random_address(rng)
    if kind == NUMBER:
        return random_number(rng)
    if rng.random() < 0.2:
        return rng.randbytes(rng.choice([0, 1, 31, 32, 33, 99, 100, 101, 512, 513, 600]))
    if rng.random() < 0.2:
        return cid_of(Codec.RAW, rng.randbytes(32)).encode()
    return random_text(rng, 60).encode()


def _damage(rng: Random, data: bytes) -> bytes:
    """Change a bit, a word, or the length."""
    changed = bytearray(data)
    if not changed:
        return rng.randbytes(32)
    at = rng.randrange(len(changed))
    match rng.randrange(5):
        case 0:
            changed[at] ^= 1 << rng.randrange(8)
        case 1:
            del changed[at:]
        case 2:
            changed += rng.choice([bytes(32), rng.randbytes(rng.randrange(70))])
        case 3:
            del changed[at : at + 32]
        case _:
            start, size = rng.choice([0, at // 32 * 32]), len(changed)
            ends = [0, 31, 32, 64, 96, 128, 160, size - 64, size - 32, size - 31, size, 2**64]
            numbers = [*ends, 2**255, 2**256 - 1, 2**256 - 32, rng.randrange(size + 64)]
            changed[start : start + 32] = max(0, rng.choice(numbers)).to_bytes(32)
    return bytes(changed)


def decode_log(case: dict[str, Any]) -> dict[str, str] | Refused:
    """Return what Imprint reads from a log, under the names of the contract's ABI."""
    topics = tuple(bytes.fromhex(topic[2:]) for topic in case["topics"])
    log = Log(MARKET, topics, bytes.fromhex(case["data"][2:]), PLACE)
    try:
        event = decode_market_event(log, AT)
    except Undecodable as error:
        return Refused(str(error))
    match event:
        case PostPublished():
            return {
                "eventName": "PostCreated",
                "tokenId": str(event.post_id),
                "author": event.author,
                "postTitle": event.title.decode(errors="replace"),
                "postCid": event.spelled_cid.decode(errors="replace"),
                "thumbnailCid": event.thumbnail_cid.decode(errors="replace"),
                "costInNativeInWei": str(event.price),
            }
        case PostPurchased():
            found = {"subscriber": event.buyer, "totalCost": str(event.price)}
            return {"eventName": "PostSubscribed", "tokenId": str(event.post_id)} | found
        case PriceChanged():
            found = {"tokenId": str(event.post_id), "newPrice": str(event.price)}
            return {"eventName": "PostPriceUpdated"} | found
        case TokensMoved():
            found = {"sender": event.sender, "receiver": event.receiver}
            found |= {"id": str(event.post_id), "amount": str(event.amount)}
            return {"eventName": "Transfer"} | found
        case PostTagged():
            found = {"hashtag": event.hashtag.decode(errors="replace")}
            return {"eventName": "PostTagged", "tokenId": str(event.post_id)} | found
        case AdapterPurchase():
            found = {"payer": event.payer, "receiver": event.receiver, "price": str(event.price)}
            return {"eventName": "Bought", "id": str(event.post_id)} | found


def random_post_entry(rng: Random) -> str:
    """Return a result of `getPostInfo` as a struct or as six values, damaged in many cases."""
    kinds = (ADDRESS, TEXT, TEXT, TEXT, TEXT, NUMBER)
    entry = encode_call(b"", *(_random_member(rng, kind) for kind in kinds))
    if rng.random() < 0.9:
        entry = encode_call(b"", 32) + entry
    return f"0x{(_damage(rng, entry) if rng.random() < 0.4 else entry).hex()}"


def decode_entry(returned: str) -> dict[str, str | None] | Refused:
    """Return what Imprint reads from a result of `getPostInfo`."""
    try:
        entry = decode_post_info(bytes.fromhex(returned[2:]))
    except NotAbi as error:
        return Refused(str(error))
    return {"author": entry.author, "cid": entry.cid, "price": str(entry.price)}
