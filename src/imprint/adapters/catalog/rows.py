"""Rows to values and back."""

import json
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from imprint.adapters.catalog.steps import Row, Value
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.files import File, Intent, Publication, State
from imprint.domain.posts import LogPlace, PostCreated

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_STATES = {state.value: state for state in State}


def micros(moment: datetime) -> int:
    """A moment as whole microseconds since 1970, UTC."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(value: int) -> datetime:
    """The moment that many microseconds after 1970, UTC."""
    return _EPOCH + timedelta(0, 0, value)


def key_text(text: str) -> str:
    """A text from outside as part of a key: another spelling if it has bytes no database takes.

    Different texts stay different: NUL and lone surrogates are escaped, and so is the backslash.
    """
    if text.isascii() and text.isprintable() and "\\" not in text:
        return text
    return text.encode("unicode_escape").decode("ascii")


def kept_text(text: str) -> str:
    """A text from outside that is only kept: what no database takes is replaced."""
    clean = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    return clean.encode("utf-8", "replace").decode("utf-8")


def hashtags_text(hashtags: tuple[str, ...]) -> str:
    """Hashtags as they are stored, in their order."""
    return json.dumps(hashtags, ensure_ascii=False)


def hashtags_of(text: str) -> tuple[str, ...]:
    """Hashtags that are stored as this text."""
    # None has a letter that JSON would escape, so that what stands between them is always the same.
    return () if text == "[]" else tuple(text[2:-2].split('", "'))


def file_of(row: Row) -> File:
    """The file that a row tells of."""
    return _build_file(tuple(row))


@lru_cache(maxsize=512)
def _build_file(row: tuple[Any, ...]) -> File:
    # Lists show the same rows again and again, and to recognize one costs a fraction.
    post_id, published_at, tx_hash, hashtags, thumbnail, wrapped_key = row[9:15]
    publication = None
    if post_id is not None:
        publication = Publication(int(post_id), moment_of(published_at), tx_hash)
    return File(
        row[0],
        row[1],
        row[2],
        row[3],
        row[4],
        row[5],
        moment_of(row[6]),
        _STATES[row[7]],
        row[8],
        hashtags_of(hashtags),
        thumbnail,
        publication,
        wrapped_key,
    )


def event_of(row: Row) -> PostCreated:
    """The event that a row tells of."""
    place = LogPlace(
        chain_id=row[0],
        block_hash=row[1],
        block_number=row[2],
        log_index=row[3],
        tx_hash=row[4],
    )
    return PostCreated(
        place=place,
        post_id=int(row[5]),
        author=Address(row[6]),
        spelled_cid=row[7],
        cid=None if row[8] is None else Cid(row[8]),
    )


def identity_values(place: LogPlace) -> dict[str, Value]:
    """What identifies a log."""
    return {
        "chain_id": place.chain_id,
        "block_hash": place.block_hash.lower(),
        "log_index": place.log_index,
    }


def event_values(event: PostCreated) -> dict[str, Value]:
    """What a row keeps of an event."""
    return {
        **identity_values(event.place),
        "block_number": event.place.block_number,
        "tx_hash": event.place.tx_hash,
        "post_id": str(event.post_id),
        "author": event.author,
        "spelled_cid": kept_text(event.spelled_cid),
        "cid": event.cid,
    }


def intent_values(intent: Intent) -> dict[str, Value]:
    """What a row keeps of an intent."""
    return {
        "id": intent.id,
        "signer": intent.write.signer,
        "nonce": key_text(intent.write.nonce),
        "action": intent.write.action.value,
        "cid": intent.cid,
        "network": intent.network.value,
        "number": intent.number,
        "lease_until": micros(intent.lease_until),
    }
