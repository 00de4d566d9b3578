"""Compares every row of the index with the ledger of the chain."""

import json
from dataclasses import asdict
from typing import Any

from tests.simulation.ledger import Ledger, Post, read_ledger
from tests.simulation.market import DEPTH
from tests.simulation.model import Model
from tests.simulation.universe import Universe, normal_tags

TABLES = {
    "index_state": "only_row",
    "index_logs": "place",
    "posts": "place",
    "post_tags": "place",
    "purchases": "place",
    "price_changes": "place",
    "holdings": "arrived",
    "accounts": "address",
    "author_readers": "author",
    "market_days": "day",
    "market_totals": "only_row",
}
"""The tables of the index, each with the column that orders it."""

Rows = dict[str, list[Any]]


async def check_index(universe: Universe, model: Model) -> Ledger:
    """Fail if the index and the chain differ. The universe must be settled."""
    ledger = read_ledger(universe.market)
    stores = universe.adapters.stores
    rows = await stores.database.read(_read_tables)
    _check_state(universe, ledger, rows)
    _check_posts(universe, model, ledger, rows)
    _check_purchases(ledger, rows)
    _check_holdings(ledger, rows)
    _check_sums(ledger, rows)
    return ledger


async def _read_tables(tx: Any) -> Rows:
    return {
        table: await tx.fetchall(f"SELECT * FROM {table} ORDER BY {order}")
        for table, order in TABLES.items()
    }


def _check_state(universe: Universe, ledger: Ledger, rows: Rows) -> None:
    (state,), head = rows["index_state"], universe.market.chain.head
    assert (state["block_number"], state["block_hash"]) == (head.number, "0x" + head.hash.hex())
    assert state["complete"] == 1
    found = {row["place"]: row["block_hash"] for row in rows["index_logs"]}
    # The logs of final blocks are dropped in the next round.
    newest = {
        place: block
        for place, block in ledger.logs.items()
        if place // 2**20 > head.number - DEPTH or place in found
    }
    _compare(found, newest)


def _check_posts(universe: Universe, model: Model, ledger: Ledger, rows: Rows) -> None:
    found = {int(row["post_id"]): row for row in rows["posts"]}
    assert found.keys() == ledger.posts.keys()
    for post_id, post in ledger.posts.items():
        row = found[post_id]
        sales, volume = ledger.sales_of(post_id)
        expected = {
            "place": post.place,
            "author": post.author,
            "cid": model.cid_of(post.spelled),
            "spelled_cid": post.spelled,
            "thumbnail_cid": b"bafkreithumbnail",
            "title": post.title,
            "description": universe.market.description(post_id),
            "first_price": post.first_price.to_bytes(32),
            "price": post.price.to_bytes(32),
            "created_at": post.at,
            "block_hash": post.block_hash,
            "tx_hash": post.tx_hash,
            "sales": sales,
            "volume": str(volume),
            "holders": ledger.holders_of(post_id),
        }
        _compare({name: row[name] for name in expected}, expected)
        hashtags = json.loads(row["hashtags"])
        assert tuple(hashtags) in hashtags_of(model, post), post_id
        tagged = [each["tag"] for each in rows["post_tags"] if each["place"] == post.place]
        assert sorted(tagged) == sorted(hashtags), post_id
    places = {post.place for post in ledger.posts.values()}
    assert {row["place"] for row in rows["post_tags"]} <= places


def hashtags_of(model: Model, post: Post) -> set[tuple[str, ...]]:
    """Return the hashtags that a post may have: those the author gave the file, or else the
    chain's."""
    version = model.versions.get(model.cid_of(post.spelled) or "")
    of_chain = normal_tags(post.hashtags)
    if version is None or version.owner != post.author:
        return {of_chain}
    return {own or of_chain for own in (version.dress.hashtags, *version.dress.overtaken)}


def _check_purchases(ledger: Ledger, rows: Rows) -> None:
    authors = {post_id: post.author for post_id, post in ledger.posts.items()}
    found = {
        row["place"]: (
            *(int(row["post_id"]), row["author"], row["buyer"], row["receiver"]),
            *(row["price"], row["at"]),
        )
        for row in rows["purchases"]
    }
    expected = {
        place: (
            *(each.post_id, authors[each.post_id], each.buyer, each.receiver),
            *(str(each.price), each.at),
        )
        for place, each in ledger.purchases.items()
    }
    _compare(found, expected)
    prices = {
        row["place"]: (int(row["post_id"]), int(row["price"]), row["at"])
        for row in rows["price_changes"]
    }
    _compare(prices, ledger.prices)


def _check_holdings(ledger: Ledger, rows: Rows) -> None:
    members = ("balance", "held", "arrived", "arrived_at", "paid")
    found = {
        (row["holder"], int(row["post_id"])): tuple(row[name] for name in members)
        for row in rows["holdings"]
    }
    expected = {}
    for key, each in (ledger.holdings | ledger.given_away).items():
        paid = None if each.paid is None else str(each.paid)
        expected[key] = str(each.balance), int(each.balance > 0), each.arrived, each.at, paid
    _compare(found, expected)


def _check_sums(ledger: Ledger, rows: Rows) -> None:
    amounts = ("volume", "worth", "spent")
    expected = {address: asdict(each) for address, each in ledger.accounts().items()}
    found = {
        row["address"]: {
            name: int(row[name]) if name in amounts else row[name]
            for name in next(iter(expected.values()), {})
        }
        for row in rows["accounts"]
    }
    _compare({address: each for address, each in found.items() if any(each.values())}, expected)
    readers = {(row["author"], row["reader"]): row["held"] for row in rows["author_readers"]}
    _compare({key: held for key, held in readers.items() if held}, dict(ledger.readers_of()))
    days = {
        row["day"]: (row["posts"], row["sales"], int(row["volume"])) for row in rows["market_days"]
    }
    _compare({day: each for day, each in days.items() if any(each)}, ledger.days())
    (row,) = rows["market_totals"] or [dict.fromkeys(ledger.totals(), 0)]
    totals = ledger.totals()
    _compare({name: int(row[name]) for name in totals}, totals)


def _compare(found: dict[Any, Any], expected: dict[Any, Any]) -> None:
    """Fail with the difference between the index and the chain."""
    differing = {
        key: (found.get(key), expected.get(key))
        for key in found.keys() | expected.keys()
        if found.get(key) != expected.get(key)
    }
    assert not differing, differing
