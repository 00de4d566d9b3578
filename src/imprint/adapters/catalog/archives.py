"""Rules for archives: the walk over all files for an export, and the import of exported files."""

from dataclasses import replace

from imprint.adapters.catalog import sql
from imprint.adapters.catalog.chain_events import apply_events, event_of
from imprint.adapters.catalog.drafts import add_file, take_back
from imprint.adapters.catalog.files import (
    count_usage,
    file_among,
    find_by_post_id,
    find_version,
    group_checksum_of,
    hashtags_text,
    reattach,
)
from imprint.adapters.catalog.garbage import read_fence
from imprint.adapters.catalog.transaction import Row, Transaction, micros
from imprint.domain.drafts.files import File, Network, State
from imprint.domain.errors import Damaged
from imprint.domain.exports import ExportedFile, number_of
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.ports.catalog import ImportConflict, ImportOutcome, StoredDocument
from imprint.ports.garbage import FenceRaised


async def walk_files(
    tx: Transaction, owner: Address | None, after: int, limit: int
) -> list[ExportedFile]:
    """Up to `limit` live files above a position, by rising position."""
    if owner is None:
        rows = await tx.fetchall(sql.WALK_FILES, after=after, limit=limit)
    else:
        rows = await tx.fetchall(sql.WALK_FILES_OF_OWNER, owner=owner, after=after, limit=limit)
    return [_exported(row) for row in rows]


async def documents_after(
    tx: Transaction, network: Network, after: str, limit: int
) -> list[StoredDocument]:
    """Up to `limit` documents above a cid."""
    if network is Network.PUBLIC:
        rows = await tx.fetchall(sql.PUBLIC_DOCUMENTS, after=after, limit=limit)
        return [StoredDocument(Cid(row["cid"]), readable=True) for row in rows]
    rows = await tx.fetchall(sql.PRIVATE_DOCUMENTS, after=after, limit=limit)
    return [StoredDocument(Cid(row["cid"]), bool(row["readable"]), row["size"]) for row in rows]


async def compare_file(tx: Transaction, exported: ExportedFile) -> ImportOutcome:
    """The outcome that importing a file would have. Raises `ImportConflict`."""
    file = exported.file
    here = await find_version(tx, sql.VERSION_BY_CID, cid=file.cid)
    if here is not None:
        if (here.id, here.name, here.owner) != (file.id, file.name, file.owner):
            raise ImportConflict(f"The document {file.cid} belongs to the file {here.id} here.")
        return ImportOutcome.PRESENT if here.state.live else ImportOutcome.RETIRED
    if await tx.fetchall(sql.CONFLICTING_FILES, id=file.id, name=file.name):
        raise ImportConflict(
            f"The id {file.id} or the name {file.name} is of another document here."
        )
    group = await tx.fetchone(sql.OWNER_OF_GROUP, id=file.group_id)
    if group is not None and group["owner"] != file.owner:
        raise ImportConflict(f"The group {file.group_id} belongs to {group['owner']} here.")
    other = await find_version(tx, sql.LIVE_IN_GROUP, group_id=file.group_id)
    if other is not None:
        raise ImportConflict(f"The group {file.group_id} has another version here, {other.cid}.")
    if exported.event is not None:
        other = await find_by_post_id(tx, exported.event.post_id)
        if other is not None:
            raise ImportConflict(
                f"The post {exported.event.post_id} is of the document {other.cid} here."
            )
    return ImportOutcome.ADDED


async def import_file(
    tx: Transaction, exported: ExportedFile, thumbnail_size: int, fence: int | None
) -> ImportOutcome:
    """Add a file, and apply its publication like a delivery.

    Raises `ImportConflict`, and `FenceRaised` if its documents were stored with an older fence.
    """
    # Read under the locks of the documents: whoever condemned them before has committed.
    if fence is not None and fence != await read_fence(tx):
        raise FenceRaised
    file = exported.file
    outcome = await compare_file(tx, exported)
    await take_back(tx, file.cid, Network.PRIVATE)
    if file.thumbnail_cid is not None:
        await take_back(tx, file.thumbnail_cid, Network.PUBLIC)
    if outcome is ImportOutcome.ADDED:
        await _add(tx, file, thumbnail_size)
    if outcome is not ImportOutcome.RETIRED and exported.event and file.publication:
        await apply_events(tx, None, [exported.event], (), file.publication.published_at)
    return outcome


async def _add(tx: Transaction, file: File, thumbnail_size: int) -> None:
    if await tx.fetchone(sql.OWNER_OF_GROUP, id=file.group_id) is None:
        await tx.execute(
            sql.ADD_GROUP,
            id=file.group_id,
            owner=file.owner,
            created_at=micros(file.created_at),
            checksum=None,
        )
    hashtags = hashtags_text(file.hashtags)
    await tx.execute(
        sql.PREPARE_GROUP,
        id=file.group_id,
        hashtags=hashtags,
        thumbnail_cid=file.thumbnail_cid,
        thumbnail_size=thumbnail_size,
        checksum=group_checksum_of(file.group_id, hashtags, file.thumbnail_cid),
    )
    await tx.execute(sql.RESERVE_NUMBER, owner=file.owner, number=number_of(file))
    await reattach(tx, file.cid, Network.PRIVATE)
    if file.thumbnail_cid is not None:
        await reattach(tx, file.thumbnail_cid, Network.PUBLIC)
    await count_usage(tx, file.owner, file.size + thumbnail_size, drafts=1)
    await add_file(tx, replace(file, state=State.PENDING, publication=None))


def _exported(row: Row) -> ExportedFile:
    file = file_among(row)
    if file.publication is None:
        return ExportedFile(file, None)
    event = event_of(row, "event_")
    if (event.post_id, event.author, event.cid) != (
        file.publication.post_id,
        file.owner,
        file.cid,
    ):
        raise Damaged.record(f"the event of file {file.id!a}")
    return ExportedFile(file, event)
