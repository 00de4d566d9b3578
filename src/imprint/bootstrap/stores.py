"""Opens the stores of a database, including those specific to PostgreSQL."""

from dataclasses import dataclass

from imprint.adapters.database.database import Database
from imprint.adapters.database.sqlite.database import SqliteDatabase
from imprint.adapters.stores.accounts import (
    SqlPrivateFeeds,
    SqlProfileStore,
    SqlWritingSessions,
)
from imprint.adapters.stores.drafts.drafts import SqlDraftStore
from imprint.adapters.stores.drafts.garbage import SqlGarbageStore
from imprint.adapters.stores.ended_sessions import SqlSessionStore
from imprint.adapters.stores.erasure import SqlErasureStore
from imprint.adapters.stores.files import SqlFileStore
from imprint.adapters.stores.installation.archives import SqlArchiveStore
from imprint.adapters.stores.installation.installation import (
    SqlInstallationStore,
    SqlKeyStore,
    SqlLeaseStore,
    SqlOperatorFacts,
)
from imprint.adapters.stores.installation.records import SqlRecordStore
from imprint.adapters.stores.moderation import SqlModerationStore
from imprint.adapters.stores.posts.index_reader import SqlIndexReader
from imprint.adapters.stores.posts.index_writer import SqlIndexWriter
from imprint.adapters.stores.posts.search_index import (
    SqlSearchIndex,
    find_in_postgresql,
    find_in_sqlite,
)
from imprint.adapters.stores.publication import SqlEventStore
from imprint.adapters.stores.rate_limits import SqlRateLimits
from imprint.adapters.stores.revisions import SqlRevisionStore


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of one database. Tests replace some of them."""

    database: Database
    files: SqlFileStore
    drafts: SqlDraftStore
    garbage: SqlGarbageStore
    rate_limits: SqlRateLimits
    events: SqlEventStore
    index_reader: SqlIndexReader
    index_writer: SqlIndexWriter
    search: SqlSearchIndex
    sessions: SqlSessionStore
    writing_sessions: SqlWritingSessions
    profiles: SqlProfileStore
    revisions: SqlRevisionStore
    private_feeds: SqlPrivateFeeds
    leases: SqlLeaseStore
    archives: SqlArchiveStore
    installation: SqlInstallationStore
    keys: SqlKeyStore
    records: SqlRecordStore
    operator_facts: SqlOperatorFacts
    moderation: SqlModerationStore
    erasure: SqlErasureStore

    async def close(self) -> None:
        """Close the database."""
        await self.database.close()


def open_stores(database: Database) -> Stores:
    """The stores of this database."""
    limits = SqlRateLimits(database)
    files, drafts, events = _open_files_drafts_and_events(database, limits)
    is_sqlite = isinstance(database, SqliteDatabase)
    return Stores(
        database=database,
        files=files,
        drafts=drafts,
        garbage=SqlGarbageStore(database),
        rate_limits=limits,
        events=events,
        index_reader=SqlIndexReader(database),
        index_writer=SqlIndexWriter(database),
        search=SqlSearchIndex(database, find_in_sqlite if is_sqlite else find_in_postgresql),
        sessions=SqlSessionStore(database),
        writing_sessions=SqlWritingSessions(database),
        profiles=SqlProfileStore(database),
        revisions=SqlRevisionStore(database),
        private_feeds=SqlPrivateFeeds(database),
        leases=SqlLeaseStore(database),
        archives=SqlArchiveStore(database),
        installation=SqlInstallationStore(database),
        keys=SqlKeyStore(database),
        records=SqlRecordStore(database),
        operator_facts=SqlOperatorFacts(database),
        moderation=SqlModerationStore(database),
        erasure=SqlErasureStore(database),
    )


def _open_files_drafts_and_events(
    database: Database, limits: SqlRateLimits
) -> tuple[SqlFileStore, SqlDraftStore, SqlEventStore]:
    if not isinstance(database, SqliteDatabase):
        # asyncpg is loaded only when it is needed.
        from imprint.adapters.database.postgresql.database import PostgresqlDatabase
        from imprint.adapters.stores.drafts.postgresql_drafts import PostgresqlDraftStore
        from imprint.adapters.stores.postgresql_files import PostgresqlFileStore
        from imprint.adapters.stores.postgresql_publication import PostgresqlEventStore

        if isinstance(database, PostgresqlDatabase):
            own = PostgresqlFileStore(database)
            drafts = PostgresqlDraftStore(database, own, limits)
            return own, drafts, PostgresqlEventStore(database)
    files = SqlFileStore(database)
    return files, SqlDraftStore(database, files, limits), SqlEventStore(database)
