"""`DraftStore` on PostgreSQL: each write is one statement, except in unusual cases."""

from collections.abc import Sequence
from functools import partial

from imprint.adapters.database.postgresql.database import PostgresqlDatabase
from imprint.adapters.database.postgresql.transaction import Statement, translate
from imprint.adapters.database.transaction import Row, Rule, T, Ts, write_locks
from imprint.adapters.stores.drafts import drafts
from imprint.adapters.stores.drafts import postgresql_writes as writes
from imprint.adapters.stores.drafts.drafts import SqlDraftStore
from imprint.adapters.stores.files import WIDTH
from imprint.adapters.stores.postgresql_files import PostgresqlFileStore
from imprint.adapters.stores.rate_limits import SqlRateLimits, admission
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import File, Intent, Quota, Version, Write
from imprint.domain.formats.cids import Cid
from imprint.domain.rate_limits import Rate
from imprint.ports.drafts import NO_QUOTA

_BEGUN = 4096
"""Number of unfinished writes whose positions a process caches. For a write that is not cached, the
rule takes a new position."""


class PostgresqlDraftStore(SqlDraftStore):
    """Drafts of all signers, written by statements that mirror the rules."""

    def __init__(
        self, database: PostgresqlDatabase, files: PostgresqlFileStore, limits: SqlRateLimits
    ) -> None:
        super().__init__(database, files, limits)
        self._server = database
        self._live = files.live
        self._positions: BoundedCache[str, int] = BoundedCache(_BEGUN)

    async def open_write(
        self, write: Write, rate: Rate | None, key: str, cid: Cid | None = None
    ) -> File | None:
        admitted = None if rate is None else admission(key, rate, write.at)
        statement = writes.open_statement(write, admitted, cid)
        (row,) = await self._server.retry_read(
            self._server.pool.rows, *translate(statement.text, statement.values)
        )
        if row["spent"] or not row["admitted"]:
            await super().open_write(write, None if row["admitted"] else rate, key)
        if cid is None:
            return None
        return self._live(None if row["id"] is None else row[:WIDTH])

    async def open_create(
        self, write: Write, rate: Rate | None, key: str, intent: Intent, quota: Quota
    ) -> int | None:
        admitted = None if rate is None else admission(key, rate, write.at)
        statement = writes.open_create_statement(intent, admitted, quota)
        # May be interrupted, because it then leaves at most an intent, which expires.
        row = None if statement is None else await self._server.run_alone(statement)
        if row is None:
            return await super().open_create(write, rate, key, intent, quota)
        if row["spent"] or not row["admitted"]:
            await super().open_write(write, None if row["admitted"] else rate, key)
        return self._begun(intent, row) if row["begun"] else await self.begin_write(intent, quota)

    async def begin_write(self, intent: Intent, quota: Quota = NO_QUOTA) -> int | None:
        statement = writes.begin_statement(intent, quota)
        locks = write_locks(intent.write, intent)
        note = partial(self._begun, intent)
        return await self._server.write(
            statement, note, locks, drafts.begin_write, intent, quota, durable=False
        )

    def _begun(self, intent: Intent, row: Row) -> int | None:
        """The number reserved instead of the intent's number, or None if the intent was recorded.
        Its position is then cached."""
        reserved: int | None = row["reserved"]
        if reserved is None:
            self._positions.put(intent.id, row["position"])
        return reserved

    async def add_draft(self, write: Write, intent: Intent, version: Version) -> File:
        position, made = self._positions.pop(intent.id), None
        if position is not None:
            made = writes.add_statement(write, intent, version, position)
        locks = write_locks(write, intent)
        return await self._effect(made, locks, drafts.add_draft, write, intent, version)

    async def replace_draft(
        self,
        write: Write,
        intent: Intent,
        old: Cid,
        version: Version,
        known: File | None = None,
    ) -> File | None:
        position, made = self._positions.pop(intent.id), None
        if position is not None and writes.is_known(known, old, write):
            made = writes.replace_statement(write, intent, known, version, position)
        locks = write_locks(write, intent, old)
        return await self._effect(made, locks, drafts.replace_draft, write, intent, old, version)

    async def prepare_draft(
        self,
        write: Write,
        intent: Intent,
        cid: Cid,
        hashtags: Sequence[str],
        known: File | None = None,
    ) -> File | None:
        made = None
        if writes.is_known(known, cid, write):
            made = writes.prepare_statement(write, intent, known, hashtags)
        locks = write_locks(write, intent)
        return await self._effect(made, locks, drafts.prepare_draft, write, intent, cid, hashtags)

    async def delete_draft(self, write: Write, cid: Cid, known: File | None = None) -> File | None:
        made = None
        if writes.is_known(known, cid, write):
            made = writes.delete_statement(write, known), known
        locks = write_locks(write, None, cid)
        return await self._effect(made, locks, drafts.delete_draft, write, cid)

    async def _effect(
        self,
        made: tuple[Statement, File] | None,
        locks: frozenset[str],
        rule: Rule[*Ts, T],
        *args: *Ts,
    ) -> T | File:
        """The file written by a statement if it takes effect, otherwise the result of the rule."""
        if made is None:
            return await self._server.transact(locks, rule, *args)
        statement, file = made
        return await self._server.write(statement, lambda _: file, locks, rule, *args)
