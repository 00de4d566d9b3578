"""Locks taken by rules, and the values that every database can store."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from imprint.adapters.database.transaction import (
    CONDEMN_LOCK,
    document_lock,
    event_locks,
    file_locks,
    kept_text,
    key_text,
    micros,
    moment_of,
    owner_lock,
    write_locks,
)
from imprint.domain.drafts.files import Action, File, Intent, Network, State, Write
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import document_cid
from imprint.domain.posts.posts import LogPosition, PostCreated

ALICE, BOB = (Address("0x" + digit * 40) for digit in "ab")
TEXT, IMAGE, DRAFT = map(document_cid, (b"text", b"image", b"draft"))
NOW = datetime(2024, 5, 17, 12, 30, 15, 123456, tzinfo=UTC)
WRITE = Write(ALICE, Action.UPDATE, "nonce", NOW)
FILE = File("id", "group", ALICE, "name", TEXT, 4, NOW, State.PENDING, 1)
EVENT = PostCreated(LogPosition(1, "0x" + "1" * 64, 1, 0, None), 7, ALICE, TEXT, TEXT)

ANY_TEXT = st.text(st.characters() | st.sampled_from("\0\\\ud800\udfffx0ud8"))

LOOKALIKES = [
    "\0",
    "\\0",
    "\\x00",
    "\\\\x00",
    "\ud800",
    "\\ud800",
    "\\\\ud800",
    "\udfff",
    "\ufffd",
    "",
]
"""Texts that careless escaping would make equal."""


def test_locks_of_documents_networks_and_owners_are_distinct():
    private, public = (document_lock(TEXT, network) for network in Network)
    assert len(private | public | owner_lock(ALICE) | owner_lock(BOB) | CONDEMN_LOCK) == 5


def test_typed_values_and_values_read_from_a_row_give_the_same_lock():
    assert document_lock(str(TEXT), "private") == document_lock(TEXT, Network.PRIVATE)


def test_a_write_locks_its_signer_its_drafts_and_its_stored_document():
    intent = Intent("id", WRITE, IMAGE, 1, Network.PUBLIC, NOW)
    held = owner_lock(ALICE) | document_lock(TEXT, "private") | document_lock(DRAFT, "private")
    assert write_locks(WRITE, None, TEXT, DRAFT) == held
    assert write_locks(WRITE, intent, TEXT, DRAFT) == held | document_lock(IMAGE, "public")


def test_events_lock_their_authors_and_the_documents_they_may_publish():
    unreadable = replace(EVENT, author=BOB, spelled_cid="no cid", cid=None)
    expected = owner_lock(ALICE) | owner_lock(BOB) | document_lock(TEXT, "private")
    assert event_locks(iter([EVENT, unreadable])) == expected


def test_a_file_locks_its_owner_its_document_and_its_public_thumbnail():
    held = owner_lock(ALICE) | document_lock(TEXT, "private")
    assert file_locks(FILE) == held
    assert file_locks(replace(FILE, thumbnail_cid=IMAGE)) == held | document_lock(IMAGE, "public")


@pytest.mark.parametrize(
    ("moment", "number"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), 0),
        (datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), -1),
        (NOW, 1715949015123456),
        (datetime.max.replace(tzinfo=UTC), 253402300799999999),
    ],
)
def test_a_timestamp_is_stored_to_the_microsecond(moment, number):
    assert micros(moment) == number
    assert moment_of(number) == moment


def test_a_timestamp_is_the_same_number_in_every_time_zone():
    assert micros(NOW.astimezone(timezone(timedelta(hours=-7)))) == micros(NOW)


@pytest.mark.parametrize("text", ["", "nonce", "a b", "~!%'\"{}"])
def test_a_plain_key_is_stored_unchanged(text):
    assert key_text(text) == text


def test_similar_looking_keys_stay_distinct():
    assert len({key_text(text) for text in LOOKALIKES}) == len(LOOKALIKES)


@given(ANY_TEXT)
@example("\0")
@example("a\0b\ud800\\")
def test_every_key_is_stored_as_reversible_ascii_text(text):
    stored = key_text(text)
    assert stored.isascii()
    assert "\0" not in stored
    assert stored.encode().decode("unicode_escape") == text


@given(ANY_TEXT)
@example("\0")
@example("a\0b\ud800\\")
def test_stored_text_replaces_only_characters_that_a_database_rejects(text):
    kept = kept_text(text)
    kept.encode()
    assert "\0" not in kept
    assert len(kept) == len(text)
    for old, new in zip(text, kept, strict=True):
        assert old in (new, "\0") or "\ud800" <= old <= "\udfff"
