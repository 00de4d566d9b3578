"""Writes the post index: applies chain events, and undoes events that a reorg removed.

Every block above the last final one stores the earlier values of the rows it changes. To undo
blocks, the oldest stored row of each key is restored, and rows that the blocks added are deleted.
"""

import json
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from imprint import failpoints
from imprint.adapters.database.database import UNKNOWN_REACH, Database
from imprint.adapters.database.schema import EMPTY_INDEX
from imprint.adapters.database.transaction import Row, Transaction, Value, micros, owner_lock
from imprint.adapters.stores.files import file_of, set_hashtags_of_chain
from imprint.adapters.stores.posts.index_tables import (
    ACCOUNTS,
    AUTHOR_READERS,
    BOUND_FILES,
    DAYS,
    HOLDINGS,
    OWN_FILES,
    POSTS,
    TOTALS,
    IndexTable,
    price_bytes,
)
from imprint.adapters.stores.posts.post_words import (
    PostWords,
    add_words,
    drop_texts,
    drop_words,
    want_hosted_texts,
    want_texts,
)
from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.market_events import (
    LOGS_PER_BLOCK,
    MarketEvent,
    PostPublished,
    PostPurchased,
    TokensMoved,
    block_of,
)
from imprint.domain.posts.market_ledger import Ledger, PostRow, Table, day_of
from imprint.domain.posts.posts import BlockRef
from imprint.ports.post_index import (
    AppliedLog,
    IndexMoved,
    IndexSource,
    IndexState,
    IndexStep,
    PostGap,
)

INDEX_LOCK = frozenset({"index"})
"""Lock that serializes transactions that change the index."""

_STATE = "SELECT * FROM index_state"

_BEGIN = """
INSERT INTO index_state (only_row, chain_id, contract, first_block, adapter)
VALUES (1, :chain_id, :contract, :first_block, :adapter)"""

_MOVE = """
UPDATE index_state SET block_number = :number, block_hash = :block_hash, final_block = :final,
    final_hash = :final_hash,
    complete = CASE WHEN :complete = 1 THEN 1 ELSE complete END"""

_TRADED = "SELECT 1 FROM accounts WHERE address IN (:old, :new) LIMIT 1"
_ADOPT = "UPDATE index_state SET adapter = :adapter"

_APPLIED_LOGS = "SELECT place, block_hash FROM index_logs ORDER BY place"
_ADD_LOG = "INSERT INTO index_logs (place, block_hash) VALUES (:place, :block_hash)"
_REMOVE_LOGS_FROM = "DELETE FROM index_logs WHERE place >= :place"
_REMOVE_LOGS_BEFORE = "DELETE FROM index_logs WHERE place < :place"

_ENDS = """
SELECT (SELECT posts FROM market_totals WHERE only_row = 1) AS count,
       (SELECT post_id FROM posts ORDER BY place LIMIT 1) AS first, post_id AS last,
       place, block_hash
FROM posts ORDER BY place DESC LIMIT 1"""

_GAP = """
SELECT place, block_hash, before FROM (
    SELECT place, block_hash, CAST(post_id AS NUMERIC) AS id,
           lag(CAST(post_id AS NUMERIC)) OVER (ORDER BY place) AS before
    FROM posts
) AS listed WHERE id <> before + 1 ORDER BY place LIMIT 1"""

_ADD_UNDO = """
INSERT INTO index_undo (block_number, table_name, key, before)
VALUES (:block_number, :table_name, :key, :before)"""
_UNDO_FROM = """
SELECT table_name, key, before FROM index_undo
WHERE block_number >= :number ORDER BY block_number DESC"""
_REMOVE_UNDO_FROM = "DELETE FROM index_undo WHERE block_number >= :number"
_REMOVE_UNDO_BEFORE = "DELETE FROM index_undo WHERE block_number < :number"

_ADD_POST = """
INSERT INTO posts (place, post_id, author, cid, spelled_cid, thumbnail_cid, title, description,
                   hashtags, first_price, price, created_at, block_hash, tx_hash)
VALUES (:place, :post_id, :author, :cid, :spelled_cid, :thumbnail_cid, :title, :description,
        :hashtags, :first_price, :price, :created_at, :block_hash, :tx_hash)"""
_ADD_TAG = """
INSERT INTO post_tags (tag, place, shown)
SELECT CAST(:tag AS TEXT), place, shown FROM posts WHERE place = :place"""
_REMOVE_TAGS_FROM = "DELETE FROM post_tags WHERE place >= :place"

_ADD_PURCHASE = """
INSERT INTO purchases (place, post_id, author, buyer, receiver, price, at, block_hash, tx_hash)
VALUES (:place, :post_id, :author, :buyer, :receiver, :price, :at, :block_hash, :tx_hash)"""
_REMOVE_PURCHASES_FROM = "DELETE FROM purchases WHERE place >= :place"

_ADD_PRICE_CHANGE = """
INSERT INTO price_changes (place, post_id, price, at) VALUES (:place, :post_id, :price, :at)"""
_REMOVE_PRICE_CHANGES_FROM = "DELETE FROM price_changes WHERE place >= :place"


class SqlIndexWriter:
    """`PostIndexWriter` in the database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def index_state(self) -> IndexState | None:
        return await self._database.read(_read_state)

    async def applied_logs(self) -> list[AppliedLog]:
        return await self._database.read(_applied_logs)

    async def find_gaps(self) -> list[PostGap]:
        return await self._database.read(_find_gaps, reach=UNKNOWN_REACH)

    async def restart_index(self, source: IndexSource) -> None:
        await self._database.transact(INDEX_LOCK, _restart, source)

    async def adopt_adapter(self, expected: IndexState, adapter: Address | None) -> bool:
        return await self._database.transact(INDEX_LOCK, _adopt, expected, adapter)

    async def advance_index(self, expected: IndexState, step: IndexStep) -> None:
        # The index is derived from the chain, so a step that a power loss undoes is applied again.
        locks = INDEX_LOCK | _author_locks(step.events)
        await self._database.transact(locks, _advance, expected, step, durable=False)
        failpoints.reach("after_step")


def _author_locks(events: Sequence[MarketEvent]) -> frozenset[str]:
    """The locks of authors whose files may be published while the index reads their posts."""
    published = (each for each in events if isinstance(each, PostPublished))
    return frozenset().union(*(owner_lock(each.author) for each in published if each.cid))


async def _read_state(tx: Transaction) -> IndexState | None:
    row = await tx.fetchone(_STATE)
    if row is None:
        return None
    number = row["block_number"]
    return IndexState(
        IndexSource(
            row["chain_id"],
            Address(row["contract"]),
            row["first_block"],
            None if row["adapter"] is None else Address(row["adapter"]),
        ),
        None if number is None else BlockRef(number, row["block_hash"]),
        bool(row["complete"]),
        row["final_block"],
        row["final_hash"],
    )


async def _applied_logs(tx: Transaction) -> list[AppliedLog]:
    rows = await tx.fetchall(_APPLIED_LOGS)
    return [AppliedLog(row["place"], row["block_hash"]) for row in rows]


async def _find_gaps(tx: Transaction) -> list[PostGap]:
    ends = await tx.fetchone(_ENDS)
    if ends is None:
        return []
    gaps = []
    first, last = int(ends["first"]), int(ends["last"])
    if last - first + 1 != ends["count"] and (row := await tx.fetchone(_GAP)) is not None:
        gaps.append(PostGap(int(row["before"]) + 1, _block_at(row)))
    return [*gaps, PostGap(last + 1, _block_at(ends))]


def _block_at(row: Row) -> BlockRef:
    return BlockRef(block_of(row["place"]), row["block_hash"])


async def _restart(tx: Transaction, source: IndexSource) -> None:
    for statement in EMPTY_INDEX:
        await tx.execute(statement)
    await tx.execute(
        _BEGIN,
        chain_id=source.chain_id,
        contract=source.contract,
        first_block=source.first_block,
        adapter=source.adapter,
    )
    failpoints.reach("during_restart")


async def _adopt(tx: Transaction, expected: IndexState, adapter: Address | None) -> bool:
    state = await _read_state(tx)
    if state != expected:
        raise IndexMoved
    # An adapter that ever bought a token has an account, because it briefly held the token.
    if await tx.fetchone(_TRADED, old=expected.source.adapter or "", new=adapter or "") is not None:
        return False
    await tx.execute(_ADOPT, adapter=adapter)
    return True


async def _advance(tx: Transaction, expected: IndexState, step: IndexStep) -> None:
    if await _read_state(tx) != expected:
        raise IndexMoved
    final = max(expected.final, step.final)
    if step.undo_from is not None:
        if step.undo_from <= expected.final:
            raise ValueError("A final block cannot be undone.")
        await _undo(tx, step.undo_from)
    if step.events:
        await _apply(tx, step.events, final)
    if step.logs:
        await tx.executemany(
            _ADD_LOG,
            [{"place": log.place, "block_hash": log.block_hash} for log in step.logs],
        )
    await tx.execute(_REMOVE_LOGS_BEFORE, place=(final + 1) * LOGS_PER_BLOCK)
    await tx.execute(_REMOVE_UNDO_BEFORE, number=final + 1)
    await tx.execute(
        _MOVE,
        number=step.until.number,
        block_hash=step.until.block_hash,
        final=final,
        final_hash=step.final_hash if final > expected.final else expected.final_hash,
        complete=int(step.complete),
    )
    failpoints.reach("during_step")


async def _undo(tx: Transaction, number: int) -> None:
    """Restore the state before this block."""
    before: dict[str, dict[str, str | None]] = {table.name: {} for table in _TABLES}
    for row in await tx.fetchall(_UNDO_FROM, number=number):
        # If several rows have the same key, the last one stays: the one of the lowest block.
        before[row["table_name"]][row["key"]] = row["before"]
    posts = {int(key): POSTS.decode_row(text) for key, text in before["posts"].items()}
    now = await POSTS.load_rows(tx, posts.keys())
    await _restore_texts(tx, [(now.get(key), row) for key, row in posts.items()])
    for table in _TABLES:
        restored = before[table.name].items()
        await table.store_rows(
            tx, ((table.decode_key(key), table.decode_row(text)) for key, text in restored)
        )
    place = number * LOGS_PER_BLOCK
    for statement in (
        _REMOVE_TAGS_FROM,
        _REMOVE_PURCHASES_FROM,
        _REMOVE_PRICE_CHANGES_FROM,
        _REMOVE_LOGS_FROM,
    ):
        await tx.execute(statement, place=place)
    await tx.execute(_REMOVE_UNDO_FROM, number=number)


async def _apply(tx: Transaction, events: Sequence[MarketEvent], final: int) -> None:
    ledger = await _load(tx, events)
    settled = [event for event in events if event.origin.block.number <= final]
    ledger.apply(settled)
    for _, rows in _tables_of(ledger):
        rows.take_before()
    undoable = events[len(settled) :]
    undo: list[dict[str, Value]] = []
    for number, block in groupby(undoable, key=lambda event: event.origin.block.number):
        ledger.apply(list(block))
        for table, rows in _tables_of(ledger):
            undo += [
                {
                    "block_number": number,
                    "table_name": table.name,
                    "key": table.encode_key(key),
                    "before": table.encode_row(row),
                }
                for key, row in rows.take_before().items()
            ]
    if undo:
        await tx.executemany(_ADD_UNDO, undo)
    await _store(tx, ledger)


def _tables_of(ledger: Ledger) -> tuple[tuple[IndexTable[Any, Any], Table[Any, Any]], ...]:
    return (
        (POSTS, ledger.posts),
        (HOLDINGS, ledger.holdings),
        (ACCOUNTS, ledger.accounts),
        (AUTHOR_READERS, ledger.author_readers),
        (DAYS, ledger.days),
        (TOTALS, ledger.totals),
    )


_TABLES = tuple(table for table, _ in _tables_of(Ledger()))
"""Tables whose rows events change."""


async def _load(tx: Transaction, events: Sequence[MarketEvent]) -> Ledger:
    """All rows that these events may change."""
    post_ids = {event.post_id for event in events}
    posts = await POSTS.load_rows(tx, post_ids)
    authors = {event.post_id: event.author for event in events if isinstance(event, PostPublished)}
    for post_id in post_ids:
        if (row := posts.get(post_id)) is not None:
            authors[post_id] = row.author
    holdings = {
        (address, event.post_id)
        for event in events
        if isinstance(event, TokensMoved)
        for address in (event.sender, event.receiver)
        if address != ZERO_ADDRESS
    }
    buyers = {event.buyer for event in events if isinstance(event, PostPurchased)}
    holders = {holder for holder, _ in holdings}
    readers = {(authors[post_id], holder) for holder, post_id in holdings if post_id in authors}
    return Ledger(
        posts,
        await HOLDINGS.load_rows(tx, holdings),
        await ACCOUNTS.load_rows(tx, holders | buyers | set(authors.values())),
        await AUTHOR_READERS.load_rows(tx, readers),
        await DAYS.load_rows(tx, {day_of(event.origin.at) for event in events}),
        await TOTALS.load_rows(tx, {1}),
    )


async def _store(tx: Transaction, ledger: Ledger) -> None:
    await _add_posts(tx, ledger.published)
    purchases: list[dict[str, Value]] = [
        {
            "place": event.origin.place,
            "post_id": str(event.post_id),
            "author": author or "",
            "buyer": event.buyer,
            "receiver": event.receiver if event.is_gift else None,
            "price": str(event.price),
            "at": micros(event.origin.at),
            "block_hash": event.origin.block.block_hash,
            "tx_hash": event.origin.tx_hash,
        }
        for event, author in ledger.purchased
    ]
    if purchases:
        await tx.executemany(_ADD_PURCHASE, purchases)
    price_changes: list[dict[str, Value]] = [
        {
            "place": event.origin.place,
            "post_id": str(event.post_id),
            "price": str(event.price),
            "at": micros(event.origin.at),
        }
        for event in ledger.price_changes
    ]
    if price_changes:
        await tx.executemany(_ADD_PRICE_CHANGE, price_changes)
    for table, rows in _tables_of(ledger):
        await table.store_rows(tx, ((key, now) for key, _, now in rows.changes()))
    await _restore_texts(tx, [(before, now) for _, before, now in ledger.posts.changes()])


async def _add_posts(tx: Transaction, published: Sequence[PostPublished]) -> None:
    posts: list[dict[str, Value]] = []
    tags: list[dict[str, Value]] = []
    words = []
    own = await _own_hashtags(tx, published)
    for event in published:
        origin, hashtags = event.origin, event.hashtags
        if event.cid is not None and (event.cid, event.author) in own:
            hashtags = own[event.cid, event.author] or event.hashtags
        posts.append(
            {
                "place": origin.place,
                "post_id": str(event.post_id),
                "author": event.author,
                "cid": event.cid,
                "spelled_cid": event.spelled_cid,
                "thumbnail_cid": event.thumbnail_cid,
                "title": event.title,
                "description": event.description,
                "hashtags": json.dumps(hashtags, ensure_ascii=False),
                "first_price": price_bytes(event.price),
                "price": price_bytes(event.price),
                "created_at": micros(origin.at),
                "block_hash": origin.block.block_hash,
                "tx_hash": origin.tx_hash,
            }
        )
        tags += [{"tag": tag, "place": origin.place} for tag in hashtags]
        title, description = (
            text.decode(errors="replace") for text in (event.title, event.description)
        )
        words.append(PostWords(origin.place, title, description, hashtags))
    if posts:
        await tx.executemany(_ADD_POST, posts)
        await add_words(tx, words)
    if tags:
        await tx.executemany(_ADD_TAG, tags)
    await _tag_files(tx, published)


async def _tag_files(tx: Transaction, published: Sequence[PostPublished]) -> None:
    """Give the files of these posts the chain's hashtags, unless publish requests named some."""
    found = {(event.post_id, event.cid, event.author): event for event in published if event.cid}
    if not found:
        return
    keys = [[str(each.post_id), each.origin.block.block_hash.lower()] for each in found.values()]
    for post in map(file_of, await tx.fetchall(BOUND_FILES, keys=json.dumps(keys))):
        if post.publication is not None:
            event = found.get((post.publication.post_id, post.cid, post.owner))
            if event is not None:
                await set_hashtags_of_chain(tx, post, event.hashtags)


async def _own_hashtags(
    tx: Transaction, published: Sequence[PostPublished]
) -> dict[tuple[Cid, Address], tuple[str, ...]]:
    """Hashtags that the authors' publish requests named, keyed by cid and author."""
    cids = [[event.cid] for event in published if event.cid is not None]
    if not cids:
        return {}
    rows = await tx.fetchall(OWN_FILES, keys=json.dumps(cids))
    return {(row["cid"], row["owner"]): tuple(json.loads(row["hashtags"])) for row in rows}


async def _restore_texts(
    tx: Transaction, changes: Sequence[tuple[PostRow | None, PostRow | None]]
) -> None:
    """Drop texts of posts that were removed or are no longer free, and queue texts to be read.

    Everybody may read the opening of a paid post. If the document arrives later, its text is queued
    then.
    """
    gone = [before.place for before, now in changes if before and not now]
    new = [now.place for before, now in changes if now and now.price and before is None]
    paid = [
        now.place for before, now in changes if now and now.price and before and not before.price
    ]
    free = [
        now.place
        for before, now in changes
        if now and not now.price and (before is None or before.price)
    ]
    if gone:
        await drop_words(tx, gone)
    if paid:
        await drop_texts(tx, paid)
        await want_hosted_texts(tx, [(place, place) for place in paid])
    if new:
        await want_hosted_texts(tx, [(min(new), max(new))])
    if free:
        await want_texts(tx, free)
