"""Pinata's interface, version 3: files, groups and the ways to their bytes."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
import msgspec

from imprint.adapters.content.http_retry import (
    MAX_DOCUMENT,
    Answer,
    Exchanges,
    Failure,
    Request,
    quote,
)
from imprint.domain.files import Network
from imprint.ports import Clock

API = "https://api.pinata.cloud/v3"
"""Where files are listed, labelled, signed for and deleted."""

UPLOADS = "https://uploads.pinata.cloud/v3"
"""Where documents are sent."""

PASSING = frozenset({429, 500, 502, 503, 504})
"""After these it is asked again: too many requests, and a service that is not well."""

LINK_SECONDS = 60
"""How long a signed link holds: as long as the slowest download of one document."""

MAX_PAGES = 20
"""How many pages of a list are read; what is looked for has one entry, rarely more."""

_PAGE = "100"
_ABSENT = (403, 404, 410)
"""What a gateway answers for what its owner has not pinned; only the list of files is sure."""

_Shape = TypeVar("_Shape")


@dataclass(frozen=True, slots=True)
class Account:
    """An account: its key, the origin of its gateway, and where Pinata is."""

    jwt: str = field(repr=False)
    gateway: str
    api: str = API
    uploads: str = UPLOADS


class Record(msgspec.Struct):
    """A file as Pinata describes it, as far as it matters here."""

    id: str
    cid: str
    keyvalues: dict[str, str | None] | None = None
    group_id: str | None = None
    is_duplicate: bool | None = None


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
    """One account. Every method raises `Failure`."""

    def __init__(self, exchanges: Exchanges, account: Account, clock: Clock) -> None:
        self._exchanges = exchanges
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
        """Store a document. What is stored twice is one document, in one record or in two."""

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

        request = Request("POST", f"{self._account.uploads}/files", (), self._headers, write_form)
        return await self._ask("upload", request, Record, deadline)

    async def find(
        self, network: Network, filters: Mapping[str, str], deadline: float
    ) -> list[Record]:
        """The files that have all these keyvalues."""
        asked = [(f"keyvalues[{key}]", value) for key, value in filters.items()]
        found: list[Record] = []
        token = None
        for _ in range(MAX_PAGES):
            params = [*asked, ("limit", _PAGE), *_page(token)]
            request = self._request("GET", f"files/{network}", tuple(params))
            page = await self._ask("list", request, _Files, deadline)
            found += page.files or []
            token = page.next_page_token
            if not token:
                break
        # Whether a filter finds more than what is equal is not written anywhere.
        return [each for each in found if (each.keyvalues or {}) | dict(filters) == each.keyvalues]

    async def update(
        self,
        network: Network,
        file_id: str,
        keyvalues: Mapping[str, str | None],
        deadline: float,
        name: str | None = None,
    ) -> None:
        """Change keyvalues, which are merged into the present ones, and the name; None removes."""
        body: dict[str, Any] = {"keyvalues": dict(keyvalues)}
        if name is not None:
            body["name"] = name
        request = self._request("PUT", f"files/{network}/{file_id}", body=body)
        await self._ask("update", request, Record, deadline)

    async def delete(self, network: Network, file_id: str, deadline: float) -> None:
        """Delete a file; one that is not there is no error."""
        request = self._request("DELETE", f"files/{network}/{file_id}")
        answer = await self._exchanges.ask(request, deadline)
        if answer.status != 404:
            _expect_success("delete", answer)

    async def fetch(self, network: Network, cid: str, deadline: float) -> bytes | None:
        """The bytes that the gateway has under Pinata's cid, unchecked; None if it says none."""
        url = f"{self._account.gateway}/ipfs/{cid}"
        if network is Network.PRIVATE:
            url = await self._sign(f"{self._account.gateway}/files/{cid}", deadline)
        # Without the key: the gateway needs none, and may be somebody else's.
        answer = await self._exchanges.ask(Request("GET", url, limit=MAX_DOCUMENT), deadline)
        if answer.status in _ABSENT:
            return None
        _expect_success("fetch", answer)
        return answer.body

    async def find_groups(self, network: Network, name: str, deadline: float) -> list[Group]:
        """The groups with exactly this name, the oldest first; Pinata does not keep names apart."""
        found: list[Group] = []
        token = None
        for _ in range(MAX_PAGES):
            params = (("name", name), ("limit", _PAGE), *_page(token))
            request = self._request("GET", f"groups/{network}", params)
            page = await self._ask("list groups", request, _Groups, deadline)
            found += page.groups or []
            token = page.next_page_token
            if not token:
                break
        named = [each for each in found if each.name == name]
        return sorted(named, key=lambda each: (each.created_at, each.id))

    async def create_group(self, network: Network, name: str, deadline: float) -> Group:
        """A new group, also if there is one of this name; never tried twice."""
        body = {"name": name}
        request = self._request("POST", f"groups/{network}", body=body, repeatable=False)
        return await self._ask("create group", request, Group, deadline)

    async def delete_group(self, network: Network, group_id: str, deadline: float) -> None:
        """Delete a group, but not what is in it."""
        request = self._request("DELETE", f"groups/{network}/{group_id}")
        _expect_success("delete group", await self._exchanges.ask(request, deadline))

    async def join_group(
        self, network: Network, group_id: str, file_id: str, deadline: float
    ) -> None:
        """Put a file into a group."""
        request = self._request("PUT", f"groups/{network}/{group_id}/ids/{file_id}")
        _expect_success("join group", await self._exchanges.ask(request, deadline))

    async def list_one(self, network: Network, deadline: float) -> None:
        """Return if the account can be used in this network."""
        request = self._request("GET", f"files/{network}", (("limit", "1"),))
        await self._ask("list", request, _Files, deadline)

    async def _sign(self, url: str, deadline: float) -> str:
        now = int(self._clock().timestamp())
        body = {"url": url, "date": now, "expires": LINK_SECONDS, "method": "GET"}
        request = self._request("POST", "files/private/download_link", body=body)
        link = await self._ask("sign", request, str, deadline)
        if not link.startswith(f"{url}?") or not link.isascii() or not link.isprintable():
            raise Failure("sign: a link to another place")
        return link

    def _request(
        self,
        method: str,
        path: str,
        params: tuple[tuple[str, str], ...] = (),
        body: Mapping[str, Any] | None = None,
        repeatable: bool = True,
    ) -> Request:
        url, headers = f"{self._account.api}/{path}", self._headers
        if body is None:
            return Request(method, url, params, headers, repeatable=repeatable)
        written = msgspec.json.encode(body)
        headers = headers | {"Content-Type": "application/json"}
        return Request(method, url, params, headers, _constant(written), repeatable)

    async def _ask(
        self, purpose: str, request: Request, shape: type[_Shape], deadline: float
    ) -> _Shape:
        """What stands under `data` in the answer to a request that succeeded."""
        answer = await self._exchanges.ask(request, deadline)
        _expect_success(purpose, answer)
        try:
            data = msgspec.json.decode(answer.body, type=dict[str, msgspec.Raw])["data"]
            return msgspec.json.decode(data, type=shape)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, KeyError) as error:
            raise Failure(f"{purpose}: an answer of another shape") from error


def _constant(body: bytes) -> Callable[[], bytes]:
    return lambda: body


def _page(token: str | None) -> list[tuple[str, str]]:
    return [("pageToken", token)] if token else []


def _expect_success(purpose: str, answer: Answer) -> None:
    if not answer.good:
        reason = read_reason(answer.body)
        raise Failure(f"{purpose}: status {answer.status}" + (f", {reason}" if reason else ""))


def read_reason(body: bytes) -> str:
    """Why Pinata refused, fit for a log: from an object, a sentence or a bare text.

    Older parts of it answer `{"error": {"reason": …, "details": …}}`, newer ones
    `{"error": "…"}`, and some neither.
    """
    try:
        problem = msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return quote(body[:1000].decode(errors="replace"))
    error = problem.get("error", "") if isinstance(problem, dict) else problem
    if isinstance(error, dict):
        error = ": ".join(str(error[key]) for key in ("reason", "details") if error.get(key))
    return quote(str(error))
