"""Lists of files, newest first and stable under concurrent writes, and marketplace totals."""

import asyncio
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from imprint.auth.page_tokens import PagePosition, PageTokens, invalid_page_token
from imprint.domain.drafts.files import File
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import TargetKind
from imprint.domain.posts.indexed_posts import (
    DRAFTS_PAGE_SIZE,
    PUBLIC_PAGE_SIZE,
    AccountSummary,
    ListFilter,
    MarketTotals,
    OwnDrafts,
    Page,
    PublicList,
    ShownTotals,
    cut_page,
    inactive_account,
)
from imprint.domain.sessions import Session
from imprint.ports import Clock, Monotonic
from imprint.ports.files import FileStore
from imprint.ports.post_index import PostIndexReader
from imprint.services.access.reads import check_subject
from imprint.services.moderation import CurrentMeasures
from imprint.services.posts.posts import Derived, expect_complete, kept_pages

PUBLIC_TOKEN_LIFETIME = timedelta(hours=24)
"""How long a page token of a public list is valid."""

DRAFTS_TOKEN_LIFETIME = timedelta(minutes=15)
"""How long a page token of a draft list is valid, unless the session ends earlier."""


BATCH = 100
"""Number of files read at once after measures have hidden some files of a page."""

MOST_BATCHES = 20
"""Maximum number of reads for one page."""


KEPT_FILES = 2_000
"""Maximum number of files on all cached pages of a process."""


@dataclass(frozen=True, slots=True, weakref_slot=True)
class ListPage:
    """The files of a page, and the encrypted token of the next page."""

    files: tuple[File, ...]
    next_page_token: str | None


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of files. Public lists show only posts, unless `public_drafts` is set.

    While nobody writes, the requests of a second share a page and its token, whose expiry is in
    whole seconds.
    """

    files: FileStore
    tokens: PageTokens
    clock: Clock
    public_drafts: bool
    measures: CurrentMeasures
    _pages: Derived[ListPage] = field(
        default_factory=kept_pages(lambda page: page.files, KEPT_FILES), init=False
    )

    async def by_tags(self, tags: tuple[str, ...]) -> ListPage:
        """Return the newest files that have all the tags."""
        which = PublicList(tags, self.public_drafts)
        return await self._page(which, None, PUBLIC_PAGE_SIZE)

    async def recent(self) -> ListPage:
        """Return the newest files."""
        return await self.by_tags(())

    async def drafts(self, session: Session, owner: Address) -> ListPage:
        """Return the newest drafts of the session's address. Refuses any other owner."""
        check_subject(session, owner)
        until = session.expires_at
        return await self._page(OwnDrafts(owner), None, DRAFTS_PAGE_SIZE, until, session)

    async def after(self, page_token: str) -> ListPage:
        """Return the next page of the list that this token belongs to.

        The token is sufficient proof, so no session is needed. Refuses a token that was modified,
        has expired, or belongs to an ended session.
        """
        start = self.tokens.decode(page_token, self.clock())
        which = start.filter
        if isinstance(which, PublicList) and not self.public_drafts:
            # The setting may have been on when the token was issued.
            which = replace(which, drafts_too=False)
        try:
            return await self._page(
                which, start.position, PUBLIC_PAGE_SIZE, start.until, start.session
            )
        except Refusal as refusal:
            if refusal.code is not Code.SESSION_ENDED:
                raise
            # The request has no session, so there is none for the client to renew.
            raise invalid_page_token() from None

    async def metadata(self, cid: Cid) -> ListPage:
        """Return the file with this CID, draft or post. The CID of a draft cannot be guessed."""
        file = await self.files.file_by_cid(cid)
        if file is None:
            await self.measures.check_missing(TargetKind.CID, cid)
            raise Refusal(Code.NOT_FOUND, "There is no file with this cid.")
        await self.measures.check_file(file)
        return ListPage((file,), None)

    async def _page(
        self,
        which: ListFilter,
        before: int | None,
        size: int,
        until: datetime | None = None,
        session: Session | None = None,
    ) -> ListPage:
        files = await self.files.list_files(which, before, size + 1, session)
        now = self.clock()
        is_public = isinstance(which, PublicList)
        measures = (await self.measures.current()).number if is_public else None
        beside = (int(now.timestamp()), measures, until, session)
        known = self._pages.find(files, beside)
        if known is not None:
            return known
        if isinstance(which, OwnDrafts):
            page, lifetime = cut_page(files, size), DRAFTS_TOKEN_LIFETIME
        else:
            page, lifetime = await self._shown(which, files, size), PUBLIC_TOKEN_LIFETIME
        token = None
        if page.next_position is not None:
            expires_at = now + lifetime
            if until is not None:
                expires_at = min(expires_at, until)
            following = PagePosition(which, page.next_position, until, session)
            token = self.tokens.encode(following, expires_at)
        listed = ListPage(page.files, token)
        self._pages.keep(files, beside, listed)
        return listed

    async def _shown(self, which: PublicList, files: list[File], size: int) -> Page:
        """Return a page of a list that begins with `files`, without those that measures hide.

        The page may have fewer than `size` files.
        """
        listed: list[File] = []
        before, wanted = None, size + 1
        for number in range(MOST_BATCHES):
            if number:
                files = await self.files.list_files(which, before, wanted)
            measured = await self.measures.on_files(files)
            listed += [file for file, each in zip(files, measured, strict=True) if each is None]
            if len(listed) > size or len(files) < wanted:
                return cut_page(listed, size)
            before, wanted = files[-1].position, BATCH
        return Page(tuple(listed), before)


ACTIVITY_PERIOD = timedelta(days=366)
"""How far back the timestamps of an address are shown."""

MAX_MOMENTS = 10_000
"""Maximum number of timestamps shown of each type. The oldest are left out."""


@dataclass(frozen=True, slots=True)
class Activity:
    """The times at which an address published and bought, each in order."""

    published: list[datetime]
    bought: list[datetime]


LONGEST_KEPT = 60.0
"""Seconds after which the totals of shown posts are always summed again."""

REST = 20
"""How long the totals of shown posts are cached, as a multiple of the time to sum them."""


@dataclass(slots=True)
class ShownTotalsCache:
    """The totals of listed posts, summed again after a change in the market.

    Summing visits every shown post, so the totals of a large index are summed less often.
    """

    index: PostIndexReader
    measures: CurrentMeasures
    monotonic: Monotonic
    _key: tuple[MarketTotals, int] | None = field(default=None, init=False)
    _kept: ShownTotals | None = field(default=None, init=False)
    _summed_at: float = field(default=0.0, init=False)
    _rest: float = field(default=0.0, init=False)
    _summing: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def find(self) -> ShownTotals:
        """Return the totals. Raises `Unavailable` while the index is incomplete."""
        await expect_complete(self.index)
        async with self._summing:
            measures = await self.measures.current()
            market = await self.index.totals()
            key, age = (market, measures.number), self.monotonic() - self._summed_at
            is_old = self._key is None or self._key[1] != measures.number or age > LONGEST_KEPT
            if self._kept is None or is_old or (self._key != key and age >= self._rest):
                began = self.monotonic()
                self._kept = await self.index.shown_totals()
                self._summed_at = self.monotonic()
                self._rest = REST * (self._summed_at - began)
                self._key = key
            return self._kept


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals from the post index, for display only."""

    index: PostIndexReader
    clock: Clock
    shown_totals: ShownTotalsCache

    async def shown(self) -> ShownTotals:
        """Return the totals of listed posts. Raises `Unavailable` while they are unknown."""
        return await self.shown_totals.find()

    async def market(self) -> MarketTotals:
        """Return the totals of the marketplace.

        Raises `Unavailable` while the index is incomplete.
        """
        await expect_complete(self.index)
        return await self.index.totals()

    async def account(self, address: Address) -> AccountSummary:
        """Return the totals of an address, which are zero if it has no activity.

        Raises `Unavailable` if the address is not in the index and the index is incomplete.
        """
        found = await self.index.account(address)
        if found is not None:
            return found
        await expect_complete(self.index)
        return inactive_account(address)

    async def activity(self, address: Address) -> Activity:
        """Return the most recent times at which an address published and bought.

        Raises `Unavailable` if there are none and the index is incomplete.
        """
        since = self.clock() - ACTIVITY_PERIOD
        published = await self.index.post_times(address, since, MAX_MOMENTS)
        bought = await self.index.purchase_times(address, since, MAX_MOMENTS)
        if not published and not bought:
            await expect_complete(self.index)
        return Activity(published, bought)
