"""A simulated world: a chain, a faulty node, both providers, and a service that restarts."""

import asyncio
import json
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, TypeVar, cast
from unittest.mock import patch

import httpx2
from tests.contract_wallets import ContractWallet
from tests.services.installations import restore, save
from tests.simulation.event_loop import Crash, SimulatedLoop
from tests.simulation.market import CONTRACT_OWNER, DEPTH, ChainBehind, Market, Texts
from tests.simulation.requests import DirectClient, Request, Response
from tests.simulation.rewindable_chain import selector
from tests.world import ORIGIN, MovableClock, Node, Wallet, World

from imprint import failpoints
from imprint.adapters.chain import json_rpc
from imprint.adapters.content.embedded import MARKER
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
from imprint.ports import ContentStore
from imprint.ports.post_index import SearchIndex
from imprint.services.chain.log_stream import LogStream
from imprint.services.posts.indexer import Indexer
from imprint.services.publication.chain_sync import Follower
from imprint.services.tasks.leases import LEASE_TIME
from imprint.settings import DEVELOPMENT, Settings, SqliteDatabase, read_settings
from imprint.settings.stores import parse_database

T = TypeVar("T")

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


FEED_OWNER = "X-Feed-Owner"
"""A header of this simulation that names the owner of the feed that is fetched."""

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


class FaultyStore:
    """A content store whose next operations may fail, before or after they have taken effect."""

    def __init__(self, store: ContentStore) -> None:
        self._store = store
        self.faults: list[str | None] = []
        """What happens to the next operations: "before", "after", or None for success."""

    async def put(self, *args: Any, **given: Any) -> None:
        await self._run(self._store.put, *args, **given)

    async def read(self, *args: Any) -> bytes | None:
        found: bytes | None = await self._run(self._store.read, *args)
        return found

    async def remove(self, *args: Any, **given: Any) -> None:
        await self._run(self._store.remove, *args, **given)

    async def _run(self, method: Callable[..., Awaitable[Any]], *args: Any, **given: Any) -> Any:
        fault = self.faults.pop(0) if self.faults else None
        if fault == "before":
            raise Unavailable.storage()
        result = await method(*args, **given)
        if fault == "after":
            raise Unavailable.storage()
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


BALANCE_OF = "0x" + selector("balanceOf(address,uint256)").hex()


@dataclass
class NodeLink:
    """The connection of a process to a node. `balance` replaces all balances that it reports."""

    node: Node
    balance: int | None = None

    async def post(self, body: bytes, max_response: int | None = None) -> bytes:
        await asyncio.sleep(0)
        said = await self.node.respond(body)
        if self.balance is None or BALANCE_OF.encode() not in body:
            return said
        asked = {each["id"]: each for each in json.loads(body)}
        responses = json.loads(said)
        for response in responses:
            request = asked[response["id"]]
            if request["method"] == "eth_call" and request["params"][0]["data"].startswith(
                BALANCE_OF
            ):
                response["result"] = f"0x{self.balance:064x}"
        return json.dumps(responses).encode()

    def close(self) -> None:
        """No connection is open."""


Send = Callable[[World], Awaitable[httpx2.Response]]
"""Sends a signed request, the same one each time, to a process of the service."""


@dataclass
class ReaderSession:
    """An issued session, and whether it was ended by a logout."""

    address: str
    headers: dict[str, str]
    issued_at: datetime
    ended: bool = False


@dataclass
class Process:
    """One process of the service, with its own caches, and its tasks."""

    world: World
    store: FaultyStore
    follower: Follower
    indexer: Indexer
    links: list[NodeLink]


@dataclass
class Universe:
    """The complete state of a run, and its only source of randomness.

    The service has two processes. The first has one node, which sometimes leaves out logs. The
    second has that node and two others, and believes what two of them say.
    """

    random: Random
    folder: Path
    database: str | None = None
    clock: MovableClock = field(default_factory=lambda: MovableClock(START))
    market: Market = field(init=False)
    nodes: list[Node] = field(init=False)
    _processes: dict[int, Process] = field(default_factory=dict)
    is_replicated: bool = True
    """Whether the second process is used."""
    started: int = 0
    undelivered: list[tuple[str, Block]] = field(default_factory=list)
    trace: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """How often each fault happened."""
    responses: int = 0
    digest: Any = field(default_factory=sha256)
    """The digest of all requests and responses."""
    hear: Callable[[str | None, bytes], None] = lambda reader, body: None
    """Gets the body of every response, with the address of its reader."""
    latest: datetime = START
    issued: list[ReaderSession] = field(default_factory=list)
    _sessions: dict[str, ReaderSession] = field(default_factory=dict)

    async def open(self) -> None:
        self.market = Market(self.clock)
        self.nodes = [Node(self.market.chain, url=f"http://node-{each}.test") for each in range(3)]
        if not (self.folder / "content" / MARKER).exists():
            await self.world.adapters.claim.verify()

    @property
    def node(self) -> Node:
        """The node of all processes."""
        return self.nodes[0]

    def _settings(self, number: int) -> Settings:
        urls = tuple(node.url for node in self.nodes[: 1 if number == 0 else None])
        found = _read_settings(urls, 1 + number, self.market.adapter, self.market.address)
        path = SqliteDatabase(self.folder / "imprint.db")
        database = path if self.database is None else parse_database(self.database)
        return replace(
            found, storage=replace(found.storage, data_dir=self.folder, database=database)
        )

    def process(self, number: int) -> Process:
        """A process of the service, which is started on first use."""
        if number not in self._processes:
            self._processes[number] = self._start(number)
        return self._processes[number]

    def _start(self, number: int) -> Process:
        self.started += 1
        settings, links = self._settings(number), list[NodeLink]()

        def link(address: str, max_response: int) -> NodeLink:
            (node,) = (node for node in self.nodes if node.url == address)
            links.append(NodeLink(node))
            return links[-1]

        with patch.object(json_rpc, "HttpClient", link):
            opened = open_adapters(settings, self.clock, self.clock.monotonic)
        store = FaultyStore(opened.content)
        adapters = replace(opened, images=PlainRecoder(), content=cast(ContentStore, store))
        app = build_service(settings, adapters)
        client = cast(httpx2.AsyncClient, DirectClient(app, self._hear))
        chain, address = self.market.chain, self.market.address
        world = World(chain, self.node, address, settings, adapters, app, client, self.clock)
        # The follower and the indexer share what they read.
        stream = LogStream(adapters.chain, self.clock.monotonic)
        follower = build_follower(settings, adapters, stream=stream)
        indexer = build_indexer(settings, adapters, stream=stream)
        follower.holder, indexer.holder = f"follower {self.started}", f"indexer {self.started}"
        return Process(world, store, follower, indexer, links)

    def _hear(self, request: Request, response: Response) -> None:
        """Add a request and its response to the digest, and pass on who gets to read what."""
        self.digest.update(bytes(request) + bytes(response))
        self.responses += 1
        reader: str | None
        if isinstance(request.json, dict) and "address" in request.json:
            reader = str(request.json["address"]).lower()
        else:
            found = request.header("Authorization")
            owners = (
                each.address for each in self.issued if each.headers["Authorization"] == found
            )
            # Whoever has the token of a private feed reads as its owner.
            reader = next(owners, request.header(FEED_OWNER))
        self.hear(reader, response.content)

    async def restart(self) -> None:
        """Stop all processes of the service. They start again when they are used."""
        for number in list(self._processes):
            await self._stop(number)

    async def crash(self, at: str, number: int, run: Callable[[], Awaitable[T]]) -> T | None:
        """Run something in a process that ends at a failpoint, such as `during_commit:2`.

        Returns None if it ended, and otherwise the result.
        """
        name, _, passes = at.partition(":")
        left, loop = int(passes or 1), asyncio.get_running_loop()
        assert isinstance(loop, SimulatedLoop)

        def end(reached: str) -> None:
            nonlocal left
            left -= reached == name
            if reached == name and not left:
                loop.crashed = True
                raise Crash

        with patch.object(failpoints, "_armed", end):
            try:
                return await run()
            except Crash:
                self.counts[f"crash at {name}"] += 1
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        loop.crashed = False
        await self._stop(number)
        return None

    async def restore(self) -> None:
        """Back up the service, and continue with a restored copy."""
        # Otherwise, a backup of a restored copy would wait for the lease of the previous backup.
        self.wait_beyond(LEASE_TIME.total_seconds())
        copy = self.folder / f"restored-{len(self.trace)}"
        await save(self.world, saved := copy.with_suffix(".tar"))
        await self.restart()
        await restore(saved, copy)
        self.folder = copy

    async def close(self) -> None:
        await self.restart()

    async def _stop(self, number: int) -> None:
        process = self._processes.pop(number, None)
        if process is not None:
            await process.world.adapters.close()

    @property
    def world(self) -> World:
        return self.process(0).world

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
        return [*(self.world.wallet(index) for index in AUTHORS), self.contract_wallet]

    @property
    def contract_wallet(self) -> ContractWallet:
        """The author whose signatures are verified on the chain."""
        owner = self.world.wallet(CONTRACT_OWNER)
        return ContractWallet(owner.account, self.clock, self.market.contract)

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

    def choose_process(self) -> int:
        """One of the two processes of the service, chosen at random."""
        return self.random.choice((0, 0, 1)) if self.is_replicated else 0

    @property
    def either(self) -> World:
        """A process chosen at random."""
        return self.process(self.choose_process()).world

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
            return await self.process(0).follower.follow_once()
        except Unavailable:
            assert trouble is not None or self.node.lie is not None
            return False
        finally:
            self.node.fault = None

    async def run_second(self) -> tuple[bool, bool]:
        """Run rounds of the process with several nodes, one of which may leave out logs."""
        process = self.process(1)
        turns = await process.follower.follow_once(), await process.indexer.index_once()
        assert not process.follower.stream.disputed, "the honest nodes are not believed"
        return turns

    async def index(
        self,
        trouble: Callable[[bytes], bytes | None] | None = None,
        number: int = 0,
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
            return await self.process(number).indexer.index_once()
        except Unavailable:
            assert trouble is not None or behind or self.node.lie is not None
            return False
        finally:
            self.node.fault, self.node.chain = None, chain
            if not behind and not cast(SimulatedLoop, asyncio.get_running_loop()).crashed:
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
        return await asyncio.gather(*(self.index(number=each) for each in (0, 1)))

    async def collect(self) -> None:
        collector = self.world.collector(GRACE)
        while await collector.collect():
            pass

    async def come_to_rest(self) -> None:
        """Let the winning branch grow, deliveries expire, and the follower catch up."""
        # Make all deliveries too old to be accepted, even those from before the clock was set back.
        self.node.lie = None
        self.wait_beyond(0)
        self.clock.advance(62)
        self.market.catch_up()
        while not await self.follow():
            # After the clock was set back, the lease of the previous holder has not ended yet.
            self.clock.advance(7)
        await self._index_to_head()
        assert not self.process(0).follower.deep_reorg

    def wait_beyond(self, seconds: float) -> None:
        """Advance the clock to this many seconds after the latest time it has ever had."""
        behind = self.latest - self.clock.now()
        self.clock.advance(max(0.0, behind.total_seconds()) + seconds)

    async def _index_to_head(self) -> None:
        for _ in range(TURNS):
            if not await self.index(number=self.choose_process()):
                self.clock.advance(7)
                continue
            state = await self.adapters.stores.index_writer.index_state()
            reached = state.block if state else None
            if reached and reached.block_hash == "0x" + self.market.chain.head.hash.hex():
                return
        raise AssertionError("the index does not reach the head")


@cache
def _read_settings(urls: tuple[str, ...], quorum: int, adapter: str, marketplace: str) -> Settings:
    environ = {
        "IMPRINT_CHAIN_RPC_URL": ",".join(urls),
        "IMPRINT_CHAIN_QUORUM": str(quorum),
        "IMPRINT_CHAIN_REORG_DEPTH": str(DEPTH),
        "IMPRINT_CHAIN_TIMEOUT_SECONDS": "30",
        "IMPRINT_PUBLIC_URL": ORIGIN,
        "IMPRINT_ADAPTER_ADDRESS": adapter,
    }
    defaults = {**DEVELOPMENT, "IMPRINT_MARKETPLACE_ADDRESS": marketplace}
    return read_settings(environ, defaults=defaults, check_secrets=False)


async def _read_places(tx: Any) -> list[Any]:
    return await tx.fetchall(
        "SELECT place, block_hash FROM posts UNION ALL SELECT place, block_hash FROM purchases"
    )
