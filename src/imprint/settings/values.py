"""What holds under `imprint dev` where nobody says otherwise."""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from urllib.parse import unquote_plus, urlsplit

from imprint.settings.encryption import Encryption
from imprint.settings.groups import (
    Chain,
    Development,
    Keeping,
    Limits,
    Server,
    Sessions,
    Signing,
    Storage,
    Webhooks,
)
from imprint.settings.secrets import Secret
from imprint.settings.setting import Setting, declared_in
from imprint.settings.stores import PostgresqlDatabase, find_credentials

DEVELOPMENT: Mapping[str, str] = MappingProxyType(
    {
        "IMPRINT_CHAIN_RPC_URL": "http://127.0.0.1:{IMPRINT_DEV_RPC_PORT}",
        "IMPRINT_CHAIN_ID": "31337",
        "IMPRINT_MARKETPLACE_ADDRESS": "0x5FbDB2315678afecb367f032d93F642f64180aa3",
        "IMPRINT_CHAIN_FOLLOW_SECONDS": "1",
        "IMPRINT_LOGIN_DOMAINS": "localhost:{IMPRINT_PORT},127.0.0.1:{IMPRINT_PORT}",
        "IMPRINT_CORS_ORIGINS": "*",
        "IMPRINT_JWT_SECRET": "imprint-development-only-jwt-4f1b7c09e2",
        "IMPRINT_WEBHOOK_A_SECRET": "whsec_imprint-development-only-a-83d2f6",
        "IMPRINT_WEBHOOK_B_SECRET": "qnsec_imprint-development-only-b-5e90a7",
        "IMPRINT_RATE_LIMITS": "off",
        "IMPRINT_LOG_FORMAT": "text",
    }
)
"""The development defaults; the secrets are public, and `imprint serve` refuses them.

The marketplace is where the first development account's first transaction puts a contract.
"""


_SHORTEST_KEY = 8
_PAGE_TOKEN_LABEL = b"imprint page token secret"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything an operator can decide, in groups, and what is doubtful about it."""

    server: Server
    storage: Storage
    encryption: Encryption
    chain: Chain
    signing: Signing
    sessions: Sessions
    webhooks: Webhooks
    limits: Limits
    keeping: Keeping
    development: Development
    warnings: tuple[str, ...] = ()

    @property
    def login_domains(self) -> tuple[str, ...]:
        """The hosts whose pages readers may log in from; the service's own comes first."""
        own = urlsplit(self.server.public_url).netloc
        return tuple(dict.fromkeys((own, *self.sessions.login_domains)))

    @property
    def page_token_secrets(self) -> tuple[Secret, Secret | None]:
        """What seals page tokens, and what sealed them until lately."""
        given = self.sessions
        if given.page_token_secret is not None:
            return given.page_token_secret, given.page_token_secret_previous
        previous = given.jwt_secret_previous
        return _derive(given.jwt_secret), None if previous is None else _derive(previous)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every text that must never be logged: secrets, and addresses that carry one."""
        found = [self.storage.pinata_jwt, *self.page_token_secrets]
        for group in (self.encryption, self.sessions, self.webhooks):
            found += [getattr(group, name) for name in declared_in(type(group))]
        texts = [each.reveal() for each in found if isinstance(each, Secret)]
        addresses = [each.reveal() for each in self.chain.rpc_urls]
        if isinstance(self.storage.database, PostgresqlDatabase):
            addresses.append(self.storage.database.url.reveal())
        if self.storage.kubo_authorization is not None:
            texts += find_credentials(self.storage.kubo_authorization)
        carried = [part for address in addresses for part in _find_keys(address)]
        return tuple(dict.fromkeys(texts + carried))


GROUPS: dict[str, type] = {
    each.name: each.type for each in fields(Settings) if isinstance(each.type, type)
}
"""The groups of settings, by their names in `Settings`."""

SETTINGS: tuple[Setting, ...] = tuple(
    each for group in GROUPS.values() for each in declared_in(group).values()
)
"""Every setting there is: the one list that code, command line and docs are made from."""


def _derive(secret: Secret) -> Secret:
    digest = hmac.new(secret.reveal_bytes(), _PAGE_TOKEN_LABEL, hashlib.sha256)
    return Secret(digest.hexdigest())


def _find_keys(address: str) -> list[str]:
    # The address of a node or a database is a secret only through what stands around its host.
    parts = urlsplit(address)
    asked = [pair.partition("=")[2] or pair for pair in parts.query.split("&")]
    keys = [parts.password or "", parts.query, *asked, *parts.path.split("/")]
    if parts.scheme.startswith("http") and parts.username:
        # A node knows no users: who stands there is a key. A database does, and they have names.
        keys.append(parts.username)
    written = dict.fromkeys([*keys, *map(unquote_plus, keys)])
    return [key for key in written if len(key) >= _SHORTEST_KEY]
