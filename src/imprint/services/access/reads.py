"""Reads: drafts for their owner, posts for entitled readers, thumbnails for everybody."""

import asyncio
import logging
import sys
from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from imprint.domain.access import Access
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.documents import SMALL_DOCUMENT, NotADocument, read_document
from imprint.domain.drafts.files import File, Network, State
from imprint.domain.errors import Code, Damaged, Refusal, Unavailable, Unpaid
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import TargetKind
from imprint.domain.posts.indexed_posts import IndexedPost
from imprint.domain.posts.openings import Opening, read_opening
from imprint.domain.posts.revisions import PostVersion, Revision, unknown_revision
from imprint.domain.sessions import Session
from imprint.ports import ContentStore
from imprint.ports.content import DocumentCipher
from imprint.ports.files import FileStore, RevisionStore
from imprint.services.access.entitlement import AccessDecision, Entitlement
from imprint.services.content.text_conversions import Convert, TextConversions
from imprint.services.moderation import CurrentMeasures

T = TypeVar("T")

log = logging.getLogger(__name__)

CACHED_BYTES = 16 * 1024 * 1024
"""Cache size for contents, in bytes. The least recently read content is evicted."""


class ContentCache:
    """Recently read contents, so that a popular post is decrypted only once.

    The bytes of a CID never change, and cached contents were verified against it, so an
    entry cannot become stale. Access is decided before the cache is consulted.
    """

    def __init__(self, capacity: int = CACHED_BYTES) -> None:
        self._contents: BoundedCache[Cid, str] = BoundedCache(capacity, sys.getsizeof)

    def get(self, cid: Cid) -> str | None:
        """Return the content with this CID, if it is cached."""
        content = self._contents.get(cid)
        if content is not None:
            self._contents.touch(cid)
        return content

    def put(self, cid: Cid, content: str) -> None:
        """Cache this content unless it is large, because large content would evict many entries."""
        if len(content) <= SMALL_DOCUMENT:
            self._contents.put(cid, content)


@dataclass(frozen=True, slots=True)
class Reads:
    """Decides first which file a reader may read, and only then fetches its content.

    A file that the operator withholds is refused to everybody before any other check.

    Methods that take a session refuse an ended session, in the same query that finds the file.
    """

    files: FileStore
    revisions: RevisionStore
    content: ContentStore
    cipher: DocumentCipher
    entitlement: Entitlement
    content_cache: ContentCache = field(default_factory=ContentCache)
    texts: TextConversions = field(default_factory=TextConversions)
    measures: CurrentMeasures = field(default_factory=CurrentMeasures)

    async def draft(self, session: Session, cid: Cid) -> File:
        """Return the session's own draft. Refuses other CIDs, including other owners' drafts."""
        file = await self.files.file_by_cid(cid, session)
        if file is None or file.state is not State.PENDING:
            raise Refusal(Code.NOT_FOUND, "There is no draft with this cid.")
        if file.owner != session.address:
            raise Refusal(Code.NOT_OWNER, "This draft belongs to somebody else.")
        await self.measures.check_document(file.cid)
        return file

    async def post(self, session: Session, reader: Address, post_id: int) -> File:
        """Return the post if the reader is its author or holds its token, or if the post is free.

        Refuses a reader other than the session's address before querying the chain.
        """
        check_subject(session, reader)
        return await self.own_post(session, post_id)

    async def own_post(self, session: Session, post_id: int) -> File:
        """Return the post if the session's address may read it."""
        return (await self._bound_post(post_id, session.address, session)).entitled()

    async def free_post(self, post_id: int) -> File:
        """Return the post if its price on the chain is zero."""
        bound = await self._bound_post(post_id, None)
        if bound.decision.access is not Access.FREE:
            raise bound.refusal(Code.NOT_FREE, "This post is not free.")
        return bound.file

    async def shown_post(self, post: IndexedPost) -> File:
        """Return a post from the index if it is free. Used only for pages and feeds.

        While the chain is unreachable, the price in the index is used, for at most an hour after
        the last contact with the chain.
        """
        if self.entitlement.is_silent and (file := await self._free_in_index(post)) is not None:
            return file
        try:
            return await self.free_post(post.post_id)
        except Unavailable as problem:
            if problem.code is not Code.CHAIN_UNAVAILABLE:
                raise
            if (file := await self._free_in_index(post)) is None:
                raise
            return file

    async def _free_in_index(self, post: IndexedPost) -> File | None:
        """Return the file of a post that is shown because it is free in the index."""
        if not (post.free and self.entitlement.trusts_index(post.post_id)):
            return None
        file = await self.bound_file(post.post_id, post.author, post.cid)
        if file is not None:
            await self.measures.check_file(file)
        return file

    async def bound_file(self, post_id: int, author: Address, cid: str | None) -> File | None:
        """Return the file of an indexed post, or None if it is not the post's document.

        Neither the chain nor the operator's measures are checked, so the caller may show only
        public data.
        """
        file = await self.files.file_by_post_id(post_id)
        if file is None or (file.owner, file.cid) != (author, cid):
            return None
        return file

    async def opened_post(self, post: IndexedPost) -> File:
        """Return the newest text of a post whose opening is public, whatever the post costs.

        Readers who may not read the whole post may be given only its `opening`. Refuses a post
        without an opening.
        """
        file = None
        if post.has_opening:
            file = await self.bound_file(post.post_id, post.author, post.cid)
        if file is None:
            raise Refusal(Code.NO_OPENING, "This post has no opening that everybody may read.")
        await self.measures.check_file(file)
        return (await self.newest(file)).text

    async def opening(self, client: str, file: File) -> Opening:
        """Return the opening of a file that `opened_post` returned."""
        return await self.converted(client, file, "opening", read_opening)

    async def post_for(self, reader: Address, post_id: int) -> File:
        """Return the post if `reader`, whom the caller must have authenticated, may read it."""
        return (await self._bound_post(post_id, reader)).entitled()

    async def _bound_post(
        self, post_id: int, reader: Address | None, session: Session | None = None
    ) -> "_BoundPost":
        file = await self.files.file_by_post_id(post_id, session)
        if file is None:
            await self.measures.check_missing(TargetKind.POST, str(post_id))
            raise Refusal(Code.NOT_FOUND, "There is no post with this id.")
        measure = await self.measures.check_file(file)
        decision = await self.entitlement.decide(file, post_id, reader)
        if decision is None:
            log.warning("the chain's entry is not this file", extra={"post_id": str(post_id)})
            raise Refusal(Code.NOT_FOUND, "There is no post with this id.")
        return _BoundPost(file, decision, measure is None)

    async def newest(self, file: File) -> PostVersion:
        """Return the shown version of a post: its newest revision, or the document on the chain.

        All code that shows a text uses this method. The file must come from one of the methods
        above.
        """
        return await self._check_version(
            PostVersion(file, await self.revisions.newest_revision(file.cid))
        )

    async def version(self, file: File, number: int) -> PostVersion:
        """Return a version of a post that one of the methods above returned.

        Version 0 is the document on the chain. Refuses with `unknown_revision`.
        """
        if number == 0:
            return PostVersion(file)
        revision = await self.revisions.find_revision(file.cid, number)
        if revision is None:
            raise unknown_revision()
        return await self._check_version(PostVersion(file, revision))

    async def _check_version(self, version: PostVersion) -> PostVersion:
        """Refuse a revision that is withheld because it is being erased."""
        if version.revision is not None:
            await self.measures.check_document(version.revision.cid)
        return version

    async def revisions_of(self, post: IndexedPost) -> list[Revision]:
        """Return the revisions of an indexed post, newest first. Their texts are not public."""
        if not post.hosted:
            return []
        found = await self.revisions.revisions_of(Cid(post.cid))
        return [each for each in found if each.owner == post.author]

    async def content_of(self, file: File) -> str:
        """Return the text of a file that one of the methods above returned."""
        content = self.content_cache.get(file.cid)
        if content is None:
            content = await self._read_content(file)
            self.content_cache.put(file.cid, content)
        return content

    async def converted(
        self, client: str, file: File, into: Hashable, convert: Convert[T], *, keep: bool = True
    ) -> T:
        """Convert the text of a file that one of the methods above returned.

        Concurrent requests for the same conversion share the result, and clients take turns. With
        `keep`, the result is cached and must have a length. Raises `Unavailable` after a long wait.
        """
        load = partial(self.content_of, file)
        return await self.texts.of(client, (file.cid, into), load, convert, keep=keep)

    async def _read_content(self, file: File) -> str:
        document = await self._document(file.cid, Network.PRIVATE)

        def decode() -> str:
            decrypted = self.cipher.decrypt(document, file.wrapped_key, file.name)
            return read_document(decrypted).content

        try:
            if len(document) > SMALL_DOCUMENT:
                return await asyncio.to_thread(decode)
            return decode()
        except NotADocument as error:
            log.error("stored bytes are not a document", extra={"cid": file.cid})
            raise Damaged.document(f"the document {file.cid}") from error

    async def document_of(self, file: File) -> bytes:
        """Return the document of a file that one of the methods above returned, as its raw bytes.

        Refuses an encrypted document, because a reader could not verify its bytes.
        """
        if file.wrapped_key is not None:
            raise Refusal(Code.NOT_FOUND, "The document of this post is stored encrypted.")
        return await self._document(file.cid, Network.PRIVATE)

    async def free_document(self, cid: Cid) -> File | None:
        """Return the post that has this document on the chain, if everybody may read it.

        Returns None for documents of drafts, revisions and paid posts, and for encrypted documents.
        """
        file = await self.files.file_by_cid(cid)
        if file is None or file.publication is None or file.wrapped_key is not None:
            return None
        await self.measures.check_file(file)
        decision = await self.entitlement.decide(file, file.publication.post_id, None)
        return file if decision is not None and decision.access is Access.FREE else None

    async def public_size(self, cid: Cid) -> int | None:
        """Return the size in bytes of a public document, such as the thumbnail of a live file.

        Returns 0 if the size is unknown, and None if no public document has this CID.
        """
        return await self.files.public_size(cid)

    async def public_document(self, cid: Cid) -> bytes:
        """Return the bytes of a document that has a `public_size`."""
        return await self._document(cid, Network.PUBLIC)

    async def _document(self, cid: Cid, network: Network) -> bytes:
        document = await self.content.read(cid, network)
        if document is None:
            log.error("a document named by the catalog is missing", extra={"cid": cid})
            raise Damaged.document(f"the document {cid}, which is missing")
        return document


@dataclass(frozen=True, slots=True)
class _BoundPost:
    """The file of a post, and how a reader may read it."""

    file: File
    decision: AccessDecision
    is_listed: bool

    def entitled(self) -> File:
        """Return the file. Refuses a reader who may not read it."""
        if self.decision.access is Access.DENIED:
            raise self.refusal(
                Code.NOT_ENTITLED,
                "Reading this post requires its token. Buy it, or log in as an account that "
                "holds it.",
            )
        return self.file

    def refusal(self, code: Code, detail: str) -> Unpaid:
        return Unpaid(code, detail, self.file, self.decision.price, is_listed=self.is_listed)


def check_subject(session: Session, address: Address) -> None:
    """Refuse an address in the request that differs from the session's."""
    if address != session.address:
        raise Refusal(Code.SUBJECT_MISMATCH, "The session belongs to another address.")
