"""Ports for the operator's measures, and for reports of readers."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from imprint.domain.drafts.files import File
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import Decision, LoggedDecision, Report, Show


class ModerationStore(Protocol):
    """The append-only log of decisions, and what follows from it for lists of posts."""

    async def decisions_after(self, number: int, limit: int) -> list[LoggedDecision]:
        """The first decisions after a number, in order."""

    async def newest_decisions(self, limit: int) -> list[LoggedDecision]:
        """The newest decisions, the newest first."""

    async def add_decision(self, decision: Decision) -> LoggedDecision:
        """Add a decision to the log; lists follow it in the same transaction."""

    async def choose_shown(self, show: Show) -> None:
        """Make lists show these posts; does nothing if they already do."""

    async def files_with_thumbnail(self, cid: Cid, limit: int) -> list[File]:
        """Live files whose thumbnail this is."""

    async def authors_with_avatar(self, cid: Cid, limit: int) -> list[Address]:
        """Authors whose profile has this picture."""

    async def add_report(self, report: Report, most: int) -> None:
        """Keep a report; of more than `most`, the oldest closed ones are dropped, then others."""

    async def open_reports(self, limit: int) -> list[Report]:
        """The oldest reports that are not closed."""

    async def close_reports(self, report_ids: Sequence[str], at: datetime) -> None:
        """Close these reports."""
