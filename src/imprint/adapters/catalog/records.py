"""Rules that verify records: their checksums and their tags."""

from imprint.adapters.catalog import sql
from imprint.adapters.catalog.files import (
    checksum_of,
    file_of,
    group_checksum_of,
    hashtags_text,
)
from imprint.adapters.catalog.transaction import Row, Transaction
from imprint.domain.drafts.files import File
from imprint.domain.errors import Damaged
from imprint.ports.catalog import VerifiedRecord


async def verify_records(tx: Transaction, after: int, limit: int) -> list[VerifiedRecord]:
    """Up to `limit` records above a position, by rising position."""
    rows = await tx.fetchall(sql.ALL_VERSIONS, after=after, limit=limit)
    return [await _verify(tx, row) for row in rows]


async def _verify(tx: Transaction, row: Row) -> VerifiedRecord:
    position: int = row["position"]
    try:
        file = file_of(row)
        await _verify_indexes(tx, file)
    except Damaged as damaged:
        return VerifiedRecord(position, None, damaged.what)
    checked = row["checksum"] is not None and row["group_checksum"] is not None
    return VerifiedRecord(position, file, unchecked=not checked)


async def _verify_indexes(tx: Transaction, file: File) -> None:
    """Raise `Damaged` if a file is not found by its cid, or a live one not by its tags."""
    row = await tx.fetchone(sql.VERSION_BY_CID, cid=file.cid)
    if row is None or row["id"] != file.id:
        raise Damaged.record(f"the index of cids at file {file.id!a}")
    for tag in file.hashtags if file.state.live else ():
        row = await tx.fetchone(sql.HAS_TAG, tag=tag, position=file.position)
        if row is None or row["state"] != file.state.value:
            raise Damaged.record(f"the tags of file {file.id!a}")


async def fill_checksums(tx: Transaction, file_id: str) -> None:
    """Set the checksums of a file and its group that have none; the caller has locked the owner."""
    row = await tx.fetchone(sql.VERSION_BY_ID, id=file_id)
    if row is None:
        return
    file = file_of(row)
    if row["checksum"] is None:
        await tx.execute(sql.SET_CHECKSUM, id=file.id, checksum=checksum_of(file))
    if row["group_checksum"] is None:
        hashtags = hashtags_text(file.hashtags)
        await tx.execute(
            sql.SET_GROUP_CHECKSUM,
            id=file.group_id,
            hashtags=hashtags,
            thumbnail_cid=file.thumbnail_cid or "",
            checksum=group_checksum_of(file.group_id, hashtags, file.thumbnail_cid),
        )


async def compare_tags(tx: Transaction) -> list[str]:
    """What the index of tags says of files that do not say it themselves."""
    findings = []
    (row,) = await tx.fetchall(sql.WRONG_TAGS)
    if row["count"]:
        findings.append(f"{row['count']} entries of the index of tags have no such file.")
    (row,) = await tx.fetchall(sql.MISCOUNTED_TAGS)
    if row["count"]:
        findings.append(f"The files of {row['count']} tags are counted wrong.")
    return findings
