"""Methods for accounts: login and logout of readers, writing sessions and profiles of authors."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import urlsplit

import aiohttp

from imprint.auth.login_message import (
    LoginMessage,
    parse_instant,
    parse_uri,
    write_login_message,
)
from imprint.client.connection import Connection
from imprint.client.typed_data import opening_typed_data, profile_typed_data
from imprint.client.wallet import Wallet, settle
from imprint.client.writing_session import KeyStore, WritingSession, new_key, public_point
from imprint.domain.formats.addresses import checksum_address, keccak256, parse_address
from imprint.domain.formats.instants import format_instant
from imprint.interface.accounts import (
    LoginBody,
    LogoutBody,
    OpeningBody,
    Session,
    WritingSessionRecord,
    WritingSessionResponse,
    WritingSessionsResponse,
)
from imprint.interface.posts import Profile, ProfileResponse

WRITING_SECONDS = 12 * 3600
"""Default lifetime of a writing session in seconds. A service allows up to twice as long."""

STATEMENT = "Sign in to read what you hold."
"""The statement that a wallet shows its owner at login."""


class AccountMethods(Connection):
    """Login, logout, writing sessions and profiles."""

    async def login(
        self, wallet: Wallet, *, origin: str | None = None, statement: str = STATEMENT
    ) -> Session:
        """Log in with a wallet (EIP-4361). Later requests send the session if they need it.

        `origin` is the application's origin if it is not the service itself.
        """
        site = (origin or self.url).rstrip("/")
        message = _login_message(
            site, wallet.address, statement, chain_id=self.facts.chain.id, now=self.now()
        )
        signature = await settle(wallet.sign_message(message))
        body = LoginBody(signature, message, wallet.address)
        self.session = (await self._request("POST", "/auth/login", json=body)).decode(Session)
        return self.session

    async def logout(self, *, all: bool = False) -> None:  # noqa: A002 - the name of the member
        """End this session, or every session of its address, immediately and everywhere."""
        body = LogoutBody(all=all)
        await self._request("POST", "/auth/logout", json=body, signed_in=True)
        self.session = None

    async def open_writing_session(
        self,
        wallet: Wallet,
        *,
        actions: Sequence[str] = ("create", "update"),
        seconds: int = WRITING_SECONDS,
        key_store: KeyStore | None = None,
    ) -> WritingSession:
        """Let the wallet sign once, so that a new key on this machine can write for it."""
        key, now = new_key(), self.now()
        data = opening_typed_data(
            self.facts.signing,
            self.facts.service,
            wallet=wallet.address,
            public_key=public_point(key),
            actions=actions,
            not_before=now,
            expires=now + seconds,
            nonce=secrets.token_hex(16),
        )
        signature = await settle(wallet.sign_typed_data(data))
        body = OpeningBody(data.salt, wallet.address, signature)
        response = await self._request("POST", "/writing/sessions", json=body)
        session = WritingSession(response.decode(WritingSessionResponse).session, key, key_store)
        if key_store is not None:
            key_store.save(self.facts.service, session)
        return session

    def resume_writing_session(self, wallet: str, key_store: KeyStore) -> WritingSession | None:
        """Return a wallet's stored writing session, or None. An expired session is removed."""
        session = key_store.load(self.facts.service, wallet)
        if session is None:
            return None
        if session.expires.timestamp() > self.now():
            return replace(session, key_store=key_store)
        key_store.remove(self.facts.service, wallet)
        return None

    async def list_writing_sessions(self) -> list[WritingSessionRecord]:
        """Return the logged-in wallet's live writing sessions, on all its machines."""
        path = "/writing/sessions"
        return list((await self._read(path, WritingSessionsResponse, signed_in=True)).sessions)

    async def revoke_writing_session(self, id: str) -> None:  # noqa: A002 - as in the path
        """End a writing session everywhere."""
        await self._request("DELETE", f"/writing/sessions/{id}", signed_in=True)

    async def revoke_writing_sessions(self) -> None:
        """End all of the wallet's writing sessions, for example after losing a computer."""
        await self._request("DELETE", "/writing/sessions", signed_in=True)

    async def update_profile(
        self,
        wallet: Wallet,
        *,
        name: str,
        bio: str = "",
        links: Sequence[str] = (),
        avatar: bytes | Literal["keep", "none"] = "keep",
    ) -> Profile:
        """Replace the author's profile. `avatar` is a new picture, `keep` or `none`."""
        picture = avatar if isinstance(avatar, bytes) else None
        data = profile_typed_data(
            self.facts.signing,
            self.facts.service,
            name=name,
            bio=bio,
            links=links,
            avatar=avatar if isinstance(avatar, str) else f"0x{keccak256(avatar).hex()}",
            nonce=secrets.token_hex(16),
            timestamp=self.now(),
        )
        signature = await settle(wallet.sign_typed_data(data))
        form = aiohttp.FormData()
        form.add_field("salt", json.dumps(data.salt), content_type="application/json")
        form.add_field("address", wallet.address)
        form.add_field("signature", signature)
        if picture is not None:
            form.add_field("file", picture, filename="avatar")
        response = await self._request("POST", "/update/profile", form=form)
        return response.decode(ProfileResponse).profile


def _login_message(site: str, address: str, statement: str, *, chain_id: int, now: int) -> str:
    """Return the EIP-4361 text, with the checksummed address."""
    message = LoginMessage(
        None,
        urlsplit(site).netloc,
        checksum_address(parse_address(address)),
        statement or None,
        parse_uri(site),
        chain_id,
        secrets.token_hex(8),
        parse_instant(format_instant(datetime.fromtimestamp(now, UTC))),
    )
    return write_login_message(message)
