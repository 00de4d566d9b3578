"""The changes that authors sign: a draft is added, replaced, dressed, discarded."""

from collections.abc import Sequence
from dataclasses import replace

from imprint.adapters.catalog import nonces
from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.adding import add_file
from imprint.adapters.catalog.holding import hold_document, hold_write
from imprint.adapters.catalog.ordering import UNPLACED, retag
from imprint.adapters.catalog.rows import file_of, hashtags_text, micros
from imprint.adapters.catalog.steps import Query, Steps, Value
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.files import File, Intent, Network, State, Version, Write


def add_draft(write: Write, intent: Intent, version: Version) -> Steps[File]:
    """A new group with this version as its draft; a post at once if an event came before it."""
    yield hold_write(write, intent)
    yield from nonces.refuse_spent(write.signer, write.nonce)
    yield from nonces.end(intent)
    group: dict[str, Value] = {
        "id": version.group_id,
        "owner": version.owner,
        "created_at": micros(version.created_at),
    }
    yield Query(sql.ADD_GROUP, group)
    file = yield from add_file(_draft_of(version, version.group_id))
    yield from nonces.spend(write, file)
    return file


def replace_draft(write: Write, intent: Intent, old: Cid, version: Version) -> Steps[File | None]:
    """Put a version in the place of the draft `old`; None if that is no draft of the signer.

    The group is the one that the draft is in now: an event may have moved it since it was read.
    """
    yield hold_write(write, intent, old)
    yield from nonces.refuse_spent(write.signer, write.nonce)
    draft = yield from _draft(old, write.signer)
    if draft is None:
        return None
    yield from nonces.end(intent)
    yield from _retire(draft, State.SUPERSEDED, write)
    dress = draft.hashtags, draft.thumbnail_cid
    file = yield from add_file(_draft_of(version, draft.group_id, *dress))
    yield from nonces.spend(write, file)
    return file


def prepare_draft(
    write: Write, intent: Intent, cid: Cid, hashtags: Sequence[str]
) -> Steps[File | None]:
    """Give a draft its thumbnail and hashtags; None if `cid` is no draft of the signer."""
    yield hold_write(write, intent)
    yield from nonces.refuse_spent(write.signer, write.nonce)
    draft = yield from _draft(cid, write.signer)
    if draft is None:
        return None
    yield from nonces.end(intent)
    dressed = replace(draft, hashtags=tuple(hashtags), thumbnail_cid=intent.cid)
    values = {
        "id": draft.group_id,
        "hashtags": hashtags_text(dressed.hashtags),
        "thumbnail_cid": intent.cid,
    }
    yield Query(sql.DRESS_GROUP, values)
    yield from retag(draft, dressed)
    if draft.thumbnail_cid is not None and draft.thumbnail_cid != intent.cid:
        yield from _let_go(draft.thumbnail_cid, write)
    yield from nonces.spend(write, dressed)
    return dressed


def delete_draft(write: Write, cid: Cid) -> Steps[File | None]:
    """Delete a draft and return what it was; None if `cid` is no draft of the signer."""
    yield hold_write(write, None, cid)
    yield from nonces.refuse_spent(write.signer, write.nonce)
    draft = yield from _draft(cid, write.signer)
    if draft is None:
        return None
    yield from _retire(draft, State.DELETED, write)
    if draft.thumbnail_cid is not None:
        yield from _let_go(draft.thumbnail_cid, write)
    yield from nonces.spend(write, None)
    return draft


def _draft(cid: Cid, owner: Address) -> Steps[File | None]:
    rows = yield Query(sql.DRAFT_OF_OWNER, {"cid": cid, "owner": owner})
    return file_of(rows[0]) if rows else None


def _retire(draft: File, state: State, write: Write) -> Steps[None]:
    yield Query(sql.RETIRE_FILE, {"id": draft.id, "state": state.value})
    yield from retag(draft, None)
    yield _detach(draft.cid, Network.PRIVATE, write)


def _let_go(thumbnail: Cid, write: Write) -> Steps[None]:
    yield hold_document(thumbnail, Network.PUBLIC)
    yield _detach(thumbnail, Network.PUBLIC, write)


def _detach(cid: Cid, network: Network, write: Write) -> Query:
    values = {"cid": cid, "network": network.value, "detached_at": micros(write.at)}
    return Query(sql.DETACH, values)


def _draft_of(
    version: Version,
    group_id: str,
    hashtags: tuple[str, ...] = (),
    thumbnail_cid: Cid | None = None,
) -> File:
    """The draft that a version becomes in a group with these hashtags and this thumbnail."""
    return File(
        id=version.id,
        group_id=group_id,
        owner=version.owner,
        name=version.name,
        cid=version.cid,
        size=version.size,
        created_at=version.created_at,
        state=State.PENDING,
        position=UNPLACED,
        hashtags=hashtags,
        thumbnail_cid=thumbnail_cid,
        wrapped_key=version.wrapped_key,
    )
