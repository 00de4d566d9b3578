"""Wires the operator's page."""

import os
import platform
from importlib.metadata import version

from imprint import __version__
from imprint.bootstrap.adapters import Adapters
from imprint.domain.formats.addresses import checksum_address
from imprint.services.installation.operator_page import Deployment, Operations
from imprint.services.installation.readiness import Readiness
from imprint.services.publication.webhooks import Webhooks
from imprint.settings import (
    BucketContent,
    EmbeddedContent,
    KuboContent,
    PinataContent,
    Settings,
    SqliteDatabase,
)

LIBRARIES = ("starlette", "uvicorn", "msgspec", "cryptography", "jinja2", "nh3")
"""Libraries whose versions are shown: those that parse untrusted input."""

PROVIDERS = ("provider-a", "provider-b")
"""The known webhook providers."""

_STORES = {
    EmbeddedContent: "the data folder",
    KuboContent: "Kubo",
    PinataContent: "Pinata",
    BucketContent: "a bucket",
}


def build_operations(
    settings: Settings, adapters: Adapters, readiness: Readiness, webhooks: Webhooks
) -> Operations:
    """The operator page's data for this process and its installation."""
    chain, storage, stores = settings.chain, settings.storage, adapters.stores
    versions = {"Imprint": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in LIBRARIES}
    deployment = Deployment(
        chain_id=chain.id,
        marketplace=checksum_address(chain.marketplace),
        follows_chain=bool(chain.follow_seconds),
        workers=settings.server.workers,
        is_sqlite=isinstance(storage.database, SqliteDatabase),
        content_store=_STORES[type(storage.content)],
        versions=versions,
    )
    return Operations(
        deployment,
        stores.operator_facts,
        stores.events,
        stores.leases,
        stores.installation,
        adapters.chain,
        stores.index_writer,
        readiness,
        adapters.disk,
        {name: name in adapters.webhook_providers for name in PROVIDERS},
        webhooks.last_received,
        adapters.clock,
        adapters.monotonic,
        os.getpid(),
        adapters.monotonic(),
    )
