"""Where records and documents are kept, as tagged unions: one value for each kind of place."""

from dataclasses import dataclass
from pathlib import Path

from imprint.settings.problems import Unreadable
from imprint.settings.readers import read_url
from imprint.settings.secrets import Secret


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
        read_url(address)
        return KuboContent(address.rstrip("/"))
    raise Unreadable(
        "must be 'embedded', 'pinata', 'pinata-public', or like 'kubo:http://127.0.0.1:5001'"
    )
