"""Judging secrets: which of them protect nothing, and which are only doubtful."""

from collections.abc import Iterator, Mapping
from itertools import combinations

from imprint.settings.secrets import Secret, find_weakness, is_repetitive

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
