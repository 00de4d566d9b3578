"""`EventStore` on PostgreSQL: a delivery that publishes a draft is one statement.

The statement does what the rule in `publication` does in the usual case: a new delivery has one new
event, which names a draft of its author. In any other case, the statement changes nothing and
returns no row, or is refused for a conflict, and the rule decides
(docs/decisions/single-statements.md). The locks are taken first, so that the statement sees
everything that their previous holders committed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from imprint.adapters.database.postgresql.database import PostgresqlDatabase
from imprint.adapters.database.postgresql.transaction import (
    ListValue,
    Statement,
    translate,
)
from imprint.adapters.database.transaction import event_locks
from imprint.adapters.stores.drafts.postgresql_writes import UNCHANGED_DRAFT, unchanged
from imprint.adapters.stores.files import FILE_COLUMNS, WIDTH, build_file, checksum_of
from imprint.adapters.stores.publication import (
    SqlEventStore,
    apply_events,
    delivery_values,
    event_values,
)
from imprint.domain.drafts.files import Publication, State
from imprint.domain.errors import Damaged
from imprint.domain.posts.posts import (
    ApplyResult,
    DeadLetter,
    DeliveryKey,
    EventStatus,
    PostCreated,
)

FIND_DRAFT = f"""
{FILE_COLUMNS}, nextval('positions') AS position_of_post
FROM files f JOIN file_groups g ON g.id = f.group_id
WHERE f.cid = :cid AND f.owner = :author AND f.state = 'pending'
  AND NOT EXISTS (SELECT 1 FROM deliveries WHERE provider = :provider AND digest = :digest)
  AND NOT EXISTS (SELECT 1 FROM events WHERE chain_id = :chain_id AND block_hash = :block_hash
                                         AND log_index = :log_index)"""  # noqa: S608
"""Selects the draft that a new event publishes, and the position that it gets."""

PUBLISH_DRAFT = f"""
{UNCHANGED_DRAFT}
ready AS MATERIALIZED (
    SELECT thumbnail_size FROM its_group
    WHERE NOT EXISTS (SELECT 1 FROM posts WHERE post_id = :post_id)
), delivered AS (
    INSERT INTO deliveries (provider, digest, nonce, received_at)
    SELECT :provider, :digest, :nonce, CAST(:received_at AS BIGINT)
    FROM ready WHERE CAST(:digest AS TEXT) IS NOT NULL
), kept AS (
    INSERT INTO events (chain_id, block_hash, log_index, block_number, tx_hash, post_id, author,
                        spelled_cid, cid, status, file_id, source, seen_at)
    SELECT CAST(:chain_id AS BIGINT), :block_hash, CAST(:log_index AS BIGINT),
           CAST(:block_number AS BIGINT), :tx_hash, :post_id, :author, :spelled_cid, :cid,
           'onchain', :old_id, :provider, CAST(:received_at AS BIGINT)
    FROM ready
), published AS (
    UPDATE files SET state = 'onchain', position = :position, draft_position = position,
           post_id = :post_id, published_at = CAST(:received_at AS BIGINT), tx_hash = :tx_hash,
           checksum = :checksum
    WHERE id = :old_id AND EXISTS (SELECT 1 FROM ready)
), moved AS (
    UPDATE file_tags SET position = :position, state = 'onchain'
    WHERE tag = ANY(CAST(:old_tags AS TEXT[])) AND position = :old_position
      AND EXISTS (SELECT 1 FROM ready)
), counted AS (
    UPDATE owners SET used_bytes = used_bytes - CAST(:old_size AS BIGINT) - thumbnail_size,
           drafts = drafts - 1
    FROM ready WHERE owner = :author
)
SELECT 1 AS done FROM ready"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class PostgresqlEventStore(SqlEventStore):
    """The events of all chains. A usual delivery is applied by one statement."""

    database: PostgresqlDatabase

    async def apply_events(
        self,
        key: DeliveryKey | None,
        events: Sequence[PostCreated],
        dead_letters: Sequence[DeadLetter],
        at: datetime,
    ) -> ApplyResult:
        statement, locks = None, event_locks(events)
        if len(events) == 1 and not dead_letters:
            statement = await self._publish(key, events[0], at, locks)
        done = ApplyResult(False, (EventStatus.ONCHAIN,))
        return await self.database.write(
            statement, lambda _: done, locks, apply_events, key, events, dead_letters, at
        )

    async def _publish(
        self, key: DeliveryKey | None, event: PostCreated, at: datetime, locks: frozenset[str]
    ) -> Statement | None:
        """The statement that applies a delivery in the usual case, or None in any other case."""
        values: dict[str, ListValue] = {**event_values(event), **delivery_values(key, at)}
        rows = await self.database.retry_read(
            self.database.pool.rows, *translate(FIND_DRAFT, values)
        )
        if not rows:
            return None
        try:
            draft, position = build_file(*rows[0][:WIDTH]), rows[0]["position_of_post"]
        except Damaged:
            # The rule finds and reports the damage too.
            return None
        if event.thumbnail not in {None, draft.thumbnail_cid}:
            return None
        publication = Publication(event.post_id, at, event.place.tx_hash)
        post = replace(draft, state=State.ONCHAIN, position=position, publication=publication)
        values |= unchanged(draft)
        values |= {
            "signer": draft.owner,
            "position": position,
            "checksum": checksum_of(post),
            "old_tags": list(draft.hashtags),
            "old_size": draft.size,
        }
        return Statement(PUBLISH_DRAFT, values, locks)
