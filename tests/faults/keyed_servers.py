"""Fakes of servers that accept several keys at once, as the real ones do during a rotation."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import md5
from xml.sax.saxutils import escape

from aiohttp import web
from tests.adapters.content.kubo_fake import KuboFake
from tests.adapters.content.pinata_fake import PinataFake
from tests.world import Node

_KEY_ID = re.compile(r"AWS4-HMAC-SHA256 Credential=([^/]+)/")


@dataclass(slots=True)
class KeyedNode(Node):
    """A node whose URL ends with a key."""

    keys: set[str] = field(default_factory=set)

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.removeprefix("/v2/") not in self.keys:
            return web.Response(status=401, text=f"The key in {request.path} is not valid.")
        return await Node._respond(self, request)


@dataclass
class KeyedKubo(KuboFake):
    """A Kubo node with several users."""

    keys: set[str] = field(default_factory=set)

    @property
    def url(self) -> str:
        return self.address

    async def respond(self, request: web.Request) -> web.StreamResponse:
        given = request.headers.get("Authorization")
        self.authorization = given if given in self.keys else ""
        return await KuboFake.respond(self, request)


@dataclass
class KeyedPinata(PinataFake):
    """A Pinata account with several API keys."""

    keys: set[str] = field(default_factory=set)

    @property
    def url(self) -> str:
        return self.origin

    def route(
        self, name: str, run: Callable[[web.Request], Awaitable[web.Response]], keyed: bool = True
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        receive = PinataFake.route(self, name, run, keyed)

        async def receive_with_key(request: web.Request) -> web.StreamResponse:
            given = request.headers.get("Authorization", "").removeprefix("Bearer ")
            self.jwt = given if given in self.keys else ""
            return await receive(request)

        return receive_with_key if keyed else receive

    def signature(self, path: str, query: dict[str, str]) -> str:
        # Links belong to the account: they outlive the key that requested them.
        return PinataFake.signature(PinataFake("account"), path, query)


@dataclass(slots=True)
class KeyedBucket:
    """An S3 bucket that knows the ids of several access keys, and does not verify signatures."""

    keys: set[str] = field(default_factory=set)
    is_down: bool = False
    objects: dict[str, bytes] = field(default_factory=dict)
    url: str = ""
    _runner: web.ServerRunner | None = None

    async def start(self) -> None:
        server = web.Server(self._respond, access_log=None)
        self._runner = web.ServerRunner(server)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        if self.is_down:
            return _refuse(503, "SlowDown")
        found = _KEY_ID.match(request.headers.get("Authorization", ""))
        if found is None or found[1] not in self.keys:
            # Amazon quotes the id of a key that it does not know.
            code = "AccessDenied" if found is None else "InvalidAccessKeyId"
            return _refuse(403, code, f"<AWSAccessKeyId>{found and found[1]}</AWSAccessKeyId>")
        key = request.path.removeprefix("/").partition("/")[2]
        if not key:
            return self._list(request.query.get("prefix", ""))
        if request.method == "PUT":
            if request.headers.get("If-None-Match") == "*" and key in self.objects:
                return _refuse(412, "PreconditionFailed")
            self.objects[key] = await request.read()
            return web.Response(headers={"ETag": self._tag(key)})
        if request.method == "DELETE":
            self.objects.pop(key, None)
            return web.Response(status=204)
        if key not in self.objects:
            return _refuse(404, "NoSuchKey")
        headers = {"ETag": self._tag(key), "Last-Modified": "Wed, 18 Nov 2026 12:00:00 GMT"}
        return web.Response(body=self.objects[key], headers=headers)

    def _list(self, prefix: str) -> web.Response:
        found = "".join(
            f"<Contents><Key>{escape(key)}</Key><ETag>{self._tag(key)}</ETag>"
            f"<LastModified>2026-11-18T12:00:00.000Z</LastModified><Size>{len(data)}</Size></Contents>"
            for key, data in sorted(self.objects.items())
            if key.startswith(prefix)
        )
        text = f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>"
        return web.Response(text=text, content_type="application/xml")

    def _tag(self, key: str) -> str:
        return f'"{md5(self.objects[key], usedforsecurity=False).hexdigest()}"'


def _refuse(status: int, code: str, more: str = "") -> web.Response:
    text = f"<Error><Code>{code}</Code>{more}</Error>"
    return web.Response(status=status, text=text, content_type="application/xml")
