"""A fake Pinata in this process, as described by its documentation and client.

The fake refuses everything that neither the documentation nor the client mentions: unknown
form parts, parameters, members and media types. Where the documentation leaves a choice, the
fake has a switch.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import re
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from aiohttp import BodyPartReader, web
from aiohttp.test_utils import TestServer

from imprint.domain.formats.cids import KUBO_LAYOUT, Layout, document_cid

Fault = Callable[["PinataFake", web.Request], Awaitable[web.StreamResponse]]

JWT = "a-key-that-pinata-issued"
NETWORKS = ("private", "public")
LIST_PARAMETERS = {"name", "cid", "group", "mimeType", "cidPending", "order", "limit", "pageToken"}
UPLOAD_PARTS = {
    "file", "network", "name", "group_id", "keyvalues", "car", "cid_version", "expires_at",
    "streamable",
}  # fmt: skip
KEYVALUE = re.compile(r"keyvalues\[([^\]]+)\]")
DEFAULT_LIMIT = 10
MAX_KEYVALUES = 10


class Refused(Exception):
    """A request that the fake refuses, with its status and reason."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass
class PinataFake:
    """A fake account: its files, groups and contents, its faults, and the received calls."""

    jwt: str = JWT
    layout: Layout = KUBO_LAYOUT
    duplicates_share_a_record: bool = False
    files: dict[str, dict[str, dict[str, Any]]] = field(
        default_factory=lambda: {network: {} for network in NETWORKS}
    )
    groups: dict[str, dict[str, dict[str, Any]]] = field(
        default_factory=lambda: {network: {} for network in NETWORKS}
    )
    contents: dict[tuple[str, str], bytes] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)
    handlers: dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]] = field(
        default_factory=dict
    )
    server: TestServer | None = None
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    async def start(self) -> None:
        application = web.Application(client_max_size=2**28)
        add = application.router.add_route
        add("POST", "/uploads/v3/files", self.route("upload", self.upload))
        add("POST", "/api/v3/files/private/download_link", self.route("sign", self.sign))
        add("POST", "/api/v3/files/sign", self.route("sign", self.sign))
        files, groups = "/api/v3/files/{network}", "/api/v3/groups/{network}"
        add("GET", files, self.route("list", self.list_files))
        add("GET", files + "/{id}", self.route("file", self.show_file))
        add("PUT", files + "/{id}", self.route("update", self.update_file))
        add("DELETE", files + "/{id}", self.route("delete", self.delete_file))
        add("POST", groups, self.route("create group", self.create_group))
        add("GET", groups, self.route("list groups", self.list_groups))
        add("GET", groups + "/{id}", self.route("group", self.show_group))
        add("DELETE", groups + "/{id}", self.route("delete group", self.delete_group))
        add("PUT", groups + "/{id}/ids/{file}", self.route("join", self.join_group))
        add("DELETE", groups + "/{id}/ids/{file}", self.route("leave", self.leave_group))
        add("GET", "/ipfs/{cid}", self.route("gateway", self.serve_public, keyed=False))
        add("GET", "/files/{cid}", self.route("gateway", self.serve_private, keyed=False))
        self.server = TestServer(application)
        await self.server.start_server(access_log=None)

    async def stop(self) -> None:
        if self.server is not None:
            await self.server.close()

    @property
    def origin(self) -> str:
        assert self.server is not None
        return f"http://127.0.0.1:{self.server.port}"

    def route(
        self, name: str, run: Callable[[web.Request], Awaitable[web.Response]], keyed: bool = True
    ) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def receive(request: web.Request) -> web.StreamResponse:
            self.called.append(name)
            if name in self.faults:
                return await self.faults[name](self, request)
            return await respond(request)

        async def respond(request: web.Request) -> web.StreamResponse:
            try:
                given = request.headers.get("Authorization")
                if keyed and given != f"Bearer {self.jwt}":
                    return refuse_as_object(401, "INVALID_CREDENTIALS")
                if not keyed and given is not None:
                    raise Refused(400, "a key where none belongs")
                if request.match_info.get("network", "private") not in NETWORKS:
                    raise Refused(404, "no such network")
                return await run(request)
            except Refused as refusal:
                return web.json_response({"error": str(refusal)}, status=refusal.status)

        self.handlers[name] = respond
        return receive

    async def upload(self, request: web.Request) -> web.Response:
        if request.content_type != "multipart/form-data":
            raise Refused(415, "not multipart")
        parts: dict[str, bytes] = {}
        filename = None
        async for part in await request.multipart():
            assert isinstance(part, BodyPartReader)
            if part.name not in UPLOAD_PARTS or part.name in parts:
                raise Refused(400, f"unknown or repeated part {part.name}")
            if (part.name == "file") != (part.filename is not None):
                raise Refused(400, "a file name belongs to the file, and only there")
            filename = part.filename or filename
            parts[part.name] = bytes(await part.read())
        if "file" not in parts:
            raise Refused(400, "no file")
        text = {name: value.decode() for name, value in parts.items() if name != "file"}
        network = text.get("network", "private")
        if network not in NETWORKS or text.get("cid_version", "v1") != "v1" or "car" in text:
            raise Refused(400, "not understood here")
        keyvalues = check_keyvalues(json.loads(text.get("keyvalues", "{}")))
        group_id = text.get("group_id")
        if group_id is not None and group_id not in self.groups[network]:
            raise Refused(404, "group not found")
        record = self.add_file(network, parts["file"], text.get("name", filename), keyvalues)
        if group_id is not None:
            record["group_id"] = group_id
        return data_response(record)

    def add_file(
        self, network: str, content: bytes, name: str | None, keyvalues: dict[str, str]
    ) -> dict[str, Any]:
        cid = document_cid(content, self.layout)
        self.contents[network, cid] = content
        same = [each for each in self.files[network].values() if each["cid"] == cid]
        if same and self.duplicates_share_a_record:
            return same[0] | {"is_duplicate": True}
        record = {
            "id": str(uuid.uuid4()),
            "name": name,
            "cid": cid,
            "size": len(content),
            "created_at": self.next_moment(),
            "number_of_files": 1,
            "mime_type": "application/octet-stream",
            "group_id": None,
            "keyvalues": keyvalues,
            "vectorized": False,
            "network": network,
        }
        self.files[network][str(record["id"])] = record
        return record | {"is_duplicate": True} if same else record

    def next_moment(self) -> str:
        self.started += timedelta(microseconds=1)
        return self.started.isoformat().replace("+00:00", "Z")

    async def list_files(self, request: web.Request) -> web.Response:
        filters, wanted = {}, {}
        for key, value in request.query.items():
            match = KEYVALUE.fullmatch(key)
            if match is not None:
                wanted[match[1]] = value
            elif key in LIST_PARAMETERS:
                filters[key] = value
            else:
                raise Refused(400, f"unknown parameter {key}")
        found = [
            each
            for each in self.files[request.match_info["network"]].values()
            if filters.get("cid", each["cid"]) == each["cid"]
            and filters.get("name", "") in each["name"]
            and filters.get("group", _null(each["group_id"])) == _null(each["group_id"])
            and each["keyvalues"] | wanted == each["keyvalues"]
        ]
        found.sort(key=lambda each: each["created_at"], reverse=filters.get("order") != "ASC")
        return page_response("files", found, filters)

    async def show_file(self, request: web.Request) -> web.Response:
        return data_response(self.find_file(request))

    async def update_file(self, request: web.Request) -> web.Response:
        record = self.find_file(request)
        body = await read_json(request, {"name", "keyvalues", "expires_at"})
        record["name"] = body.get("name", record["name"])
        merged = record["keyvalues"] | body.get("keyvalues", {})
        kept = {key: value for key, value in merged.items() if value is not None}
        record["keyvalues"] = check_keyvalues(kept)
        return data_response(record)

    async def delete_file(self, request: web.Request) -> web.Response:
        record = self.find_file(request)
        network = request.match_info["network"]
        del self.files[network][record["id"]]
        if not any(each["cid"] == record["cid"] for each in self.files[network].values()):
            del self.contents[network, record["cid"]]
        return data_response(None)

    def find_file(self, request: web.Request, key: str = "id") -> dict[str, Any]:
        try:
            return self.files[request.match_info["network"]][request.match_info[key]]
        except KeyError:
            raise Refused(404, "file not found") from None

    async def create_group(self, request: web.Request) -> web.Response:
        body = await read_json(request, {"name", "is_public"})
        if not isinstance(body.get("name"), str):
            raise Refused(400, "a group has a name")
        public = bool(body.get("is_public"))
        group = {"id": str(uuid.uuid4()), "name": body["name"], "is_public": public}
        group["created_at"] = self.next_moment()
        self.groups[request.match_info["network"]][str(group["id"])] = group
        return data_response(group)

    async def list_groups(self, request: web.Request) -> web.Response:
        filters = dict(request.query)
        if set(filters) - {"name", "isPublic", "limit", "pageToken"}:
            raise Refused(400, "unknown parameter")
        named = self.groups[request.match_info["network"]].values()
        found = [each for each in named if filters.get("name", "") in each["name"]]
        return page_response("groups", found, filters)

    async def show_group(self, request: web.Request) -> web.Response:
        return data_response(self.find_group(request))

    async def delete_group(self, request: web.Request) -> web.Response:
        group = self.find_group(request)
        network = request.match_info["network"]
        del self.groups[network][group["id"]]
        for each in self.files[network].values():
            if each["group_id"] == group["id"]:
                each["group_id"] = None
        return data_response(None)

    async def join_group(self, request: web.Request) -> web.Response:
        group = self.find_group(request)
        self.find_file(request, "file")["group_id"] = group["id"]
        return data_response(None)

    async def leave_group(self, request: web.Request) -> web.Response:
        self.find_group(request)
        self.find_file(request, "file")["group_id"] = None
        return data_response(None)

    def find_group(self, request: web.Request) -> dict[str, Any]:
        try:
            return self.groups[request.match_info["network"]][request.match_info["id"]]
        except KeyError:
            raise Refused(404, "group not found") from None

    async def sign(self, request: web.Request) -> web.Response:
        body = await read_json(request, {"url", "date", "expires", "method"})
        if body.get("method") != "GET" or not isinstance(body.get("expires"), int):
            raise Refused(400, "not a link to sign")
        if abs(body["date"] - datetime.now(UTC).timestamp()) > 60:
            raise Refused(400, "a date of another day")
        path = "/files/" + body["url"].partition("/files/")[2]
        query = {
            "X-Algorithm": "PINATA1",
            "X-Date": str(body["date"]),
            "X-Expires": str(body["expires"]),
            "X-Method": "GET",
        }
        query["X-Signature"] = self.signature(path, query)
        return data_response(body["url"] + "?" + urlencode(query))

    def signature(self, path: str, query: dict[str, str]) -> str:
        message = f"{path}?{urlencode(query)}".encode()
        return hmac.new(self.jwt.encode(), message, hashlib.sha256).hexdigest()

    async def serve_private(self, request: web.Request) -> web.Response:
        query = dict(request.query)
        given = query.pop("X-Signature", "")
        until = int(query.get("X-Date", "0")) + int(query.get("X-Expires", "0"))
        if given != self.signature(request.path, query) or until < datetime.now(UTC).timestamp():
            raise Refused(401, "the link is not signed, or too old")
        return self.serve("private", request.match_info["cid"], missing=404)

    async def serve_public(self, request: web.Request) -> web.Response:
        return self.serve("public", request.match_info["cid"], missing=403)

    def serve(self, network: str, cid: str, missing: int) -> web.Response:
        content = self.contents.get((network, cid))
        if content is None:
            raise Refused(missing, "The owner of this gateway does not have this content pinned")
        return web.Response(body=content, content_type="application/octet-stream")


def _null(value: str | None) -> str:
    return "null" if value is None else value


def data_response(data: Any) -> web.Response:
    return web.json_response({"data": data})


def page_response(name: str, found: list[dict[str, Any]], filters: dict[str, str]) -> web.Response:
    limit = int(filters.get("limit", DEFAULT_LIMIT))
    start = 0
    if "pageToken" in filters:
        last = base64.b64decode(filters["pageToken"]).decode()
        start = [each["id"] for each in found].index(last) + 1
    page = found[start : start + limit]
    more = start + limit < len(found)
    token = base64.b64encode(page[-1]["id"].encode()).decode() if more else ""
    return data_response({name: page, "next_page_token": token})


async def read_json(request: web.Request, members: set[str]) -> dict[str, Any]:
    if request.content_type != "application/json":
        raise Refused(415, "not JSON")
    body = await request.json()
    if not isinstance(body, dict) or set(body) - members:
        raise Refused(400, "unknown members")
    return body


def check_keyvalues(keyvalues: Any) -> dict[str, str]:
    flat = isinstance(keyvalues, dict) and all(isinstance(each, str) for each in keyvalues.values())
    if not flat or len(keyvalues) > MAX_KEYVALUES:
        raise Refused(400, "keyvalues are up to ten texts")
    return dict(keyvalues)


def refuse_as_object(status: int, reason: str) -> web.Response:
    """An error in the format of Pinata's older endpoints."""
    return web.json_response({"error": {"reason": reason, "details": "details"}}, status=status)


def refuse_as_sentence(status: int, sentence: str) -> web.Response:
    """An error in the format of Pinata's newer endpoints."""
    return web.json_response({"error": sentence}, status=status)


def refuse_as_text(status: int, text: str) -> web.Response:
    """An error that is not JSON."""
    return web.Response(status=status, text=text)


def always(response: Callable[[], web.Response]) -> Fault:
    """A fault: every call gets this response."""

    async def fault(fake: PinataFake, request: web.Request) -> web.StreamResponse:
        await request.read()
        return response()

    return fault


def times(count: int, name: str, fault: Fault) -> Fault:
    """A fault that affects only the first `count` calls with this name."""
    left = [count]

    async def passing(fake: PinataFake, request: web.Request) -> web.StreamResponse:
        left[0] -= 1
        return await (fault(fake, request) if left[0] >= 0 else fake.handlers[name](request))

    return passing


async def stay_silent(fake: PinataFake, request: web.Request) -> web.StreamResponse:
    """A fault: no response is sent within any timeout."""
    await asyncio.sleep(60)
    return web.Response()


async def reset(fake: PinataFake, request: web.Request) -> web.StreamResponse:
    """A fault: the connection is reset without a response."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
