"""A fake Kubo node in this process, strict about options and with injectable faults."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from aiohttp import BodyPartReader, web
from aiohttp.test_utils import TestServer

from imprint.domain.formats.car import write_car
from imprint.domain.formats.cids import (
    Cid,
    Codec,
    Layout,
    blocks,
    cid_of,
    codec_of,
    parse_cid,
    read_links,
)

Fault = Callable[["KuboFake", web.Request], Awaitable[web.StreamResponse]]

PARAMETERS = {
    "add": {
        "cid-version", "raw-leaves", "chunker", "max-file-links", "hash", "trickle", "inline",
        "wrap-with-directory", "pin", "progress", "fast-provide-root", "offline",
    },
    "block/put": {"cid-codec", "mhtype", "pin", "offline"},
    "block/get": {"arg", "offline"},
    "block/stat": {"arg", "offline"},
    "block/rm": {"arg", "force", "offline"},
    "pin/add": {"arg", "recursive", "name", "offline"},
    "pin/rm": {"arg", "recursive"},
    "pin/ls": {"arg", "type", "names", "name", "offline"},
    "cat": {"arg", "progress", "offline"},
    "dag/export": {"arg", "progress", "offline"},
    "version": set(),
}  # fmt: skip
"""The accepted options of each command. Like a real node, the fake refuses all others."""


class CommandError(Exception):
    """The error message of a failed command."""


@dataclass
class KuboFake:
    """A fake node: its blocks and pins, the faults of its commands, and the received commands."""

    authorization: str | None = None
    blocks: dict[Cid, bytes] = field(default_factory=dict)
    pins: dict[Cid, tuple[str, str]] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)
    server: TestServer | None = None

    async def start(self) -> None:
        application = web.Application(client_max_size=2**28)
        application.router.add_route("*", "/api/v0/{command:.+}", self.receive)
        self.server = TestServer(application)
        await self.server.start_server(access_log=None)

    async def stop(self) -> None:
        if self.server is not None:
            await self.server.close()

    @property
    def address(self) -> str:
        assert self.server is not None
        return f"http://127.0.0.1:{self.server.port}"

    async def receive(self, request: web.Request) -> web.StreamResponse:
        command = request.match_info["command"]
        self.called.append(command)
        fault = self.faults.get(command)
        if fault is not None:
            return await fault(self, request)
        return await self.respond(request)

    async def respond(self, request: web.Request) -> web.StreamResponse:
        command = request.match_info["command"]
        if request.method != "POST":
            return web.Response(status=405)
        if self.authorization != request.headers.get("Authorization"):
            return web.Response(status=403, text="403 - Forbidden")
        if command not in PARAMETERS:
            return web.Response(status=404, text="404 page not found")
        unknown = set(request.query) - PARAMETERS[command]
        repeated = [key for key in request.query if len(request.query.getall(key)) > 1]
        if unknown or set(repeated) - {"arg"}:
            return error_response(f"unknown or repeated options {unknown} {repeated}", 400)
        try:
            return await getattr(self, "run_" + command.replace("/", "_"))(request)
        except CommandError as error:
            return error_response(str(error))

    async def upload(self, request: web.Request, part: str) -> bytes:
        reader = await request.multipart()
        given = await reader.next()
        assert isinstance(given, BodyPartReader)
        assert (given.name, bool(given.filename)) == (part, True)
        assert given.headers["Content-Type"] == "application/octet-stream"
        data = await given.read()
        assert await reader.next() is None
        return bytes(data)

    async def run_add(self, request: web.Request) -> web.StreamResponse:
        query = request.query
        self.forms.append(dict(query))
        said = [query[key] for key in ("hash", "pin", "trickle")]
        assert said == ["sha2-256", "false", "false"], said
        raw = query["cid-version"] == "1"
        assert query["raw-leaves"] == ("true" if raw else "false")
        chunk, width = query["chunker"].removeprefix("size-"), query["max-file-links"]
        layout = Layout(int(chunk), int(width), raw)
        data = await self.upload(request, "file")
        made = [(cid, bytes(block)) for cid, block in blocks(data, layout)]
        for cid, block in made:
            self.blocks.setdefault(cid, block)  # like a node, which writes no block twice
        size = str(sum(len(block) for _, block in made))
        return lines({"Name": "document", "Hash": made[0][0], "Size": size})

    async def run_block_put(self, request: web.Request) -> web.StreamResponse:
        assert (request.query["cid-codec"], request.query["mhtype"]) == ("dag-pb", "sha2-256")
        block = await self.upload(request, "data")
        cid = self.keep(block)
        return web.json_response({"Key": cid, "Size": len(block)})

    def keep(self, block: bytes) -> Cid:
        cid = cid_of(Codec.DAG_PB, sha256(block).digest())
        self.blocks.setdefault(cid, block)
        return cid

    async def run_block_get(self, request: web.Request) -> web.StreamResponse:
        kind = "application/vnd.ipld.raw"
        return web.Response(body=self.find(request.query["arg"]), content_type=kind)

    async def run_block_stat(self, request: web.Request) -> web.StreamResponse:
        block = self.find(request.query["arg"])
        return web.json_response({"Key": request.query["arg"], "Size": len(block)})

    async def run_block_rm(self, request: web.Request) -> web.StreamResponse:
        cid = parse_cid(request.query["arg"])
        holders = [
            root
            for root, (mode, _) in self.pins.items()
            if root == cid or (mode == "recursive" and cid in self.below(root))
        ]
        if holders:
            return lines({"Hash": cid, "Error": f"pinned via {holders[0]}"})
        self.blocks.pop(cid, None)
        return lines({"Hash": cid})

    async def run_pin_add(self, request: web.Request) -> web.StreamResponse:
        mode = "recursive" if request.query["recursive"] == "true" else "direct"
        assert len(request.query["name"].encode()) <= 255
        roots = [parse_cid(text) for text in request.query.getall("arg")]
        for root in roots:
            for cid in self.below(root) if mode == "recursive" else [root]:
                self.find(cid, "pin: ")
            if mode == "direct" and self.pins.get(root, ("", ""))[0] == "recursive":
                raise CommandError(f"pin: {root} already pinned recursively")
            self.pins[root] = (mode, request.query["name"])
        return web.json_response({"Pins": roots})

    async def run_pin_rm(self, request: web.Request) -> web.StreamResponse:
        root = parse_cid(request.query["arg"])
        if self.pins.pop(root, None) is None:
            raise CommandError("not pinned or pinned indirectly")
        return web.json_response({"Pins": [root]})

    async def run_pin_ls(self, request: web.Request) -> web.StreamResponse:
        assert request.query["names"] == "true"
        kind = request.query["type"]
        if "arg" not in request.query:
            found = {
                root: {"Type": mode, "Name": name}
                for root, (mode, name) in self.pins.items()
                if mode == kind and request.query["name"] in name
            }
            return web.json_response({"Keys": found} if found else {})
        root = parse_cid(request.query["arg"])
        mode, name = self.pins.get(root, ("", ""))
        if mode != kind:
            raise CommandError(f"path '{root}' is not pinned")
        return web.json_response({"Keys": {root: {"Type": mode, "Name": name}}})

    async def run_cat(self, request: web.Request) -> web.StreamResponse:
        data = self.content(parse_cid(request.query["arg"]))
        headers = {"X-Content-Length": str(len(data)), "Trailer": "X-Stream-Error"}
        return web.Response(body=data, headers=headers, content_type="text/plain")

    async def run_dag_export(self, request: web.Request) -> web.StreamResponse:
        root = parse_cid(request.query["arg"])
        cids = dict.fromkeys(self.below(root))
        car = b"".join(write_car(root, ((cid, self.find(cid)) for cid in cids)))
        return web.Response(body=car, content_type="application/vnd.ipld.car")

    async def run_version(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"Version": "0.43.0"})

    def find(self, cid: str, before: str = "") -> bytes:
        block = self.blocks.get(parse_cid(cid))
        if block is None:
            said = f"block was not found locally (offline): ipld: could not find {cid}"
            raise CommandError(before + said)
        return block

    def below(self, root: Cid) -> list[Cid]:
        found, waiting = [], [root]
        while waiting:
            cid = waiting.pop()
            found.append(cid)
            if codec_of(cid) is Codec.DAG_PB:
                waiting.extend(reversed(read_links(self.find(cid, "pin: "))))
        return found

    def content(self, root: Cid) -> bytes:
        leaves = [cid for cid in self.below(root) if codec_of(cid) is Codec.RAW]
        return b"".join(self.find(cid) for cid in leaves)


def lines(*objects: dict[str, Any]) -> web.Response:
    text = "".join(json.dumps(each) + "\n" for each in objects)
    headers = {"X-Chunked-Output": "1", "Trailer": "X-Stream-Error"}
    return web.Response(text=text, headers=headers, content_type="application/json")


def error_response(message: str, status: int = 500) -> web.Response:
    return web.json_response({"Message": message, "Code": 0, "Type": "error"}, status=status)


def always(response: Callable[[], web.Response]) -> Fault:
    """A fault: every call gets this response."""

    async def fault(fake: KuboFake, request: web.Request) -> web.StreamResponse:
        await request.read()
        return response()

    return fault


def times(count: int, fault: Fault) -> Fault:
    """A fault that affects only the first `count` calls."""
    left = [count]

    async def passing(fake: KuboFake, request: web.Request) -> web.StreamResponse:
        left[0] -= 1
        return await (fault(fake, request) if left[0] >= 0 else fake.respond(request))

    return passing


async def stay_silent(fake: KuboFake, request: web.Request) -> web.StreamResponse:
    """A fault: no response is sent within any timeout."""
    await asyncio.sleep(60)
    return web.Response()


async def reset(fake: KuboFake, request: web.Request) -> web.StreamResponse:
    """A fault: the connection is reset without a response."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


def interrupt(kept: int, trailer: bool, length: bool = True) -> Fault:
    """A fault: a stream ends early, with or without an error in its trailer."""

    async def fault(fake: KuboFake, request: web.Request) -> web.StreamResponse:
        data = fake.content(parse_cid(request.query["arg"]))
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTrailer: X-Stream-Error\r\n"
        head += f"X-Content-Length: {len(data)}\r\n" if length else ""
        body = f"{kept:x}\r\n".encode() + data[:kept] + b"\r\n"
        end = b"0\r\nX-Stream-Error: unexpected EOF\r\n\r\n" if trailer else b""
        assert request.transport is not None
        request.transport.write(head.encode() + b"Transfer-Encoding: chunked\r\n\r\n" + body + end)
        request.transport.close()
        return web.Response()

    return fault
