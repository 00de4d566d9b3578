"""Pinata's API, version 3: uploads, files, groups and downloads."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
import msgspec

from imprint.adapters.content.http_retry import (
    MAX_DOCUMENT,
    HttpRequest,
    HttpResponse,
    RetryingClient,
    StoreFailure,
    excerpt,
)
from imprint.domain.drafts.files import Network
from imprint.ports import Clock

API = "https://api.pinata.cloud/v3"
"""The default base URL for files, groups and signed links."""

UPLOADS = "https://uploads.pinata.cloud/v3"
"""The default base URL for uploads."""

RETRY_STATUSES = frozenset({429, 500, 502, 503, 504})
"""Statuses for too many requests, and for server errors that may pass."""

LINK_SECONDS = 60
"""Lifetime of a signed link: the slowest allowed download of a document."""

MAX_PAGES = 20
"""The maximum number of pages of a list that are read; a document rarely has more than one file."""

_PAGE = "100"
_NOT_FOUND = (403, 404, 410)
"""A gateway's statuses for files that it does not have; only the list of files is reliable."""

_Shape = TypeVar("_Shape")


@dataclass(frozen=True, slots=True)
class Account:
    """An account: its key, the origin of its gateway, and the base URLs of the API."""

    jwt: str = field(repr=False)
    gateway: str
    api: str = API
    uploads: str = UPLOADS


class Record(msgspec.Struct):
    """The used members of Pinata's description of a file."""

    id: str
    cid: str
    keyvalues: dict[str, str | None] | None = None
    group_id: str | None = None
    is_duplicate: bool | None = None
    created_at: str = ""


class Group(msgspec.Struct):
    """A group of files."""

    id: str
    name: str
    created_at: str = ""


class _Files(msgspec.Struct):
    files: list[Record] | None = None
    next_page_token: str | None = None


class _Groups(msgspec.Struct):
    groups: list[Group] | None = None
    next_page_token: str | None = None


class PinataApi:
    """The API with one account's key. Every method raises `StoreFailure`."""

    def __init__(self, client: RetryingClient, account: Account, clock: Clock) -> None:
        self._client = client
        self._account = account
        self._headers = {"Authorization": f"Bearer {account.jwt}"}
        self._clock = clock

    async def upload(
        self,
        document: bytes,
        network: Network,
        deadline: float,
        *,
        name: str,
        keyvalues: Mapping[str, str],
        group_id: str | None,
    ) -> Record:
        """Store a document; storing it again may return the same record or another one."""

        def write_form() -> aiohttp.FormData:
            form = aiohttp.FormData()
            kind = "application/octet-stream"
            form.add_field("file", io.BytesIO(document), filename=name, content_type=kind)
            form.add_field("network", str(network))
            form.add_field("name", name)
            form.add_field("keyvalues", msgspec.json.encode(keyvalues).decode())
            form.add_field("cid_version", "v1")
            if group_id is not None:
                form.add_field("group_id", group_id)
            return form

        request = HttpRequest(
            "POST", f"{self._account.uploads}/files", (), self._headers, write_form
        )
        return await self._send("upload", request, Record, deadline)

    async def find(
        self, network: Network, filters: Mapping[str, str], deadline: float
    ) -> list[Record]:
        """The files that have all these keyvalues."""
        params = [(f"keyvalues[{key}]", value) for key, value in filters.items()]
        found: list[Record] = []
        token = None
        for _ in range(MAX_PAGES):
            page, token = await self.list_page(network, token, deadline, *params)
            found += page
            if not token:
                break
        # Pinata does not document whether a filter finds only exact matches.
        return [each for each in found if (each.keyvalues or {}) | dict(filters) == each.keyvalues]

    async def list_page(
        self, network: Network, token: str | None, deadline: float, *params: tuple[str, str]
    ) -> tuple[list[Record], str | None]:
        """A page of the files, and the token of the next one."""
        page_params = (*params, ("limit", _PAGE), *_page_token(token))
        request = self._request("GET", f"files/{network}", page_params)
        page = await self._send("list", request, _Files, deadline)
        return page.files or [], page.next_page_token or None

    async def update(
        self,
        network: Network,
        file_id: str,
        keyvalues: Mapping[str, str | None],
        deadline: float,
        name: str | None = None,
    ) -> None:
        """Merge keyvalues into those of a file, None removing one, and change its name."""
        body: dict[str, Any] = {"keyvalues": dict(keyvalues)}
        if name is not None:
            body["name"] = name
        request = self._request("PUT", f"files/{network}/{file_id}", body=body)
        await self._send("update", request, Record, deadline)

    async def delete(self, network: Network, file_id: str, deadline: float) -> None:
        """Delete a file; one that does not exist is not an error."""
        request = self._request("DELETE", f"files/{network}/{file_id}")
        response = await self._client.send(request, deadline)
        if response.status != 404:
            _expect_success("delete", response)

    async def fetch(self, network: Network, cid: str, deadline: float) -> bytes | None:
        """The unverified bytes that the gateway has under Pinata's cid, or None."""
        url = f"{self._account.gateway}/ipfs/{cid}"
        if network is Network.PRIVATE:
            url = await self._sign(f"{self._account.gateway}/files/{cid}", deadline)
        # Without the key: the gateway needs none, and may belong to a third party.
        response = await self._client.send(HttpRequest("GET", url, limit=MAX_DOCUMENT), deadline)
        if response.status in _NOT_FOUND:
            return None
        _expect_success("fetch", response)
        return response.body

    async def find_groups(self, network: Network, name: str, deadline: float) -> list[Group]:
        """The groups with exactly this name, oldest first; Pinata allows several."""
        found: list[Group] = []
        token = None
        for _ in range(MAX_PAGES):
            params = (("name", name), ("limit", _PAGE), *_page_token(token))
            request = self._request("GET", f"groups/{network}", params)
            page = await self._send("list groups", request, _Groups, deadline)
            found += page.groups or []
            token = page.next_page_token
            if not token:
                break
        named = [each for each in found if each.name == name]
        return sorted(named, key=lambda each: (each.created_at, each.id))

    async def create_group(self, network: Network, name: str, deadline: float) -> Group:
        """Create a group, even if one has this name; not retried, as that would create another."""
        body = {"name": name}
        request = self._request("POST", f"groups/{network}", body=body, repeatable=False)
        return await self._send("create group", request, Group, deadline)

    async def delete_group(self, network: Network, group_id: str, deadline: float) -> None:
        """Delete a group, but not its files."""
        request = self._request("DELETE", f"groups/{network}/{group_id}")
        _expect_success("delete group", await self._client.send(request, deadline))

    async def join_group(
        self, network: Network, group_id: str, file_id: str, deadline: float
    ) -> None:
        """Put a file into a group."""
        request = self._request("PUT", f"groups/{network}/{group_id}/ids/{file_id}")
        _expect_success("join group", await self._client.send(request, deadline))

    async def list_one(self, network: Network, deadline: float) -> None:
        """Return if the key gives access to this network."""
        request = self._request("GET", f"files/{network}", (("limit", "1"),))
        await self._send("list", request, _Files, deadline)

    async def _sign(self, url: str, deadline: float) -> str:
        now = int(self._clock().timestamp())
        body = {"url": url, "date": now, "expires": LINK_SECONDS, "method": "GET"}
        request = self._request("POST", "files/private/download_link", body=body)
        link = await self._send("sign", request, str, deadline)
        if not link.startswith(f"{url}?") or not link.isascii() or not link.isprintable():
            raise StoreFailure("sign: the link leads elsewhere")
        return link

    def _request(
        self,
        method: str,
        path: str,
        params: tuple[tuple[str, str], ...] = (),
        body: Mapping[str, Any] | None = None,
        repeatable: bool = True,
    ) -> HttpRequest:
        url, headers = f"{self._account.api}/{path}", self._headers
        if body is None:
            return HttpRequest(method, url, params, headers, repeatable=repeatable)
        written = msgspec.json.encode(body)
        headers = headers | {"Content-Type": "application/json"}
        return HttpRequest(method, url, params, headers, _constant(written), repeatable)

    async def _send(
        self, purpose: str, request: HttpRequest, shape: type[_Shape], deadline: float
    ) -> _Shape:
        """The member `data` of a successful response, decoded as `shape`."""
        response = await self._client.send(request, deadline)
        _expect_success(purpose, response)
        try:
            data = msgspec.json.decode(response.body, type=dict[str, msgspec.Raw])["data"]
            return msgspec.json.decode(data, type=shape)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError) as error:
            raise StoreFailure(f"{purpose}: the response has an unexpected shape") from error


def _constant(body: bytes) -> Callable[[], bytes]:
    return lambda: body


def _page_token(token: str | None) -> list[tuple[str, str]]:
    return [("pageToken", token)] if token else []


def _expect_success(purpose: str, response: HttpResponse) -> None:
    if not response.ok:
        reason = read_reason(response.body)
        raise StoreFailure(
            f"{purpose}: status {response.status}" + (f", {reason}" if reason else "")
        )


def read_reason(body: bytes) -> str:
    """The reason in an error response, shortened for a log.

    Older endpoints send `{"error": {"reason": …, "details": …}}`, newer ones `{"error": "…"}`,
    and some send plain text.
    """
    try:
        decoded = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return excerpt(body[:1000].decode(errors="replace"))
    error = decoded.get("error", "") if isinstance(decoded, dict) else decoded
    if isinstance(error, dict):
        error = ": ".join(str(error[key]) for key in ("reason", "details") if error.get(key))
    return excerpt(str(error))
