"""Wires the operator's page to the adapters."""

import os
import platform
from importlib.metadata import version

from imprint import __version__
from imprint.bootstrap.adapters import Adapters
from imprint.domain.formats.addresses import checksum_address
from imprint.domain.site import Picture
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
from imprint.settings.declaration import declared_in
from imprint.settings.publication import Publication

LIBRARIES = ("starlette", "uvicorn", "msgspec", "cryptography", "jinja2", "nh3")
"""Libraries whose versions are shown, because they parse untrusted input."""

PROVIDERS = ("provider-a", "provider-b")
"""The supported webhook providers."""

_STORES = {
    EmbeddedContent: "the data folder",
    KuboContent: "Kubo",
    PinataContent: "Pinata",
    BucketContent: "a bucket",
}


def build_operations(
    settings: Settings, adapters: Adapters, readiness: Readiness, webhooks: Webhooks
) -> Operations:
    """The data on the operator's page for this process and its installation."""
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
        publication=_describe_publication(settings),
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


def _describe_publication(settings: Settings) -> dict[str, str | None]:
    """The publication and the chain as readers see them, in words, with None for missing
    settings."""
    given, chain = settings.publication, settings.chain
    is_named = given.name != declared_in(Publication)["name"].default
    front = given.front if isinstance(given.front, str) else f"author {given.front.author}"
    featured = ", ".join(map(str, given.featured))
    return {
        "name": given.name if is_named else None,
        "description": given.description,
        "language": given.language,
        "logo": None if given.logo is None else _describe_picture(given.logo),
        "icon": None if given.icon is None else _describe_picture(given.icon),
        "accent": None
        if given.accent is None
        else f"{given.accent.light} on light pages, {given.accent.dark} on dark ones",
        "links": ", ".join(f"{each.label} ({each.address})" for each in given.navigation) or None,
        "own pages": ", ".join(f"/{each.name}" for each in given.pages) or None,
        "footer": given.footer,
        "contact": given.contact,
        "terms": given.terms,
        "front page": f"{front}: {featured}" if featured else front,
        "line about Imprint": "shown" if given.credit else "not shown",
        "chain": f"{chain.name}, {chain.coin}",
        "public node": chain.public_rpc_url,
        "block explorer": chain.explorer_url,
    }


def _describe_picture(picture: Picture) -> str:
    return f"{picture.media_type}, {len(picture.content):,} bytes"
