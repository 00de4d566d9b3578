"""Files that go out into archives, and those that come from them."""

from dataclasses import replace

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.adding import add_file
from imprint.adapters.catalog.holding import hold_file
from imprint.adapters.catalog.nonces import refuse_condemned
from imprint.adapters.catalog.rows import event_of, file_of, hashtags_text, micros
from imprint.adapters.catalog.settling import settle
from imprint.adapters.catalog.steps import Query, Row, Steps, Value
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.exports import ExportedFile, number_of
from imprint.domain.files import File, Network, State
from imprint.ports.archives import ImportConflict, ImportOutcome, StoredDocument

_FILE_COLUMNS = 15
"""How many columns of a walked row are the file's; its event's follow."""


def walk(owner: Address | None, after: int, limit: int) -> Steps[tuple[list[ExportedFile], int]]:
    """Up to `limit` live files above a position, and the position of the last one."""
    values: dict[str, Value] = {"after": after, "limit": limit}
    if owner is None:
        rows = yield Query(sql.WALK_FILES, values)
    else:
        rows = yield Query(sql.WALK_FILES_OF_OWNER, {**values, "owner": owner})
    files = [_exported(row) for row in rows]
    return files, files[-1].file.position if files else after


def list_documents(network: Network, after: str, limit: int) -> Steps[list[StoredDocument]]:
    """Up to `limit` documents above a cid."""
    values: dict[str, Value] = {"after": after, "limit": limit}
    if network is Network.PUBLIC:
        rows = yield Query(sql.PUBLIC_DOCUMENTS, values)
        return [StoredDocument(Cid(row[0]), readable=True) for row in rows]
    rows = yield Query(sql.PRIVATE_DOCUMENTS, values)
    return [StoredDocument(Cid(cid), bool(readable)) for cid, readable in rows]


def compare(exported: ExportedFile) -> Steps[ImportOutcome]:
    """What is here already of a file. Raises `ImportConflict`."""
    file = exported.file
    rows = yield Query(sql.VERSION_BY_CID, {"cid": file.cid})
    if rows:
        here = file_of(rows[0])
        if (here.id, here.name, here.owner) != (file.id, file.name, file.owner):
            raise ImportConflict(f"The document {file.cid} belongs to the file {here.id} here.")
        return ImportOutcome.PRESENT if here.state.live else ImportOutcome.RETIRED
    rows = yield Query(sql.RIVALS, {"id": file.id, "name": file.name})
    if rows:
        raise ImportConflict(
            f"The id {file.id} or the name {file.name} is of another document here."
        )
    rows = yield Query(sql.OWNER_OF_GROUP, {"id": file.group_id})
    if rows and rows[0][0] != file.owner:
        raise ImportConflict(f"The group {file.group_id} belongs to {rows[0][0]} here.")
    rows = yield Query(sql.LIVE_IN_GROUP, {"group_id": file.group_id})
    if rows:
        raise ImportConflict(
            f"The group {file.group_id} has another version here, {file_of(rows[0]).cid}."
        )
    if exported.event is not None:
        rows = yield Query(sql.FILE_BY_POST, {"post_id": str(exported.event.post_id)})
        if rows:
            other = file_of(rows[0]).cid
            raise ImportConflict(
                f"The post {exported.event.post_id} is of the document {other} here."
            )
    return ImportOutcome.ADDED


def adopt(exported: ExportedFile) -> Steps[ImportOutcome]:
    """Take a file in, and its publication as if a delivery told of it. Raises `ImportConflict`."""
    file = exported.file
    yield hold_file(file)
    found = yield from compare(exported)
    yield from refuse_condemned(file.cid, Network.PRIVATE)
    if file.thumbnail_cid is not None:
        yield from refuse_condemned(file.thumbnail_cid, Network.PUBLIC)
    if found is ImportOutcome.ADDED:
        yield from _insert(file)
    if found is not ImportOutcome.RETIRED and exported.event and file.publication:
        yield from settle(None, [exported.event], (), file.publication.published_at)
    return found


def _insert(file: File) -> Steps[None]:
    group: dict[str, Value] = {
        "id": file.group_id,
        "owner": file.owner,
        "created_at": micros(file.created_at),
    }
    if not (yield Query(sql.OWNER_OF_GROUP, {"id": file.group_id})):
        yield Query(sql.ADD_GROUP, group)
    dress: dict[str, Value] = {
        "id": file.group_id,
        "hashtags": hashtags_text(file.hashtags),
        "thumbnail_cid": file.thumbnail_cid,
    }
    yield Query(sql.DRESS_GROUP, dress)
    yield Query(sql.RESERVE_NUMBER, {"owner": file.owner, "number": number_of(file)})
    yield from add_file(replace(file, state=State.PENDING, publication=None))


def _exported(row: Row) -> ExportedFile:
    file = file_of(row)
    event = event_of(row[_FILE_COLUMNS:]) if file.state is State.ONCHAIN else None
    return ExportedFile(file, event)
