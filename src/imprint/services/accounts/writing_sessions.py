"""Writing sessions, which wallets open and revoke, and whose keys sign writes for the wallets."""

import re
from dataclasses import dataclass, field

from imprint import failpoints
from imprint.auth.signatures import Unproved
from imprint.auth.typed_data import BOUND_FORMS, TypedDataClaim, WriteVerifier
from imprint.auth.writing_sessions import (
    OpeningClaim,
    OpeningVerifier,
    WritingSessionKey,
    beyond_scope,
)
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import Action, Write, new_id
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.rate_limits import Rate, write_key
from imprint.domain.sessions import (
    MAX_WRITING_SESSIONS,
    WRITING_ACTIONS,
    WritingSession,
    no_writing_session,
)
from imprint.ports import Clock
from imprint.ports.accounts import RateLimits, WritingSessionStore
from imprint.services.accounts.contract_wallets import WalletProofs
from imprint.services.moderation import CurrentMeasures

LOADED_KEYS = 4096
"""Maximum number of sessions whose keys are cached. Loading a key takes a database read."""

_ID = re.compile(r"[0-9a-f-]{36}")


@dataclass(frozen=True, slots=True)
class WritingSessions:
    """Opens, lists and revokes writing sessions, and verifies writes that their keys signed.

    A session never changes, so its key stays cached. Whether the session has been revoked is read
    from the database when a write is opened.
    """

    openings: OpeningVerifier
    writes: WriteVerifier
    wallets: WalletProofs
    store: WritingSessionStore
    limits: RateLimits
    clock: Clock
    rate: Rate | None
    measures: CurrentMeasures = field(default_factory=CurrentMeasures)
    _keys: BoundedCache[str, WritingSessionKey] = field(
        default_factory=lambda: BoundedCache(LOADED_KEYS), init=False, repr=False
    )

    async def open(self, claim: OpeningClaim) -> WritingSession:
        """Open the session that a wallet has signed. Each signature works only once.

        Refuses in the same cases as `OpeningVerifier.verify`, and with `author_refused`,
        `rate_limited`, `nonce_used` and `too_many_writing_sessions`.
        """
        now = self.clock()
        opening = self.openings.verify(claim, now)
        if isinstance(opening, Unproved):
            opening = await self.wallets.prove(opening, claim.client)
        await self.measures.check_writer(opening.wallet)
        # A signed opening can be replayed for a day. Replays must not use up the wallet's rate
        # limit.
        await self.store.check_nonce(opening.wallet, opening.nonce)
        if self.rate is not None:
            await self.limits.admit(write_key(opening.wallet), self.rate, now)
        session = opening.session(new_id())
        if not await self.store.add_session(session, opening.nonce, MAX_WRITING_SESSIONS):
            raise Refusal(
                Code.TOO_MANY_WRITING_SESSIONS,
                f"A wallet may have at most {MAX_WRITING_SESSIONS} writing sessions. Revoke one "
                "first.",
            )
        failpoints.reach("after_commit")
        return session

    async def owned(self, wallet: Address) -> list[WritingSession]:
        """Return the live sessions of a wallet, oldest first."""
        return await self.store.list_sessions(wallet, self.clock())

    async def revoke(self, wallet: Address, session_id: str) -> None:
        """Revoke a session of a wallet. Refuses with `not_found`."""
        if not _ID.fullmatch(session_id) or not await self.store.revoke_session(wallet, session_id):
            raise Refusal(Code.NOT_FOUND, "There is no writing session with this id.")
        failpoints.reach("after_commit")

    async def revoke_all(self, wallet: Address) -> None:
        """Revoke every session of a wallet."""
        await self.store.revoke_sessions(wallet)
        failpoints.reach("after_commit")

    async def prove(
        self, claim: TypedDataClaim, session_id: str, action: Action, cid: Cid | None
    ) -> Write:
        """Return the write that a session's key has signed. The session may have been revoked.

        Refuses in the same cases as `WriteVerifier.read`, and with `writing_session_scope`,
        `writing_session_invalid` and `writing_session_expired`.
        """
        write, signed = self.writes.read(claim, action, self.clock(), cid, BOUND_FORMS)
        if action not in WRITING_ACTIONS:
            raise beyond_scope(action)
        key = self._keys.get(session_id)
        if key is None:
            key = await self._load(session_id)
        key.check(write, signed, claim.signature)
        return write

    async def _load(self, session_id: str) -> WritingSessionKey:
        # The database might reject a text that cannot be an ID.
        found = await self.store.find_session(session_id) if _ID.fullmatch(session_id) else None
        if found is None:
            raise no_writing_session()
        key = WritingSessionKey.load(found)
        self._keys.put(session_id, key)
        return key
