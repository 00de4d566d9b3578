"""Authors who write continuously to a service that keeps crashing, and track its responses."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2
from tests.world import Wallet, World, picture

from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import OwnDrafts

PAUSE = 0.01
MOST_DRAFTS = 8
NOT_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
"""Errors of requests that certainly did not reach the service."""


@dataclass(slots=True)
class Draft:
    """The state of a draft as known to its author."""

    content: str
    hashtags: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Author:
    """A wallet, its expected drafts, and all unexpected responses."""

    world: World
    wallet: Wallet
    chance: random.Random
    image: bytes = field(default_factory=picture)
    drafts: dict[str, Draft] = field(default_factory=dict)
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    longest_refusal: float = 0
    _written: int = 0

    async def write_until(self, stopping: asyncio.Event) -> None:
        """Write continuously, repeating each write until its outcome is known."""
        while not stopping.is_set():
            await self.write()

    async def write(self) -> None:
        """Make one random write and apply its effect to the expected drafts."""
        self._written += 1
        nonce, text = f"nonce-{self._written}", f"{self.wallet.address} {self._written}"
        few = len(self.drafts) < 2
        kind = "create" if few else self.chance.choice(("create", "update", "publish", "delete"))
        if kind == "create" and len(self.drafts) >= MOST_DRAFTS:
            kind = "delete"
        cid = "" if kind == "create" else self.chance.choice(sorted(self.drafts))
        world, wallet, tag = self.world, self.wallet, f"t{self._written}"
        match kind:
            case "create":
                file = await self._insist(lambda: world.send_create(wallet, text, nonce))
                self.drafts[_cid(file, "updatedUpload")] = Draft(text)
            case "update":
                file = await self._insist(lambda: world.send_update(wallet, cid, text, nonce))
                self.drafts[_cid(file, "upload")] = Draft(text, self.drafts.pop(cid).hashtags)
            case "publish":
                await self._insist(lambda: world.send_publish(wallet, cid, tag, self.image, nonce))
                self.drafts[cid].hashtags = [tag]
            case _:
                await self._insist(lambda: world.send_delete(wallet, cid, nonce))
                del self.drafts[cid]

    async def find_losses(self, world: World) -> list[str]:
        """Compare the drafts in a world with the responses their author received."""
        owner = Address(self.wallet.address)
        files = await world.adapters.stores.files.list_files(OwnDrafts(owner), None, 1000)
        found = {str(file.cid): list(file.hashtags) for file in files}
        expected = {cid: draft.hashtags for cid, draft in self.drafts.items()}
        if found != expected:
            return [f"{owner} has {found}, but should have {expected}"]
        session = await world.login(replace(self.wallet, clock=world.clock))
        faults = []
        for cid, draft in self.drafts.items():
            response = await world.client.get("/fileByCid", params={"cid": cid}, headers=session)
            if response.status_code != 200 or response.json()["content"] != draft.content:
                faults.append(f"{cid} reads {response.text}")
        return faults

    async def _insist(self, send: Callable[[], Awaitable[httpx2.Response]]) -> dict[str, Any]:
        """Send a request with the same nonce until the outcome is known."""
        unknown = False
        while True:
            began = time.monotonic()
            try:
                response = await send()
            except NOT_SENT:
                await asyncio.sleep(PAUSE)
                continue
            except httpx2.TransportError:
                self.outcomes["unknown"] += 1
                unknown = True
                continue
            body: dict[str, Any] = response.json()
            if response.status_code == 200:
                self.outcomes["absent, then done" if unknown else "done"] += 1
                return body
            if response.status_code == 409 and body["code"] == "nonce_used" and unknown:
                self.outcomes["whole"] += 1
                return body
            if response.status_code != 503:
                self.faults.append(f"{response.request.url.path}: {response.status_code} {body}")
                return body
            self.outcomes["unavailable"] += 1
            self.longest_refusal = max(self.longest_refusal, time.monotonic() - began)
            await asyncio.sleep(PAUSE)


def _cid(body: dict[str, Any], member: str) -> str:
    """Return the CID of the written file, from the first or a repeated response."""
    return str((body.get(member) or body.get("file") or {}).get("cid"))
