"""Opens the adapters that the settings name.

Optional adapters are imported by the function that opens them: importing aiohttp and asyncpg would
slow down every start.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from imprint.adapters.chain.block_calls import BlockCalls
from imprint.adapters.chain.chain_reader import JsonRpcChainReader
from imprint.adapters.chain.contract_wallets import JsonRpcContractWallets
from imprint.adapters.chain.json_rpc import MAX_HEAD_AGES, ChainMisconfigured, JsonRpc
from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.adapters.content.embedded import EmbeddedStore
from imprint.adapters.database.database import Database
from imprint.adapters.database.schema import NewerSchema
from imprint.adapters.database.sqlite.database import open_sqlite
from imprint.adapters.database.sqlite.log import DamagedLog
from imprint.adapters.database.sqlite.use_lock import BeingMoved
from imprint.adapters.disk_space import LocalDiskSpace, open_with_reserve
from imprint.adapters.encryption import AesCipher, PlainCipher
from imprint.adapters.images.sandbox import SandboxedRecoder
from imprint.adapters.outages import failure_reason, may_pass, remedy
from imprint.adapters.webhooks.networks import network_names
from imprint.adapters.webhooks.provider_a import ProviderA
from imprint.adapters.webhooks.provider_b import ProviderB
from imprint.bootstrap.stores import Stores, open_stores
from imprint.domain.errors import CannotStart, NotReachable, Unavailable
from imprint.domain.installation import Identity
from imprint.ports import (
    ChainReader,
    Clock,
    ContentStore,
    ImageRecoder,
    MarketplaceReader,
    Monotonic,
    Progress,
    WebhookProvider,
    monotonic,
    utc_now,
)
from imprint.ports.content import DocumentCipher, Inventory
from imprint.ports.contract_wallets import ContractWallets
from imprint.ports.post_index import Hub
from imprint.services.content.store_claim import InstallationClaim
from imprint.settings import (
    BucketContent,
    EmbeddedContent,
    KuboContent,
    PinataContent,
    PostgresqlDatabase,
    Secret,
    Settings,
    SqliteDatabase,
    authorization_header,
    decode_key,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Adapters:
    """The adapters of one process; tests replace some of them.

    `inventory` is the content store, if it holds only documents of this service.
    """

    stores: Stores
    content: ContentStore
    cipher: DocumentCipher
    marketplace: MarketplaceReader
    chain: ChainReader
    images: ImageRecoder
    wallets: ContractWallets | None
    webhook_providers: Mapping[str, WebhookProvider]
    clock: Clock
    disk: LocalDiskSpace
    inventory: Inventory | None = None
    monotonic: Monotonic = monotonic
    hub: Hub | None = None

    @property
    def claim(self) -> InstallationClaim:
        """The claim of the installation on the content store."""
        stores = self.stores
        return InstallationClaim(stores.installation, stores.archives, self.content, self.inventory)

    async def close(self) -> None:
        """Close every adapter, the database last."""
        await self.images.close()
        await self.marketplace.close()
        await self.content.close()
        await self.stores.close()


@dataclass(slots=True)
class OpenDatabase:
    """The database that a failed attempt to open all adapters left open, for the next attempt."""

    database: Database | None = None


def open_adapters(
    settings: Settings,
    clock: Clock = utc_now,
    seconds: Monotonic | None = None,
    left: OpenDatabase | None = None,
) -> Adapters:
    """Open the adapters that the settings name.

    With `seconds`, leases also use this clock instead of that of the machine or the server.

    Raises `CannotStart`, and `NotReachable` if it may work later. Callers that retry pass `left`
    each time, so that failed attempts leave at most one database open.
    """
    storage = settings.storage
    left = left or OpenDatabase()
    make_data_folder(settings)
    cipher = make_cipher(settings)
    # The database first: documents in a shared store are named after its installation.
    left.database = database = left.database or open_database(
        storage.database, storage.connections, seconds
    )
    content = open_content(settings, clock, database.identity)
    left.database = None
    marketplace, reader, wallets = open_nodes(settings, clock)
    return Adapters(
        stores=open_stores(database),
        content=content,
        cipher=cipher,
        marketplace=marketplace,
        chain=reader,
        images=SandboxedRecoder(),
        wallets=wallets if settings.signing.contract_wallets else None,
        webhook_providers=_webhook_providers(settings),
        clock=clock,
        disk=open_disk(settings),
        inventory=inventory_of(content),
        monotonic=seconds or monotonic,
        hub=_open_hub(settings.server.websub_hub),
    )


def _open_hub(address: str | None) -> Hub | None:
    if address is None:
        return None
    from imprint.adapters.websub import HttpHub

    return HttpHub(address)


def open_nodes(
    settings: Settings, clock: Clock
) -> tuple[JsonRpcMarketplace, JsonRpcChainReader, JsonRpcContractWallets]:
    """The marketplace, the chain and its wallets, over the same nodes; no requests are made yet."""
    chain = settings.chain
    rpc = JsonRpc([url.reveal() for url in chain.rpc_urls])
    calls = BlockCalls(rpc, chain.id, clock, max_head_age(settings))
    return (
        JsonRpcMarketplace(calls, chain.marketplace, timeout=chain.timeout, quorum=chain.quorum),
        JsonRpcChainReader(rpc, chain.id, chain.marketplace),
        JsonRpcContractWallets(calls, quorum=chain.quorum),
    )


def open_disk(settings: Settings) -> LocalDiskSpace:
    """The disks of this machine that documents and records are written to."""
    return LocalDiskSpace(_folders(settings), settings.limits.min_free_disk)


def make_data_folder(settings: Settings) -> None:
    """Create the data folder, unless records and documents are elsewhere. Raises `CannotStart`."""
    if not any(_folders(settings)):
        return
    folder = settings.storage.data_dir
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        text = f"The folder {folder} cannot be created: {error.strerror}."
        raise _cannot_start(text, error, Unavailable.storage()) from error


def inventory_of(content: ContentStore) -> Inventory | None:
    """The store, if it can be listed: then it holds documents of one installation only."""
    return content if isinstance(content, Inventory) else None


def claim_on(stores: Stores, content: ContentStore) -> InstallationClaim:
    """The claim of an installation on a content store other than that of the settings."""
    return InstallationClaim(stores.installation, stores.archives, content, inventory_of(content))


def _folders(settings: Settings) -> Iterator[Path]:
    """The folders on this machine that documents and records are written to."""
    storage = settings.storage
    if isinstance(storage.content, EmbeddedContent):
        yield storage.data_dir / "content"
    if isinstance(storage.database, SqliteDatabase):
        yield storage.database.path.parent


def max_head_age(settings: Settings) -> float:
    """Seconds after which a node's newest block is too old to be trusted; 0 without a limit."""
    chain = settings.chain
    return MAX_HEAD_AGES.get(chain.id, 0.0) if chain.max_head_age is None else chain.max_head_age


def open_content(settings: Settings, clock: Clock, identity: Identity) -> ContentStore:
    """Open the content store for an installation, without probing it.

    Raises `CannotStart` for an unusable folder, and `NotReachable` if it may be usable later.
    """
    store = settings.storage.content
    if isinstance(store, KuboContent):
        return _open_kubo(settings, store, identity)
    if isinstance(store, PinataContent):
        return _open_pinata(settings, store, clock, identity)
    if isinstance(store, BucketContent):
        return _open_bucket(settings, store, identity)
    folder = settings.storage.data_dir / "content"
    try:
        return open_with_reserve(folder, lambda: EmbeddedStore(folder, clock))
    except DamagedLog as error:
        raise CannotStart(str(error)) from error
    except ValueError as error:
        raise _cannot_start(str(error), error.__cause__, Unavailable.storage()) from error
    except OSError as error:
        text = f"The folder {folder} for documents cannot be used: {error.strerror}."
        raise _cannot_start(text, error, Unavailable.storage()) from error


def _cannot_start(
    text: str, cause: BaseException | None, problem: Unavailable, help_text: str = ""
) -> CannotStart:
    if may_pass(cause):
        return NotReachable(text, problem, help_text)
    return CannotStart(text, help_text)


def _open_kubo(settings: Settings, store: KuboContent, identity: Identity) -> ContentStore:
    from imprint.adapters.content.kubo import KuboStore

    secret = settings.storage.kubo_authorization
    authorization = None if secret is None else authorization_header(secret)
    return KuboStore(store.api, authorization, identity=identity)


def _open_pinata(
    settings: Settings, store: PinataContent, clock: Clock, identity: Identity
) -> ContentStore:
    from imprint.adapters.content.pinata import PinataStore
    from imprint.adapters.content.pinata_api import Account

    storage = settings.storage
    # Settings without the JWT or the gateway have been refused.
    jwt = storage.pinata_jwt.reveal() if storage.pinata_jwt is not None else ""
    account = Account(jwt, storage.pinata_gateway or "", storage.pinata_api, storage.pinata_uploads)
    return PinataStore(account, clock, public=store.public, identity=identity)


def _open_bucket(settings: Settings, store: BucketContent, identity: Identity) -> ContentStore:
    try:
        from imprint.adapters.content.bucket_access import BucketAccess, open_bucket
    except ModuleNotFoundError as error:
        raise CannotStart.missing_extra("A bucket", "s3") from error
    storage, encryption = settings.storage, settings.encryption
    key_id, secret = {
        "s3": (storage.s3_access_key_id, storage.s3_secret_access_key),
        "gs": (None, storage.gs_service_account_key),
        "az": (storage.az_account, storage.az_access_key),
    }[store.scheme]
    is_amazon = store.scheme == "s3"
    access = BucketAccess(
        store.scheme,
        store.bucket,
        store.prefix,
        storage.s3_endpoint if is_amazon else None,
        storage.s3_region if is_amazon else None,
        key_id.reveal() if isinstance(key_id, Secret) else key_id,
        None if secret is None else secret.reveal(),
    )
    may_read = encryption.encrypts(store) or encryption.allow_readable
    try:
        return open_bucket(access, identity, strangers_may_read=may_read)
    except ValueError as error:
        raise CannotStart(str(error)) from error


def open_database(
    database: SqliteDatabase | PostgresqlDatabase,
    connections: int,
    seconds: Monotonic | None = None,
) -> Database:
    """Open the database and migrate its schema.

    Leases use the clock of the machine or of the server, or `seconds` if it is given. Raises
    `CannotStart`, and `NotReachable` if the database may open later.
    """
    try:
        if isinstance(database, PostgresqlDatabase):
            return _open_postgresql(database, connections, seconds)
        database.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = database.path
        return open_with_reserve(path.parent, lambda: open_sqlite(path, seconds or monotonic))
    except (NewerSchema, DamagedLog, BeingMoved) as error:
        raise CannotStart(str(error)) from error
    except (Unavailable, OSError, ValueError) as error:
        # The URL of a server contains a password.
        place = str(database.path) if isinstance(database, SqliteDatabase) else "on PostgreSQL"
        cause = error.__cause__ if isinstance(error, Unavailable) else error
        reason = failure_reason(cause)
        if isinstance(database, PostgresqlDatabase):
            reason += f" ({describe_database(database)})"
        text = f"The database {place} cannot be opened: {reason}."
        help_text = remedy(cause).strip()
        raise _cannot_start(text, cause, Unavailable.database(), help_text) from error


def describe_database(database: SqliteDatabase | PostgresqlDatabase) -> str:
    """Where records are stored, without user and password."""
    if isinstance(database, SqliteDatabase):
        return f"sqlite:///{database.path}"
    parts = urlsplit(database.url.reveal())
    # A list of hosts has several ports, which `parts.port` refuses.
    host = parts.netloc.rpartition("@")[2] or parse_qs(parts.query).get("host", [""])[0]
    return f"postgresql://{host}{parts.path}"


def _open_postgresql(
    database: PostgresqlDatabase, connections: int, seconds: Monotonic | None
) -> Database:
    with _postgresql_library():
        from imprint.adapters.database.postgresql.database import open_postgresql
        from imprint.adapters.database.postgresql.schema import Unfinished, UnsuitableServer
    try:
        return open_postgresql(database.url.reveal(), connections, seconds)
    except (Unfinished, UnsuitableServer) as error:
        raise CannotStart(str(error)) from error


async def migrate_database(
    source: SqliteDatabase, target: PostgresqlDatabase, progress: Progress
) -> int:
    """Move a catalog to an empty database; returns the number of rows. Raises `CannotStart`."""
    with _postgresql_library():
        from imprint.adapters.database.postgresql.move import (
            INTERRUPTIONS,
            CannotMove,
            move_catalog,
        )
        from imprint.adapters.database.postgresql.schema import UnsuitableServer
    try:
        return await move_catalog(source.path, target.url.reveal(), progress)
    except (CannotMove, NewerSchema, UnsuitableServer) as error:
        raise CannotStart(str(error)) from error
    except INTERRUPTIONS as error:
        raise CannotStart(
            f"The move stopped: {failure_reason(error)}.{remedy(error)} Run it again to go on."
        ) from error


@contextmanager
def _postgresql_library() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise CannotStart.missing_extra("PostgreSQL", "postgresql") from error


def make_cipher(settings: Settings) -> DocumentCipher:
    """The cipher of the settings; with a key it reads encrypted documents. Raises `CannotStart`."""
    encryption = settings.encryption
    if encryption.key is None:
        return PlainCipher()
    previous = None if encryption.key_previous is None else decode_key(encryption.key_previous)
    try:
        cipher = AesCipher(decode_key(encryption.key), previous)
    except ValueError as error:
        raise CannotStart(f"IMPRINT_ENCRYPTION_KEY: {error}") from error
    return cipher if encryption.encrypts(settings.storage.content) else PlainCipher(cipher)


def _webhook_providers(settings: Settings) -> dict[str, WebhookProvider]:
    webhooks, chain = settings.webhooks, settings.chain
    providers: dict[str, WebhookProvider] = {}
    if secrets := _revealed(webhooks.a_secret, webhooks.a_secret_previous):
        providers["provider-a"] = ProviderA(secrets, chain.id, chain.marketplace, webhooks.networks)
    if secrets := _revealed(webhooks.b_secret, webhooks.b_secret_previous):
        providers["provider-b"] = ProviderB(secrets, chain.id, chain.marketplace, webhooks.networks)
    return providers


def has_network_name(settings: Settings) -> bool:
    """Whether a delivery that names its network can be about the configured chain."""
    return bool(network_names(settings.chain.id, settings.webhooks.networks))


def _revealed(*secrets: Secret | None) -> list[str]:
    return [secret.reveal() for secret in secrets if secret is not None]


async def examine_chain(marketplace: MarketplaceReader) -> None:
    """Check that the node is on the configured chain and the contract is there.

    Raises `CannotStart` if not, and `Unavailable` if no node responds.
    """
    try:
        await marketplace.probe()
    except ChainMisconfigured as error:
        raise CannotStart(error.sentence) from error


async def check_chain(marketplace: MarketplaceReader) -> bool:
    """Raise `CannotStart` as `examine_chain` does; if no node responds, log that, and return False.

    Most of the service works without a node, so it starts anyway.
    """
    try:
        await examine_chain(marketplace)
    except Unavailable:
        log.warning("no node responds; posts cannot be read until one does")
        return False
    return True
