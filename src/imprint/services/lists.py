"""Lists: pages of files, newest first, each file once however much is written meanwhile."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from imprint.auth.page_tokens import Cursor, PageTokens
from imprint.auth.sessions import Session
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.errors import Code, Refusal
from imprint.domain.files import File
from imprint.domain.lists import (
    DRAFTS_PAGE_SIZE,
    PUBLIC_PAGE_SIZE,
    ListFilter,
    OwnDrafts,
    PublicList,
    cut_page,
)
from imprint.ports import Catalog, Clock
from imprint.services.reads import check_subject

PUBLIC_TOKEN_LIFE = timedelta(hours=24)
"""How long a page token of a public list is good for."""

DRAFTS_TOKEN_LIFE = timedelta(minutes=15)
"""How long a page token of somebody's drafts is good for, and never past the session."""


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page as it is shown: the files, and the sealed token of the next page."""

    files: tuple[File, ...]
    next_page_token: str | None


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists. Strangers see posts only, unless `public_drafts` says otherwise."""

    catalog: Catalog
    tokens: PageTokens
    clock: Clock
    public_drafts: bool

    async def by_tags(self, tags: tuple[str, ...]) -> ListPage:
        """The newest files that carry all the tags."""
        return await self._public(PublicList(tags, self.public_drafts))

    async def recent(self) -> ListPage:
        """The newest files of all."""
        return await self._public(PublicList((), self.public_drafts))

    async def drafts(self, session: Session, owner: Address) -> ListPage:
        """The newest drafts of the session's own address; every other owner is refused."""
        check_subject(session, owner)
        return await self._page(OwnDrafts(owner), None, DRAFTS_PAGE_SIZE, session.expires_at)

    async def after(self, page_token: str) -> ListPage:
        """The next page of the list that this token came from.

        It needs no session: the token is the proof. Refuses any that was changed or has expired.
        """
        cursor = self.tokens.decode(page_token, self.clock())
        which = cursor.filter
        if isinstance(which, PublicList) and not self.public_drafts:
            # Drafts may have been public when the token was made.
            which = replace(which, drafts_too=False)
        return await self._page(which, cursor.position, PUBLIC_PAGE_SIZE, cursor.until)

    async def metadata(self, cid: Cid) -> ListPage:
        """The one file with this cid, draft or post: who knows the cid of a draft was told it."""
        file = await self.catalog.file_by_cid(cid)
        if file is None:
            raise Refusal(Code.NOT_FOUND, "There is no file with this cid.")
        return ListPage((file,), None)

    async def _public(self, which: PublicList) -> ListPage:
        return await self._page(which, None, PUBLIC_PAGE_SIZE, None)

    async def _page(
        self, which: ListFilter, before: int | None, size: int, until: datetime | None
    ) -> ListPage:
        page = cut_page(await self.catalog.list_files(which, before, size + 1), size)
        if page.next_position is None:
            return ListPage(page.files, None)
        life = DRAFTS_TOKEN_LIFE if isinstance(which, OwnDrafts) else PUBLIC_TOKEN_LIFE
        expires_at = self.clock() + life
        if until is not None:
            expires_at = min(expires_at, until)
        cursor = Cursor(which, page.next_position, until)
        return ListPage(page.files, self.tokens.encode(cursor, expires_at))
