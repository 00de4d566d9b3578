"""`EndedSessions` in the catalog's database."""

from dataclasses import dataclass
from datetime import datetime

from imprint.adapters.catalog import ended_sessions
from imprint.adapters.catalog.catalog import CatalogBase
from imprint.domain.sessions import Session


@dataclass(frozen=True, slots=True)
class CatalogEndedSessions:
    """The ended sessions of all readers. Nothing is cached: other processes end sessions too."""

    catalog: CatalogBase

    async def refuse_ended(self, session: Session) -> None:
        await self.catalog.read(ended_sessions.refuse_ended, session)

    async def end(self, session: Session, until: datetime) -> None:
        await self.catalog.transact((), ended_sessions.end, session, until)

    async def end_all(self, session: Session, now: datetime, until: datetime) -> None:
        await self.catalog.transact((), ended_sessions.end_all, session, now, until)
