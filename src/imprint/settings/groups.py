"""Every setting, declared as a field of its group."""

import base64
import binascii
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from imprint.domain.formats.addresses import Address
from imprint.domain.moderation import Show
from imprint.domain.sessions import SESSION_SECONDS
from imprint.settings.declaration import InvalidSetting, optional, setting
from imprint.settings.parsers import (
    automatic,
    choice,
    integer,
    parse_allowed_origin,
    parse_coin,
    parse_contact,
    parse_contract,
    parse_cpus,
    parse_domain,
    parse_host,
    parse_hub,
    parse_origin,
    parse_path,
    parse_proxy,
    parse_public_url,
    parse_secret_url,
    parse_switch,
    parse_text,
    seconds,
    several,
)
from imprint.settings.secrets import Secret
from imprint.settings.stores import (
    BucketContent,
    ContentStoreSetting,
    Database,
    parse_authorization,
    parse_base_url,
    parse_content_store,
    parse_database,
    parse_gateway,
)

_DAY = 86_400
_MIB = 1_048_576


class Compatibility(StrEnum):
    """The front end to be compatible with. `NONE` means the documented interface."""

    NONE = "none"
    INKDAO = "inkdao"


_parse_compatibility_word = choice(*Compatibility)


def parse_compatibility(text: str) -> Compatibility:
    """Parse the name of the front end to be compatible with. Raises `InvalidSetting`."""
    return Compatibility(_parse_compatibility_word(text))


@dataclass(frozen=True, slots=True)
class Server:
    """Where the service listens and how it runs."""

    host: str = setting("HOST", "The address to listen on.", parse_host, "127.0.0.1")
    port: int = setting("PORT", "The port to listen on.", integer(0, 65_535), "8000")
    public_url: str = setting(
        "PUBLIC_URL",
        "The origin at which clients reach the service; sessions are issued in its name, and its "
        "host is always a login domain.",
        parse_origin,
        "http://{IMPRINT_HOST}:{IMPRINT_PORT}",
    )
    cors_origins: tuple[str, ...] = setting(
        "CORS_ORIGINS",
        "Origins whose pages may call the service from a browser, separated by commas; `*` for "
        "all.",
        several(parse_allowed_origin),
        "",
    )
    trusted_proxies: tuple[str, ...] = setting(
        "TRUSTED_PROXIES",
        "IP addresses and networks (`10.0.0.0/8`) of proxies whose `X-Forwarded-For` is trusted, "
        "separated by commas.",
        several(parse_proxy),
        "",
    )
    workers: int = setting(
        "WORKERS",
        "The number of worker processes; they share the data folder.",
        integer(1, 64),
        "1",
    )
    worker_cpus: tuple[int, ...] = setting(
        "WORKER_CPUS",
        "The CPUs to pin workers to in turn, like `0,1` or `0-3`; `auto` pins none.",
        parse_cpus,
        "auto",
    )
    metrics_port: int = setting(
        "METRICS_PORT",
        "The port that serves the Prometheus metrics of all workers, on the same address; 0 "
        "switches it off.",
        integer(0, 65_535),
        "0",
    )
    log_level: str = setting(
        "LOG_LEVEL",
        "The minimum log level: debug, info, warning or error.",
        choice("debug", "info", "warning", "error"),
        "info",
    )
    log_format: str = setting(
        "LOG_FORMAT",
        "The format of the log on standard error: `json`, one object per line, or `text`.",
        choice("json", "text"),
        "json",
    )
    log_addresses: bool = setting(
        "LOG_CLIENT_ADDRESSES",
        "Whether the log line of a response includes the client's IP address.",
        parse_switch,
        "off",
    )
    tracing_url: str | None = optional(
        "TRACING_URL",
        "Where to send traces of requests and of calls to the database, the node and the store, "
        "as OTLP over HTTP, like `http://collector:4318/v1/traces`; needs the extra `otel`. "
        "Without it, there are no traces.",
        parse_hub,
    )
    security_contact: str | None = optional(
        "SECURITY_CONTACT",
        "Where to report vulnerabilities: a `mailto:` or `https:` address for "
        "`/.well-known/security.txt`, which otherwise responds with 404.",
        parse_contact,
    )
    compatibility: Compatibility = setting(
        "COMPATIBILITY",
        "The earlier service whose front end is supported: `none` or `inkdao`. With `inkdao`, "
        "`not_owner` and `not_entitled` have status 404 instead of 403, no hashtag is refused, "
        "and, unless set otherwise, content may be up to 16 MiB and a body may take 60 seconds to "
        "arrive.",
        parse_compatibility,
        "none",
    )
    gateway_fallback: str | None = optional(
        "GATEWAY_FALLBACK",
        "The host of another IPFS gateway; requests for thumbnails that posts name but that are "
        "not stored here are redirected to it.",
        parse_gateway,
    )
    websub_hub: str | None = optional(
        "WEBSUB_HUB",
        "The address of a WebSub hub; feeds name it, and it is notified of new posts.",
        parse_hub,
    )


@dataclass(frozen=True, slots=True)
class Storage:
    """Where records and documents are stored."""

    data_dir: Path = setting("DATA_DIR", "The folder for all stored data.", parse_path, "./data")
    database: Database = setting(
        "DATABASE_URL",
        "Where records are stored: `sqlite:///…` or `postgresql://…`.",
        parse_database,
        "sqlite:///{IMPRINT_DATA_DIR}/imprint.db",
        secret=True,
    )
    connections: int = setting(
        "DATABASE_CONNECTIONS",
        "The maximum number of connections to PostgreSQL per process.",
        integer(1, 1_000),
        "10",
    )
    content: ContentStoreSetting = setting(
        "CONTENT_STORE",
        "Where documents are stored: `embedded`, `kubo:http://127.0.0.1:5001`, `pinata`, "
        "`pinata-public`, or a bucket: `s3://bucket/prefix`, `gs://…` or `az://…`.",
        parse_content_store,
        "embedded",
    )
    kubo_authorization: Secret | None = optional(
        "KUBO_AUTHORIZATION",
        "The credentials for the Kubo node, if it requires any: `bearer:token` or "
        "`basic:user:password`.",
        parse_authorization,
        secret=True,
    )
    pinata_jwt: Secret | None = optional(
        "PINATA_JWT", "The API key for Pinata, needed with `pinata`.", Secret, secret=True
    )
    pinata_gateway: str | None = optional(
        "PINATA_GATEWAY",
        "The host of the Pinata account's gateway; needed with `pinata`.",
        parse_gateway,
    )
    pinata_api: str = setting(
        "PINATA_API_URL",
        "The base URL of Pinata's API.",
        parse_base_url,
        "https://api.pinata.cloud/v3",
    )
    pinata_uploads: str = setting(
        "PINATA_UPLOAD_URL",
        "The base URL for uploads to Pinata.",
        parse_base_url,
        "https://uploads.pinata.cloud/v3",
    )
    s3_access_key_id: Secret | None = optional(
        "S3_ACCESS_KEY_ID",
        "The access key id for an `s3://…` bucket; without it, the platform's own credentials "
        "are used.",
        Secret,
        secret=True,
    )
    s3_secret_access_key: Secret | None = optional(
        "S3_SECRET_ACCESS_KEY",
        "The secret access key that belongs to `IMPRINT_S3_ACCESS_KEY_ID`.",
        Secret,
        secret=True,
    )
    s3_region: str | None = optional(
        "S3_REGION",
        "The region of the bucket; without it, `AWS_REGION` or us-east-1.",
        parse_text,
    )
    s3_endpoint: str | None = optional(
        "S3_ENDPOINT",
        "The URL of an object store other than Amazon's, like `https://minio.example.org`; "
        "`http://` is only for this machine.",
        parse_base_url,
    )
    s3_allow_http: bool = setting(
        "S3_ALLOW_HTTP",
        "Whether `IMPRINT_S3_ENDPOINT` may be `http://` on another machine. Anybody on that "
        "network can then read documents that are not encrypted.",
        parse_switch,
        "off",
    )
    gs_service_account_key: Secret | None = optional(
        "GS_SERVICE_ACCOUNT_KEY",
        "The JSON key of a service account for a `gs://…` bucket; without it, the platform's own "
        "credentials are used, such as those that `GOOGLE_APPLICATION_CREDENTIALS` names.",
        Secret,
        secret=True,
    )
    az_account: str | None = optional(
        "AZ_ACCOUNT",
        "The storage account of an `az://…` container; without it, `AZURE_STORAGE_ACCOUNT_NAME`.",
        parse_text,
    )
    az_access_key: Secret | None = optional(
        "AZ_ACCESS_KEY",
        "The key of that account; without it, the platform's own credentials are used.",
        Secret,
        secret=True,
    )


@dataclass(frozen=True, slots=True)
class Chain:
    """Which chain and contract the service uses, and how it calls them."""

    rpc_urls: tuple[Secret, ...] = setting(
        "CHAIN_RPC_URL",
        "JSON-RPC URLs of nodes, separated by commas, the preferred one first.",
        several(parse_secret_url),
        secret=True,
    )
    id: int = setting("CHAIN_ID", "The id of the chain.", integer(1, 2**53 - 1))
    marketplace: Address = setting(
        "MARKETPLACE_ADDRESS", "The address of the marketplace contract.", parse_contract
    )
    adapter: Address | None = optional(
        "ADAPTER_ADDRESS",
        "The address of its purchase adapter, with which readers give posts away and buy several "
        "at once; without one, pages do not offer that.",
        parse_contract,
    )
    start_block: int = setting(
        "CHAIN_START_BLOCK",
        "The block in which the marketplace was deployed; earlier blocks are not read.",
        integer(0, 2**53 - 1),
        "0",
    )
    timeout: float = setting(
        "CHAIN_TIMEOUT_SECONDS",
        "How long a node may take to respond before the next one is tried.",
        seconds(0.1, 60),
        "1.5",
    )
    cache_seconds: float = setting(
        "CHAIN_CACHE_SECONDS",
        "How long granted access is cached; denied access never is.",
        seconds(0, 60),
        "5",
    )
    follow_seconds: float = setting(
        "CHAIN_FOLLOW_SECONDS",
        "How often the follower and the indexer look for new posts, and the watcher for access "
        "changes; 0 switches them off in this process, and the index of posts is filled only by "
        "processes where they are on.",
        seconds(0, 3600),
        "2",
    )
    reorg_depth: int = setting(
        "CHAIN_REORG_DEPTH",
        "The number of blocks after which a post is final.",
        integer(0, 100_000),
        "64",
    )
    max_head_age: float | None = setting(
        "CHAIN_MAX_HEAD_AGE_SECONDS",
        "How old a node's newest block may be before the node is no longer trusted; `auto` has "
        "limits for well-known public chains and none for others; 0 for no limit.",
        automatic(seconds(0, _DAY)),
        "auto",
    )
    quorum: int = setting(
        "CHAIN_QUORUM",
        "How many nodes must agree to grant access or to accept a contract wallet's signature; "
        "with 2, a single node that lies or lags behind cannot decide alone.",
        integer(1, 16),
        "1",
    )
    name: str = setting(
        "CHAIN_NAME",
        "The name of the chain, for pages and for wallets that add it.",
        parse_text,
        "Chain {IMPRINT_CHAIN_ID}",
    )
    coin: str = setting("CHAIN_COIN", "The symbol of its coin.", parse_coin, "ETH")
    public_rpc_url: str | None = optional(
        "CHAIN_PUBLIC_RPC_URL",
        "A node that everybody may use, an `https:` address: wallets that do not know the chain"
        " add it with this one. The nodes of `IMPRINT_CHAIN_RPC_URL` are never shown.",
        parse_public_url,
    )
    explorer_url: str | None = optional(
        "CHAIN_EXPLORER_URL",
        "A block explorer, an `https:` address: pages link transactions to it.",
        parse_public_url,
    )


@dataclass(frozen=True, slots=True)
class Signing:
    """What authors sign: the domain and forms of the typed data, and who may sign."""

    name: str = setting("SIGNING_NAME", "The name of the signing domain.", parse_text, "Imprint")
    version: str = setting("SIGNING_VERSION", "The version of the signing domain.", parse_text, "1")
    require_bound: bool = setting(
        "REQUIRE_BOUND_SIGNATURES",
        "Whether to accept writes only in the form `imprint-2`, whose signatures are bound to "
        "this service and to the content.",
        parse_switch,
        "off",
    )
    contract_wallets: bool = setting(
        "CONTRACT_WALLETS",
        "Whether contract wallets may sign logins and writes; a node verifies the signatures "
        "that were not made by the account's own key.",
        parse_switch,
        "on",
    )


@dataclass(frozen=True, slots=True)
class Sessions:
    """Where readers may log in from, and how their sessions are signed."""

    login_domains: tuple[str, ...] = setting(
        "LOGIN_DOMAINS",
        "Hosts from whose pages readers may log in, separated by commas, with their ports; "
        "`localhost:*` for any port of this machine.",
        several(parse_domain),
        "",
    )
    seconds: int = setting(
        "SESSION_SECONDS",
        "How long a session lasts, at most two hours.",
        integer(60, SESSION_SECONDS),
        str(SESSION_SECONDS),
    )
    jwt_secret: Secret = setting(
        "JWT_SECRET", "The secret that signs sessions; at least 32 bytes.", Secret, secret=True
    )
    jwt_secret_previous: Secret | None = optional(
        "JWT_SECRET_PREVIOUS",
        "The previous secret, whose sessions are still accepted.",
        Secret,
        secret=True,
    )
    page_token_secret: Secret | None = optional(
        "PAGE_TOKEN_SECRET",
        "The secret that encrypts page tokens; derived from `IMPRINT_JWT_SECRET` if not set.",
        Secret,
        secret=True,
    )
    page_token_secret_previous: Secret | None = optional(
        "PAGE_TOKEN_SECRET_PREVIOUS",
        "The previous secret, whose page tokens are still accepted.",
        Secret,
        secret=True,
    )


@dataclass(frozen=True, slots=True)
class Webhooks:
    """The secrets of webhook providers. A provider without a secret has no endpoint."""

    a_secret: Secret | None = optional(
        "WEBHOOK_A_SECRET",
        "The signing key of provider A; without it, the provider's path responds with 404.",
        Secret,
        secret=True,
    )
    a_secret_previous: Secret | None = optional(
        "WEBHOOK_A_SECRET_PREVIOUS", "The previous signing key of provider A.", Secret, secret=True
    )
    b_secret: Secret | None = optional(
        "WEBHOOK_B_SECRET",
        "The security token of provider B; without it, the provider's path responds with 404.",
        Secret,
        secret=True,
    )
    b_secret_previous: Secret | None = optional(
        "WEBHOOK_B_SECRET_PREVIOUS",
        "The previous security token of provider B.",
        Secret,
        secret=True,
    )
    networks: tuple[str, ...] = setting(
        "WEBHOOK_NETWORKS",
        "Further names that the providers use for this chain, besides its id and well-known "
        "names, separated by commas. Deliveries that name any other network are ignored.",
        several(parse_text),
        "",
    )


@dataclass(frozen=True, slots=True)
class Retention:
    """What is stored and for how long, and how much of drafts is public."""

    public_drafts: bool = setting(
        "PUBLIC_DRAFTS", "Whether public lists also show drafts.", parse_switch, "off"
    )
    grace_hours: float = setting(
        "GRACE_HOURS",
        "How long the documents of replaced and deleted drafts are kept.",
        seconds(0, 24 * 365),
        "24",
    )
    lease_seconds: float = setting(
        "WRITE_LEASE_SECONDS",
        "How long a write may take before its document is considered abandoned.",
        seconds(1, _DAY),
        "300",
    )
    janitor_seconds: float = setting(
        "JANITOR_SECONDS",
        "How often unreferenced documents are destroyed; 0 switches it off.",
        seconds(0, _DAY),
        "60",
    )
    scrub_seconds: float = setting(
        "SCRUB_SECONDS",
        "The pause between two scans of all records and documents for damage; 0 switches the "
        "scans off.",
        seconds(0, 365 * _DAY),
        "86400",
    )


@dataclass(frozen=True, slots=True)
class Development:
    """Settings used only by `imprint dev`."""

    rpc_port: int = setting(
        "DEV_RPC_PORT",
        "The port of the chain that `imprint dev` runs.",
        integer(0, 65_535),
        "8545",
    )


_FEDIVERSE_NAME = re.compile(r"@[\w.-]{1,64}@[A-Za-z0-9.-]{1,253}")


def parse_fediverse_name(text: str) -> str:
    """Parse `@name@host`. Raises `InvalidSetting`."""
    if not _FEDIVERSE_NAME.fullmatch(text):
        raise InvalidSetting("must be an account like @name@example.social")
    return text


_parse_show_word = choice(*Show)


def parse_show(text: str) -> Show:
    """Parse the selection of posts that appear in lists. Raises `InvalidSetting`."""
    return Show(_parse_show_word(text))


@dataclass(frozen=True, slots=True)
class Site:
    """Settings of the HTML pages."""

    enabled: bool = setting(
        "SITE",
        "Whether the service has web pages: `on`, or `off` for the API alone.",
        parse_switch,
        "on",
    )
    fediverse_creator: str | None = optional(
        "FEDIVERSE_CREATOR",
        "The Fediverse account named in link previews of this site, like `@name@example.social`.",
        parse_fediverse_name,
    )
    ai_training: str = setting(
        "AI_TRAINING",
        "Whether the licence at `/license.xml` (RSL) permits training models on free posts: "
        "`permit` or `prohibit`.",
        choice("permit", "prohibit"),
        "prohibit",
    )
    show: Show = setting(
        "SHOW",
        "Which posts pages, lists, feeds and search show: `hosted` those whose document is here, "
        "`all` every post of the contract, `allowed` those of authors allowed with "
        "`imprint moderate allow`.",
        parse_show,
        "hosted",
    )
    operator_secret: Secret | None = optional(
        "OPERATOR_SECRET",
        "The secret that opens the operator's page at `/operator`; without it, the page responds "
        "with 404.",
        Secret,
        secret=True,
    )
    operator_secret_previous: Secret | None = optional(
        "OPERATOR_SECRET_PREVIOUS",
        "The previous secret, which still opens the operator's page.",
        Secret,
        secret=True,
    )


KEY_BYTES = 32
"""The size in bytes of a master key, which is an AES-256 key."""

_HEX = re.compile(r"[0-9a-fA-F]{64}")


def parse_key(text: str) -> Secret:
    """Parse a master key from 64 hex digits or base64."""
    decode_key(Secret(text))
    return Secret(text)


def decode_key(secret: Secret) -> bytes:
    """Return the bytes of a master key. Raises `InvalidSetting` unless there are 32."""
    text = secret.reveal()
    if _HEX.fullmatch(text):
        return bytes.fromhex(text)
    try:
        standard = text.replace("-", "+").replace("_", "/").rstrip("=")
        key = base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise InvalidSetting(
            "must be 32 bytes, as 64 hex digits or base64; make one with: openssl rand -hex 32"
        )
    return key


@dataclass(frozen=True, slots=True)
class Encryption:
    """Whether stored documents are encrypted, and with which keys."""

    mode: str = setting(
        "ENCRYPTION",
        "Whether documents are encrypted before they are stored: `on`, `off`, or `auto`, which is "
        "on where stored documents are public, and in a bucket if there is a key.",
        choice("auto", "on", "off"),
        "auto",
    )
    key: Secret | None = optional(
        "ENCRYPTION_KEY",
        "The master key that wraps the keys of documents, required if they are encrypted: 32 "
        "bytes as 64 hex digits or base64. If it is lost, so are the encrypted documents.",
        parse_key,
        secret=True,
    )
    key_previous: Secret | None = optional(
        "ENCRYPTION_KEY_PREVIOUS",
        "The previous master key, needed until `imprint rotate-key` has finished.",
        parse_key,
        secret=True,
    )
    allow_readable: bool = setting(
        "ALLOW_READABLE_DOCUMENTS",
        "Whether encryption may be `off` even though stored documents are public. Anybody who "
        "knows a cid, which every post shows, can then read without paying.",
        parse_switch,
        "off",
    )

    def encrypts(self, store: ContentStoreSetting) -> bool:
        """Whether documents in this store are encrypted."""
        if self.mode == "auto":
            # A single wrong policy makes a bucket public, and the chain reveals document names.
            return store.public or (isinstance(store, BucketContent) and self.key is not None)
        return self.mode == "on"

    def check(self, store: ContentStoreSetting) -> list[str]:
        """Return the problems of these settings for documents in this store, as sentences."""
        if self.encrypts(store):
            if self.key is None:
                why = "is 'on'" if self.mode == "on" else "is 'auto' and anybody can fetch"
                what = "" if self.mode == "on" else " what is stored in IMPRINT_CONTENT_STORE"
                return [
                    f"IMPRINT_ENCRYPTION_KEY is missing, and IMPRINT_ENCRYPTION {why}{what}."
                    " Make one with: openssl rand -hex 32"
                ]
            return []
        if store.public and not self.allow_readable:
            return [
                "IMPRINT_ENCRYPTION is 'off', but anybody can fetch what is stored in "
                "IMPRINT_CONTENT_STORE, and could read every post. If that is what you want, set "
                "IMPRINT_ALLOW_READABLE_DOCUMENTS=on."
            ]
        return []
