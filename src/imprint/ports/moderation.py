"""Ports for the operator's measures, for readers' reports, and for erasing stored data."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from imprint.domain.drafts.files import File
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import Decision, LoggedDecision, Report, Show, Target


class ModerationStore(Protocol):
    """The append-only log of decisions, and its effect on lists of posts."""

    async def decisions_after(self, number: int, limit: int) -> list[LoggedDecision]:
        """Return the first decisions after a number, in order."""

    async def newest_decisions(self, limit: int) -> list[LoggedDecision]:
        """Return the newest decisions, newest first."""

    async def add_decision(self, decision: Decision) -> LoggedDecision:
        """Add a decision to the log. Lists of posts change in the same transaction."""

    async def choose_shown(self, show: Show) -> None:
        """Make lists show the posts that `show` selects. Does nothing if they already do."""

    async def files_with_thumbnail(self, cid: Cid, limit: int) -> list[File]:
        """Return the live files that have this thumbnail."""

    async def authors_with_avatar(self, cid: Cid, limit: int) -> list[Address]:
        """Return the authors whose profile has this picture."""

    async def tags_of_posts(self, post_ids: Sequence[int]) -> Mapping[int, Collection[str]]:
        """Return the hashtags of posts on the chain and of their files. Raises `Unavailable`."""

    async def targets_of_event(self, target: Target) -> list[Target]:
        """Return the targets whose measures apply to posts on the chain with this ID or CID."""

    async def add_report(self, report: Report, most: int) -> None:
        """Store a report.

        Above `most` reports, the oldest closed reports are dropped first, then the oldest reports
        of the post that has the most reports.
        """

    async def open_reports(self, limit: int) -> list[Report]:
        """Return the oldest reports that are still open."""

    async def close_reports(self, report_ids: Sequence[str], at: datetime) -> None:
        """Close these reports."""


@dataclass(frozen=True, slots=True)
class PersonalRecords:
    """The data stored about a person, or with a document."""

    drafts: tuple[Cid, ...] = ()
    posts: tuple[Cid, ...] = ()
    versions: tuple[Cid, ...] = ()
    """Replaced and deleted versions that are not destroyed yet."""
    pictures: tuple[Cid, ...] = ()
    """Thumbnails and avatars that no one else uses."""
    revisions: tuple[Cid, ...] = ()
    """The documents of revisions of posts."""
    profile: bool = False
    writing_sessions: int = 0
    private_feeds: int = 0


class ErasureStore(Protocol):
    """Deletes records immediately. The garbage collector destroys their documents without a grace
    period.

    Every method can be repeated. Nonces stay spent, and facts from the chain stay recorded.
    """

    async def records_of(self, address: Address) -> PersonalRecords:
        """Return the data stored about an address."""

    async def records_with(self, cid: Cid) -> PersonalRecords:
        """Return the data stored with a document.

        That is a file with all its earlier versions and revisions, a single revision, or a picture.
        """

    async def erase_file(self, cid: Cid) -> None:
        """Delete a version in any state, with its key and its text in the search index."""

    async def erase_revision(self, cid: Cid) -> None:
        """Delete the revision with this document, its key, and its text in the search index."""

    async def erase_account(self, address: Address) -> None:
        """Delete the profile, the writing sessions and the private feeds of an address."""

    async def erase_picture(self, cid: Cid) -> None:
        """Remove a picture from all records that use it."""
