"""All installation checks. `imprint check` runs all of them, and a starting service runs some.

A failed check does not stop the others. A check whose prerequisite is missing is skipped.
"""

import logging
from dataclasses import dataclass, field

from imprint.bootstrap.adapters import (
    Adapters,
    claim_on,
    content_folder,
    local_folders,
    make_cipher,
    max_head_age,
    open_content,
    open_database,
    open_disk,
    open_nodes,
)
from imprint.bootstrap.checks import (
    DATABASE,
    NODE,
    STORE,
    check_blocks,
    check_claim,
    check_clock,
    check_contract,
    check_database,
    check_disk,
    check_history,
    check_keys,
    check_new_installation,
    check_node,
    check_records,
    check_server,
    check_settings,
    check_signing,
    check_store,
    check_webhooks,
    outdated,
    refused,
    skip,
)
from imprint.bootstrap.stores import Stores, open_stores
from imprint.domain.errors import CannotStart, NeedsUpgrade, NoCatalogYet, Unavailable
from imprint.domain.installation import UNNAMED, Access, Finding, Status
from imprint.ports import Clock, ContentStore, Progress, utc_now
from imprint.ports.installation import KeyStore
from imprint.services.chain.start_block import StartBlock
from imprint.settings import EmbeddedContent, Settings

log = logging.getLogger(__name__)


@dataclass(slots=True)
class InstallationCheck:
    """Opens the adapters named by the settings and checks them. Unopened adapters are None."""

    settings: Settings
    access: Access = Access.READ
    clock: Clock = utc_now
    stores: Stores | None = field(default=None, init=False)
    content: ContentStore | None = field(default=None, init=False)

    async def run(self, deep: bool = False, progress: Progress | None = None) -> list[Finding]:
        """Run all checks. With `deep`, read every record and every document."""
        database, store = self._open_database(), self._open_store()
        try:
            return [
                check_settings(self.settings),
                check_signing(self.settings),
                *await self._check_records(database, deep, progress),
                check_disk(open_disk(self.settings)),
                *await self._check_documents(store),
                *await self._check_chain(),
                check_webhooks(self.settings),
            ]
        finally:
            for each in (self.content, self.stores):
                if each is not None:
                    await each.close()

    def _open_database(self) -> Finding | None:
        """Open the database, or report why it cannot be opened yet."""
        try:
            self.stores = open_stores(open_database(self.settings, self.access))
        except NoCatalogYet:
            return check_new_installation(self.settings, *local_folders(self.settings))
        except NeedsUpgrade as error:
            return outdated("database", error)
        except CannotStart as error:
            return refused("database", error)
        return None

    def _open_store(self) -> Finding | None:
        """Open the content store, or report why it cannot be opened yet."""
        folder = content_folder(self.settings)
        if isinstance(self.settings.storage.content, EmbeddedContent) and not folder.exists():
            detail = f"The service will create the folder {folder} for documents when it starts."
            return Finding("store", Status.OK, detail)
        identity = UNNAMED if self.stores is None else self.stores.installation.identity
        try:
            self.content = open_content(self.settings, self.clock, identity, self.access)
        except NeedsUpgrade as error:
            return outdated("store", error)
        except CannotStart as error:
            return refused("store", error)
        return None

    async def _check_records(
        self, wrong: Finding | None, deep: bool, progress: Progress | None
    ) -> list[Finding]:
        if wrong is not None or self.stores is None:
            skipped = [skip(name, DATABASE) for name in ("records", "keys")]
            return skipped if wrong is None else [wrong, *skipped]
        database = await check_database(self.stores.database, self.settings, self.access)
        if deep and self.content is None:
            records = [skip("records", STORE)]
        else:
            records = await check_records(self.stores, self.content if deep else None, progress)
        return [database, *records, await self._check_keys(self.stores.keys)]

    async def _check_keys(self, keys: KeyStore) -> Finding:
        try:
            cipher = make_cipher(self.settings)
        except CannotStart as error:
            return refused("keys", error)
        return await check_keys(keys, cipher)

    async def _check_documents(self, wrong: Finding | None) -> list[Finding]:
        if self.content is None:
            skipped = skip("documents", STORE)
            return [skipped] if wrong is None else [wrong, skipped]
        store = await check_store(self.content, self.settings, self.access)
        if store.status is Status.FAILED:
            return [store, skip("documents", STORE)]
        if self.stores is None:
            return [store, skip("documents", DATABASE)]
        return [store, await check_claim(claim_on(self.stores, self.content))]

    async def _check_chain(self) -> list[Finding]:
        settings, stores = self.settings, self.stores
        marketplace, chain, _ = open_nodes(settings, self.clock)
        try:
            node = await check_node(chain, settings.chain.id)
            if node.status is Status.FAILED:
                return [node, *(skip(name, NODE) for name in ("contract", "blocks", "clock"))]
            contract = await check_contract(marketplace, settings)
            blocks = [skip("blocks", DATABASE)]
            if stores is not None:
                node = await check_history(chain, stores.events, settings.chain.id) or node
                first = settings.chain.start_block
                start = StartBlock(chain, stores.events, settings.chain.id, first)
                blocks = await check_blocks(start, marketplace)
            clock = await check_clock(chain, self.clock, max_head_age(settings))
            return [node, contract, *blocks, clock]
        finally:
            await marketplace.close()


def build_start_block(settings: Settings, adapters: Adapters) -> StartBlock:
    """The configured start block."""
    chain = settings.chain
    return StartBlock(adapters.chain, adapters.stores.events, chain.id, chain.start_block)


async def check_start_block(settings: Settings, adapters: Adapters) -> None:
    """Raise `CannotStart` if a node shows that the configured start block is impossible."""
    try:
        await build_start_block(settings, adapters).verify()
    except Unavailable as problem:
        log.warning("the start block was not checked", extra={"code": problem.code})


async def log_findings(settings: Settings, adapters: Adapters) -> None:
    """Log the problems found once the service has started, one line each."""
    start = build_start_block(settings, adapters)
    webhooks = check_webhooks(settings)
    _log(check_signing(settings), check_disk(adapters.disk))
    if webhooks.status is Status.FAILED:
        # A service without any webhook secret is fine, as long as the follower runs.
        _log(webhooks)
    if server := await check_server(adapters.stores.database):
        _log(server)
    _log(*await check_blocks(start))
    _log(await check_clock(adapters.chain, adapters.clock, max_head_age(settings)))


def _log(*findings: Finding) -> None:
    for each in findings:
        if each.status in (Status.WARNING, Status.FAILED):
            log.warning("%s", each.sentence, extra={"check": each.name})
