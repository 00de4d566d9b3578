"""Evidence: what the chain itself says about events that somebody speaks of."""

from collections.abc import Iterable
from dataclasses import dataclass

from imprint.domain.marketplace import POST_CREATED, Log, Undecodable, decode_post_created
from imprint.domain.posts import BlockMark, DeadLetter, LogPlace, PostCreated
from imprint.ports import ChainSource

Identity = tuple[str, int]
"""What makes a log of one chain the same log: its block's hash, and its index there."""


def identify(place: LogPlace) -> Identity:
    """The identity of the log that stands here."""
    return place.block_hash, place.log_index


def say_same(one: PostCreated, other: PostCreated) -> bool:
    """Whether two accounts of an event agree in what it does, wherever they place it."""
    said = (one.post_id, one.author, one.spelled_cid)
    return said == (other.post_id, other.author, other.spelled_cid)


def read_events(logs: Iterable[Log]) -> tuple[list[PostCreated], tuple[DeadLetter, ...]]:
    """The PostCreated among the logs, and those that cannot be decoded."""
    events, dead_letters = [], []
    for each in logs:
        if each.topics[:1] != (POST_CREATED,):
            continue
        try:
            events.append(decode_post_created(each))
        except Undecodable as error:
            dead_letters.append(DeadLetter(each.place, str(error), each.data.hex()))
    return events, tuple(dead_letters)


@dataclass(frozen=True, slots=True)
class Witness:
    """Asks the chain for the very blocks that events are said to stand in."""

    source: ChainSource

    async def find(self, event: PostCreated, head: BlockMark) -> PostCreated | None:
        """The event as the chain has it; None if it has none there, or one that says otherwise."""
        logs = await self.source.logs_of_block(event.place.block_hash, head)
        standing, _ = read_events(logs or ())
        for each in standing:
            if identify(each.place) == identify(event.place):
                return each if say_same(each, event) else None
        return None
