"""The settings of a process, the list of all settings, and the defaults of `imprint dev`."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from urllib.parse import urlsplit

from imprint.settings.declaration import Setting, declared_in
from imprint.settings.groups import (
    Chain,
    Compatibility,
    Development,
    Encryption,
    Retention,
    Server,
    Sessions,
    Signing,
    Site,
    Storage,
    Webhooks,
)
from imprint.settings.limits import Limits
from imprint.settings.publication import Publication
from imprint.settings.secrets import Secret, secret_parts
from imprint.settings.stores import PostgresqlDatabase, find_credentials, find_private_keys

DEVELOPMENT: Mapping[str, str] = MappingProxyType(
    {
        "IMPRINT_CHAIN_RPC_URL": "http://127.0.0.1:{IMPRINT_DEV_RPC_PORT}",
        "IMPRINT_CHAIN_ID": "31337",
        "IMPRINT_CHAIN_NAME": "Imprint development",
        "IMPRINT_MARKETPLACE_ADDRESS": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
        "IMPRINT_CHAIN_FOLLOW_SECONDS": "1",
        "IMPRINT_LOGIN_DOMAINS": "localhost:*,127.0.0.1:*,[::1]:*",
        "IMPRINT_CORS_ORIGINS": "*",
        "IMPRINT_JWT_SECRET": "imprint-development-only-jwt-4f1b7c09e2",
        "IMPRINT_WEBHOOK_A_SECRET": "whsec_imprint-development-only-a-83d2f6",
        "IMPRINT_WEBHOOK_B_SECRET": "qnsec_imprint-development-only-b-5e90a7",
        "IMPRINT_RATE_LIMITS": "off",
        "IMPRINT_LOG_FORMAT": "text",
    }
)
"""Defaults of `imprint dev`. The secrets are public, and `imprint serve` refuses them.

The first transaction of the first development account creates the contract at the marketplace
address.
"""

COMPATIBLE: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        Compatibility.INKDAO: MappingProxyType(
            {
                "IMPRINT_MAX_CONTENT_BYTES": str(16 * 1_048_576),
                "IMPRINT_BODY_TIMEOUT_SECONDS": "60",
            }
        )
    }
)
"""Defaults for each value of IMPRINT_COMPATIBILITY. These override a command's defaults.

The earlier front end embeds images in the content. 16 MiB take 27 seconds at 5 Mbit/s, so
most uplinks could not send them within the usual 15 seconds. The budgets of bytes in flight
are unchanged: they always have room for the largest body, and limit the memory of a
process.
"""

_PAGE_TOKEN_LABEL = b"imprint page token secret"


@dataclass(frozen=True, slots=True)
class Settings:
    """The value of every setting, in groups, and warnings about the settings."""

    server: Server
    storage: Storage
    encryption: Encryption
    chain: Chain
    signing: Signing
    sessions: Sessions
    webhooks: Webhooks
    limits: Limits
    retention: Retention
    site: Site
    publication: Publication
    development: Development
    warnings: tuple[str, ...] = ()

    @property
    def login_domains(self) -> tuple[str, ...]:
        """The hosts whose pages readers may log in from, with the service's own host first."""
        own = urlsplit(self.server.public_url).netloc
        return tuple(dict.fromkeys((own, *self.sessions.login_domains)))

    @property
    def page_token_secrets(self) -> tuple[Secret, Secret | None]:
        """The current and previous page token secrets, derived from JWT_SECRET if not set."""
        given = self.sessions
        if given.page_token_secret is not None:
            return given.page_token_secret, given.page_token_secret_previous
        previous = given.jwt_secret_previous
        return _derive(given.jwt_secret), None if previous is None else _derive(previous)

    @property
    def secrets(self) -> tuple[str, ...]:
        """All texts that must never be logged: secrets, and keys and passwords in URLs."""
        storage = self.storage
        found = [storage.pinata_jwt, storage.s3_access_key_id, storage.s3_secret_access_key]
        found += [storage.gs_service_account_key, storage.az_access_key, *self.page_token_secrets]
        for group in (self.encryption, self.sessions, self.webhooks, self.site):
            found += [getattr(group, name) for name in declared_in(type(group))]
        texts = [each.reveal() for each in found if isinstance(each, Secret)]
        urls = [each.reveal() for each in self.chain.rpc_urls]
        if isinstance(self.storage.database, PostgresqlDatabase):
            urls.append(self.storage.database.url.reveal())
        if self.storage.kubo_authorization is not None:
            texts += find_credentials(self.storage.kubo_authorization)
        if self.storage.gs_service_account_key is not None:
            texts += find_private_keys(self.storage.gs_service_account_key)
        keys = [key for url in urls for key in secret_parts(url)]
        return tuple(dict.fromkeys(texts + keys))


GROUPS: dict[str, type] = {
    each.name: each.type for each in fields(Settings) if isinstance(each.type, type)
}
"""The groups of settings, by their field names in `Settings`."""

SETTINGS: tuple[Setting, ...] = tuple(
    each for group in GROUPS.values() for each in declared_in(group).values()
)
"""All settings. The loader and the docs are built from this list."""


def find_changes(old: Settings, new: Settings) -> tuple[str, ...]:
    """Return the names of the settings whose values differ."""
    return tuple(
        each.name
        for name, group in GROUPS.items()
        for key, each in declared_in(group).items()
        if getattr(getattr(old, name), key) != getattr(getattr(new, name), key)
    )


def _derive(secret: Secret) -> Secret:
    digest = hmac.new(secret.reveal_bytes(), _PAGE_TOKEN_LABEL, hashlib.sha256)
    return Secret(digest.hexdigest())
