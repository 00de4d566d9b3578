"""The marketplace contract: event topics, function selectors, and decoders."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from imprint.domain.formats.abi import NotAbi, Tuple, decode_address, decode_uint256
from imprint.domain.formats.addresses import ZERO_ADDRESS, Address, keccak256
from imprint.domain.formats.cids import Cid, NotACid, parse_cid
from imprint.domain.posts.market_events import (
    AdapterPurchase,
    EventDetail,
    MarketEvent,
    Origin,
    PostPublished,
    PostPurchased,
    PostTagged,
    PriceChanged,
    TokensMoved,
    position_of,
)
from imprint.domain.posts.posts import (
    AccessChanged,
    BlockRef,
    LogPosition,
    PostCreated,
    PostDetails,
    PostEntry,
)

POST_CREATED = bytes.fromhex("f753f630973e9c5274697eb346810b78c35457ef0df3e0c5c7ade5841d55ca77")
"""First topic of PostCreated(uint256,string,string,string,address,uint256), for a new post."""

POST_SUBSCRIBED = bytes.fromhex("c4f07abc81eeea9be4a90005faadbbbb0ddfd027f96110739619c68d7da06d24")
"""First topic of PostSubscribed(uint256,address,uint256), emitted when a reader buys a token."""

POST_PRICE_UPDATED = bytes.fromhex(
    "ad528c798f61306a244b88624c5d602fa1fa8cc73bd73c40b6ad5920ff9cc817"
)
"""First topic of PostPriceUpdated(uint256,uint256,uint256), emitted when a price changes."""

TRANSFER = bytes.fromhex("1b3d7edb2e9c0b0e7c525b20aaaef0f5940d2ed71663c7d39266ecafac728859")
"""First topic of Transfer(address,address,address,uint256,uint256), emitted by ERC-6909."""

POST_TAGGED = bytes.fromhex("19584cd97344f44fe77feb2de781277ccbadb573bac11270c515749d8e92698d")
"""First topic of PostTagged(uint256,string), emitted for each hashtag of a new post."""

BOUGHT = bytes.fromhex("888231f55a3cd8fd72276bc1b12ed5a60f8d92e62d288e64bf29dd6e5fc7809a")
"""First topic of Bought(uint256,address,address,uint256), which the purchase adapter emits."""

MARKET_TOPICS = (
    POST_CREATED,
    POST_TAGGED,
    POST_SUBSCRIBED,
    POST_PRICE_UPDATED,
    TRANSFER,
    BOUGHT,
)
"""The first topics of all logs that the post index reads."""

GET_POST_INFO = bytes.fromhex("eba1e3b3")
"""Selector of getPostInfo(uint256), which returns the contract's entry for a post ID."""

POST_CID_TO_TOKEN_ID = bytes.fromhex("e8be2748")
"""Selector of postCidToTokenId(string), which returns the ID of the post with a CID, or 0."""

BALANCE_OF = bytes.fromhex("00fdd58e")
"""Selector of balanceOf(address,uint256), which returns a token balance (ERC-6909)."""

SUBSCRIBE_POST = bytes.fromhex("df58067d")
"""Selector of subscribePost(uint256), which buys the token of a post for its price."""

ADAPTER_MARKET = bytes.fromhex("f46f16c2")
"""Selector of the purchase adapter's MARKET(), which returns the marketplace it buys from."""

ADAPTER_FUNCTIONS = {
    "MARKET()": ADAPTER_MARKET,
    "buyFor(uint256,address)": bytes.fromhex("a3a8573a"),
    "buyMany(uint256[],address)": bytes.fromhex("90bcd2d5"),
}
"""Functions of the purchase adapter that the service and its pages call."""

EARLIER_FUNCTIONS = {
    "createPost((string,string,string,string,uint256))": bytes.fromhex("a7b7802e"),
    "getAllPosts()": bytes.fromhex("30561100"),
    "getUserPosts(address)": bytes.fromhex("9a2194a9"),
}
"""Functions that the earlier front end calls in addition to those of every marketplace."""

_PUSH4 = b"\x63"
"""The instruction that pushes a selector in order to compare it with the selector of a call."""

MAX_SPELLED_CID = 512
"""Maximum length of a CID's text in bytes. Longer texts are not stored or parsed."""

MAX_TITLE = 100
"""Maximum stored length of a title in bytes. The marketplace accepts no more."""

MAX_DESCRIPTION = 500
"""Maximum stored length of a description in bytes. The marketplace accepts no more."""

_STAND_IN = "0x" + "0" * 16
"""The prefix of a placeholder block hash. A real hash has it with a probability of 2^-64."""


@dataclass(frozen=True, slots=True)
class Log:
    """A log from a node or a provider. `removed` is true if its block is no longer canonical.

    `timestamp` is the time of its block in seconds, if the node includes it in the log.
    """

    address: Address
    topics: tuple[bytes, ...]
    data: bytes
    place: LogPosition
    removed: bool = False
    timestamp: int | None = field(default=None, compare=False)


class Undecodable(ValueError):
    """A malformed marketplace log. The message gives the reason."""


def decode_post_created(log: Log) -> PostCreated:
    """Decode a PostCreated log. `cid` is None if the text is not a CID. Raises `Undecodable`.

    The title is not read and the thumbnail is not checked, because neither affects publication.
    """
    _expect_topics(log, POST_CREATED, 3)
    try:
        post_id, author = decode_uint256(log.topics[1]), decode_address(log.topics[2])
        members = Tuple(log.data, 4)
        spelled = members.string(1)
    except NotAbi as error:
        raise Undecodable(str(error)) from error
    if len(spelled) > MAX_SPELLED_CID:
        raise Undecodable("The text of the CID is too long.")
    try:
        text = spelled.decode()
    except UnicodeDecodeError as error:
        raise Undecodable("The text of the CID is not UTF-8.") from error
    if "\0" in text:
        raise Undecodable("The text of the CID contains a NUL.")
    return PostCreated(
        log.place, post_id, author, text, _cid_or_none(text), _thumbnail_or_none(members)
    )


def decode_access_changed(log: Log) -> AccessChanged:
    """Decode a Transfer, PostSubscribed or PostPriceUpdated log as a change of access.

    Raises `Undecodable`, including for any other log.
    """
    topic = log.topics[0] if log.topics else b""
    try:
        if topic == TRANSFER:
            _expect_topics(log, TRANSFER, 4)
            both = decode_address(log.topics[1]), decode_address(log.topics[2])
            holders = tuple(holder for holder in both if holder != ZERO_ADDRESS)
            return AccessChanged(log.place, decode_uint256(log.topics[3]), holders)
        if topic == POST_SUBSCRIBED:
            _expect_topics(log, POST_SUBSCRIBED, 3)
            reader = decode_address(log.topics[2])
            return AccessChanged(log.place, decode_uint256(log.topics[1]), (reader,))
        _expect_topics(log, POST_PRICE_UPDATED, 2)
        return AccessChanged(log.place, decode_uint256(log.topics[1]), None)
    except NotAbi as error:
        raise Undecodable(str(error)) from error


def decode_market_event(log: Log, at: datetime) -> MarketEvent | EventDetail:
    """Decode a log with one of `MARKET_TOPICS`, from a block with this timestamp.

    Texts that are too long are truncated. Raises `Undecodable`.
    """
    topic = log.topics[0] if log.topics else b""
    try:
        origin = _origin_of(log.place, at)
        if topic == TRANSFER:
            _expect_topics(log, TRANSFER, 4)
            sender, receiver = decode_address(log.topics[1]), decode_address(log.topics[2])
            amount = Tuple(log.data, 2).uint256(1)
            return TokensMoved(origin, decode_uint256(log.topics[3]), sender, receiver, amount)
        if topic == POST_SUBSCRIBED:
            _expect_topics(log, POST_SUBSCRIBED, 3)
            post_id, buyer = decode_uint256(log.topics[1]), decode_address(log.topics[2])
            return PostPurchased(origin, post_id, buyer, Tuple(log.data, 1).uint256(0))
        if topic == POST_CREATED:
            return _decode_published(log, origin)
        if topic == POST_TAGGED:
            _expect_topics(log, POST_TAGGED, 2)
            hashtag = Tuple(log.data, 1).string(0)
            return PostTagged(origin, decode_uint256(log.topics[1]), hashtag)
        if topic == BOUGHT:
            _expect_topics(log, BOUGHT, 4)
            payer, receiver = decode_address(log.topics[2]), decode_address(log.topics[3])
            post_id, price = decode_uint256(log.topics[1]), Tuple(log.data, 1).uint256(0)
            return AdapterPurchase(origin, post_id, log.address, payer, receiver, price)
        _expect_topics(log, POST_PRICE_UPDATED, 2)
        price = Tuple(log.data, 2).uint256(1)
        return PriceChanged(origin, decode_uint256(log.topics[1]), price)
    except NotAbi as error:
        raise Undecodable(str(error)) from error


def cut_text(text: bytes, length: int) -> bytes:
    """Truncate a text to this many bytes without splitting a character."""
    if len(text) <= length:
        return text
    for end in range(length, max(length - 4, -1), -1):
        # A UTF-8 character has at most four bytes, and only the first is not a continuation byte.
        if text[end] & 0xC0 != 0x80:
            return text[:end]
    return text[:length]


def decode_post_info(returned: bytes) -> PostEntry:
    """Decode the result of getPostInfo. `cid` is None if its text is not a CID. Raises `NotAbi`.

    A contract may return the entry as one struct or as six values. The struct begins with
    the offset 32, the six values begin with the author, and no author has the address 32.
    """
    entry = _entry_of(returned)
    # All four strings are read, though only one is used, to refuse a truncated entry.
    spelled, *_ = [entry.string(place) for place in range(1, 5)]
    try:
        cid = _cid_or_none(spelled.decode())
    except UnicodeDecodeError:
        cid = None
    return PostEntry(entry.address(0), cid, entry.uint256(5))


def decode_post_details(returned: bytes) -> PostDetails:
    """Decode the description in the result of getPostInfo, truncated if it is too long.

    Raises `NotAbi`.
    """
    entry = _entry_of(returned)
    spelled, description = entry.string(1), entry.string(4)
    return PostDetails(
        entry.address(0),
        cut_text(spelled, MAX_SPELLED_CID),
        cut_text(description, MAX_DESCRIPTION),
    )


def stand_in_block_hash(*parts: bytes) -> str:
    """Return a placeholder for a block hash that the provider omitted.

    The same parts give the same hash, so the event is applied only once. No block can
    confirm it.
    """
    digest = keccak256(b"".join(keccak256(part) for part in parts)).hex()
    return (_STAND_IN + digest)[: 2 + 64]


def _decode_published(log: Log, origin: Origin) -> PostPublished:
    _expect_topics(log, POST_CREATED, 3)
    members = Tuple(log.data, 4)
    spelled = members.string(1)
    try:
        cid = _cid_or_none(spelled.decode())
    except UnicodeDecodeError:
        cid = None
    return PostPublished(
        origin=origin,
        post_id=decode_uint256(log.topics[1]),
        author=decode_address(log.topics[2]),
        spelled_cid=cut_text(spelled, MAX_SPELLED_CID),
        cid=cid,
        thumbnail_cid=cut_text(members.string(2), MAX_SPELLED_CID),
        title=cut_text(members.string(0), MAX_TITLE),
        price=members.uint256(3),
    )


def _origin_of(place: LogPosition, at: datetime) -> Origin:
    if place.block_number is None or place.tx_hash is None:
        raise Undecodable("The block or the transaction of the log is unknown.")
    try:
        number = position_of(place.block_number, place.log_index)
    except ValueError as error:
        raise Undecodable(str(error)) from error
    return Origin(number, BlockRef(place.block_number, place.block_hash), place.tx_hash, at)


def _entry_of(returned: bytes) -> Tuple:
    if Tuple(returned, 1).uint256(0) == 32:
        returned = returned[32:]
    return Tuple(returned, 6)


def _expect_topics(log: Log, first: bytes, count: int) -> None:
    if not log.topics or log.topics[0] != first:
        raise Undecodable("The log has an unexpected first topic.")
    if len(log.topics) != count:
        raise Undecodable(f"The log has {len(log.topics)} topics instead of {count}.")


def _thumbnail_or_none(members: Tuple) -> Cid | None:
    try:
        return _cid_or_none(members.string(2).decode())
    except (NotAbi, UnicodeDecodeError):
        return None


def _cid_or_none(text: str) -> Cid | None:
    if len(text) > MAX_SPELLED_CID:
        return None
    try:
        return parse_cid(text)
    except NotACid:
        return None


def missing_functions(code: bytes, functions: Mapping[str, bytes]) -> list[str]:
    """Return the functions, given by their selectors, that a contract with this code lacks."""
    return [name for name, each in functions.items() if _PUSH4 + each not in code]
