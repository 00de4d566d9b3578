"""Database and content store settings: one class per type, parsed from text."""

import ipaddress
import json
import re
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from imprint.settings.declaration import InvalidSetting
from imprint.settings.parsers import parse_domain, parse_origin, parse_url
from imprint.settings.secrets import Secret


@dataclass(frozen=True, slots=True)
class SqliteDatabase:
    """A SQLite file on this machine."""

    path: Path


@dataclass(frozen=True, slots=True)
class PostgresqlDatabase:
    """A PostgreSQL server. Its URL is a secret because it may contain a password."""

    url: Secret


Database = SqliteDatabase | PostgresqlDatabase


@dataclass(frozen=True, slots=True)
class EmbeddedContent:
    """Documents stored in the data folder."""

    @property
    def public(self) -> bool:
        """Whether anybody who knows a CID can fetch the document."""
        return False


@dataclass(frozen=True, slots=True)
class KuboContent:
    """Documents stored on a Kubo node, reached at its RPC address."""

    api: str

    @property
    def public(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class PinataContent:
    """Documents stored at Pinata, in its private or its public network."""

    public: bool = False


@dataclass(frozen=True, slots=True)
class BucketContent:
    """Documents stored in an object store bucket. `scheme` is s3, gs or az."""

    scheme: str
    bucket: str
    prefix: str = ""

    @property
    def public(self) -> bool:
        # A service that does not encrypt does not start on a publicly readable bucket.
        return False


ContentStoreSetting = EmbeddedContent | KuboContent | PinataContent | BucketContent

BUCKET_SCHEMES = ("s3", "gs", "az")
"""The URL schemes of buckets: Amazon S3 and compatible stores, Google Cloud, and Azure."""

_BUCKET = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")
_PREFIX = re.compile(r"[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*")
_LONGEST_PREFIX = 200
_SHORTEST_LINE = 8
_HOST = re.compile(r"^(\[[^]]*\]|[^:]*):?")


def parse_database(text: str) -> Database:
    """Parse `sqlite:///relative`, `sqlite:////absolute` or `postgresql://…`."""
    scheme, separator, rest = text.partition("://")
    if separator and scheme == "sqlite":
        path = rest.removeprefix("/")
        if not rest.startswith("/") or not path or "?" in path:
            raise InvalidSetting(
                "must name a file after sqlite:///, like sqlite:///data/imprint.db"
            )
        return SqliteDatabase(Path(path).expanduser())
    if separator and scheme in ("postgresql", "postgres") and rest.strip("/"):
        _check_server(text)
        return PostgresqlDatabase(Secret(text))
    raise InvalidSetting("must begin with sqlite:/// or postgresql://")


def _check_server(url: str) -> None:
    """Refuse a URL in which part of a password would be taken for a host, port or database, which
    are shown."""
    try:
        parts = urlsplit(url)
    except ValueError:
        # The message of the original exception quotes the URL.
        raise InvalidSetting("has an invalid host") from None
    ports = [_HOST.sub("", each) for each in parts.netloc.rpartition("@")[2].split(",")]
    is_query = not parts.query or all("=" in pair for pair in parts.query.split("&"))
    is_split = "@" in parts.path or not is_query or bool(parts.fragment)
    if is_split or not all(port == "" or port.isdecimal() for port in ports):
        raise InvalidSetting(
            "has an invalid port or database; write special characters of a password as %40"
            " (for @), %2F (for /), %3A (for :), %3F (for ?) or %23 (for #)"
        )


def parse_content_store(text: str) -> ContentStoreSetting:
    """Parse `embedded`, `kubo:` with a node's address, `pinata`, `pinata-public`, or a bucket."""
    if text == "embedded":
        return EmbeddedContent()
    if text in ("pinata", "pinata-public"):
        return PinataContent(public=text == "pinata-public")
    kind, separator, address = text.partition(":")
    if separator and kind in BUCKET_SCHEMES:
        return _parse_bucket(kind, address)
    if separator and kind == "kubo":
        if parse_url(address).username is not None:
            raise InvalidSetting("must not name a user; use IMPRINT_KUBO_AUTHORIZATION for that")
        return KuboContent(address.rstrip("/"))
    raise InvalidSetting(
        "must be 'embedded', 'pinata', 'pinata-public', or like 'kubo:http://127.0.0.1:5001' or"
        " 's3://bucket/prefix'"
    )


def _parse_bucket(scheme: str, address: str) -> BucketContent:
    bucket, _, prefix = address.removeprefix("//").partition("/")
    prefix = prefix.removesuffix("/")
    if not address.startswith("//") or not _BUCKET.fullmatch(bucket):
        raise InvalidSetting(
            f"must name a bucket, like {scheme}://bucket or {scheme}://bucket/imprint"
        )
    if prefix and (
        len(prefix) > _LONGEST_PREFIX
        or not _PREFIX.fullmatch(prefix)
        or {".", ".."} & set(prefix.split("/"))
    ):
        raise InvalidSetting(
            "must have a prefix of letters, digits, '.', '_', '~' and '-' between slashes, without"
            " a query"
        )
    return BucketContent(scheme, bucket, prefix)


def is_exposed(endpoint: str) -> bool:
    """Whether requests to this address leave the machine unencrypted."""
    parts = urlsplit(endpoint)
    if parts.scheme != "http":
        return False
    if parts.hostname == "localhost":
        return False
    try:
        return not ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return True


def parse_gateway(text: str) -> str:
    """Parse the origin of a gateway. A bare host means https."""
    return parse_origin(text) if "://" in text else f"https://{parse_domain(text)}"


def parse_base_url(text: str) -> str:
    """Parse a URL to which paths are appended, without a trailing slash."""
    parts = parse_url(text)
    if parts.query or parts.fragment or parts.username is not None:
        raise InvalidSetting("must be a URL without a query or a user")
    return text.rstrip("/")


def parse_authorization(text: str) -> Secret:
    """Parse `bearer:token` or `basic:user:password`, as in Kubo's own configuration."""
    kind, separator, rest = text.partition(":")
    user, colon, _ = rest.partition(":")
    fits = bool(rest) if kind == "bearer" else kind == "basic" and bool(user) and bool(colon)
    if not separator or not fits or not text.isprintable() or not text.isascii():
        raise InvalidSetting("must be like 'bearer:token' or 'basic:user:password'")
    return Secret(text)


def authorization_header(secret: Secret) -> str:
    """Return the `Authorization` header for requests to the Kubo node."""
    kind, _, rest = secret.reveal().partition(":")
    if kind == "bearer":
        return f"Bearer {rest}"
    return "Basic " + b64encode(rest.encode()).decode()


def find_private_keys(secret: Secret) -> list[str]:
    """Return the lines of the private key in a Google service account's JSON, and the key's id."""
    try:
        fields = json.loads(secret.reveal())
        texts = [fields["private_key"], fields["private_key_id"]]
    except (ValueError, KeyError, TypeError):
        return []
    lines = [line for text in texts if isinstance(text, str) for line in text.splitlines()]
    return [line for line in lines if len(line) >= _SHORTEST_LINE and not line.startswith("-----")]


def find_credentials(secret: Secret) -> list[str]:
    """Return the token or password, plain and as in the header, neither of which may be logged."""
    kind, _, rest = secret.reveal().partition(":")
    plain = rest if kind == "bearer" else rest.partition(":")[2]
    return [each for each in (plain, authorization_header(secret).partition(" ")[2]) if each]
