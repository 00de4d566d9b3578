"""After any steps and reorgs, the index equals a fresh build from the same chain."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tests.adapters.stores.market import WALLETS, RandomMarket

from imprint.adapters.database.transaction import Transaction
from imprint.adapters.stores.posts.index_writer import SqlIndexWriter
from imprint.bootstrap.stores import Stores
from imprint.domain.formats.addresses import ZERO_ADDRESS
from imprint.domain.posts.market_events import PostPublished, PostPurchased, TokensMoved
from imprint.domain.posts.posts import BlockRef
from imprint.ports.post_index import IndexMoved, IndexSource, IndexState, IndexStep

SOURCE = IndexSource(31337, WALLETS[0], 0)
DEPTH = 16
TABLES = {
    "posts": "place",
    "post_tags": "place, tag",
    "purchases": "place",
    "price_changes": "place",
    "holdings": "holder, post_id",
    "accounts": "address",
    "author_readers": "author, reader",
    "market_days": "day",
    "market_totals": "only_row",
    "pending_texts": "place",
}


async def read_tables(stores: Stores) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of the index."""

    async def read(tx: Transaction) -> dict[str, list[tuple[Any, ...]]]:
        return {
            name: [
                tuple(row) for row in await tx.fetchall(f"SELECT * FROM {name} ORDER BY {order}")
            ]
            for name, order in TABLES.items()
        }

    return await stores.database.read(read)


async def state_of(writer: SqlIndexWriter) -> IndexState:
    state = await writer.index_state()
    assert state is not None
    return state


async def follow(writer: SqlIndexWriter, market: RandomMarket, undo_from: int | None) -> None:
    """Advance the index to the head, from its last block or from the one before `undo_from`."""
    state = await state_of(writer)
    last = -1 if state.block is None else state.block.number
    if undo_from is not None:
        last = undo_from - 1
    final = max(market.head.number - DEPTH, state.final)
    step = IndexStep(
        market.head,
        final,
        [event for block in market.blocks[last + 1 :] for event in block],
        [log for log in market.logs(final) if log.place >= (last + 1) * 2**20],
        undo_from,
        complete=True,
    )
    await writer.advance_index(state, step)


async def build(writer: SqlIndexWriter, market: RandomMarket) -> None:
    """Empty the index and refill it in one step."""
    await writer.restart_index(SOURCE)
    await follow(writer, market, None)


@pytest.mark.parametrize("seed", range(12))
async def test_reorgs_leave_no_trace_in_the_index(world, seed):
    random = Random(seed)
    market = RandomMarket(random)
    writer = world.stores.index_writer
    await writer.restart_index(SOURCE)
    for _ in range(random.randrange(1, 30)):
        market.mine()
    await follow(writer, market, None)
    for _ in range(8):
        undo_from = None
        if random.random() < 0.6:
            undoable = market.head.number - (await state_of(writer)).final
            market.replace_blocks(random.randrange(1, undoable + 1))
            undo_from = len(market.blocks)
        for _ in range(random.randrange(1, 6)):
            market.mine()
        await follow(writer, market, undo_from)
    assert (await writer.applied_logs()) == market.logs((await state_of(writer)).final)
    followed = await read_tables(world.stores)
    await build(writer, market)
    assert followed == await read_tables(world.stores)


async def test_balances_and_amounts_are_the_sums_of_the_events(world):
    market = RandomMarket(Random(99))
    for _ in range(60):
        market.mine()
    await build(world.stores.index_writer, market)
    tables = await read_tables(world.stores)
    balances: dict[tuple[str, str], int] = {}
    for event in market.events:
        if isinstance(event, TokensMoved) and event.sender != event.receiver:
            for address, amount in ((event.sender, -event.amount), (event.receiver, event.amount)):
                if address != ZERO_ADDRESS:
                    key = (address, str(event.post_id))
                    balances[key] = balances.get(key, 0) + amount
    found = {(row[0], row[1]): int(row[2]) for row in tables["holdings"] if int(row[2])}
    assert found == {key: balance for key, balance in balances.items() if balance}
    purchases = [event for event in market.events if isinstance(event, PostPurchased)]
    (totals,) = tables["market_totals"]
    held = {holder for (holder, _), balance in balances.items() if balance > 0}
    posts = [event for event in market.events if isinstance(event, PostPublished)]
    authors = {event.author for event in posts}
    users = held | authors | {event.buyer for event in purchases}
    volume = sum(event.price for event in purchases)
    worth = sum(event.price for event in posts)
    assert totals == (
        1,
        len(posts),
        len(authors),
        len(held),
        len(users),
        len(purchases),
        str(volume),
        str(worth),
    )


async def test_advancing_the_index_from_a_stale_state_is_refused(world):
    market = RandomMarket(Random(1))
    for _ in range(5):
        market.mine()
    writer = world.stores.index_writer
    await build(writer, market)
    before, state = await read_tables(world.stores), await state_of(writer)
    other = replace(state, block=BlockRef(3, "0x" + "00" * 32))
    with pytest.raises(IndexMoved):
        await writer.advance_index(other, IndexStep(market.head, 0, market.events))
    assert await read_tables(world.stores) == before


async def test_a_final_block_is_never_undone(world):
    market = RandomMarket(Random(4))
    for _ in range(DEPTH + 5):
        market.mine()
    writer = world.stores.index_writer
    await build(writer, market)
    state = await state_of(writer)
    assert state.final == 4
    await writer.advance_index(state, IndexStep(market.head, 0))
    state = await state_of(writer)
    assert state.final == 4
    with pytest.raises(ValueError, match="final"):
        await writer.advance_index(state, IndexStep(market.head, 0, undo_from=4))


async def test_an_index_stays_complete_until_it_is_restarted(world):
    market = RandomMarket(Random(2))
    market.mine()
    writer = world.stores.index_writer
    assert await writer.index_state() is None
    await build(writer, market)
    state = await state_of(writer)
    await writer.advance_index(state, IndexStep(market.head, 0))
    assert (await state_of(writer)).complete
    await writer.restart_index(SOURCE)
    assert not (await state_of(writer)).complete


async def test_a_gift_has_no_price_but_a_later_purchase_has_one(world):
    market = RandomMarket(Random(3))
    market.hashes, market.blocks = ["0x00"], [[]]
    market._publish(0, "0x01", 1)
    (published,) = market.events
    assert isinstance(published, PostPublished)
    author = published.author
    reader = next(wallet for wallet in WALLETS if wallet != author)
    market._add(TokensMoved(market._origin(0, "0x02"), 1, ZERO_ADDRESS, reader, 1))
    writer = world.stores.index_writer
    await build(writer, market)
    (holding,) = (await read_tables(world.stores))["holdings"]
    assert holding[6] is None
    market._add(TokensMoved(market._origin(0, "0x03"), 1, ZERO_ADDRESS, reader, 1))
    market._add(PostPurchased(market._origin(0, "0x03"), 1, reader, 7))
    await build(writer, market)
    (holding,) = (await read_tables(world.stores))["holdings"]
    assert (holding[2], holding[6]) == ("2", "7")
