"""Content store at Pinata: a document is stored if a file has its cid as a keyvalue.

For single-chunk documents, Pinata computes the same cid as this service. Pinata may lay out larger
documents differently, under another cid, so each file carries this service's cid in a keyvalue, and
downloads are verified against it. The keyvalue's name contains the network and the installation:
`imprint_private_<id>`, or `imprint_private` for documents stored before installations had ids. A
file shared by two installations has a keyvalue for each.

An account with private files separates the two networks. An account without them keeps all files in
Pinata's public network, separated only by keyvalues. Private documents must then be encrypted
before they are stored.
"""

import asyncio
import io
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

import aiohttp
import msgspec

from imprint.adapters.content.embedded import verify_received
from imprint.adapters.content.http_retry import (
    DEFAULT_POLICY,
    MAX_DOCUMENT,
    HttpRequest,
    HttpResponse,
    RetryingClient,
    RetryPolicy,
    StoreFailure,
    excerpt,
)
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import Label, Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import KUBO_LAYOUT, WIDE_LAYOUT, Cid, Codec, codec_of, document_cid
from imprint.domain.installation import UNNAMED, Identity
from imprint.ports import Clock
from imprint.ports.archives import EarlierFile

API = "https://api.pinata.cloud/v3"
"""Default base URL for files, groups and signed links."""

UPLOADS = "https://uploads.pinata.cloud/v3"
"""Default base URL for uploads."""

RETRY_STATUSES = frozenset({429, 500, 502, 503, 504})
"""Statuses for rate limiting and for transient server errors."""

LINK_SECONDS = 60
"""Lifetime of a signed link in seconds, long enough for the slowest allowed download."""

MAX_PAGES = 20
"""Maximum number of list pages to read. A document rarely has more than one file."""

_PAGE = "100"
_NOT_FOUND = (403, 404, 410)
"""Gateway statuses that may mean a missing file. Only the file list is reliable."""

_Shape = TypeVar("_Shape")


@dataclass(frozen=True, slots=True)
class Account:
    """A Pinata account: its key, the origin of its gateway, and the base URLs of the API."""

    jwt: str = field(repr=False)
    gateway: str
    api: str = API
    uploads: str = UPLOADS


class Record(msgspec.Struct):
    """The fields that we use from Pinata's description of a file."""

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
    """Pinata's API, used with the key of one account. Every method raises `StoreFailure`."""

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
        """Store a document. Storing it again may return the same record or another one."""

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
        """Files that have all these keyvalues."""
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
        """A page of files and the token of the next page."""
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
        """Rename a file and merge these keyvalues into its existing ones. None removes a
        keyvalue."""
        body: dict[str, Any] = {"keyvalues": dict(keyvalues)}
        if name is not None:
            body["name"] = name
        request = self._request("PUT", f"files/{network}/{file_id}", body=body)
        await self._send("update", request, Record, deadline)

    async def delete(self, network: Network, file_id: str, deadline: float) -> None:
        """Delete a file. A missing file is not an error."""
        request = self._request("DELETE", f"files/{network}/{file_id}")
        response = await self._client.send(request, deadline)
        if response.status != 404:
            _expect_success("delete", response)

    async def fetch(self, network: Network, cid: str, deadline: float) -> bytes | None:
        """The unverified bytes that the gateway returns for Pinata's cid, or None."""
        url = f"{self._account.gateway}/ipfs/{cid}"
        if network is Network.PRIVATE:
            url = await self._sign(f"{self._account.gateway}/files/{cid}", deadline)
        # Sent without the key, because the gateway needs none and may belong to a third party.
        response = await self._client.send(HttpRequest("GET", url, limit=MAX_DOCUMENT), deadline)
        if response.status in _NOT_FOUND:
            return None
        _expect_success("fetch", response)
        return response.body

    async def find_groups(self, network: Network, name: str, deadline: float) -> list[Group]:
        """Groups with exactly this name, oldest first. Pinata allows several."""
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
        """Create a group, even if one with this name exists. The request is not retried, because a
        retry could create another group."""
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
        """Check that the key grants access to this network."""
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
        """The `data` member of a successful response, decoded as `shape`."""
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


MAX_REMEMBERED = 10_000
"""Maximum number of cached Pinata cids, and of cached group ids."""

PENDING = "pending"
"""Value of `cid` until Pinata has computed it."""

REMOVAL_ROUNDS = 3
"""Number of attempts to list and delete a document's files until none is left."""

GROUP_SHARE = 3
"""Finding a group (only a label) may take at most the remaining time divided by this number."""

_DOCUMENT_KEY = re.compile("imprint_(private|public)(_[0-9a-f]{32})?")
"""Keyvalue that marks a file as a document of a network and an installation."""

_MARKER_KEY = "imprint_installation"
"""Keyvalue of a marker: the installation's id."""

_log = logging.getLogger(__name__)


class PinataStore:
    """`ContentStore` in one account. `public` means that all files of the account are in Pinata's
    public network."""

    shows_labels = True

    def __init__(
        self,
        account: Account,
        clock: Clock,
        *,
        public: bool = False,
        policy: RetryPolicy = DEFAULT_POLICY,
        identity: Identity = UNNAMED,
    ) -> None:
        self._client = RetryingClient("Pinata", RETRY_STATUSES, policy)
        self._api = PinataApi(self._client, account, clock)
        self._policy = policy
        self._public = public
        self._identity = identity
        self._marked = not identity.id
        self._cids: BoundedCache[tuple[Network, str], str] = BoundedCache(MAX_REMEMBERED)
        self._group_ids: BoundedCache[tuple[Network, str], str] = BoundedCache(MAX_REMEMBERED)

    async def put(
        self,
        cid: Cid,
        document: bytes,
        network: Network,
        label: Label | None = None,
        fence: int = 0,
    ) -> None:
        """Upload a document, then verify it by its cid or by reading it back."""
        await verify_received(cid, document, network)
        where = self._where(network)
        async with self._client.operation(
            "store", self._policy.timeout, 3 * len(document)
        ) as deadline:
            await self._expect_marker(deadline)
            wanted = {self._own_keys(network)[0]: str(cid)} | _describe(label)
            if fence:
                wanted[self._fence_key(network)] = str(fence)
            record = await self._upload(document, where, wanted, label, deadline)
            if not await self._is_stored(record, cid, document, where, deadline):
                if not record.is_duplicate:
                    await self._api.delete(where, record.id, deadline)
                _log.critical("Pinata stored other bytes for the document %s.", cid)
                raise StoreFailure("Pinata computed another cid")
            if self._fence_of(record, network) > fence:
                wanted.pop(self._fence_key(network), None)
            if (record.keyvalues or {}) | wanted != record.keyvalues:
                await self._share(record, wanted, cid, network, deadline)
            self._cids.put((network, cid), record.cid)

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Change the name, keyvalues and group of a document's files."""
        where = self._where(network)
        async with self._client.operation("label", self._policy.timeout) as deadline:
            records = await self._find(cid, network, deadline)
            group_id = await self._find_group(where, label, deadline) if records else None
            for record in records:
                await self._api.update(where, record.id, _describe(label), deadline, label.name)
                if group_id is not None and record.group_id != group_id:
                    await self._api.join_group(where, group_id, record.id, deadline)

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """A document's verified bytes, or None if no file has its cid as a keyvalue."""
        where = self._where(network)
        timeout = self._policy.timeout
        if codec_of(cid) is not Codec.RAW:
            timeout = self._policy.chunked_timeout
        async with self._client.operation("read", timeout) as deadline:
            known = self._cids.get((network, cid))
            document = None if known is None else await self._api.fetch(where, known, deadline)
            if document is None:
                found = await self._look_up(cid, network, deadline)
                if found is None:
                    return None
                document = await self._api.fetch(where, found, deadline)
            if document is None:
                raise StoreFailure("the gateway does not have a listed file")
        return await verify_received(cid, document, network)

    async def remove(self, cid: Cid, network: Network, fence: int | None = None) -> None:
        """Delete every file of a document. A shared file only loses our keyvalues."""
        where, keys = self._where(network), self._own_keys(network)
        ours = (*keys, self._fence_key(network))
        self._cids.pop((network, cid))
        async with self._client.operation("destroy", self._policy.removal_timeout) as deadline:
            for _ in range(REMOVAL_ROUNDS):
                records = await self._find(cid, network, deadline)
                if not records:
                    return
                if fence is not None and fence <= max(
                    self._fence_of(record, network) for record in records
                ):
                    return
                for record in records:
                    if _document_keys(record) - set(keys):
                        given = dict.fromkeys(set(ours) & (record.keyvalues or {}).keys())
                        await self._api.update(where, record.id, given, deadline)
                    else:
                        await self._api.delete(where, record.id, deadline)
            raise StoreFailure("deleted files are still listed")

    async def claimed_by(self, installation: str) -> str | None:
        """Return `installation` if a file is its marker, otherwise None.

        If our own marker is missing, nothing more is stored.
        """
        where = self._where(Network.PRIVATE)
        async with self._client.operation("respond", self._policy.timeout) as deadline:
            found = await self._api.find(where, {_MARKER_KEY: installation}, deadline)
        if installation == self._identity.id:
            self._marked = bool(found)
        return installation if found else None

    async def claim(self, installation: str, instead_of: str | None = None) -> str:
        """Upload the marker of an installation. Markers of other installations stay."""
        text = f"imprint installation {installation}"
        keyvalues = {_MARKER_KEY: installation}
        where = self._where(Network.PRIVATE)
        async with self._client.operation("mark", self._policy.timeout) as deadline:
            record = await self._api.upload(
                text.encode(), where, deadline, name=text, keyvalues=keyvalues, group_id=None
            )
            if (record.keyvalues or {}) | keyvalues != record.keyvalues:
                await self._api.update(where, record.id, keyvalues, deadline)
        return installation

    async def probe(self) -> None:
        """Check that the account accepts requests, including for private documents."""
        async with self._client.operation("respond", self._policy.timeout) as deadline:
            await self._api.list_one(self._where(Network.PRIVATE), deadline)

    async def close(self) -> None:
        """Close the connections to Pinata."""
        await self._client.close()

    def _where(self, network: Network) -> Network:
        """The Pinata network that holds this network's documents."""
        return Network.PUBLIC if self._public else network

    async def _upload(
        self,
        document: bytes,
        where: Network,
        keyvalues: dict[str, str],
        label: Label | None,
        deadline: float,
    ) -> Record:
        name = "document" if label is None else label.name
        group_id = await self._find_group(where, label, deadline)
        try:
            return await self._api.upload(
                document, where, deadline, name=name, keyvalues=keyvalues, group_id=group_id
            )
        except StoreFailure:
            if label is None or group_id is None:
                raise
        # The group may have been deleted. A document is stored even without its group.
        self._group_ids.pop((where, _group_name(label)))
        return await self._api.upload(
            document, where, deadline, name=name, keyvalues=keyvalues, group_id=None
        )

    async def _expect_marker(self, deadline: float) -> None:
        """Check for our marker, unless it was found before. Another account would lack the
        marker."""
        if not self._marked:
            filters = {_MARKER_KEY: self._identity.id}
            if not await self._api.find(self._where(Network.PRIVATE), filters, deadline):
                raise StoreFailure("the account has no marker of this installation")
            self._marked = True

    def _own_keys(self, network: Network) -> list[str]:
        """Keyvalues that mark a file as this installation's, starting with the one for new
        files."""
        unnamed = f"imprint_{network}"
        if not self._identity.id:
            return [unnamed]
        named = f"{unnamed}_{self._identity.id}"
        return [named, unnamed] if self._identity.owns_unnamed else [named]

    def _fence_key(self, network: Network) -> str:
        return f"imprint_fence_{network}_{self._identity.id}"

    def _fence_of(self, record: Record, network: Network) -> int:
        """The fence that a file was stored with."""
        text = (record.keyvalues or {}).get(self._fence_key(network)) or ""
        return int(text) if text.isdecimal() else 0

    async def _find(self, cid: Cid, network: Network, deadline: float) -> list[Record]:
        """The files of a document that belong to this installation."""
        found: dict[str, Record] = {}
        for key in self._own_keys(network):
            for record in await self._api.find(self._where(network), {key: cid}, deadline):
                found.setdefault(record.id, record)
        return list(found.values())

    async def _share(
        self, record: Record, wanted: dict[str, str], cid: Cid, network: Network, deadline: float
    ) -> None:
        """Add our keyvalues to a file that already existed.

        The file's other owner may have deleted the file meanwhile.
        """
        await self._api.update(self._where(network), record.id, wanted, deadline)
        if record.is_duplicate:
            found = await self._find(cid, network, deadline)
            if record.id not in {each.id for each in found}:
                raise StoreFailure("a shared file was deleted by another installation")

    async def _look_up(self, cid: Cid, network: Network, deadline: float) -> str | None:
        """Pinata's cid for a document, or None if no file has the document's cid as a keyvalue."""
        records = await self._find(cid, network, deadline)
        self._cids.pop((network, cid))
        if not records:
            return None
        known = [record.cid for record in records if record.cid != PENDING]
        # A single-chunk document has the same cid everywhere.
        found = known[0] if known else str(cid) if codec_of(cid) is Codec.RAW else None
        if found is None:
            raise StoreFailure("Pinata has not computed the cid yet")
        self._cids.put((network, cid), found)
        return found

    async def _is_stored(
        self, record: Record, cid: Cid, document: bytes, where: Network, deadline: float
    ) -> bool:
        """Whether Pinata stored these bytes, judging by its cid or by reading the bytes back."""
        if record.cid == cid:
            return True
        one_chunk = codec_of(cid) is Codec.RAW and len(document) <= KUBO_LAYOUT.chunk
        if one_chunk or record.cid == PENDING:
            return False
        if record.cid == await asyncio.to_thread(document_cid, document, WIDE_LAYOUT):
            return True
        return await self._api.fetch(where, record.cid, deadline) == document

    async def _find_group(self, where: Network, label: Label | None, deadline: float) -> str | None:
        """The id of the group for a label, created if needed, or None if that fails.

        Two processes may create the group at the same time. Both processes then use the older
        group, and the process that created the newer group deletes it.
        """
        if label is None:
            return None
        name = _group_name(label)
        known = self._group_ids.get((where, name))
        if known is not None:
            return known
        try:
            now = asyncio.get_running_loop().time()
            async with asyncio.timeout_at(now + (deadline - now) / GROUP_SHARE):
                groups = await self._api.find_groups(where, name, deadline)
                if not groups:
                    created = await self._api.create_group(where, name, deadline)
                    groups = await self._api.find_groups(where, name, deadline) or [created]
                    await self._delete_duplicate(where, created, groups[0], deadline)
        except (StoreFailure, TimeoutError) as failure:
            reason = str(failure) or "no response in time"
            _log.warning("Pinata has no group for a document: %s", reason)
            return None
        self._group_ids.put((where, name), groups[0].id)
        return groups[0].id

    async def _delete_duplicate(
        self, where: Network, created: Group, first: Group, deadline: float
    ) -> None:
        if created.id != first.id:
            await self._api.delete_group(where, created.id, deadline)


def _document_keys(record: Record) -> set[str]:
    """Keyvalues of all installations and networks that a file belongs to."""
    return {key for key in record.keyvalues or {} if _DOCUMENT_KEY.fullmatch(key)}


def _group_name(label: Label) -> str:
    return f"imprint {label.group_id}"


def _describe(label: Label | None) -> dict[str, str]:
    return {} if label is None else {"owner": label.owner, "status": label.status.value}


class PinataEarlierFiles:
    """`EarlierFiles` over an account's private files, which it only reads."""

    def __init__(
        self, account: Account, clock: Clock, policy: RetryPolicy = DEFAULT_POLICY
    ) -> None:
        self._client = RetryingClient("Pinata", RETRY_STATUSES, policy)
        self._api = PinataApi(self._client, account, clock)
        self._policy = policy

    async def page(self, token: str | None) -> tuple[list[EarlierFile], str | None]:
        async with self._client.operation("list", self._policy.timeout) as deadline:
            records, following = await self._api.list_page(Network.PRIVATE, token, deadline)
        if following is not None and following == token:
            raise Unavailable.storage()
        return [
            EarlierFile(each.cid, each.keyvalues or {}, _moment(each.created_at))
            for each in records
        ], following

    async def fetch(self, cid: Cid) -> bytes | None:
        async with self._client.operation("read", self._policy.chunked_timeout) as deadline:
            return await self._api.fetch(Network.PRIVATE, cid, deadline)

    async def close(self) -> None:
        await self._client.close()


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None
