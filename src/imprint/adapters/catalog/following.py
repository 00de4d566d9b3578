"""What the follower of the chain remembers: the blocks that it has read, and whose turn it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.rows import micros
from imprint.adapters.catalog.steps import Query, Steps, Value


@dataclass(frozen=True, slots=True)
class BlockMark:
    """A block by its height and its hash."""

    number: int
    block_hash: str


def note_blocks(chain_id: int, blocks: Sequence[BlockMark], forget_below: int) -> Steps[None]:
    """Remember blocks as read and canonical, and forget those below a height."""
    for block in blocks:
        values: dict[str, Value] = {
            "chain_id": chain_id,
            "number": block.number,
            "block_hash": block.block_hash.lower(),
        }
        yield Query(sql.NOTE_BLOCK, values)
    yield Query(sql.FORGET_BLOCKS_BELOW, {"chain_id": chain_id, "number": forget_below})


def rewind_blocks(chain_id: int, number: int) -> Steps[None]:
    """Forget the blocks above a height, after they have left the chain."""
    yield Query(sql.FORGET_BLOCKS_ABOVE, {"chain_id": chain_id, "number": number})


def recent_blocks(chain_id: int, limit: int) -> Steps[list[BlockMark]]:
    """The blocks read last, the highest first; the first one is where the follower stands."""
    rows = yield Query(sql.RECENT_BLOCKS, {"chain_id": chain_id, "limit": limit})
    return [BlockMark(*row) for row in rows]


def blocks_with_events(chain_id: int, number: int) -> Steps[list[BlockMark]]:
    """The blocks from a height on whose events count as canonical, so that they can be checked."""
    rows = yield Query(sql.BLOCKS_WITH_EVENTS, {"chain_id": chain_id, "number": number})
    return [BlockMark(*row) for row in rows]


def take_lease(name: str, holder: str, now: datetime, until: datetime) -> Steps[bool]:
    """Take or prolong a lease; False while another holder has it."""
    values: dict[str, Value] = {
        "name": name,
        "holder": holder,
        "held_until": micros(until),
        "now": micros(now),
    }
    rows = yield Query(sql.TAKE_LEASE, values)
    return bool(rows)


def release_lease(name: str, holder: str) -> Steps[None]:
    """Give a lease back, if it is still this holder's."""
    yield Query(sql.RELEASE_LEASE, {"name": name, "holder": holder})
