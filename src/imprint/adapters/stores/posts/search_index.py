"""`SearchIndex` in the database: how each database finds the newest matches.

SQLite's index yields matches from newest to oldest, so the search stops after the limit.
PostgreSQL's index yields all matches in any order, so it is queried by buckets of posts, newest
first. If the index does not finish in time, the rows of the newest posts are scanned, as far as
time allows.
"""

# ruff: noqa: S608  every text here is made of constants; values are always named

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import Row, Rule, Sql, Transaction, Value, moment_of
from imprint.adapters.stores.files import END
from imprint.adapters.stores.posts.index_reader import LOWEST_SHOWN, refuse_damaged_index
from imprint.adapters.stores.posts.index_sql import HOSTED, NEWEST_REVISION
from imprint.adapters.stores.posts.index_tables import price_bytes
from imprint.adapters.stores.posts.index_writer import INDEX_LOCK
from imprint.adapters.stores.posts.post_words import CLEAR_BODY, DROP_TEXT, SET_BODY, UNWANT_TEXT
from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import PostScope
from imprint.domain.posts.openings import TextFacts
from imprint.domain.posts.search import SearchQuery, SearchTerm, fold, score
from imprint.ports.post_index import Match, Matches, PendingText

LONGEST_PREFIX = 6
"""Length in characters of the longest word prefixes in SQLite's index."""

_PAGES = 64
"""Maximum number of database pages to visit when reading a text."""

_FREE = price_bytes(0)
"""The price zero in stored form."""

PUBLIC_TEXT = f"""
SELECT t.place, t.body FROM post_texts t JOIN posts p ON p.place = t.place
WHERE t.place = :place AND (p.price = :free OR t.is_opening = 1) AND {HOSTED} IS NOT NULL"""
PENDING_TEXTS = f"""
SELECT w.place, p.post_id, p.author, p.cid, p.price, p.created_at, {HOSTED} AS hosted
FROM pending_texts w LEFT JOIN posts p ON p.place = w.place
WHERE w.place > :after ORDER BY w.place LIMIT :limit"""
NEWEST_TEXT = f"""
SELECT p.price, p.cid, {NEWEST_REVISION.format(column="cid")} AS newest FROM posts p
WHERE p.place = :place AND {HOSTED} IS NOT NULL"""
ADD_TEXT = """
INSERT INTO post_texts (place, body, is_opening) VALUES (:place, :body, :is_opening)"""
ADD_FACTS = """
INSERT INTO text_facts (cid, words, has_opening) VALUES (:cid, :words, :has_opening)
ON CONFLICT (cid) DO UPDATE SET words = excluded.words, has_opening = excluded.has_opening"""

_SHOWN = "(SELECT p.shown FROM posts p WHERE p.place = {place})"
"""The `posts.shown` of a match, as a scalar subquery, which PostgreSQL never turns into a join."""

NEWEST_MATCHES = f"""
SELECT s.place, s.folded, {_SHOWN.format(place="s.place")} AS shown
FROM newest_matches(:terms, :patterns, :before, :wanted) AS m (place)
JOIN post_search s ON s.place = m.place
ORDER BY s.place DESC"""

ROUNDS = 4
"""Maximum number of queries per search. While too few matches are in scope, another query requests
twice as many."""

FindRule = Rule[SearchQuery, int, int, PostScope, Matches]

WALK = Sql(
    f"""
SELECT s.rowid AS place, title || char(10) || hashtags || char(10) || description AS folded,
       {_SHOWN.format(place="s.rowid")} AS shown,
       length(title) + length(hashtags) + length(description) + length(body) AS size,
       NOT EXISTS (
           SELECT 1 FROM json_each('["' || replace(:patterns, char(10), '","') || '"]') AS p
           WHERE instr(title, p.value) = 0 AND instr(hashtags, p.value) = 0
               AND instr(description, p.value) = 0 AND instr(body, p.value) = 0) AS matches
FROM post_search s WHERE s.rowid < :before ORDER BY s.rowid DESC LIMIT :limit""",
    postgresql=f"""
SELECT s.place, s.folded, {_SHOWN.format(place="s.place")} AS shown,
       length(s.folded) + length(s.body) AS size,
       NOT EXISTS (
           SELECT 1 FROM unnest(string_to_array(:patterns, chr(10))) AS p (part)
           WHERE strpos(s.folded, p.part) = 0 AND strpos(s.body, p.part) = 0) AS matches
FROM post_search s WHERE s.place < :before ORDER BY s.place DESC LIMIT :limit""",
)
"""Compares the newest rows with all patterns, which have only letters, digits and spaces."""

WALKED_AT_ONCE = 16
"""Number of rows per statement of a scan. A row may be up to 128 KiB."""

WALKED = 2 * 1024 * 1024
"""Number of characters after which a scan ends."""

_ROW = 256
"""Number of characters that each row counts as, in addition to its text."""


@dataclass(frozen=True, slots=True)
class SqlSearchIndex:
    """`SearchIndex` with the rule by which its database finds posts."""

    database: Database
    find: FindRule

    async def find_posts(
        self,
        query: SearchQuery,
        before: int | None,
        limit: int,
        scope: PostScope = PostScope.CHAIN,
    ) -> Matches:
        if not query.terms:
            return Matches(())
        refuse_damaged_index(self.database)
        end = END if before is None else before
        return await self.database.cached(
            ("search", query, end, limit, scope),
            lambda: self.database.search(self.find, walk_posts, query, end, limit, scope),
        )

    async def public_texts(self, places: Sequence[int]) -> dict[int, str]:
        refuse_damaged_index(self.database)
        reach = _PAGES * len(places)
        return await self.database.read(_public_texts, tuple(places), reach=reach)

    async def pending_texts(self, after: int, limit: int) -> list[PendingText]:
        return await self.database.read(_pending_texts, after, limit, reach=limit)

    async def store_text(
        self, pending: PendingText, cid: Cid, facts: TextFacts, *, is_free: bool
    ) -> bool:
        text = facts.searched if is_free else facts.opening
        public = None
        if text is not None:
            public = _PublicText(text, await asyncio.to_thread(fold, text), not is_free)
        return await self.database.transact(INDEX_LOCK, _store_text, pending, cid, facts, public)

    async def skip_text(self, place: int) -> None:
        await self.database.transact(INDEX_LOCK, _skip_text, place)


async def find_in_sqlite(
    tx: Transaction, query: SearchQuery, before: int, limit: int, scope: PostScope
) -> Matches:
    """The newest FTS5 matches. Prefixes longer than those in the index are compared with rows."""
    long = [term.pattern for term in query.terms if _is_long(term)]
    values: dict[str, Value] = {f"part{number}": part for number, part in enumerate(long)}
    values["match"] = " AND ".join(map(_fts_term, query.terms))
    statement = _sqlite_text(len(long), LOWEST_SHOWN[scope])
    rows = await tx.fetchall(statement, **values, before=before, limit=limit)
    found = [_match(query, row) for row in rows]
    return Matches(found, found[-1].place if len(found) == limit else None)


def _is_long(term: SearchTerm) -> bool:
    return term.prefix and len(term.words[0]) > LONGEST_PREFIX


def _fts_term(term: SearchTerm) -> str:
    """A term in FTS5 syntax. Words have only letters and digits, so they need no escaping."""
    words = " ".join(term.words)
    return f'"{words[:LONGEST_PREFIX]}"*' if term.prefix else f'"{words}"'


@lru_cache(maxsize=32)
def _sqlite_text(parts: int, shown: int) -> str:
    columns = ("title", "hashtags", "description", "body")
    also = "".join(
        f" AND ({' OR '.join(f'instr({column}, :part{number})' for column in columns)})"
        for number in range(parts)
    )
    if shown:
        also += f" AND {_SHOWN.format(place='post_search.rowid')} >= {shown}"
    return f"""
SELECT rowid AS place, title || char(10) || hashtags || char(10) || description AS folded
FROM post_search
WHERE post_search MATCH :match AND rowid < :before{also} ORDER BY rowid DESC LIMIT :limit"""


async def find_in_postgresql(
    tx: Transaction, query: SearchQuery, before: int, limit: int, scope: PostScope
) -> Matches:
    """The newest matches within the scope, found by a database function."""
    terms = "\n".join(map(_tsquery_term, query.terms))
    patterns = "\n".join(term.pattern for term in query.terms)
    found: list[Match] = []
    for number in range(ROUNDS):
        wanted = limit << number
        rows = await tx.fetchall(
            NEWEST_MATCHES, terms=terms, patterns=patterns, before=before, wanted=wanted
        )
        found += [_match(query, row) for row in rows if _is_in(row, scope)]
        if len(found) >= limit:
            return Matches(found[:limit], found[limit - 1].place)
        if len(rows) < wanted:
            return Matches(found)
        before = rows[-1]["place"]
    return Matches(found, before)


def _is_in(row: Row, scope: PostScope) -> bool:
    """Whether a match is in a scope. A post that a reorg has just removed is in no scope."""
    return row["shown"] is not None and row["shown"] >= LOWEST_SHOWN[scope]


def _match(query: SearchQuery, row: Row) -> Match:
    # Folded words contain no line breaks, so each line break separates two of the three texts.
    return Match(row["place"], score(query, *row["folded"].split("\n")))


async def walk_posts(
    tx: Transaction, query: SearchQuery, before: int, limit: int, scope: PostScope
) -> Matches:
    """Matches among the newest posts, compared one by one. Ends after `WALKED` characters."""
    patterns = "\n".join(term.pattern for term in query.terms)
    found: list[Match] = []
    left = WALKED
    while True:
        values: dict[str, Value] = {"patterns": patterns, "before": before}
        rows = await tx.fetchall(WALK, **values, limit=WALKED_AT_ONCE)
        for row in rows:
            before = row["place"]
            left -= _ROW + row["size"]
            if row["matches"] and _is_in(row, scope):
                found.append(_match(query, row))
            if left <= 0 or len(found) == limit:
                return Matches(found, before, is_cut=True)
        if len(rows) < WALKED_AT_ONCE:
            return Matches(found, is_cut=True)


def _tsquery_term(term: SearchTerm) -> str:
    """A term in PostgreSQL syntax. Words have only letters and digits, so they need no escaping.

    The database function inserts a bucket number before each `~`.
    """
    mark = ":*" if term.prefix else ""
    return " & ".join(f"'~{word}'{mark}" for word in term.words)


async def _public_texts(tx: Transaction, places: tuple[int, ...]) -> dict[int, str]:
    texts = {}
    for place in places:
        row = await tx.fetchone(PUBLIC_TEXT, place=place, free=_FREE)
        if row is not None:
            texts[place] = row["body"]
    return texts


async def _pending_texts(tx: Transaction, after: int, limit: int) -> list[PendingText]:
    rows = await tx.fetchall(PENDING_TEXTS, after=after, limit=limit)
    return [
        PendingText(
            row["place"],
            None if row["post_id"] is None else int(row["post_id"]),
            Address(row["author"] or ZERO_ADDRESS),
            None if row["cid"] is None else Cid(row["cid"]),
            row["price"] == _FREE,
            row["hosted"] is not None,
            moment_of(row["created_at"] or 0),
        )
        for row in rows
    ]


class _PublicText(NamedTuple):
    """A text that everybody may search: the text of a free post, or the opening of a paid one."""

    text: str
    folded: str
    is_opening: bool


async def _store_text(
    tx: Transaction, pending: PendingText, cid: Cid, facts: TextFacts, public: _PublicText | None
) -> bool:
    """Store a text's `TextFacts`, and the part of the text that everybody may search.

    Returns False if the post has a newer text, or has become free or paid. The text then remains
    pending.
    """
    place = pending.place
    row = await tx.fetchone(NEWEST_TEXT, place=place)
    if row is not None:
        if (row["price"] == _FREE) is not pending.free:
            return False
        if (row["newest"] or row["cid"]) not in (None, cid):
            return False
    await tx.execute(CLEAR_BODY, place=place)
    await tx.execute(DROP_TEXT, place=place)
    await tx.execute(UNWANT_TEXT, place=place)
    if row is None:
        return True
    if pending.cid is not None:
        has_opening = int(facts.opening is not None)
        await tx.execute(ADD_FACTS, cid=cid, words=facts.words, has_opening=has_opening)
    if public is not None:
        await tx.execute(SET_BODY, place=place, body=public.folded)
        await tx.execute(ADD_TEXT, place=place, body=public.text, is_opening=int(public.is_opening))
    return True


async def _skip_text(tx: Transaction, place: int) -> None:
    await tx.execute(UNWANT_TEXT, place=place)
