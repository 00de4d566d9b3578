"""The composition root: settings in, a service out. Only here are concrete adapters known."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from starlette.types import ASGIApp

from imprint import __version__
from imprint.adapters.catalog.schema import NewerSchema
from imprint.adapters.catalog.sqlite import SqliteCatalog, open_catalog
from imprint.adapters.chain.failures import ChainMisconfigured
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.adapters.clock import SystemClock
from imprint.adapters.content.embedded import EmbeddedStore
from imprint.adapters.deliveries.provider_a import ProviderA
from imprint.adapters.deliveries.provider_b import ProviderB
from imprint.adapters.images import SandboxedRecoder
from imprint.auth.login_message import MAX_MESSAGE_BYTES
from imprint.auth.logins import LOGIN_FRESHNESS, LoginVerifier
from imprint.auth.page_tokens import PageTokens
from imprint.auth.sessions import SessionKeys, Sessions
from imprint.auth.typed_data import MAX_NONCE_LENGTH, SigningDomain, WriteVerifier
from imprint.domain.addresses import checksum_address
from imprint.domain.paging import DRAFTS_PAGE_SIZE, PUBLIC_PAGE_SIZE
from imprint.domain.rates import Pacer
from imprint.domain.refusals import Unavailable
from imprint.domain.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.flows.confirming import Confirming
from imprint.flows.drafts import Drafts
from imprint.flows.entitlement import Entitlement
from imprint.flows.keeping import Janitor
from imprint.flows.listing import Listing
from imprint.flows.login import Login
from imprint.flows.readiness import Readiness
from imprint.flows.reading import Reading
from imprint.ports import Catalog, Clock, ContentStore, DeliveryReader
from imprint.ports import ImageRecoder, MarketplaceReader
from imprint.settings import EmbeddedContent, Secret, Settings, SqliteDatabase
from imprint.web.app import Flows, WebOptions, build_app

log = logging.getLogger(__name__)


class CannotStart(Exception):
    """The service must not start; the text tells the operator why."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The adapters of one process. Tests put others in their places."""

    catalog: Catalog
    content: ContentStore
    marketplace: MarketplaceReader
    images: ImageRecoder
    readers: Mapping[str, DeliveryReader]
    clock: Clock

    async def close(self) -> None:
        """Let go of everything, the catalog last."""
        await self.images.close()
        await self.marketplace.close()
        await self.content.close()
        await self.catalog.close()


def open_parts(settings: Settings, clock: Clock | None = None) -> Parts:
    """Open what the settings name. Raises `CannotStart` for what cannot be used."""
    clock = clock or SystemClock()
    try:
        settings.storage.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        folder = settings.storage.data_dir
        raise CannotStart(f"The folder {folder} cannot be made: {error.strerror}.") from error
    content = _open_content(settings, clock)
    return Parts(
        _open_catalog(settings),
        content,
        _open_marketplace(settings, clock),
        SandboxedRecoder(),
        _delivery_readers(settings),
        clock,
    )


def build_service(settings: Settings, parts: Parts, rpc_url: str | None = None) -> ASGIApp:
    """The web application over these parts; `rpc_url` is told to clients (development only)."""
    catalog, content, clock = parts.catalog, parts.content, parts.clock
    limits = settings.limits
    keep = timedelta(seconds=settings.chain.cache_seconds)
    entitlement = Entitlement(parts.marketplace, clock, keep)
    domain = SigningDomain(settings.signing.name, settings.signing.version, settings.chain.id)
    secret, previous = settings.page_token_secrets
    tokens = PageTokens(secret.reveal_bytes(), _reveal(previous))
    flows = Flows(
        Login(
            LoginVerifier(settings.login_domains, settings.chain.id),
            _sessions(settings),
            catalog,
            clock,
            Pacer(limits.paced(limits.logins)),
        ),
        Drafts(
            WriteVerifier(domain),
            catalog,
            content,
            parts.marketplace,
            parts.images,
            clock,
            Pacer(limits.paced(limits.writes)),
            timedelta(seconds=settings.keeping.lease_seconds),
        ),
        Reading(catalog, content, entitlement),
        Listing(catalog, tokens, clock, settings.keeping.public_drafts),
        Confirming(parts.readers, catalog, clock),
        Readiness(catalog, content, parts.marketplace),
    )
    facts = describe_service(settings, rpc_url)
    return build_app(flows, facts, _web_options(settings), clock, _lifespan(settings, parts))


def describe_service(settings: Settings, rpc_url: str | None) -> dict[str, Any]:
    """What a client must know to use this service."""
    chain: dict[str, Any] = {
        "id": settings.chain.id,
        "marketplace": checksum_address(settings.chain.marketplace),
    }
    if rpc_url is not None:
        chain["rpc_url"] = rpc_url
    return {
        "name": "Imprint",
        "version": __version__,
        "signing": {
            "name": settings.signing.name,
            "version": settings.signing.version,
            "chainId": settings.chain.id,
        },
        "login": {
            "domains": list(settings.login_domains),
            "freshness_seconds": int(LOGIN_FRESHNESS.total_seconds()),
        },
        "chain": chain,
        "limits": {
            "content_bytes": settings.limits.content_bytes,
            "thumbnail_bytes": settings.limits.image_bytes,
            "thumbnail_pixels": settings.limits.image_pixels,
            "hashtags": MAX_TAGS,
            "hashtag_length": MAX_TAG_LENGTH,
            "nonce_length": MAX_NONCE_LENGTH,
            "login_message_bytes": MAX_MESSAGE_BYTES,
        },
        "page_sizes": {
            "filesByTags": PUBLIC_PAGE_SIZE,
            "filesMetaData": PUBLIC_PAGE_SIZE,
            "filesByNextPageToken": PUBLIC_PAGE_SIZE,
            "pendingFilesByOwner": DRAFTS_PAGE_SIZE,
        },
    }


async def check_chain(marketplace: MarketplaceReader) -> None:
    """Raise `CannotStart` if the node is for another chain or the contract is not there.

    A node that does not answer is no reason to stay down: most of the service works without.
    """
    try:
        await marketplace.probe()
    except ChainMisconfigured as error:
        raise CannotStart(error.sentence) from error
    except Unavailable:
        log.warning("No node answers; posts cannot be read until one does.")


def _open_catalog(settings: Settings) -> SqliteCatalog:
    database = settings.storage.database
    if not isinstance(database, SqliteDatabase):
        raise CannotStart("IMPRINT_DATABASE_URL: this version keeps records in SQLite only.")
    try:
        database.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open_catalog(database.path)
    except NewerSchema as error:
        raise CannotStart(str(error)) from error
    except (Unavailable, OSError) as error:
        raise CannotStart(f"The database {database.path} cannot be opened.") from error


def _open_content(settings: Settings, clock: Clock) -> EmbeddedStore:
    if not isinstance(settings.storage.content, EmbeddedContent):
        raise CannotStart("IMPRINT_CONTENT_STORE: this version keeps documents embedded only.")
    try:
        return EmbeddedStore(settings.storage.data_dir / "content", clock)
    except ValueError as error:
        raise CannotStart(str(error)) from error


def _open_marketplace(settings: Settings, clock: Clock) -> JsonRpcMarketplace:
    chain = settings.chain
    return JsonRpcMarketplace(
        JsonRpc([url.reveal() for url in chain.rpc_urls]),
        chain.id,
        chain.marketplace,
        clock,
        timeout=chain.timeout,
        max_head_age=chain.max_head_age,
    )


def _delivery_readers(settings: Settings) -> dict[str, DeliveryReader]:
    hooks, chain = settings.webhooks, settings.chain
    readers: dict[str, DeliveryReader] = {}
    if secrets := _present(hooks.a_secret, hooks.a_secret_previous):
        readers["provider-a"] = ProviderA(secrets, chain.id, chain.marketplace)
    if secrets := _present(hooks.b_secret, hooks.b_secret_previous):
        readers["provider-b"] = ProviderB(secrets, chain.id, chain.marketplace)
    return readers


def _present(*secrets: Secret | None) -> list[str]:
    return [secret.reveal() for secret in secrets if secret is not None]


def _reveal(secret: Secret | None) -> bytes | None:
    return None if secret is None else secret.reveal_bytes()


def _sessions(settings: Settings) -> Sessions:
    given, origin = settings.sessions, settings.server.public_url
    keys = SessionKeys(given.jwt_secret.reveal_bytes(), _reveal(given.jwt_secret_previous))
    return Sessions(keys, origin, origin)


def _web_options(settings: Settings) -> WebOptions:
    limits = settings.limits
    return WebOptions(
        limits.content_bytes,
        limits.image_bytes,
        limits.body_seconds,
        limits.concurrent,
        Pacer(limits.paced(limits.reads)),
        Pacer(limits.paced(limits.signed)),
        settings.server.cors_origins,
        frozenset(settings.server.trusted_proxies),
    )


def _lifespan(settings: Settings, parts: Parts) -> Any:
    keeping = settings.keeping
    grace = timedelta(hours=keeping.grace_hours)
    janitor = Janitor(parts.catalog, parts.content, parts.clock, grace)

    @asynccontextmanager
    async def lifespan(app: ASGIApp) -> AsyncIterator[None]:
        tasks = []
        if keeping.janitor_seconds:
            tasks.append(asyncio.create_task(janitor.run(keeping.janitor_seconds)))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await parts.close()

    return lifespan
