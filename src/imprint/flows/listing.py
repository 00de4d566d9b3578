"""Listing: pages of files, newest first, each file once however much is written meanwhile."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from imprint.auth.page_tokens import Cursor, PageTokens
from imprint.auth.sessions import Session
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.files import File
from imprint.domain.paging import (
    DRAFTS_PAGE_SIZE,
    PUBLIC_PAGE_SIZE,
    ListFilter,
    OwnDrafts,
    PublicList,
    cut_page,
)
from imprint.domain.refusals import Code, Refusal
from imprint.flows.reading import check_subject
from imprint.ports import Catalog, Clock

PUBLIC_TOKEN_LIFE = timedelta(hours=24)
"""How long a page token of a public list is good for."""

DRAFTS_TOKEN_LIFE = timedelta(minutes=15)
"""How long a page token of somebody's drafts is good for, and never past the session."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A page as it is shown: the files, and the sealed token of the next page."""

    files: tuple[File, ...]
    next_page_token: str | None


@dataclass(frozen=True, slots=True)
class Listing:
    """The lists. Strangers see posts only, unless `public_drafts` says otherwise."""

    catalog: Catalog
    tokens: PageTokens
    clock: Clock
    public_drafts: bool

    async def by_tags(self, tags: tuple[str, ...]) -> Listed:
        """The newest files that carry all the tags."""
        return await self._public(PublicList(tags, self.public_drafts))

    async def recent(self) -> Listed:
        """The newest files of all."""
        return await self._public(PublicList((), self.public_drafts))

    async def drafts(self, session: Session, owner: Address) -> Listed:
        """The newest drafts of the session's own address; every other owner is refused."""
        check_subject(session, owner)
        return await self._page(OwnDrafts(owner), None, DRAFTS_PAGE_SIZE, session.expires_at)

    async def after(self, page_token: str) -> Listed:
        """The next page of the list that this token came from.

        It needs no session: the token is the proof. Refuses any that was changed or has expired.
        """
        cursor = self.tokens.open(page_token, self.clock.now())
        which = cursor.filter
        if isinstance(which, PublicList) and not self.public_drafts:
            # Drafts may have been public when the token was made.
            which = replace(which, drafts_too=False)
        return await self._page(which, cursor.position, PUBLIC_PAGE_SIZE, cursor.until)

    async def metadata(self, cid: Cid) -> Listed:
        """The one file with this cid, draft or post: who knows the cid of a draft was told it."""
        file = await self.catalog.file_by_cid(cid)
        if file is None:
            raise Refusal(Code.NOT_FOUND, "There is no file with this cid.")
        return Listed((file,), None)

    async def _public(self, which: PublicList) -> Listed:
        return await self._page(which, None, PUBLIC_PAGE_SIZE, None)

    async def _page(
        self, which: ListFilter, before: int | None, size: int, until: datetime | None
    ) -> Listed:
        page = cut_page(await self.catalog.list_files(which, before, size + 1), size)
        if page.next_position is None:
            return Listed(page.files, None)
        life = DRAFTS_TOKEN_LIFE if isinstance(which, OwnDrafts) else PUBLIC_TOKEN_LIFE
        expires_at = self.clock.now() + life
        if until is not None:
            expires_at = min(expires_at, until)
        cursor = Cursor(which, page.next_position, until)
        return Listed(page.files, self.tokens.seal(cursor, expires_at))
