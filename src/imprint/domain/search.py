"""Search: the words of a text, the words of a query, and snippets with marks."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchTerm:
    """Consecutive folded words; `prefix` if the last one may be the beginning of a word."""

    words: tuple[str, ...]
    prefix: bool


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """All terms must be in a post. Without terms, nothing matches."""

    terms: tuple[SearchTerm, ...]
