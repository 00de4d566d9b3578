"""JSON encoding of records: amounts are strings of digits, and unknown members are ignored."""

from datetime import UTC, datetime

import msgspec
import pytest

from imprint.interface.accounts import Session
from imprint.interface.codec import decode_json, encode_json, encode_once
from imprint.interface.posts import FeedAccess, JsonFeed, PostLinks, SalesTotal
from imprint.interface.values import Wei

TOTAL = SalesTotal(2, Wei(2**256 - 1))


def test_an_amount_is_a_string_of_digits() -> None:
    assert encode_json(TOTAL) == b'{"count":2,"volume":"%d"}' % (2**256 - 1)
    assert decode_json(encode_json(TOTAL), SalesTotal) == TOTAL


@pytest.mark.parametrize("volume", ["7", '"-7"', '"0x7"', '""', "null"])
def test_only_a_string_of_digits_is_accepted_as_an_amount(volume: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_json(b'{"count":2,"volume":%s}' % volume.encode(), SalesTotal)


def test_amounts_are_the_only_extension_to_plain_json() -> None:
    with pytest.raises(NotImplementedError):
        encode_json(object())


def test_members_of_a_later_version_are_ignored() -> None:
    assert decode_json(b'{"count":1,"volume":"1","mean":"1"}', SalesTotal) == SalesTotal(1, Wei(1))


def test_a_record_encoded_in_advance_gives_the_same_json() -> None:
    assert encode_json([encode_once(TOTAL)]) == encode_json([TOTAL])


def test_an_absent_optional_member_is_left_out() -> None:
    assert b"next_url" not in encode_json(JsonFeed("1", "Posts", "/", "/feed", ()))


def test_the_json_member_self_has_a_different_name_in_python() -> None:
    links = PostLinks("/posts/1", "/posts/1/content", "/p/1")
    assert b'"self":"/posts/1"' in encode_json(links)
    assert decode_json(encode_json(links), PostLinks).itself == "/posts/1"


def test_the_repr_of_a_record_shows_no_secret() -> None:
    session = Session("secret", "0x00", "2h", datetime(2026, 1, 1, tzinfo=UTC))
    access = FeedAccess("id", "https://imprint.example/secret.atom", "/secret.json")
    assert "secret" not in repr(session) + repr(access)
