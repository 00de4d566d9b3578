"""Profiles: information about authors, signed by their wallets and shown to readers."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

from imprint import failpoints
from imprint.auth.signatures import Unproved
from imprint.auth.signed_profiles import ProfileVerifier
from imprint.auth.typed_data import TypedDataClaim, check_body
from imprint.auth.writing_sessions import beyond_scope
from imprint.domain.drafts.files import (
    AccountAction,
    Intent,
    Label,
    Network,
    Quota,
    State,
    Write,
    new_id,
)
from imprint.domain.errors import Code, Refusal, Unavailable
from imprint.domain.formats.cids import document_cid
from imprint.domain.profiles import AVATAR_SIDE, Profile, ProfileUpdate
from imprint.domain.rate_limits import INVALID_IMAGE_COST, Rate, write_key
from imprint.ports import Clock, ContentStore, ImageRecoder
from imprint.ports.accounts import ProfileStore, RateLimits
from imprint.ports.content import DiskSpace
from imprint.ports.drafts import DraftStore, GarbageStore
from imprint.services.accounts.contract_wallets import WalletProofs
from imprint.services.moderation import CurrentMeasures
from imprint.services.write_health import WriteHealth

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Profiles:
    """Updates the profiles of authors. A picture is stored like a thumbnail."""

    verifier: ProfileVerifier
    wallets: WalletProofs
    profiles: ProfileStore
    drafts: DraftStore
    garbage: GarbageStore
    limits: RateLimits
    content: ContentStore
    images: ImageRecoder
    clock: Clock
    rate: Rate | None
    lease: timedelta
    quota: Quota
    disk: DiskSpace
    measures: CurrentMeasures
    health: WriteHealth

    async def update(self, claim: TypedDataClaim, picture: bytes | None) -> Profile:
        """Replace the signer's profile, and keep or replace its picture.

        Refuses in the same cases as `ProfileVerifier.verify`, and with `writing_session_scope`,
        `rate_limited`, `nonce_used`, `quota_exceeded` and `author_refused`. Also refuses bytes that
        are not an acceptable image.
        """
        if claim.session is not None:
            raise beyond_scope(AccountAction.PROFILE)
        update = self.verifier.verify(claim, self.clock(), has_picture=picture is not None)
        if isinstance(update, Unproved):
            update = await self.wallets.prove(update, claim.client)
        write = update.write
        await self.measures.check_writer(write.signer)
        if picture is not None:
            await asyncio.to_thread(check_body, write, picture)
        await self._noting(self.drafts.open_write(write, self.rate, write_key(write.signer)))
        if self.disk.low:
            raise Unavailable.disk()
        intent = None if picture is None else await self._store(write, picture)
        return await self._commit(update, intent)

    async def _store(self, write: Write, picture: bytes) -> Intent:
        """Record an intent, and store the picture as a public document. The commit ends the
        intent."""
        recoded = await self._recode(write, picture)
        cid = await asyncio.to_thread(document_cid, recoded)
        until = self.clock() + self.lease
        intent = Intent(new_id(), write, cid, len(recoded), Network.PUBLIC, until)
        failpoints.reach("before_intent")
        await self._noting(self.drafts.begin_write(intent, self.quota))
        failpoints.reach("after_intent")
        label = Label(f"{write.signer} avatar", write.signer, write.signer, State.ONCHAIN)
        # Other profiles may use the same picture and drop it. With the fence, a late removal for
        # one of them cannot destroy the picture that is stored now.
        fence = await self.garbage.fence()
        try:
            await self.content.put(cid, recoded, Network.PUBLIC, label, fence)
        except Unavailable as problem:
            self.health.note(Code.STORAGE_UNAVAILABLE, problem)
            raise
        failpoints.reach("after_put")
        return intent

    async def _recode(self, write: Write, picture: bytes) -> bytes:
        """Return the picture cropped to a square. An invalid picture counts as several writes."""
        try:
            return await self.images.crop_square(picture, AVATAR_SIDE, write.signer)
        except Refusal as refusal:
            if refusal.code is Code.INVALID_IMAGE and self.rate is not None:
                key = write_key(write.signer)
                await self.limits.charge(key, self.rate, INVALID_IMAGE_COST, self.clock())
            raise

    async def _commit(self, update: ProfileUpdate, intent: Intent | None) -> Profile:
        failpoints.reach("before_commit")
        saved = await self._noting(self.profiles.save_profile(update, intent))
        self.health.succeeded += 1
        failpoints.reach("after_commit")
        return saved

    async def _noting(self, call: Awaitable[T]) -> T:
        """Return the result of a database call. A failure is recorded in `health`."""
        try:
            return await call
        except Unavailable as problem:
            self.health.note(Code.DATABASE_UNAVAILABLE, problem)
            raise
