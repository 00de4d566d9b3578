"""Where records and documents are kept, as tagged unions: one value for each kind of place."""

from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

from imprint.settings.parsers import read_domain, read_origin, read_url
from imprint.settings.secrets import Secret
from imprint.settings.setting import Unreadable


@dataclass(frozen=True, slots=True)
class SqliteDatabase:
    """One file on this machine."""

    path: Path


@dataclass(frozen=True, slots=True)
class PostgresqlDatabase:
    """A PostgreSQL server; its URL may carry a password, so it is a secret."""

    url: Secret


Database = SqliteDatabase | PostgresqlDatabase


@dataclass(frozen=True, slots=True)
class EmbeddedContent:
    """Documents in the data folder."""

    @property
    def public(self) -> bool:
        """Whether strangers can fetch what is stored here, if they know its cid."""
        return False


@dataclass(frozen=True, slots=True)
class KuboContent:
    """Documents on a Kubo node, through its RPC address."""

    api: str

    @property
    def public(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class PinataContent:
    """Documents at Pinata: in its private network, or all of them in the public one."""

    public: bool = False


ContentPlace = EmbeddedContent | KuboContent | PinataContent


def read_database(text: str) -> Database:
    """`sqlite:///relative`, `sqlite:////absolute` or `postgresql://…`."""
    scheme, mark, rest = text.partition("://")
    if mark and scheme == "sqlite":
        path = rest.removeprefix("/")
        if not rest.startswith("/") or not path or "?" in path:
            raise Unreadable("must name a file after sqlite:///, like sqlite:///data/imprint.db")
        return SqliteDatabase(Path(path).expanduser())
    if mark and scheme in ("postgresql", "postgres") and rest.strip("/"):
        return PostgresqlDatabase(Secret(text))
    raise Unreadable("must begin with sqlite:/// or postgresql://")


def read_content_place(text: str) -> ContentPlace:
    """`embedded`, `kubo:` and the address of a node, `pinata` or `pinata-public`."""
    if text == "embedded":
        return EmbeddedContent()
    if text in ("pinata", "pinata-public"):
        return PinataContent(public=text == "pinata-public")
    kind, mark, address = text.partition(":")
    if mark and kind == "kubo":
        if read_url(address).username is not None:
            raise Unreadable("must not name a user; that is what IMPRINT_KUBO_AUTHORIZATION is for")
        return KuboContent(address.rstrip("/"))
    raise Unreadable(
        "must be 'embedded', 'pinata', 'pinata-public', or like 'kubo:http://127.0.0.1:5001'"
    )


def read_gateway(text: str) -> str:
    """The origin of a gateway; a bare host is reached over https."""
    return read_origin(text) if "://" in text else f"https://{read_domain(text)}"


def read_base(text: str) -> str:
    """A URL that paths are added to."""
    parts = read_url(text)
    if parts.query or parts.fragment or parts.username is not None:
        raise Unreadable("must be a URL without a query and a user")
    return text.rstrip("/")


def read_authorization(text: str) -> Secret:
    """`bearer:token` or `basic:user:password`, as a Kubo node has them in its own settings."""
    kind, mark, rest = text.partition(":")
    user, colon, _ = rest.partition(":")
    fits = bool(rest) if kind == "bearer" else kind == "basic" and bool(user) and bool(colon)
    if not mark or not fits or not text.isprintable() or not text.isascii():
        raise Unreadable("must be like 'bearer:token' or 'basic:user:password'")
    return Secret(text)


def write_authorization(secret: Secret) -> str:
    """The header that a request to the node carries."""
    kind, _, rest = secret.reveal().partition(":")
    if kind == "bearer":
        return f"Bearer {rest}"
    return "Basic " + b64encode(rest.encode()).decode()


def find_credentials(secret: Secret) -> list[str]:
    """The parts of an authorization that must never be logged."""
    kind, _, rest = secret.reveal().partition(":")
    own = rest if kind == "bearer" else rest.partition(":")[2]
    return [each for each in (own, write_authorization(secret).partition(" ")[2]) if each]
