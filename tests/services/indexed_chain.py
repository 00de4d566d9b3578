"""A scripted chain with a marketplace, and its index in SQLite or PostgreSQL."""

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from tests.adapters.stores.databases import Database, SqliteFile, open_any
from tests.services.scripted_chain import (
    ADAPTER,
    CHAIN,
    MARKET,
    Said,
    ScriptedChain,
    say_bought,
    say_bought_through,
    say_created,
    say_priced,
    say_tagged,
    say_transferred,
)
from tests.world import MovableClock

from imprint.bootstrap.stores import Stores
from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.posts.marketplace import Log
from imprint.domain.posts.posts import BlockRef
from imprint.ports import ChainReader
from imprint.ports.post_index import IndexSource
from imprint.services.chain.log_stream import LogStream
from imprint.services.posts.indexer import Indexer

DEPTH = 8
SOURCE = IndexSource(CHAIN, MARKET, 0, ADAPTER)
WALLETS = [Address("0x" + f"{number:02x}" * 20) for number in range(1, 6)]
SHOWN = (
    "posts",
    "post_tags",
    "purchases",
    "price_changes",
    "holdings",
    "accounts",
    "author_readers",
    "market_days",
    "market_totals",
)
"""The tables whose content readers can see."""


@dataclass
class IndexedChain:
    """A chain, a database, and an indexer that connects them."""

    database: Database
    clock: MovableClock = field(default_factory=MovableClock)
    chain: ScriptedChain = field(init=False)
    stores: Stores = field(init=False)
    indexer: Indexer = field(init=False)
    posts: int = 0
    _fresh: "count[int]" = field(default_factory=count)

    def __post_init__(self) -> None:
        self.chain = ScriptedChain(self.clock)
        self.stores = open_any(self.database.address, self.clock.monotonic)
        self.indexer = self.new_indexer()

    def new_indexer(
        self, chain: ChainReader | None = None, source: IndexSource = SOURCE, depth: int = DEPTH
    ) -> Indexer:
        """Another indexer, as in another process."""
        stream = LogStream(chain or self.chain, self.clock.monotonic)
        stores = self.stores
        return Indexer(stream, stores.events, stores.leases, stores.index_writer, source, depth)

    async def restart(self) -> None:
        """Close the catalog and open it again, with a new indexer."""
        await self.stores.close()
        self.stores = open_any(self.database.address, self.clock.monotonic)
        self.clock.advance(10)
        self.indexer = self.new_indexer()

    async def settle(self) -> None:
        """Index the chain twice, with a new block in between, so that deep blocks become final."""
        await self.indexer.index_once()
        self.chain.mine()
        await self.indexer.index_once()

    def publish(self, *hashtags: bytes) -> list[Said]:
        """The logs that a new post emits."""
        self.posts += 1
        author = WALLETS[self.posts % len(WALLETS)]
        tagged = [say_tagged(self.posts, hashtag) for hashtag in hashtags]
        return [say_created(self.posts, author, f"cid {self.posts}"), *tagged]

    def happen(self, random: Random) -> list[Said]:
        """The logs of a random marketplace event."""
        kind = random.choice(["publish", "buy", "buy", "give", "move", "price"])
        if kind == "publish" or not self.posts:
            return self.publish(*random.sample([b"poetry", b"law", b"\xff"], 2))
        post_id, reader = random.randint(1, self.posts), random.choice(WALLETS)
        if kind == "buy":
            return [say_transferred(ZERO_ADDRESS, reader, post_id), say_bought(reader, post_id)]
        if kind == "give":
            return say_bought_through(post_id, random.choice(WALLETS), reader)
        if kind == "price":
            return [say_priced(post_id, random.choice([0, 5, 2**255]))]
        return [say_transferred(reader, random.choice([*WALLETS, ZERO_ADDRESS]), post_id)]

    async def shown(self) -> dict[str, list[tuple[Any, ...]]]:
        """Everything that readers can see."""
        tables = {name: await self.database.rows(f"SELECT * FROM {name}") for name in SHOWN}
        return {name: sorted(map(_plain, rows), key=repr) for name, rows in tables.items()}

    async def expected(self, folder: Path) -> dict[str, list[tuple[Any, ...]]]:
        """The content of an index that is built from scratch."""
        fresh = IndexedChain(
            SqliteFile.migrated(folder / f"fresh-{next(self._fresh)}.db"), self.clock
        )
        fresh.chain = self.chain
        fresh.indexer = fresh.new_indexer()
        highest = self.chain.highest
        assert await fresh.indexer.index_once()
        self.chain.highest = highest
        await fresh.stores.close()
        return await fresh.shown()


@dataclass
class Omitting:
    """A node that omits some logs of its blocks."""

    chain: ScriptedChain
    omitted: set[tuple[int, int]] = field(default_factory=set)

    async def logs(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        found = await self.chain.logs(first, last, topics, head)
        return [
            log
            for log in found
            if (log.place.block_number, log.place.log_index) not in self.omitted
        ]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.chain, name)


def _plain(row: Any) -> tuple[Any, ...]:
    return tuple(bytes(value) if isinstance(value, memoryview) else value for value in row)
