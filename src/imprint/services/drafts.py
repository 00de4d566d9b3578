"""Drafts: what an owner's wallet signs for — create, update, publish, delete.

Each write runs from cheap to expensive: prove the signer, see that the nonce is fresh and the
file is the signer's draft, ask the chain where that matters, store the document, and then
commit once. A crash at any point leaves either the whole effect or none of it: a document is
noted as an intent before it is stored, and an intent that never commits is swept away.
"""

import asyncio
import secrets
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from imprint import failpoints
from imprint.auth.typed_data import TypedDataClaim, WriteVerifier
from imprint.domain.cids import Cid, document_cid
from imprint.domain.documents import SALT_LENGTH, SMALL_DOCUMENT, write_document
from imprint.domain.errors import Code, Refusal
from imprint.domain.files import (
    Action,
    File,
    Intent,
    Label,
    Network,
    State,
    Version,
    Write,
    file_name,
    new_id,
)
from imprint.domain.rate_limits import Rate
from imprint.ports import Catalog, Clock, ContentStore, ImageRecoder, MarketplaceReader
from imprint.ports.content import DocumentCipher, EncryptedDocument

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Drafts:
    """The four signed writes."""

    verifier: WriteVerifier
    catalog: Catalog
    content: ContentStore
    cipher: DocumentCipher
    marketplace: MarketplaceReader
    images: ImageRecoder
    clock: Clock
    rate: Rate | None
    lease: timedelta

    async def create(self, claim: TypedDataClaim, content: str) -> File:
        """A new draft in a group of its own."""
        write = await self._prove(claim, Action.CREATE)
        intent, version = await self._store_version(write, new_id(), content)
        return await _commit(self.catalog.add_draft(write, intent, version))

    async def update(self, claim: TypedDataClaim, cid: Cid, content: str) -> File:
        """A new version in the place of a draft; the old one is gone at once.

        Refuses a file that is unknown, somebody else's, or no longer a draft.
        """
        write = await self._prove(claim, Action.UPDATE)
        draft = await self._own_draft(write, cid)
        intent, version = await self._store_version(write, draft.group_id, content)
        change = self.catalog.replace_draft(write, intent, cid, version)
        return _unless_overtaken(await _commit(change))

    async def publish(
        self, claim: TypedDataClaim, cid: Cid, image: bytes, hashtags: tuple[str, ...]
    ) -> Cid:
        """The cid of the public thumbnail; the draft stays a draft until the chain says otherwise.

        Refuses as `update` does, and what is no honest picture.
        """
        write = await self._prove(claim, Action.PUBLISH)
        draft = await self._own_draft(write, cid)
        picture = await self.images.recode(image)
        thumbnail = await asyncio.to_thread(document_cid, picture)
        intent = self._intend(write, thumbnail, Network.PUBLIC)
        await self._begin(intent)
        label = Label(f"{draft.name} thumbnail", draft.owner, draft.group_id, draft.state)
        await self._put(intent, picture, label)
        change = self.catalog.prepare_draft(write, intent, cid, hashtags)
        _unless_overtaken(await _commit(change))
        return thumbnail

    async def delete(self, claim: TypedDataClaim, cid: Cid) -> File:
        """The draft as it was, now inaccessible.

        Refuses as `update` does, and a draft that its owner has published on the chain. A stranger
        who published its cid cannot pin it down.
        """
        write = await self._prove(claim, Action.DELETE)
        draft = await self._own_draft(write, cid)
        entry = await self.marketplace.entry_of_cid(cid)
        if entry is not None and entry.author == draft.owner:
            raise _already_onchain()
        return _unless_overtaken(await _commit(self.catalog.delete_draft(write, cid)))

    async def _prove(self, claim: TypedDataClaim, action: Action) -> Write:
        write = self.verifier.verify(claim, action, self.clock())
        if self.rate is not None:
            await self.catalog.admit(f"write {write.signer}", self.rate, write.at)
        # Before ownership and state: a repeated update would otherwise find its own effect, a
        # draft that is gone, and tell the client so instead of what became of it. Nothing comes
        # before the nonce of a new draft but its intent, which is refused as well.
        if action is not Action.CREATE:
            await self.catalog.check_nonce(write.signer, write.nonce)
        return write

    async def _own_draft(self, write: Write, cid: Cid) -> File:
        file = await self.catalog.file_by_cid(cid)
        if file is None:
            raise Refusal(Code.NOT_FOUND, "There is no file with this cid.")
        if file.owner != write.signer:
            raise Refusal(Code.NOT_OWNER, "The signer does not own this file.")
        if file.state is State.ONCHAIN and write.action is Action.DELETE:
            raise _already_onchain()
        if file.state is not State.PENDING:
            raise Refusal(Code.NOT_PENDING, "Only a pending file can be changed.")
        return file

    async def _store_version(
        self, write: Write, group_id: str, content: str
    ) -> tuple[Intent, Version]:
        number = int(write.at.timestamp() * 1_000_000)
        name = file_name(write.signer, number)
        sealed, cid = await self._compose(content, name)
        intent = self._intend(write, cid, Network.PRIVATE, number)
        reserved = await self._begin(intent)
        if reserved is not None:
            number, name = reserved, file_name(write.signer, reserved)
            sealed, cid = await self._compose(content, name)
            intent = self._intend(write, cid, Network.PRIVATE)
            await self._begin(intent)
        await self._put(intent, sealed.document, Label(name, write.signer, group_id, State.PENDING))
        version = Version(
            new_id(),
            group_id,
            write.signer,
            number,
            cid,
            len(sealed.document),
            write.at,
            sealed.wrapped_key,
        )
        return intent, version

    async def _compose(self, content: str, name: str) -> tuple[EncryptedDocument, Cid]:
        def compose() -> tuple[EncryptedDocument, Cid]:
            salt = secrets.token_bytes(SALT_LENGTH)
            sealed = self.cipher.encrypt(write_document(content, name, salt), name)
            return sealed, document_cid(sealed.document)

        return await asyncio.to_thread(compose) if len(content) > SMALL_DOCUMENT else compose()

    async def _begin(self, intent: Intent) -> int | None:
        failpoints.reach("before_intent")
        highest = await self.catalog.begin_write(intent)
        failpoints.reach("after_intent")
        return highest

    async def _put(self, intent: Intent, document: bytes, label: Label) -> None:
        await self.content.put(intent.cid, document, intent.network, label)
        failpoints.reach("after_put")

    def _intend(
        self, write: Write, cid: Cid, network: Network, number: int | None = None
    ) -> Intent:
        lease_until = self.clock() + self.lease
        return Intent(new_id(), write, cid, network, lease_until, number)


async def _commit(change: Awaitable[T]) -> T:
    failpoints.reach("before_commit")
    changed = await change
    failpoints.reach("after_commit")
    return changed


def _unless_overtaken(file: File | None) -> File:
    if file is None:
        raise Refusal(Code.NOT_PENDING, "This file was changed by another request.")
    return file


def _already_onchain() -> Refusal:
    return Refusal(Code.ALREADY_ONCHAIN, "This file is published on the chain.")
