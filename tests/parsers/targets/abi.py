"""ABI: tuples, and the events and results of the marketplace contract."""

from contextlib import suppress
from datetime import UTC, datetime

from imprint.domain.formats.abi import WORD, NotAbi, Tuple, encode_call
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.marketplace import (
    MARKET_TOPICS,
    Log,
    Undecodable,
    decode_access_changed,
    decode_market_event,
    decode_post_created,
    decode_post_details,
    decode_post_info,
)
from imprint.domain.posts.posts import LogPosition

NOW = datetime(2026, 11, 1, 12, 0, 0, tzinfo=UTC)
MARKET = Address("0x" + "c3" * 20)
PLACE = LogPosition(31337, "0x" + "d4" * 32, 12, 3, "0x" + "e5" * 32)
DECODERS = (decode_post_created, decode_access_changed, lambda log: decode_market_event(log, NOW))


def check(data: bytes) -> None:
    """Decode a log and a result, and encode and decode the values of a tuple.

    The first byte is the number of topics. The topics follow, and the data is the rest.
    """
    count = data[0] % 5 if data else 0
    words = [data[at : at + WORD] for at in range(1, 1 + count * WORD, WORD)]
    rest = data[1 + count * WORD :]
    for first in (*words[:1], *MARKET_TOPICS):
        log = Log(MARKET, (first, *words[1:]), rest, PLACE)
        for decode in DECODERS:
            with suppress(Undecodable):
                decode(log)
    for decode_result in (decode_post_info, decode_post_details):
        with suppress(NotAbi):
            decode_result(rest)
    _encode_again(rest)


def _encode_again(data: bytes) -> None:
    with suppress(NotAbi):
        read = Tuple(data, 3)
        values = read.uint256(0), read.string(1), read.address(2)
        again = Tuple(encode_call(b"", values[0], values[1], values[2]), 3)
        assert (again.uint256(0), again.string(1), again.address(2)) == values
    again = Tuple(encode_call(b"", data, len(data), data[:7]), 3)
    assert (again.string(0), again.uint256(1), again.string(2)) == (data, len(data), data[:7])
