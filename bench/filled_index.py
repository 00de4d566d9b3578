"""Fills the post index of a benchmark catalog: posts, sales, holdings, totals and words."""

import json
from collections.abc import Iterator
from hashlib import sha256

from bench.filled_posts import (
    EPOCH,
    OWNERS,
    Row,
    Table,
    body_of,
    cid_of_file,
    description_of,
    is_draft,
    owner_of,
    tags_of,
    title_of,
)
from bench.processes import MARKETPLACE
from imprint.adapters.stores.posts.post_words import BUCKET
from imprint.domain.posts.market_events import position_of

BLOCK_SECONDS = 2
"""Seconds between blocks. Each block contains one post."""

LIBRARY = 200
"""Number of posts the benchmark's reader holds, regardless of catalog size."""

THUMBNAIL = b"bafkreithumbnail"
"""The text that every post has in place of a thumbnail's CID."""

UNIT = 10**11
"""Price unit in wei. Prices are 0 to 9 units, so that their sums fit into 63 bits."""

_DAY = 86_400_000_000


def place_of_post(number: int) -> int:
    """Return the chain position of a post. Its sales follow in the same block."""
    return position_of(number, 0)


def sentence_of(words: list[str]) -> bytes:
    """Return the words as the title or description that is on the chain."""
    return " ".join(words).capitalize().encode()


def price_of(number: int) -> int:
    """Return the price of a post. One post in ten is free."""
    return (number + 7) * 7 % 10 * UNIT


def index_tables(count: int, reader: str) -> tuple[Table, ...]:
    """Return the rows for `count` posts in every index table except the word and total tables."""
    head = (count + 1, hash_of("block", count + 1))
    state = (1, 31337, MARKETPLACE.lower(), 0, *head, *head, 1)
    return (
        Table("index_state", _STATE_COLUMNS, [state]),
        Table("posts", _POST_COLUMNS, _posts(count)),
        Table("post_tags", ("tag", "place"), _post_tags(count)),
        Table("purchases", _PURCHASE_COLUMNS, _purchases(count)),
        Table("holdings", _HOLDING_COLUMNS, _holdings(count, reader)),
        Table("post_texts", ("place", "body"), _texts(count)),
        Table("accounts", _AUTHOR_COLUMNS, _authors(count)),
    )


def words_of_sqlite(count: int) -> Table:
    """Yield FTS5 rows with the words of every post."""
    columns = ("rowid", "title", "hashtags", "description", "body")
    return Table("post_search", columns, (_sqlite_words(n, count) for n in range(1, count + 1)))


def words_of_postgresql(count: int) -> Table:
    """Yield the words of every post, and their text-search vectors as text."""
    columns = ("place", "bucket", "folded", "body", "words")
    return Table("post_search", columns, (_postgresql_words(n, count) for n in range(1, count + 1)))


SUMS = (
    """
INSERT INTO author_readers (author, reader, held)
SELECT p.author, h.holder, count(*) FROM holdings h JOIN posts p ON p.post_id = h.post_id
GROUP BY p.author, h.holder""",
    """
UPDATE accounts SET readers = (SELECT count(*) FROM author_readers r WHERE r.author = address)""",
    """
INSERT INTO accounts (address, purchases, spent, held)
SELECT h.holder, count(h.paid), CAST(coalesce(sum(CAST(h.paid AS BIGINT)), 0) AS TEXT), count(*)
FROM holdings h GROUP BY h.holder""",
    f"""
INSERT INTO market_days (day, posts, sales, volume)
SELECT found.day, sum(found.posts), sum(found.sales), CAST(sum(found.volume) AS TEXT)
FROM (SELECT created_at / {_DAY} AS day, 1 AS posts, 0 AS sales, 0 AS volume FROM posts
      UNION ALL SELECT at / {_DAY}, 0, 1, CAST(price AS BIGINT) FROM purchases) AS found
GROUP BY found.day""",
    """
UPDATE market_totals SET
    posts = (SELECT count(*) FROM posts),
    authors = (SELECT count(*) FROM accounts WHERE posts > 0),
    readers = (SELECT count(*) FROM accounts WHERE held > 0),
    users = (SELECT count(*) FROM accounts),
    sales = (SELECT count(*) FROM purchases),
    volume = (SELECT CAST(coalesce(sum(CAST(price AS BIGINT)), 0) AS TEXT) FROM purchases),
    worth = (SELECT CAST(sum(CAST(worth AS BIGINT)) AS TEXT) FROM accounts)""",
)
"""Statements that fill the derived tables, on SQLite and PostgreSQL alike."""

_STATE_COLUMNS = (
    "only_row",
    "chain_id",
    "contract",
    "first_block",
    "block_number",
    "block_hash",
    "final_block",
    "final_hash",
    "complete",
)

_POST_COLUMNS = (
    "place",
    "post_id",
    "author",
    "cid",
    "spelled_cid",
    "thumbnail_cid",
    "title",
    "description",
    "hashtags",
    "first_price",
    "price",
    "created_at",
    "block_hash",
    "tx_hash",
    "sales",
    "volume",
    "holders",
)

_PURCHASE_COLUMNS = (
    "place",
    "post_id",
    "author",
    "buyer",
    "price",
    "at",
    "block_hash",
    "tx_hash",
)

_HOLDING_COLUMNS = ("holder", "post_id", "balance", "held", "arrived", "arrived_at", "paid")

_AUTHOR_COLUMNS = (
    "address",
    "posts",
    "first_post_at",
    "last_post_at",
    "sales",
    "volume",
    "worth",
)


def _posts(count: int) -> Iterator[Row]:
    for number in range(1, count + 1):
        cid, price = cid_of_file(number), price_of(number)
        sales = sales_of(number)
        yield (
            place_of_post(number),
            str(number),
            owner_of(number),
            cid,
            cid.encode(),
            THUMBNAIL,
            sentence_of(title_of(number)),
            sentence_of(description_of(number)),
            json.dumps(tags_of(number, count)),
            price.to_bytes(32),
            price.to_bytes(32),
            time_of(number),
            hash_of("block", number),
            hash_of("transaction", number),
            sales,
            str(sales * price),
            sales,
        )


def _post_tags(count: int) -> Iterator[Row]:
    for number in range(1, count + 1):
        for tag in tags_of(number, count):
            yield tag, place_of_post(number)


def _purchases(count: int) -> Iterator[Row]:
    for number in range(1, count + 1):
        for sale in range(sales_of(number)):
            yield (
                _place_of_sale(number, sale),
                str(number),
                owner_of(number),
                buyer_of(number, sale, count),
                str(price_of(number)),
                time_of(number),
                hash_of("block", number),
                hash_of("transaction", number),
            )


def _holdings(count: int, reader: str) -> Iterator[Row]:
    for number in range(1, count + 1):
        at, price = time_of(number), str(price_of(number))
        for sale in range(sales_of(number)):
            place = _place_of_sale(number, sale) - 1
            yield buyer_of(number, sale, count), str(number), "1", 1, place, at, price
    step = max(1, count // LIBRARY)
    for number in range(1, count + 1, step):
        # A gift without a transfer. It is in no other table, but holders are read the same way.
        yield reader, str(number), "1", 1, position_of(number, 1_000), time_of(number), None


def _texts(count: int) -> Iterator[Row]:
    for number in range(1, count + 1):
        if _has_text(number):
            yield place_of_post(number), " ".join(body_of(number))


def _authors(count: int) -> Iterator[Row]:
    for owner in range(OWNERS):
        numbers = [
            number
            for start in range(owner * 10, count + 1, OWNERS * 10)
            for number in range(start, min(start + 10, count + 1))
            if number > 0
        ]
        if numbers:
            sales = sum(map(sales_of, numbers))
            volume = sum(sales_of(number) * price_of(number) for number in numbers)
            worth = sum(map(price_of, numbers))
            first, last = time_of(numbers[0]), time_of(numbers[-1])
            yield owner_of(numbers[0]), len(numbers), first, last, sales, str(volume), str(worth)


def _folded(number: int, count: int) -> list[str]:
    """Return the title, hashtags, description and body, folded as the service folds text."""
    body = body_of(number) if _has_text(number) else []
    texts = (title_of(number), tags_of(number, count), description_of(number), body)
    return [f" {' '.join(words)} " if words else "" for words in texts]


def _sqlite_words(number: int, count: int) -> Row:
    return (place_of_post(number), *_folded(number, count))


def _postgresql_words(number: int, count: int) -> Row:
    *texts, body = _folded(number, count)
    bucket = (number - 1) // BUCKET
    words = {f"{bucket}~{word}" for text in (*texts, body) for word in text.split()}
    # A line feed inside a value, as COPY spells it.
    return place_of_post(number), bucket, "\\n".join(texts), body, " ".join(words)


def _has_text(number: int) -> bool:
    return price_of(number) == 0 and not is_draft(number)


def sales_of(number: int) -> int:
    """Return the number of sales of a post. A few posts sell often, and the average is 1.4."""
    return 40 // (number * 7_919 % 100 + 1)


def buyer_of(number: int, sale: int, count: int) -> str:
    """Return the buyer of a sale of a post."""
    readers = max(50, count // 50)
    return f"0x{(number * 31 + sale) % readers + 2**32:040x}"


def _place_of_sale(number: int, sale: int) -> int:
    return position_of(number, 2 + 2 * sale)


def time_of(number: int) -> int:
    """Return the time of a post's block in microseconds."""
    return EPOCH + number * BLOCK_SECONDS * 1_000_000


def hash_of(kind: str, number: int) -> str:
    """Return the hash of a block or transaction."""
    return "0x" + sha256(f"{kind} {number}".encode()).hexdigest()
