"""The content store that the settings name; what only another one needs is not loaded."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from imprint.adapters.catalog.schema import NewerSchema
from imprint.adapters.catalog.sqlite import open_catalog
from imprint.adapters.catalog.stepped import CatalogBase
from imprint.adapters.chain.chain_reader import JsonRpcChainReader
from imprint.adapters.chain.http_client import ChainMisconfigured
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.adapters.content.embedded import EmbeddedStore
from imprint.adapters.encryption import AesCipher, PlainCipher
from imprint.adapters.images.recoder import SandboxedRecoder
from imprint.adapters.webhooks.provider_a import ProviderA
from imprint.adapters.webhooks.provider_b import ProviderB
from imprint.domain.errors import CannotStart, Unavailable
from imprint.ports import (
    Catalog,
    ChainReader,
    Clock,
    ContentStore,
    ImageRecoder,
    MarketplaceReader,
    WebhookProvider,
    utc_now,
)
from imprint.ports.content import DocumentCipher, Inventory
from imprint.settings import (
    KuboContent,
    PinataContent,
    PostgresqlDatabase,
    Secret,
    Settings,
    SqliteDatabase,
    authorization_header,
    decode_key,
)

_KUBO = "imprint.adapters.content.kubo"
_PINATA = "imprint.adapters.content.pinata"
_PINATA_API = "imprint.adapters.content.pinata_api"


def open_content(settings: Settings, clock: Clock) -> ContentStore:
    """The store, not asked yet whether it is there. Raises `CannotStart` for an unusable folder."""
    storage = settings.storage
    if isinstance(storage.content, KuboContent):
        secret = storage.kubo_authorization
        authorization = None if secret is None else authorization_header(secret)
        kubo: ContentStore = import_module(_KUBO).KuboStore(storage.content.api, authorization)
        return kubo
    if isinstance(storage.content, PinataContent):
        # Both are there: settings without them have been refused.
        jwt = storage.pinata_jwt.reveal() if storage.pinata_jwt is not None else ""
        gateway = storage.pinata_gateway or ""
        account = import_module(_PINATA_API).Account(
            jwt, gateway, storage.pinata_api, storage.pinata_uploads
        )
        make_store = import_module(_PINATA).PinataStore
        pinata: ContentStore = make_store(account, clock, public=storage.content.public)
        return pinata
    try:
        return EmbeddedStore(storage.data_dir / "content", clock)
    except ValueError as error:
        raise CannotStart(str(error)) from error


_POSTGRESQL = "imprint.adapters.catalog.postgresql"
_MOVING = "imprint.adapters.catalog.postgresql_migration"


def open_database(database: SqliteDatabase | PostgresqlDatabase, connections: int) -> CatalogBase:
    """Open the catalog there, its schema brought up to date. Raises `CannotStart`."""
    try:
        if isinstance(database, PostgresqlDatabase):
            return _open_postgresql(database, connections)
        database.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open_catalog(database.path)
    except NewerSchema as error:
        raise CannotStart(str(error)) from error
    except (Unavailable, OSError, ValueError) as error:
        raise CannotStart(f"The database {_describe(database)} cannot be opened.") from error


def _open_postgresql(database: PostgresqlDatabase, connections: int) -> CatalogBase:
    adapter = _load(_POSTGRESQL)
    try:
        catalog: CatalogBase = adapter.open_catalog(database.url.reveal(), connections)
    except adapter.Unfinished as error:
        raise CannotStart(str(error)) from error
    return catalog


def _load(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise CannotStart(
            "PostgreSQL needs a library that is not installed: pip install 'imprint[postgresql]'."
        ) from error


def _describe(database: SqliteDatabase | PostgresqlDatabase) -> str:
    # The address of a server carries a password.
    return str(database.path) if isinstance(database, SqliteDatabase) else "on PostgreSQL"


async def move_database(
    source: SqliteDatabase, target: PostgresqlDatabase, tell: Callable[[int, int], None]
) -> int:
    """Move a catalog to an empty database; how many rows it has. Raises `CannotStart`."""
    moving = _load(_MOVING)
    try:
        moved: int = await moving.move_catalog(source.path, target.url.reveal(), tell)
    except (moving.CannotMove, NewerSchema) as error:
        raise CannotStart(str(error)) from error
    except moving.TROUBLE as error:
        raise CannotStart(
            f"The move stopped ({type(error).__name__}); run it again to go on."
        ) from error
    return moved


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Adapters:
    """The adapters of one process. Tests put others in their places."""

    catalog: Catalog
    content: ContentStore
    cipher: DocumentCipher
    marketplace: MarketplaceReader
    chain: ChainReader
    images: ImageRecoder
    webhook_providers: Mapping[str, WebhookProvider]
    clock: Clock
    inventory: Inventory | None = None

    async def close(self) -> None:
        """Let go of everything, the catalog last."""
        await self.images.close()
        await self.marketplace.close()
        await self.content.close()
        await self.catalog.close()


def open_adapters(settings: Settings, clock: Clock | None = None) -> Adapters:
    """Open what the settings name. Raises `CannotStart` for what cannot be used."""
    clock = clock or utc_now
    try:
        settings.storage.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        folder = settings.storage.data_dir
        raise CannotStart(f"The folder {folder} cannot be made: {error.strerror}.") from error
    cipher = make_cipher(settings)
    content = open_content(settings, clock)
    chain = settings.chain
    rpc = JsonRpc([url.reveal() for url in chain.rpc_urls])
    return Adapters(
        open_database(settings.storage.database, settings.storage.connections),
        content,
        cipher,
        JsonRpcMarketplace(
            rpc,
            chain.id,
            chain.marketplace,
            clock,
            timeout=chain.timeout,
            max_head_age=chain.max_head_age,
        ),
        JsonRpcChainReader(rpc, chain.id, chain.marketplace),
        SandboxedRecoder(),
        _delivery_readers(settings),
        clock,
        content if isinstance(content, EmbeddedStore) else None,
    )


async def examine_chain(marketplace: MarketplaceReader) -> None:
    """Raise `CannotStart` if the node is for another chain or the contract is not there.

    Raises `Unavailable` if no node answers.
    """
    try:
        await marketplace.probe()
    except ChainMisconfigured as error:
        raise CannotStart(error.sentence) from error


async def check_chain(marketplace: MarketplaceReader) -> None:
    """Raise `CannotStart` as `examine_chain` does; that no node answers is only logged.

    It is no reason to stay down: most of the service works without.
    """
    try:
        await examine_chain(marketplace)
    except Unavailable:
        log.warning("No node answers; posts cannot be read until one does.")


def make_cipher(settings: Settings) -> DocumentCipher:
    """How documents are stored; with keys, also what was encrypted before stays readable."""
    given = settings.encryption
    if given.key is None:
        return PlainCipher()
    previous = None if given.key_previous is None else decode_key(given.key_previous)
    try:
        cipher = AesCipher(decode_key(given.key), previous)
    except ValueError as error:
        raise CannotStart(f"IMPRINT_ENCRYPTION_KEY: {error}") from error
    return cipher if given.encrypts(settings.storage.content) else PlainCipher(cipher)


def _delivery_readers(settings: Settings) -> dict[str, WebhookProvider]:
    hooks, chain = settings.webhooks, settings.chain
    readers: dict[str, WebhookProvider] = {}
    if secrets := _present(hooks.a_secret, hooks.a_secret_previous):
        readers["provider-a"] = ProviderA(secrets, chain.id, chain.marketplace)
    if secrets := _present(hooks.b_secret, hooks.b_secret_previous):
        readers["provider-b"] = ProviderB(secrets, chain.id, chain.marketplace)
    return readers


def _present(*secrets: Secret | None) -> list[str]:
    return [secret.reveal() for secret in secrets if secret is not None]
