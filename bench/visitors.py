"""A steady mix of everything that clients do: reads, searches, logins, writes and deliveries."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from bench.filled_posts import WORDS, word
from bench.fixture import CONTENT as POSTED
from bench.fixture import TITLE, Fixture
from bench.wallets import Wallet, get_request, post_request
from imprint.domain.drafts.files import Action
from imprint.domain.posts.slugs import page_path

POSTS = 120
"""Number of posts, a quarter of them for sale."""

WRITERS = 16
"""Number of authors who write at the same time, each in one draft."""

CONTENT = "A paragraph of a draft. " * 40
RESPONSE_SECONDS = 60.0
READY_SECONDS = 300.0
RETRY_SECONDS = 0.5

NOWHERE = ('"not_found"',)
"""What the response for a random path without content shows."""

_CHANCE = random.Random(8)


class Failed(Exception):
    """A request got no response, or one with an unexpected status or without the expected text."""


@dataclass(slots=True)
class Connection:
    """A connection to the service, opened again when the service has closed it."""

    port: int
    _reader: asyncio.StreamReader | None = None
    _writer: asyncio.StreamWriter | None = None

    async def send(self, request: bytes, *shown: str, status: int = 200) -> bytes:
        """Send a request and return the body of its response.

        Raises `Failed` if the response has another status, or lacks one of the `shown` texts.
        """
        try:
            async with asyncio.timeout(RESPONSE_SECONDS):
                received, body = await self._send(request)
        except (OSError, EOFError, TimeoutError) as error:
            self.close()
            raise Failed(f"no response ({type(error).__name__})") from error
        missing = [text for text in shown if text.encode() not in body]
        if received != status or missing:
            line = request.partition(b"\r\n")[0].decode()
            lacks = f" without {missing[0][:50]!r}" if received == status else ""
            said = body[:200].decode("utf-8", "replace")
            raise Failed(f"{received}{lacks} for {line[:100]}: {said}")
        return body

    async def wait_for(self, request: bytes, *shown: str) -> None:
        """Send a request again and again until its response is as expected."""
        async with asyncio.timeout(READY_SECONDS):
            while True:
                try:
                    await self.send(request, *shown)
                except Failed:
                    await asyncio.sleep(RETRY_SECONDS)
                else:
                    return

    async def _send(self, request: bytes) -> tuple[int, bytes]:
        if self._reader is None or self._writer is None or self._reader.at_eof():
            self.close()
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port)
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        body = await self._reader.readexactly(int(length or b"0"))
        if b"\r\nconnection: close" in head:
            self.close()
        return int(head[9:12]), body

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


Visit = Callable[[Connection], Awaitable[Any]]


@dataclass(slots=True)
class Draft:
    """An author and the current CID of their draft."""

    author: Wallet
    cid: str


@dataclass(slots=True)
class Visitors:
    """Draws visits at random, in fixed proportions. Each visit sends one or two requests."""

    fixture: Fixture
    _free: list[int] = field(init=False)
    _paid: list[int] = field(init=False)
    _session: str = field(init=False)
    _drafts: asyncio.Queue[Draft] = field(default_factory=asyncio.Queue)

    def __post_init__(self) -> None:
        fixture = self.fixture
        self._free = [fixture.publish(0) for _ in range(POSTS * 3 // 4)]
        self._paid = [fixture.publish(10**15) for _ in range(POSTS // 4)]
        self._session = fixture.session(fixture.alice)
        for author in fixture.authors[:WRITERS]:
            fixture.key_of(author)
            self._drafts.put_nowait(Draft(author, fixture.create(author)["cid"]))

    @property
    def kinds(self) -> dict[str, tuple[int, Visit]]:
        """The kinds of visits, with the share of each in percent."""
        return {
            "read": (57, self.read),
            "gated read": (10, self.read_gated),
            "search": (8, self.search),
            "login": (6, self.log_in),
            "payment": (5, self.ask_for_payment),
            "signed update": (4, self.update),
            "session update": (4, self.update_in_session),
            "create and delete": (3, self.create_and_delete),
            "delivery": (3, self.deliver),
        }

    def draw(self) -> tuple[str, Visit]:
        """Draw the next visit."""
        kinds = self.kinds
        (name,) = _CHANCE.choices([*kinds], [share for share, _ in kinds.values()])
        return name, kinds[name][1]

    @property
    def _newest(self) -> str:
        """The path of the newest post, which the first page of every list shows."""
        return page_path(self._paid[-1], TITLE)

    async def wait_until_listed(self) -> None:
        """Wait until the service has read all posts from the chain."""
        connection = Connection(self.fixture.service.port)
        await connection.wait_for(get_request("/posts"), self._newest)
        connection.close()

    async def read(self, connection: Connection) -> None:
        free, paid = _CHANCE.choice(self._free), _CHANCE.choice(self._paid)
        address, tag = self.fixture.alice.address, word(_CHANCE.randrange(WORDS))
        pages = {
            "/": (self._newest, TITLE),
            page_path(free, TITLE): (TITLE, POSTED),
            page_path(paid, TITLE): (TITLE, page_path(paid, TITLE)),
            f"/posts/{free}": (TITLE, page_path(free, TITLE)),
            f"/posts/{free}.md": (TITLE, POSTED),
            f"/posts/{free}/content": (f'"post_id":"{free}"', POSTED),
            f"/freeFileByPostId?postId={free}": (f'"post_id":"{free}"', POSTED),
            "/posts": (self._newest, TITLE),
            f"/a/{address}": (self._newest, TITLE),
            f"/filesByTags?tags={tag}": (f'"tags":["{tag}"]',),
            "/filesMetaData": (f'"post_id":"{self._paid[-1]}"',),
            "/feeds/posts.atom": (self._newest, TITLE, POSTED),
            f"/feeds/authors/{address}.json": (self._newest, TITLE, POSTED),
            f"/p/{_CHANCE.randrange(10**11, 10**12)}": NOWHERE,
            f"/nowhere/{_CHANCE.randrange(10**12)}": NOWHERE,
        }
        path, shown = _CHANCE.choice([*pages.items()])
        await connection.send(get_request(path), *shown, status=404 if shown is NOWHERE else 200)

    async def search(self, connection: Connection) -> None:
        """Search for the title that every post has, or for words that no post has."""
        path, is_found = _CHANCE.choice(("/posts", "/search")), _CHANCE.random() < 0.5
        words = [word(int(WORDS * _CHANCE.random() ** 3)) for _ in range(2)]
        shown = {"/posts": '"posts":[]', "/search": f"<title>{' '.join(words)}"}[path]
        query, shown = (TITLE, self._newest) if is_found else ("+".join(words), shown)
        await connection.send(get_request(f"{path}?q={query}"), shown)

    async def read_gated(self, connection: Connection) -> None:
        post = _CHANCE.choice(self._paid)
        request = f"/fileByPostId?user={self.fixture.alice.address}&postId={post}"
        await connection.send(get_request(request, self._session), f'"post_id":"{post}"', POSTED)

    async def ask_for_payment(self, connection: Connection) -> None:
        path = f"/posts/{_CHANCE.choice(self._paid)}/content"
        await connection.send(get_request(path), '"payment_required"', status=402)

    async def log_in(self, connection: Connection) -> None:
        wallet = Wallet(self.fixture.domain)
        body = wallet.sign_login(self.fixture.authority)
        response = json.loads(await connection.send(post_request("/auth/login", body)))
        session = f"Authorization: Bearer {response['token']}\r\n"
        await connection.send(get_request("/me/feeds", session), '"feeds":[]')

    async def update(self, connection: Connection) -> None:
        await self._update(
            connection,
            lambda each: each.author.sign_write(Action.UPDATE) | {"content": self._text()},
        )

    async def update_in_session(self, connection: Connection) -> None:
        fixture = self.fixture
        await self._update(
            connection,
            lambda each: each.author.sign_update_with(
                fixture.key_of(each.author), fixture.facts["service"], each.cid, self._text()
            ),
        )

    async def _update(
        self, connection: Connection, sign: Callable[[Draft], dict[str, Any]]
    ) -> None:
        draft = await self._drafts.get()
        try:
            request = post_request(f"/update/file?cid={draft.cid}", sign(draft))
            draft.cid = json.loads(await connection.send(request))["upload"]["cid"]
        except Failed:
            # The update may have been stored, so the draft's current CID is unknown.
            draft = Draft(draft.author, "")
            raise
        finally:
            if not draft.cid:
                draft = await self._begin_anew(draft.author)
            self._drafts.put_nowait(draft)

    async def _begin_anew(self, author: Wallet) -> Draft:
        connection = Connection(self.fixture.service.port)
        while True:
            try:
                return Draft(author, await self._create(connection, author))
            except Failed:
                await asyncio.sleep(1)
            finally:
                connection.close()

    async def _create(self, connection: Connection, author: Wallet) -> str:
        body = author.sign_write(Action.CREATE) | {"content": self._text()}
        response = json.loads(await connection.send(post_request("/create/group", body)))
        return str(response["updatedUpload"]["cid"])

    async def create_and_delete(self, connection: Connection) -> None:
        author = _CHANCE.choice(self.fixture.authors[WRITERS:])
        cid = await self._create(connection, author)
        body = author.sign_write(Action.DELETE)
        request = post_request(f"/delete/file?cid={cid}", body)
        await connection.send(request, '"status":"deleted"')

    async def deliver(self, connection: Connection) -> None:
        await connection.send(_CHANCE.choice(self.fixture.delivered), '"already_onchain"')

    @staticmethod
    def _text() -> str:
        return f"{CONTENT}{_CHANCE.random()}"
