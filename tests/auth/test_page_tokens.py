"""Page tokens are encrypted and short-lived, and have a single valid spelling."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.auth.page_tokens import (
    MAX_PAGE_TOKEN_LENGTH,
    NONCE_BYTES,
    PagePosition,
    PageTokens,
    TokenCiphers,
)
from imprint.auth.sessions import encode_base64url
from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import OwnDrafts, PublicList
from imprint.domain.sessions import Session

SECRET, OTHER = b"s" * 32, b"o" * 32
TOKENS = PageTokens(SECRET)
NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
LATER = NOW + timedelta(minutes=15)
OWNER = Address("0x" + "ab" * 20)
ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
Refused = Callable[[Callable[[], object]], Code | None]

filters = st.builds(
    OwnDrafts, st.binary(min_size=20, max_size=20).map(lambda raw: Address("0x" + raw.hex()))
) | st.builds(
    PublicList,
    st.lists(st.text(st.characters(categories=["L", "N"]), max_size=32), max_size=10).map(tuple),
    st.booleans(),
)


@given(filters, st.integers(0, 2**63 - 1))
def test_a_position_is_unchanged_after_encoding_and_decoding(
    which: PublicList | OwnDrafts, position: int
) -> None:
    page = PagePosition(which, position)
    assert TOKENS.decode(TOKENS.encode(page, LATER), NOW) == page


def test_a_token_reveals_nothing_and_is_always_different() -> None:
    page = PagePosition(PublicList(("cats",)), 1)
    tokens = {TOKENS.encode(page, LATER) for _ in range(10)}
    assert len(tokens) == 10
    assert not any(encode_base64url(b"cats")[:5] in token for token in tokens)


def test_the_nonce_comes_from_the_given_random_source() -> None:
    fixed = PageTokens(SECRET, random_bytes=lambda n: b"\x01" * n)
    token = fixed.encode(PagePosition(OwnDrafts(OWNER), 1), LATER)
    assert token == fixed.encode(PagePosition(OwnDrafts(OWNER), 1), LATER)
    assert token.startswith(encode_base64url(b"\x01" * 12))


def test_a_token_with_any_changed_character_is_refused(refused: Refused) -> None:
    # Filters of different lengths, so that every possible number of stray bits occurs.
    for which in (OwnDrafts(OWNER), PublicList(("a",)), PublicList(("ab",)), PublicList(("abc",))):
        token = TOKENS.encode(PagePosition(which, 1), LATER)
        for place, old in enumerate(token):
            for new in ALPHABET if place > len(token) - 3 else ALPHABET[::7] + "=+/ \n\0é":
                changed = token[:place] + new + token[place + 1 :]
                if new != old:
                    code = refused(lambda t=changed: TOKENS.decode(t, NOW))
                    assert code is Code.INVALID_PAGE_TOKEN, (place, new)


GOOD = TOKENS.encode(PagePosition(OwnDrafts(OWNER), 7), LATER)
HOSTILE = {
    "empty": "",
    "one character": "A",
    "shorter than a tag": "A" * 36,
    "as long as a tag alone": "A" * 38,
    "cut": GOOD[:-4],
    "grown": GOOD + "AAAA",
    "padded": GOOD + "=" * (-len(GOOD) % 4 or 4),
    "space after": GOOD + " ",
    "line feed after": GOOD + "\n",
    "space inside": GOOD[:8] + " " + GOOD[8:],
    "twice": GOOD + GOOD,
    "halves swapped": GOOD[40:] + GOOD[:40],
    "not ASCII": "é" * 80,
    "lone surrogate": GOOD + "\ud800",
    "very long": "A" * 10_000_000,
    "an offset": "18",
    "plain JSON": '{"owner": "0x"}',
    "of another secret": PageTokens(OTHER).encode(PagePosition(OwnDrafts(OWNER), 7), LATER),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_token_is_refused(text: str, refused: Refused) -> None:
    assert refused(lambda: TOKENS.decode(text, NOW)) is Code.INVALID_PAGE_TOKEN


@pytest.mark.parametrize(("seconds", "code"), [(-1, None), (0, Code.INVALID_PAGE_TOKEN)])
def test_a_token_is_valid_until_it_expires(
    seconds: int, code: Code | None, refused: Refused
) -> None:
    assert refused(lambda: TOKENS.decode(GOOD, LATER + timedelta(seconds=seconds))) is code


def test_tokens_of_the_previous_secret_are_still_accepted_after_a_rotation(
    refused: Refused,
) -> None:
    rotated = PageTokens(OTHER, previous=SECRET)
    assert rotated.decode(GOOD, NOW) == PagePosition(OwnDrafts(OWNER), 7)
    new = rotated.encode(PagePosition(OwnDrafts(OWNER), 7), LATER)
    assert rotated.decode(new, NOW) == PagePosition(OwnDrafts(OWNER), 7)
    assert refused(lambda: TOKENS.decode(new, NOW)) is Code.INVALID_PAGE_TOKEN


def test_the_longest_filter_fits_into_a_token() -> None:
    tags = tuple(chr(0x20000 + n) * MAX_TAG_LENGTH for n in range(MAX_TAGS))
    token = TOKENS.encode(PagePosition(PublicList(tags), 2**63 - 1), LATER)
    assert len(token) <= MAX_PAGE_TOKEN_LENGTH
    assert TOKENS.decode(token, NOW).filter == PublicList(tags)


def token_of(length: int) -> str:
    """Return the shortest valid token that has at least this many characters."""
    pages = (PagePosition(PublicList(("a" * letters,)), 1) for letters in range(length))
    tokens = (TOKENS.encode(page, LATER) for page in pages)
    return next(token for token in tokens if len(token) >= length)


def test_a_token_of_the_maximum_length_is_decoded(refused: Refused) -> None:
    token = token_of(MAX_PAGE_TOKEN_LENGTH)
    assert len(token) == MAX_PAGE_TOKEN_LENGTH
    assert refused(lambda: TOKENS.decode(token, NOW)) is None


def test_a_genuine_token_above_the_maximum_length_is_refused(refused: Refused) -> None:
    token = token_of(MAX_PAGE_TOKEN_LENGTH + 1)
    assert refused(lambda: TOKENS.decode(token, NOW)) is Code.INVALID_PAGE_TOKEN


def test_a_token_for_drafts_is_short() -> None:
    assert len(GOOD) <= 90


@given(st.text() | st.text(ALPHABET, min_size=30))
def test_arbitrary_text_raises_nothing_but_a_refusal(text: str) -> None:
    with pytest.raises(Refusal):
        TOKENS.decode(text, NOW)


def test_a_token_for_drafts_contains_the_session_it_was_issued_for() -> None:
    session = Session(OWNER, LATER, "7-ab", 7)
    page = PagePosition(OwnDrafts(OWNER), 1, LATER, session)
    assert TOKENS.decode(TOKENS.encode(page, LATER), NOW) == page


def test_a_token_from_an_older_release_decodes_to_a_position_with_no_session() -> None:
    fixed = b"\x01" * NONCE_BYTES
    packed = msgspec.msgpack.encode(
        [1, int(LATER.timestamp()), 5, bytes.fromhex(OWNER[2:]), int(LATER.timestamp())]
    )
    token = TokenCiphers(SECRET, None, b"imprint page token 1").encrypt(fixed, packed)
    assert TOKENS.decode(token, NOW) == PagePosition(OwnDrafts(OWNER), 5, LATER)


def test_an_older_release_can_decode_a_token_with_a_session() -> None:
    class OldPosition(msgspec.Struct, frozen=True, array_like=True, tag=1):
        expires: int
        position: int
        owner: bytes
        until: int | None

    page = PagePosition(OwnDrafts(OWNER), 5, LATER, Session(OWNER, LATER, "7-ab", 7))
    packed = TokenCiphers(SECRET, None, b"imprint page token 1").decrypt(TOKENS.encode(page, LATER))
    assert msgspec.msgpack.decode(packed, type=OldPosition).position == 5
