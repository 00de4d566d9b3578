"""Port for ended sessions: what every process of the service must refuse before it expires."""

from datetime import datetime
from typing import Protocol

from imprint.domain.sessions import Session


class EndedSessions(Protocol):
    """Sessions of readers that were ended before they expired.

    Nothing is remembered between two calls: what one process has ended, every other one refuses
    from its next call on. `Catalog` has reads that do this check as well. All methods refuse
    `session_ended`.
    """

    async def refuse_ended(self, session: Session) -> None:
        """Return if the session was not ended."""

    async def end(self, session: Session, until: datetime) -> None:
        """End this session; the record is needed until then."""

    async def end_all(self, session: Session, now: datetime, until: datetime) -> None:
        """End all sessions that the address of this one has; the record is needed until then.

        A session that is issued after this returns is not ended, however soon it is issued.
        """
