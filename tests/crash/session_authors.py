"""Authors who open and end sessions at a crashing service, and track its responses."""

import asyncio
import random
from dataclasses import dataclass, field, replace

import httpx2
from tests.world import Wallet, World
from tests.writing_sessions import WritingKey, send_create


@dataclass(slots=True)
class SessionAuthor:
    """Opens and ends sessions continuously and records the acknowledged changes.

    A key is in `live` or `ended`, and a session in `logged_out`, only if a response
    confirmed it.
    """

    world: World
    wallet: Wallet
    chance: random.Random
    live: dict[str, WritingKey] = field(default_factory=dict)
    ended: dict[str, WritingKey] = field(default_factory=dict)
    logged_out: list[dict[str, str]] = field(default_factory=list)
    acknowledged: int = 0
    faults: list[str] = field(default_factory=list)
    _session: dict[str, str] = field(default_factory=dict)

    async def act_until(self, stopping: asyncio.Event) -> None:
        while not stopping.is_set():
            if not self._session:
                body = self.wallet.sign_login(self.wallet.login_message())
                response = await self._send("POST", "/auth/login", body)
                if response is not None and response.status_code == 200:
                    self._session = {"Authorization": f"Bearer {response.json()['token']}"}
            elif self.chance.random() < 0.2:
                await self._log_out()
            elif self.live and self.chance.random() < 0.5:
                await self._revoke()
            else:
                await self._open()

    async def _open(self) -> None:
        key = WritingKey(self.wallet)
        body = self.wallet.sign_envelope(key.opening())
        response = await self._send("POST", "/writing/sessions", body)
        if response is not None and response.status_code == 201:
            key.id = response.json()["session"]["id"]
            self.live[key.id] = key
        elif response is not None and response.json()["code"] == "too_many_writing_sessions":
            # Some were opened without a response.
            await self._revoke_all()

    async def _revoke(self) -> None:
        chosen = self.chance.choice(sorted(self.live))
        key = self.live.pop(chosen)
        response = await self._send("DELETE", f"/writing/sessions/{chosen}")
        if response is not None and response.status_code == 204:
            self.ended[chosen] = key

    async def _revoke_all(self) -> None:
        keys, self.live = self.live, {}
        response = await self._send("DELETE", "/writing/sessions")
        if response is not None and response.status_code == 204:
            self.ended |= keys

    async def _log_out(self) -> None:
        body = self.chance.choice([{}, {"all": True}])
        response = await self._send("POST", "/auth/logout", body)
        if response is not None and response.status_code == 204:
            self.logged_out.append(self._session)
        if response is None or response.status_code == 204:
            self._session = {}

    async def _send(self, method: str, path: str, body: object = None) -> httpx2.Response | None:
        """Return the response, or None if the outcome is unknown."""
        try:
            response = await self.world.client.request(
                method, path, json=body, headers=self._session
            )
        except httpx2.TransportError:
            await asyncio.sleep(0.01)
            return None
        self.acknowledged += response.status_code in (200, 201, 204)
        known = ("too_many_writing_sessions", "database_unavailable", "starting")
        if response.status_code >= 400 and response.json()["code"] not in known:
            self.faults.append(f"{method} {path}: {response.text}")
        return response

    async def find_faults(self, world: World) -> list[str]:
        """Return the acknowledged states that do not hold."""
        faults = list(self.faults)
        wallet = replace(self.wallet, clock=world.clock)
        for keys, expected in ((self.live, 200), (self.ended, 401)):
            for key in keys.values():
                response = await send_create(world, replace(key, wallet=wallet))
                if response.status_code != expected:
                    faults.append(f"{key.id}: {response.status_code}, not {expected}")
        for headers in self.logged_out:
            response = await world.client.get("/writing/sessions", headers=headers)
            if response.status_code != 401 or response.json()["code"] != "session_ended":
                faults.append(f"A session that was ended: {response.text}")
        if self._session:
            response = await world.client.get("/writing/sessions", headers=self._session)
            if response.status_code != 200:
                faults.append(f"A session that was not ended: {response.text}")
        return faults
