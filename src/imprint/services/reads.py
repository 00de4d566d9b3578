"""Reads: drafts for their owner, posts for whom the chain entitles, thumbnails for everybody."""

import asyncio
import logging
from dataclasses import dataclass, field

from imprint.auth.sessions import Session
from imprint.domain.access import Access
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.documents import SMALL_DOCUMENT, NotADocument, read_document
from imprint.domain.errors import Code, Refusal, Unavailable
from imprint.domain.files import File, Network, State
from imprint.ports import Catalog, ContentStore
from imprint.ports.content import DocumentCipher
from imprint.services.content_cache import ContentCache
from imprint.services.entitlement import Entitlement

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reads:
    """Who may read what. The file is decided first; its content is fetched only then."""

    catalog: Catalog
    content: ContentStore
    cipher: DocumentCipher
    entitlement: Entitlement
    content_cache: ContentCache = field(default_factory=ContentCache)

    async def draft(self, session: Session, cid: Cid) -> File:
        """The reader's own draft. Refuses a post or nothing as not found, and a stranger."""
        file = await self.catalog.file_by_cid(cid)
        if file is None or file.state is not State.PENDING:
            raise _not_found("There is no draft with this cid.")
        if file.owner != session.address:
            raise Refusal(Code.NOT_OWNER, "This draft belongs to somebody else.")
        return file

    async def post(self, session: Session, reader: Address, post_id: int) -> File:
        """The post, for a reader who is its author, holds its token, or need not.

        Refuses a reader other than the session's before the chain is asked anything.
        """
        check_subject(session, reader)
        file, access = await self._bound_post(post_id, reader)
        if access is Access.DENIED:
            raise Refusal(Code.NOT_ENTITLED, "Reading this post takes a token of it.")
        return file

    async def free_post(self, post_id: int) -> File:
        """The post, if its price on the chain is zero."""
        file, access = await self._bound_post(post_id, None)
        if access is not Access.FREE:
            raise Refusal(Code.NOT_FREE, "This post is not free.")
        return file

    async def content_of(self, file: File) -> str:
        """The text of a file that the reader has been admitted to."""
        content = self.content_cache.get(file.cid)
        if content is None:
            content = await self._open(file)
            self.content_cache.put(file.cid, content)
        return content

    async def _open(self, file: File) -> str:
        document = await self._document(file.cid, Network.PRIVATE)

        def open_document() -> str:
            opened = self.cipher.decrypt(document, file.wrapped_key, file.name)
            return read_document(opened).content

        try:
            if len(document) > SMALL_DOCUMENT:
                return await asyncio.to_thread(open_document)
            return open_document()
        except NotADocument as error:
            log.error("stored bytes are no document", extra={"cid": file.cid})
            raise Unavailable.storage() from error

    async def is_public(self, cid: Cid) -> bool:
        """Whether everybody may fetch this document: it is the thumbnail of a live file."""
        return await self.catalog.is_public(cid)

    async def public_document(self, cid: Cid) -> bytes:
        """The bytes of a document that is public."""
        return await self._document(cid, Network.PUBLIC)

    async def _document(self, cid: Cid, network: Network) -> bytes:
        document = await self.content.read(cid, network)
        if document is None:
            log.error("a document that is referred to is missing", extra={"cid": cid})
            raise Unavailable.storage()
        return document

    async def _bound_post(self, post_id: int, reader: Address | None) -> tuple[File, Access]:
        file = await self.catalog.file_by_post_id(post_id)
        if file is None:
            raise _not_found("There is no post with this id.")
        access = await self.entitlement.decide(file, post_id, reader)
        if access is None:
            log.warning("the chain's entry is not this file", extra={"post_id": str(post_id)})
            raise _not_found("There is no post with this id.")
        return file, access


def check_subject(session: Session, address: Address) -> None:
    """Refuses an address in the request that is not the session's."""
    if address != session.address:
        raise Refusal(Code.SUBJECT_MISMATCH, "The session belongs to another address.")


def _not_found(detail: str) -> Refusal:
    return Refusal(Code.NOT_FOUND, detail)
