"""Content store in an object-store bucket: S3 and compatible services, Google, Azure.

    <prefix>/private/installation       the marker: the id of the installation
    <prefix>/private/<cid>/<fence>      a private document stored with this fence
    <prefix>/public/<cid>/<fence>       a public one

A prefix belongs to one installation. The fence is part of the name because no object store can
compare and delete in one step: see docs/decisions/object-store.md. Private and public objects
differ in their first path segment, so that a bucket policy can treat them differently.
"""

import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, ObjectStore, S3Store

from imprint import failpoints
from imprint.adapters.content.bucket_client import AlreadyThere, BucketClient, StoredObject
from imprint.adapters.content.embedded import verify_received
from imprint.adapters.content.http_retry import DEFAULT_POLICY, RetryPolicy, StoreFailure
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import Label, Network
from imprint.domain.errors import Damaged, StoreMisconfigured, Unavailable
from imprint.domain.formats.cids import Cid, Codec, NotACid, codec_of, parse_cid
from imprint.domain.installation import UNNAMED, Identity

MARKER = f"{Network.PRIVATE}/installation"
"""Name of the marker object, which is stored among private documents so that it is not public."""

PROBE = f"{Network.PRIVATE}/probe"
"""Object that a probe writes and deletes, unless a recent write has succeeded."""

MAX_REMEMBERED = 50_000
"""Number of documents whose fence is cached, so that reading one takes a single request."""

TIDY_SECONDS = 1.0
"""Seconds that a write waits for the deletion of copies with lower fences."""

READ_ROUNDS = 3
"""Number of attempts to list a document's copies, which another process may be replacing."""

_log = logging.getLogger(__name__)


class BucketStore:
    """`ContentStore` and `Inventory` under one prefix of a bucket.

    `strangers` tries to read the same objects without credentials, to verify that it cannot. This
    check is skipped if `strangers` is None or documents are encrypted.
    """

    shows_labels = False

    def __init__(
        self,
        client: BucketClient,
        strangers: BucketClient | None = None,
        policy: RetryPolicy = DEFAULT_POLICY,
        identity: Identity = UNNAMED,
    ) -> None:
        self._client = client
        self._strangers = strangers
        self._policy = policy
        self._identity = identity
        self._marked = not identity.id
        self._probed = False
        self._fences: BoundedCache[tuple[Network, Cid], int] = BoundedCache(MAX_REMEMBERED)

    async def put(
        self,
        cid: Cid,
        document: bytes,
        network: Network,
        label: Label | None = None,
        fence: int = 0,
    ) -> None:
        """Store a document under a name that contains its fence.

        Copies with other fences are kept. Only for a public document are copies with lower fences
        deleted, because it may be stored many times.
        """
        await verify_received(cid, document, network)
        size = len(document)
        try:
            async with self._client.operation("store", self._policy.timeout, size) as deadline:
                await self._expect_marker(deadline)
                failpoints.reach("during_put")
                await self._client.put(_key(network, cid, fence), document, deadline)
                failpoints.reach("unsynced_put")
        except Unavailable:
            # The bucket may be full, or a permission may be missing. The next probe tries to write.
            self._probed = False
            raise
        self._remember(network, cid, max(fence, self._fences.get((network, cid), 0)))
        if fence and network is Network.PUBLIC:
            # If this fails, the copies that are left are removed with the document.
            with suppress(Unavailable):
                async with self._client.operation("tidy up", TIDY_SECONDS) as deadline:
                    await self._delete_below(cid, network, fence, deadline)

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Do nothing: this store has no console that shows labels."""

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """Return a document's verified bytes, or None if there is no copy.

        A damaged copy is skipped if there is a good one.
        """
        timeout = self._policy.timeout
        if codec_of(cid) is Codec.DAG_PB:
            timeout = self._policy.chunked_timeout
        async with self._client.operation("read", timeout) as deadline:
            document, damage = await self._read_known(cid, network, deadline)
            for _ in range(READ_ROUNDS):
                if document is not None:
                    return document
                fences = await self._list_fences(cid, network, deadline)
                for fence in fences:
                    try:
                        document = await self._load(cid, network, fence, deadline)
                    except Damaged as error:
                        damage = error
                        continue
                    if document is not None:
                        self._remember(network, cid, fence)
                        return document
                if damage is not None:
                    raise damage
                if not fences:
                    return None
            raise StoreFailure("the copies of a document are replaced faster than they can be read")

    async def remove(self, cid: Cid, network: Network, fence: int | None = None) -> None:
        """Delete a document's copies. With a fence, delete only copies with lower fences.

        A copy stored in the meantime has its own name, so the comparison cannot be stale.
        """
        async with self._client.operation("destroy", self._policy.removal_timeout) as deadline:
            await self._delete_below(cid, network, fence, deadline)

    async def list_documents(
        self, network: Network, before: datetime | None = None
    ) -> AsyncIterator[Cid]:
        """Yield the cids of all documents, or of those stored before a time on the store's clock.

        Documents stored or deleted during the listing may or may not be included.
        """
        last: Cid | None = None
        async for key, stored_at in self._client.list_all(network.value):
            if before is not None and stored_at >= before.timestamp():
                continue
            found = _parse_key(key)
            # The copies of a document are adjacent.
            if found is not None and found[0] != last:
                last = found[0]
                yield last

    async def claimed_by(self, installation: str) -> str | None:
        """The installation id in the marker, or None.

        Raises `StoreMisconfigured` if wrong settings prevent the use of the bucket, or if the first
        check finds that the bucket is publicly readable.
        """
        async with self._client.operation("respond", self._policy.timeout) as deadline:
            holder, _ = await self._read_marker(deadline)
        if self._identity.id:
            self._marked = holder == self._identity.id
        if holder is not None:
            await self._look_as_stranger()
        return holder

    async def claim(self, installation: str, instead_of: str | None = None) -> str:
        """Write the marker unless another installation has written one, and return the id in it."""
        async with self._client.operation("mark", self._policy.timeout) as deadline:
            holder, known = await self._read_marker(deadline)
            with suppress(AlreadyThere):
                marker = f"{installation}\n".encode()
                if holder is None or holder == instead_of != installation:
                    await self._client.put_unless_changed(MARKER, marker, known, deadline)
            holder, _ = await self._read_marker(deadline)
        if self._identity.id:
            self._marked = holder == self._identity.id
        await self._look_as_stranger()
        return holder or ""

    async def probe(self) -> None:
        """Check that documents can be read and stored.

        The check stores a document only once per process, and again after a failed write.
        """
        async with self._client.operation("respond", self._policy.timeout) as deadline:
            if not self._probed:
                await self._client.put(PROBE, b"probe", deadline)
                await self._client.delete(PROBE, deadline)
                self._probed = True
            await self._client.get(MARKER, deadline)

    async def probe_reads(self) -> None:
        """Check that documents can be read."""
        async with self._client.operation("respond", self._policy.timeout) as deadline:
            await self._client.get(MARKER, deadline)

    async def close(self) -> None:
        """Refuse all further operations on the store."""
        self._client.close()

    async def _delete_below(
        self, cid: Cid, network: Network, fence: int | None, deadline: float
    ) -> None:
        for stored in await self._list_fences(cid, network, deadline):
            if fence is None or stored < fence:
                await self._client.delete(_key(network, cid, stored), deadline)
                if self._fences.get((network, cid)) == stored:
                    self._fences.pop((network, cid))

    async def _expect_marker(self, deadline: float) -> None:
        """Check for our marker, unless it was found before, so that nothing is stored among other
        installations' documents."""
        if not self._marked:
            holder, _ = await self._read_marker(deadline)
            if holder != self._identity.id:
                raise StoreFailure("the bucket has no marker of this installation")
            self._marked = True

    async def _read_marker(self, deadline: float) -> tuple[str | None, StoredObject | None]:
        """The id in the marker, and the marker object. Both are None if there is no marker."""
        found = await self._client.get(MARKER, deadline)
        if found is None:
            return None, None
        return found.data[:100].decode("ascii", "replace").strip(), found

    async def _look_as_stranger(self) -> None:
        """Raise `StoreMisconfigured` if anybody can read private documents. Checked only once."""
        if self._strangers is None:
            return
        strangers, found = self._strangers, None
        try:
            async with strangers.operation("refuse strangers", self._policy.timeout) as deadline:
                with suppress(StoreMisconfigured):
                    found = await strangers.get(MARKER, deadline)
        except Unavailable:
            # Not known yet. The next check of the marker tries again.
            return
        if found is not None:
            raise StoreMisconfigured(
                "Anybody can read the private documents in the bucket. Remove public access, or "
                "have documents encrypted with IMPRINT_ENCRYPTION=on. If this is what you want, "
                "set IMPRINT_ALLOW_READABLE_DOCUMENTS=on."
            )
        self._strangers = None

    async def _read_known(
        self, cid: Cid, network: Network, deadline: float
    ) -> tuple[bytes | None, Damaged | None]:
        """Return the copy with the cached fence, or else with fence 0 if the document is private.

        If the copy is damaged, the second value is the error.
        """
        known = self._fences.get((network, cid))
        if known is None and network is Network.PUBLIC:
            return None, None
        try:
            return await self._load(cid, network, known or 0, deadline), None
        except Damaged as error:
            return None, error

    async def _load(self, cid: Cid, network: Network, fence: int, deadline: float) -> bytes | None:
        found = await self._client.get(_key(network, cid, fence), deadline)
        return None if found is None else await verify_received(cid, found.data, network)

    async def _list_fences(self, cid: Cid, network: Network, deadline: float) -> list[int]:
        """The fences of a document's copies, highest first."""
        keys = await self._client.list_below(f"{network}/{cid}", deadline)
        found = [_parse_key(key) for key in keys]
        return sorted((each[1] for each in found if each is not None), reverse=True)

    def _remember(self, network: Network, cid: Cid, fence: int) -> None:
        if fence == 0 and network is Network.PRIVATE:
            # Need not be cached: without a cached fence, reads of private documents try fence 0.
            self._fences.pop((network, cid))
            return
        self._fences.put((network, cid), fence)


def _key(network: Network, cid: Cid, fence: int) -> str:
    return f"{network}/{cid}/{fence}"


def _parse_key(key: str) -> tuple[Cid, int] | None:
    """The cid and fence of a copy, or None if the object is not a copy."""
    parts = key.split("/")
    if len(parts) != 3 or not parts[2].isdecimal():
        return None
    try:
        cid = parse_cid(parts[1])
    except NotACid:
        return None
    return (cid, int(parts[2])) if cid == parts[1] else None


LONGEST_REQUEST = timedelta(minutes=5)
"""Request timeout of the object-store library. Operations have shorter deadlines."""

_PLATFORM = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)
"""Environment variables with S3 credentials, used instead of the machine's metadata service."""


@dataclass(frozen=True, slots=True)
class BucketAccess:
    """A bucket's location and credentials. Values that are None come from the platform.

    `scheme` is s3, gs or az. For S3, `key_id` and `secret` are the two halves of an access key; for
    Azure, the account and its key. Google uses only `secret`, the JSON of a service-account key.
    """

    scheme: str
    bucket: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None
    key_id: str | None = None
    secret: str | None = field(default=None, repr=False)
    anonymous: bool = False


def open_bucket(
    access: BucketAccess,
    identity: Identity = UNNAMED,
    *,
    strangers_may_read: bool = False,
    policy: RetryPolicy = DEFAULT_POLICY,
    environ: Mapping[str, str] = os.environ,
) -> BucketStore:
    """Create the content store for the bucket, without sending a request.

    Raises `ValueError` for unusable credentials, without showing them.
    """
    name = f"{access.scheme}://{access.bucket}"
    hint = ""
    if access.scheme == "s3" and access.key_id is None and not any(map(environ.get, _PLATFORM)):
        hint = (
            ", perhaps from this machine's metadata service, because no other credentials are set"
        )
    client = BucketClient(name, open_objects(access, policy), policy, hint)
    strangers = None
    if not strangers_may_read:
        anonymous = replace(access, anonymous=True)
        strangers = BucketClient(name, open_objects(anonymous, policy), policy)
    return BucketStore(client, strangers, policy, identity)


def open_objects(access: BucketAccess, policy: RetryPolicy = DEFAULT_POLICY) -> ObjectStore:
    """Open the objects under the prefix. Raises `ValueError`."""
    client = {
        # If an unencrypted endpoint is not allowed, the settings have already been refused.
        "allow_http": (access.endpoint or "").startswith("http://"),
        "connect_timeout": timedelta(seconds=policy.connect_timeout),
        "timeout": LONGEST_REQUEST,
        "user_agent": "imprint",
    }
    retry = {
        "max_retries": policy.attempts - 1,
        "backoff": {
            "init_backoff": timedelta(seconds=policy.pause),
            "max_backoff": timedelta(seconds=1),
            "base": 2,
        },
        "retry_timeout": timedelta(seconds=policy.timeout),
    }
    options: dict[str, Any] = {
        "prefix": access.prefix or None,
        "client_options": client,
        "retry_config": retry,
    }
    if access.anonymous:
        options["skip_signature"] = True
    try:
        return _STORES[access.scheme](access, options)
    except (BaseError, ValueError, TypeError):
        also = ", or IMPRINT_AZ_ACCOUNT is missing" if access.scheme == "az" else ""
        # The library's message may contain the key.
        raise ValueError(
            f"The bucket {access.scheme}://{access.bucket} cannot be opened: its credentials are"
            f" malformed{also}."
        ) from None


def _open_s3(access: BucketAccess, options: dict[str, Any]) -> ObjectStore:
    given = {
        "endpoint": access.endpoint,
        "region": access.region,
        "access_key_id": access.key_id,
        "secret_access_key": access.secret,
    }
    options |= {name: value for name, value in given.items() if value is not None}
    # Not every S3-compatible store supports bulk deletion.
    return S3Store(access.bucket, disable_bulk_delete=True, **options)


def _open_google(access: BucketAccess, options: dict[str, Any]) -> ObjectStore:
    if access.secret is not None and not access.anonymous:
        options["service_account_key"] = access.secret
    if access.endpoint is not None:
        options["base_url"] = access.endpoint
    return GCSStore(access.bucket, **options)


def _open_azure(access: BucketAccess, options: dict[str, Any]) -> ObjectStore:
    given = {
        "endpoint": access.endpoint,
        "account_name": access.key_id,
        "account_key": None if access.anonymous else access.secret,
    }
    options |= {name: value for name, value in given.items() if value is not None}
    return AzureStore(access.bucket, **options)


_STORES = {"s3": _open_s3, "gs": _open_google, "az": _open_azure}
