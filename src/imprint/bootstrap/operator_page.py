"""Wires the operator's page to the adapters."""

import os
import platform
from importlib.metadata import version

from imprint import __version__
from imprint.bootstrap.adapters import Adapters
from imprint.domain.formats.addresses import checksum_address
from imprint.domain.site import Picture
from imprint.services.installation.operator_page import Deployment, Operations, Say, write_bytes
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
from imprint.web.site.words import page_words

LIBRARIES = ("starlette", "uvicorn", "msgspec", "cryptography", "jinja2", "nh3")
"""Libraries whose versions are shown, because they parse untrusted input."""

PROVIDERS = ("provider-a", "provider-b")
"""The supported webhook providers."""

_STORES = {
    EmbeddedContent: "panels.usage.folder",
    KuboContent: "panels.usage.kubo",
    PinataContent: "panels.usage.pinata",
    BucketContent: "panels.usage.bucket",
}


def build_operations(
    settings: Settings, adapters: Adapters, readiness: Readiness, webhooks: Webhooks
) -> Operations:
    """The data on the operator's page for this process and its installation."""
    chain, storage, stores = settings.chain, settings.storage, adapters.stores
    say = page_words().text
    versions = {"Imprint": __version__, "Python": platform.python_version()}
    versions |= {name: version(name) for name in LIBRARIES}
    deployment = Deployment(
        chain_id=chain.id,
        marketplace=checksum_address(chain.marketplace),
        follows_chain=bool(chain.follow_seconds),
        workers=settings.server.workers,
        is_sqlite=isinstance(storage.database, SqliteDatabase),
        content_store=say(_STORES[type(storage.content)]),
        versions=versions,
        publication=_describe_publication(settings, say),
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
        say,
    )


def _describe_publication(settings: Settings, say: Say) -> dict[str, str | None]:
    """Publication and chain settings as text, keyed by label. A missing setting is None."""
    given, chain, accent = settings.publication, settings.chain, settings.publication.accent
    is_named = given.name != declared_in(Publication)["name"].default
    return {
        say("panels.publication.name"): given.name if is_named else None,
        say("panels.publication.description"): given.description,
        say("panels.publication.language"): given.language,
        say("panels.publication.logo"): _describe_picture(given.logo, say),
        say("panels.publication.icon"): _describe_picture(given.icon, say),
        say("panels.publication.accent"): None
        if accent is None
        else say("panels.publication.shades", light=accent.light, dark=accent.dark),
        say("panels.publication.links"): ", ".join(
            f"{each.label} ({each.address})" for each in given.navigation
        )
        or None,
        say("panels.publication.pages"): ", ".join(f"/{each.name}" for each in given.pages) or None,
        say("panels.publication.footer"): given.footer,
        say("panels.publication.contact"): given.contact,
        say("panels.publication.terms"): given.terms,
        say("panels.publication.front"): _describe_front(given, say),
        say("panels.publication.credit"): say(
            "panels.publication.shown" if given.credit else "panels.publication.hidden"
        ),
        say("panels.publication.chain"): f"{chain.name}, {chain.coin}",
        say("panels.publication.node"): chain.public_rpc_url,
        say("panels.publication.explorer"): chain.explorer_url,
    }


def _describe_front(given: Publication, say: Say) -> str:
    if not isinstance(given.front, str):
        return say("panels.publication.author", address=given.front.author)
    if given.featured:
        return say("panels.publication.featured", posts=", ".join(map(str, given.featured)))
    return say("panels.publication.newest")


def _describe_picture(picture: Picture | None, say: Say) -> str | None:
    if picture is None:
        return None
    return f"{picture.media_type}, {write_bytes(say, len(picture.content))}"
