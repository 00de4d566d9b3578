"""Secrets: values that are never printed, and checks of secrets set by an operator."""

from collections.abc import Iterator, Mapping
from itertools import combinations
from urllib.parse import unquote_plus, urlsplit

MIN_SECRET_BYTES = 32
"""Minimum length of a secret in bytes, equal to the length of an HMAC-SHA256 signature."""

MIN_ISSUED_BYTES = 24
"""Minimum length in bytes of a webhook secret, whose length the provider chooses."""

ISSUED_PREFIXES = ("whsec_", "qnsec_")
"""The prefixes of secrets that webhook providers issue."""

DEVELOPMENT_MARK = "development-only"
"""Text in every secret of `imprint dev`, by which `imprint serve` recognizes and refuses it."""

PREVIOUS = "_PREVIOUS"
"""The suffix of settings that hold the previous secret after a rotation."""

_WEBHOOK_PREFIX = "IMPRINT_WEBHOOK_"
"""The prefix of settings whose secrets a webhook provider also knows."""

_MASTER_KEY_PREFIX = "IMPRINT_ENCRYPTION_KEY"
"""The prefix of settings that hold a master key."""

_FEWEST_CHARACTERS = 8
"""Number of distinct characters below which a secret counts as repetitive."""

_SHORTEST_KEY = 8
"""Minimum length of a URL component that is treated as an API key."""

_PLACEHOLDERS = (
    DEVELOPMENT_MARK,
    "changeme",
    "change-me",
    "change_me",
    "changethis",
    "change this",
    "insecure",
    "mysecret",
    "placeholder",
    "replaceme",
    "replace-me",
    "replace_me",
    "supersecret",
    "super-secret",
    "your-",
    "your_",
)


class Secret:
    """A text that `reveal` returns, but that printing, formatting or pickling never shows."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the secret text itself."""
        return self._text

    def reveal_bytes(self) -> bytes:
        """Return the text in UTF-8, as a signing key."""
        return self._text.encode()

    def __repr__(self) -> str:
        return "Secret(…)"

    def __str__(self) -> str:
        return "…"

    def __format__(self, spec: str) -> str:
        return "…"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> str:
        raise TypeError("A secret cannot be pickled.")


def find_problems(secrets: Mapping[str, Secret]) -> list[str]:
    """Return why `imprint serve` must not start with these secrets, one sentence each.

    A repetitive master key is refused, because encrypted documents are public and keys can
    be guessed offline. A webhook provider knows its own secret: if it also signed sessions,
    the provider could log in as anybody.
    """
    weak = {
        name: find_weakness(secret, issued=name.startswith(_WEBHOOK_PREFIX))
        for name, secret in secrets.items()
    }
    repetitive = [name for name in _find_repetitive(secrets) if name.startswith(_MASTER_KEY_PREFIX)]
    return [
        *(f"{name} {weakness}." for name, weakness in weak.items() if weakness is not None),
        *(
            f"{name} is a repeated pattern; make one with: openssl rand -hex 32."
            for name in repetitive
        ),
        *(
            f"{second} is the same as {first}, and the provider of deliveries knows it."
            for first, second in _find_pairs(secrets)
            if first.startswith(_WEBHOOK_PREFIX) != second.startswith(_WEBHOOK_PREFIX)
        ),
    ]


def find_warnings(secrets: Mapping[str, Secret]) -> list[str]:
    """Return warnings about settings that are allowed but look like mistakes, one sentence each."""
    return [
        f"{name} is a repeated pattern that can be guessed; make one with: openssl rand -hex 32."
        for name in _find_repetitive(secrets)
    ] + [
        f"{second} is the same as {first}; every secret should be different."
        for first, second in _find_pairs(secrets)
    ]


def find_weakness(secret: Secret, issued: bool = False) -> str | None:
    """Return why this secret is too weak, as the end of a sentence, or None if it is strong enough.

    `issued` means that a webhook provider issues secrets of this type.
    """
    text = secret.reveal()
    size = len(secret.reveal_bytes())
    by_provider = issued and text.startswith(ISSUED_PREFIXES)
    needed = MIN_ISSUED_BYTES if by_provider else MIN_SECRET_BYTES
    if size < needed:
        return f"is {size} bytes long; it must have at least {needed}"
    if any(word in text.lower() for word in _PLACEHOLDERS):
        return "is a placeholder; make one with: openssl rand -hex 32"
    return None


def _find_repetitive(secrets: Mapping[str, Secret]) -> list[str]:
    return [name for name, secret in secrets.items() if _is_repetitive(secret.reveal())]


def _is_repetitive(text: str) -> bool:
    # A text is a repetition of a shorter one if and only if two copies of it in a row contain it
    # at an offset above 0 and below its length.
    return len(set(text)) < _FEWEST_CHARACTERS or (text + text).find(text, 1) < len(text)


def _find_pairs(secrets: Mapping[str, Secret]) -> Iterator[tuple[str, str]]:
    """Return the names of equal secrets with different purposes."""
    for (first, one), (second, other) in combinations(secrets.items(), 2):
        if one == other and first.removesuffix(PREVIOUS) != second.removesuffix(PREVIOUS):
            yield first, second


_SHOWN_ARGUMENTS = frozenset({"host", "port", "dbname", "user", "sslmode"})
"""Database URL arguments that are not secret."""


def secret_parts(url: str) -> list[str]:
    """Return the components of a node or database URL that must never be logged.

    For a node, these are all components except the host. The name, host and user of a database are
    shown.
    """
    parts = urlsplit(url)
    is_node = parts.scheme.startswith("http")
    pairs = [pair.partition("=") for pair in parts.query.split("&")]
    arguments = [text or name for name, _, text in pairs if is_node or name not in _SHOWN_ARGUMENTS]
    keys = [parts.password or "", parts.query, *arguments]
    if is_node:
        # A node has no users, so a user name is an API key.
        keys += [parts.username or "", *parts.path.split("/")]
    spellings = dict.fromkeys([*keys, *map(unquote_plus, keys)])
    return [key for key in spellings if len(key) >= _SHORTEST_KEY]
