"""`SearchIndex` in the database: how each database finds the newest matches.

SQLite's index yields matches from the newest to the oldest, so it stops after the limit.
PostgreSQL's yields all of them in any order, so it is queried for buckets of posts, the newest
first.
"""

# ruff: noqa: S608  every text here is made of constants; values are always named

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import Rule, Transaction, Value, moment_of
from imprint.adapters.stores.files import END
from imprint.adapters.stores.posts.index_reader import refuse_damaged_index
from imprint.adapters.stores.posts.index_sql import HOSTED
from imprint.adapters.stores.posts.index_tables import price_bytes
from imprint.adapters.stores.posts.index_writer import INDEX_LOCK
from imprint.adapters.stores.posts.post_words import CLEAR_BODY, DROP_TEXT, SET_BODY, UNWANT_TEXT
from imprint.domain.posts.search import MAX_TEXT, SearchQuery, SearchTerm, fold, pattern_of, score
from imprint.ports.post_index import Match, PendingText

LONGEST_PREFIX = 6
"""The longest prefixes of words in SQLite's index, in characters."""

_FREE = price_bytes(0)
"""The price zero in its stored form."""

FREE_TEXT = f"""
SELECT t.place, t.body FROM post_texts t JOIN posts p ON p.place = t.place
WHERE t.place = :place AND p.price = :free AND {HOSTED} IS NOT NULL"""
PENDING_TEXTS = f"""
SELECT w.place, p.post_id, p.price, p.created_at, {HOSTED} AS hosted
FROM pending_texts w LEFT JOIN posts p ON p.place = w.place
WHERE w.place > :after ORDER BY w.place LIMIT :limit"""
IS_FREE_AND_HOSTED = f"""
SELECT p.place FROM posts p
WHERE p.place = :place AND p.price = :free AND {HOSTED} IS NOT NULL"""
ADD_TEXT = "INSERT INTO post_texts (place, body) VALUES (:place, :body)"

NEWEST_MATCHES = """
SELECT s.place, s.folded FROM newest_matches(:terms, :patterns, :before, :wanted) AS m (place)
JOIN post_search s ON s.place = m.place
ORDER BY s.place DESC"""

FindRule = Rule[SearchQuery, int, int, list[Match]]


@dataclass(frozen=True, slots=True)
class SqlSearchIndex:
    """`SearchIndex` with its database's rule for finding posts."""

    database: Database
    find: FindRule

    async def find_posts(self, query: SearchQuery, before: int | None, limit: int) -> list[Match]:
        if not query.terms:
            return []
        refuse_damaged_index(self.database)
        end = END if before is None else before
        return await self.database.cached(
            ("search", query, end, limit),
            lambda: self.database.read(self.find, query, end, limit, reach=limit),
        )

    async def free_texts(self, places: Sequence[int]) -> dict[int, str]:
        refuse_damaged_index(self.database)
        return await self.database.read(_free_texts, tuple(places), reach=len(places))

    async def pending_texts(self, after: int, limit: int) -> list[PendingText]:
        return await self.database.read(_pending_texts, after, limit, reach=limit)

    async def store_text(self, place: int, text: str) -> None:
        body = await asyncio.to_thread(fold, text)
        await self.database.transact(INDEX_LOCK, _store_text, place, text[:MAX_TEXT], body)

    async def skip_text(self, place: int) -> None:
        await self.database.transact(INDEX_LOCK, _skip_text, place)


async def find_in_sqlite(
    tx: Transaction, query: SearchQuery, before: int, limit: int
) -> list[Match]:
    """The newest matches by FTS5. Prefixes longer than its index has are compared with rows."""
    long = [pattern_of(term) for term in query.terms if _is_long(term)]
    values: dict[str, Value] = {f"part{number}": part for number, part in enumerate(long)}
    values["match"] = " AND ".join(map(_fts_term, query.terms))
    rows = await tx.fetchall(_sqlite_text(len(long)), **values, before=before, limit=limit)
    return [
        Match(row["place"], score(query, row["title"], row["hashtags"], row["description"]))
        for row in rows
    ]


def _is_long(term: SearchTerm) -> bool:
    return term.prefix and len(term.words[0]) > LONGEST_PREFIX


def _fts_term(term: SearchTerm) -> str:
    """A term in FTS5 syntax; words have only letters and digits, and need no escaping."""
    words = " ".join(term.words)
    return f'"{words[:LONGEST_PREFIX]}"*' if term.prefix else f'"{words}"'


@lru_cache(maxsize=32)
def _sqlite_text(parts: int) -> str:
    columns = ("title", "hashtags", "description", "body")
    also = "".join(
        f" AND ({' OR '.join(f'instr({column}, :part{number})' for column in columns)})"
        for number in range(parts)
    )
    return f"""
SELECT rowid AS place, title, hashtags, description FROM post_search
WHERE post_search MATCH :match AND rowid < :before{also} ORDER BY rowid DESC LIMIT :limit"""


async def find_in_postgresql(
    tx: Transaction, query: SearchQuery, before: int, limit: int
) -> list[Match]:
    """The newest matches, by a function of the database."""
    terms = "\n".join(map(_tsquery_term, query.terms))
    patterns = "\n".join(map(pattern_of, query.terms))
    rows = await tx.fetchall(
        NEWEST_MATCHES, terms=terms, patterns=patterns, before=before, wanted=limit
    )
    # Folded words contain no line breaks; those in the text separate the three parts.
    return [Match(row["place"], score(query, *row["folded"].split("\n"))) for row in rows]


def _tsquery_term(term: SearchTerm) -> str:
    """A term in PostgreSQL's syntax; words have only letters and digits, and need no escaping.

    The number of a bucket goes before each `~`.
    """
    mark = ":*" if term.prefix else ""
    return " & ".join(f"'~{word}'{mark}" for word in term.words)


async def _free_texts(tx: Transaction, places: tuple[int, ...]) -> dict[int, str]:
    texts = {}
    for place in places:
        row = await tx.fetchone(FREE_TEXT, place=place, free=_FREE)
        if row is not None:
            texts[place] = row["body"]
    return texts


async def _pending_texts(tx: Transaction, after: int, limit: int) -> list[PendingText]:
    rows = await tx.fetchall(PENDING_TEXTS, after=after, limit=limit)
    return [
        PendingText(
            row["place"],
            None if row["post_id"] is None else int(row["post_id"]),
            row["price"] == _FREE,
            row["hosted"] is not None,
            moment_of(row["created_at"] or 0),
        )
        for row in rows
    ]


async def _store_text(tx: Transaction, place: int, text: str, body: str) -> None:
    row = await tx.fetchone(IS_FREE_AND_HOSTED, place=place, free=_FREE)
    await tx.execute(CLEAR_BODY, place=place)
    await tx.execute(DROP_TEXT, place=place)
    await tx.execute(UNWANT_TEXT, place=place)
    if row is not None:
        await tx.execute(SET_BODY, place=place, body=body)
        await tx.execute(ADD_TEXT, place=place, body=text)


async def _skip_text(tx: Transaction, place: int) -> None:
    await tx.execute(UNWANT_TEXT, place=place)
