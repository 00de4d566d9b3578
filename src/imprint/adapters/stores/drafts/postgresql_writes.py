"""Signed writes as single statements, each its own transaction, for PostgreSQL.

Each statement does what its rule in `drafts` does in the usual case, in one round trip. In any
unusual case, a statement changes nothing and returns no row, or is refused for a conflict. In these
cases, the rule decides (docs/decisions/single-statements.md).

All parts of a statement see the same snapshot, which is older than the locks that the statement
takes. So a row that must be unchanged is locked, which reads its newest version; a row that must
not exist yet is inserted without ON CONFLICT; and stored events are looked up by a function that
takes its own snapshot.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeGuard

from imprint.adapters.database.postgresql.transaction import (
    ListValue,
    Statement,
    lock_key,
)
from imprint.adapters.database.transaction import (
    Value,
    document_lock,
    group_checksum_of,
    key_text,
    micros,
    owner_lock,
)
from imprint.adapters.stores.drafts.drafts import (
    HAS_WRITING_SESSION,
    NO_HASHTAGS,
    NO_LIMIT,
    draft_of,
)
from imprint.adapters.stores.files import FILE_COLUMNS, checksum_of, hashtags_text
from imprint.adapters.stores.rate_limits import ADMIT
from imprint.domain.drafts.files import Action, File, Intent, Network, Quota, State, Version, Write
from imprint.domain.formats.cids import Cid


def _key_of(lock: frozenset[str]) -> int:
    (name,) = lock
    return lock_key(name)


# Before a write begins

_ASYNCHRONOUS = "set_config('synchronous_commit', 'off', true)"
"""Makes the commit of the statement that contains it return without waiting for the disk."""

_ADMIT_BY_SESSION = ADMIT.replace(
    "VALUES (:key, :first)",
    f"SELECT CAST(:key AS TEXT), CAST(:first AS BIGINT) WHERE EXISTS ({HAS_WRITING_SESSION})",
)
"""Like `ADMIT`, but does not count requests of a revoked writing session."""

_ADMITTED = {
    False: f"WITH admitted AS ({ADMIT})",
    True: f"WITH admitted AS ({_ADMIT_BY_SESSION})",
}
_ALLOWED = {False: "true", True: f"EXISTS ({HAS_WRITING_SESSION})"}
"""Admission without a rate limit: a write is admitted unless its writing session is revoked."""
_IS_ADMITTED = f"{_ASYNCHRONOUS} AS commit, EXISTS (SELECT 1 FROM admitted) AS admitted"  # noqa: S608
_NONCE = " FROM (SELECT 1) AS one LEFT JOIN nonces n ON n.signer = :signer AND n.nonce = :nonce"
_FILE = " LEFT JOIN files f ON f.cid = :cid LEFT JOIN file_groups g ON g.id = f.group_id"


def _opening(limited: bool, with_file: bool, by_session: bool) -> str:
    columns = FILE_COLUMNS if with_file else "SELECT n.signer AS id"
    admitted = f", {_IS_ADMITTED}" if limited else f", {_ALLOWED[by_session]} AS admitted"
    return (
        (_ADMITTED[by_session] if limited else "")
        + columns
        + admitted
        + ", n.signer IS NOT NULL AS spent"
        + _NONCE
        + (_FILE if with_file else "")
    )


OPENINGS = {key: _opening(*key) for key in product((False, True), repeat=3)}
"""Statements that open a write, keyed by whether it is rate-limited, has a file, and is signed by a
session."""


def open_statement(
    write: Write, admission: Mapping[str, Value] | None, cid: Cid | None
) -> Statement:
    """Count a request against its rate limit, look up its nonce, and read its file."""
    values: dict[str, ListValue] = {"signer": write.signer, "nonce": key_text(write.nonce)}
    if admission is not None:
        values |= admission
    if cid is not None:
        values["cid"] = cid
    if write.session is not None:
        values["session"] = write.session
    key = admission is not None, cid is not None, write.session is not None
    return Statement(OPENINGS[key], values)


# The intent

_WITHIN_QUOTA = """
    WHERE owners.used_bytes + excluded.used_bytes <= :max_bytes
      AND owners.drafts + excluded.drafts <= :max_drafts"""

_RESERVE = """
reserved AS (
    INSERT INTO owners (owner, last_number, used_bytes, drafts)
    SELECT :signer, 0, CAST(:size AS BIGINT), CAST(:drafts AS BIGINT)
    WHERE NOT EXISTS (SELECT 1 FROM known WHERE condemned = 1)
    ON CONFLICT (owner) DO UPDATE
    SET used_bytes = owners.used_bytes + excluded.used_bytes,
        drafts = owners.drafts + excluded.drafts {within_quota}
    RETURNING CAST(:number AS BIGINT) AS number
),"""

_RESERVE_WITH_NUMBER = """
reserved AS (
    INSERT INTO owners (owner, last_number, used_bytes, drafts)
    SELECT :signer, CAST(:number AS BIGINT), CAST(:size AS BIGINT), CAST(:drafts AS BIGINT)
    WHERE NOT EXISTS (SELECT 1 FROM known WHERE condemned = 1) {also}
    ON CONFLICT (owner) DO UPDATE
    SET last_number = greatest(excluded.last_number, owners.last_number + 1),
        used_bytes = owners.used_bytes
            + CASE WHEN excluded.last_number > owners.last_number THEN excluded.used_bytes
                   ELSE 0 END,
        drafts = owners.drafts
            + CASE WHEN excluded.last_number > owners.last_number THEN excluded.drafts
                   ELSE 0 END {within_quota}
    RETURNING last_number AS number
),"""
"""Reserves only the next number if the number of the intent is too low."""

_NOTE = """
noted AS (
    INSERT INTO intents (id, signer, nonce, action, cid, network, number, lease_until, size)
    SELECT :id, :signer, :nonce, :action, :cid, :network, CAST(:number AS BIGINT),
           CAST(:lease_until AS BIGINT), CAST(:size AS BIGINT)
    FROM reserved WHERE number IS NOT DISTINCT FROM CAST(:number AS BIGINT) RETURNING 1
)"""

_RESERVED = f"""
SELECT CASE WHEN number IS DISTINCT FROM CAST(:number AS BIGINT) THEN number END AS reserved,
       nextval('positions') AS position, {_ASYNCHRONOUS} AS commit
FROM reserved"""  # noqa: S608

_OPENED = f"""
SELECT {{admitted}} AS admitted, EXISTS (SELECT 1 FROM spent) AS spent,
       number IS NOT NULL AS begun,
       CASE WHEN number <> CAST(:number AS BIGINT) THEN number END AS reserved,
       CASE WHEN number IS NOT NULL THEN nextval('positions') END AS position,
       {_ASYNCHRONOUS} AS commit
FROM (SELECT 1) AS one LEFT JOIN reserved ON true"""  # noqa: S608

_SPENT = "spent AS MATERIALIZED (SELECT 1 FROM nonces WHERE signer = :signer AND nonce = :nonce),"

_KNOWN = """
known AS (SELECT condemned FROM detached WHERE cid = :cid AND network = :network),"""

_LOCK_KNOWN = """
WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock(:lock)),
known AS MATERIALIZED (
    SELECT condemned FROM detached
    WHERE cid = :cid AND network = :network AND EXISTS (SELECT 1 FROM locked) FOR UPDATE
),"""
"""Like `_KNOWN`, but locks a thumbnail, because other owners may have it and the garbage collector
may be about to mark it."""

_NUMBERED = {"within_quota": _WITHIN_QUOTA, "also": ""}

BEGIN_VERSION = "WITH" + _KNOWN + _RESERVE_WITH_NUMBER.format(**_NUMBERED) + _NOTE + _RESERVED
BEGIN_RENAMED = "WITH" + _KNOWN + _RESERVE.format(within_quota=_WITHIN_QUOTA) + _NOTE + _RESERVED
BEGIN_THUMBNAIL = _LOCK_KNOWN + _RESERVE.format(within_quota=_WITHIN_QUOTA) + _NOTE + _RESERVED


def _open_create(limited: bool, by_session: bool) -> str:
    admitted = "EXISTS (SELECT 1 FROM admitted)" if limited else _ALLOWED[by_session]
    also = "AND NOT EXISTS (SELECT 1 FROM spent)"
    return (
        (f"{_ADMITTED[by_session]}," if limited else "WITH ")
        + _SPENT
        + _KNOWN
        + _RESERVE_WITH_NUMBER.format(within_quota=_WITHIN_QUOTA, also=f"{also} AND {admitted}")
        + _NOTE
        + _OPENED.format(admitted=admitted)
    )


OPEN_CREATE = {key: _open_create(*key) for key in product((False, True), repeat=2)}
"""Statements that begin the creation of a draft and record its intent, keyed by whether it is
rate-limited and signed by a session."""


def begin_statement(intent: Intent, quota: Quota) -> Statement | None:
    """Record an intent and take its draft's position. Returns no row if a rule has to decide."""
    write, drafts = intent.write, int(intent.write.action is Action.CREATE)
    max_bytes = quota.bytes or NO_LIMIT
    if intent.size > max_bytes:
        return None
    values: dict[str, ListValue] = {
        "id": intent.id,
        "signer": write.signer,
        "nonce": key_text(write.nonce),
        "action": write.action.value,
        "cid": intent.cid,
        "network": intent.network.value,
        "number": intent.number,
        "lease_until": micros(intent.lease_until),
        "size": intent.size,
        "drafts": drafts,
        "max_bytes": max_bytes,
        "max_drafts": (quota.drafts or NO_LIMIT) if drafts else NO_LIMIT,
    }
    if intent.network is Network.PUBLIC:
        values["lock"] = _key_of(document_lock(intent.cid, intent.network))
        return Statement(BEGIN_THUMBNAIL, values) if intent.number is None else None
    return Statement(BEGIN_RENAMED if intent.number is None else BEGIN_VERSION, values)


def open_create_statement(
    intent: Intent, admission: Mapping[str, Value] | None, quota: Quota
) -> Statement | None:
    """Begin the creation of a draft and record its intent, if admitted and its nonce is unused."""
    statement, session = begin_statement(intent, quota), intent.write.session
    if statement is None or statement.text != BEGIN_VERSION:
        return None
    values = {**statement.values, **(admission or {})}
    if session is not None:
        values["session"] = session
    return Statement(OPEN_CREATE[admission is not None, session is not None], values)


# The effect

_OWNER_LOCK = "WITH locked AS MATERIALIZED (SELECT pg_advisory_xact_lock_shared(:lock)),"
"""Shared lock for the writes of one owner. Chain events take it exclusively."""

_ALL_LOCKS = """
WITH locked AS MATERIALIZED (
    SELECT CASE WHEN key = :lock THEN pg_advisory_xact_lock_shared(key)
                ELSE pg_advisory_xact_lock(key) END
    FROM unnest(CAST(:locks AS BIGINT[])) AS key
),"""
"""Takes locks in key order, as all transactions do."""

_DRAFT = """
draft AS MATERIALIZED (
    SELECT 1 FROM files
    WHERE id = :old_id AND state = 'pending' AND owner = :signer AND group_id = :group_id
      AND position = :old_position {locked}
    FOR NO KEY UPDATE
), its_group AS MATERIALIZED (
    SELECT thumbnail_size FROM file_groups
    WHERE id = :group_id AND hashtags = :old_hashtags
      AND thumbnail_cid IS NOT DISTINCT FROM :old_thumbnail AND EXISTS (SELECT 1 FROM draft)
    FOR NO KEY UPDATE
),"""
"""Selects the draft and its group with locks, if unchanged since the caller read them."""

_LOCKED_DRAFT = _DRAFT.format(locked="AND EXISTS (SELECT 1 FROM locked)")
UNCHANGED_DRAFT = "WITH" + _DRAFT.format(locked="")
"""Like `_LOCKED_DRAFT`, for a statement whose locks are taken before it begins."""

_ENDED = """
ended AS (
    DELETE FROM intents WHERE id = :intent AND EXISTS (SELECT 1 FROM {ready})
      AND NOT EXISTS (SELECT 1 FROM detached
                      WHERE cid = :cid AND network = :network {condemned})
    RETURNING 1
),"""

_NOT_KEPT = """
ready AS MATERIALIZED (SELECT 1 FROM {after} WHERE NOT has_kept_event(:cid, :signer)),"""

_ADD = """
added AS (
    INSERT INTO files (id, group_id, owner, name, cid, size, created_at, state, position,
                       wrapped_key, checksum)
    SELECT :id, :group_id, :signer, :name, :cid, CAST(:size AS BIGINT),
           CAST(:created_at AS BIGINT), 'pending', CAST(:position AS BIGINT),
           CAST(:wrapped_key AS BYTEA), CAST(:checksum AS BIGINT) FROM {after} RETURNING 1
),"""

_RETIRE = """
retired AS (
    UPDATE files SET state = :state, checksum = :old_checksum
    WHERE id = :old_id AND EXISTS (SELECT 1 FROM {after}) RETURNING 1
), let_go AS (
    INSERT INTO detached (cid, network, detached_at, owner, size, drafts)
    SELECT :old_cid, 'private', CAST(:at AS BIGINT), :signer, CAST(:old_size AS BIGINT), {drafts}
    FROM {after}
),"""
"""Retires a draft, which still counts toward its owner's usage, so that the owner's row does not
change (docs/decisions/usage-counters.md)."""

_DROP_THUMBNAIL = """
dropped AS (
    INSERT INTO detached (cid, network, detached_at, owner, size)
    SELECT :old_thumbnail, 'public', CAST(:at AS BIGINT), :signer, thumbnail_size
    FROM its_group WHERE EXISTS (SELECT 1 FROM {after})
),"""
"""Fails for a thumbnail that is already detached and counts toward another owner's usage."""

_SPEND = """
spent AS (
    INSERT INTO nonces (signer, nonce, action, file_id, spent_at)
    SELECT :signer, :nonce, :action, {file_id}, CAST(:at AS BIGINT) FROM {after}
)
SELECT 1 AS done FROM {after}"""

_UNTAG = """
untagged AS (
    DELETE FROM file_tags WHERE tag = ANY(CAST(:old_tags AS TEXT[])) AND position = :old_position
      AND EXISTS (SELECT 1 FROM {after})
),"""

_MOVE_TAGS = """
moved AS (
    UPDATE file_tags SET position = :position
    WHERE tag = ANY(CAST(:old_tags AS TEXT[])) AND position = :old_position
      AND EXISTS (SELECT 1 FROM ended)
),"""

_ADD_GROUP = """
added_group AS (
    INSERT INTO file_groups (id, owner, hashtags, thumbnail_cid, created_at, checksum)
    SELECT :group_id, :signer, '[]', NULL, CAST(:created_at AS BIGINT),
           CAST(:group_checksum AS BIGINT) FROM ended
),"""

ADD_DRAFT = (
    _OWNER_LOCK
    + _NOT_KEPT.format(after="locked")
    + _ENDED.format(ready="ready", condemned="AND condemned = 1")
    + _ADD_GROUP
    + _ADD.format(after="ended")
    + _SPEND.format(file_id=":id", after="ended")
)

REPLACE_DRAFT = (
    _OWNER_LOCK
    + _LOCKED_DRAFT
    + _NOT_KEPT.format(after="its_group")
    + _ENDED.format(ready="ready", condemned="AND condemned = 1")
    + _RETIRE.format(after="ended", drafts=0)
    + _ADD.format(after="retired")
    + _MOVE_TAGS
    + _SPEND.format(file_id=":id", after="ended")
)

_DELETE = _RETIRE.format(after="its_group", drafts=1) + _UNTAG.format(after="its_group")

DELETE_DRAFT = (
    _OWNER_LOCK + _LOCKED_DRAFT + _DELETE + _SPEND.format(file_id="NULL", after="its_group")
)
DELETE_WITH_THUMBNAIL = (
    _ALL_LOCKS
    + _LOCKED_DRAFT
    + _DELETE
    + _DROP_THUMBNAIL.format(after="retired")
    + _SPEND.format(file_id="NULL", after="its_group")
)

_PREPARE = """
prepared AS (
    UPDATE file_groups SET hashtags = :hashtags, thumbnail_cid = :cid,
           thumbnail_size = :thumbnail_size, checksum = :group_checksum
    WHERE id = :group_id AND EXISTS (SELECT 1 FROM ended)
), tagged AS (
    INSERT INTO file_tags (tag, position, state)
    SELECT tag, CAST(:old_position AS BIGINT), 'pending'
    FROM unnest(CAST(:tags AS TEXT[])) AS tag WHERE EXISTS (SELECT 1 FROM ended)
),"""

_UNCOUNT_THUMBNAIL = """
counted AS (
    UPDATE owners SET used_bytes = used_bytes - its_group.thumbnail_size FROM its_group
    WHERE owner = :signer AND EXISTS (SELECT 1 FROM ended)
),"""
"""Subtracts the bytes of an unchanged thumbnail, because they were reserved a second time."""


def _prepare(change: str) -> str:
    return (
        UNCHANGED_DRAFT
        + _ENDED.format(ready="its_group", condemned="")
        + _PREPARE
        + _UNTAG.format(after="ended")
        + change.format(after="ended")
        + _SPEND.format(file_id=":old_id", after="ended")
    )


PREPARE_FIRST = _prepare("")
PREPARE_OTHER = _prepare(_DROP_THUMBNAIL)
PREPARE_SAME = _prepare(_UNCOUNT_THUMBNAIL)


def add_statement(
    write: Write, intent: Intent, version: Version, position: int
) -> tuple[Statement, File]:
    """The statement that adds a draft in a new group, and the draft. The draft is valid only if the
    statement returns a row."""
    file = draft_of(version, version.group_id, position=position)
    values = _effect(write, intent) | _version(file)
    values["group_id"] = file.group_id
    values["group_checksum"] = group_checksum_of(file.group_id, NO_HASHTAGS, None)
    return Statement(ADD_DRAFT, values), file


def replace_statement(
    write: Write, intent: Intent, old: File, version: Version, position: int
) -> tuple[Statement, File]:
    """The statement that replaces a draft with a version, and the new draft."""
    file = draft_of(version, old.group_id, old.hashtags, old.thumbnail_cid, position)
    values = _effect(write, intent) | _version(file) | unchanged(old)
    values |= _retired(old, State.SUPERSEDED) | {"old_tags": list(old.hashtags)}
    return Statement(REPLACE_DRAFT, values), file


def delete_statement(write: Write, old: File) -> Statement:
    """Delete a draft."""
    values = _effect(write, None) | unchanged(old) | _retired(old, State.DELETED)
    values["old_tags"] = list(old.hashtags)
    if old.thumbnail_cid is None:
        return Statement(DELETE_DRAFT, values)
    locks = owner_lock(write.signer) | document_lock(old.thumbnail_cid, Network.PUBLIC)
    values["locks"] = sorted(map(lock_key, locks))
    return Statement(DELETE_WITH_THUMBNAIL, values)


def prepare_statement(
    write: Write, intent: Intent, old: File, hashtags: Sequence[str]
) -> tuple[Statement, File]:
    """The statement that sets a draft's thumbnail and hashtags, and the changed draft."""
    file = replace(old, hashtags=tuple(hashtags), thumbnail_cid=intent.cid)
    text = hashtags_text(file.hashtags)
    values = _effect(write, intent) | unchanged(old)
    values |= {
        "hashtags": text,
        "thumbnail_size": intent.size,
        "group_checksum": group_checksum_of(file.group_id, text, intent.cid),
        "old_tags": [tag for tag in old.hashtags if tag not in hashtags],
        "tags": [tag for tag in file.hashtags if tag not in old.hashtags],
    }
    change, thumbnails = PREPARE_FIRST, document_lock(intent.cid, Network.PUBLIC)
    if old.thumbnail_cid is not None:
        change = PREPARE_SAME if old.thumbnail_cid == intent.cid else PREPARE_OTHER
        thumbnails |= document_lock(old.thumbnail_cid, Network.PUBLIC)
    return Statement(change, values, thumbnails, owner_lock(write.signer)), file


def _effect(write: Write, intent: Intent | None) -> dict[str, ListValue]:
    values: dict[str, ListValue] = {
        "lock": _key_of(owner_lock(write.signer)),
        "signer": write.signer,
        "nonce": key_text(write.nonce),
        "action": write.action.value,
        "at": micros(write.at),
    }
    if intent is not None:
        values["intent"] = intent.id
        values["cid"] = intent.cid
        values["network"] = intent.network.value
    return values


def _version(file: File) -> dict[str, ListValue]:
    return {
        "id": file.id,
        "name": file.name,
        "size": file.size,
        "created_at": micros(file.created_at),
        "position": file.position,
        "wrapped_key": file.wrapped_key,
        "checksum": checksum_of(file),
    }


def unchanged(old: File) -> dict[str, ListValue]:
    """Values that a draft and its group must still have."""
    return {
        "old_id": old.id,
        "group_id": old.group_id,
        "old_position": old.position,
        "old_hashtags": hashtags_text(old.hashtags),
        "old_thumbnail": old.thumbnail_cid,
    }


def _retired(old: File, state: State) -> dict[str, ListValue]:
    return {
        "state": state.value,
        "old_checksum": checksum_of(replace(old, state=state)),
        "old_cid": old.cid,
        "old_size": old.size,
    }


def is_known(known: File | None, cid: Cid, write: Write) -> TypeGuard[File]:
    """Whether `known` is the draft that the write changes."""
    return known is not None and known.cid == cid and known.owner == write.signer
