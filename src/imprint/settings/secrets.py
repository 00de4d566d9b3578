"""Secrets: values that no log, no traceback and no printout ever shows."""

from collections.abc import Iterator, Mapping
from itertools import combinations

MIN_SECRET_BYTES = 32
"""How long a secret must be: as long as the signatures it makes."""

MIN_ISSUED_BYTES = 24
"""How long a webhook secret must be if a provider issued it, since its length is theirs."""

ISSUED_PREFIXES = ("whsec_", "qnsec_")
"""How the providers of deliveries begin the secrets that they issue."""

DEVELOPMENT_MARK = "development-only"
"""What is part of every secret that `imprint dev` brings, so that `serve` refuses it."""

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
_FEWEST_CHARACTERS = 8


class Secret:
    """A text that shows itself only when asked to by name."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def reveal_bytes(self) -> bytes:
        """The text itself, as bytes to sign with."""
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
        raise TypeError("A secret is not written down.")


def find_weakness(secret: Secret, issued: bool = False) -> str | None:
    """Why this secret protects nothing, as the end of a sentence; None if it may be used.

    `issued` says that a provider makes secrets of this kind.
    """
    text = secret.reveal()
    size = len(text.encode())
    needed = MIN_SECRET_BYTES
    if issued and text.startswith(ISSUED_PREFIXES):
        needed = MIN_ISSUED_BYTES
    if size < needed:
        return f"is {size} bytes long; it must have at least {needed}"
    if any(word in text.lower() for word in _PLACEHOLDERS):
        return "is a placeholder; make one with: openssl rand -hex 32"
    return None


def is_repetitive(secret: Secret) -> bool:
    """Whether this secret has few characters, or is a shorter text written several times."""
    text = secret.reveal()
    # The latter is so if, and only if, a text occurs early in its double.
    return len(set(text)) < _FEWEST_CHARACTERS or (text + text).find(text, 1) < len(text)


PREVIOUS = "_PREVIOUS"
"""How the names of settings end that hold a secret of until lately."""

_SHARED = "IMPRINT_WEBHOOK_"
"""How the names of secrets begin that somebody else knows too: the provider of deliveries."""

_MASTER = "IMPRINT_ENCRYPTION_KEY"
"""How the names of the keys begin that wrap the keys of documents."""


def find_dangers(secrets: Mapping[str, Secret]) -> list[str]:
    """What must not be served with, a sentence each: the weak, and own ones that strangers know.

    A master key that repeats itself is weak: what it protects can be tried out in public. A
    provider of deliveries knows what it signs with; if sessions were signed with the same, it could
    log in as anybody.
    """
    weak = {
        name: find_weakness(secret, issued=name.startswith(_SHARED))
        for name, secret in secrets.items()
    }
    dull = [name for name in _find_repetitive(secrets) if name.startswith(_MASTER)]
    return [
        *(f"{name} {weakness}." for name, weakness in weak.items() if weakness is not None),
        *(f"{name} repeats itself; make one with: openssl rand -hex 32." for name in dull),
        *(
            f"{second} is the same as {first}, and the provider of deliveries knows it."
            for first, second in _find_pairs(secrets)
            if first.startswith(_SHARED) != second.startswith(_SHARED)
        ),
    ]


def find_doubts(secrets: Mapping[str, Secret]) -> list[str]:
    """What can be served with, but was hardly meant so, a sentence each."""
    return [
        f"{name} repeats itself and may be guessed; make one with: openssl rand -hex 32."
        for name in _find_repetitive(secrets)
    ] + [
        f"{second} is the same as {first}; every secret should be its own."
        for first, second in _find_pairs(secrets)
    ]


def _find_repetitive(secrets: Mapping[str, Secret]) -> list[str]:
    return [name for name, secret in secrets.items() if is_repetitive(secret)]


def _find_pairs(secrets: Mapping[str, Secret]) -> Iterator[tuple[str, str]]:
    """The names of secrets that are the same, although they are for different things."""
    for (first, one), (second, other) in combinations(secrets.items(), 2):
        if one == other and first.removesuffix(PREVIOUS) != second.removesuffix(PREVIOUS):
            yield first, second
