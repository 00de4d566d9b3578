"""Opens the adapters named by the settings.

Optional adapters are imported by the function that opens them, because importing aiohttp and
asyncpg would slow down every start.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from imprint.adapters.chain.block_calls import BlockCalls
from imprint.adapters.chain.chain_reader import JsonRpcChainReader
from imprint.adapters.chain.contract_wallets import JsonRpcContractWallets
from imprint.adapters.chain.json_rpc import MAX_HEAD_AGES, ChainMisconfigured, JsonRpc
from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.adapters.content.embedded import MARKER, EmbeddedStore, InstallationMarker
from imprint.adapters.database.database import Database
from imprint.adapters.database.schema import NewerSchema, NoCatalog
from imprint.adapters.database.sqlite.database import open_sqlite, read_schema
from imprint.adapters.database.sqlite.log import DamagedLog
from imprint.adapters.database.sqlite.use_lock import BeingMoved
from imprint.adapters.disk_space import LocalDiskSpace, open_with_reserve
from imprint.adapters.encryption import AesCipher, PlainCipher
from imprint.adapters.images.sandbox import SandboxedRecoder
from imprint.adapters.outages import failure_reason, may_pass, remedy
from imprint.adapters.webhooks.payloads import network_names
from imprint.adapters.webhooks.provider_a import ProviderA
from imprint.adapters.webhooks.provider_b import ProviderB
from imprint.bootstrap.stores import Stores, open_stores
from imprint.domain.drafts.files import Network
from imprint.domain.errors import (
    CannotStart,
    NoCatalogYet,
    NotReachable,
    StoreMisconfigured,
    Unavailable,
)
from imprint.domain.formats.addresses import Address
from imprint.domain.installation import INSTALLATION_ID, UNNAMED, Access, Identity
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
from imprint.ports.accounts import ContractWallets
from imprint.ports.content import DocumentCipher, Inventory
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
from imprint.settings.groups import Storage
from imprint.traces import use_tracer

if TYPE_CHECKING:
    from imprint.adapters.content.pinata import Account

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Adapters:
    """The adapters of one process. Tests replace some of them.

    `inventory` is the content store if it holds only this service's documents.
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
        """The installation's claim on the content store."""
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
    """A database left open by a failed attempt to open all adapters, for the next attempt."""

    database: Database | None = None


def open_adapters(
    settings: Settings,
    clock: Clock = utc_now,
    seconds: Monotonic | None = None,
    left: OpenDatabase | None = None,
    access: Access = Access.MIGRATE,
) -> Adapters:
    """Open the adapters named by the settings.

    With `seconds`, leases use this clock instead of the machine's or the server's.

    Raises `CannotStart`, `NeedsUpgrade` for an older schema, and `NotReachable` if opening may
    succeed later. A retry must pass `left` each time, so that failed attempts leave at most one
    database open.
    """
    left = left or OpenDatabase()
    if access.creates:
        make_data_folder(settings)
    cipher = make_cipher(settings)
    # The database comes first, because documents in a shared store carry its installation id.
    left.database = database = left.database or open_database(settings, access, seconds)
    content = open_content(settings, clock, database.identity, access)
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
    """The marketplace, the chain and contract wallets over the same nodes. Sends no request yet."""
    chain = settings.chain
    rpc = JsonRpc([url.reveal() for url in chain.rpc_urls])
    calls = BlockCalls(rpc, chain.id, clock, max_head_age(settings))
    return (
        JsonRpcMarketplace(
            calls,
            chain.marketplace,
            chain.adapter,
            timeout=chain.timeout,
            quorum=chain.quorum,
        ),
        JsonRpcChainReader(rpc, chain.id, chain.marketplace, chain.adapter),
        JsonRpcContractWallets(calls, quorum=chain.quorum),
    )


@asynccontextmanager
async def open_node(url: str, chain_id: int, contract: Address) -> AsyncIterator[ChainReader]:
    """A reader of one contract's logs from one node. It does not use any settings.

    Raises `CannotStart` for an invalid URL, and for a node of another chain.
    """
    try:
        rpc = JsonRpc([url])
    except ValueError as error:
        raise CannotStart(str(error)) from error
    try:
        yield JsonRpcChainReader(rpc, chain_id, contract)
    except ChainMisconfigured as error:
        raise CannotStart(error.sentence) from error
    finally:
        await rpc.close()


@contextmanager
def tracing(settings: Settings) -> Iterator[None]:
    """Record spans in the `with` block if the settings name a collector. Raises `CannotStart`."""
    url = settings.server.tracing_url
    if url is None:
        yield
        return
    try:
        from imprint.adapters.open_telemetry import OpenTelemetryTracer, open_provider
    except ModuleNotFoundError as error:
        raise CannotStart.missing_extra("Tracing", "otel") from error
    tracer = OpenTelemetryTracer(open_provider(url))
    use_tracer(tracer)
    try:
        yield
    finally:
        use_tracer(None)
        tracer.close()


def open_disk(settings: Settings) -> LocalDiskSpace:
    """The disks of this machine to which documents and records are written."""
    return LocalDiskSpace(local_folders(settings), settings.limits.min_free_disk)


def make_data_folder(settings: Settings) -> None:
    """Create the data folder, unless records and documents are elsewhere. Raises `CannotStart`."""
    if not any(local_folders(settings)):
        return
    folder = settings.storage.data_dir
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        text = f"The folder {folder} cannot be created: {error.strerror}."
        # This happens below /proc, for example, where no folder can be created.
        if isinstance(error, FileNotFoundError) and folder.parent.is_dir():
            raise CannotStart(text) from error
        raise _cannot_start(text, error, Unavailable.storage()) from error


def inventory_of(content: ContentStore) -> Inventory | None:
    """The store if it can be listed. Such a store holds only one installation's documents."""
    return content if isinstance(content, Inventory) else None


def claim_on(stores: Stores, content: ContentStore) -> InstallationClaim:
    """The claim of an installation on a content store other than the configured one."""
    return InstallationClaim(stores.installation, stores.archives, content, inventory_of(content))


def local_folders(settings: Settings) -> Iterator[Path]:
    """The folders on this machine to which documents and records are written."""
    storage = settings.storage
    if isinstance(storage.content, EmbeddedContent):
        yield content_folder(settings)
    if isinstance(storage.database, SqliteDatabase):
        yield storage.database.path.parent


def content_folder(settings: Settings) -> Path:
    """The folder of the embedded content store."""
    return settings.storage.data_dir / "content"


def max_head_age(settings: Settings) -> float:
    """Seconds after which a node's newest block is too old to trust, or 0 for no limit."""
    chain = settings.chain
    return MAX_HEAD_AGES.get(chain.id, 0.0) if chain.max_head_age is None else chain.max_head_age


def open_content(
    settings: Settings, clock: Clock, identity: Identity, access: Access = Access.MIGRATE
) -> ContentStore:
    """Open the content store of an installation without probing it.

    Raises `CannotStart` for an unusable folder, `NeedsUpgrade` for a folder of an earlier release,
    and `NotReachable` if the store may be usable later.
    """
    store = settings.storage.content
    if isinstance(store, KuboContent):
        return _open_kubo(settings, store, identity)
    if isinstance(store, PinataContent):
        return _open_pinata(settings, store, clock, identity)
    if isinstance(store, BucketContent):
        return _open_bucket(settings, store, identity)
    folder = content_folder(settings)
    try:
        if access is Access.READ:
            return EmbeddedStore(folder, clock, access=access)
        return open_with_reserve(folder, lambda: EmbeddedStore(folder, clock, access=access))
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

    account = pinata_account(settings.storage)
    return PinataStore(account, clock, public=store.public, identity=identity)


def pinata_account(storage: Storage) -> "Account":
    """The configured Pinata account. Settings that lack its JWT or gateway have been refused."""
    from imprint.adapters.content.pinata import Account

    jwt = storage.pinata_jwt.reveal() if storage.pinata_jwt is not None else ""
    return Account(jwt, storage.pinata_gateway or "", storage.pinata_api, storage.pinata_uploads)


def _open_bucket(settings: Settings, store: BucketContent, identity: Identity) -> ContentStore:
    try:
        from imprint.adapters.content.bucket import BucketAccess, open_bucket
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
    settings: Settings, access: Access = Access.MIGRATE, seconds: Monotonic | None = None
) -> Database:
    """Open the configured database.

    No catalog is created next to existing documents, because it would not know their owners. Leases
    use the machine's or the server's clock, or `seconds` if given.

    Raises `CannotStart`, `NoCatalogYet` if there is no catalog, `NeedsUpgrade`, and `NotReachable`
    if the database may be opened later.
    """
    database = settings.storage.database
    try:
        if isinstance(database, PostgresqlDatabase):
            return _open_postgresql(settings, database, access, seconds)
        path = database.path
        opening = partial(open_sqlite, path, seconds or monotonic, access=access)
        if access is Access.READ:
            return opening()
        if access.creates:
            if read_schema(path) == 0:
                try:
                    refuse_documents(settings)
                except CannotStart:
                    # Meanwhile, another process may have created the catalog and then documents.
                    if read_schema(path) == 0:
                        raise
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open_with_reserve(path.parent, opening)
    except NoCatalog as error:
        refuse_documents(settings)
        raise NoCatalogYet(describe_database(database)) from error
    except (NewerSchema, DamagedLog, BeingMoved) as error:
        raise CannotStart(str(error)) from error
    except (Unavailable, OSError, ValueError) as error:
        cause = error.__cause__ if isinstance(error, Unavailable) else error
        raise _not_opened(database, cause) from error


def _not_opened(
    database: SqliteDatabase | PostgresqlDatabase, cause: BaseException | None
) -> CannotStart:
    # The URL of a server contains a password.
    place = str(database.path) if isinstance(database, SqliteDatabase) else "on PostgreSQL"
    reason = failure_reason(cause)
    if isinstance(database, PostgresqlDatabase):
        reason += f" ({describe_database(database)})"
    text = f"The database {place} cannot be opened: {reason}."
    return _cannot_start(text, cause, Unavailable.database(), remedy(cause).strip())


def describe_database(database: SqliteDatabase | PostgresqlDatabase) -> str:
    """Describe where records are stored, without the user and the password."""
    if isinstance(database, SqliteDatabase):
        return f"sqlite:///{database.path}"
    parts = urlsplit(database.url.reveal())
    # A URL may list several hosts with their ports, which `parts.port` cannot parse.
    host = parts.netloc.rpartition("@")[2] or parse_qs(parts.query).get("host", [""])[0]
    return f"postgresql://{host}{parts.path}"


def refuse_documents(settings: Settings) -> None:
    """Raise `CannotStart` if the catalog is missing but the content store has documents.

    In a store that several installations share, this cannot be determined without the catalog.
    Raises `NotReachable` for a bucket that does not respond.
    """
    with ThreadPoolExecutor(1, "content-owner") as thread:
        try:
            owner = thread.submit(asyncio.run, _find_owner(settings)).result()
        except StoreMisconfigured as error:
            raise CannotStart(error.sentence) from error
        except Unavailable as problem:
            text = "It is not known yet whether there are documents without a catalog."
            raise NotReachable(text, problem) from problem
    if owner is None:
        return
    database = settings.storage.database
    what_to_do = "restore the dump of its database"
    if isinstance(database, SqliteDatabase):
        name = database.path.name
        what_to_do = f"put {name} back, or run `imprint repair --backup` with your last backup"
    raise CannotStart(
        f"There is no catalog at {describe_database(database)}, but the content store has "
        f"documents of {owner}. Nothing was created. Check IMPRINT_DATABASE_URL and "
        f"IMPRINT_DATA_DIR. If the catalog is lost: {what_to_do}. To start over, move the "
        "documents away."
    )


async def _find_owner(settings: Settings) -> str | None:
    """The installation that owns the content store's documents, or None. Raises `Unavailable`."""
    if holder := await read_marker(settings):
        return f"the installation {holder}"
    folder = content_folder(settings)
    if not isinstance(settings.storage.content, EmbeddedContent) or not folder.is_dir():
        return None
    store = EmbeddedStore(folder, utc_now, access=Access.READ)
    try:
        for network in Network:
            if (folder / network).is_dir():
                async for _ in store.list_documents(network):
                    return "an installation"
    finally:
        await store.close()
    return None


async def read_marker(settings: Settings) -> str | None:
    """The installation id in the store, or None if the marker is missing or damaged, or the store
    is shared.

    Raises `Unavailable` for a bucket that cannot be reached.
    """
    store = settings.storage.content
    found = None
    if isinstance(store, EmbeddedContent):
        try:
            found = InstallationMarker(content_folder(settings) / MARKER).read()
        except FileNotFoundError:
            return None
    elif isinstance(store, BucketContent):
        content = open_content(settings, utc_now, UNNAMED)
        try:
            found = await content.claimed_by("")
        finally:
            await content.close()
    return found if found is not None and INSTALLATION_ID.fullmatch(found) else None


def _open_postgresql(
    settings: Settings, database: PostgresqlDatabase, access: Access, seconds: Monotonic | None
) -> Database:
    with _postgresql_library():
        from imprint.adapters.database.postgresql.database import open_postgresql
        from imprint.adapters.database.postgresql.schema import Unfinished, UnsuitableServer
    try:
        return open_postgresql(
            database.url.reveal(),
            settings.storage.connections,
            seconds,
            access=access,
            before_creation=partial(refuse_documents, settings),
        )
    except (Unfinished, UnsuitableServer) as error:
        raise CannotStart(str(error)) from error


def examine_postgresql(database: PostgresqlDatabase) -> tuple[int, int]:
    """The schema version of a database (0 without a catalog), and its size. Raises
    `CannotStart`."""
    with _postgresql_library():
        from imprint.adapters.database.postgresql.database import examine_catalog
        from imprint.adapters.database.postgresql.schema import Unfinished, UnsuitableServer
    try:
        return examine_catalog(database.url.reveal())
    except (Unfinished, UnsuitableServer) as error:
        raise CannotStart(str(error)) from error
    except Unavailable as error:
        raise _not_opened(database, error.__cause__) from error


async def migrate_database(
    source: SqliteDatabase, target: PostgresqlDatabase, progress: Progress
) -> int:
    """Move a catalog to an empty database and return the number of rows. Raises `CannotStart`."""
    with _postgresql_library():
        from imprint.adapters.database.postgresql.move import (
            INTERRUPTIONS,
            CannotMove,
            move_catalog,
        )
        from imprint.adapters.database.postgresql.schema import UnsuitableServer
    try:
        return await move_catalog(source.path, target.url.reveal(), progress)
    except (CannotMove, DamagedLog, NewerSchema, UnsuitableServer) as error:
        raise CannotStart(str(error)) from error
    except NoCatalog as error:
        raise NoCatalogYet(describe_database(source)) from error
    except INTERRUPTIONS as error:
        raise CannotStart(
            f"The move stopped: {failure_reason(error)}.{remedy(error)} Run it again to continue."
        ) from error


@contextmanager
def _postgresql_library() -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise CannotStart.missing_extra("PostgreSQL", "postgresql") from error


def make_cipher(settings: Settings) -> DocumentCipher:
    """The configured cipher, which reads encrypted documents if it has a key. Raises
    `CannotStart`."""
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
    """Whether deliveries for the configured chain can be recognized by a network name."""
    return bool(network_names(settings.chain.id, settings.webhooks.networks))


def _revealed(*secrets: Secret | None) -> list[str]:
    return [secret.reveal() for secret in secrets if secret is not None]


async def examine_chain(marketplace: MarketplaceReader) -> None:
    """Check that the node is on the configured chain and has the contract.

    Raises `CannotStart` if either is not the case, and `Unavailable` if no node responds.
    """
    try:
        await marketplace.probe()
    except ChainMisconfigured as error:
        raise CannotStart(error.sentence) from error


async def check_chain(marketplace: MarketplaceReader) -> bool:
    """Raise `CannotStart` as `examine_chain` does. If no node responds, log it and return False.

    Most of the service works without a node, so it starts anyway.
    """
    try:
        await examine_chain(marketplace)
    except Unavailable:
        log.warning("no node responds; posts cannot be read until one does")
        return False
    return True
