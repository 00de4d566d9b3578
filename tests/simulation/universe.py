"""A simulated world: a chain, a faulty node, both providers, and a service that restarts."""

import asyncio
import json
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, cast
from unittest.mock import patch

import httpx2
from tests.contract_wallets import ContractWallet
from tests.services.installations import restore, save
from tests.simulation.market import CONTRACT_OWNER, DEPTH, ChainBehind, Market, Texts
from tests.world import ORIGIN, MovableClock, Node, Wallet, World

from imprint import failpoints
from imprint.adapters.chain.chain_reader import JsonRpcChainReader
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.bootstrap import (
    Adapters,
    build_follower,
    build_indexer,
    build_service,
    open_adapters,
)
from imprint.devchain.blocks import Block
from imprint.devchain.chain import Chain
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.market_events import LOGS_PER_BLOCK
from imprint.ports.post_index import SearchIndex
from imprint.services.chain.log_stream import LogStream
from imprint.services.drafts.garbage_collector import GarbageCollector
from imprint.services.posts.indexer import Indexer
from imprint.services.publication.chain_sync import Follower
from imprint.services.tasks.leases import LEASE_TIME
from imprint.settings import DEVELOPMENT, Settings, read_settings

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
GRACE = timedelta(hours=24)
SESSION = timedelta(hours=1, minutes=50)
AUTHORS, READERS = (1, 2, 3), (4, 5)
"""The accounts that write, and the accounts that only read."""

TITLES = (b"Amber", b"birch", b"cedar", b"delta", "Émeraude".encode(), b"fjord")
"""Words that occur only in titles."""

DESCRIPTIONS = (b"granite", b"harbour", b"island", "日本".encode())
"""Words that occur only in descriptions."""

HOSTILE = (b"", b"\xff\xfe", b"\x00\x07", "\u202e".encode(), b"<script>", b'" OR *')
"""Occasional word separators: invalid UTF-8, control characters, marks, and markup."""

TAGS: dict[bytes, str | None] = {
    b"ink": "ink",
    b"#Paper": "paper",
    b" quill ": "quill",
    "\u00c4hre".encode(): "\u00e4hre",
    "A\u0308hre".encode(): "\u00e4hre",
    b"two words": None,
    b"one,two": None,
    b"": None,
    b"\xff": None,
    b"x" * 33: None,
}
"""Hashtags on the chain and their normalized forms in the index."""


def normal_tags(spelled: Iterable[bytes]) -> tuple[str, ...]:
    """The normalized hashtags of these texts, without duplicates and invalid ones."""
    found = (TAGS[each] for each in spelled)
    return tuple(dict.fromkeys(tag for tag in found if tag is not None))


TURNS = 12
"""The number of rounds within which the index reaches the head of a resting chain."""


class PlainRecoder:
    """Accepts every image unchanged, because pictures are not simulated."""

    async def recode(self, image: bytes, signer: Address) -> bytes:
        return image

    async def crop_square(self, image: bytes, side: int, signer: Address) -> bytes:
        return image

    async def close(self) -> None:
        return None


Send = Callable[[World], Awaitable[httpx2.Response]]
"""Sends one and the same signed request to a process of the service."""


class Crash(BaseException):
    """Ends a request at a failpoint, in a service that then restarts."""


@dataclass
class ReaderSession:
    """An issued session, and whether it was ended by a logout."""

    address: str
    headers: dict[str, str]
    issued_at: datetime
    ended: bool = False


@dataclass
class Universe:
    """The complete state of a run, and its only source of randomness."""

    random: Random
    folder: Path
    database: str | None = None
    clock: MovableClock = field(default_factory=lambda: MovableClock(START))
    market: Market = field(init=False)
    node: Node = field(init=False)
    settings: Settings = field(init=False)
    world: World = field(init=False)
    replica: World = field(init=False)
    """The same service in another process, with its own caches."""
    follower: Follower = field(init=False)
    indexers: tuple[Indexer, Indexer] = field(init=False)
    pair: tuple[Follower, Indexer] = field(init=False)
    """The follower and indexer of a process with two nodes, the second of which never lies."""
    spare: Node = field(init=False)
    _rpc: JsonRpc = field(init=False)
    undelivered: list[tuple[str, Block]] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    latest: datetime = START
    issued: list[ReaderSession] = field(default_factory=list)
    _sessions: dict[str, ReaderSession] = field(default_factory=dict)

    async def open(self) -> None:
        self.market = Market(self.clock)
        self.node, self.spare = Node(self.market.chain), Node(self.market.chain)
        await self.node.start()
        await self.spare.start()
        self._configure()
        self._start()

    def _configure(self) -> None:
        environ = {
            "IMPRINT_CHAIN_RPC_URL": self.node.url,
            "IMPRINT_CHAIN_REORG_DEPTH": str(DEPTH),
            "IMPRINT_CHAIN_TIMEOUT_SECONDS": "30",
            "IMPRINT_DATA_DIR": str(self.folder),
            "IMPRINT_PUBLIC_URL": ORIGIN,
            "IMPRINT_ADAPTER_ADDRESS": self.market.adapter,
        }
        if self.database is not None:
            environ["IMPRINT_DATABASE_URL"] = self.database
        defaults = {**DEVELOPMENT, "IMPRINT_MARKETPLACE_ADDRESS": self.market.address}
        self.settings = read_settings(environ, defaults=defaults, check_secrets=False)

    def _start(self) -> None:
        adapters = self._open_adapters()
        self.world, self.replica = self._serve(adapters), self._serve(self._open_adapters())
        # The follower and an indexer share what they read; the other one is in another process.
        stream = LogStream(adapters.chain, self.clock.monotonic)
        self.follower = build_follower(self.settings, adapters, stream=stream)
        other = replace(build_indexer(self.settings, adapters), holder="another process")
        self.indexers = build_indexer(self.settings, adapters, stream=stream), other
        chain = self.settings.chain
        self._rpc = JsonRpc([self.node.url, self.spare.url])
        reader = JsonRpcChainReader(
            self._rpc, chain.id, chain.marketplace, chain.adapter, timeout=30
        )
        stream, adapters = LogStream(reader, self.clock.monotonic), replace(adapters, chain=reader)
        follower = build_follower(self.settings, adapters, stream=stream)
        indexer = build_indexer(self.settings, adapters, stream=stream)
        self.pair = (
            replace(follower, holder="follower of two nodes"),
            replace(indexer, holder="indexer of two nodes"),
        )

    def _open_adapters(self) -> Adapters:
        opened = open_adapters(self.settings, self.clock, self.clock.monotonic)
        return replace(opened, images=PlainRecoder())

    def _serve(self, adapters: Adapters) -> World:
        app = build_service(self.settings, adapters)
        client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=ORIGIN)
        chain, address = self.market.chain, self.market.address
        return World(chain, self.node, address, self.settings, adapters, app, client, self.clock)

    async def restart(self) -> None:
        """Stop the service and restart it on the same data."""
        await self._stop()
        self._start()

    async def crash(self, at: str, send: Send) -> httpx2.Response | None:
        """Crash the service at a failpoint of a request, and restart it.

        Returns the response if the request does not reach the failpoint.
        """

        def end(reached: str) -> None:
            if reached == at:
                raise Crash

        with patch.object(failpoints, "_armed", end):
            try:
                return await send(self.either)
            except Crash:
                await self.restart()
                return None

    async def restore(self) -> None:
        """Back up the service, and continue with a restored copy."""
        # A copy of a copy would wait for the lease of the backup before.
        self._wait_beyond(LEASE_TIME.total_seconds())
        copy = self.folder / f"restored-{len(self.trace)}"
        await save(self.world, saved := copy.with_suffix(".tar"))
        await self._stop()
        await restore(saved, copy)
        self.folder = copy
        self._configure()
        self._start()

    async def close(self) -> None:
        await self._stop()
        await self.node.stop()
        await self.spare.stop()

    async def _stop(self) -> None:
        await self._rpc.close()
        for world in (self.world, self.replica):
            await world.client.aclose()
            await world.adapters.close()

    @property
    def search(self) -> SearchIndex:
        return self.adapters.stores.search

    @property
    def adapters(self) -> Adapters:
        return self.world.adapters

    def say(self, line: str) -> None:
        self.latest = max(self.latest, self.clock.now())
        self.trace.append(f"[{self.market.chain.head.number}] {line}")

    def author(self) -> Wallet:
        return self.random.choice(self.authors)

    @property
    def authors(self) -> list[Wallet]:
        """The writing wallets: accounts and a contract."""
        owner = self.world.wallet(CONTRACT_OWNER)
        contract = ContractWallet(owner.account, self.clock, self.market.contract)
        return [*(self.world.wallet(index) for index in AUTHORS), contract]

    def anybody(self) -> Wallet:
        return self.world.wallet(self.random.choice(AUTHORS + READERS))

    def texts(self) -> Texts:
        """Random texts that an author enters for a post."""
        chance = self.random
        title = [chance.choice(TITLES) for _ in range(chance.randint(1, 3))]
        if chance.random() < 0.3:
            title.insert(chance.randint(0, len(title)), chance.choice(HOSTILE))
        description = [
            chance.choice((*DESCRIPTIONS, *HOSTILE)) for _ in range(chance.randint(0, 4))
        ]
        tags = chance.choices(list(TAGS), k=chance.choice([0, 0, 1, 3, 10]))
        return Texts(b" ".join(title), b" ".join(description), tuple(tags))

    async def session(self, wallet: Wallet) -> dict[str, str]:
        """The headers of an unexpired session."""
        found, now = self._sessions.get(wallet.address), self.clock.now()
        if found is None or found.ended or not timedelta(0) <= now - found.issued_at < SESSION:
            found = ReaderSession(wallet.address, await self.either.login(wallet), now)
            self._sessions[wallet.address] = found
            self.issued.append(found)
        return found.headers

    @property
    def either(self) -> World:
        """One of the two processes of the service, chosen at random."""
        return self.random.choice((self.world, self.replica))

    def spread(self, block: Block | None) -> None:
        """Queue up to two deliveries of a block per provider, at random."""
        if block is None or not self.market.created_in(block):
            return
        for provider in "ab":
            for _ in range(self.random.choice([0, 1, 1, 2])):
                self.undelivered.append((provider, block))

    async def deliver(self, provider: str, block: Block) -> httpx2.Response:
        """Send a provider's delivery of a block, sometimes with parts omitted."""
        if provider == "a":
            body = json.loads(self.world.body_a(block))
            named = body["event"]["data"]["block"]
            for member in ("hash", "number"):
                if self.random.random() < 0.25:
                    del named[member]
            return await self.world.send_a(json.dumps(body).encode())
        late = self.random.random() < 0.05
        stamp = self.clock.seconds - (301 if late else 0)
        body_b = self.world.body_b(block)
        compress = self.random.random() < 0.3
        nonce = secrets.token_hex(16)
        response = await self.world.send_b(body_b, nonce, stamp, compress)
        assert response.status_code == (401 if late else 200)
        if not late and self.random.random() < 0.2:
            again = await self.world.send_b(body_b, nonce, stamp, compress)
            assert again.json()["duplicate"]
        return response

    async def lie(
        self, log: dict[str, Any], number: int | None, block_hash: str
    ) -> httpx2.Response:
        """Send a correctly signed delivery of a false log."""
        block: dict[str, Any] = {"hash": block_hash, "logs": [log]}
        if number is not None:
            block["number"] = number
        return await self.world.send_a(json.dumps({"event": {"data": {"block": block}}}).encode())

    async def follow(self, trouble: Callable[[bytes], bytes | None] | None = None) -> bool:
        """Run a round of the follower, which may fail if the node does."""
        self.node.fault = trouble
        try:
            return await self.follower.follow_once()
        except Unavailable:
            assert trouble is not None or self.node.lie is not None
            return False
        finally:
            self.node.fault = None

    async def run_pair(self) -> tuple[bool, bool]:
        """Run rounds of the process with two nodes, one of which omits logs."""
        follower, indexer = self.pair
        turns = await follower.follow_once(), await indexer.index_once()
        assert not follower.stream.disputed, "the second node is not believed"
        return turns

    async def index(
        self,
        trouble: Callable[[bytes], bytes | None] | None = None,
        indexer: int = 0,
        behind: int = 0,
    ) -> bool:
        """Run a round of an indexer, which may fail if the node fails or lags."""
        chain = self.market.chain
        self.node.fault = trouble
        if behind:
            last = max(1, chain.head.number - behind)
            self.node.chain = cast(Chain, ChainBehind(chain, last))
        before = await self._indexed_places()
        try:
            return await self.indexers[indexer].index_once()
        except Unavailable:
            assert trouble is not None or behind or self.node.lie is not None
            return False
        finally:
            self.node.fault, self.node.chain = None, chain
            if not behind:
                gone = before - await self._indexed_places()
                assert not any(self._is_canonical(*each) for each in gone), "undone without a reorg"

    async def _indexed_places(self) -> set[tuple[int, str]]:
        """The positions of posts and purchases in the index, with their blocks."""
        rows = await self.adapters.stores.database.read(_read_places)
        return {(row["place"], row["block_hash"]) for row in rows}

    def _is_canonical(self, place: int, block_hash: str) -> bool:
        block = self.market.chain.block(place // LOGS_PER_BLOCK)
        return block is not None and "0x" + block.hash.hex() == block_hash

    async def index_twice(self) -> list[bool]:
        """Run one round of both indexers concurrently."""
        return await asyncio.gather(*(self.index(indexer=each) for each in (0, 1)))

    async def collect(self) -> None:
        collector = GarbageCollector(
            self.adapters.stores.garbage,
            self.adapters.stores.leases,
            self.adapters.stores.installation,
            self.adapters.content,
            self.clock,
            GRACE,
        )
        while await collector.collect():
            pass

    async def come_to_rest(self) -> None:
        """Let the winning branch grow, deliveries expire, and the follower catch up."""
        # Deliveries are older than they may be, also those that came before the clock went back.
        self.node.lie = None
        self._wait_beyond(0)
        for _ in range(2):
            self.clock.advance(31)
            self.market.catch_up()
            while not await self.follow():
                # The clock was set back, and the lease of the previous holder has not ended again.
                self.clock.advance(7)
            await self._index_to_head()
        assert not self.follower.deep_reorg

    def _wait_beyond(self, seconds: float) -> None:
        """Advance the clock to this many seconds after the latest time it has ever had."""
        behind = self.latest - self.clock.now()
        self.clock.advance(max(0.0, behind.total_seconds()) + seconds)

    async def _index_to_head(self) -> None:
        for _ in range(TURNS):
            if not await self.index(indexer=self.random.choice([0, 1])):
                self.clock.advance(7)
                continue
            state = await self.adapters.stores.index_writer.index_state()
            reached = state.block if state else None
            if reached and reached.block_hash == "0x" + self.market.chain.head.hash.hex():
                return
        raise AssertionError("the index does not reach the head")


async def _read_places(tx: Any) -> list[Any]:
    return await tx.fetchall(
        "SELECT place, block_hash FROM posts UNION ALL SELECT place, block_hash FROM purchases"
    )
