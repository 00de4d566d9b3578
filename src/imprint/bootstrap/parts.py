"""The adapters of one process, opened as the settings say. Only here are concrete ones known."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from imprint.adapters.chain.failures import ChainMisconfigured
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.adapters.chain.source import JsonRpcSource
from imprint.adapters.clock import SystemClock
from imprint.adapters.content.embedded import EmbeddedStore
from imprint.adapters.deliveries.provider_a import ProviderA
from imprint.adapters.deliveries.provider_b import ProviderB
from imprint.adapters.images.recoder import SandboxedRecoder
from imprint.adapters.sealing.aes import AesCipher
from imprint.adapters.sealing.plain import PlainCipher
from imprint.bootstrap.contents import open_content
from imprint.bootstrap.databases import open_database
from imprint.bootstrap.starting import CannotStart
from imprint.domain.refusals import Unavailable
from imprint.ports import (
    Catalog,
    ChainSource,
    Clock,
    ContentStore,
    DeliveryReader,
    ImageRecoder,
    MarketplaceReader,
)
from imprint.ports.inventory import Inventory
from imprint.ports.sealing import DocumentCipher
from imprint.settings import Secret, Settings, decode_key

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Parts:
    """The adapters of one process. Tests put others in their places."""

    catalog: Catalog
    content: ContentStore
    cipher: DocumentCipher
    marketplace: MarketplaceReader
    source: ChainSource
    images: ImageRecoder
    readers: Mapping[str, DeliveryReader]
    clock: Clock
    inventory: Inventory | None = None

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
    cipher = make_cipher(settings)
    content = open_content(settings, clock)
    chain = settings.chain
    rpc = JsonRpc([url.reveal() for url in chain.rpc_urls])
    return Parts(
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
        JsonRpcSource(rpc, chain.id, chain.marketplace),
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
