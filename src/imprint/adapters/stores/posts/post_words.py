"""Words of posts in the search index, maintained in the same transactions as the posts."""

from collections.abc import Sequence
from dataclasses import dataclass

from imprint.adapters.database.transaction import Sql, Transaction
from imprint.adapters.stores.posts.index_sql import HOSTED
from imprint.domain.posts.search import fold

BUCKET = 32_768
"""Number of posts per bucket of PostgreSQL's search index. The words of a post begin with the
number of its bucket and a mark that no word contains, so that the newest matches are found without
reading older ones."""

_VECTOR = (
    "(SELECT array_to_tsvector(coalesce(array_agg({bucket} || '~' || word), '{{}}'))"
    " FROM unnest(string_to_array({words}, ' ')) AS w (word) WHERE word <> '')"
)
"""Builds PostgreSQL's vectors from folded words, without a parser."""
_NEXT_BUCKET = f"coalesce((SELECT posts / {BUCKET} FROM market_totals), 0)"  # noqa: S608
_FOLDED = "translate(folded, chr(10), ' ')"
_NEW = "CAST(:title AS TEXT) || {gap} || CAST(:hashtags AS TEXT) || {gap} || :description"

WANT_TEXT = "INSERT INTO pending_texts (place) VALUES (:place) ON CONFLICT (place) DO NOTHING"
WANT_HOSTED_TEXTS = f"""
INSERT INTO pending_texts (place)
SELECT p.place FROM posts p WHERE p.place BETWEEN :first AND :last AND {HOSTED} IS NOT NULL
ON CONFLICT (place) DO NOTHING"""  # noqa: S608
WANT_TEXT_OF_POST = """
INSERT INTO pending_texts (place)
SELECT place FROM posts WHERE post_id = :post_id
ON CONFLICT (place) DO NOTHING"""
UNWANT_TEXT = "DELETE FROM pending_texts WHERE place = :place"
DROP_TEXT = "DELETE FROM post_texts WHERE place = :place"
DROP_FACTS = "DELETE FROM text_facts WHERE cid = :cid"
ADD_WORDS = Sql(
    """
INSERT INTO post_search (rowid, title, hashtags, description, body)
VALUES (:place, :title, :hashtags, :description, '')""",
    postgresql=f"""
INSERT INTO post_search (place, bucket, folded, words)
VALUES (:place, {_NEXT_BUCKET}, {_NEW.format(gap="chr(10)")},
        {_VECTOR.format(words=_NEW.format(gap="' '"), bucket=_NEXT_BUCKET)})""",  # noqa: S608
)
DROP_WORDS = Sql(
    "DELETE FROM post_search WHERE rowid = :place",
    postgresql="DELETE FROM post_search WHERE place = :place",
)
CLEAR_BODY = Sql(
    """
UPDATE post_search SET body = ''
WHERE rowid IN (SELECT place FROM post_texts WHERE place = :place)""",
    postgresql=f"""
UPDATE post_search SET body = '', words = {_VECTOR.format(words=_FOLDED, bucket="bucket")}
WHERE place IN (SELECT place FROM post_texts WHERE place = :place)""",  # noqa: S608
)
SET_BODY = Sql(
    "UPDATE post_search SET body = :body WHERE rowid = :place",
    postgresql=f"""
UPDATE post_search
SET body = :body,
    words = {_VECTOR.format(words=f"{_FOLDED} || CAST(:body AS TEXT)", bucket="bucket")}
WHERE place = :place""",  # noqa: S608
)


@dataclass(frozen=True, slots=True)
class PostWords:
    """The searchable texts of all posts."""

    place: int
    title: str
    description: str
    hashtags: tuple[str, ...]


async def add_words(tx: Transaction, posts: Sequence[PostWords]) -> None:
    """Make new posts searchable by title, description and hashtags."""
    await tx.executemany(
        ADD_WORDS,
        [
            {
                "place": post.place,
                "title": fold(post.title),
                "hashtags": fold(" ".join(post.hashtags)),
                "description": fold(post.description),
            }
            for post in posts
        ],
    )


async def drop_words(tx: Transaction, places: Sequence[int]) -> None:
    """Delete posts that are no longer on the chain, with their texts."""
    rows = [{"place": place} for place in places]
    for statement in (DROP_WORDS, DROP_TEXT, UNWANT_TEXT):
        await tx.executemany(statement, rows)


async def drop_texts(tx: Transaction, places: Sequence[int]) -> None:
    """Delete the texts of posts that are no longer free."""
    rows = [{"place": place} for place in places]
    for statement in (CLEAR_BODY, DROP_TEXT, UNWANT_TEXT):
        await tx.executemany(statement, rows)


async def want_texts(tx: Transaction, places: Sequence[int]) -> None:
    """Queue posts for text indexing."""
    await tx.executemany(WANT_TEXT, [{"place": place} for place in places])


async def want_hosted_texts(tx: Transaction, ranges: Sequence[tuple[int, int]]) -> None:
    """Queue the posts in these ranges of positions whose documents are stored here."""
    rows = [{"first": first, "last": last} for first, last in ranges]
    await tx.executemany(WANT_HOSTED_TEXTS, rows)
