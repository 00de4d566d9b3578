"""Statements that read the post index, in SQL that SQLite and PostgreSQL both understand.

A list is found in two steps: first the positions of its posts, by walking one index in order, then
the posts at these positions. A filter that the index does not cover is applied to a limited number
of candidates, in a subquery with a limit, which neither database reorders or flattens.
"""

# ruff: noqa: S608  every text here is made of constants; values are always named

from dataclasses import dataclass
from functools import lru_cache

from imprint.adapters.database.transaction import Sql

WALK = 5_000
"""Number of candidates visited per request. The page token continues after the last one."""

SORTED = 2_000
"""Maximum number of a tag's or author's posts that are sorted by sales or price."""

BATCHES = (1, 4, 16, 64, 256)
"""Batch sizes for looking up keys. The last key is repeated to fill a batch."""

HOSTED = "(SELECT 1 FROM files f WHERE f.post_id = p.post_id AND f.state = 'onchain' LIMIT 1)"
"""1 if the document of post `p` is stored here, NULL otherwise."""

NEWEST_REVISION = (
    "(SELECT r.{column} FROM revisions r WHERE r.document = p.cid AND r.owner = p.author"
    " ORDER BY r.number DESC LIMIT 1)"
)
"""A column of the newest revision of post `p`'s document, or NULL if there is none."""

_SHOWN_TEXT = f"""
(SELECT t.{{column}} FROM files f
 JOIN text_facts t ON t.cid = COALESCE({NEWEST_REVISION.format(column="cid")}, f.cid)
 WHERE f.post_id = p.post_id AND f.state = 'onchain' AND f.cid = p.cid LIMIT 1)"""
"""A column of the newest text of post `p`, if its document is stored here."""

POST_COLUMNS = f"""
SELECT p.place, p.post_id, p.author, p.cid, p.spelled_cid, p.thumbnail_cid, p.title, p.description,
       p.price, p.first_price, p.hashtags, p.created_at, p.block_hash, p.tx_hash, p.sales, p.volume,
       p.holders, {HOSTED} AS hosted,
       (SELECT a.name FROM profiles a WHERE a.address = p.author) AS byline,
       (SELECT a.avatar_cid FROM profiles a WHERE a.address = p.author) AS avatar,
       {_SHOWN_TEXT.format(column="words")} AS words,
       {_SHOWN_TEXT.format(column="has_opening")} AS has_opening,
       {NEWEST_REVISION.format(column="number")} AS revision,
       {NEWEST_REVISION.format(column="note")} AS note,
       {NEWEST_REVISION.format(column="created_at")} AS revised_at
FROM posts p"""
"""Columns of a post, in the order of the parameters of `index_reader.build_post`."""

POSTS_WITH_THUMBNAIL = (
    POST_COLUMNS
    + """ JOIN files f ON f.cid = p.cid AND f.owner = p.author
WHERE p.thumbnail_cid = :thumbnail_cid AND f.state = 'onchain' LIMIT :limit"""
)
POST_BY_ID = POST_COLUMNS + " WHERE p.post_id = :post_id"


def _tags_of_posts(among: str) -> str:
    return f"""
SELECT post_id, hashtags FROM posts WHERE post_id {among}
UNION ALL
SELECT f.post_id, g.hashtags FROM files f JOIN file_groups g ON g.id = f.group_id
WHERE f.post_id {among} AND f.state = 'onchain'"""


TAGS_OF_POSTS = Sql(
    _tags_of_posts("IN (SELECT t.value FROM json_each(:ids) t)"),
    postgresql=_tags_of_posts(
        "= ANY (ARRAY(SELECT jsonb_array_elements_text(CAST(:ids AS jsonb))))"
    ),
)
"""The hashtags of posts on the chain, and of their files."""
INDEX_STATE = "SELECT chain_id, contract, final_block FROM index_state WHERE only_row = 1"
IS_COMPLETE = "SELECT complete FROM index_state WHERE only_row = 1"
ACCOUNT = """
SELECT address, posts, first_post_at, last_post_at, sales, volume, worth, readers, purchases, spent,
       held
FROM accounts WHERE address = :address"""
LIBRARY = """
SELECT h.post_id, h.balance, h.arrived, h.arrived_at, h.paid FROM holdings h
WHERE h.holder = :holder AND h.held = 1 AND h.arrived < :before
    AND (SELECT 1 FROM posts p WHERE p.post_id = h.post_id) = 1
ORDER BY h.arrived DESC LIMIT :limit"""
"""Selects a holder's tokens, except those of posts published before the index's first block."""
SALES_OF = """
SELECT s.place, s.post_id, s.buyer, s.receiver, s.price, s.at, s.block_hash, s.tx_hash,
       (SELECT p.title FROM posts p WHERE p.post_id = s.post_id) AS title
FROM purchases s WHERE s.author = :author AND s.place < :before
ORDER BY s.place DESC LIMIT :limit"""
PRICES_OF = """
SELECT price, at FROM price_changes WHERE post_id = :post_id ORDER BY place DESC LIMIT :limit"""
DAYS_SINCE = """
SELECT day, posts, sales, volume FROM market_days WHERE day >= :day ORDER BY day LIMIT :limit"""
TOTALS = """
SELECT posts, authors, readers, users, sales, volume, worth FROM market_totals WHERE only_row = 1"""
POST_TIMES = """
SELECT place, created_at AS at FROM posts
WHERE author = :who AND place < :before ORDER BY place DESC LIMIT :limit"""
PURCHASE_TIMES = """
SELECT place, at FROM purchases
WHERE buyer = :who AND place < :before ORDER BY place DESC LIMIT :limit"""
POSTS_OF_AUTHOR = "SELECT posts FROM accounts WHERE address = :author"
COUNT_TAGGED = f"""
SELECT count(*) AS count FROM (SELECT 1 FROM post_tags WHERE tag = :tag LIMIT {WALK}) AS counted"""
COUNT_SHOWN_TAGGED = f"""
SELECT count(*) AS count
FROM (SELECT 1 FROM post_tags WHERE tag = :tag AND shown = 2 LIMIT {WALK}) AS counted"""


@dataclass(frozen=True, slots=True)
class Walk:
    """An index that yields candidates in list order, after a position."""

    source: str
    order: str
    value: str = "0"


def _by_place(source: str) -> tuple[Walk, Walk]:
    """The walks of an index whose last column is the position: towards older and newer posts."""
    return (
        Walk(f"{source} place < :place", "place DESC"),
        Walk(f"{source} place > :place", "place"),
    )


ALL_POSTS = _by_place("posts WHERE")
BY_AUTHOR = _by_place("posts WHERE author = :author AND")
BY_TAG = _by_place("post_tags WHERE tag = :tag0 AND")
AT_PRICE = _by_place("posts WHERE price = :low AND")

SAME_SALES = Walk("posts WHERE sales = :value AND place < :place", "place DESC", "sales")
FEWER_SALES = Walk("posts WHERE sales < :value", "sales DESC, place DESC", "sales")
SAME_PRICE = Walk("posts WHERE price = :value AND place < :place", "place DESC", "price")
LOWER_PRICE = Walk(
    "posts WHERE price < :value AND price >= :low", "price DESC, place DESC", "price"
)
"""Walks ordered by a value have two parts, because SQLite does not search an index by two columns
if a pair of values is compared, and thousands of posts have no sales."""


def among_shown(walk: Walk) -> Walk:
    """Restrict a walk to posts that all lists show, using an index with only these posts."""
    return Walk(walk.source.replace("WHERE", "WHERE shown = 2 AND"), walk.order, walk.value)


_ALL_WALKS = (
    *ALL_POSTS,
    *BY_AUTHOR,
    *BY_TAG,
    *AT_PRICE,
    *(SAME_SALES, FEWER_SALES, SAME_PRICE, LOWER_PRICE),
)

WALKS = (*_ALL_WALKS, *map(among_shown, _ALL_WALKS))


@dataclass(frozen=True, slots=True)
class Also:
    """The additional conditions of a candidate: tags by their numbers, author, price, and the
    lowest `posts.shown`."""

    tags: tuple[int, ...] = ()
    author: bool = False
    price: bool = False
    shown: int = 0

    def __bool__(self) -> bool:
        return bool(self.tags or self.author or self.price or self.shown)


@lru_cache(maxsize=512)
def find_places(walk: Walk, also: Also) -> str:
    """Positions and values of up to :limit posts, in walk order."""
    found = f"SELECT place, {walk.value} AS value FROM {walk.source} ORDER BY {walk.order}"
    if not also:
        return f"{found} LIMIT :limit"
    return (
        f"SELECT c.place, c.value FROM ({found} LIMIT {WALK}) AS c"
        f" WHERE {_conditions('c', also)} LIMIT :limit"
    )


@lru_cache(maxsize=32)
def end_of_walk(walk: Walk) -> str:
    """The last candidate that `find_places` visits, if it reaches the limit."""
    return (
        f"SELECT place, {walk.value} AS value FROM {walk.source}"
        f" ORDER BY {walk.order} LIMIT 1 OFFSET {WALK - 1}"
    )


@lru_cache(maxsize=128)
def places_of_author(value: str, also: Also) -> str:
    """Positions of an author's posts with their sales or prices, unsorted."""
    conditions = f" AND {_conditions('p', also)}" if also else ""
    return (
        f"SELECT p.place, p.{value} AS value FROM posts p WHERE p.author = :author{conditions}"
        f" LIMIT {SORTED}"
    )


@lru_cache(maxsize=128)
def places_of_tag(value: str, also: Also) -> str:
    """Positions of a tag's posts with their sales or prices, unsorted."""
    conditions = f" AND {_conditions('t', also)}" if also else ""
    return (
        f"SELECT t.place, (SELECT x.{value} FROM posts x WHERE x.place = t.place) AS value"
        f" FROM post_tags t WHERE t.tag = :tag0{conditions} LIMIT {SORTED}"
    )


def _conditions(alias: str, also: Also) -> str:
    """Conditions as scalar subqueries, which PostgreSQL never turns into joins."""
    parts = [
        f"(SELECT 1 FROM post_tags o WHERE o.tag = :tag{number} AND o.place = {alias}.place) = 1"
        for number in also.tags
    ]
    own = []
    if also.author:
        own.append("x.author = :author")
    if also.price:
        own.append("x.price >= :low AND x.price <= :high")
    if also.shown:
        own.append(f"x.shown >= {also.shown}")
    if own:
        of_post = " AND ".join(own)
        parts.append(f"(SELECT 1 FROM posts x WHERE x.place = {alias}.place AND {of_post}) = 1")
    return " AND ".join(parts)


@lru_cache(maxsize=512)
def posts_at(count: int, also: Also) -> str:
    """The posts at `count` positions that satisfy the conditions."""
    conditions = f" AND {_conditions('p', also)}" if also else ""
    return POST_COLUMNS + f" WHERE p.place IN ({_keys(count)}){conditions}"


@lru_cache(maxsize=len(BATCHES))
def posts_with_ids(count: int) -> str:
    """The posts with `count` ids."""
    return POST_COLUMNS + f" WHERE p.post_id IN ({_keys(count)})"


def _keys(count: int) -> str:
    return ", ".join(f":key{number}" for number in range(count))
