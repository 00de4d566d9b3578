"""Drafts: the signed writes, which create, update, publish and delete a draft or revise a post.

Each write proceeds from cheap to expensive steps: verify the signer, check that the nonce
is unused, decode large content, check that the file is the signer's draft, query the chain
where that matters, store the document, and commit once. A crash at any point leaves either
the whole effect or none of it: an intent is recorded before a document is stored, and the
garbage collector removes documents whose intent never committed.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeVar

from imprint import failpoints
from imprint.auth.signatures import Unproved
from imprint.auth.signed_revisions import RevisionVerifier
from imprint.auth.typed_data import TypedDataClaim, WriteVerifier, body_mismatch, check_body
from imprint.auth.writing_sessions import beyond_scope
from imprint.domain.drafts.documents import (
    SALT_LENGTH,
    SMALL_DOCUMENT,
    read_document,
    write_document,
)
from imprint.domain.drafts.files import (
    Action,
    File,
    Intent,
    Label,
    Network,
    PostAction,
    Quota,
    State,
    Version,
    Write,
    file_name,
    new_id,
)
from imprint.domain.errors import Code, Refusal, Unavailable
from imprint.domain.formats.cids import Cid, document_cid
from imprint.domain.moderation import TargetKind
from imprint.domain.posts.revisions import (
    MAX_REVISIONS,
    Revision,
    SignedRevision,
    too_many_revisions,
)
from imprint.domain.rate_limits import INVALID_IMAGE_COST, Rate, write_key
from imprint.ports import Clock, ContentStore, ImageRecoder, MarketplaceReader
from imprint.ports.accounts import RateLimits
from imprint.ports.content import DiskSpace, DocumentCipher
from imprint.ports.drafts import DraftStore, GarbageStore
from imprint.ports.files import FileStore, RevisionStore
from imprint.services.accounts.contract_wallets import WalletProofs
from imprint.services.accounts.writing_sessions import WritingSessions
from imprint.services.content.large_documents import LargeDocuments
from imprint.services.moderation import CurrentMeasures
from imprint.services.write_health import WriteHealth

T = TypeVar("T")

Content = str | Callable[[], str]
"""A text, or a function that decodes a large one and may refuse it."""

Begin = Callable[[Intent], Awaitable[int | None]]
"""Records an intent. Returns None, or the number that the catalog reserved instead."""


@dataclass(frozen=True, slots=True)
class Drafts:
    """The signed writes of drafts and posts."""

    verifier: WriteVerifier
    revision_verifier: RevisionVerifier
    wallets: WalletProofs
    sessions: WritingSessions
    drafts: DraftStore
    files: FileStore
    revisions: RevisionStore
    garbage: GarbageStore
    limits: RateLimits
    content: ContentStore
    cipher: DocumentCipher
    marketplace: MarketplaceReader
    images: ImageRecoder
    clock: Clock
    rate: Rate | None
    lease: timedelta
    quota: Quota
    disk: DiskSpace
    measures: CurrentMeasures
    health: WriteHealth = field(default_factory=WriteHealth)
    large: LargeDocuments = field(default_factory=LargeDocuments)

    async def create(self, claim: TypedDataClaim, content: Content) -> File:
        """Create a draft in a new group."""
        # A small document is built before the write is admitted, so that one transaction both
        # admits the write and records the intent.
        if isinstance(content, str) and not self.disk.low:
            write = await self._verify(claim, Action.CREATE)
            begin = self._open_create
        else:
            write, _ = await self._prove(claim, Action.CREATE)
            begin = self._begin
        if isinstance(content, str):
            made = self._make(write, content)
        else:
            made = await self._make_large(write, content)
        intent, version = await self._put_version(write, new_id(), made, begin)
        del made
        return await self._commit(self.drafts.add_draft(write, intent, version))

    async def update(self, claim: TypedDataClaim, cid: Cid, content: Content) -> File:
        """Replace a draft with a new version. The old version becomes inaccessible immediately.

        Refuses a file that does not exist, belongs to somebody else, or is no longer a
        draft.
        """
        small = isinstance(content, str)
        write, found = await self._prove(claim, Action.UPDATE, cid, reads=small)
        if isinstance(content, str):
            draft = _own_draft(write, found)
            made = self._make(write, content)
        else:
            # Content of any size is validated before the draft is looked up.
            made = await self._make_large(write, content)
            # Another attempt at this write may have replaced the draft meanwhile.
            found = await self.drafts.open_write(write, None, write_key(write.signer), cid)
            draft = _own_draft(write, found)
        intent, version = await self._put_version(write, draft.group_id, made, self._begin)
        del made
        replaced = await self._commit(self.drafts.replace_draft(write, intent, cid, version, draft))
        return _unless_overtaken(replaced)

    async def publish(
        self, claim: TypedDataClaim, cid: Cid, image: bytes, hashtags: tuple[str, ...]
    ) -> Cid:
        """Give a draft a public thumbnail and hashtags, and return the thumbnail's CID.

        The file remains a draft until an event on the chain publishes it. Refuses in the same cases
        as `update`, and also refuses bytes that are not an acceptable image.
        """
        write, found = await self._prove(claim, Action.PUBLISH, cid)
        draft = _own_draft(write, found)
        if write.body_hash is not None:
            await asyncio.to_thread(check_body, write, image)
        recoded = await self._recode(image, write)
        thumbnail = await asyncio.to_thread(document_cid, recoded)
        intent = self._intent(write, thumbnail, len(recoded), Network.PUBLIC)
        await self._begin(intent)
        label = Label(f"{draft.name} thumbnail", draft.owner, draft.group_id, draft.state)
        # Other drafts may use the same thumbnail and drop it. With the fence, a late removal for
        # one of them cannot destroy the thumbnail that is stored now.
        await self._put(intent, recoded, label, await self.garbage.fence())
        prepared = await self._commit(
            self.drafts.prepare_draft(write, intent, cid, hashtags, draft)
        )
        _unless_overtaken(prepared)
        return thumbnail

    async def delete(self, claim: TypedDataClaim, cid: Cid) -> File:
        """Delete a draft and return its last state.

        Refuses in the same cases as `update`, and also refuses a draft that its owner has published
        on the chain. A third party who publishes the CID cannot prevent the owner from deleting the
        draft.
        """
        write, found = await self._prove(claim, Action.DELETE, cid)
        draft = _own_draft(write, found)
        entry = await self.marketplace.entry_of_cid(cid)
        if entry is not None and entry.author == draft.owner:
            raise _already_onchain()
        deleted = await self._commit(self.drafts.delete_draft(write, cid, draft))
        return _unless_overtaken(deleted)

    async def revise(self, claim: TypedDataClaim, post_id: int, content: Content) -> Revision:
        """Add a corrected version to a post. The document on the chain stays unchanged.

        Refuses in the same cases as `RevisionVerifier.verify`. Also refuses an unknown or withheld
        post, and refuses with `writing_session_scope`, `author_refused`, `not_author` and
        `too_many_revisions`.
        """
        if claim.session is not None:
            raise beyond_scope(PostAction.REVISE)
        signed = self.revision_verifier.verify(claim, post_id, self.clock())
        if isinstance(signed, Unproved):
            signed = await self.wallets.prove(signed, claim.client)
        write = signed.write
        await self.measures.check_writer(write.signer)
        await self._open(write)
        if isinstance(content, str):
            made = self._make(write, content)
        else:
            made = await self._make_large(write, content)
        post = await self._own_post(signed)
        newest = await self.revisions.newest_revision(post.cid)
        if newest is not None and newest.number >= MAX_REVISIONS:
            raise too_many_revisions()
        intent, version = await self._put_version(write, post.group_id, made, self._begin)
        del made
        added = await self._commit(self.revisions.add_revision(signed, intent, version))
        if added is None:
            raise _no_post()
        return added

    async def _own_post(self, signed: SignedRevision) -> File:
        """Return the post that a revision corrects, if the chain names the signer as its author."""
        post = await self.files.file_by_post_id(signed.post_id)
        if post is None:
            await self.measures.check_missing(TargetKind.POST, str(signed.post_id))
            raise _no_post()
        await self.measures.check_file(post)
        entry = (await self.marketplace.post_facts(signed.post_id, None)).entry
        if not entry.exists or entry.cid != post.cid or entry.author != post.owner:
            raise _no_post()
        if entry.author != signed.write.signer:
            raise Refusal(Code.NOT_AUTHOR, "The signer is not the author of this post.")
        if signed.document != post.cid:
            raise body_mismatch("The signature is for another document than that of the post.")
        return post

    async def _verify(self, claim: TypedDataClaim, action: Action, cid: Cid | None = None) -> Write:
        """Return the write in a claim, if the signer's key or the signer's contract signed it.

        The write may also be signed by the key of a writing session. The catalog checks whether the
        session is revoked. Refuses with `author_refused`, except for a delete.
        """
        if claim.session is not None:
            write = await self.sessions.prove(claim, claim.session, action, cid)
        else:
            proved = self.verifier.verify(claim, action, self.clock(), cid)
            if isinstance(proved, Unproved):
                proved = await self.wallets.prove(proved, claim.client)
            write = proved
        if action is not Action.DELETE:
            await self.measures.check_writer(write.signer)
        return write

    async def _prove(
        self, claim: TypedDataClaim, action: Action, cid: Cid | None = None, *, reads: bool = True
    ) -> tuple[Write, File | None]:
        """Verify the signature, its freshness, the signer's rate limit, and that the nonce is
        unused.

        Also returns the live file with this CID, read at the same time if `reads` is set. Refuses
        everything but a delete while disk space is low.

        The nonce is checked before ownership and state. Otherwise, a repeated update would report
        that its draft is gone, instead of returning the file that it produced.
        """
        write = await self._verify(claim, action, cid)
        return write, await self._open(write, cid if reads else None)

    async def _open(self, write: Write, cid: Cid | None = None) -> File | None:
        """Admit a proven write, and return the live file with this CID."""
        try:
            file = await self.drafts.open_write(write, self.rate, write_key(write.signer), cid)
        except Unavailable as problem:
            if self.rate is not None:
                self.health.note(Code.DATABASE_UNAVAILABLE, problem)
            raise
        if self.disk.low and write.action is not Action.DELETE:
            raise Unavailable.disk()
        return file

    async def _recode(self, image: bytes, write: Write) -> bytes:
        """Recode an image. An invalid image counts as several writes.

        Recoding an invalid image may have taken as long as the sandbox allows.
        """
        try:
            return await self.images.recode(image, write.signer)
        except Refusal as refusal:
            if refusal.code is Code.INVALID_IMAGE and self.rate is not None:
                await self.limits.charge(
                    write_key(write.signer), self.rate, INVALID_IMAGE_COST, self.clock()
                )
            raise

    async def _put_version(
        self, write: Write, group_id: str, made: "_MadeDocument", begin: Begin
    ) -> tuple[Intent, Version]:
        """Store the document of a new version, after `begin` has recorded the intent.

        If the owner already has this number or a higher one, the catalog reserves the next number,
        and the document is built again because it contains its own name.
        """
        size = len(made.document)
        intent = self._intent(write, made.cid, size, Network.PRIVATE, made.number)
        reserved = await begin(intent)
        if reserved is not None:
            made = await self._rename(write, made, reserved)
            intent = self._intent(write, made.cid, len(made.document), Network.PRIVATE)
            await self._begin(intent)
        label = Label(made.name, write.signer, group_id, State.PENDING)
        await self._put(intent, made.document, label)
        version = Version(
            id=new_id(),
            group_id=group_id,
            owner=write.signer,
            number=made.number,
            cid=made.cid,
            size=len(made.document),
            created_at=write.at,
            wrapped_key=made.wrapped_key,
        )
        return intent, version

    def _make(self, write: Write, content: str, number: int | None = None) -> "_MadeDocument":
        """Build the document of a new version, numbered by default with the time in microseconds.

        Takes a tenth of a second for large content.
        """
        if number is None:
            if write.body_hash is not None:
                check_body(write, content.encode())
            number = int(write.at.timestamp() * 1_000_000)
        name = file_name(write.signer, number)
        salt = secrets.token_bytes(SALT_LENGTH)
        encrypted = self.cipher.encrypt(write_document(content, name, salt), name)
        document = encrypted.document
        return _MadeDocument(number, name, document, encrypted.wrapped_key, document_cid(document))

    async def _make_large(self, write: Write, decode: Callable[[], str]) -> "_MadeDocument":
        return await self.large.make(write.signer, lambda: self._make(write, decode()))

    async def _rename(self, write: Write, made: "_MadeDocument", number: int) -> "_MadeDocument":
        """Rebuild a document with another number.

        The content is read back from the document, because no other copy is kept.
        """

        def make_again() -> _MadeDocument:
            plain = self.cipher.decrypt(made.document, made.wrapped_key, made.name)
            return self._make(write, read_document(plain).content, number)

        if len(made.document) > SMALL_DOCUMENT:
            return await self.large.make(write.signer, make_again)
        return make_again()

    def _intent(
        self, write: Write, cid: Cid, size: int, network: Network, number: int | None = None
    ) -> Intent:
        return Intent(new_id(), write, cid, size, network, self.clock() + self.lease, number)

    async def _begin(self, intent: Intent) -> int | None:
        return await self._note_intent(self.drafts.begin_write(intent, self.quota))

    async def _open_create(self, intent: Intent) -> int | None:
        """Record the intent to create a draft and open the write. May refuse like `_prove`."""
        write, key = intent.write, write_key(intent.write.signer)
        opened = self.drafts.open_create(write, self.rate, key, intent, self.quota)
        return await self._note_intent(opened)

    async def _note_intent(self, noting: Awaitable[int | None]) -> int | None:
        failpoints.reach("before_intent")
        try:
            reserved = await noting
        except Unavailable as problem:
            self.health.note(Code.DATABASE_UNAVAILABLE, problem)
            raise
        failpoints.reach("after_intent")
        return reserved

    async def _put(self, intent: Intent, document: bytes, label: Label, fence: int = 0) -> None:
        try:
            if len(document) > SMALL_DOCUMENT:
                async with self.large.storing(intent.write.signer):
                    await self.content.put(intent.cid, document, intent.network, label, fence)
            else:
                await self.content.put(intent.cid, document, intent.network, label, fence)
        except Unavailable as problem:
            self.health.note(Code.STORAGE_UNAVAILABLE, problem)
            raise
        failpoints.reach("after_put")

    async def _commit(self, change: Awaitable[T]) -> T:
        failpoints.reach("before_commit")
        try:
            changed = await change
        except Unavailable as problem:
            self.health.note(Code.DATABASE_UNAVAILABLE, problem)
            raise
        self.health.succeeded += 1
        failpoints.reach("after_commit")
        return changed


@dataclass(frozen=True, slots=True)
class _MadeDocument:
    """The document of a new version as it will be stored, with its number, name and CID."""

    number: int
    name: str
    document: bytes
    wrapped_key: bytes | None = field(repr=False)
    cid: Cid


def _own_draft(write: Write, file: File | None) -> File:
    """Return the file that a write refers to, if it is a draft of the signer."""
    if file is None:
        raise Refusal(Code.NOT_FOUND, "There is no file with this cid.")
    if file.owner != write.signer:
        raise Refusal(Code.NOT_OWNER, "The signer does not own this file.")
    if file.state is State.ONCHAIN and write.action is Action.DELETE:
        raise _already_onchain()
    if file.state is not State.PENDING:
        raise Refusal(Code.NOT_PENDING, "Only a pending file can be changed.")
    return file


def _no_post() -> Refusal:
    return Refusal(Code.NOT_FOUND, "There is no post with this id.")


def _unless_overtaken(file: File | None) -> File:
    if file is None:
        raise Refusal(Code.NOT_PENDING, "This file was changed by another request.")
    return file


def _already_onchain() -> Refusal:
    return Refusal(Code.ALREADY_ONCHAIN, "This file is published on the chain.")
